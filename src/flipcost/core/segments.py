r"""Parts of a table: how noisy the labels of each are, and what decisions cost there.

Small parts say little of themselves, and many of them together say what parts are like. So each is
*partially pooled* with the others: its figures are drawn towards those of all, the more the less
its own rows tell.

Noise. In part :math:`j` the rates are those of the table with their log-odds moved by :math:`b_j`,
the same for both. The likelihood of the labels given the clean probabilities says which
:math:`b_j` explain them; that they differ between parts as a normal distribution of some width does
is learned from all parts, and the width integrated out. Beside the rates of the table, which are
not known exactly either, that gives a posterior over the rates of each part.

Costs, precision and recall are denoised by that posterior, and the estimates :math:`x_j`, with
standard errors :math:`s_j`, pooled by the same model: :math:`x_j \sim N(\theta_j, s_j^2)`,
:math:`\theta_j \sim N(\mu, \tau^2)`, :math:`\mu` and :math:`\tau` integrated out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from flipcost.core.arrays import Array, Flags, unit_weights
from flipcost.core.clean_means import cost_sums
from flipcost.core.confusion import Interval, clip_interval, clip_intervals
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import (
    RatePosterior,
    mixture_intervals,
    weighted_interval,
    wrong_share_at,
)
from flipcost.core.noise import clean_eta, noisy_eta

# Moves of the log-odds of the rates, and widths of their distribution.
_MOVES = np.linspace(-3.0, 3.0, 31)
_WIDTHS = np.array([0.1, 0.2, 0.35, 0.6, 1.0, 1.7])
# At most this many rates of the table are used.
_RATES = 24
# No rate is taken to be less than this: parts may have label errors where the table has none.
_LEAST_RATE = 0.005
_LARGEST_SUM = 0.95
_TAUS = 60


@dataclass(frozen=True, eq=False)
class Segment:
    """What holds of one part of the table.

    Attributes
    ----------
    name : str
        The part.
    n_rows : float
        Rows in it, or that these represent.
    wrong_share : Interval
        Share of its labels that are wrong, partially pooled.
    cost : Interval
        Clean cost of a row, partially pooled.
    precision, recall : Interval
        Of the flags on clean labels, partially pooled; not a number where none is flagged.
    chance_worst : float
        Probability that its labels are the worst of all.
    """

    name: str
    n_rows: float
    wrong_share: Interval
    cost: Interval
    precision: Interval
    recall: Interval
    chance_worst: float


def segment_figures(
    segments: ArrayLike,
    positive: ArrayLike,
    probability: ArrayLike,
    flagged: ArrayLike,
    prices: RowCosts,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    *,
    design: float = 1.0,
    level: float = 0.95,
) -> list[Segment]:
    """Return what holds of each part of a table, partially pooled, the noisiest first.

    Parameters
    ----------
    segments : array-like of str, shape (n,)
        Part of each row.
    positive : array-like of bool, shape (n,)
        The noisy labels.
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    flagged : array-like of bool, shape (n,)
        Which rows are flagged, out of fold.
    prices : RowCosts
        Of the rows.
    posterior : RatePosterior
        Over the noise rates of the table.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    design : float, default=1.0
        How many rows count for one, where they depend on each other.
    level : float, default=0.95
        Level of the intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> eta = expit(3 * rng.normal(size=3000))
    >>> place = np.where(rng.random(3000) < 0.5, "north", "south")
    >>> flip = rng.random(3000) < np.where(place == "south", 0.3, 0.1)
    >>> noisy = (rng.random(3000) < eta) ^ flip
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> prices = RowCosts(np.full(3000, 4.0), np.ones(3000))
    >>> found = segment_figures(place, noisy, eta, eta > 0.2, prices, known)
    >>> found[0].name, found[0].chance_worst > 0.99
    ('south', True)
    """
    place = np.asarray(segments, dtype=object).astype(str)
    labels, flags = np.asarray(positive, dtype=bool), np.asarray(flagged, dtype=bool)
    weight = unit_weights(sample_weight, len(place))
    names, code = np.unique(place, return_inverse=True)
    known = (code, labels, probability, posterior, sample_weight, design)
    # Estimates are means over the rates; limits also count that their model may be wrong.
    own, wide = (segment_posteriors(*known, wide=side) for side in (False, True))
    rows = [np.flatnonzero(code == j) for j in range(len(names))]
    parts = [
        _Part(labels[r], flags[r], weight[r], design, *both)
        for r, *both in zip(rows, own, wide, strict=True)
    ]
    wrong = [_wrong(part, level) for part in parts]
    costs = [_cost(part, prices.take(r)) for part, r in zip(parts, rows, strict=True)]
    cost = _pooled(costs, level, 0.0)
    precision, recall = (
        _pooled([_ratio(part, kind) for part in parts], level, 0.0, 1.0)
        for kind in ("precision", "recall")
    )
    worst = _chance_worst([w[1] for w in wrong], wide)
    found = [
        Segment(str(name), float(part.weight.sum()), share, *figures)
        for name, part, (share, _), *figures in zip(
            names, parts, wrong, cost, precision, recall, worst, strict=True
        )
    ]
    return sorted(found, key=lambda segment: -segment.wrong_share.value)


class _Part(NamedTuple):
    """Rows of a part, and the posterior over its noise rates: to estimate by, and for limits."""

    labels: Flags
    flags: Flags
    weight: Array
    design: float
    own: RatePosterior
    wide: RatePosterior


def segment_posteriors(
    code: NDArray[np.intp],
    positive: Flags,
    probability: ArrayLike,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    design: float = 1.0,
    *,
    wide: bool = False,
) -> list[RatePosterior]:
    """Return the posterior over the noise rates of each part, partially pooled.

    Parameters
    ----------
    code : ndarray of int, shape (n,)
        Part of each row.
    positive, probability, posterior, sample_weight, design
        As in `segment_figures`.
    wide : bool, default=False
        Whether for limits, which count that the model of the rates may be wrong.

    Examples
    --------
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> parts = segment_posteriors(np.zeros(2, int), np.array([True, False]), [0.9, 0.1], known)
    >>> bool(abs(parts[0].mean[0] - 0.2) < 0.05)
    True
    """
    rates, mass = _leading(posterior, wide=wide)
    noisy = noisy_eta(probability, tuple(posterior.mean))
    n_parts = int(code.max()) + 1
    fits = np.empty((n_parts, len(rates), len(_MOVES)))
    moved = np.empty((len(rates), len(_MOVES), 2))
    weight = unit_weights(sample_weight, len(code))
    weight = weight * (weight.sum() / (weight**2).sum() / design)
    for r, pair in enumerate(rates):
        eta = clean_eta(noisy, tuple(pair))
        for m, move in enumerate(_MOVES):
            both = expit(logit(np.maximum(pair, _LEAST_RATE)) + move)
            both = both * min(1.0, _LARGEST_SUM / both.sum())
            moved[r, m] = both
            seen = both[1] + (1 - both.sum()) * eta
            chance = np.where(positive, seen, 1 - seen)
            fits[:, r, m] = np.bincount(code, weight * np.log(np.maximum(chance, 1e-12)), n_parts)
    share = _pooled_moves(fits, mass, keep_rates=wide)
    flat = moved.reshape(-1, 2)
    return [RatePosterior(flat, part.reshape(-1)) for part in share]


def _leading(posterior: RatePosterior, *, wide: bool) -> tuple[Array, Array]:
    """Return a few rates that represent all, and their weights: evenly drawn in order of size."""
    rates, mass = posterior.rates, posterior.weight
    if wide and posterior.robust_rates is not None and posterior.robust_weight is not None:
        rates, mass = posterior.robust_rates, posterior.robust_weight
    if len(mass) <= _RATES:
        return rates, np.maximum(mass, 1e-300) / mass.sum()
    order = np.argsort(rates.sum(axis=1), kind="stable")
    upto = np.cumsum(mass[order]) / mass.sum()
    drawn = order[np.searchsorted(upto, (np.arange(_RATES) + 0.5) / _RATES)]
    return rates[drawn], np.full(_RATES, 1 / _RATES)


def _pooled_moves(fits: Array, mass: Array, *, keep_rates: bool) -> Array:
    """Return the weights of rates and moves for each part, shape (J, R, M).

    Where the rates of the table may be such as their model would not allow, how well parts fit says
    nothing of them: each keeps its weight, and only how much parts differ is learned.
    """
    prior = np.exp(-0.5 * (_MOVES / _WIDTHS[:, None]) ** 2)
    prior /= prior.sum(axis=1, keepdims=True)
    top = fits.max(axis=2, keepdims=True)
    likelihood = np.exp(fits - top)
    # Of each part, given the rates of the table and the width: shape (J, R, widths).
    by_width = np.einsum("jrm,wm->jrw", likelihood, prior)
    log_part = np.log(np.maximum(by_width, 1e-300)) + top
    log_all = (
        np.log(mass)[:, None] + log_part.sum(axis=0) - fits[:, :, len(_MOVES) // 2].sum(0)[:, None]
    )
    if keep_rates:
        joint = np.exp(log_all - log_all.max(axis=1, keepdims=True))
        joint *= (mass / joint.sum(axis=1))[:, None]
    else:
        joint = np.exp(log_all - log_all.max())
    joint /= joint.sum()
    found = np.einsum(
        "rw,jrm,wm,jrw->jrm", joint, likelihood, prior, 1 / np.maximum(by_width, 1e-300)
    )
    return np.asarray(found / found.sum(axis=(1, 2), keepdims=True))


def _wrong(part: _Part, level: float) -> tuple[Interval, Array]:
    """Return the share of wrong labels with an interval, and the same at each rate of that."""
    share = float(np.average(part.labels, weights=part.weight))
    value = float(part.own.weight @ wrong_share_at(part.own.rates, share))
    values = wrong_share_at(part.wide.rates, share)
    low, high = weighted_interval(values, np.maximum(part.wide.weight, 1e-300), level)
    return Interval(*clip_interval(value, low, high, 0.0, 1.0)), values


def _chance_worst(values: list[Array], posteriors: list[RatePosterior]) -> list[float]:
    """Return the probability that each part's labels are the worst, from draws."""
    rng = np.random.default_rng(0)
    drawn = [
        value[rng.choice(len(value), 4000, p=p.weight / p.weight.sum())]
        for value, p in zip(values, posteriors, strict=True)
    ]
    worst = np.argmax(np.stack(drawn), axis=0)
    return [float(np.mean(worst == j)) for j in range(len(values))]


