"""Merging moments is exact: any split, any order, an identity, weights as repetitions."""

from itertools import pairwise

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from flipcost.core.moments import ClassMoments
from tests.properties.strategies import cuts, labelled_rows, weighted_rows
from tests.reference.brute import assert_same_moments, plain_moments

SCALE = 1000.0  # the largest value that the strategies draw


@given(labelled_rows())
def test_moments_are_those_of_the_definition(rows):
    """One pass gives what the definition gives."""
    assert_same_moments(ClassMoments.from_rows(*rows), plain_moments(*rows), scale=SCALE)


@given(st.data(), weighted_rows())
def test_any_split_in_any_order(data, rows):
    """Parts of the rows, some of them empty or of one class, merge to the whole in any order."""
    X, positive, weight = rows
    places = data.draw(cuts(len(X)))
    parts = [
        ClassMoments.from_rows(X[i:j], positive[i:j], weight[i:j]) for i, j in pairwise(places)
    ]
    order = data.draw(st.permutations(range(len(parts))))
    merged = ClassMoments.merge_all(parts[k] for k in order)
    assert_same_moments(merged, ClassMoments.from_rows(X, positive, weight), scale=SCALE)


@given(st.data(), labelled_rows())
def test_rows_in_any_order(data, rows):
    """The order of the rows does not matter."""
    X, positive = rows
    order = np.array(data.draw(st.permutations(range(len(X)))), dtype=int)
    shuffled = ClassMoments.from_rows(X[order], positive[order])
    assert_same_moments(shuffled, ClassMoments.from_rows(X, positive), scale=SCALE)


@given(labelled_rows())
def test_no_rows_are_the_identity(rows):
    """Merging with the moments of no rows, on either side, changes no bit."""
    moments = ClassMoments.from_rows(*rows)
    empty = ClassMoments.zeros(moments.n_features)
    for merged in (moments + empty, empty + moments):
        for name in ("n_rows", "weight", "mean", "scatter"):
            np.testing.assert_array_equal(getattr(merged, name), getattr(moments, name))


@given(st.data(), labelled_rows())
def test_associative_and_commutative(data, rows):
    """Three parts merge to the same whole however they are bracketed; two, either way round."""
    X, positive = rows
    i, j = sorted(data.draw(st.tuples(*[st.integers(0, len(X))] * 2)))
    a, b, c = (
        ClassMoments.from_rows(X[part], positive[part])
        for part in (slice(0, i), slice(i, j), slice(j, None))
    )
    assert_same_moments((a + b) + c, a + (b + c), scale=SCALE)
    assert_same_moments(a + b, b + a, scale=SCALE)


@given(weighted_rows())
def test_a_weight_is_a_repetition(rows):
    """Whole weights give the weight, mean and scatter of rows repeated that often."""
    X, positive, weight = rows
    weighted = ClassMoments.from_rows(X, positive, weight)
    repeated = ClassMoments.from_rows(np.repeat(X, weight, axis=0), np.repeat(positive, weight))
    same_count = ClassMoments(repeated.n_rows, weighted.weight, weighted.mean, weighted.scatter)
    assert_same_moments(same_count, repeated, scale=SCALE)


@given(labelled_rows(), st.sampled_from([1e8, -3e7]))
def test_an_offset_moves_the_mean_only(rows, offset):
    """An offset that the rows can bear without rounding moves means by it, scatters by nothing."""
    X, positive = rows
    assume(len(X))
    moved = ClassMoments.from_rows(X + offset, positive)
    here = ClassMoments.from_rows(X, positive)
    present = here.weight > 0
    np.testing.assert_allclose(
        moved.mean[present], here.mean[present] + offset, rtol=4e-16 * len(X)
    )
    # Means of 1e8 are rounded to 1e-8: against a spread of up to 1000, on up to 24 rows.
    np.testing.assert_allclose(moved.scatter, here.scatter, rtol=1e-9, atol=1e-9 * SCALE * len(X))
