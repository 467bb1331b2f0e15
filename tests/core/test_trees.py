"""Sums of trees: what following each row gives, at every size of tree and of block."""

import pickle

import numpy as np
import pytest

from flipcost.core import trees
from flipcost.core.trees import OTHER_CODE, Tree, TreeSum, _transposed


def grown(rng, n_leaves, n_columns, *, with_codes=False):
    """Return a tree of this many leaves that is grown at random leaves."""
    size = 2 * n_leaves - 1
    left, right = np.zeros(size, np.intp), np.zeros(size, np.intp)
    ends = [0]
    for made in range(1, size, 2):
        node = ends.pop(rng.integers(len(ends)))
        left[node], right[node] = made, made + 1
        ends += [made, made + 1]
    # Few thresholds, so that trees share some.
    threshold = rng.integers(-3, 4, size=size) / 2
    inner = np.flatnonzero(left).tolist()
    codes = {k: rng.random(OTHER_CODE + 1) < 0.5 for k in inner if with_codes and k % 3 == 0}
    return Tree(
        rng.integers(n_columns, size=size),
        threshold,
        rng.random(size) < 0.5,
        left,
        right,
        rng.normal(size=size),
        codes,
    )


def followed(tree, row):
    """Return the value of a row's leaf, step by step."""
    node = 0
    while tree.left[node]:
        x = row[tree.feature[node]]
        if node in tree.codes:
            is_code = x == x and 0 <= x < OTHER_CODE and x == int(x)
            goes_left = tree.codes[node][int(x) if is_code else OTHER_CODE]
        else:
            goes_left = tree.missing_left[node] if x != x else x <= tree.threshold[node]
        node = (tree.left if goes_left else tree.right)[node]
    return tree.value[node]


@pytest.mark.parametrize("with_codes", [False, True], ids=["numbers", "codes"])
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 15, 16, 17, 90])
def test_sums_are_those_of_rows_that_are_followed(n_leaves, with_codes):
    """Missing values, values at a threshold and codes that no one saw included."""
    rng = np.random.default_rng(n_leaves)
    some = [grown(rng, n_leaves, 4, with_codes=with_codes) for _ in range(7)]
    some.append(grown(rng, 1, 4))  # one leaf among larger trees
    X = np.round(rng.normal(size=(301, 4)) * 4) / 2
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0], X[1] = 300.0, -np.inf
    expected = [2.5 + sum(followed(tree, row) for tree in some) for row in X]
    found = TreeSum(tuple(some), 2.5).score(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_a_row_gets_the_same_bytes_whichever_rows_come_with_it():
    """Neither its place nor its company matters, nor how rows lie in memory."""
    rng = np.random.default_rng(0)
    packed = TreeSum(tuple(grown(rng, 15, 3) for _ in range(60)), 0.0)
    X = rng.normal(size=(20_001, 3))
    together = packed.score(X)
    for part in (slice(0, 1), slice(16_383, 16_385), slice(17, 20_000), slice(0, 0)):
        np.testing.assert_array_equal(packed.score(X[part]), together[part])
    np.testing.assert_array_equal(packed.score(np.asfortranarray(X)), together)


def test_bits_change_places_with_lines():
    """Bit k of a byte of all lines, the first line highest, is the byte in its place of line k."""
    planes = np.random.default_rng(0).integers(256, size=(8, 3, 16), dtype=np.uint8)
    bits = np.unpackbits(planes, axis=2).reshape(8, 3, 16, 8)
    expected = np.packbits(bits.transpose(3, 1, 2, 0), axis=3)[..., 0]
    np.testing.assert_array_equal(_transposed(planes.copy()), expected)


def test_no_trees_give_the_baseline():
    """What is not there adds nothing."""
    np.testing.assert_array_equal(TreeSum((), 1.5).score(np.zeros((2, 1))), [1.5, 1.5])


def test_large_trees_are_refused():
    """Leaves are numbered by one byte."""
    with pytest.raises(ValueError, match="at most 256 leaves; got 257"):
        TreeSum((grown(np.random.default_rng(0), 257, 2),), 0.0).score(np.zeros((1, 2)))


def test_many_trees_of_many_sizes_are_summed_in_parts(monkeypatch):
    """One large tree among stumps costs what it is, and the sum is the same."""
    rng = np.random.default_rng(1)
    sizes = [100, *(2 for _ in range(300)), 17, 3]
    made = [grown(rng, n_leaves, 4) for n_leaves in sizes]
    X = rng.normal(size=(200, 4))
    whole = TreeSum(tuple(made), 1.0)
    expected = whole.score(X)
    monkeypatch.setattr(trees, "_MOST_NODES", 256)
    parts = TreeSum(tuple(made), 1.0)
    np.testing.assert_allclose(parts.score(X), expected, rtol=0, atol=1e-12)
    assert len(whole._packed) < len(parts._packed) < 10


def test_what_makes_trees_fast_is_not_pickled():
    """A sum of trees is what it was, and is made ready again where it is read."""
    rng = np.random.default_rng(2)
    made = TreeSum((grown(rng, 5, 2),), 0.5)
    before, X = pickle.dumps(made), rng.normal(size=(9, 2))
    found = made.score(X)
    assert pickle.dumps(made) == before
    np.testing.assert_array_equal(pickle.loads(before).score(X), found)