def _cost(part: _Part, prices: RowCosts) -> tuple[float, float]:
    """Return the mean cost over the rates and how far the truth may be from it."""
    sums = cost_sums(part.labels, part.flags, prices, part.weight).thinned(part.design).smooth()
    mean = float(part.own.weight @ sums.at(part.own.unmixings(0.5, wide=False)[0])[0])
    values, errors = sums.at(part.wide.unmixings(0.5, wide=False)[0])
    return mean, float(np.sqrt(part.wide.weight @ (errors**2 + (values - mean) ** 2)))


def _ratio(part: _Part, kind: str) -> tuple[float, float]:
    """Return precision or recall over the rates, and how far the truth may be from it."""
    labels, flags, weight, design, own, wide = part
    if not flags.any() and kind == "precision":
        return np.nan, np.inf
    cell = 2 * labels.astype(np.intp) + flags
    typical = float((weight**2).sum() / weight.sum())
    count = np.bincount(cell, weight, 4).reshape(2, 2) + 0.5 * typical
    square = design * np.bincount(cell, weight**2, 4).reshape(2, 2) + 0.5 * typical**2

    def at(posterior: RatePosterior) -> tuple[Array, Array]:
        told = posterior.unmixings(0.5, wide=False)[0][:, 1, :]
        top = told @ count[:, 1]
        if kind == "precision":
            bottom = np.full(len(told), count[:, 1].sum())
            value = np.clip(top / bottom, 0.0, 1.0)
            return value, ((told - value[:, None]) ** 2 @ square[:, 1]) / bottom**2
        bottom = np.maximum(told @ count.sum(axis=1), 0.5 * typical)
        value = np.clip(top / bottom, 0.0, 1.0)
        spread = (told**2 @ square[:, 1]) * (1 - value) ** 2
        return value, (spread + (told**2 @ square[:, 0]) * value**2) / bottom**2

    mean = float(own.weight @ at(own)[0])
    values, spread = at(wide)
    return mean, float(np.sqrt(wide.weight @ (np.minimum(spread, 0.25) + (values - mean) ** 2)))


