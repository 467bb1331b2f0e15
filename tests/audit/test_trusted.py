"""Rows that someone checked: learned from, counted, and refused where they cannot be."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost.audit import audit, audit_files
from flipcost.cli import main
from flipcost.core.checked_rows import RateBand
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.exceptions import TableError
from flipcost.report.sentences import errors_sentences
from tests.audit.helpers import PRICES, noisy_table

RATES = (0.3, 0.1)


def checked_table(n=4000, share=0.05, seed=0):
    """Return a table with noisy labels, and right ones of some rows in ``right``."""
    table = noisy_table(n, rate=RATES, seed=seed)
    truth = table["truth"].to_numpy(zero_copy_only=False)
    known = np.random.default_rng(seed + 77).random(n) < share
    return table.append_column("right", pa.array(np.where(known, truth, None).tolist()))


@pytest.fixture(scope="module")
def table():
    return checked_table()


@pytest.fixture(scope="module")
def memory(table):
    return audit(table, "ill", PRICES, trusted="right", truth="truth")


@pytest.fixture(scope="module", params=[200_000, 1_000], ids=["all drawn", "few drawn"])
def passes(request, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "a.parquet"
    pq.write_table(table, path, row_group_size=700)
    options = {"trusted": "right", "truth": "truth", "max_rows": request.param}
    return audit_files(path, "ill", PRICES, **options)


def test_the_classifier_learns_from_them(table, memory):
    """What the audit fits is what `fit(..., trusted=)` gives on the same features."""
    from sklearn.base import clone

    columns, model = memory.model[:-1], memory.model[-1]
    labels = table["ill"].to_numpy(zero_copy_only=False).astype(str)
    again = clone(model).fit(columns.transform(table), labels, trusted=table["right"].to_pylist())
    assert memory.noise_rate == again.noise_rate_
    clean, unit = memory.best.clean, memory.unit
    assert unit * clean.value == pytest.approx(again.cost_estimate_, rel=1e-12)
    assert (unit * clean.low, unit * clean.high) == pytest.approx(again.cost_interval_)


def test_both_rates_and_all_costs_are_covered(memory):
    """Intervals hold the rates of the flips, and the costs of the true labels."""
    for (low, high), rate in zip(memory.noise_interval, RATES, strict=True):
        assert low < rate < high
    for candidate in memory.candidates:
        slack = 4 * (candidate.test.high - candidate.test.low) / 3.92
        assert candidate.clean.low - slack < candidate.test.value < candidate.clean.high + slack


def test_passes_find_what_memory_finds(memory, passes):
    """Rates and costs agree within a part of their intervals, also when few rows are drawn."""
    assert passes.n_checked == memory.n_checked
    assert passes.state == memory.state
    for ours, theirs, (low, high) in zip(
        passes.noise_rate, memory.noise_rate, memory.noise_interval, strict=True
    ):
        assert abs(ours - theirs) < (high - low) / (4 if passes.n_evaluated == passes.n_rows else 2)
    all_drawn = passes.n_evaluated == passes.n_rows
    for ours in passes.candidates:
        theirs = memory.candidate(ours.key)
        for name in ("clean", "saving"):
            a, b = getattr(ours, name), getattr(theirs, name)
            if all_drawn:
                assert a.value == pytest.approx(b.value, abs=1e-9)
            else:
                assert max(a.low, b.low) <= min(a.high, b.high)


def test_counts_are_those_of_the_drawn_rows(passes):
    """Checked rows that were not drawn stand for nothing among the calls."""
    for candidate in passes.candidates:
        table = candidate.table(passes.cost_index)
        assert isinstance(table, ConfusionCounts)
        assert table.counts.sum() == pytest.approx(passes.n_rows)
        share = table.counts[1].sum() / table.counts.sum()
        assert share == pytest.approx(passes.n_positive / passes.n_rows)


def test_checked_rows_are_no_suspects(table, memory, passes):
    """What was checked need not be looked at again."""
    right = table["right"].to_pylist()
    for result in (memory, passes):
        assert all(right[suspect.row] is None for suspect in result.suspects)


def test_savings_are_differences_of_costs(memory, passes):
    """With checked rows too, a saving is what the other costs more, inside its interval."""
    for result in (memory, passes):
        for other in result.candidates[1:]:
            more = other.clean.value - result.best.clean.value
            assert other.saving.value == pytest.approx(more, abs=1e-12)
            assert other.saving.low <= other.saving.value <= other.saving.high


@pytest.mark.slow
def test_one_class_only_is_said(tmp_path):
    """Checked rows of one class tell one rate; the other is said to be unknown."""
    table = checked_table(1500)
    right = [None if value == "yes" else value for value in table["right"].to_pylist()]
    table = table.drop_columns(["truth", "right"]).append_column("right", pa.array(right))
    pq.write_table(table, tmp_path / "a.parquet")
    for found in (
        audit(table, "ill", PRICES, trusted="right"),
        audit_files(tmp_path / "a.parquet", "ill", PRICES, trusted="right"),
    ):
        assert any("are truly 'no': they say nothing" in note for note in found.warnings)


def test_all_rows_checked_is_ordinary_learning():
    """Where every right label is known that is said, and the rates are those of the table."""
    table = noisy_table(1500, rate=RATES)
    found = audit(table, "ill", PRICES, trusted="truth")
    assert any("ordinary learning" in note for note in found.warnings)
    labels, truth = (np.array(table[name]) == "yes" for name in ("ill", "truth"))
    assert found.wrong_share.value == pytest.approx(np.mean(labels != truth), abs=0.01)


MISTAKES = {
    "a third value": (lambda right: ["maybe", *right[1:]], "it also holds 'maybe'"),
    "nothing": (lambda right: [None] * len(right), "'right' is empty"),
    "swapped": (
        lambda right: [{"yes": "no", "no": "yes"}.get(value) for value in right],
        "swapped",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_cannot_be_used_is_refused_in_a_sentence(name, tmp_path, capsys):
    """Exit code 2, one line, and nothing written; in passes as in memory."""
    change, words = MISTAKES[name]
    table = checked_table(2000).drop_columns("truth")
    right = pa.array(change(table["right"].to_pylist()), pa.string())
    table = table.set_column(table.column_names.index("right"), "right", right)
    pq.write_table(table, tmp_path / "a.parquet")
    for share in ("0.25", "0"):
        args = ["audit", str(tmp_path / "a.parquet"), "--target", "ill", "--cost-fn", "4"]
        args += ["--cost-fp", "1", "--trusted", "right", "--memory-share", share, "--quiet"]
        assert main([*args, "--out", str(tmp_path / "out")]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert words in line
        assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_suspicious_rows_may_be_checked():
    """Rows that were checked because they look wrong mostly are, and are welcome."""
    table = noisy_table(2000, rate=0.2)
    first = audit(table.drop_columns("truth"), "ill", PRICES)
    truth = table["truth"].to_pylist()
    right = [None] * 2000
    for suspect in first.suspects[:60]:
        right[suspect.row] = truth[suspect.row]
    table = table.drop_columns("truth").append_column("right", pa.array(right))
    found = audit(table, "ill", PRICES, trusted="right")
    assert found.n_checked == 60


def test_rows_that_were_checked_twice_must_agree():
    """The same row with two right labels is refused, and named."""
    table = checked_table(1500).drop_columns("truth")
    right = table["right"].to_pylist()
    names = [f"r{k}" for k in range(1500)]
    a, b = (next(k for k, value in enumerate(right) if value == word) for word in ("yes", "no"))
    names[b] = names[a]
    with pytest.raises(TableError, match=f"'r{a}' was checked more than once"):
        audit(
            table.append_column("name", pa.array(names)), "ill", PRICES, trusted="right", id="name"
        )


def test_more_than_two_annotators_have_rates_of_their_own():
    """With two further columns each annotator has a rate: that of the labels is found."""
    table = noisy_table(3000, rate=0.1)
    truth = np.array(table["truth"]) == "yes"
    rng = np.random.default_rng(5)
    word = np.array(["no", "yes"], dtype=object)
    for name, rate in (("second", 0.3), ("third", 0.3)):
        again = truth ^ (rng.random(3000) < rate)
        table = table.append_column(name, pa.array(word[again.astype(int)].tolist()))
    found = audit(
        table, "ill", PRICES, second_label=("second", "third"), drop=("truth",), model="linear"
    )
    assert "first of 3 labels on 3000 rows" in found.noise_source
    for low, high in found.noise_interval:
        assert low < 0.11 < high < 0.25
    one = audit(table, "ill", PRICES, second_label="second", drop=("truth", "third"))
    assert "two labels on 3,000 rows" in one.noise_source


def test_where_errors_are_systematic_is_said(memory):
    """Bands whose intervals lie apart are named, the worse one first; others are not."""
    few, many = (
        RateBand(low, high, 0.5, 100, Interval(rate, rate - 0.1, rate + 0.1), Interval(0, 0, 0.1))
        for low, high, rate in ((0.6, 0.9, 0.2), (0.1, 0.3, 0.6))
    )

    def with_bands(*bands):
        return replace(memory, labels=replace(memory.labels, noise_by_score=bands))

    (said,) = [t for t in errors_sentences(with_bands(many, few)) if "Errors are systematic" in t]
    assert said.index("50 to 70%") < said.index("10 to 30% where the model")
    assert not any("Errors are systematic" in t for t in errors_sentences(with_bands(few, few)))
    assert [band["checked_rows"] for band in with_bands(many, few).summary()["noise_by_score"]] == [
        100,
        100,
    ]
