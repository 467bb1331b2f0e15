"""The error rates of a judge that labels all rows, from human labels of some of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.annotators import JudgeCounts, count_judged, difference_interval, judge_strata
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.confusion import Interval
from flipcost.core.noise import check_level
from flipcost.exceptions import FlipCostError
from flipcost.noise._columns import read_columns

# A stream of its own, in case the user drew rows with the same seed.
_STREAM = 0x6A756467


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Estimates about rows that a judge labelled, see `judge`.

    Attributes
    ----------
    share_ : Interval
        The true share of positives.
    miss_rate_ : Interval
        Share of the true positives that the judge labels negative.
    false_alarm_rate_ : Interval
        Share of the true negatives that the judge labels positive.
    judged_share_ : float
        The share that the judge labels positive.
    confusion_ : ndarray of int, shape (2, 2)
        Rows with a human label: by that label, then by the judge's, negative first.
    level_ : float
        Level of the intervals.
    n_rows_ : int
        Number of rows.
    """

    share_: Interval
    miss_rate_: Interval
    false_alarm_rate_: Interval
    judged_share_: float
    confusion_: Indices
    level_: float
    n_rows_: int
    _counts: JudgeCounts = field(repr=False)
    _strata: Indices = field(repr=False)
    _seen: Flags = field(repr=False)

    def next_rows(self, n: int = 50) -> Indices:
        """Return the positions of rows for a person to label next.

        Rows come from the judge's labels (and bands of its confidence) for which one more human
        label is expected to narrow the interval of the share most. Within these they are drawn at
        random, so that no inclusion probabilities are needed.
        """
        left = np.bincount(self._strata[~self._seen], minlength=len(self._counts.rows))
        wanted = self._counts.next_strata(n, left)
        order = np.random.default_rng(_STREAM).permutation(len(self._strata))
        order = order[~self._seen[order]]
        chosen = [order[self._strata[order] == s][:k] for s, k in enumerate(wanted.tolist())]
        return np.sort(np.concatenate(chosen)).astype(np.intp)


def judge(
    labels: ArrayLike,
    human: ArrayLike,
    confidence: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    level: float = 0.95,
    *,
    pos_label: Any = None,
) -> JudgedRows:
    """Estimate the truth about rows that a judge labelled, from human labels of some of them.

    The judge may be a language model, a rule, or anything else that labels every row and sometimes
    errs. No features are needed.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The judge's labels: two values, none missing.
    human : array-like of shape (n,)
        Human labels, taken as correct; missing (None, NaN, NA) on other rows.
    confidence : array-like of shape (n,), default=None
        How sure the judge is of its label, in any unit. Rows are then compared within bands of
        confidence, which narrows intervals, and corrects for human labels concentrated where the
        confidence is low.
    inclusion : array-like of shape (n,), default=None
        Probability with which each row was chosen for a human label, in (0, 1]; read only where
        there is one. Not needed where rows were chosen at random, or at random among those with
        the same label of the judge.
    level : float, default=0.95
        Level of the intervals.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    JudgedRows
        With ``share_``, ``miss_rate_``, ``false_alarm_rate_``, each an `Interval`, and
        ``next_rows(n)``.

    Notes
    -----
    See `flipcost.core.annotators` for the method. Shares are those of the population that the rows
    are a sample of. With fewer than 30 human labels intervals are wide.

    Examples
    --------
    >>> import numpy as np
    >>> import flipcost as fc
    >>> rng = np.random.default_rng(0)
    >>> true = rng.random(2000) < 0.6
    >>> labels = np.where(true, rng.random(2000) < 0.95, rng.random(2000) < 0.3)
    >>> human = np.where(rng.random(2000) < 0.1, true, np.nan)
    >>> found = fc.judge(labels, human)
    >>> print(f"{found.share_.value:.2f} in [{found.share_.low:.2f}, {found.share_.high:.2f}]")
    0.58 in [0.52, 0.63]
    >>> print(f"the judge says {found.judged_share_:.2f}")
    the judge says 0.69
    """
    said, known = _read(labels, human, pos_label)
    n = len(said)
    sure = None if confidence is None else _numbers(confidence, n, "confidence")
    seen = ~np.isnan(known)
    chance = None if inclusion is None else _numbers(inclusion, n, "inclusion", seen)
    if chance is not None and not np.all((chance[seen] > 0) & (chance[seen] <= 1)):
        msg = "`inclusion` must lie above 0 and not above 1 where there is a human label."
        raise FlipCostError(msg)
    strata, says = judge_strata(said, sure, int(seen.sum()))
    counts = count_judged(strata, says, known, chance)
    cells = np.bincount(2 * known[seen].astype(int) + said[seen], minlength=4).reshape(2, 2)
    intervals = counts.intervals(check_level(level))
    share = float(said.mean())
    return JudgedRows(*intervals, share, cells, level, n, counts, strata, seen)


def judge_difference(
    a: ArrayLike,
    b: ArrayLike,
    human_a: ArrayLike,
    human_b: ArrayLike,
    level: float = 0.95,
    *,
    pos_label: Any = None,
) -> Interval:
    """Estimate by how much the true share of positives of system b exceeds that of system a.

    Both systems answered the same items; a judge labelled all answers, and people labelled those
    of some items.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        The judge's labels of the answers of each system, by item; none missing.
    human_a, human_b : array-like of shape (n,)
        Human labels of the same answers, missing elsewhere. Only items with both count; they must
        have been chosen at random, or at random among items with the same labels of the judge.
    level : float, default=0.95
        Level of the interval.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    Interval

    Examples
    --------
    >>> import numpy as np
    >>> import flipcost as fc
    >>> rng = np.random.default_rng(0)
    >>> true = rng.random((1000, 2)) < [0.5, 0.6]
    >>> said = true ^ (rng.random((1000, 2)) < 0.1)
    >>> human = np.where(rng.random((1000, 1)) < 0.2, true, np.nan)
    >>> found = fc.judge_difference(*said.T, *human.T)
    >>> print(f"{found.value:.2f} in [{found.low:.2f}, {found.high:.2f}]")
    0.12 in [0.05, 0.20]
    """
    table, _ = read_columns(
        {"a": a, "b": b, "human_a": human_a, "human_b": human_b},
        pos_label,
        optional=("human_a", "human_b"),
    )
    seen = ~np.isnan(table[:, 2] + table[:, 3])
    if not seen.any():
        msg = "Some items must have human labels of both answers; none has."
        raise FlipCostError(msg)
    judged = (table[:, 1] - table[:, 0]).astype(np.intp)
    human = np.where(seen, table[:, 3] - table[:, 2], 0).astype(np.intp)
    return difference_interval(judged, human, seen, check_level(level))


def _read(labels: ArrayLike, human: ArrayLike, pos_label: Any) -> tuple[Flags, Array]:
    table, _ = read_columns({"labels": labels, "human": human}, pos_label, optional=("human",))
    if np.isnan(table[:, 1]).all():
        msg = "Some rows must have a human label; none has. Have a person label some at random."
        raise FlipCostError(msg)
    return table[:, 0] == 1, table[:, 1]


def _numbers(values: ArrayLike, n: int, name: str, where: Flags | None = None) -> Array:
    """Return a finite number for each row, or for each row in `where`."""
    try:
        column = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        msg = f"`{name}` must hold numbers; got something else."
        raise FlipCostError(msg) from error
    if column.shape != (n,) or not np.isfinite(column if where is None else column[where]).all():
        msg = f"`{name}` must hold a finite number for each of the {n:,} rows."
        raise FlipCostError(msg)
    return column
