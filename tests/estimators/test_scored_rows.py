"""Scores standardised and binned, in a copy or where they are."""

from __future__ import annotations

import numpy as np
import pytest

from flipcost.core.checked_rows import CheckedRows
from flipcost.estimators.flipcost.rows import LabeledRows, ScoredRows


@pytest.mark.parametrize("weighted", [False, True])
def test_overwritten_scores_give_the_same_rows(weighted):
    rng = np.random.default_rng(3)
    scores = rng.normal(5.0, 3.0, size=(2, 400))
    positive = rng.random(400) < 0.4
    weight = rng.uniform(0.5, 2.0, size=400) if weighted else None
    checked = CheckedRows(np.arange(0, 400, 9), rng.random(45) < 0.5)
    kept, rows = scores.copy(), LabeledRows(None, positive, weight, checked)
    copied = ScoredRows.from_scores(scores, rows)
    np.testing.assert_array_equal(scores, kept)

    in_place = ScoredRows.from_scores(scores, rows, overwrite_scores=True)

    assert all(np.shares_memory(own, scores) for own in in_place.scores)
    for one, other in zip(copied.scores, in_place.scores, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(copied.bins, in_place.bins, strict=True):
        assert (one.location, one.scale) == (other.location, other.scale)
        for name in ("centre", "positive", "negative", "checked"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
