"""Hinge features: what they hold, where they bend."""

import numpy as np
import pytest

from flipcost.core.scoring import HingeBasis


@pytest.mark.parametrize("n_knots", [0, 1, 3])
def test_expansion_is_the_rows_and_their_hinges(n_knots):
    """Columns are the features, then max(0, x - t)."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    basis = HingeBasis.from_rows(X, n_knots)
    expanded = basis.expand(X)
    np.testing.assert_array_equal(expanded[:, :4], X)
    for j, (feature, knot) in enumerate(zip(basis.feature, basis.knot, strict=True)):
        np.testing.assert_allclose(expanded[:, 4 + j], np.maximum(0, X[:, feature] - knot))
    assert basis.n_columns == 4 + 4 * n_knots


def test_indicators_and_constants_do_not_bend():
    """A feature with one or two values gets no hinge; another in the same table keeps its own."""
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(99), rng.random(99) < 0.5, rng.normal(size=99)])
    basis = HingeBasis.from_rows(X, 3)
    np.testing.assert_array_equal(np.unique(basis.feature), [2])
    np.testing.assert_allclose(basis.expand(X)[:, 3:], np.maximum(0, X[:, [2]] - basis.knot))


def test_knots_lie_at_quantiles():
    """Three knots of evenly spaced values are their quartiles."""
    basis = HingeBasis.from_rows(np.linspace(0, 1, 101)[:, None], 3)
    np.testing.assert_allclose(basis.knot, [0.25, 0.5, 0.75])


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_left_as_they_are(order):
    """Placing knots sorts columns, but not those of the caller, whichever way they lie."""
    rows = np.asarray(np.random.default_rng(0).normal(size=(50, 3)), order=order)
    before = rows.copy()
    HingeBasis.from_rows(rows, 3)
    np.testing.assert_array_equal(rows, before)
