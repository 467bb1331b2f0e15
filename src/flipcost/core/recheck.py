r"""Which rows to check next: what knowing them is worth, and a draw that stays honest.

Rows lie in cells of label and score (`flipcost.core.checked_rows`). What is in doubt of the shares
:math:`\pi` of true positives, mean :math:`\mu` and covariance :math:`S`, leaves decisions in doubt:
rows in a range b of the score are flagged where their share :math:`q_b` of positives
exceeds the cost c. After :math:`n_c` checks in each cell the mean of :math:`q_b` has moved with
variance :math:`\sigma_b^2`, by the best linear predictor, and the decisions that follow it are
expected to save

.. math::

    \sum_b W_b\, \sigma_b\, \psi(|q_b - c| / \sigma_b), \qquad
    \psi(t) = \varphi(t) - t\,\Phi(-t) .

Checks are dealt to cells, some at a time, where they raise this sum most; some go where they make
the cost itself better known, some where labels are likely wrong, and some everywhere. That gives
each row a probability to be drawn which is above zero and depends on its label and its score alone,
so that within a cell the drawn rows represent the others. The draw is systematic along cells and,
within these, along the features, which spreads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit, ndtr

from flipcost.core.checked_rows import CellPosterior, ScoreCells, given_label
from flipcost.core.confusion import Interval
from flipcost.core.costs import CostLike, cost_share
from flipcost.core.error_rates import RatePosterior
from flipcost.core.label_errors import probability_wrong
from flipcost.core.noise import clean_eta, noisy_eta

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from flipcost.core.arrays import Array, Flags
    from flipcost.core.checked_rows import CheckedRows

# How checks are shared out: where decisions turn, where the cost is in doubt, where labels are
# likely wrong, and everywhere. On ten tables with real noise (two splits, linear scores) all shares
# that were tried did alike within chance; of the better ones these ask for most rows everywhere.
_DECISIONS, _COST, _WRONG, _ANYWHERE = 0.4, 0.2, 0.05, 0.35
_DRAWS = 4_000
# Checks are dealt to cells in this many steps: one at a time, a single one may be worth nothing.
_STEPS = 12
# At most this many rates are used, sampled by weight.
_MOST_RATES = 60
_SUREST = 0.002
# Features that spread the draw, and levels of each.
_LEVELS = 8
# Leading directions of a table, and rows that they are found from.
_DIRECTIONS, _LOOK_ROWS = 3, 4_000


@dataclass(frozen=True, eq=False)
class CellChoice:
    """What checking rows is worth, and how rows should be drawn for it.

    Attributes
    ----------
    cells : ScoreCells
        Cells of all rows.
    chance : ndarray of shape (n,)
        Probability with which each row is drawn, in (0, 1]; 0 for rows that were checked.
    suspicion : ndarray of shape (n,)
        Probability that the label of a row is wrong.
    saving : Interval
        What a row costs less after the checks, expected; and by what is true.
    low, high : ndarray of shape (n,)
        Interval of the share of positives among rows of the same score.
    posterior : CellPosterior
        What is known of the cells.
    """

    cells: ScoreCells
    chance: Array
    suspicion: Array
    saving: Interval
    low: Array
    high: Array
    posterior: CellPosterior

    def draw(self, features: Array | None, seed: int) -> NDArray[np.intp]:
        """Draw rows by their chance, spread over cells and features."""
        return draw_rows(self.chance, spread_order(self.cells.cell, features, seed), seed)


def value_checks(
    positive: ArrayLike,
    probability: ArrayLike,
    posterior: RatePosterior,
    cost: CostLike,
    n: int,
    *,
    checked: CheckedRows | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    random: bool = False,
    skip: ArrayLike | None = None,
    paid: float = np.inf,
) -> CellChoice:
    """Find what `n` more checks are worth, and how likely each row should be among them.

    Parameters
    ----------
    positive : array-like of bool, shape (n_rows,)
        Labels.
    probability : array-like of shape (n_rows,)
        Out-of-fold probability that the clean label is positive.
    posterior : RatePosterior
        Over the noise rates.
    cost : float or Costs
        Share of the cost that a false positive bears.
    n : int
        Rows that would be checked.
    checked : CheckedRows, optional
        Rows that were.
    sample_weight : array-like of shape (n_rows,), optional
        How many rows each represents.
    level : float, default=0.95
        Level of the intervals.
    random : bool, default=False
        Whether all rows should be as likely.
    skip : array-like of bool, shape (n_rows,), optional
        Rows that must not be drawn, though no one may have checked them.
    paid : float, default=np.inf
        What a row costs now, which no check saves more than.

    Returns
    -------
    CellChoice

    Examples
    --------
    >>> from flipcost.core.error_rates import RatePosterior
    >>> rng = np.random.default_rng(0)
    >>> eta = rng.random(1000)
    >>> labels = (rng.random(1000) < eta) ^ (rng.random(1000) < 0.1)
    >>> rates = RatePosterior(np.array([[0.05, 0.05], [0.3, 0.3]]), np.array([0.5, 0.5]))
    >>> choice = value_checks(labels, eta, rates, 0.3, 20)
    >>> print(choice.chance.sum().round(6), bool(choice.chance.min() > 0))
    20.0 True
    >>> 0 < choice.saving.value < 0.3
    True
    """
    labels, eta = np.asarray(positive, dtype=bool), np.asarray(probability, dtype=float)
    share = cost_share(cost)
    expected = given_label(eta, labels, posterior.mean)
    cells = ScoreCells.from_rows(labels, eta, expected, sample_weight)
    free = np.ones(len(labels), dtype=bool)
    seen, right = np.empty(0, np.intp), np.empty(0, bool)
    if checked is not None:
        seen, right = checked.rows, checked.right
        free[seen] = False
    if skip is not None:
        free &= ~np.asarray(skip, dtype=bool)
    known = cells.given_checked(seen, right, rates=_rate_doubt(cells, eta, posterior))
    drawn = known.draws(_DRAWS)
    # What is expected rests on the likelier rates, as decisions do; what is possible on all.
    likely = _rate_doubt(cells, eta, RatePosterior(posterior.rates, posterior.weight))
    likelier = cells.given_checked(seen, right, rates=likely).draws(_DRAWS)
    n = min(n, int(free.sum()))
    n_free = np.bincount(cells.cell[free], minlength=len(cells.share)).astype(float)
    if random:
        wanted = n * n_free / n_free.sum()
        chance = np.where(free, n / free.sum(), 0.0)
    else:
        wanted = _wanted(cells, drawn, share, n, n_free)
        chance = _chances(wanted, cells.cell, n_free, free, n)
        wanted = np.bincount(cells.cell, chance, len(cells.share))
    saving = _saving(cells, drawn, share, wanted, level)
    value = min(_saving(cells, likelier, share, wanted, level).value, saving.value, paid)
    saving = Interval(value, min(saving.low, value), max(value, min(saving.high, paid)))
    if posterior.is_known:
        saving = Interval(0.0, 0.0, 0.0)
    by_bin = drawn @ _by_bin(cells)[0].T
    low, high = np.quantile(by_bin, [(1 - level) / 2, (1 + level) / 2], axis=0)
    suspicion = probability_wrong(labels, eta, posterior)
    suspicion[seen] = 0.0
    place = cells.bin[cells.cell]
    return CellChoice(cells, chance, suspicion, saving, low[place], high[place], known)


def draw_rows(chance: Array, order: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Draw rows by their probabilities, which add up to a whole number, spread along an order.

    Systematic sampling (Madow 1949): one random start, then steps of one along the sum of the
    probabilities. Rows come back in an order of which every beginning is spread as well.

    Parameters
    ----------
    chance : ndarray of shape (n,)
        Probability of each row to be drawn.
    order : ndarray of int, shape (n,)
        The rows, with alike ones beside each other.
    seed : int
        Seed of the draw.

    Examples
    --------
    >>> rows = draw_rows(np.full(100, 0.1), np.arange(100), 0)
    >>> np.diff(np.sort(rows)).tolist()
    [10, 10, 10, 10, 10, 10, 10, 10, 10]
    """
    rng = np.random.default_rng(seed)
    along = np.cumsum(chance[order])
    n = round(float(along[-1]))
    ticks = np.minimum(rng.random() + np.arange(n), along[-1] * (1 - 1e-12))
    chosen = np.searchsorted(along, ticks, side="right")
    # Rounding may let one row of probability 1 meet two ticks: the next one then stands in.
    chosen = _distinct(chosen, chance[order])
    return order[chosen][_spread_order(n, int(rng.integers(max(n, 1))))]


