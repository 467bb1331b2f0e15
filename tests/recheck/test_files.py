"""Files of rows to check: whole, never lost, and read back from whoever filled them in."""

import csv
import io
import json

import pytest

from flipcost.exceptions import TableError
from flipcost.recheck import (
    CheckedRow,
    RowToCheck,
    batch_files,
    label_studio_config,
    match_checked,
    next_name,
    read_checked,
    rows_as_text,
    unused_batches,
)

LABELS = ["no", "yes", "no", "yes"]
NASTY = 'a "quoted",\nbroken <b>cell</b>'


def some_rows(*, named=True):
    return [
        RowToCheck(
            row=k + 1,
            id=f"r{k}" if named else None,
            label=label,
            probability=0.125 * (k + 1),
            reason="looks wrong, 50 %",
            suspicion=0.5,
            cells={"age": str(20 + k), "note": NASTY, "label": "taken"},
        )
        for k, label in enumerate(LABELS)
    ]


def fill(text, answers):
    """Fill in the column of answers, as a spreadsheet would."""
    rows = list(csv.reader(io.StringIO(text)))
    for row, answer in zip(rows[1:], answers, strict=True):
        row[rows[0].index("checked")] = answer
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize("named", [True, False])
def test_what_was_filled_in_comes_back(tmp_path, named):
    """Rows, labels, probabilities and answers survive the way out and in; blanks are no answer."""
    text = rows_as_text(some_rows(named=named), ["age", "note", "label"])
    path = tmp_path / "recheck.csv"
    path.write_text(fill(text, ["yes", "", "no", "?"]), encoding="utf-8")
    found = read_checked(path)
    assert [(row.row, row.label, row.checked) for row in found] == [
        (1, "no", "yes"),
        (3, "no", "no"),
    ]
    assert [row.id for row in found] == (["r0", "r2"] if named else [None, None])
    assert [row.probability for row in found] == [0.125, 0.375]
    # Lines are those of the file, though cells break over two of them.
    assert [row.where for row in found] == [f"{path}, line 2", f"{path}, line 6"]
    assert len(read_checked(path, unanswered=True)) == 4
    ids = [f"r{k}" for k in range(4)] if named else None
    assert match_checked([found], LABELS, ids=ids).tolist() == ["yes", None, "no", None]


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "utf-8-sig"), ("\t", "utf-8"), (",", "utf-8-sig")]
)
def test_spreadsheets_may_write_it_in_their_way(tmp_path, delimiter, encoding):
    """Other delimiters, a byte order mark, 1.0 for 1 and TRUE for true are the same."""
    path = tmp_path / "recheck.csv"
    lines = ["row,label,checked", "1.0,TRUE,FALSE", "2,true,", "3,False,false"]
    text = "\r\n".join(line.replace(",", delimiter) for line in lines) + "\r\n"
    path.write_bytes(text.encode(encoding))
    found = match_checked([read_checked(path)], ["true", "true", "false"])
    assert found.tolist() == ["false", None, "false"]
    path.write_text("row,label,checked\n1,1.0,0\n2,0,0.0\n")
    assert match_checked([read_checked(path)], ["1", "0"]).tolist() == ["0", "0"]


def test_label_studio_and_back(tmp_path):
    """Tasks as it imports them, and both of its JSON exports and its CSV as answers."""
    tasks = json.loads(rows_as_text(some_rows(), ["age"], to="label-studio"))
    assert [set(task) for task in tasks] == [{"data"}] * 4
    assert list(tasks[0]["data"]["columns"]) == ["age", "note", "label"]
    config = label_studio_config(("no", 'ye"s'))
    import xml.etree.ElementTree as ET

    page = ET.fromstring(config)
    assert page.find("Table").get("value") == "$columns"
    assert [choice.get("value") for choice in page.iter("Choice")] == ["no", 'ye"s']

    def annotated(task, k, choice, **more):
        region = {
            "id": f"x{k}",
            "type": "choices",
            "value": {"choices": [choice]},
            "origin": "manual",
            "to_name": "row",
            "from_name": "checked",
        }
        annotation = {
            "id": 100 + k,
            "completed_by": 1,
            "result": [region],
            "was_cancelled": False,
            "ground_truth": False,
            "lead_time": 4.2,
            "task": k,
        }
        return {"id": k, "annotations": [annotation | more], "predictions": []} | task

    full = [
        annotated(tasks[0], 1, "yes"),
        annotated(tasks[1], 2, "no", was_cancelled=True),
        annotated(tasks[2], 3, "no"),
        {"id": 4, "annotations": [], **tasks[3]},
    ]
    short = [
        {**tasks[k]["data"], "id": k + 1, "checked": answer, "annotator": 1, "annotation_id": 9}
        for k, answer in ((0, "yes"), (2, "no"))
    ]
    flat = "annotation_id,annotator,checked,id,label,inclusion_probability,row,row_id\n"
    flat += "9,1,yes,1,no,0.125,1,r0\n10,1,no,3,no,0.375,3,r2\n"
    for name, text in (
        ("a.json", json.dumps(full)),
        ("b.json", json.dumps(short, indent=2)),
        ("c.csv", flat),
    ):
        path = tmp_path / name
        path.write_text(text)
        found = read_checked(path)
        assert [(row.row, row.id, row.checked) for row in found] == [
            (1, "r0", "yes"),
            (3, "r2", "no"),
        ], name
        assert [row.probability for row in found] == [0.125, 0.375]


