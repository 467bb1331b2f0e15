"""Reading rows: the one place where they are turned into weights, means and scatters by group.

A group is any label of rows: a class, or a class within a fold. Dense rows are read once, in
cache-sized blocks, and no full-size copy of them is made.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.memory import usable_memory

Matrix: TypeAlias = "NDArray[Any] | sparse.csr_matrix | sparse.csr_array"
Group: TypeAlias = "tuple[int, float, Array, Array]"

# A block of rows is gathered by class into one buffer that stays in a second-level cache. Times for
# 100,000 x 50 and 1,000,000 x 20 are flat between 1 and 2 MB and 20 to 30 % worse at 0.2 MB.
_BLOCK_BYTES = 1_500_000
_SPARSE_BLOCK_ROWS = 65_536
# A block is accumulated about the current shift. When the squared offset of its mean exceeds this
# many variances, more than five of sixteen digits are at stake: centre the block, move the shift.
_OFFSET_LIMIT = 1e5
# Bytes that every machine can spare: a thousand features or so.
_ALWAYS_THERE = 1 << 25


def gather(
    X: Any,
    group: NDArray[np.signedinteger],
    n_groups: int,
    sample_weight: ArrayLike | None = None,
) -> list[Group]:
    """Return rows, weight, mean and centred scatter of each group; -1 leaves a row out."""
    rows: Any = _canonical(X) if sparse.issparse(X) else np.asarray(X)
    weight = _check_rows(rows, group, sample_weight)
    read = _gather_sparse if sparse.issparse(rows) else _gather_dense
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is named below
        groups = read(rows, group, n_groups, weight)
    if not all(np.isfinite(mean).all() and np.isfinite(s).all() for _, _, mean, s in groups):
        raise ValueError(_non_finite_message(rows))
    return groups


def _canonical(X: Any) -> Any:
    """Return CSR rows with one entry a place, as is when they are so already."""
    rows = sparse.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def group_codes(
    positive: ArrayLike, folds: ArrayLike | None, n_folds: int
) -> NDArray[np.signedinteger]:
    """Return the class within the fold as ``2 * fold + class``; -1 for a row that is left out."""
    # Small integers sort in one or two passes.
    dtype: type[np.signedinteger] = np.int8 if n_folds < 64 else np.int32
    group: NDArray[np.signedinteger] = as_flags(positive, "positive").astype(dtype)
    if folds is None:
        return group
    given = np.asarray(folds)
    low, high = (given.min(), given.max()) if given.size else (0, 0)
    if given.shape != group.shape or low < -1 or high >= n_folds:
        msg = (
            f"`folds` must give each of the {len(group)} rows a fold from 0 to {n_folds - 1}, or "
            f"-1; got shape {given.shape} with values from {low} to {high}. "
            "Number the folds from zero."
        )
        raise ValueError(msg)
    fold: NDArray[np.signedinteger] = given.astype(dtype)
    return np.where(fold < 0, fold, 2 * fold + group)


def as_flags(values: ArrayLike, name: str) -> Flags:
    """Return booleans, or zeros and ones, as booleans; refuse labels that would all count as true.

    Examples
    --------
    >>> as_flags([0, 1, 1], "positive")
    array([False,  True,  True])
    """
    flags = np.asarray(values)
    if flags.dtype != bool and not np.all((flags == 0) | (flags == 1)):
        msg = (
            f"`{name}` must hold booleans, true for the positive class; got other values, such as "
            f"{flags[(flags != 0) & (flags != 1)].tolist()[0]!r}. Compare the labels first: "
            "y == positive_label."
        )
        raise ValueError(msg)
    return flags.astype(bool)


def block_size(n_features: int) -> int:
    """Return how many rows make a block."""
    return int(np.clip(_BLOCK_BYTES // (8 * max(n_features, 1)), 64, 65_536))


def pool(weight: Array, mean: Array, scatter: Array) -> tuple[float, Array, Array]:
    """Pool K parts, with weights of either sign, given the sum of their scatters.

    A scatter without columns is left alone, for callers who want the mean only.
    """
    total = float(weight.sum())
    if total == 0:
        return 0.0, np.zeros(mean.shape[1]), np.zeros_like(scatter)
    heaviest = mean[int(np.argmax(np.abs(weight)))]
    # Deviations from one of the parts, so that a common offset cancels before it is multiplied.
    centre = heaviest + weight @ (mean - heaviest) / total
    deviation = mean - centre
    if scatter.shape[1]:
        between = (deviation.T * weight) @ deviation
        between += scatter
        scatter = between
    return total, centre, scatter


def check_feature_count(n_features: int) -> None:
    """Refuse more features than moments fit for in memory, before anything is allocated.

    Examples
    --------
    >>> check_feature_count(1000)
    """
    # Two scatters, and about as much again for the solve.
    needed = 32 * n_features**2
    # Asking the system takes as long as the moments of a few rows do.
    if needed > _ALWAYS_THERE and needed > (memory := usable_memory()):
        largest = int((memory / 32) ** 0.5)
        msg = (
            f"Class moments of {n_features} features need about {needed / 1e9:,.0f} GB (32 bytes "
            f"for each pair of features), but this process may use {memory / 1e9:,.0f} GB. Select, "
            f"hash or project to fewer features (here at most {largest})."
        )
        raise ValueError(msg)


def _check_rows(
    X: Matrix, group: NDArray[np.signedinteger], sample_weight: ArrayLike | None
) -> Array | None:
    if X.ndim != 2:
        msg = (
            f"`X` must have two dimensions, rows and features; got {X.ndim}. "
            "A single feature is X.reshape(-1, 1)."
        )
        raise ValueError(msg)
    check_feature_count(X.shape[1])
    if group.shape != (X.shape[0],):
        msg = (
            f"`positive` must have shape ({X.shape[0]},), one entry a row; got {group.shape}. "
            "Give the labels of the same rows."
        )
        raise ValueError(msg)
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != group.shape:
        msg = (
            f"`sample_weight` must have shape {group.shape}, one entry a row; got {weight.shape}. "
            "Give the weights of the same rows."
        )
        raise ValueError(msg)
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        msg = "`sample_weight` must be finite and non-negative; drop or mend the rows that are not."
        raise ValueError(msg)
    return weight


def _gather_dense(
    X: Any, group: NDArray[np.signedinteger], n_groups: int, weight: Array | None
) -> list[Group]:
    """Pool blocks of rows, each sorted by group in a buffer."""
    n, d = X.shape
    # Each group of a block ends in sums of d x d numbers, which want as many rows to pay. Such a
    # block is no larger than the scatters are.
    size = max(block_size(d), n_groups * d)
    n_blocks = -(-n // size)
    counts = np.zeros((n_groups, n_blocks), np.int64)
    weights = np.zeros((n_groups, n_blocks))
    means = np.zeros((n_groups, n_blocks, d))
    scatters = np.zeros((n_groups, d, d))
    # Memory that is used again need not be asked for again, which some processes pay dearly for.
    buffer = np.empty((min(size, n), d))
    direct = X.dtype == float and X.flags.c_contiguous
    plain = np.empty((0 if direct else len(buffer), d))
    shift = np.zeros(d)
    for b in range(n_blocks):
        rows = slice(b * size, min((b + 1) * size, n))
        order, bounds = sort_groups(group[rows], n_groups)
        source = X[rows]
        if not direct:
            plain[: len(source)] = source
            source = plain[: len(source)]
        block = np.take(source, order, axis=0, out=buffer[: len(order)], mode="clip")
        block_weight = None if weight is None else weight[rows][order]
        for g in range(n_groups):
            inside = slice(bounds[g], bounds[g + 1])
            if inside.start == inside.stop:
                continue
            part_weight = None if block_weight is None else block_weight[inside]
            counts[g, b] = inside.stop - inside.start
            weights[g, b], means[g, b], shift = _add_block(
                block[inside], part_weight, shift, scatters[g]
            )
    return [
        (int(counts[g].sum()), *pool(weights[g], means[g], scatters[g])) for g in range(n_groups)
    ]


def sort_groups(group: NDArray[np.signedinteger], n_groups: int) -> tuple[Indices, Indices]:
    """Return row numbers sorted by group, and where each group starts among them."""
    if n_groups == 2 and group.min() >= 0:  # three times as fast as sorting
        positive = group.view(bool) if group.dtype == np.int8 else group == 1
        n_negative = len(group) - int(np.count_nonzero(positive))
        order = np.empty(len(group), np.intp)
        order[:n_negative] = np.flatnonzero(~positive)
        order[n_negative:] = np.flatnonzero(positive)
        return order, np.array([0, n_negative, len(group)])
    order = np.argsort(group, kind="stable")
    left_out = np.count_nonzero(group < 0)
    sizes = np.bincount(group[order[left_out:]], minlength=n_groups)
    return order[left_out:], np.concatenate([[0], np.cumsum(sizes)])


def _add_block(
    part: Array, weight: Array | None, shift: Array, scatter: Array
) -> tuple[float, Array, Array]:
    """Add the scatter of rows about their mean to ``scatter``; overwrite the rows.

    Returns their weight, their mean, and the shift for the next block.
    """
    total = float(len(part)) if weight is None else float(weight.sum())
    if total == 0:
        return 0.0, np.zeros_like(shift), shift
    if shift.any():
        part -= shift
    root = None if weight is None else np.sqrt(weight)
    mean, second = _mean_and_second(part, weight, root, total)
    squared_offset = total * mean**2
    if np.any(squared_offset > _OFFSET_LIMIT * (second.diagonal() - squared_offset)):
        part -= mean
        residual, second = _mean_and_second(part, weight, root, total)
        absolute = shift + mean + residual
        # A handful of rows says little about where the next block lies.
        next_shift = absolute if len(part) >= 32 else shift
        mean = residual
    else:
        absolute, next_shift = shift + mean, shift
    scatter += second
    scatter -= np.outer(total * mean, mean, out=second)
    return total, absolute, next_shift


def _mean_and_second(
    part: Array, weight: Array | None, root: Array | None, total: float
) -> tuple[Array, Array]:
    """Return the mean of rows and their raw second moment.

    By `np.dot`: while it runs, other threads can too, which is not so of ``@``.
    """
    if weight is None or root is None:
        return np.dot(np.ones(len(part)), part) / total, np.dot(part.T, part)
    scaled = part * root[:, None]
    return np.dot(weight, part) / total, np.dot(scaled.T, scaled)


def _gather_sparse(
    X: sparse.csr_matrix, group: NDArray[np.signedinteger], n_groups: int, weight: Array | None
) -> list[Group]:
    """Pool sparse rows about a shift, in blocks that bound the size of the products."""
    d = X.shape[1]
    shift = _shift_of_full_columns(X)
    groups: list[Group] = []
    for g in range(n_groups):
        rows = np.flatnonzero(group == g)
        total, first, second = 0.0, np.zeros(d), np.zeros((d, d))
        for start in range(0, len(rows), _SPARSE_BLOCK_ROWS):
            inside = rows[start : start + _SPARSE_BLOCK_ROWS]
            part = X[inside].astype(float)
            if shift.any():
                part.data -= shift[part.indices]
            w = np.ones(len(inside)) if weight is None else weight[inside]
            total += float(w.sum())
            first += part.T @ w
            second += (part.T @ part.multiply(w[:, None]).tocsr()).toarray()
        offset = first / total if total > 0 else np.zeros(d)
        mean = shift + offset if total > 0 else offset
        groups.append((len(rows), total, mean, second - np.outer(first, offset)))
    return groups


def _shift_of_full_columns(X: sparse.csr_matrix) -> Array:
    """Return the means of the columns without gaps, zero elsewhere.

    Those can be shifted without making anything dense, and those alone can have an offset that is
    large against their spread.
    """
    n, d = X.shape
    if not n:
        return np.zeros(d)
    full = np.bincount(X.indices, minlength=d) == n
    if not full.any():
        return np.zeros(d)
    return np.where(full, np.ravel(X.sum(axis=0, dtype=float)) / n, 0.0)


def _non_finite_message(X: Any) -> str:
    """Say where X is not finite, or that its squares overflow."""
    if not isinstance(X, np.ndarray):
        values = X.tocoo()
        bad = np.flatnonzero(~np.isfinite(values.data))[:1]
        where = [(values.row[i], values.col[i], values.data[i]) for i in bad]
    else:
        where = []
        for start in range(0, X.shape[0], 8192):
            found = np.argwhere(~np.isfinite(X[start : start + 8192]))
            if len(found):
                i, j = found[0]
                where = [(start + i, j, X[start + i, j])]
                break
    if not where:
        return (
            "The squares of `X` must not overflow; some values are too large (infinite when "
            "squared). Rescale the features."
        )
    i, j, value = where[0]
    name = "NaN" if np.isnan(value) else "infinity (inf)"
    return (
        f"`X` must be finite: it contains {name}, first in row {i}, column {j}. "
        "Impute or drop missing values first, for instance with SimpleImputer in a pipeline."
    )
