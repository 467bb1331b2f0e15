"""What is known of the two error rates, as pairs with weights, and intervals of what follows.

`flipcost.core.noise_posterior` infers them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from flipcost.core.arrays import Array, Flags
from flipcost.core.confusion import Interval, clip_interval
from flipcost.core.noise import clean_eta, not_identified, unmixing_matrices

# Rates stop short of the bound, where the classes could not be distinguished at all.
REACH = 0.98
# Rates with less of the posterior than this move no probability that is shown.
_MINOR_RATE = 1e-6


@dataclass(frozen=True, eq=False)
class RatePosterior:
    """Posterior over pairs of noise rates, on a grid.

    Attributes
    ----------
    rates : ndarray of shape (R, 2)
        Pairs ``(rho_pos, rho_neg)``; equal when noise is symmetric.
    weight : ndarray of shape (R,)
        Posterior probabilities, adding up to one. Estimates and decisions are means over these.
    robust_rates, robust_weight : ndarray of shape (W, 2) and (W,), or None
        The same for intervals, which also count that the model may be wrong; as above when None.
    anything : ndarray of bool, shape (W,), or None
        Which of these are rates of errors that may lie anywhere among the rows of a label, rather
        than of the rows of a class.
    models : dict
        Posterior weight of each noise model.
    is_measured : bool
        Whether the rates for intervals are what checked rows leave: estimates are then their means.
    random_weight : ndarray of shape (R,), or None
        Weights of `rates` for intervals that suppose random errors; `weight` when None.
    """

    rates: Array
    weight: Array
    robust_rates: Array | None = None
    robust_weight: Array | None = None
    anything: Flags | None = None
    models: Mapping[str, float] | None = None
    is_measured: bool = False
    random_weight: Array | None = None

    def measured(self, drawn: Array) -> RatePosterior:
        """Return the same with rates, shape (n, 2), that were drawn given checked rows.

        Errors may lie anywhere among the rows of a label: only there were they counted.
        """
        n = len(drawn)
        return replace(
            self,
            robust_rates=drawn,
            robust_weight=np.full(n, 1 / n),
            anything=np.ones(n, dtype=bool),
            is_measured=True,
        )

    @property
    def _wide(self) -> tuple[Array, Array, Flags]:
        if self.robust_rates is None or self.robust_weight is None or self.anything is None:
            return self.rates, self.weight, np.zeros(len(self.weight), dtype=bool)
        used = self.robust_weight > 1e-6
        return self.robust_rates[used], self.robust_weight[used], self.anything[used]

    def unmixings(self, label_share: float, *, wide: bool) -> tuple[Array, Array]:
        """Return what labels say of clean counts at each rate, and the weights of the rates."""
        if not wide:
            return unmixing_matrices(self.rates), self.weight
        rates, weight, anything = self._wide
        return _unmixing(rates, label_share, anything), weight

    def clean(self, observed: ArrayLike) -> Array:
        """Return the probability that the right label is positive from that of the recorded one.

        Examples
        --------
        >>> RatePosterior(np.array([[0.2, 0.2]]), np.ones(1)).clean([0.1, 0.5, 0.8]).round(3)
        array([0. , 0.5, 1. ])
        """
        grid = np.linspace(0, 1, 1001)
        each = zip(self.weight.tolist(), self.rates.tolist(), strict=True)
        means = np.zeros(len(grid))
        for weight, pair in each:
            if weight > _MINOR_RATE:
                means += weight * clean_eta(grid, tuple(pair))
        return np.asarray(np.interp(np.asarray(observed, dtype=float), grid, means))

    @property
    def if_random(self) -> RatePosterior:
        """The posterior if errors are random: the intervals then trust the model."""
        weight = self.weight if self.random_weight is None else self.random_weight
        nowhere = np.zeros(len(weight), dtype=bool)
        return replace(
            self, robust_rates=self.rates, robust_weight=weight, anything=nowhere, is_measured=False
        )

    @property
    def mean(self) -> Array:
        """Mean of ``(rho_pos, rho_neg)`` in the model that decisions follow."""
        return np.asarray(self.weight @ self.rates)

    @property
    def estimated(self) -> tuple[Array, Array]:
        """Rates whose mean is the best estimate, and their weights."""
        return self._wide[:2] if self.is_measured else (self.rates, self.weight)

    @property
    def estimate(self) -> Array:
        """Best estimate of ``(rho_pos, rho_neg)``, whose sum is below one.

        Checked rows can find labels that tell nothing, or the opposite, where nothing is estimable.
        """
        rates, weight = self.estimated
        found = np.asarray(weight @ rates)
        return found * min(1.0, REACH / max(float(found.sum()), REACH))

    @property
    def is_known(self) -> bool:
        """Whether the rates were taken as known: nothing was integrated over."""
        return len(self.weight) == 1

    @property
    def has_no_signal(self) -> bool:
        """Whether the scores most likely say nothing about the labels."""
        return (self.models or {}).get("no_signal", 0.0) > 0.5

    @property
    def is_symmetric(self) -> bool:
        """Whether the two rates are equal at every point of the grid."""
        return bool(np.all(self.rates[:, 0] == self.rates[:, 1]))

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return intervals of ``rho_pos`` and ``rho_neg``, which contain the means."""
        rates, weight, _ = self._wide
        ends = []
        for k in (0, 1):
            low, high = weighted_interval(*_marginal(rates[:, k], weight), level)
            mean = float(self.estimate[k])
            ends.append((min(low, mean), max(high, mean)))
        return ends[0], ends[1]

    def why_uninformative(self, n_rows: float) -> str | None:
        """Return why a rate that is taken as known identifies nothing; None where it does."""
        return not_identified(tuple(self.rates[0]), n_rows) if self.is_known else None

    def wrong_share(
        self, label_share: float, level: float = 0.95, n_rows: float | None = None
    ) -> Interval:
        """Return the share of all labels that are wrong."""
        rates, weight, _ = self._wide
        likely, likely_weight = self.estimated
        value = float(likely_weight @ wrong_share_at(likely, label_share))
        low, high = weighted_interval(wrong_share_at(rates, label_share), weight, level)
        if n_rows is not None and self.why_uninformative(n_rows) is not None:
            low, high = self.rates.min(), self.rates.max()
        return Interval(*clip_interval(value, low, high, 0.0, 1.0))

    def prevalence(self, label_share: float, n_rows: float, level: float = 0.95) -> Interval:
        """Return the share of truly positive rows, of which this many are a sample."""
        rates, weight, _ = self._wide
        likely, likely_weight = self.estimated
        sd = np.sqrt(label_share * (1 - label_share) / n_rows)
        sds = sd / np.maximum(1 - rates.sum(axis=1), 1e-9)
        clean = clean_share(rates, label_share)
        low, high = mixture_intervals(clean[None], sds[None], weight, level)
        value = float(likely_weight @ clean_share(likely, label_share))
        return Interval(*clip_interval(value, float(low[0]), float(high[0]), 0.0, 1.0))


