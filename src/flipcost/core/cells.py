r"""Rows in cells of label and score, and how many of each cell are truly positive.

A label and a range of the score put each row in a cell. How many rows a cell holds is known; what
share :math:`\pi_c` of them is truly positive is what the model says of it, up to a doubt, and what
rows that somebody checked say:

.. math::

    \operatorname{logit} \pi_c = \operatorname{logit} m_c + d_c, \qquad d \sim N(0, K),
    \qquad k_c \sim \operatorname{Bin}(n_c, \pi_c) .

The doubt :math:`K` moves all cells of a label together, moves those of a label and a call, tilts
the model, follows the score smoothly, and leaves something to each cell; so checked rows teach
their own cell most, its neighbours much and others little, and a cell that nobody looked at stays
uncertain. Sums over cells are post-stratified: rows may have been chosen for checking by label and
score, as unevenly as one likes, and still nothing leans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from flipcost.core.arrays import Array, Flags

N_SCORE_BINS = 16
# Standard deviations of the doubt, in log-odds: all cells of a label, a label and a call, the slope
# of the model, what follows the score, and each cell on its own.
_LABEL, _CALL, _SLOPE, _SMOOTH, _OWN = 1.0, 0.5, 0.3, 0.7, 0.3
# How far along the places of the score, which run from 0 to 1, neighbours teach each other.
_REACH = 0.15
# The model is never surer than this of a cell.
_SUREST = 0.002
# Models may be off by more: the doubt is also taken so many times as large, with this prior weight.
_WIDER, _WIDER_WEIGHT = 2.5, 0.25
_NEWTON_STEPS, _CONVERGED = 50, 1e-8


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Rows in cells of label, call and score.

    Attributes
    ----------
    cell : ndarray of int, shape (n,)
        The cell of each row.
    share : ndarray of shape (C,)
        Share of all rows, by weight, that each cell holds; cells without rows are left out.
    expected : ndarray of shape (C,)
        Share of true positives in each cell by the model.
    label, called : ndarray of bool, shape (C,)
        What the rows of a cell have in common.
    place : ndarray of shape (C,)
        Place of their score, from 0 to 1.
    bin : ndarray of int, shape (C,)
        Range of their score.
    """

    cell: NDArray[np.intp]
    share: Array
    expected: Array
    label: Flags
    called: Flags
    place: Array
    bin: NDArray[np.intp]

    @classmethod
    def from_rows(
        cls,
        positive: ArrayLike,
        score: ArrayLike,
        expected: ArrayLike,
        sample_weight: ArrayLike | None = None,
        called: ArrayLike | None = None,
        n_bins: int = N_SCORE_BINS,
    ) -> ScoreCells:
        """Put rows into cells.

        Parameters
        ----------
        positive : array-like of bool, shape (n,)
            Labels.
        score : array-like of shape (n,)
            Anything between 0 and 1 that orders the rows, as the probability of being positive.
        expected : array-like of shape (n,)
            Probability that each row is truly positive, given its label, by the model.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        called : array-like of bool, shape (n,), optional
            Calls, if cells should not mix them.
        n_bins : int, default=16
            Ranges of the score.

        Examples
        --------
        >>> cells = ScoreCells.from_rows([True, False, False], [0.9, 0.1, 0.2], [0.9, 0.1, 0.1])
        >>> print(len(cells.share), cells.share.sum().round(6))
        3 1.0
        """
        labels = np.asarray(positive, dtype=bool)
        calls = np.zeros(len(labels), bool) if called is None else np.asarray(called, dtype=bool)
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, float)
        place = score_places(score, weight)
        which = np.minimum((place * n_bins).astype(np.intp), n_bins - 1)
        codes, cell = np.unique(
            (2 * labels.astype(np.intp) + calls) * n_bins + which, return_inverse=True
        )
        n_cells = len(codes)
        total = np.bincount(cell, weight, n_cells)
        # Rows of no weight still need a cell to be in.
        safe = np.where(total > 0, total, 1.0)
        return cls(
            cell,
            total / max(float(total.sum()), 1e-300),
            np.bincount(cell, weight * np.asarray(expected, float), n_cells) / safe,
            codes // (2 * n_bins) > 0,
            codes // n_bins % 2 > 0,
            np.bincount(cell, place, n_cells) / np.bincount(cell, minlength=n_cells),
            codes % n_bins,
        )

    @property
    def doubt(self) -> Array:
        """Covariance of the log-odds by which the model may be off, shape (C, C)."""
        same = self.label[:, None] == self.label
        together = same & (self.called[:, None] == self.called)
        line = logit(np.clip(self.expected, _SUREST, 1 - _SUREST))
        tilt = np.zeros(len(line))
        for label in (False, True):
            own = self.label == label
            if own.any():
                tilt[own] = line[own] - np.average(line[own], weights=self.share[own] + 1e-12)
        apart = (self.place[:, None] - self.place) / _REACH
        smooth = _SMOOTH**2 * np.exp(-0.5 * apart**2)
        slope = _SLOPE**2 * np.outer(tilt, tilt)
        return np.asarray(
            same * (_LABEL**2 + slope + smooth) + together * _CALL**2 + _OWN**2 * np.eye(len(line))
        )

    def given_checked(
        self,
        rows: NDArray[np.intp],
        right: Flags,
        weight: ArrayLike | None = None,
        more_doubt: Array | None = None,
    ) -> CellPosterior:
        """Return what is known of the cells once rows were checked.

        Parameters
        ----------
        rows : ndarray of int, shape (n_checked,)
            Which rows were.
        right : ndarray of bool, shape (n_checked,)
            Whether they are truly positive.
        weight : array-like of shape (n_checked,), optional
            How many rows each counts for; one when not given.
        more_doubt : ndarray of shape (C, C), optional
            Covariance to add to `doubt`.

        Examples
        --------
        >>> cells = ScoreCells.from_rows([True, False], [0.9, 0.1], [0.9, 0.1])
        >>> before, after = (cells.given_checked(np.array(rows, dtype=int), np.array(rows) > 5)
        ...                  for rows in ([], [0, 0, 0]))
        >>> bool(after.mean[1] < before.mean[1])
        True
        """
        n_cells = len(self.share)
        w = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
        own = self.cell[rows]
        ones, zeros = (
            np.asarray(np.bincount(own, w * side, n_cells), dtype=float) for side in (right, ~right)
        )
        more = np.zeros_like(self.doubt) if more_doubt is None else more_doubt
        start = logit(np.clip(self.expected, _SUREST, 1 - _SUREST))
        usual, wide = (
            _laplace(start, k * self.doubt + more, ones, zeros) for k in (1.0, _WIDER**2)
        )
        odds = _WIDER_WEIGHT / (1 - _WIDER_WEIGHT) * np.exp(min(wide[2] - usual[2], 50.0))
        return CellPosterior(
            self, usual[0], usual[1], ones + zeros, wide[0], wide[1], float(odds / (1 + odds))
        )


