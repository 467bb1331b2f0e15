"""What files hold reaches the terminal as plain, short text, and spreadsheets as text."""

import csv
import re

import numpy as np
import pytest

from flipcost.cli import main
from flipcost.exceptions import TableError, clean_text, unknown_column

PRICES = ["--cost-fn", "4", "--cost-fp", "1", "--model", "linear"]
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def write_table(path, *, labels, ids=None, towns=("Lyon", "Paris")):
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "age", "town", "ill"])
        for k in range(120):
            ill = rng.random() < 0.4
            name = f"{ids}{k}" if ids else k
            age = round(rng.normal(50 + 12 * ill, 8), 1)
            writer.writerow([name, age, towns[k % len(towns)], labels[ill ^ (rng.random() < 0.2)]])


def test_nothing_from_a_file_commands_the_terminal(tmp_path, capsys):
    """Labels, categories and names of columns are shown without control characters."""
    path = tmp_path / "a.csv"
    write_table(path, labels=["no\x1b[2J", "yes\u202e\x07"], towns=("L\x1b]0;x\x07", "P\x9b31m"))
    args = ["audit", str(path), "--target", "ill", "--drop", "key", *PRICES]
    assert main([*args, "--out", str(tmp_path / "out")]) == 0
    captured = capsys.readouterr()
    assert "yes" in captured.out
    assert not CONTROL.search(captured.out + captured.err)
    assert main([*args, "--positive", "\x1b[31m", "--out", str(tmp_path / "other")]) == 2
    assert not CONTROL.search(capsys.readouterr().err)


@pytest.mark.parametrize(
    "content",
    [
        'age,ill\n50,"yes\n' + "x" * 300_000,
        "a" * 70_000 + "," + "b" * 70_000 + "\n1,2\n",
        "age,ill\n" + "".join(f"{k},{'x' * 900}{k}\n" for k in range(60)),
        "age,ill\n" + "1,2," + "3" * 300_000 + "\n",
    ],
    ids=["stray quote", "long names", "long labels", "ragged"],
)
def test_messages_are_short(content, tmp_path, capsys):
    """However long a cell, a name or a line is."""
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert main(["audit", str(path), "--target", "ill", *PRICES]) == 2
    err = capsys.readouterr().err
    assert len(err) < 1500
    assert err.count("\n") == 1


def test_messages_of_the_library_are_cleaned_too():
    """The one place is where errors are made."""
    error = unknown_column("a\x1b[2J\u2066" + "b" * 10_000, ["c" * 5_000], "a.csv")
    assert isinstance(error, TableError)
    assert len(str(error)) < 1500
    assert not CONTROL.search(str(error))
    assert clean_text("a\u2028b\u00a0c\ud800") == "a b c\ufffd"


def test_spreadsheets_find_no_formula(tmp_path, capsys):
    """Names and labels that begin as formulas do are text in the files that people open."""
    path, out = tmp_path / "a.csv", tmp_path / "out"
    write_table(path, labels=["-no", "=yes"], ids="@SUM")
    args = ["audit", str(path), "--target", "ill", "--id", "key", *PRICES, "--quiet"]
    assert main([*args, "--out", str(out)]) == 0
    args = ["predict", str(out / "model.json"), str(path), "--id", "key", "--out"]
    assert main([*args, str(tmp_path / "p.csv"), "--quiet"]) == 0
    capsys.readouterr()
    for file, names in ((out / "suspects.csv", ("id", "label", "suggested")),
                        (tmp_path / "p.csv", ("id", "prediction"))):  # fmt: skip
        with file.open(newline="", encoding="utf-8") as text:
            rows = list(csv.DictReader(text))
        assert rows
        for row in rows:
            assert all(row[name][:2] in ("'@", "'-", "'=") for name in names), row