def clean_share(rates: Array, label_share: float) -> Array:
    """Return the share of truly positive rows at each pair of rates."""
    kept = 1 - rates.sum(axis=-1)
    kept = np.where(np.abs(kept) < 1e-9, 1e-9, kept)
    return np.asarray(np.clip((label_share - rates[..., 1]) / kept, 0.0, 1.0))


def wrong_share_at(rates: Array, label_share: float) -> Array:
    """Return the share of wrong labels at each pair of rates."""
    clean = clean_share(rates, label_share)
    return np.asarray(clean * rates[:, 0] + (1 - clean) * rates[:, 1])


def _unmixing(rates: Array, label_share: float, anything: Flags | None) -> Array:
    unmix = unmixing_matrices(rates)
    if anything is not None and anything.any():
        unmix[anything] = _unmixing_anywhere(rates[anything], label_share)
    return unmix


def _unmixing_anywhere(rates: Array, label_share: float) -> Array:
    """Return what labels say of clean counts when errors are spread over the rows of a label.

    Errors that follow the features need not lie where the rule looks for them. Spread evenly over
    all rows with the same label, they cost the rule most, short of adversarial placement.
    """
    clean = clean_share(rates, label_share)
    missed = np.clip(clean * rates[:, 0] / max(1 - label_share, 1e-9), 0.0, 1.0)
    false = np.clip((1 - clean) * rates[:, 1] / max(label_share, 1e-9), 0.0, 1.0)
    rows = [[1 - missed, false], [missed, 1 - false]]
    return np.moveaxis(np.asarray(rows), -1, 0)