def spread_order(cell: NDArray[np.intp], features: Array | None, seed: int) -> NDArray[np.intp]:
    """Order rows by cell, and within a cell by a curve through the leading features.

    Parameters
    ----------
    cell : ndarray of int, shape (n,)
        Cells, neighbours beside each other.
    features : ndarray of shape (n, k) or None
        What rows should be spread over; up to three columns count.
    seed : int
        Seed of the order of rows that have all this in common.

    Examples
    --------
    >>> spread_order(np.array([1, 0, 0]), np.array([[0.0], [2.0], [1.0]]), 0)
    array([2, 1, 0])
    """
    rng = np.random.default_rng(seed)
    tie = rng.random(len(cell))
    if features is None or not features.shape[1]:
        return np.lexsort((tie, cell))
    n = len(cell)
    code = np.zeros(n, dtype=np.intp)
    levels = []
    for column in features.T[:3]:
        rank = np.empty(n)
        rank[np.lexsort((tie, column))] = np.arange(n)
        levels.append(np.minimum((rank * _LEVELS / n).astype(np.intp), _LEVELS - 1))
    for bit in range(_LEVELS.bit_length() - 2, -1, -1):  # interleaved: neighbours share beginnings
        for level in levels:
            code = 2 * code + (level >> bit & 1)
    first = features[:, 0]
    return np.lexsort((tie, first, code, cell))


