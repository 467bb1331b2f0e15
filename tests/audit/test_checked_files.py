"""Rows to check from an audit, and answers that come back in files."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from flipcost.audit import audit, audit_files
from flipcost.exceptions import FlipCostError, TableError
from flipcost.recheck import POOL_FILE, CheckedRow, CheckPool, read_checked, rows_as_text
from tests.audit.helpers import PRICES, noisy_table

N_ROWS = 900
OPTIONS = {"model": "linear", "id": "name"}


@pytest.fixture(scope="module")
def table():
    made = noisy_table(N_ROWS, rate=(0.3, 0.1))
    names = pa.array([f"r{k}" for k in range(N_ROWS)])
    return made.append_column("name", names)


@pytest.fixture(scope="module")
def truth(table):
    return table["truth"].to_pylist()


@pytest.fixture(scope="module")
def hidden(table):
    return table.drop_columns("truth")


@pytest.fixture(scope="module")
def first(hidden):
    return audit(hidden, "ill", PRICES, **OPTIONS)


def answer(rows, truth, where="a.csv"):
    """Answer rows as someone who knows would."""
    return [
        CheckedRow(r.row, r.id, r.label, truth[r.row - 1], r.probability, f"{where}, line {k + 2}")
        for k, r in enumerate(rows)
    ]


@pytest.fixture(scope="module")
def second(hidden, first, truth):
    rounds = [answer(first.recheck.batch.rows, truth)]
    return audit(hidden, "ill", PRICES, checked=rounds, **OPTIONS)


def test_an_audit_ends_with_the_rows_to_check_next(first, hidden):
    """Fifty rows, whole, each with its chance and reason, and what checking them saves."""
    batch = first.recheck.batch
    assert len({row.row for row in batch.rows}) == 50
    labels, names = hidden["ill"].to_pylist(), hidden["name"].to_pylist()
    for row in batch.rows:
        assert (row.label, row.id) == (labels[row.row - 1], names[row.row - 1])
        assert 0 < row.probability <= 1
        assert row.reason
        assert set(row.cells) == {"x0", "x1", "x2"}
        assert float(row.cells["x0"]) == pytest.approx(hidden["x0"][row.row - 1].as_py())
    assert 0 <= batch.saving.low <= batch.saving.value <= batch.saving.high
    assert first.summary()["recheck"]["next_rows"] == 50


def test_answers_are_learned_from_and_asked_no_more(first, second):
    """The second audit counts on them, narrows what is known, and asks for others."""
    asked = {row.row for row in first.recheck.batch.rows}
    assert second.n_checked == 50
    assert not asked & {row.row for row in second.recheck.batch.rows}
    assert not asked & {suspect.row + 1 for suspect in second.suspects}
    way = second.recheck.history
    assert [point.n_checked for point in way] == [0, 50]
    widths = [point.cost.high - point.cost.low for point in way]
    assert widths[1] < widths[0]
    last = way[-1]
    assert last.cost.value == pytest.approx(second.unit * second.best.clean.value)
    assert last.wrong_share == second.wrong_share
    assert second.recheck.batch.saving.value < first.recheck.batch.saving.value


@pytest.mark.slow
def test_a_column_and_files_say_the_same(hidden, first, second, truth):
    """Right labels in a column of the table and in files give the same audit."""
    right = [None] * N_ROWS
    for row in first.recheck.batch.rows:
        right[row.row - 1] = truth[row.row - 1]
    with_column = hidden.append_column("right", pa.array(right))
    by_column = audit(with_column, "ill", PRICES, trusted="right", **OPTIONS)
    assert by_column.noise_rate == second.noise_rate
    assert by_column.best.clean == second.best.clean
    both = audit(
        with_column,
        "ill",
        PRICES,
        trusted="right",
        checked=[answer(first.recheck.batch.rows[:20], truth)],
        **OPTIONS,
    )
    assert both.n_checked == 50
    wrong = [CheckedRow(r.row, r.id, r.label, {"yes": "no", "no": "yes"}[r.checked], None, r.where)
             for r in answer(first.recheck.batch.rows[:3], truth)]  # fmt: skip
    with pytest.raises(TableError, match=r"more than once, as .* in column 'right'"):
        audit(with_column, "ill", PRICES, trusted="right", checked=[wrong], **OPTIONS)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_passes_take_answers_as_memory_does(hidden, first, second, truth, tmp_path, kind):
    """Rows are found by name or number in passes, whatever the file, and so are the next ones."""
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        pa.csv.write_csv(hidden, path)
    else:
        pq.write_table(hidden, path, row_group_size=200)
    rounds = [answer(first.recheck.batch.rows, truth)]
    for named in ({"id": "name"}, {"drop": ["name"]}):
        found = audit_files(path, "ill", PRICES, checked=rounds, **named)
        assert found.n_checked == 50
        assert [point.n_checked for point in found.recheck.history] == [0, 50]
        low, high = second.best.clean.low, second.best.clean.high
        assert low < found.best.clean.value < high
        asked = {row.row for row in rounds[0]}
        labels = hidden["ill"].to_pylist()
        for row in found.recheck.batch.rows:
            assert row.row not in asked
            assert row.label == labels[row.row - 1]


@pytest.mark.slow
def test_rounds_are_gone_through_again(hidden, first, second, truth):
    """After two rounds the way has three points, the middle one that of the first round."""
    rounds = [answer(batch.rows, truth) for batch in (first.recheck.batch, second.recheck.batch)]
    third = audit(hidden, "ill", PRICES, checked=rounds, cost_check=0.5, **OPTIONS)
    way = third.recheck.history
    assert [point.n_checked for point in way] == [0, 50, 100]
    # Scores are those of the last fit: the intervals of the first round are nearly the same.
    for now, then in (
        (way[1].wrong_share, second.wrong_share),
        (way[1].cost, second.recheck.history[-1].cost),
    ):
        assert abs(now.value - then.value) < (then.high - then.low) / 4
    assert third.recheck.cost_check == 0.5


def test_the_pool_chooses_as_the_audit_does(first, truth, tmp_path):
    """Written and read again, it gives the same rows; answers since then change the choice."""
    first.recheck.pool.write(tmp_path / POOL_FILE)
    pool = CheckPool.read(tmp_path)
    same = pool.choose(50)
    assert [row.row for row in same.rows] == [row.row for row in first.recheck.batch.rows]
    assert same.saving == first.recheck.batch.saving
    text = rows_as_text(same.rows, same.columns)
    assert text == rows_as_text(first.recheck.batch.rows, first.recheck.batch.columns)
    told = answer(same.rows, truth)
    more = pool.choose(30, answers=[told], handed_out=told)
    assert more.n_checked == 50
    assert not {row.row for row in more.rows} & {row.row for row in same.rows}
    assert more.saving.value < same.saving.value
    plain = pool.choose(30, handed_out=told, random=True)
    np.testing.assert_allclose([row.probability for row in plain.rows], 30 / (N_ROWS - 50))
    everybody = answer(pool.choose(N_ROWS).rows, truth)
    with pytest.raises(TableError, match="No row is left"):
        pool.choose(1, handed_out=everybody)


def test_a_large_table_keeps_a_pool_that_stands_for_it(monkeypatch, hidden, first):
    """Of more rows than a pool holds some are drawn; their weights add up, chances multiply."""
    monkeypatch.setattr("flipcost.audit._recheck.POOL_ROWS", 300)
    found = audit(hidden, "ill", PRICES, **OPTIONS).recheck
    assert len(found.pool.row) == 300
    assert found.pool.weight.sum() == pytest.approx(N_ROWS, rel=0.05)
    assert found.batch.saving.value == pytest.approx(first.recheck.batch.saving.value, rel=0.4)
    # Rows came in by known chances, and stand for as many as these say.
    np.testing.assert_allclose(found.pool.weight * found.pool.chance, 1.0)
    came = dict(zip(found.pool.row.tolist(), found.pool.chance.tolist(), strict=True))
    assert all(0 < row.probability <= came[row.row] + 1e-12 for row in found.batch.rows)
    # Each row drawn, divided by its chance, counts the rows of the table (Horvitz and Thompson).
    counted = [1 / row.probability for row in found.batch.rows]
    assert abs(sum(counted) - N_ROWS) < 4 * np.std(counted) * np.sqrt(50)


def test_a_damaged_pool_is_named(tmp_path):
    """What is no pool is said in a sentence."""
    with pytest.raises(TableError, match="has no recheck-pool"):
        CheckPool.read(tmp_path)
    (tmp_path / POOL_FILE).write_bytes(b"PAR1 nothing")
    with pytest.raises(TableError, match="is damaged"):
        CheckPool.read(tmp_path)
    pq.write_table(pa.table({"row": [1]}), tmp_path / POOL_FILE)
    with pytest.raises(TableError, match="is damaged"):
        CheckPool.read(tmp_path)


def test_what_cannot_be_asked_is_refused(hidden, tmp_path):
    """Files without answers, a price that is none, and two sources of the rate."""
    path = tmp_path / "recheck.csv"
    path.write_text("row,label,checked\n1,no,\n")
    with pytest.raises(TableError, match="holds no answers yet"):
        audit(hidden, "ill", PRICES, checked=path)
    for price in (0, -1, "much"):
        with pytest.raises(FlipCostError, match="`cost_check` must be a number above 0"):
            audit(hidden, "ill", PRICES, cost_check=price)
    with pytest.raises(FlipCostError, match="Give one of `noise_rate` and `checked`"):
        audit(hidden, "ill", PRICES, noise_rate=0.1, checked=[path])
    assert read_checked(path) == []


def test_checked_rows_are_in_every_sample(hidden, first, truth):
    """However few rows are learned from, all that were checked are among them."""
    rounds = [answer(first.recheck.batch.rows, truth)]
    found = audit(hidden, "ill", PRICES, checked=rounds, max_rows=450, **OPTIONS)
    assert found.n_checked == 50
    assert found.n_evaluated < found.n_rows
    assert any("Learned from" in warning for warning in found.warnings)