def _marginal(values: Array, weight: Array) -> tuple[Array, Array]:
    points, place = np.unique(values, return_inverse=True)
    return points, np.asarray(np.bincount(place, weight), dtype=float)


def weighted_interval(values: Array, weight: Array, level: float) -> tuple[float, float]:
    """Return the central interval of a weighted sample, interpolated between its points."""
    order = np.argsort(values)
    share = weight[order] / weight.sum()
    middle = np.cumsum(share) - share / 2
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], middle, values[order])
    return float(low), float(high)


# Newton steps at most, and the step to stop at, relative to the smallest standard deviation or to a
# millionth of the bracket.
_STEPS, _CLOSE = 100, 1e-10
_ROOT_2PI = float(np.sqrt(2 * np.pi))


def mixture_intervals(means: Array, sds: Array, weight: Array, level: float) -> tuple[Array, Array]:
    """Return the central intervals of mixtures of normal distributions.

    Parameters
    ----------
    means, sds : ndarray of shape (K, W)
        Means and standard deviations of the parts of each mixture.
    weight : ndarray of shape (W,)
        Weights of the parts, the same for all mixtures.
    level : float
        Level of the intervals.

    Returns
    -------
    low, high : ndarray of shape (K,)

    Notes
    -----
    Newton steps on the distribution functions, kept inside brackets that are halved where a step
    would leave them or does not close in.

    Examples
    --------
    >>> low, high = mixture_intervals(np.zeros((2, 1)), np.array([[1.0], [2.0]]), np.ones(1), 0.95)
    >>> low.round(2), high.round(2)
    (array([-1.96, -3.92]), array([1.96, 3.92]))
    """
    share = weight / weight.sum()
    kept = share > 0
    share, means = share[kept], means[:, kept]
    sds = np.maximum(sds[:, kept], 1e-12)
    mean = means @ share
    spread = np.sqrt((sds**2 + (means - mean[:, None]) ** 2) @ share)
    first, last = (means - 10 * sds).min(axis=1), (means + 10 * sds).max(axis=1)
    # Both ends at once: a step takes hardly longer for two rows than for one.
    target = np.array([[(1 - level) / 2], [(1 + level) / 2]])
    start = np.clip(mean + spread * ndtri(target), first, last)
    ends = _solve(
        np.tile(means, (2, 1)),
        np.tile(sds, (2, 1)),
        share,
        np.repeat(target, len(mean)),
        start.ravel(),
        np.tile(first, 2),
        np.tile(last, 2),
    )
    return ends[: len(mean)], ends[len(mean) :]


def _solve(
    means: Array, sds: Array, share: Array, target: Array, x: Array, low: Array, high: Array
) -> Array:
    """Return where each distribution function reaches its target."""
    found, open_ = x.copy(), np.arange(len(x))
    close = _CLOSE * np.maximum(sds.min(axis=1), 1e-6 * (high - low))
    step = before = high - low
    for _ in range(_STEPS):
        z = (x[:, None] - means) / sds
        off = ndtr(z) @ share - target
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        density = (np.exp(-0.5 * z**2) / sds) @ share / _ROOT_2PI
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = -off / density
        # An end of the bracket may be the root to the last digit: steps may stay on it.
        inside = (x + newton >= low) & (x + newton <= high)
        newton = np.where(
            inside & (np.abs(newton) <= np.abs(before) / 2), newton, (low + high) / 2 - x
        )
        before, step, x = step, newton, x + newton
        found[open_] = x
        left = ~(np.abs(newton) <= close)
        if not left.any():
            break
        if not left.all():
            open_, means, sds, target = open_[left], means[left], sds[left], target[left]
            x, low, high, close = x[left], low[left], high[left], close[left]
            before, step = before[left], step[left]
    return found
