"""Prices by row on the command line: audited, predicted with, and refused."""

import csv
import json

import numpy as np
import pytest

from flipcost.cli import main


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Write a table whose amounts are prices."""
    rng = np.random.default_rng(0)
    n = 400
    x = rng.normal(size=n)
    amount = np.round(np.exp(0.5 * x + 0.5 * rng.normal(size=n)) * 30, 2)
    fraud = rng.random(n) < 1 / (1 + np.exp(1 - 2 * x))
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "amount", "kind of", "place", "loss", "fraud"])
        for i in range(n):
            place = ("north", "south")[i % 2]
            loss = amount[i] if fraud[i] else 0
            writer.writerow([x[i], amount[i], i % 3, place, loss, ("no", "yes")[int(fraud[i])]])
    return path


def run(rows, out, *more, fn="0.9*amount+2", fp="10"):
    args = ["audit", str(rows), "--target", "fraud", "--drop", "loss", "--model", "linear"]
    return main([*args, "--cost-fn", fn, "--cost-fp", fp, "--out", str(out), *more])


def test_rows_are_audited_and_predicted_at_their_own_prices(rows, tmp_path, capsys):
    """The screen speaks of the column; predictions show each row's threshold and follow it."""
    assert run(rows, tmp_path / "out") == 0
    model = str(tmp_path / "out" / "model.json")
    assert main(["predict", model, str(rows), "--out", str(tmp_path / "p.csv"), "--quiet"]) == 0
    with (tmp_path / "p.csv").open() as file:
        found = list(csv.DictReader(file))
    with rows.open() as file:
        amounts = [float(row["amount"]) for row in csv.DictReader(file)]
    threshold = np.array([float(row["threshold"]) for row in found])
    np.testing.assert_allclose(threshold, 10 / (12 + 0.9 * np.array(amounts)))
    probability = np.array([float(row["probability_positive"]) for row in found])
    flagged = np.array([row["flagged"] == "true" for row in found])
    np.testing.assert_array_equal(flagged, probability > threshold)
    saving = np.array([float(row["expected_saving"]) for row in found])
    np.testing.assert_array_equal(flagged, saving > 0)


def test_prices_are_learned_from_where_that_is_asked(rows, tmp_path, capsys):
    """`--learn-prices` makes features of the columns that prices are made of."""
    for name, more in (("without", []), ("with", ["--learn-prices"])):
        assert run(rows, tmp_path / name, "--quiet", *more) == 0
        columns = json.loads((tmp_path / name / "summary.json").read_text())["columns"]
        assert ("amount" in [column["name"] for column in columns]) == bool(more)
    capsys.readouterr()


def test_new_rows_without_a_price_are_refused(rows, tmp_path, capsys):
    """A file without the column of prices is refused by one line, and nothing is written."""
    assert run(rows, tmp_path / "out", "--drop", "amount", "--quiet") == 0
    lines = [",".join(np.delete(line.split(","), 1)) for line in rows.read_text().splitlines()]
    (tmp_path / "new.csv").write_text("\n".join(lines))
    model, out = str(tmp_path / "out" / "model.json"), tmp_path / "p.csv"
    assert main(["predict", model, str(tmp_path / "new.csv"), "--out", str(out)]) == 2
    assert "no column 'amount'" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("fn", "fp", "words"),
    [
        ("amuont", "10", "no column 'amuont'; did you mean 'amount'?"),
        ("0.8*amuont+1", "10", "no column 'amuont'; did you mean 'amount'?"),
        ("amount-40", "10", "--cost-fn must be a cost of at least 0 on every row; it is negative"),
        ("x", "10", "it is negative on"),
        ("10/(amount-amount)", "10", "it is missing, or no number on 400 of 400"),
        ("place", "10", "'place' must hold numbers to serve as a cost"),
        ("8..3", "10", "A range of costs must go from"),
        ("3..x", "10", "--cost-fn: a range of costs needs two numbers"),
        ("-3", "10", "--cost-fn must be a number above 0; got -3."),
        ("4", "0", "--cost-fp must be a number above 0; got 0."),
        ("nan", "1", "--cost-fn must be a number above 0"),
        ("kind of", "", "--cost-fp must be a number, a column"),
        ("amount+kind of", "1", "cannot be read as a cost at 'of'"),
        ("open('x')", "1", "cannot be read as a cost at"),
        ("0*amount", "10", "here one of the two is free on all"),
        ("loss", "10", "--cost-fn predicts 'fraud' almost without an error"),
    ],
)
def test_bad_prices_are_one_sentence(fn, fp, words, rows, tmp_path, capsys):
    """Prices that cannot be used: one line that says why, exit code 2, nothing written."""
    assert run(rows, tmp_path / "out", "--quiet", fn=fn, fp=fp) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()
