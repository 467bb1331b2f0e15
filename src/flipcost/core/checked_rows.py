r"""Checked rows: what they tell of cells of label and score, and of the cost of misses and alarms.

A label, a flag and a range of the score put each row in a cell. How many rows a cell holds is
known; what share :math:`\pi_c` of them is truly positive follows from what the model says, up to a
normal error, and from what checked rows say:

.. math::

    \operatorname{logit} \pi_c = \operatorname{logit} m_c + b + d_c, \qquad d \sim N(0, K),
    \qquad k_c \sim \operatorname{Bin}(n_c, \pi_c) .

The shift :math:`b` of all cells of a label keeps their expected share what the model says: the
prior alone would raise a small one. The covariance :math:`K` moves all cells of a label together,
moves those of a label and a flag, tilts the model, follows the score smoothly, and leaves something
to each cell. So checked rows teach their own cell most, its neighbours much and others little, and
a cell without checked rows stays uncertain. Sums over cells are post-stratified: rows may be chosen
for checking by label, flag and score, however unevenly; within a cell they must represent the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logit

from flipcost.core import priors
from flipcost.core.arrays import Array, Flags, unit_weights
from flipcost.core.confusion import Interval, agreement, clip_interval
from flipcost.core.costs import RowCosts
from flipcost.core.noise_posterior import PrevalencePrior

N_SCORE_BINS = 16
# Nodes and weights of Gauss-Hermite quadrature.
_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(21)
_MASSES /= _MASSES.sum()
_DRAWS = 2_000
_NEWTON_STEPS, _CONVERGED = 50, 1e-8


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Rows in cells of label, flag and score.

    Attributes
    ----------
    cell : ndarray of int, shape (n,)
        The cell of each row.
    share : ndarray of shape (C,)
        Share of all rows, by weight, that each cell holds; cells without rows are left out.
    expected : ndarray of shape (C,)
        Share of true positives in each cell by the model.
    label, flagged : ndarray of bool, shape (C,)
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
    flagged: Flags
    place: Array
    bin: NDArray[np.intp]

    @classmethod
    def from_rows(
        cls,
        positive: ArrayLike,
        score: ArrayLike,
        expected: ArrayLike,
        sample_weight: ArrayLike | None = None,
        flagged: ArrayLike | None = None,
        n_bins: int = N_SCORE_BINS,
    ) -> ScoreCells:
        """Put rows into cells."""
        labels = np.asarray(positive, dtype=bool)
        flags = np.zeros(len(labels), bool) if flagged is None else np.asarray(flagged, dtype=bool)
        weight = unit_weights(sample_weight, len(labels))
        place = score_places(score, weight)
        which = np.minimum((place * n_bins).astype(np.intp), n_bins - 1)
        codes, cell = np.unique(
            (2 * labels.astype(np.intp) + flags) * n_bins + which, return_inverse=True
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

    def prior_covariance(self, wider: float = 1.0, rates: Array | None = None) -> Array:
        """Return the covariance of the log-odds by which the model may be off, shape (C, C).

        `rates` is the part of it that comes from not knowing the error rates; the doubt of all
        cells of a label takes its place where it is not given.
        """
        same = self.label[:, None] == self.label
        together = same & (self.flagged[:, None] == self.flagged)
        line = logit(np.clip(self.expected, priors.CELL_SUREST, 1 - priors.CELL_SUREST))
        tilt = np.zeros(len(line))
        for label in (False, True):
            own = self.label == label
            if own.any():
                tilt[own] = line[own] - np.average(line[own], weights=self.share[own] + 1e-12)
        apart = (self.place[:, None] - self.place) / priors.CELL_REACH
        smooth = priors.CELL_SMOOTH**2 * np.exp(-0.5 * apart**2)
        slope = priors.CELL_SLOPE**2 * np.outer(tilt, tilt)
        own = priors.CELL_OWN**2 * np.eye(len(line))
        found = wider**2 * (same * (slope + smooth) + together * priors.CELL_CALL**2 + own)
        label = wider**2 * priors.CELL_LABEL**2 * same
        return np.asarray(found + (label if rates is None else rates))

    def given_checked(
        self,
        rows: NDArray[np.intp],
        right: Flags,
        weight: ArrayLike | None = None,
        rates: Array | None = None,
    ) -> CellPosterior:
        """Return the posterior given checked rows; `rates` as in `prior_covariance`."""
        n_cells = len(self.share)
        w = unit_weights(weight, len(rows))
        w, own = priors.CHECKED_WEIGHT * w, self.cell[rows]
        ones, zeros = (
            np.bincount(own, w * side, n_cells).astype(np.float64) for side in (right, ~right)
        )
        more = self._beside(ones + zeros)
        ones, zeros = ones + more, zeros + more
        start = logit(np.clip(self.expected, priors.CELL_SUREST, 1 - priors.CELL_SUREST))
        parts = []
        for wider in (1.0, priors.CELL_WIDER):
            prior = self.prior_covariance(wider, rates)
            # Under the wide prior the model's mean share is not preserved.
            middle = self._centred(start, prior) if wider == 1.0 else start
            parts.append((middle, prior, *_laplace(middle, prior, ones, zeros)))
        return CellPosterior(self, ones, zeros, parts[0], parts[1])

    def _centred(self, start: Array, prior: Array) -> Array:
        """Shift log-odds, by label, so that under the prior the mean share is the model's."""
        middle, spread = start.copy(), np.sqrt(np.diag(prior))
        for label in (False, True):
            own = np.flatnonzero((self.label == label) & (self.share > 0))
            if not len(own):
                continue

            def excess(shift: float, own: NDArray[np.intp] = own) -> float:
                line = start[own, None] + shift + spread[own, None] * _NODES
                return float(self.share[own] @ (expit(line) @ _MASSES - expit(start[own])))

            most = 1.0 + float(spread[own].max()) ** 2
            middle[own] += brentq(excess, -most, most, xtol=1e-6)
        return middle

    def _beside(self, checked: Array) -> Array:
        """Return rows of either class that are counted in each cell beside the checked ones.

        One of each for a label, as in a uniform prior, shared out as its checked rows are. Fewer
        where a label is rare: one more positive is many where there is one in a thousand.
        """
        of_label = np.bincount(self.label, checked, 2)[self.label.astype(np.intp)]
        positive = float(self.share @ self.label)
        rarity = min(1.0, min(positive, 1 - positive) / priors.CELL_RARE)
        rows = priors.CELL_ROWS * rarity**2
        return np.asarray(rows * checked / np.maximum(of_label, 1e-300))


