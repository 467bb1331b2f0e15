"""Rows with clean labels, of another table, are evidence of label errors."""

import numpy as np
import pyarrow as pa
import pytest

from flipcost.audit import audit
from flipcost.core.calibration import ScoreBins
from flipcost.core.noise_posterior import PrevalencePrior
from flipcost.datasets import make_syn3d
from flipcost.report.headline import headline
from tests.audit.helpers import PRICES, noisy_table

RATES = (0.4, 0.05)
OPTIONS = {"drop": ["truth"], "model": "linear"}


def clean_table(n, seed):
    """Return rows like those of `noisy_table`, with right labels."""
    data = make_syn3d(n, random_state=seed)
    word = np.array(["no", "yes"], dtype=object)
    columns = {f"x{j}": data.data[:, j] for j in range(3)}
    return pa.table(columns | {"ill": word[(data.target > 0).astype(int)]})


@pytest.fixture(scope="module")
def audits():
    """Return audits of the same table without, and with, 500 clean rows."""
    table, test = noisy_table(rate=RATES), clean_table(500, 7)
    return audit(table, "ill", PRICES, **OPTIONS), audit(table, "ill", PRICES, test=test, **OPTIONS)


def test_clean_rows_narrow_what_is_said_of_errors(audits):
    """Intervals of rates, of the share and of the cost shrink, and hold the truth."""
    alone, told = (found.labels.errors for found in audits)
    truth = (sum(RATES) / 2, *RATES)
    pairs = zip((told.share, *told.rates), (alone.share, *alone.rates), truth, strict=True)
    for ours, theirs, true in pairs:
        assert ours.high - ours.low < 0.95 * (theirs.high - theirs.low)
        assert ours.low <= true <= ours.high
    assert told.most < alone.most
    costs = [found.candidates[0].clean for found in audits]
    assert costs[1].high - costs[1].low < costs[0].high - costs[0].low


def test_clean_rows_are_named_as_evidence(audits):
    """The first sentence and the source say what was counted."""
    told = audits[1]
    assert "500 clean test rows" in headline(told).estimate
    assert "500 rows with clean labels" in told.labels.noise_source
    assert "clean" not in audits[0].labels.noise_source


def test_clean_rows_of_another_population_say_nothing_of_the_prevalence():
    """Where most ranges of the score hold none of them, they tell the curve only."""
    scores = np.random.default_rng(0).normal(size=2000)
    bins = ScoreBins.standardizing(scores, scores > 0)[0]
    alike = bins.with_clean(scores[:100], scores[:100] > 0)
    told = PrevalencePrior.updated_by_clean_rows(None, alike)
    assert told.low < np.mean(scores[:100] > 0) < told.high
    assert sum(alike.clean_counts) == pytest.approx(100, rel=0.1)
    tail = bins.with_clean(np.full(100, 2.0), np.ones(100, bool))
    assert PrevalencePrior.updated_by_clean_rows(None, tail) is None


def test_clean_rows_and_a_known_prevalence_add_up():
    """Both narrow the range, which lies between them."""
    scores = np.random.default_rng(0).normal(size=2000)
    bins = ScoreBins.standardizing(scores, scores > 0)[0].with_clean(scores[:100], scores[:100] > 0)
    told, alone = PrevalencePrior(0.55, 0.7), PrevalencePrior.updated_by_clean_rows(None, bins)
    both = PrevalencePrior.updated_by_clean_rows(told, bins)
    assert both.high - both.low < min(told.high - told.low, alone.high - alone.low)
    assert alone.low < both.low
    assert both.high < told.high
