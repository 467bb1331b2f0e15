"""What people and judges answer, as no one should send it, from a seed.

Files of checked rows, of judged rows, labels of crowds, and the pool of rows that an audit keeps.
"""

import csv
import io
import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import flipcost as fc
from flipcost.exceptions import FlipCostError
from tests.fuzz import tables
from tests.fuzz.files import VALUES, _places
from tests.fuzz.numbers import check_interval, check_refusal
from tests.fuzz.oracles import Fault

# Cells of checked rows, beside those of any table.
CELLS = [
    "0", "-1", "1", "7", "1e3", "7.0", "7.5", "nan", "inf", "1e400", "9" * 30, "99999999", "yes",
    "no", "YES", "maybe", " yes ", "'yes", "null", *tables.ODD,
]  # fmt: skip
# Cells whose place is a list or an object elsewhere.
NESTED = [[], {}, [[]], {"a": {}}, [None], [1, 2], {"choices": ["yes"]}, {"choices": 3}, None]
JUDGE_OPTIONS = [
    [], [], [], ["--confidence", "p"], ["--inclusion", "chance"], ["--confidence", "note"],
    ["--compare", "judge2", "--human2", "human2"], ["--positive", "yes"], ["--positive", "x"],
    ["--n", "0"], ["--n", "100000"], ["--json"], ["--human", "judge"], ["--judge", "note"],
    ["--compare", "judge", "--human2", "human"], ["--inclusion", "p", "--confidence", "p"],
]  # fmt: skip


def checked_bytes(rng, good):
    """Return a file of checked rows as bytes, with the ending of its name."""
    header, *rows = csv.reader(io.StringIO(good.decode()))
    for row in rows:
        if rng.random() < 0.7:
            row[-1] = str(rng.choice(["yes", "no"]))
    for _ in range(int(rng.integers(0, 4))):
        _spoil_cells(rng, header, rows)
    kind = int(rng.integers(0, 5))
    if kind < 2:
        text = io.StringIO()
        csv.writer(text, delimiter=str(rng.choice([",", ",", ";", "\t"]))).writerows(
            [header, *rows]
        )
        data, suffix = text.getvalue().encode("utf-8", "replace"), ".csv"
    else:
        found = [dict(zip(header, row, strict=False)) for row in rows]
        if kind == 2:
            found = [_label_studio_task(rng, row) for row in found]
        for _ in range(int(rng.integers(0, 4))):
            forge(rng, found)
        lines = kind == 4 and isinstance(found, list)
        text = "\n".join(map(json.dumps, found)) if lines else json.dumps(found, ensure_ascii=False)
        data, suffix = text.encode("utf-8", "replace"), ".jsonl" if lines else ".json"
    if rng.random() < 0.25:
        data = tables.damage_bytes(rng, data)
    if rng.random() < 0.01:
        data = b"[" * 50_000
    return data, suffix


def _spoil_cells(rng, header, rows):
    kind, j = int(rng.integers(0, 5)), int(rng.integers(len(header)))
    if kind == 0 and rows:
        rows[int(rng.integers(len(rows)))][j] = str(rng.choice(CELLS))
    elif kind == 1:
        for row in rows:
            row[j] = str(rng.choice(CELLS))
    elif kind == 2:
        header[j] = str(rng.choice(["row", "id", "label", "checked", "x", ""]))
    elif kind == 3:
        rows += [list(row) for row in rows[: int(rng.integers(1, 9))]]
    else:
        del rows[int(rng.integers(len(rows) + 1)) :]


def _label_studio_task(rng, row):
    answer = row.pop("checked", "")
    result = [{"from_name": "checked", "type": "choices", "value": {"choices": [answer]}}]
    held = {"result": result if answer else []}
    if rng.random() < 0.1:
        held["was_cancelled"] = True
    return {"id": 5, "data": row, str(rng.choice(["annotations", "annotations", "x"])): [held]}


def forge(rng, content):
    """Change one place of nested lists and objects."""
    places = _places(content)
    if not places:
        return
    holder, key = places[int(rng.integers(len(places)))]
    kind = int(rng.integers(0, 4))
    if kind == 0:
        holder[key] = [*VALUES, *NESTED][int(rng.integers(len(VALUES) + len(NESTED)))]
    elif kind == 1:
        other, there = places[int(rng.integers(len(places)))]
        holder[key] = json.loads(json.dumps(other[there]))
    elif kind == 2:
        del holder[key]
    else:
        holder[key] = str(rng.choice(CELLS))