@dataclass(frozen=True, eq=False)
class CellPosterior:
    """Posterior of the shares of true positives in cells.

    Attributes
    ----------
    cells : ScoreCells
        The cells.
    positives, negatives : ndarray of shape (C,)
        Checked rows of each, by weight.
    usual, wide : tuple of (start, prior, mode, covariance)
        Prior of the log-odds, and the normal distribution nearest to their posterior; and the same
        if the model may be off by more.
    """

    cells: ScoreCells
    positives: Array
    negatives: Array
    usual: tuple[Array, Array, Array, Array]
    wide: tuple[Array, Array, Array, Array]

    def draws(self, n_draws: int, seed: int = 0, *, in_doubt: bool = False) -> Array:
        """Draw shares of true positives, shape (n_draws, C); `in_doubt`, if the model is far off.

        The normal distributions are proposals, of which draws are kept by their likelihood: where
        all checked rows of a cell are of one class the posterior is far from normal.
        """
        rng = np.random.default_rng(seed)
        wide = priors.CELL_WIDER_WEIGHT
        parts = [(1.0, self.wide)] if in_doubt else [(1 - wide, self.usual), (wide, self.wide)]
        lines, weights = [], []
        for share, (start, prior, mode, covariance) in parts:
            line, log_proposed = _normal(rng, n_draws, mode, covariance)
            log_share, log_rest = log_expit(line), log_expit(-line)
            found = log_share @ self.positives + log_rest @ self.negatives
            lines.append(line)
            weights.append(np.log(share) + found + _log_normal(line, start, prior) - log_proposed)
        line, log_weight = np.concatenate(lines), np.concatenate(weights)
        return np.asarray(expit(rng.permutation(line[_resampled(log_weight, n_draws)])))


