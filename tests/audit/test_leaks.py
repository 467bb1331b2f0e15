"""Columns that give the label away are named, and honest ones are not."""

import numpy as np
import pyarrow as pa
import pytest

from flipcost import datasets
from flipcost.audit import audit
from flipcost.audit._leaks import find_leaks
from flipcost.report.headline import headline
from flipcost.tables.encoder import Encoder


def kinds(columns, positive, category=()):
    cells = np.column_stack([np.asarray(c, dtype=float) for c in columns.values()])
    is_category = np.array([name in category for name in columns])
    return {leak.column: leak.kind for leak in find_leaks([*columns], is_category, cells, positive)}


def made_up(positive, rng):
    """Leaks as people bring them: copies, what only one class has, what happens afterwards."""
    n, label = len(positive), positive.astype(float)
    return {
        "copy": np.where(rng.random(n) < 0.03, 1 - label, label),
        "superset": np.where(rng.random(n) < 0.03, 1.0, label),
        "date": np.where(rng.random(n) < np.where(positive, 0.9, 0.02), rng.random(n), np.nan),
        "proxy": 3 * label + rng.normal(size=n),
        "paid": np.where(positive & (rng.random(n) < 0.85), rng.exponential(100, n), 0.0),
        "end": np.where(positive | (rng.random(n) < 0.2), rng.random(n), 1 + rng.random(n)),
    }


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_made_up_leaks_are_found(share):
    """Nine in ten at least, each beside three honest columns."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(3):
        honest = rng.normal(size=(2000, 3))
        score = honest.sum(axis=1) + rng.logistic(size=2000)
        positive = score > np.quantile(score, 1 - share)
        plain = {f"x{k}": x for k, x in enumerate(honest.T)}
        for name, leak in made_up(positive, rng).items():
            named = kinds({**plain, name: leak}, positive)
            assert set(named) <= {name}
            found.append(name in named)
    assert np.mean(found) >= 0.9


def test_a_date_tells_by_how_long_it_is_after_another():
    """The date of what ends soon where the label is positive is named, that of the start is not."""
    rng = np.random.default_rng(0)
    positive = rng.random(2000) < 0.3
    opened = rng.integers(0, 600, 2000)
    lasts = np.where(positive, rng.integers(5, 60, 2000), rng.integers(40, 400, 2000))
    days = {"opened": opened, "last_seen": opened + lasts, "born": rng.integers(-9000, -8000, 2000)}
    start = np.datetime64("2020-01-01")
    table = pa.table({"x": rng.normal(size=2000)} | {k: start + v for k, v in days.items()})
    encoder = Encoder.learn(table)
    names = [column.name for column in encoder.columns for _ in column.cell_names]
    (leak,) = find_leaks(names, encoder.is_category, encoder.cells(table), positive)
    assert (leak.column, leak.kind) == ("last_seen", "date")
    assert "after another date" in leak.sentence("lost")


@pytest.mark.parametrize(
    "load",
    [
        datasets.load_pima,
        datasets.load_german_credit,
        datasets.load_thyroid,
        datasets.load_breast_cancer_ljubljana,
    ],
)
def test_honest_columns_are_not_named(load):
    """Nor those of a table whose columns predict the label very well, as blood tests do."""
    data = load()
    positive = np.asarray(data.target) == np.unique(data.target)[1]
    columns = {f"x{k}": x for k, x in enumerate(np.asarray(data.data, dtype=float).T)}
    assert kinds(columns, positive) == {}


def test_what_tells_all_labels_is_named_first():
    rng = np.random.default_rng(1)
    positive = rng.random(500) < 0.3
    columns = {"near": positive + 0.3 * rng.normal(size=500), "code": np.where(positive, 1, 0)}
    assert next(iter(kinds(columns, positive, ["code"]).items())) == ("code", "label")
    assert kinds({"alone": columns["near"]}, positive) == {"alone": "nearly"}


def test_numbers_of_rows_that_tell_the_label():
    """Rows that were numbered in the order of the label leak it; numbers at random do not."""
    rng = np.random.default_rng(1)
    positive = rng.random(1000) < np.linspace(0.1, 0.7, 1000)
    columns = {
        "case": np.cumsum(rng.integers(1, 50, 1000)),
        "shuffled": rng.permutation(1000),
        "income": (1e5 * rng.random(1000) * (1 + positive)).round(),
    }
    assert kinds(columns, positive) == {"case": "row number"}


def test_a_level_that_is_rare_is_not_a_leak():
    positive = np.arange(1000) < 10
    assert kinds({"code": np.tile([0, 1], 500)}, positive, ["code"]) == {}


def test_an_audit_says_so_first_and_recommends_no_model():
    """Two leaks: both are to be left out; no model, and no rows to check, are recommended."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=800)
    label = x + rng.logistic(size=800) > 0.5
    copy, paid = label ^ (rng.random(800) < 0.03), np.where(label, rng.exponential(9, 800), None)
    table = pa.table({"x": x, "copy": copy, "paid": paid.tolist(), "label": label})
    found = audit(table, "label", 0.2)
    said = headline(found)
    assert str(said).startswith("Too good to be true: “paid” alone explains 93% of “label”.")
    assert "Use no model yet" in said.use
    assert "drop=['paid', 'copy']" in said.next
    assert "check" not in said.next
    assert "too good to be true" in repr(found)
    assert [leak["column"] for leak in found.summary()["leaks"]] == ["paid", "copy"]
