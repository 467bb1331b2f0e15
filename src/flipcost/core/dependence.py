r"""Rows that depend on each other: which do, and for how many rows they count.

Rows of one group (a patient, a customer, a document that was copied) tell less than as many rows
of different ones. If :math:`u_i` is what row i adds to an estimate, the variance of the sum is
:math:`\sum_g (\sum_{i \in g} u_i)^2` rather than :math:`\sum_i u_i^2`; their ratio is the *design
effect* (Kish), and the rows divided by it are the *effective rows*. Of several estimates at once
the largest ratio is taken, over all their linear combinations, and few groups are allowed for as
in a t-interval. Where rows are in order of time, spans of time are the groups: if what the scores
mean changes from span to span, that counts for no more rows than there are spans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csgraph, issparse
from scipy.special import ndtri, stdtrit

from flipcost.core.arrays import Array, Flags, Indices, Keys, unit_weights
from flipcost.core.curves import area_under_curve
from flipcost.core.folds import hash_keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import ArrayLike

# Cells in which rows are near each other, in standard deviations of each column.
_CELL = 1e-3
_CHUNK_ROWS = 8_192
# Fewer rows than this are not searched for copies, and fewer copies are none.
_FEW_ROWS, _FEW_COPIES, _LEAST_SHARE = 100, 10, 0.01
# Rows that coincide by chance are expected; copies are this many times as many.
_BEYOND_CHANCE = 20.0
# A pattern that more rows than this share is no copy of a row but a common row.
_COMMON, _COMMON_ROWS = 0.05, 20
# Rows that the chance of coincidence is estimated on, by columns.
_LOOK_ROWS = 2_000
# Columns that are tried first.
_TELLING = 3
# Spans of time that are taken for groups, and rows of each at least.
_SPANS, _SPAN_ROWS = 20, 10


def design_effect(influence: ArrayLike, groups: ArrayLike, level: float = 0.95) -> float:
    """Return by how much the variance of estimates is larger since rows come in groups; at least 1.

    `influence` is what each row adds to each of k estimates, about their means, shape (n,) or
    (n, k). Few groups widen intervals at `level` as in a t-interval.
    """
    u = np.asarray(influence, dtype=float)
    u = u[:, None] if u.ndim == 1 else u
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    n_groups, most = int(codes.max(initial=-1)) + 1, float(max(len(u), 1))
    if n_groups == len(u):
        return 1.0
    alone = u.T @ u
    if n_groups < 2 or not np.isfinite(alone).all():
        return most
    sums = np.column_stack([np.bincount(codes, column, n_groups) for column in u.T])
    values, vectors = np.linalg.eigh(alone)
    kept = values > 1e-10 * max(values[-1], 1e-300)
    if not kept.any():
        return 1.0
    together = sums @ (vectors[:, kept] / np.sqrt(values[kept]))
    worst = float(np.linalg.eigvalsh(together.T @ together)[-1])
    widened = stdtrit(n_groups - 1, (1 + level) / 2) / ndtri((1 + level) / 2)
    few = n_groups / (n_groups - 1) * float(widened) ** 2
    return float(np.clip(worst * few, 1.0, most))


def mean_design(
    values: ArrayLike, groups: ArrayLike, weight: ArrayLike | None = None, level: float = 0.95
) -> float:
    """Return the design effect of weighted means of values of shape (n,) or (n, k)."""
    x = np.asarray(values, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    w = unit_weights(weight, len(x))
    used = np.flatnonzero(w > 0)
    x, w = x[used], w[used]
    off = x - w @ x / max(float(w.sum()), 1e-300)
    return design_effect(w[:, None] * off, np.asarray(groups)[used], level)


def cell_design(
    cells: ArrayLike, groups: ArrayLike, weight: ArrayLike | None = None, level: float = 0.95
) -> float:
    """Return the design effect of the shares of rows in cells."""
    return mean_design(np.asarray(cells)[:, None] == np.unique(cells), groups, weight, level)


def grouped_squares(
    positive: Flags, groups: Indices, weight: Array | None = None, level: float = 0.95
) -> Callable[[Flags], Array]:
    """Return what turns flags into the squared weights of their table, given groups of rows.

    As `flipcost.core.decision.count_flags` takes it.
    """
    w = unit_weights(weight, len(positive))

    def squares(flagged: Flags) -> Array:
        cell = 2 * positive.astype(np.intp) + flagged
        plain = np.bincount(cell, w**2, 4).reshape(2, 2)
        return np.asarray(plain * cell_design(cell, groups, w, level), dtype=float)

    return squares


def repeated_rows(X: Any) -> Indices | None:
    """Return a number for each row, the same for rows that are copies of each other, or nearly so.

    X holds numbers, dense or sparse; NaN is one value. None where no more rows coincide than
    chance, and columns of few values, bring about.
    """
    n_rows = X.shape[0]
    if n_rows < _FEW_ROWS or not X.shape[1]:
        return None
    least = max(_FEW_COPIES, _LEAST_SHARE * n_rows)
    if not issparse(X) and X.shape[1] > _TELLING:
        # Copies coincide in some columns too: most tables need no look at the others.
        some = _near_keys(X[:, _telling_columns(X)])
        if some is not None and sum(map(_repeats, some)) < least:
            return None
    keys = _sparse_keys(X) if issparse(X) else _near_keys(X)
    if keys is None or sum(map(_repeats, keys)) < least:
        return None
    codes = _joined(keys)
    sizes = np.bincount(codes)
    common = sizes > max(_COMMON * n_rows, _COMMON_ROWS)
    copies = np.where(common, 0, sizes - 1).sum()
    if copies < least:
        return None
    pairs = np.where(common, 0, sizes * (sizes - 1.0) / 2).sum()
    if not issparse(X) and pairs < _BEYOND_CHANCE * n_rows**2 / 2 * _chance_of_meeting(X):
        return None
    alone = common[codes]
    codes[alone] = len(sizes) + np.flatnonzero(alone)
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.intp)


def time_spans(time: ArrayLike, n_spans: int | None = None) -> Indices:
    """Return consecutive spans of about as many rows each; rows of one moment stay together.

    `time` is anything that sorts; there are some twenty spans unless `n_spans` says otherwise.
    """
    moments, place = np.unique(np.asarray(time), return_inverse=True)
    wanted = min(_SPANS, max(2, len(place) // _SPAN_ROWS)) if n_spans is None else n_spans
    rows = np.bincount(place, minlength=len(moments))
    middle = np.cumsum(rows) - (rows + 1) / 2
    spans = (middle * wanted / max(len(place), 1)).astype(np.intp)
    return np.asarray(np.unique(spans, return_inverse=True)[1][place], dtype=np.intp)


def training_rows(folds: Indices, fold: int, *, forward: bool) -> Indices:
    """Return the rows that score a fold: those of all others, or of earlier ones.

    Nothing comes before the first fold; it is scored by all others, and should not be judged by.
    """
    return np.flatnonzero(folds < fold if forward and fold else folds != fold)


def drift(score: Array, positive: Flags, spans: Indices) -> tuple[float, float] | None:
    """Return the least and the largest area under the curve of a score over spans that differ.

    None where they differ by no more than chance: by four standard errors.
    """
    found = []
    for span in range(int(spans.max()) + 1):
        own = spans == span
        n_pos = int(positive[own].sum())
        n_neg = int(own.sum()) - n_pos
        if min(n_pos, n_neg) < 5:
            continue
        area = area_under_curve(score[own], positive[own])
        found.append((area, (n_pos + n_neg + 1) / (12 * n_pos * n_neg)))
    if len(found) < 2:
        return None
    (least, its), (largest, others) = min(found), max(found)
    if largest - least < 4 * np.sqrt(its + others):
        return None
    return least, largest


def _telling_columns(X: Array) -> Indices:
    """Return the columns in which the fewest of some rows are near each other."""
    look = np.sort(X[:: max(1, len(X) // _LOOK_ROWS)], axis=0)
    with np.errstate(all="ignore"):
        apart = (np.diff(look, axis=0) > _CELL * _centre_and_spread(look)[1]).T
    return np.argsort(-apart.sum(axis=1), kind="stable")[:_TELLING]


def _repeats(keys: Keys) -> int:
    """Return how many keys are not the first of their value: copies there can be at most."""
    ascending = np.sort(keys)
    return int(np.count_nonzero(ascending[1:] == ascending[:-1]))


def _centre_and_spread(X: Array) -> tuple[Array, Array]:
    """Return means and standard deviations of what is known of each column; of nothing, 0."""
    n_known = np.maximum(np.count_nonzero(~np.isnan(X), axis=0), 1)
    with np.errstate(all="ignore"):
        centre = np.nansum(X, axis=0) / n_known
        return centre, np.sqrt(np.nansum((X - centre) ** 2, axis=0) / n_known)


def _near_keys(X: Array) -> tuple[Keys, Keys] | None:
    """Return two keys of each row, of its cell in two grids that lie half a cell apart."""
    centre, spread = _centre_and_spread(X)
    used = np.flatnonzero(np.isfinite(spread) & (spread > 0) & np.isfinite(centre))
    if not len(used):
        return None
    factors = hash_keys(np.arange(len(used), dtype=np.uint64)) | np.uint64(1)
    keys = np.empty((2, len(X)), np.uint64)
    for start in range(0, len(X), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        place = (X[rows, used] - centre[used]) / (_CELL * spread[used])
        place = np.where(np.isnan(place), -(2.0**40), np.clip(place, -(2.0**39), 2.0**39))
        for k, shift in enumerate((0.0, 0.5)):
            cells = np.floor(place + shift).astype(np.int64).view(np.uint64)
            with np.errstate(over="ignore"):
                keys[k, rows] = (cells * factors).sum(axis=1)
    return keys[0], keys[1]


def _sparse_keys(X: Any) -> tuple[Keys, Keys]:
    """Return two keys of each row of a sparse matrix: projections, which copies share."""
    rng = np.random.default_rng(0)
    line = np.asarray(X @ rng.normal(size=(X.shape[1], 2)))
    spread = np.maximum(line.std(axis=0), 1e-300)
    keys = np.floor(line / (1e-9 * spread) + 0.25).astype(np.int64).view(np.uint64)
    key = np.asarray(keys[:, 0] * np.uint64(0x9E3779B97F4A7C15) + keys[:, 1])
    return key, key


def _joined(keys: tuple[Keys, Keys]) -> Indices:
    """Give rows that share either key the same number."""
    first, second = (np.unique(key, return_inverse=True)[1] for key in keys)
    edges = np.unique(first.astype(np.int64) * (int(second.max()) + 1) + second)
    n_first, n_second = int(first.max()) + 1, int(second.max()) + 1
    own, other = edges // n_second, edges % n_second
    links = coo_array(
        (np.ones(len(edges), np.int8), (own, n_first + other)),
        shape=(n_first + n_second,) * 2,
    )
    return np.asarray(csgraph.connected_components(links, directed=False)[1][first], np.intp)


def _chance_of_meeting(X: Array) -> float:
    """Return the chance that two rows are near each other in every column, if these are unrelated.

    Columns that are all but copies of others would make it too small, so no column counts for more
    than one in a thousand.
    """
    look = X[:: max(1, len(X) // _LOOK_ROWS)]
    chance = 1.0
    for column in look.T:
        known = column[~np.isnan(column)]
        spread = known.std() if len(known) else 0.0
        if not spread > 0:
            continue
        counts = np.unique(np.floor(column / (_CELL * spread)), return_counts=True)[1]
        met = (counts * (counts - 1.0)).sum() / max(len(column) * (len(column) - 1.0), 1.0)
        chance *= float(max(met, 1e-3))
    return chance