def score_places(score: ArrayLike, sample_weight: Array | None = None) -> Array:
    """Return places from 0 to 1 in the order of a score between 0 and 1: half rank, half log-odds.

    Ranks alone put all rows that matter, where positives are rare, in one place; log-odds alone
    leave most places empty.
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


def _resampled(log_weight: Array, n: int) -> NDArray[np.intp]:
    """Return which draws to keep: n of them by weight, by systematic resampling."""
    upto = np.cumsum(np.exp(log_weight - log_weight.max()))
    return np.asarray(np.searchsorted(upto, (np.arange(n) + 0.5) / n * upto[-1]))


def _normal(
    rng: np.random.Generator, n: int, mean: Array, covariance: Array
) -> tuple[Array, Array]:
    """Draw from a normal distribution; return draws and the log of their density."""
    values, vectors = np.linalg.eigh(covariance)
    spread = np.sqrt(np.maximum(values, 1e-12))
    unit = rng.normal(size=(n, len(values)))
    return mean + unit @ (vectors * spread).T, -0.5 * (unit**2).sum(axis=1) - np.log(spread).sum()


def _log_normal(line: Array, mean: Array, covariance: Array) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    spread = np.sqrt(np.maximum(values, 1e-12))
    unit = (line - mean) @ vectors / spread
    return np.asarray(-0.5 * (unit**2).sum(axis=1) - np.log(spread).sum())


def _laplace(start: Array, prior: Array, ones: Array, zeros: Array) -> tuple[Array, Array]:
    """Return mode and covariance of log-odds with a normal prior and binomial counts.

    Newton's method in the manner of Rasmussen and Williams (2006), algorithm 3.1: with W the
    curvature of the likelihood, B = I + W^1/2 K W^1/2 is safe to factor.
    """
    total, off = ones + zeros, np.zeros(len(start))
    if not total.any():
        return start, prior
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
    return start + off, np.asarray(prior - (prior * root) @ reduced)


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows whose right label is known, among all rows.

    Attributes
    ----------
    rows : ndarray of int, shape (n_checked,)
        Which rows they are.
    right : ndarray of bool, shape (n_checked,)
        Whether they are truly positive.
    weight : ndarray of shape (n_checked,) or None
        Their weights, where those of the rows count others too; theirs among all rows when None.
    design : float, default=1.0
        Design effect of the rows (`flipcost.core.dependence`), which divides their number.
    prevalence : PrevalencePrior or None
        What else is known of the share of positives in all rows.
    """

    rows: NDArray[np.intp]
    right: Flags
    weight: Array | None = None
    design: float = 1.0
    prevalence: PrevalencePrior | None = None

    def take(self, kept: NDArray[np.bool_]) -> CheckedRows:
        """Return some of them."""
        weight = None if self.weight is None else self.weight[kept]
        return replace(self, rows=self.rows[kept], right=self.right[kept], weight=weight)

    def weights_among(self, sample_weight: ArrayLike | None) -> Array:
        """Return their weights, given those of all rows."""
        if self.weight is not None:
            return self.weight
        if sample_weight is None:
            return np.ones(len(self.rows))
        return np.asarray(sample_weight, float)[self.rows]

    def cost(
        self,
        *,
        positive: ArrayLike,
        flagged: ArrayLike,
        expected: ArrayLike,
        score: ArrayLike,
        costs: RowCosts,
        sample_weight: ArrayLike | None = None,
        level: float = 0.95,
    ) -> Interval:
        """Return the clean cost of a row under decisions.

        Rows weigh what they cost if the decision is wrong, and a checked row counts for less than
        one where a few of them weigh most.
        """
        cells, paid, known, weight = self._by_cost(
            positive, flagged, expected, score, costs, sample_weight
        )
        # What is paid in a cell whose rows are truly positive, and if none is.
        slope, base = np.where(cells.flagged, -paid, paid), np.where(cells.flagged, paid, 0.0)
        drawn = base + slope * known.drawn_shares(cells, weight)
        value = float((drawn @ cells.share).mean())
        low, high = known._limits(drawn, cells, weight, level)  # noqa: SLF001 - of this class
        return Interval(*clip_interval(value, low, high, 0.0, float(cells.share @ paid)))

    def mistakes(
        self,
        *,
        positive: ArrayLike,
        flagged: ArrayLike,
        expected: ArrayLike,
        score: ArrayLike,
        costs: RowCosts,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[float, float]:
        """Return what a row costs by misses and by false alarms under decisions.

        If misses cost `factor` times as much, the first does: many costs of the same decisions need
        these two once.
        """
        cells, paid, known, weight = self._by_cost(
            positive, flagged, expected, score, costs, sample_weight
        )
        share = known.drawn_shares(cells, weight).mean(axis=0)
        misses = (cells.share * paid) @ np.where(cells.flagged, 0.0, share)
        alarms = (cells.share * paid) @ np.where(cells.flagged, 1 - share, 0.0)
        return float(misses), float(alarms)

    def _by_cost(
        self,
        positive: ArrayLike,
        flagged: ArrayLike,
        expected: ArrayLike,
        score: ArrayLike,
        costs: RowCosts,
        sample_weight: ArrayLike | None,
    ) -> tuple[ScoreCells, Array, CheckedRows, ArrayLike | None]:
        """Return cells of rows, what a mistake costs in each, and how much checked rows tell.

        Rows of a decision are weighed by what a mistake on them costs, in units of its mean, so
        that this mean times the share of such rows in a cell is what is at stake there.
        """
        flags = np.asarray(flagged, dtype=bool)
        known, weight, means = self, sample_weight, np.array(costs.mean(sample_weight))
        if not costs.is_constant:
            rows, at_stake = unit_weights(sample_weight, len(flags)), costs.if_wrong(flags)
            relative, known_weight = np.ones(len(flags)), np.ones(len(self.rows))
            for flag in (False, True):
                own, checked = flags == flag, flags[self.rows] == flag
                mass = float(rows[own] @ at_stake[own])
                if not mass > 0:
                    means[int(flag)] = 0.0
                    continue
                means[int(flag)] = mass / rows[own].sum()
                relative[own] = at_stake[own] / means[int(flag)]
                known_weight[checked] = _weights_by_stake(
                    rows[self.rows][checked], relative[self.rows][checked]
                )
            weight, known = rows * relative, replace(self, weight=known_weight, prevalence=None)
        cells = ScoreCells.from_rows(positive, score, expected, weight, flags)
        return cells, means[cells.flagged.astype(np.intp)], known, weight

    def saving_interval(
        self,
        *,
        positive: ArrayLike,
        flagged: ArrayLike,
        rival_flagged: ArrayLike,
        expected: ArrayLike,
        score: ArrayLike,
        costs: RowCosts,
        sample_weight: ArrayLike | None = None,
        level: float = 0.95,
    ) -> tuple[float, float]:
        """Return the limits of what a row costs less under flags than under those of a rival.

        Only rows that the two call differently matter, and the checked ones among them most.
        """
        ours, theirs = (np.asarray(flags, bool) for flags in (flagged, rival_flagged))
        rows = unit_weights(sample_weight, len(ours))
        # A row weighs the cost of a miss plus a false alarm, and has its own threshold.
        unit = sum(costs.mean(rows))
        known, both, alarms = self, (costs.miss + costs.alarm) / unit, rows * costs.alarm / unit
        weight = rows * both
        if not costs.is_constant:
            at_stake = np.maximum(both[self.rows], 0.0)
            known = replace(
                self, weight=_weights_by_stake(rows[self.rows], at_stake), prevalence=None
            )
        cells = ScoreCells.from_rows(positive, score, expected, weight, ours != theirs)
        # Rows that ours alone flags gain where they are positive, those of the rival where not.
        side = ours.astype(float) - theirs
        turned, paid = (
            np.bincount(cells.cell, side * part, len(cells.share)) / weight.sum()
            for part in (weight, alarms)
        )
        turned, paid = (
            np.divide(part, cells.share, out=np.zeros_like(part), where=cells.share > 0)
            for part in (turned, paid)
        )
        saved = turned * known.drawn_shares(cells, weight) - paid
        low, high = known._limits(saved, cells, weight, level)  # noqa: SLF001 - of this class
        scale = unit * float(weight.sum() / rows.sum())
        return scale * low, scale * high

    def rates(
        self,
        *,
        positive: ArrayLike,
        expected: ArrayLike,
        score: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Draw both error rates of the rows: shares of the positives and of the negatives.

        They are those of these rows, not of more that could be drawn like them.
        """
        cells = ScoreCells.from_rows(positive, score, expected, sample_weight)
        true = self.drawn_shares(cells, sample_weight) * cells.share
        missed, total = true[:, ~cells.label].sum(axis=1), true.sum(axis=1)
        false = (cells.share - true)[:, cells.label].sum(axis=1)
        return np.column_stack([missed / total, false / (1 - total)])

    def drawn_shares(
        self, cells: ScoreCells, sample_weight: ArrayLike | None, *, in_doubt: bool = False
    ) -> Array:
        """Draw shares of true positives in cells given these rows, shape (draws, cells)."""
        weight = self.weights_among(sample_weight)
        # A fixed seed: the same rows give the same interval.
        found = cells.given_checked(self.rows, self.right, weight / self.design)
        drawn = found.draws(_DRAWS, in_doubt=in_doubt)
        if self.prevalence is None:
            return drawn
        # Resample the draws by how likely their share of positives is under the prior.
        log_density = self.prevalence.log_density(drawn @ cells.share)
        return np.asarray(drawn[_resampled(log_density, _DRAWS)])

    def _limits(
        self, drawn: Array, cells: ScoreCells, sample_weight: ArrayLike | None, level: float
    ) -> tuple[float, float]:
        """Return limits of a sum over cells whose shares are those of a sample, too."""
        weight = unit_weights(sample_weight, len(cells.cell))
        effective = weight.sum() ** 2 / (weight**2).sum() / self.design
        rng = np.random.default_rng(0)
        shares = rng.dirichlet(cells.share * effective + 1e-9, size=len(drawn))
        low, high = np.quantile((shares * drawn).sum(axis=1), [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def _weights_by_stake(weight: Array, at_stake: Array) -> Array:
    """Return weights by stake, scaled so that a few large stakes lower the effective size."""
    squares = float((weight * at_stake**2).sum())
    total = float((weight * at_stake).sum())
    return np.asarray(weight * at_stake * (total / squares if squares > 0 else 0.0))


def contradict(labels: ArrayLike, right: ArrayLike) -> bool:
    """Tell whether checked rows contradict their labels: as a rule, these say the opposite.

    That is when most labels are wrong, or when a positive label makes the positive class less
    likely, beyond chance. Rows that were checked because they look wrong do so too: whoever asks
    should see what the other rows teach before these are refused.
    """
    given, true = np.asarray(labels, bool), np.asarray(right, bool)
    # Rows of one class may all be hard ones, as where most positives are missed.
    if len(given) < priors.CONTRADICT_ROWS or len(np.unique(true)) < 2:
        return False
    if 2 * np.count_nonzero(given != true) > len(given):
        return True
    cells = np.bincount(2 * given.astype(np.intp) + true, minlength=4)
    return agreement(cells.reshape(2, 2)) < -priors.CONTRADICT_ERRORS


def look_wrong(
    scores: ArrayLike, labels: ArrayLike, others: ArrayLike, others_labels: ArrayLike
) -> bool:
    r"""Tell whether rows look wrongly labelled, by scores learned from the labels of other rows.

    The share of other rows of the same label that look less suspicious is one half on average for
    rows that are like them, the area :math:`A` under the ROC curve for rows that truly are of the
    other class, and more if these were chosen for their suspicion. The limit lies halfway between
    the first two, and a standard error above one half at least, :math:`1 / \sqrt{12 m}` of
    :math:`m` rows. It depends neither on the share of positives nor on who was chosen.
    """
    found, given = np.asarray(scores, float), np.asarray(labels, bool)
    around, classes = np.asarray(others, float), np.asarray(others_labels, bool)
    if not len(found):
        return False
    negative, positive = np.sort(around[~classes]), np.sort(around[classes])
    area = _share_below(positive, negative).mean()
    above = _share_below(found, negative)  # of a negative label: what is high looks wrong
    suspicion = np.where(given, 1 - _share_below(found, positive), above).mean()
    return bool(suspicion > 0.5 + max((area - 0.5) / 2, 1 / np.sqrt(12 * len(found))))


def _share_below(values: Array, among: Array) -> Array:
    """Return the share of sorted numbers that lie below each value, ties by half."""
    below = np.searchsorted(among, values, "left") + np.searchsorted(among, values, "right")
    share: Array = below / (2 * len(among))
    return share


def given_label(probability: ArrayLike, positive: ArrayLike, rates: ArrayLike) -> Array:
    """Return the probability that rows are truly positive, given their labels too."""
    eta = np.asarray(probability, dtype=float)
    labels = np.asarray(positive, dtype=bool)
    rho_pos, rho_neg = np.asarray(rates, dtype=float)
    if_positive = np.where(labels, 1 - rho_pos, rho_pos) * eta
    if_negative = np.where(labels, rho_neg, 1 - rho_neg) * (1 - eta)
    total = if_positive + if_negative
    return np.asarray(np.divide(if_positive, total, out=labels.astype(float), where=total > 0))


N_BANDS = 4


@dataclass(frozen=True)
class RateBand:
    """Rows within limits of the score, and how many of their labels are wrong.

    Attributes
    ----------
    low, high : float
        Least and largest of their scores, as probabilities of being positive.
    share : float
        Share of all rows, by weight, that they make.
    n_checked : int
        How many of them were checked.
    positives, negatives : Interval
        Shares of the truly positive and the truly negative ones that are labelled wrong.
    """

    low: float
    high: float
    share: float
    n_checked: int
    positives: Interval
    negatives: Interval


def rates_by_score_band(
    checked: CheckedRows,
    positive: ArrayLike,
    score: ArrayLike,
    expected: ArrayLike,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
) -> tuple[RateBand, ...]:
    """Return both noise rates in bands of the score."""
    labels, place = np.asarray(positive, dtype=bool), np.asarray(score, dtype=float)
    cells = ScoreCells.from_rows(labels, place, expected, sample_weight)
    # Where rates change along the score, the model of constant ones is off: with its usual prior
    # the band of the lowest scores was covered in 29 of 40 draws.
    true = checked.drawn_shares(cells, sample_weight, in_doubt=True) * cells.share
    false = cells.share - true
    band = cells.bin * N_BANDS // N_SCORE_BINS
    looked = np.bincount(cells.cell[checked.rows], minlength=len(cells.share))
    found = []
    for k in range(N_BANDS):
        inside = band == k
        own = place[inside[cells.cell]]
        share = float(cells.share[inside].sum())
        if share > 0:
            rates = (
                _wrong_share(part[:, inside & (cells.label == wrong)], part[:, inside], level)
                for part, wrong in ((true, False), (false, True))
            )
            looked_at = int(looked[inside].sum())
            found.append(RateBand(float(own.min()), float(own.max()), share, looked_at, *rates))
    return tuple(found)


def _wrong_share(wrong: Array, total: Array, level: float) -> Interval:
    drawn = wrong.sum(axis=1) / np.maximum(total.sum(axis=1), 1e-300)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(*clip_interval(float(drawn.mean()), float(low), float(high), 0.0, 1.0))


def furthest_apart(bands: Sequence[RateBand]) -> tuple[str, RateBand, RateBand] | None:
    """Return the class and the two bands whose rates differ most beyond doubt, the worse first.

    None where the intervals of all bands overlap: then the same rates everywhere will do.
    """
    pairs = [
        (getattr(worse, side).low - getattr(better, side).high, side, worse, better)
        for side in ("positives", "negatives")
        for worse, better in permutations(bands, 2)
    ]
    if not pairs:
        return None
    apart, side, worse, better = max(pairs, key=lambda pair: pair[0])
    return (side, worse, better) if apart > 0 else None
