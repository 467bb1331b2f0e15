r"""What calling the best rows brings, at every depth, on clean labels and from noisy ones.

With :math:`d` whether a row is called when a share :math:`q` of them is, the clean precision is
:math:`E[d y] / q`, recall :math:`E[d y] / E[y]`, lift :math:`E[d y] / (q E[y])`, and the profit of
a row :math:`E[d\,((a + b) y - b)]`. Each is linear in the clean label or a ratio of two that are,
so that sums by label suffice (see `clean_means`).

Intervals are by the delta method. The cut moves with the sample: a row called more or less at the
margin brings what rows there bring, :math:`\eta_t`, not what the called ones do on average, so that
the influence of a row on :math:`E[d y]` is :math:`d (u - \eta_t)`, centred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost.core.arrays import Array
from flipcost.core.capacity import saving_order
from flipcost.core.clean_means import LabelSums
from flipcost.core.confusion import Interval
from flipcost.core.costs import RowCosts
from flipcost.core.feasible import possible_bands
from flipcost.core.noise_posterior import RatePosterior, mixture_intervals

MEASURES = ("precision", "recall", "lift", "profit")
# Rows on either side of the cut that tell what rows at the margin bring, as a share of all.
_MARGIN = 0.02
_DEPTHS = 40


@dataclass(frozen=True, eq=False)
class DepthCurve:
    """What calling the best rows brings, at several depths.

    Attributes
    ----------
    depth : ndarray of shape (K,)
        Shares of the rows that are called.
    clean : dict of ndarray of shape (K, 3)
        Value, lower and upper limit of ``precision``, ``recall``, ``lift`` and ``profit`` on clean
        labels. The profit is money for each row of the table.
    observed : dict of ndarray of shape (K,)
        The same by the labels as they are.
    everyone : Interval
        The profit of calling all rows, on clean labels.
    """

    depth: Array
    clean: dict[str, Array]
    observed: dict[str, Array]
    everyone: Interval

    def best(self) -> int:
        """Return the place of the depth with the largest profit."""
        return int(np.argmax(self.clean["profit"][:, 0]))

    def at(self, depth: float) -> int:
        """Return the place of the depth that is nearest."""
        return int(np.argmin(np.abs(self.depth - depth)))


def depth_curve(
    positive: ArrayLike,
    probability: ArrayLike,
    prices: RowCosts,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    *,
    depths: ArrayLike | None = None,
    design: float = 1.0,
    level: float = 0.95,
) -> DepthCurve:
    """Return clean precision, recall, lift and profit at depths, with intervals.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        The noisy labels.
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    prices : RowCosts
        Of the rows; rows are called in the order of what that is expected to save.
    posterior : RatePosterior
        Over the noise rates.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    depths : array-like of shape (K,), optional
        Shares of the rows to call, in (0, 1]; 40 of them when not given.
    design : float, default=1.0
        How many rows count for one, where they depend on each other.
    level : float, default=0.95
        Level of the intervals, for sampling and for not knowing the rate.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> eta = rng.random(2000)
    >>> noisy = (rng.random(2000) < eta) ^ (rng.random(2000) < 0.2)
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> prices = RowCosts(np.full(2000, 4.0), np.ones(2000))
    >>> curve = depth_curve(noisy, eta, prices, known, depths=[0.1, 0.5])
    >>> bool(curve.clean["lift"][0, 1] < 1.9 < curve.clean["lift"][0, 2])
    True
    """
    labels, eta = np.asarray(positive, dtype=bool), np.asarray(probability, dtype=float)
    weight = np.ones(len(eta)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    gain = prices.gain(eta)
    order = saving_order(gain)
    wanted = np.asarray(usual_depths(len(eta)) if depths is None else depths, dtype=float)
    sums = _sums(labels, eta, gain, prices, weight, order, wanted)
    share = float(weight[labels].sum() / weight.sum())
    narrow, mass = posterior.unmixings(share, wide=False)
    wide, wide_mass = posterior.unmixings(share, wide=True)
    values = {k: mass @ v for k, v in _values(sums, narrow[:, 1]).items()}
    centre = _values(sums.smooth(), wide[:, 1])
    errors = _errors(sums.smooth(), wide[:, 1], design)
    clean = {}
    for name in MEASURES:
        least, most = sums.limits(name)
        error = np.minimum(errors[name], (most - least) / 2)
        low, high = mixture_intervals(centre[name].T, error.T, wide_mass, level)
        clean[name] = possible_bands(values[name], low, high, least, most)
    as_labelled = _values(sums, np.array([[0.0, 1.0]]))
    observed = {name: as_labelled[name][0] for name in MEASURES}
    everyone = _everyone(labels, prices, weight, posterior, level, design)
    return DepthCurve(sums.q, clean, observed, everyone)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over called rows at each depth, and over all, by label.

    First axis of `first`, `second`: depths; then labels, then ``(1, slope, base)``.
    """

    first: Array
    second: Array
    total: Array
    squares: Array
    eta_cut: Array
    gain_cut: Array
    reach: Array

    @property
    def weight(self) -> float:
        return float(self.total[:, 0].sum())

    @property
    def q(self) -> Array:
        return np.asarray(self.first[:, :, 0].sum(axis=1) / self.weight)

    def smooth(self) -> _Sums:
        """Return the same with half a row of each label among the called ones."""
        typical = float(self.squares[:, 0, 0].sum() / self.weight)
        mean = self.first.sum(axis=1) / np.maximum(self.first[..., 0].sum(axis=1), 1e-300)[:, None]
        more = 0.5 * typical * mean[:, None, :] * np.ones((1, 2, 1))
        square = 0.5 * typical**2 * (mean[:, :, None] * mean[:, None, :])[:, None]
        return _Sums(
            self.first + more,
            self.second + square,
            self.total,
            self.squares,
            self.eta_cut,
            self.gain_cut,
            self.reach,
        )

    def limits(self, name: str) -> tuple[Array, Array]:
        """Return the least and the most that a measure can be at each depth."""
        zero, one = np.zeros(len(self.q)), np.ones(len(self.q))
        if name == "lift":
            return zero, 1 / np.maximum(self.q, 1e-12)
        if name != "profit":
            return zero, one
        base = self.first[..., 2].sum(axis=1)
        return (base + self.reach[:, 0]) / self.weight, (base + self.reach[:, 1]) / self.weight


