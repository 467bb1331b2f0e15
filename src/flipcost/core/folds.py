r"""Assigning rows to the folds of a cross-validation: in order, at random, or by a hash.

Hashes
------
By a hash, the fold of a row depends on nothing but its position or its identifier: it is the same
on every machine and for every chunking of the rows. A 64-bit key is mixed by the finaliser of
SplitMix64 (Steele, Lea and Flood, 2014, doi:10.1145/2660193.2660195), whose upper half, times the
number of folds, gives the fold. Text is turned into a key by a polynomial of its bytes modulo
:math:`2^{64}`.

Database engines multiply 64-bit integers without wrapping around, if at all, so that they have a
hash of their own (`engine_folds`), which needs products below :math:`2^{62}` only: with the prime
:math:`p = 2^{31} - 1`, :math:`h = ((a k + b) \bmod p)^5 \bmod p`. The fifth power is a permutation
modulo :math:`p`, since 5 does not divide :math:`p - 1`, and breaks up the regular steps in which
sequential keys would otherwise go around.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost.core.arrays import Flags, Indices, Keys

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
# Odd, so that powers never vanish modulo 2**64.
_BASE = np.uint64(0x100000001B3)
# The modulus of the hash that database engines compute.
PRIME = 2**31 - 1
# Ten folds leave more rows to learn from, which matters while these are few; five take half as
# long.
_FEW_ROWS = 5_000


def usual_folds(n_rows: int) -> int:
    """Return how many folds to make when none are asked for: 10 below 5,000 rows, and 5 above."""
    return min(10 if n_rows < _FEW_ROWS else 5, n_rows)


def random_folds(classes: ArrayLike, n_folds: int, rng: np.random.Generator) -> Indices:
    """Assign rows to folds at random so that each fold has its share of every class.

    Rows sorted by class, at random within each, are dealt to the folds in turn, so that sizes of
    folds differ by one at most, and so do the rows of a class in them.
    """
    codes = np.asarray(classes)
    n_rows = len(codes)
    if codes.dtype == bool:
        codes = codes.view(np.int8)  # small integers sort in one pass
    drawn, at_random = rng.permutation(n_rows), np.empty(n_rows, np.intp)
    at_random[drawn] = np.arange(n_rows)
    folds = np.empty(n_rows, np.intp)
    order = at_random[np.argsort(codes[at_random], kind="stable")]
    folds[order] = np.arange(n_rows) % n_folds
    return folds


def group_folds(
    groups: ArrayLike, classes: ArrayLike, n_folds: int, rng: np.random.Generator
) -> Indices:
    """Assign rows to folds at random so that rows of one group share a fold.

    Groups, sorted by their commonest class and size, at random within these, are dealt to the folds
    in turn and back, so that folds have about their share of rows and of both classes. There are no
    more folds than groups.
    """
    _, codes, rows = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    labels = np.asarray(classes, dtype=bool)
    positives = np.bincount(codes, labels, len(rows))
    found = [np.unique(codes[labels == label]) for label in (False, True)]
    if min(len(own) for own in found) < 2:
        msg = (
            "Each label must be found in at least two groups, so that rows of other groups can be "
            f"learned from; got {len(found[0])} groups with negative labels and {len(found[1])} "
            "with positive ones."
        )
        raise ValueError(msg)
    n_folds = min(n_folds, len(rows), *(len(own) for own in found))
    order = np.lexsort((rng.permutation(len(rows)), rows, 2 * positives > rows))
    turns = np.concatenate([np.arange(n_folds), np.arange(n_folds)[::-1]])
    fold_of = np.empty(len(rows), np.intp)
    fold_of[order] = turns[np.arange(len(rows)) % (2 * n_folds)]
    return _both_classes(fold_of, codes, labels, n_folds)[codes]


def _both_classes(fold_of: Indices, codes: Indices, labels: Flags, n_folds: int) -> Indices:
    """Move a group where all groups of a label share one fold, so that others can learn it."""
    for label in (False, True):
        own = np.unique(codes[labels == label])
        if len(np.unique(fold_of[own])) == 1:
            fold_of[own[0]] = (fold_of[own[0]] + 1) % n_folds
    return fold_of


def stratified_folds(positive: ArrayLike, n_folds: int) -> NDArray[np.int16]:
    """Assign rows to folds so that each fold has its share of both classes, in order of the rows.

    The folds are those of scikit-learn's ``StratifiedKFold`` without shuffling, found without
    sorting labels or listing rows.
    """
    labels = np.asarray(positive, dtype=bool)
    n_positive = int(np.count_nonzero(labels))
    larger = max(n_positive, len(labels) - n_positive)
    if not 2 <= n_folds <= larger:
        msg = (
            "The number of folds must be at least 2 and at most the rows of the larger class, "
            f"{larger}; got {n_folds}. Choose a number in between, or gather more rows."
        )
        raise ValueError(msg)
    first = bool(labels[0])
    n_first = n_positive if first else len(labels) - n_positive
    # Deal the rows, sorted by class, to the folds in turn: fold k gets places k, k + n_folds, ...
    turns = np.arange(n_folds)
    dealt_first = np.maximum(0, -(-(n_first - turns) // n_folds))
    dealt_all = np.maximum(0, -(-(len(labels) - turns) // n_folds))
    folds = np.empty(len(labels), np.int16)
    small = turns.astype(np.int16)
    folds[labels == first] = np.repeat(small, dealt_first)
    folds[labels != first] = np.repeat(small, dealt_all - dealt_first)
    return folds


def hash_folds(keys: Keys, n_folds: int, seed: int = 0) -> NDArray[np.int16]:
    """Return the fold of each key.

    Parameters
    ----------
    keys : ndarray of uint64
        Row positions, or identifiers as keys.
    n_folds : int
        Number of folds, 1 to 32767.
    seed : int, default=0
        Another seed gives other folds.

    Examples
    --------
    >>> hash_folds(np.arange(10, dtype=np.uint64), 3)
    array([2, 1, 1, 0, 1, 1, 2, 1, 1, 2], dtype=int16)
    """
    if not 1 <= n_folds <= np.iinfo(np.int16).max:
        msg = f"`n_folds` must lie between 1 and 32767; got {n_folds}."
        raise ValueError(msg)
    upper = hash_keys(keys, seed) >> np.uint64(32)
    return ((upper * np.uint64(n_folds)) >> np.uint64(32)).astype(np.int16)


def hash_keys(keys: Keys, seed: int = 0) -> Keys:
    """Return keys scattered evenly over 64 bits; different keys stay different."""
    with np.errstate(over="ignore"):
        z = keys + np.uint64((int(seed) * int(_GAMMA)) % 2**64) + _GAMMA
        z = (z ^ (z >> np.uint64(30))) * _MIX_1
        z = (z ^ (z >> np.uint64(27))) * _MIX_2
        return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)


def engine_constants(seed: int) -> tuple[int, int]:
    """Return multiplier and offset of the hash that engines compute, for a seed."""
    mixed = hash_keys(np.array([0, 1], np.uint64), int(seed) % 2**32)
    return 1 + int(mixed[0]) % (PRIME - 1), int(mixed[1]) % PRIME


def engine_hash(keys: NDArray[np.int64], seed: int = 0) -> NDArray[np.int64]:
    """Return keys scattered over 0 to ``PRIME - 1``, as a database engine scatters them."""
    multiplier, offset = engine_constants(seed)
    start = (np.asarray(keys, np.int64) % PRIME * multiplier + offset) % PRIME
    square = start * start % PRIME
    return np.asarray(square * square % PRIME * start % PRIME)


def engine_folds(
    keys: NDArray[np.int64], n_folds: int, seed: int = 0, rule: str = "hash"
) -> NDArray[np.int16]:
    """Return the fold that a database engine puts each key in.

    Parameters
    ----------
    keys : ndarray of int
        Whole numbers; of text the first 32 bits of its MD5.
    n_folds : int
        Number of folds.
    seed : int, default=0
        Another seed gives other folds.
    rule : {"hash", "modulus"}, default="hash"
        The remainder of the hash, or of the key itself.

    Examples
    --------
    >>> engine_folds(np.arange(8), 3)
    array([2, 0, 0, 1, 0, 2, 1, 1], dtype=int16)
    >>> engine_folds(np.arange(-2, 3), 3, rule="modulus")
    array([1, 2, 0, 1, 2], dtype=int16)
    """
    values = engine_hash(keys, seed) if rule == "hash" else np.asarray(keys, np.int64)
    return np.asarray(values % n_folds, dtype=np.int16)


def text_keys(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Keys:
    """Return a key for each text: ``sum(byte * base**place) + length``.

    Texts come as their bytes, one after another, and where each begins and the last one ends.
    """
    lengths = np.diff(offsets)
    keys: Keys = lengths.astype(np.uint64)
    if not lengths.any():
        return keys
    start = offsets[:-1] - offsets[0]
    data = text[offsets[0] : offsets[-1]]
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(int(lengths.max()), _BASE))
        place = np.arange(len(data)) - np.repeat(start, lengths)
        terms = data.astype(np.uint64) * powers[place]
        filled = lengths > 0  # `reduceat` gives an empty segment the element that follows it
        keys[filled] += np.add.reduceat(terms, start[filled])
    return keys
