"""What used to end as an internal error ends in one sentence and exit code 2."""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost.cli import main

N = 80


def table():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(N, 2))
    label = np.where(x[:, 0] + rng.normal(size=N) > 0, "yes", "no")
    return {"a": x[:, 0], "b": x[:, 1], "y": label.tolist()}


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.csv"
    rows = zip(*table().values(), strict=True)
    path.write_text("a,b,y\n" + "".join(f"{a:.3f},{b:.3f},{y}\n" for a, b, y in rows))
    return path


def audit(path, out, *options):
    prices = ["--cost-fn", "5", "--cost-fp", "1", "--model", "linear", "--quiet"]
    return main(["audit", str(path), "--target", "y", *prices, *options, "--out", str(out)])


def refused(capsys, words, *args):
    assert audit(*args) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


COLUMNS = {
    "list": pa.array([[1]] * N),
    "struct": pa.array([{"q": k} for k in range(N)]),
    "binary": pa.array([b"x%d" % (k % 3) for k in range(N)]),
    "map": pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("option", ["--categorical", "--trusted", "--second-label", None])
@pytest.mark.parametrize("kind", COLUMNS)
def test_values_that_are_no_cells(kind, option, tmp_path, capsys):
    """Nested values and bytes cannot be used, whatever for."""
    pq.write_table(pa.table({**table(), "k": COLUMNS[kind]}), tmp_path / "a.parquet")
    given = [option, "k"] if option else []
    refused(capsys, "Column 'k' holds", tmp_path / "a.parquet", tmp_path / "o", *given)


@pytest.mark.parametrize("option", ["--categorical", "--id"])
def test_views_of_text_can_be_used(option, tmp_path):
    """They used to be a fault."""
    views = pa.array([f"s{k % 3}" for k in range(N)]).cast(pa.string_view())
    pq.write_table(pa.table({**table(), "k": views}), tmp_path / "a.parquet")
    assert audit(tmp_path / "a.parquet", tmp_path / "o", option, "k") == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cost-fn", "1e12"], "No cost may be more than 1,000,000,000 times the other"),
        (["--cost-fn", "1e300", "--cost-fp", "1e-300"], "No cost may be more than"),
        (["--seed", str(2**32)], "--seed must be a whole number from 0 to 4294967295"),
        (["--max-bytes", "100"], "give a larger --max-bytes"),
        (["--max-bytes", "100", "--memory-share", "0"], "give a larger --max-bytes"),
    ],
)
def test_numbers_beyond_what_can_be_computed(good, options, words, tmp_path, capsys):
    """The option is named."""
    refused(capsys, words, good, tmp_path / "o", *options)


@pytest.mark.parametrize(("cell", "words"), [("1e308", "1e+308"), ("1e-300", "1e-300")])
def test_weights_of_strange_size(cell, words, tmp_path, capsys):
    """Squares of weights must be numbers."""
    values = table()
    rows = zip(*values.values(), strict=True)
    path = tmp_path / "w.csv"
    path.write_text("a,b,y,w\n" + "".join(f"{a:.3f},{b:.3f},{y},{cell}\n" for a, b, y in rows))
    words = f"of ordinary size to serve as weights; the largest is {words}"
    refused(capsys, words, path, tmp_path / "o", "--sample-weight", "w")


def test_features_whose_squares_overflow(good, tmp_path, capsys):
    """Said of the column, with the row."""
    lines = good.read_text().splitlines()
    lines[5] = "1e200,0.5,yes"
    good.write_text("\n".join(lines))
    words = "Column 'a' holds infinite values or numbers beyond 1e100 (first in row 5)"
    refused(capsys, words, good, tmp_path / "o")


def test_names_that_are_no_text(good, tmp_path, capsys):
    """Such a file may be named by its bytes; results may go into such a folder."""
    strange = os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff.csv")
    good.rename(strange)
    assert audit(strange, tmp_path / "o", "--max-bytes", "9999") in (0, 2)
    assert "internal error" not in capsys.readouterr().err
    refused(capsys, "too long", "x" * 5000 + ".csv", tmp_path / "o")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_forbidden_folder(good, tmp_path, capsys):
    """A file in it cannot be seen: the system's word is passed on."""
    tmp_path.chmod(0o700)
    os.seteuid(65534)
    try:
        refused(capsys, "permission denied", good, "/nowhere")
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_output_that_is_closed(name, monkeypatch):
    """What no one wants to see is not a fault."""
    monkeypatch.setattr(sys, name, None)
    assert main(["datasets"]) == 0
    getattr(sys, name).close()


def test_output_that_is_full(monkeypatch, capfd):
    """A full disk is said, once."""
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["datasets"]) == 2
    error = capfd.readouterr().err
    assert error.startswith("flipcost: the system refused: no space left")
    assert error.count("\n") == 1


def test_more_columns_than_an_audit_looks_at(tmp_path, capsys):
    """A table of very many columns is refused at once, in a sentence that says what takes more."""
    rows = np.random.default_rng(0).normal(size=(40, 5_001)).round(2)
    wide = {f"c{k}": column for k, column in enumerate(rows.T)}
    pq.write_table(pa.table({**wide, "y": ["yes", "no"] * 20}), tmp_path / "a.parquet")
    refused(capsys, "5,001 columns to learn from", tmp_path / "a.parquet", tmp_path / "out")


def test_very_many_columns_are_refused_by_the_header(tmp_path, capsys, monkeypatch):
    """No row of them is read."""
    monkeypatch.setattr("flipcost.tables.reading.read_table", None)
    names = [f"c{k}" for k in range(5_002)]
    row = ",".join(["1"] * 5_003)
    path = tmp_path / "a.csv"
    path.write_text(",".join([*names, "y"]) + "\n" + (row + "\n") * 3)
    refused(capsys, "5,002 columns to learn from", path, tmp_path / "out")


@pytest.mark.parametrize("option", ["--cost-fn", "--cost-fp"])
def test_a_range_of_prices_begins_above_nothing(good, option, tmp_path, capsys):
    """At nothing one answer is always best."""
    refused(
        capsys, f"The range of {option} must begin above 0", good, tmp_path / "o", option, "0..1"
    )