def usual_depths(n: int, *asked: float) -> Array:
    """Return depths that are dense where few rows are called, and those that were asked for.

    Examples
    --------
    >>> len(usual_depths(1000)), 0.123 in usual_depths(1000, 0.123)
    (40, True)
    """
    steps = np.linspace(0.0, 1.0, _DEPTHS + 1)[1:] ** 1.5
    return np.unique([*np.maximum(steps, min(1.0, 10 / n)), *asked])


def _sums(
    labels: NDArray[np.bool_],
    eta: Array,
    gain: Array,
    prices: RowCosts,
    weight: Array,
    order: NDArray[np.intp],
    depths: Array,
) -> _Sums:
    w, n = weight[order], len(order)
    mass = np.cumsum(w) / w.sum()
    place = np.clip(np.searchsorted(mass, depths - 1e-12), 0, n - 1)
    slope, base = (
        np.broadcast_to(part, len(order))[order]
        for part in (prices.miss + prices.alarm, -prices.alarm)
    )
    parts = (np.ones(n), slope, base)
    side = [labels[order] == bool(label) for label in (0, 1)]

    def upto(values: Array) -> Array:
        return np.stack([np.cumsum(values * s) for s in side], axis=-1)

    first = np.stack([upto(w * p) for p in parts], axis=-1)
    second = np.empty((n, 2, 3, 3))
    for i in range(3):
        for j in range(i + 1):
            second[..., i, j] = second[..., j, i] = upto(w**2 * parts[i] * parts[j])
    reach = np.stack([np.cumsum(w * f(slope, 0.0)) for f in (np.minimum, np.maximum)], axis=-1)
    half = max(1, round(_MARGIN * n))
    low, high = np.maximum(place - half, 0), np.minimum(place + half, n - 1)
    near = [np.concatenate([[0.0], np.cumsum(v[order])]) for v in (eta, gain)]
    eta_cut, gain_cut = ((v[high + 1] - v[low]) / (high + 1 - low) for v in near)
    # Where everybody is called there is no margin: all rows count, whatever they bring.
    last = place == n - 1
    return _Sums(
        first[place],
        second[place],
        first[-1],
        second[-1],
        np.where(last, 0.0, eta_cut),
        np.where(last, 0.0, gain_cut),
        reach[place],
    )


