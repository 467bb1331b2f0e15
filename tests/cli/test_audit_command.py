"""`flipcost audit` and `flipcost datasets` when all goes well."""

import csv
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flipcost
from flipcost.cli import main
from flipcost.datasets import list_datasets
from flipcost.tables.encoder import Encoder
from flipcost.tables.reading import read_table

CORPUS = Path(__file__).parent / "corpus"
GOOD = CORPUS / "good.csv"
OPTIONS = ["--target", "ill", "--cost-fn", "4", "--cost-fp", "1"]
FILES = {"report.html", "summary.json", "model.json", "suspects.csv"}
OUTPUTS = FILES | {"recheck.csv", "recheck-pool.parquet"}


def run(capsys, *args):
    code = main([str(arg) for arg in args])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def summary_of(capsys, tmp_path, *args):
    out = run(capsys, "audit", *args, "--json", "--overwrite", "--out", tmp_path / "out")
    return json.loads(out)


def test_the_files_are_written(tmp_path, capsys):
    """An audit writes report, summary, model, suspects and rows to check, and nothing else."""
    screen = run(capsys, "audit", GOOD, *OPTIONS, "--out", tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == OUTPUTS
    for model in ("flipcost model", "uncorrected linear model", "logistic regression", "flag all"):
        assert model in screen
    assert len(screen.splitlines()) <= 25
    assert "\x1b[" not in screen


def test_json_is_the_summary_file(tmp_path, capsys):
    """What --json prints is what summary.json holds."""
    printed = summary_of(capsys, tmp_path, GOOD, *OPTIONS)
    assert printed == json.loads((tmp_path / "out" / "summary.json").read_text())


def test_the_summary_has_the_documented_keys(tmp_path, capsys):
    """The schema document names every key of the summary, and no other."""
    printed = summary_of(capsys, tmp_path, "--example", "thyroid")
    schema = (Path(__file__).parents[2] / "docs" / "summary_schema.md").read_text()
    documented = set(re.findall(r"^\| `([\w.\[\]]+)` \|", schema, re.MULTILINE))

    def keys(value, prefix=""):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from keys(inner, f"{prefix}.{key}" if prefix else key)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from keys(value[0], f"{prefix}[]")
        else:
            yield prefix

    found = set()
    for key in keys(printed):
        interval = re.sub(r"\.(value|low|high)$", "", key)
        kinds = [name for name in ("data.columns", "noise_models") if key.startswith(name)]
        found.add(kinds[0] if kinds else interval)
    assert found == documented


def test_the_suspects_are_sorted_and_explained(tmp_path, capsys):
    """suspects.csv lists rows by the probability that their label is wrong, with evidence."""
    run(capsys, "audit", GOOD, *OPTIONS, "--id", "town", "--quiet", "--out", tmp_path)
    with (tmp_path / "suspects.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    wrong = [float(row["probability_wrong"]) for row in rows]
    assert wrong == sorted(wrong, reverse=True)
    table = read_table(GOOD)
    for row in rows:
        place = int(row["row"]) - 1
        assert row["label"] == table["ill"][place].as_py()
        assert row["id"] == table["town"][place].as_py()
        assert {row["label"], row["suggested"]} == {"yes", "no"}
    assert any("age = " in row["evidence"] for row in rows)


def test_quiet_prints_nothing(tmp_path, capsys):
    """--quiet says nothing when there is nothing to warn of."""
    assert main(["audit", str(GOOD), *OPTIONS, "--quiet", "--out", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert all("warning" in line for line in captured.err.splitlines())


def test_every_way_to_store_a_table_is_read_alike(tmp_path):
    """Delimiters, compressions, decimal commas and Parquet give the same labels and numbers."""
    table = read_table(GOOD)
    numbers = {name: table[name].cast(pa.float64()) for name in ("age", "dose")}
    typed = pa.table({**numbers, "town": table["town"].dictionary_encode(), "ill": table["ill"]})
    pq.write_table(typed, tmp_path / "good.parquet")
    text = GOOD.read_text()
    (tmp_path / "tabs.txt").write_text(text.replace(",", "\t"))
    (tmp_path / "pipes.csv").write_text(text.replace(",", "|"))
    (tmp_path / "good.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "bom.csv").write_text("\ufeff" + text, encoding="utf-8")
    (tmp_path / "crlf.csv").write_bytes(text.replace("\n", "\r\n").encode())
    with pa.CompressedOutputStream(str(tmp_path / "good.csv.zst"), "zstd") as file:
        file.write(text.encode())
    columns = ["age", "dose", "town"]
    encoder = Encoder.learn(table, columns=columns)
    expected = encoder.cells(table)
    names = ["good.parquet", "tabs.txt", "pipes.csv", "good.csv.gz", "bom.csv", "crlf.csv"]
    for name in [*names, "good.csv.zst", CORPUS / "semicolons.csv"]:
        found = read_table(tmp_path / name)
        assert found["ill"].to_pylist() == table["ill"].to_pylist(), name
        assert Encoder.learn(found, columns=columns) == encoder
        np.testing.assert_array_equal(encoder.cells(found), expected)


def test_runs_are_repeatable(tmp_path, capsys):
    """The same seed gives the same answers; the seed is noted."""
    first, again = (summary_of(capsys, tmp_path, GOOD, *OPTIONS, "--seed", 3) for _ in range(2))
    assert first == again
    assert first["seed"] == 3


def test_a_known_rate_is_taken_as_given(tmp_path, capsys):
    """--noise-rate R and R+,R- are what the summary reports, with no width."""
    one = summary_of(capsys, tmp_path, GOOD, *OPTIONS, "--noise-rate", 0.15)["noise_rate"]
    assert one["of_positives"] == pytest.approx({"value": 0.15, "low": 0.15, "high": 0.15})
    two = summary_of(capsys, tmp_path, GOOD, *OPTIONS, "--noise-rate", "0.2,0.1")["noise_rate"]
    assert not two["symmetric"]
    assert two["of_positives"]["value"] == pytest.approx(0.2)
    assert two["of_negatives"]["value"] == pytest.approx(0.1)


@pytest.fixture
def rich_table(tmp_path):
    """Write a table with a trusted column, a second label, weights, dates, booleans and gaps."""
    rng = np.random.default_rng(3)
    n = 800
    clean = rng.random(n) < 0.4
    noisy = clean ^ (rng.random(n) < 0.2)
    second = clean ^ (rng.random(n) < 0.2)
    word = np.array(["no", "yes"])
    columns = {
        "age": [
            None if k % 11 == 0 else round(v, 2)
            for k, v in enumerate(50 + 15 * clean + 9 * rng.normal(size=n))
        ],
        "smokes": [
            "" if k % 13 == 0 else ("TRUE" if v else "FALSE")
            for k, v in enumerate(rng.random(n) < 0.3 + 0.4 * clean)
        ],
        "seen": np.datetime_as_string(np.datetime64("2024-01-01") + rng.integers(0, 700, n)),
        "town": rng.choice(["Lyon", "Paris", "Nice", "Brest"], n),
        "w": rng.integers(1, 4, n),
        "checked": [word[int(c)] if k < 300 else "" for k, c in enumerate(clean)],
        "again": word[second.astype(int)],
        "ill": word[noisy.astype(int)],
        "key": [f"p{k}" for k in range(n)],
    }
    path = tmp_path / "rich.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    test = tmp_path / "test.csv"
    with test.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*list(columns)[:4], "ill"])
        features = list(columns.values())[:4]
        writer.writerows(zip(*features, word[clean.astype(int)], strict=True))
    return path, test


ROLES = ["--id", "key", "--sample-weight", "w"]


def test_trusted_and_second_labels_tell_the_rate(rich_table, tmp_path, capsys):
    """A rate from trusted or second labels covers the truth and names its source."""
    path, _ = rich_table
    drop = ["--drop", "again", "--model", "linear"]
    found = summary_of(capsys, tmp_path, path, *OPTIONS, *ROLES, *drop, "--trusted", "checked")
    assert found["data"]["checked_rows"] == 300
    for key in ("of_positives", "of_negatives"):
        assert found["noise_rate"][key]["low"] < 0.2 < found["noise_rate"][key]["high"]
    drop = ["--drop", "checked", "--model", "linear"]
    found = summary_of(capsys, tmp_path, path, *OPTIONS, *ROLES, *drop, "--second-label", "again")
    assert "two labels on 800 rows" in found["noise_rate"]["source"]
    assert (
        found["noise_rate"]["of_positives"]["low"]
        < 0.2
        < found["noise_rate"]["of_positives"]["high"]
    )
    assert found["data"]["columns"] == {"boolean": 1, "category": 1, "date": 1, "number": 1}


def test_clean_test_rows_judge_every_candidate(rich_table, tmp_path, capsys):
    """--test gives each candidate a cost on clean labels, within what was promised."""
    path, test = rich_table
    drop = ["--drop", "again", "--drop", "checked"]
    found = summary_of(capsys, tmp_path, path, *OPTIONS, *ROLES, *drop, "--test", test)
    assert found["data"]["test_rows"] == 800
    for candidate in found["candidates"]:
        assert candidate["cost_test"]["low"] <= candidate["cost_test"]["value"]
    always = next(c for c in found["candidates"] if c["key"] == "all_positive")
    # Calling everything positive costs the price of a false alarm on every clean negative.
    labels = read_table(test)["ill"].to_pylist()
    assert always["cost_test"]["value"] == pytest.approx(labels.count("no") / 800)


@pytest.mark.slow
def test_boosting_and_saved_models(rich_table, tmp_path, capsys):
    """--model takes boosting, and a saved model to compare with."""
    path, _ = rich_table
    drop = ["--drop", "again", "--drop", "checked", "--drop", "key", "--drop", "w"]
    found = summary_of(capsys, tmp_path, path, *OPTIONS, *drop, "--model", "boosting")
    assert found["candidates"][0]["key"] == "flipcost"
    saved = (tmp_path / "out" / "model.json").rename(tmp_path / "saved.json")
    again = summary_of(capsys, tmp_path, path, *OPTIONS, *drop, "--model", saved)
    assert again["candidates"][-1]["key"] == "saved"
    assert any("judged on all rows" in warning for warning in again["warnings"])


def test_large_tables_are_sampled(tmp_path, capsys):
    """More rows than --max-rows are drawn from, all count, and that is said."""
    path = tmp_path / "large.csv"
    lines = GOOD.read_text().splitlines()
    path.write_text("\n".join([lines[0], *(lines[1:] * 5)]) + "\n")
    found = summary_of(capsys, tmp_path, path, *OPTIONS, "--max-rows", 150)
    assert found["data"]["rows"] == found["data"]["rows_in_table"] == 300
    assert any("Learned from 150 of 300 rows" in warning for warning in found["warnings"])


def test_rows_without_a_label_are_left_out(tmp_path, capsys):
    """A missing label drops its row, and that is said; rows keep their numbers."""
    lines = GOOD.read_text().splitlines()
    lines[1] = ",".join([*lines[1].split(",")[:-1], ""])
    path = tmp_path / "gap.csv"
    path.write_text("\n".join(lines) + "\n")
    found = summary_of(capsys, tmp_path, path, *OPTIONS)
    assert found["data"]["rows"] == 59
    assert any("1 rows have no label" in warning for warning in found["warnings"])
    suspects = (tmp_path / "out" / "suspects.csv").read_text().splitlines()
    rows = [line.split(",")[0] for line in suspects[1:]]
    assert "1" not in rows


@pytest.mark.parametrize("name", [row["name"] for row in list_datasets()])
def test_every_example_runs(name, tmp_path, capsys):
    """Each bundled set can be audited with noise added; the truth judges the candidates."""
    found = summary_of(capsys, tmp_path, "--example", name, "--example-noise", 0.2)
    assert found["example"]["wrong_labels"] > 0
    assert all(candidate["cost_test"] for candidate in found["candidates"])
    (rate,) = [found["noise_rate"]["of_positives"]]
    assert rate["low"] <= rate["value"] <= rate["high"]


def test_datasets_are_listed(capsys):
    """`flipcost datasets` names every set with its licence, as text and as JSON."""
    text = run(capsys, "datasets")
    listed = json.loads(run(capsys, "datasets", "--json"))
    assert listed == list_datasets()
    for row in listed:
        assert row["name"] in text
        assert row["licence"] in text


def test_the_module_is_a_program():
    """`python -m flipcost` runs the command line."""
    done = subprocess.run(
        [sys.executable, "-m", "flipcost", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"flipcost {flipcost.__version__}\n"


def test_nothing_asked_is_answered_with_help(capsys):
    """Without a command the commands are listed."""
    screen = run(capsys)
    for command in ("audit", "predict", "recheck", "export", "datasets", "reproduce"):
        assert command in screen


def test_a_terminal_gets_a_table_that_fits(capsys, monkeypatch, tmp_path):
    """On a terminal of 80 columns figures stay whole and no line is longer."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    screen = run(capsys, "audit", "--example", "pima", "--out", tmp_path)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen)
    assert all(len(line) <= 80 for line in plain.splitlines())
    figures = re.findall(r"[\d,]+ \(-?[\d,]+ to -?[\d,]+\)", plain.partition("If errors")[2])
    assert len(figures) >= 6 + 5  # expected cost, and saving of all but the chosen one


def test_an_audit_is_replaced_only_when_asked(tmp_path, capsys):
    """An earlier audit stays as it is; --overwrite replaces it, but not what people filled in."""
    args = ["audit", str(GOOD), *OPTIONS, "--model", "linear", "--quiet", "--out", str(tmp_path)]
    assert main(args) == 0
    before = (tmp_path / "summary.json").stat().st_mtime_ns
    capsys.readouterr()
    assert main(args) == 2
    assert "already; give --overwrite to replace it, or another --out." in capsys.readouterr().err
    assert (tmp_path / "summary.json").stat().st_mtime_ns == before
    (tmp_path / "recheck-june.csv").write_text("row,checked\n7,yes\n")
    assert main([*args, "--overwrite"]) == 0
    assert (tmp_path / "recheck-june.csv").read_text() == "row,checked\n7,yes\n"
    assert (tmp_path / "summary.json").stat().st_mtime_ns != before


def test_an_audit_does_not_replace_what_it_reads(tmp_path, capsys):
    """A table that is called as a result would be is refused, also with --overwrite."""
    (tmp_path / "suspects.csv").write_bytes(GOOD.read_bytes())
    args = ["audit", str(tmp_path / "suspects.csv"), *OPTIONS, "--overwrite"]
    assert main([*args, "--out", str(tmp_path)]) == 2
    assert "is read and cannot be written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["suspects.csv"]


def test_a_share_of_positives_moves_the_rates(tmp_path, capsys):
    """--prevalence S and LOW,HIGH count, and are named as the source."""
    few, many = (
        summary_of(capsys, tmp_path / name, GOOD, *OPTIONS, "--prevalence", told)
        for name, told in (("a", "0.15"), ("b", "0.6,0.8"))
    )
    assert "prevalence that was given" in few["noise_rate"]["source"]
    missed, false = (
        [found["noise_rate"][f"of_{name}"]["value"] for found in (few, many)]
        for name in ("positives", "negatives")
    )
    assert missed[0] - false[0] < missed[1] - false[1]


@pytest.mark.parametrize("told", ["0", "half", "0.3,0.2", "10", "0.1,0.2,0.3"])
def test_what_is_no_share_of_positives_is_refused(told, tmp_path, capsys):
    """In one sentence, before anything is written."""
    args = ["audit", str(GOOD), *map(str, OPTIONS), "--prevalence", told]
    assert main([*args, "--out", str(tmp_path / "out")]) == 2
    assert "--prevalence must be a share above 0 and below 1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_share_of_positives_beside_a_rate_is_refused(tmp_path, capsys):
    """One of the two would play no part."""
    args = [
        "audit",
        str(GOOD),
        *map(str, OPTIONS),
        "--prevalence",
        "0.2",
        "--noise-rate",
        "0.1",
    ]
    assert main([*args, "--out", str(tmp_path / "out")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--prevalence counts only where the error rate is unknown" in said