MISTAKES = {
    "no label": ("row,label,checked\n1,no,yes\n2,yes,maybe\n", "line 3: 'checked' must be one"),
    "no such row": ("row,label,checked\n9,no,yes\n", "line 2: there is no row 9"),
    "another label": ("row,label,checked\n1,yes,yes\n", "line 2: row 1 had the label 'yes'"),
    "twice": ("row,label,checked\n1,no,yes\n1,no,no\n", "line 3: row 1 was checked more than"),
    "no number": ("row,label,checked\nfirst,no,yes\n", "line 2: 'row' must be the number"),
    "zero": ("row,label,checked\n0,no,yes\n", "line 2: 'row' must be the number"),
    "no row": ("row,label,checked\n,no,yes\n", "line 2 says neither which 'row'"),
    "no old label": ("row,label,checked\n1,,yes\n", "line 2 does not say which 'label'"),
    "no column": ("row,label,answer\n1,no,yes\n", "has no column 'checked'"),
    "no place": ("age,label,checked\n1,no,yes\n", "must say which rows were checked"),
    "ragged": ("row,label,checked\n1,no\n", "line 2 has 2 fields under 3 column names"),
    "json": ('[{"row": 1}, {"row": 2,\n]', "is not JSON in line 2"),
    "json lines": (
        '{"row": 1, "label": "no", "checked": "no"}\n{"row"\n',
        "is not JSON in line 2",
    ),
    "other json": ('[{"text": "hello"}]', "item 1 has no answer"),
    "numbers": ("[1, 2]", "item 1 is no task"),
    "brackets": ("[" * 5000, "nested too deeply"),
    "names": ("id,label,checked\nr7,no,yes\n", "found by its name only"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_with_their_line(tmp_path, name):
    """One line that says the file, the place and what is wrong there."""
    text, words = MISTAKES[name]
    path = tmp_path / "recheck.csv"
    path.write_text(text)
    with pytest.raises(TableError) as caught:
        match_checked([read_checked(path)], LABELS)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_line_separator_in_a_cell_ends_no_line(tmp_path):
    rows = [{"row": k, "label": "no", "checked": "yes", "note": "a\u2028b\x85c"} for k in (1, 2)]
    path = tmp_path / "recheck.jsonl"
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(text, encoding="utf-8")
    assert [row.row for row in read_checked(path)] == [1, 2]


def test_a_carriage_return_in_a_cell_ends_no_row(tmp_path):
    """What is handed out comes back, and is known to be as it was written."""
    path = tmp_path / "recheck.csv"
    rows = [RowToCheck(k, None, "no", 0.5, "why", cells={"note": 'a\rb, "c"'}) for k in (1, 2)]
    path.write_bytes(rows_as_text(rows, ["note"]).encode())
    assert [row.row for row in read_checked(path, unanswered=True)] == [1, 2]
    assert unused_batches(tmp_path) == [path]


def test_two_files_must_agree():
    """The same row with two answers is named with both places; the same answer is welcome."""
    one = CheckedRow(1, None, "no", "yes", None, "a.csv, line 2")
    other = CheckedRow(1, None, "no", "no", None, "b.csv, line 5")
    with pytest.raises(TableError, match=r"b\.csv, line 5: row 1 .* as 'yes' in a\.csv, line 2"):
        match_checked([[one], [other]], LABELS)
    assert match_checked([[one], [one]], LABELS).tolist() == ["yes", None, None, None]


def test_names_beat_places():
    """A table that was sorted anew is no other table, if its rows have names."""
    row = CheckedRow(1, "r0", "no", "yes", None, "a.csv, line 2")
    ids = ["r3", "r1", "r0", "r2"]
    found = match_checked([[row]], ["yes", "yes", "no", "no"], ids=ids)
    assert found.tolist() == [None, None, "yes", None]
    with pytest.raises(TableError, match="the table has no row called 'r0'"):
        match_checked([[row]], LABELS, ids=["a", "b", "c", "d"])
    # Where several share a name the place decides.
    assert match_checked([[row]], LABELS, ids=["r0"] * 4).tolist() == ["yes", None, None, None]


def test_numbers_go_on_whatever_the_suffix(tmp_path):
    """A batch is known by its number: the next name is one that no file has."""
    for suffix in (".csv", ".json", ".csv"):
        next_name(tmp_path, suffix).touch()
    assert [path.name for path in batch_files(tmp_path)] == [
        "recheck.csv",
        "recheck-2.json",
        "recheck-3.csv",
    ]