def _values(sums: _Sums, told: Array) -> dict[str, Array]:
    """Return the measures under each rate, shape (R, K)."""
    weight, q = sums.weight, sums.q
    found = np.clip(np.einsum("rl,kl->rk", told, sums.first[..., 0]) / weight, 0.0, q)
    share = np.clip(told @ sums.total[:, 0] / weight, 1e-9, 1.0)[:, None]
    slopes = np.einsum("rl,kl->rk", told, sums.first[..., 1])
    slopes = np.clip(slopes, sums.reach[:, 0], sums.reach[:, 1])
    recall = np.minimum(found / share, 1.0)
    return {
        "precision": found / np.maximum(q, 1e-300),
        "recall": recall,
        "lift": recall / np.maximum(q, 1e-300),
        "profit": (slopes + sums.first[..., 2].sum(axis=1)) / weight,
    }


def _errors(sums: _Sums, told: Array, design: float) -> dict[str, Array]:
    """Return the standard errors of the measures under each rate, shape (R, K)."""
    weight, q = sums.weight, np.maximum(sums.q, 1e-300)
    values = _values(sums, told)
    inside = sums.second[..., 0, 0]
    outside = np.maximum(sums.squares[:, 0, 0] - inside, 0.0)
    u = told[:, None, :]
    found = (values["precision"] * q)[..., None]
    cut = sums.eta_cut[None, :, None]
    middle = found - cut * q[None, :, None]
    share = np.clip(told @ sums.total[:, 0] / weight, 1e-9, 1.0)[:, None, None]
    recall = values["recall"][..., None]
    called, left = u - cut - middle, -middle
    precision = (called**2 * inside + left**2 * outside).sum(axis=2)
    drag = recall * (u - share)
    of_recall = (((called - drag) ** 2 * inside + (left - drag) ** 2 * outside).sum(axis=2)) / (
        share[..., 0] ** 2
    )
    gain = sums.gain_cut[None, :]
    rest = values["profit"] - gain * q
    vector = np.stack(
        [
            np.broadcast_to((-gain - rest)[..., None], (*rest.shape, 2)),
            np.broadcast_to(u, (*rest.shape, 2)),
            np.ones((*rest.shape, 2)),
        ],
        axis=-1,
    )
    profit = np.einsum("rkli,klij,rklj->rk", vector, sums.second, vector)
    profit += rest**2 * outside.sum(axis=1)
    scale = np.sqrt(design) / weight
    recall_error = scale * np.sqrt(np.maximum(of_recall, 0.0))
    return {
        "precision": scale * np.sqrt(np.maximum(precision, 0.0)) / q,
        "recall": recall_error,
        "lift": recall_error / q,
        "profit": scale * np.sqrt(np.maximum(profit, 0.0)),
    }


def _everyone(
    labels: NDArray[np.bool_],
    prices: RowCosts,
    weight: Array,
    posterior: RatePosterior,
    level: float,
    design: float,
) -> Interval:
    """Return what calling all rows saves."""
    sums = LabelSums.of_rows(labels, prices.miss + prices.alarm, -prices.alarm, weight)
    return sums.thinned(design).mean(posterior, level)