def _pooled(
    found: list[tuple[float, float]], level: float, least: float, most: float = np.inf
) -> list[Interval]:
    """Pool estimates partially; each with its interval."""
    values, errors = (np.array(part) for part in zip(*found, strict=True))
    means, sds, mass = pool_normal(values, errors)
    low, high = mixture_intervals(means.T, sds.T, mass, level)
    clipped = clip_intervals(mass @ means, low, high, least, most)
    return [Interval(*one) for one in clipped.tolist()]


def pool_normal(values: ArrayLike, errors: ArrayLike) -> tuple[Array, Array, Array]:
    r"""Pool estimates partially: normal ones, of normal effects whose spread is not known.

    Parameters
    ----------
    values, errors : array-like of shape (J,)
        Estimates and their standard errors; not a number, or infinite, where there is none.

    Returns
    -------
    means, sds : ndarray of shape (T, J)
        Posterior of each effect at each of several spreads.
    weight : ndarray of shape (T,)
        How likely each spread is, with a flat prior on it.

    Examples
    --------
    >>> means, _, weight = pool_normal([0.0, 10.0, 1.0], [1.0, 10.0, 1.0])
    >>> bool(0 < weight @ means[:, 1] < 5)
    True
    """
    x, s = np.asarray(values, dtype=float), np.asarray(errors, dtype=float)
    known = np.isfinite(x) & np.isfinite(s)
    if not known.any():
        return np.full((1, len(x)), np.nan), np.ones((1, len(x))), np.ones(1)
    s = np.where(known, np.maximum(s, 1e-12 + 1e-6 * np.nanmax(np.abs(x[known]))), np.inf)
    spread = float(np.std(x[known])) + float(np.mean(s[known]))
    tau = np.linspace(0.0, 3.0, _TAUS + 1)[1:] * spread if known.sum() > 1 else np.zeros(1)
    precision = np.where(known, 1 / (s**2 + tau[:, None] ** 2), 0.0)
    total = precision.sum(axis=1)
    mu = (precision * np.where(known, x, 0.0)).sum(axis=1) / total
    gap = np.where(known, (x - mu[:, None]) ** 2, 0.0)
    log_weight = 0.5 * np.where(known, np.log(np.maximum(precision, 1e-300)), 0.0).sum(axis=1)
    log_weight += -0.5 * (precision * gap).sum(axis=1) - 0.5 * np.log(total)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    if known.sum() == 1:  # nothing to pool with
        return np.where(known, x, np.nan)[None], np.where(known, s, 1.0)[None], weight
    keep = np.where(known, tau[:, None] ** 2 / (s**2 + tau[:, None] ** 2), 0.0)
    means = mu[:, None] + keep * (np.where(known, x, 0.0) - mu[:, None])
    own = np.where(known, keep * np.where(known, s, 1.0) ** 2, tau[:, None] ** 2)
    return means, np.sqrt(own + (1 - keep) ** 2 / total[:, None]), weight
