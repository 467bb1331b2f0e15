"""Write the corpus of bad files: ``python tests/cli/make_corpus.py``.

Each file holds one mistake that people make; `tests/cli/test_mistakes.py` says what is answered.
"""

import gzip
from pathlib import Path

import numpy as np

CORPUS = Path(__file__).parent / "corpus"
ROWS = 60


def columns():
    """Return a small table that can be learned from."""
    rng = np.random.default_rng(20)
    ill = rng.random(ROWS) < 0.4
    age = np.round(rng.normal(50 + 12 * ill, 10), 1)
    dose = np.round(rng.gamma(2, 3, ROWS), 2)
    town = rng.choice(["Lyon", "Paris", "Nice"], ROWS)
    label = np.where(ill ^ (rng.random(ROWS) < 0.15), "yes", "no")
    return {"age": age, "dose": dose, "town": town, "ill": label}


def text(table, delimiter=","):
    """Return a table as CSV."""
    lines = [delimiter.join(table)]
    lines += [delimiter.join(str(v) for v in row) for row in zip(*table.values(), strict=True)]
    return "\n".join(lines) + "\n"


def main():
    """Write all files."""
    CORPUS.mkdir(exist_ok=True)
    good = columns()
    n = np.arange(ROWS)

    def put(name, content, encoding="utf-8"):
        data = content if isinstance(content, bytes) else content.encode(encoding)
        (CORPUS / name).write_bytes(data)

    put("good.csv", text(good))
    put("semicolons.csv", text(good, ";").replace(".", ","))
    put("empty.csv", "")
    put("blank.csv", "\n\n  \n")
    put("header_only.csv", "age,dose,town,ill\n")
    put("prose.csv", "Dear colleague\nplease find the data attached\nbest regards\n")
    put("page.csv", "<!DOCTYPE html>\n<html><body>404</body></html>\n")
    put("records.csv", '[{"age": 50, "ill": "yes"},\n {"age": 31, "ill": "no"}]\n')
    put("binary.csv", bytes(range(256)) * 4)
    put("workbook.csv", b"PK\x03\x04" + bytes(60))
    put("truncated.csv.gz", gzip.compress(text(good).encode() * 50, mtime=0)[:200])
    put("no_header.csv", "\n".join(f"{k},{k % 7},{k % 2}" for k in n) + "\n")
    put("ragged.csv", text(good) + "1,2,3,4,5,6\n")
    put("one_class.csv", text({**good, "ill": np.full(ROWS, "no")}))
    put("three_classes.csv", text({**good, "ill": np.array(["yes", "no", "maybe"])[n % 3]}))
    put("few_positives.csv", text({**good, "ill": np.where(n < 3, "yes", "no")}))
    put("no_labels.csv", text({**good, "ill": np.full(ROWS, "")}))
    put("rare_positive.csv", text({**good, "ill": np.where(n % 5 == 0, "yes", "no")}))
    put("leak.csv", text({**good, "diagnosis": np.where(good["ill"] == "yes", "D", "H")}))
    leaky = np.where(good["ill"] == "yes", 5.0, 1.0) + n / 100
    put("leak_number.csv", text({"score": leaky, **good}))
    put("all_missing.csv", text({"note": np.full(ROWS, ""), **good}))
    put("constant.csv", text({"site": np.full(ROWS, "A"), **good}))
    put("duplicate_names.csv", text(good).replace("age,dose", "age,age", 1))
    mixed = good["dose"].astype(str).astype(object)
    mixed[17] = "twelve"
    put("mixed_types.csv", text({**good, "dose": mixed}))
    put("latin1.csv", text({**good, "town": np.where(n % 2, "Besançon", "Nîmes")}), "latin-1")
    put("utf16.csv", text(good), "utf-16")
    put("bad_weights.csv", text({"w": np.where(n == 5, -1.0, 1.0), **good}))
    put("other_labels.csv", text({"checked": np.where(n % 2, "Y", "N"), **good}))
    rows = "".join(f"{k % 97},customer {k},{'yes' if k % 3 else 'no'}\n" for k in range(10_000))
    put("many_categories.csv.gz", gzip.compress(("age,name,ill\n" + rows).encode(), mtime=0))
    put("script_name.csv", text(good).replace("dose", "<script>alert(1)</script>", 1))


if __name__ == "__main__":
    main()