def pool_bytes(rng, good):
    """Return a pool of rows to choose from, with forged numbers, facts or columns."""
    table = pq.read_table(io.BytesIO(good))
    for _ in range(int(rng.integers(1, 3))):
        kind, j = int(rng.integers(0, 4)), int(rng.integers(table.num_columns))
        name, n = table.column_names[j], table.num_rows
        if kind == 0:
            ((key, written),) = table.schema.metadata.items()
            facts = json.loads(written)
            forge(rng, facts)
            table = table.replace_schema_metadata({key: json.dumps(facts).encode()})
        elif kind == 1:
            odd = [0.0, -1.0, 2.0, 1e300, np.nan, np.inf]
            values = np.where(rng.random(n) < rng.choice([0.1, 1.0]), rng.choice(odd), 0.5)
            table = table.set_column(j, name, pa.array(values))
        elif kind == 2:
            table = table.set_column(j, name, tables.odd_column(rng, n))
        else:
            table = table.drop_columns([name]) if table.num_columns > 1 else table
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    data = sink.getvalue().to_pybytes()
    return tables.damage_bytes(rng, data) if rng.random() < 0.2 else data


def judged_columns(rng):
    """Return labels of a judge, of people, of a second system, and other columns."""
    n = int(rng.integers(1, 120))
    true = rng.random(n) < rng.choice([0.02, 0.3, 0.5, 1.0])
    words = np.array([["no", "yes"], ["0", "1"], ["fail", "pass"]][int(rng.integers(3))])
    table = {"note": [f"answer {k}" for k in range(n)]}
    for name in ("", "2"):
        judged = true ^ (rng.random(n) < rng.choice([0.0, 0.1, 0.5]))
        human = words[true.astype(int)].tolist()
        share = rng.choice([0.0, 0.2, 1.0])
        table[f"judge{name}"] = words[judged.astype(int)].tolist()
        table[f"human{name}"] = [h if rng.random() < share else "" for h in human]
    table["p"] = np.round(rng.random(n), int(rng.integers(0, 6))).astype(str).tolist()
    table["chance"] = np.round(rng.random(n), 3).astype(str).tolist()
    return table


def judged_bytes(rng):
    """Return a table of judged rows, or results of promptfoo or Label Studio, and its ending."""
    table = judged_columns(rng)
    kind = int(rng.integers(0, 4))
    if kind == 0:
        names = list(table)
        rows = [list(row) for row in zip(*table.values(), strict=True)]
        for _ in range(int(rng.integers(0, 3))):
            tables._damage_cells(rng, names, rows)
        text = io.StringIO()
        csv.writer(text).writerows([names, *rows])
        data, suffix = text.getvalue().encode("utf-8", "replace"), ".csv"
    elif kind == 1:
        arrays = {name: pa.array(values) for name, values in table.items()}
        if rng.random() < 0.6:
            name = str(rng.choice(list(arrays)))
            arrays[name] = tables.odd_column(rng, len(table["note"]))
        data, suffix = tables._written(pa.table(arrays), {}), ".parquet"
    else:
        found = _promptfoo(rng, table) if kind == 2 else _label_studio(rng, table)
        for _ in range(int(rng.integers(0, 5))):
            forge(rng, found)
        data, suffix = json.dumps(found).encode(), ".json"
    if rng.random() < 0.15:
        data = tables.damage_bytes(rng, data)
    return data, suffix


def _promptfoo(rng, table):
    results = []
    for k, note in enumerate(table["note"]):
        parts = [{"pass": table["judge"][k] == "yes", "assertion": {"type": "llm-rubric"}}]
        if table["human"][k]:
            parts.append({"pass": table["human"][k] == "yes", "assertion": {"type": "human"}})
        results.append(
            {
                "success": all(part["pass"] for part in parts),
                "score": float(table["p"][k]),
                "vars": {"question": note},
                "testIdx": k // 2 if rng.random() < 0.1 else k,
                "promptIdx": int(rng.random() < 0.05),
                "gradingResult": {"componentResults": parts},
            }
        )
    return {"results": {"results": results}} if rng.random() < 0.7 else {"results": results}


def _label_studio(rng, table):
    def chosen(label):
        return [{"from_name": "checked", "type": "choices", "value": {"choices": [label]}}]

    return [
        {
            "data": {"note": note},
            "annotations": [{"result": chosen(human), "completed_by": 1}] if human else [],
            "predictions": [{"result": chosen(judge), "score": float(p)}],
        }
        for note, human, judge, p in zip(
            *(table[name] for name in ("note", "human", "judge", "p")), strict=True
        )
    ]


def check_judged(summary):
    """Check the numbers of `flipcost judge`."""
    for name in ("share", "second_share", "miss_rate", "false_alarm_rate", "difference"):
        if name in summary:
            found = [summary[name][key] for key in ("value", "low", "high")]
            check_interval(name, found, -1.0 if name == "difference" else 0.0, 1.0)


def _labels(rng, n):
    """Return labels of some type, with what else stands in such columns."""
    true = rng.random(n) < rng.choice([0.1, 0.5])
    kind = int(rng.integers(0, 7))
    if kind == 0:
        return true, np.where(true, "yes", "no").astype(object)
    if kind == 1:
        return true, true.astype(float)
    if kind == 2:
        return true, true
    if kind == 3:
        return true, true.astype(int) * 2 - 1
    if kind == 4:
        return true, rng.choice([0.0, 1.0, 2.0, np.nan, np.inf], n)
    if kind == 5:
        return true, np.array([["a", None, 1, b"x"][k] for k in rng.integers(0, 4, n)], object)
    return true, np.full(n, rng.choice([0.0, np.nan]))


