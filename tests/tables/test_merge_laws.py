"""Laws of what merges, for any split of any rows."""

import itertools

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from flipcost.tables.encoder import Encoder
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.scan import scan_batches

ROWS = st.lists(
    st.tuples(st.floats(-100, 100), st.sampled_from(["a", "b"]), st.integers(0, 3)),
    min_size=2,
    max_size=40,
)


def arrays(rows):
    values, labels, counts = zip(*rows, strict=True)
    return np.array(values)[:, None], np.array(labels), np.array(counts, float)


def batches(rows, cuts):
    X, y, w = arrays(rows)
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [(X[a:b], y[a:b], w[a:b]) for a, b in itertools.pairwise(ends)]


@given(ROWS, st.lists(st.integers(0, 40), max_size=4), st.integers(1, 3))
def test_any_split_gives_the_same_folds_labels_and_moments(rows, cuts, n_folds):
    """Where batches end changes neither labels nor folds, and moments by rounding only."""
    whole = scan_batches([arrays(rows)]).fold_moments(n_folds)
    split = scan_batches(batches(rows, cuts)).fold_moments(n_folds)
    assert whole.labels == split.labels
    for a, b in zip(whole.parts, split.parts, strict=True):
        assert a.n_rows.tolist() == b.n_rows.tolist()
        np.testing.assert_allclose(a.weight, b.weight, rtol=1e-13)
        np.testing.assert_allclose(a.mean, b.mean, atol=1e-11)
        # Forty rows of weight three within 100 of zero.
        np.testing.assert_allclose(a.scatter, b.scatter, atol=1e-13 * 120 * 100**2)


@given(ROWS, st.lists(st.integers(0, 400), max_size=4), st.integers(50, 70))
def test_any_split_gives_the_same_sample(rows, cuts, size):
    """Where batches end does not change which rows are drawn."""
    rows = rows * 10
    whole = scan_batches([arrays(rows)]).sample(size)
    split = scan_batches(batches(rows, cuts)).sample(size)
    np.testing.assert_array_equal(whole.X, split.X)
    np.testing.assert_array_equal(whole.y, split.y)
    assert len(whole.X) == min(size, len(rows))


@given(ROWS, st.integers(1, 39))
def test_encoders_merge_in_either_order(rows, cut):
    """Two parts merged in either order have the same features, with the same means and spreads."""
    table = pa.table({"x": [row[0] for row in rows], "level": [row[1] for row in rows]})
    parts = [TableEncoder(Encoder.learn(t)).fit(t) for t in (table[:cut], table[cut:]) if len(t)]
    found = [TableEncoder.merge_all(order) for order in (parts, parts[::-1])]
    one, other = ({n: (m, s) for n, m, s in zip(f.feature_names, f.mean_, f.scale_, strict=True)}
                  for f in found)  # fmt: skip
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], atol=1e-12)