@dataclass(frozen=True, eq=False)
class CellPosterior:
    """What is known of the shares of true positives in cells.

    Attributes
    ----------
    cells : ScoreCells
        The cells.
    mean : ndarray of shape (C,)
        Log-odds of the shares at the mode.
    covariance : ndarray of shape (C, C)
        Their covariance there.
    checked : ndarray of shape (C,)
        Checked rows, by weight.
    wide_mean, wide_covariance : ndarray of shape (C,) and (C, C)
        The same if the model may be off by more.
    wide_weight : float
        Probability that it may.
    """

    cells: ScoreCells
    mean: Array
    covariance: Array
    checked: Array
    wide_mean: Array
    wide_covariance: Array
    wide_weight: float

    def draws(self, n_draws: int, seed: int = 0) -> Array:
        """Draw shares of true positives, shape (n_draws, C)."""
        rng = np.random.default_rng(seed)
        n_wide = round(n_draws * self.wide_weight)
        lines = [
            _normal(rng, n, mean, covariance)
            for n, mean, covariance in (
                (n_draws - n_wide, self.mean, self.covariance),
                (n_wide, self.wide_mean, self.wide_covariance),
            )
        ]
        return np.asarray(expit(rng.permutation(np.concatenate(lines))))


def score_places(score: ArrayLike, sample_weight: Array | None = None) -> Array:
    """Return places from 0 to 1 in the order of a score between 0 and 1: half rank, half log-odds.

    Ranks alone put all rows that matter, where positives are rare, in one place; log-odds alone
    leave most places empty.

    Examples
    --------
    >>> score_places([0.1, 0.5, 0.9]).round(3)
    array([0. , 0.5, 1. ])
    """
    values = np.asarray(score, dtype=float)
    _, rank = np.unique(values, return_inverse=True)
    line = logit(np.clip(values, 1e-4, 1 - 1e-4))
    low, high = np.quantile(line, [0.01, 0.99]) if len(line) > 200 else (line.min(), line.max())
    along = np.clip((line - low) / max(float(high - low), 1e-9), 0.0, 1.0)
    counts = np.asarray(np.bincount(rank, sample_weight), dtype=float)
    # The ends of the ranks, where a row has half of its weight, are at 0 and 1.
    middle = np.cumsum(counts) - counts / 2
    ranked = ((middle - middle[0]) / max(float(middle[-1] - middle[0]), 1e-300))[rank]
    return np.asarray((along + ranked) / 2)


def _normal(rng: np.random.Generator, n: int, mean: Array, covariance: Array) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean + rng.normal(size=(n, len(values))) @ spread.T)


def _laplace(start: Array, prior: Array, ones: Array, zeros: Array) -> tuple[Array, Array, float]:
    """Return mode, covariance and log evidence of log-odds with a normal prior and binomial counts.

    Newton's method in the manner of Rasmussen and Williams (2006), algorithm 3.1: with W the
    curvature of the likelihood, B = I + W^1/2 K W^1/2 is safe to factor.
    """
    total, off = ones + zeros, np.zeros(len(start))
    if not total.any():
        return start, prior, 0.0
    a = np.zeros(len(start))
    for _ in range(_NEWTON_STEPS):
        share = expit(start + off)
        root = np.sqrt(total * share * (1 - share))
        b = root**2 * off + ones - total * share
        inner = np.eye(len(start)) + root[:, None] * prior * root
        full = b - root * np.linalg.solve(inner, root * (prior @ b))
        step = prior @ full - off
        # A step of several units of log-odds overshoots where a share is close to 0 or 1.
        part = min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        off, a = off + part * step, a + part * (full - a)
        if np.abs(step).max() < _CONVERGED:
            break
    share = expit(start + off)
    root = np.sqrt(total * share * (1 - share))
    inner = np.eye(len(start)) + root[:, None] * prior * root
    reduced = np.linalg.solve(inner, root[:, None] * prior)
    likely = ones @ np.log(share + 1e-300) + zeros @ np.log1p(-share + 1e-300)
    evidence = float(likely - off @ a / 2 - np.linalg.slogdet(inner)[1] / 2)
    return start + off, np.asarray(prior - (prior * root) @ reduced), evidence