def _wrong(rng, labels, share):
    """Return labels of which some stand for the wrong row, or are missing."""
    found = np.where(rng.random(len(labels)) < share, rng.permutation(labels), labels)
    gone = rng.random(len(labels)) < rng.choice([0.0, 0.3, 0.9])
    if found.dtype == object:
        found[gone] = None
    elif found.dtype.kind == "f":
        found[gone] = np.nan
    return found


def answer_numbers(rng):
    """Estimate by odd labels of judges and crowds, or by odd scores; as `numbers.fit_numbers`."""
    use = (_use_judge, _use_crowd, _use_scores)[int(rng.integers(0, 3))]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            use(rng, int(rng.integers(2, 120)))
        except (FlipCostError, ValueError, TypeError) as error:
            check_refusal(error)
            return "refused"
    return "taken"


def _use_judge(rng, n):
    _, labels = _labels(rng, n)
    human = _wrong(rng, labels, 0.2)
    odd = [0.0, 0.5, 1.0, 1e-300, -1.0, 2.0, np.nan, np.inf]
    sure = rng.choice([None, *odd], n) if rng.random() < 0.1 else rng.random(n)
    chance = np.where(rng.random(n) < 0.05, rng.choice(odd, n), 0.01 + 0.9 * rng.random(n))
    found = fc.judge(
        labels,
        human,
        sure if rng.random() < 0.4 else None,
        chance if rng.random() < 0.4 else None,
        level=float(rng.choice([0.95, 0.5, 1 - 1e-12, 1e-9, 0.0, np.nan])),
    )
    for name in ("share_", "miss_rate_", "false_alarm_rate_"):
        value = getattr(found, name)
        check_interval(name, (value.value, value.low, value.high), 0.0, 1.0)
    rows = found.next_rows(int(rng.choice([0, 1, 50, 10**6])))
    if len(np.unique(rows)) != len(rows):
        raise Fault("a row is asked for twice")


def _use_crowd(rng, n):
    _, labels = _labels(rng, n)
    workers = [_wrong(rng, labels, rng.choice([0.0, 0.2, 1.0])) for _ in range(rng.integers(1, 6))]
    if rng.random() < 0.5:
        crowd = fc.CrowdLabels.from_wide(np.column_stack(workers))
    else:
        names = [("a", "b", "", "é", "\x1b")[k % 5] for k in range(len(workers))]
        rows = [(k, name, w[k]) for name, w in zip(names, workers, strict=True) for k in range(n)]
        rows = [rows[k] for k in rng.permutation(len(rows))[: int(rng.integers(1, len(rows) + 1))]]
        item, worker, label = (list(column) for column in zip(*rows, strict=True))
        crowd = fc.CrowdLabels.from_long(item, worker, label)
    crowd.fit(gold=labels if rng.random() < 0.2 and len(crowd.items_) == n else None)
    probability = crowd.probability_
    if not (np.isfinite(probability).all() and ((probability >= 0) & (probability <= 1)).all()):
        raise Fault("impossible number: a probability outside 0 to 1")
    share = crowd.share_
    check_interval("share", (share.value, share.low, share.high), 0.0, 1.0)
    for rates in crowd.rates_:
        for rate in (rates.miss_rate, rates.false_alarm_rate):
            check_interval("rate", (rate.value, rate.low, rate.high), 0.0, 1.0)


def _use_scores(rng, n):
    n += 30
    true = rng.random(n) < rng.choice([0.1, 0.5])
    scores = true * rng.choice([0.0, 1.0, 50.0]) + rng.normal(size=n)
    kind = str(rng.choice(["score", "probability"]))
    if kind == "probability":
        scores = np.clip(1 / (1 + np.exp(-scores)), 0, 1)
    scores *= rng.choice([1.0, 1.0, 1.0, 1e-300, 1e300, 0.0, -1.0])
    if rng.random() < 0.2:
        scores[int(rng.integers(n))] = rng.choice([np.nan, np.inf, 1e308, 2.0, -1e-17])
    y = true ^ (rng.random(n) < rng.choice([0.0, 0.2, 0.5]))
    model = fc.FlipCostClassifier(0.2, random_state=0).fit_scores(scores, y, kind=kind)
    found = model.predict_proba_scores(scores)
    if not (np.isfinite(found).all() and (found >= 0).all() and (found <= 1).all()):
        raise Fault("impossible number: a probability outside 0 to 1")
    model.predict_scores(scores)


def named(folder, data, suffix, stem="answers"):
    """Write bytes to a file of a folder."""
    path = Path(folder) / f"{stem}{suffix}"
    path.write_bytes(data)
    return path