def leading_directions(X: Array) -> Array:
    """Return rows along the leading directions of their standardised columns.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows, where nothing is missing.
    n_directions : int, default=3
        Number of directions.
    most_rows : int, default=4000
        Rows, evenly spaced, that directions are found from.

    Examples
    --------
    >>> leading_directions(np.arange(12.0).reshape(4, 3)).shape
    (4, 3)
    """
    step = max(1, -(-len(X) // _LOOK_ROWS))
    some = X[::step]
    centre, spread = some.mean(axis=0), some.std(axis=0)
    used = np.flatnonzero(spread > 1e-12 * np.maximum(1.0, np.abs(centre)))
    if not len(used):
        return np.zeros((len(X), 0))
    scaled = (some[:, used] - centre[used]) / spread[used]
    if len(scaled) < len(used):  # the same directions from products of rows
        values, rows = np.linalg.eigh(scaled @ scaled.T)
        rows = rows[:, values > 1e-12 * values[-1]]
        vectors = scaled.T @ rows[:, -_DIRECTIONS:]
        vectors /= np.sqrt((vectors**2).sum(axis=0))
    else:
        _, vectors = np.linalg.eigh(scaled.T @ scaled)
    lead = vectors[:, ::-1][:, :_DIRECTIONS] / spread[used, None]
    return np.asarray((X[:, used] - centre[used]) @ lead)


def _rate_doubt(cells: ScoreCells, eta: Array, posterior: RatePosterior) -> Array:
    """Return the covariance of log-odds in cells that comes from not knowing the rates."""
    rates, weight = posterior.rates, posterior.weight
    if posterior.robust_rates is not None and not posterior.is_measured:
        rates, weight = posterior.robust_rates, np.asarray(posterior.robust_weight)
    if len(weight) > _MOST_RATES:  # evenly spaced by weight, in the order of the grid
        along = np.cumsum(weight) / weight.sum()
        ticks = (np.arange(_MOST_RATES) + 0.5) / _MOST_RATES
        rates, weight = rates[np.searchsorted(along, ticks)], np.ones(_MOST_RATES)
    mean = np.bincount(cells.cell, eta, len(cells.share)) / np.bincount(
        cells.cell, minlength=len(cells.share)
    )
    seen = noisy_eta(mean, tuple(posterior.mean))
    lines = np.array(
        [
            logit(
                np.clip(
                    given_label(clean_eta(seen, tuple(pair)), cells.label, pair),
                    _SUREST,
                    1 - _SUREST,
                )
            )
            for pair in rates
        ]
    )
    # By hand: before numpy 2.2 `cov` took a single rate, one row, for a column.
    share = weight / weight.sum()
    off = lines - share @ lines
    return np.asarray((off * share[:, None]).T @ off)


def _by_bin(cells: ScoreCells) -> tuple[Array, Array]:
    """Return what sums cells to ranges of the score, shape (B, C), and the share of each range."""
    n_bins = int(cells.bin.max()) + 1
    sums = np.zeros((n_bins, len(cells.share)))
    sums[cells.bin, np.arange(len(cells.share))] = cells.share
    total = sums.sum(axis=1)
    return sums / np.maximum(total, 1e-300)[:, None], total


def _moments(drawn: Array) -> tuple[Array, Array, Array]:
    """Return means and covariance of the cells' shares, and the variance of a row within each."""
    mean, covariance = drawn.mean(axis=0), np.atleast_2d(np.cov(drawn, rowvar=False))
    return mean, covariance, np.maximum((drawn * (1 - drawn)).mean(axis=0), 1e-4)


def _loss(distance: Array, spread: Array) -> Array:
    """Return the expected gain of deciding after a normal move of this spread."""
    spread = np.maximum(spread, 1e-12)
    t = np.abs(distance) / spread
    return np.asarray(spread * (np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) - t * ndtr(-t)))


def _wanted(cells: ScoreCells, drawn: Array, cost: float, n: int, n_free: Array) -> Array:
    """Return how many rows of each cell should be checked, on average."""
    by_bin, total = _by_bin(cells)
    mean, left, noise = _moments(drawn)
    distance = by_bin @ mean - cost
    dealt = np.zeros(len(n_free))
    moved = np.zeros(len(total))
    step = max(1.0, n * _DECISIONS / _STEPS)
    while dealt.sum() < n * _DECISIONS - 1e-9:
        size = min(step, n * _DECISIONS - dealt.sum())
        # What size more checks in each cell would move each range, shape (B, C).
        gain = (by_bin @ left) ** 2 / (np.diag(left) + noise / size)
        worth = total @ _loss(distance[:, None], np.sqrt(moved[:, None] + gain))
        worth[n_free - dealt < 1e-9] = -1.0
        best = int(worth.argmax())
        size = min(size, n_free[best] - dealt[best])
        if size <= 0:
            break
        along = left[:, best]
        part = along / (along[best] + noise[best] / size)
        moved = moved + (by_bin @ along) * (by_bin @ part)
        left = left - np.outer(part, along)
        dealt[best] += size
    # Where the cost is in doubt: rows, times how much a share of them may be off.
    flagged = (distance > 0)[cells.bin]
    price = np.where(flagged, cost, 1 - cost)
    spread = cells.share * price * np.sqrt(noise)
    shares = (
        (_COST, spread),
        (_WRONG, n_free * np.where(cells.label, 1 - mean, mean)),
        (_ANYWHERE, n_free),
    )
    for part, sizes in shares:
        open_ones = np.where(n_free > 0, sizes, 0.0)
        if open_ones.sum() > 0:
            dealt = dealt + part * n * open_ones / open_ones.sum()
    return dealt


def _chances(wanted: Array, cell: NDArray[np.intp], n_free: Array, free: Flags, n: int) -> Array:
    """Return the probability of each row, at most 1, adding up to n."""
    rate = np.divide(wanted, n_free, out=np.zeros_like(wanted), where=n_free > 0)
    chance = np.where(free, rate[cell], 0.0)
    for _ in range(100):
        full = chance >= 1.0
        rest = chance[~full].sum()
        room = n - np.count_nonzero(full)
        if rest <= 0 or abs(room - rest) < 1e-10 * n:
            break
        chance = np.where(full, 1.0, chance * (room / rest))
    return np.minimum(chance, 1.0)


def _saving(cells: ScoreCells, drawn: Array, cost: float, wanted: Array, level: float) -> Interval:
    """Return what decisions save after checks: expected, and over what may be true."""
    by_bin, total = _by_bin(cells)
    mean, covariance, noise = _moments(drawn)
    used = np.flatnonzero(wanted > 1e-9)
    seen = covariance[np.ix_(used, used)] + np.diag(noise[used] / wanted[used])
    predict = np.linalg.solve(seen, covariance[used]).T  # of cells from the means of the checked
    rng = np.random.default_rng(0)
    error = np.sqrt(drawn[:, used] * (1 - drawn[:, used]) / wanted[used])
    found = drawn[:, used] + rng.normal(size=error.shape) * error
    after = (mean + (found - mean[used]) @ predict.T) @ by_bin.T > cost
    before = by_bin @ mean > cost
    truth = drawn @ by_bin.T
    saved = ((after != before) * np.where(after, truth - cost, cost - truth)) @ total
    moved = np.einsum("bc,cd,bd->b", by_bin, predict @ covariance[used], by_bin)
    value = float(total @ _loss(by_bin @ mean - cost, np.sqrt(np.maximum(moved, 0.0))))
    # No more can be saved than is paid.
    most = float(np.minimum((1 - cost) * truth, cost * (1 - truth)).mean(axis=0) @ total)
    paid = np.where(before, cost * (1 - truth), (1 - cost) * truth) @ total
    value = min(value, float(paid.mean()))
    low, high = np.quantile(
        np.clip(saved, 0.0, np.maximum(paid, most)), [(1 - level) / 2, (1 + level) / 2]
    )
    return Interval(value, min(float(low), value), max(float(high), value))


def _distinct(chosen: NDArray[np.intp], chance: Array) -> NDArray[np.intp]:
    """Replace rows that were drawn twice by rows that were not drawn."""
    unique = np.unique(chosen)
    if len(unique) == len(chosen):
        return chosen
    others = np.setdiff1d(np.flatnonzero(chance > 0), unique)
    return np.sort(np.concatenate([unique, others[: len(chosen) - len(unique)]]))


def _spread_order(n: int, start: int) -> NDArray[np.intp]:
    """Order n places so that every beginning is spread over all: bits reversed."""
    bits = max(1, (n - 1).bit_length())
    places = np.arange(1 << bits)
    turned = np.zeros_like(places)
    for bit in range(bits):
        turned |= (places >> bit & 1) << (bits - 1 - bit)
    return (turned[turned < n] + start) % n
