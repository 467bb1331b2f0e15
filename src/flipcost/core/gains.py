r"""Which rows to flag when their number is limited, and what flagging the best rows brings.

Rows are flagged in the order of what that is expected to save (`RowCosts.gain`). Rows that save
the same are ordered by a hash of their position in the table, so that neither the order of reading
nor the size of pieces decides, and the same table gives the same answer.

With :math:`d` whether a row is flagged when a share :math:`q` of them is, the clean precision is
:math:`E[d y] / q`, recall :math:`E[d y] / E[y]`, lift :math:`E[d y] / (q E[y])`, and the profit of
a row :math:`E[d\,((a + b) y - b)]`. Each is linear in the clean label or a ratio of two that are,
so that sums by label suffice (see `clean_means`).

Intervals are by the delta method. The cut moves with the sample: a row flagged more or less at the
margin brings what rows there bring, :math:`\eta_t`, not what the flagged ones do on average, so
that the influence of a row on :math:`E[d y]` is :math:`d (u - \eta_t)`, centred.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, Flags, Indices, Keys, unit_weights
from flipcost.core.clean_means import LabelSums
from flipcost.core.confusion import Interval, clip_intervals
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior, mixture_intervals
from flipcost.core.folds import hash_keys
from flipcost.exceptions import FlipCostError

MEASURES = ("precision", "recall", "lift", "profit")
# Rows on either side of the cut that tell what rows at the margin bring, as a share of all.
_MARGIN = 0.02
_DEPTHS = 40
_ROWS = re.compile(r"\d{1,15}")
_SHARE = re.compile(r"(\d+\.?\d*|\.\d+)\s*%")


@dataclass(frozen=True)
class Capacity:
    """How many rows can be flagged: a number, or a share of all.

    Parameters
    ----------
    rows : int or None
        This many.
    share : float or None
        Or such a share of the rows.

    Examples
    --------
    >>> Capacity(500).of(10_000), Capacity(share=0.05).of(10_000), Capacity.read("5%").of(999)
    (500, 500, 49)
    """

    rows: int | None = None
    share: float | None = None

    @classmethod
    def read(cls, text: str | float) -> Capacity:
        """Return a capacity from text: ``"500"`` or ``"5%"``."""
        said = str(text).strip()
        if _ROWS.fullmatch(said) and int(said) > 0:
            return cls(rows=int(said))
        found = _SHARE.fullmatch(said)
        if found and 0 < float(found[1]) <= 100:
            return cls(share=float(found[1]) / 100)
        msg = (
            "`capacity` must be a number of rows, at least 1, or a share of them from 0 to 100%, "
            f"as in 500 or 5%; got {said!r}."
        )
        raise FlipCostError(msg)

    def of(self, n_rows: int, what: str = "rows") -> int:
        """Return how many of this many rows can be flagged; refuse more than there are."""
        if self.share is not None:
            return int(np.floor(self.share * n_rows + 1e-9))
        assert self.rows is not None  # noqa: S101 - one of the two is given
        if self.rows > n_rows:
            msg = f"`capacity` is {self.rows:,}, but there are only {n_rows:,} {what}; give fewer."
            raise FlipCostError(msg)
        return self.rows

    def __str__(self) -> str:
        return f"{self.rows:,} rows" if self.share is None else f"{100 * self.share:g}% of rows"


def read_capacity(text: str | None, by: str | None) -> Capacity | dict[str, Capacity] | None:
    """Return how many rows can be flagged, of all or by group; refuse what does not go together.

    Parameters
    ----------
    text : str or None
        As in ``500``, ``5%`` or ``north=200,south=5%``.
    by : str or None
        The column of groups.

    Examples
    --------
    >>> read_capacity("north=200,south=5%", "region")["south"].share
    0.05
    """
    if text is None:
        if by is None:
            return None
        msg = "`capacity_by` names groups, but no `capacity` of theirs is given; give both."
        raise FlipCostError(msg)
    if "=" not in text:
        return Capacity.read(text)
    found: dict[str, Capacity] = {}
    for part in text.split(","):
        group, _, amount = part.rpartition("=")
        if not group.strip() or group.strip() in found:
            msg = (
                "`capacity` by group must name each group once, as in north=200,south=5%; got "
                f"{text!r}."
            )
            raise FlipCostError(msg)
        found[group.strip()] = Capacity.read(amount)
    if by is None:
        msg = "`capacity` by group needs the groups: name their column as `capacity_by`."
        raise FlipCostError(msg)
    return found


def _tie_keys(position: ArrayLike) -> Keys:
    """Return keys that order ties: a hash that no two positions share."""
    return hash_keys(np.asarray(position, np.uint64))


def saving_order(gain: ArrayLike, position: ArrayLike | None = None) -> Indices:
    """Return rows in the order in which they are flagged: what saves most first.

    Examples
    --------
    >>> saving_order([1.0, 3.0, 2.0]).tolist()
    [1, 2, 0]
    """
    values = np.asarray(gain, dtype=float)
    places = np.arange(len(values)) if position is None else position
    return np.lexsort((_tie_keys(places), -values))


@dataclass(frozen=True, eq=False)
class TopRows:
    """The rows whose flags save most, of all that were seen so far.

    Attributes
    ----------
    size : int
        How many can be flagged.
    gain, keys : ndarray of shape (m,)
        What the flags save, and the keys that order ties, the best first.

    Examples
    --------
    >>> top = TopRows.none(2).seen([1.0, 5.0], [0, 1]).seen([3.0, -1.0], [2, 3])
    >>> top.gain, top.are_flagged([1.0, 5.0, 3.0, -1.0], [0, 1, 2, 3])
    (array([5., 3.]), array([False,  True,  True, False]))
    """

    size: int
    gain: Array
    keys: Keys

    @classmethod
    def none(cls, size: int) -> TopRows:
        """Return that no rows were seen."""
        return cls(size, np.empty(0), np.empty(0, np.uint64))

    def seen(self, gain: ArrayLike, position: ArrayLike) -> TopRows:
        """Return the same once more rows were seen; those whose flag does not pay do not count."""
        values = np.asarray(gain, dtype=float)
        pays = values > 0
        gains = np.concatenate([self.gain, values[pays]])
        keys = np.concatenate([self.keys, _tie_keys(position)[pays]])
        order = np.lexsort((keys, -gains))[: self.size]
        return TopRows(self.size, gains[order], keys[order])

    def are_flagged(self, gain: ArrayLike, position: ArrayLike) -> Flags:
        """Return which rows are among these."""
        values = np.asarray(gain, dtype=float)
        if not len(self.gain):
            return np.zeros(len(values), dtype=bool)
        tied = (values == self.gain[-1]) & (_tie_keys(position) <= self.keys[-1])
        return np.asarray((values > self.gain[-1]) | tied)


def group_sizes(capacity: Capacity | dict[str, Capacity], counts: dict[str, int]) -> dict[str, int]:
    """Return how many rows of each group can be flagged; none of a group that is not named.

    Of all rows together, the one group is named "".

    Examples
    --------
    >>> group_sizes({"a": Capacity(2)}, {"a": 5, "b": 7})
    {'a': 2, 'b': 0}
    """
    if isinstance(capacity, Capacity):
        return {
            name: capacity.of(n, f"rows of {name!r}" if name else "rows")
            for name, n in counts.items()
        }
    strange = [name for name in capacity if name not in counts]
    if strange:
        msg = f"`capacity` names a group {strange[0]!r} that has no rows; there are {list(counts)}."
        raise FlipCostError(msg)
    return {
        name: capacity[name].of(n, f"rows of {name!r}") if name in capacity else 0
        for name, n in counts.items()
    }


@dataclass(frozen=True, eq=False)
class GainsCurve:
    """What flagging the best rows brings, at several depths.

    Attributes
    ----------
    depth : ndarray of shape (K,)
        Shares of the rows that are flagged.
    clean : dict of ndarray of shape (K, 3)
        Value, lower and upper limit of ``precision``, ``recall``, ``lift`` and ``profit`` on clean
        labels. The profit is money for each row of the table.
    observed : dict of ndarray of shape (K,)
        The same by recorded labels.
    everyone : Interval
        The profit of flagging all rows, on clean labels.
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


def gains_curve(
    positive: ArrayLike,
    probability: ArrayLike,
    prices: RowCosts,
    posterior: RatePosterior,
    sample_weight: ArrayLike | None = None,
    *,
    depths: ArrayLike | None = None,
    design: float = 1.0,
    level: float = 0.95,
) -> GainsCurve:
    """Return clean precision, recall, lift and profit at depths, with intervals.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        The noisy labels.
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    prices : RowCosts
        Of the rows; rows are flagged in the order of what that is expected to save.
    posterior : RatePosterior
        Over the noise rates.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    depths : array-like of shape (K,), optional
        Shares of the rows to flag, in (0, 1]; 40 of them when not given.
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
    >>> curve = gains_curve(noisy, eta, prices, known, depths=[0.1, 0.5])
    >>> bool(curve.clean["lift"][0, 1] < 1.9 < curve.clean["lift"][0, 2])
    True
    """
    labels, eta = np.asarray(positive, dtype=bool), np.asarray(probability, dtype=float)
    weight = unit_weights(sample_weight, len(eta))
    wanted = np.asarray(usual_depths(len(eta)) if depths is None else depths, dtype=float)
    slope, base = prices.miss + prices.alarm, -prices.alarm
    sums = _sums(labels, eta, prices.gain(eta), slope, base, weight, wanted)
    q, smooth = np.maximum(sums.q, 1e-300), sums.smooth()
    share = float(weight[labels].sum() / weight.sum())
    narrow, mass = posterior.unmixings(share, wide=False)
    wide, wide_mass = posterior.unmixings(share, wide=True)
    values, centre = _values(sums, narrow[:, 1]), _values(smooth, wide[:, 1])
    errors = _errors(smooth, wide[:, 1], design)
    clean = {}
    for name, (least, most) in sums.limits().items():
        error = np.minimum(errors[name], (most - least) / 2)
        low, high = mixture_intervals(centre[name].T, error.T, wide_mass, level)
        clean[name] = clip_intervals(mass @ values[name], low, high, least, most)
    clean["lift"] = clean["recall"] / q[:, None]
    observed = {name: found[0] for name, found in _values(sums, np.array([[0.0, 1.0]])).items()}
    observed["lift"] = observed["recall"] / q
    everyone = LabelSums.of_rows(labels, slope, base, weight).thinned(design)
    return GainsCurve(sums.q, clean, observed, everyone.mean(posterior, level))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over flagged rows at each depth, and over all, by label.

    First axis of `first`, `second`, `reach`: depths; then labels, then ``(1, slope, base)``.
    """

    first: Array
    second: Array
    reach: Array
    total: Array
    squares: Array
    eta_cut: Array
    gain_cut: Array

    @property
    def weight(self) -> float:
        return float(self.total[:, 0].sum())

    @property
    def q(self) -> Array:
        return np.asarray(self.first[:, :, 0].sum(axis=1) / self.weight)

    def smooth(self) -> _Sums:
        """Return the same with half a row of each label among the flagged ones."""
        typical = float(self.squares[:, 0, 0].sum() / self.weight)
        mean = self.first.sum(axis=1) / np.maximum(self.first[..., 0].sum(axis=1), 1e-300)[:, None]
        first = self.first + 0.5 * typical * mean[:, None, :]
        square = 0.5 * typical**2 * (mean[:, :, None] * mean[:, None, :])[:, None]
        return replace(self, first=first, second=self.second + square)

    def limits(self) -> dict[str, tuple[Array, Array]]:
        """Return the least and the most that each measure can be at each depth."""
        zero, one = np.zeros(len(self.q)), np.ones(len(self.q))
        base = self.first[..., 2].sum(axis=1)
        ends = (base + self.reach[:, 0]) / self.weight, (base + self.reach[:, 1]) / self.weight
        return {"precision": (zero, one), "recall": (zero, one), "profit": ends}


def usual_depths(n: int, *asked: float) -> Array:
    """Return depths that are dense where few rows are flagged, and those that were asked for.

    Examples
    --------
    >>> len(usual_depths(1000)), 0.123 in usual_depths(1000, 0.123)
    (40, True)
    """
    steps = np.linspace(0.0, 1.0, _DEPTHS + 1)[1:] ** 1.5
    return np.unique([*np.maximum(steps, min(1.0, 10 / n)), *asked])


def _sums(
    labels: Flags, eta: Array, gain: Array, slope: Array, base: Array, weight: Array, depths: Array
) -> _Sums:
    """Sum over the rows that are flagged at each depth."""
    n, order = len(labels), saving_order(gain)
    w, both = weight[order], np.stack([~labels, labels], axis=-1)[order]
    mass = np.cumsum(w) / w.sum()
    place = np.clip(np.searchsorted(mass, depths - 1e-12), 0, n - 1)
    parts = np.column_stack([np.ones(n), np.broadcast_to(slope, n), np.broadcast_to(base, n)])[
        order
    ]
    each = (w[:, None] * both)[..., None] * parts[:, None, :]
    first = np.cumsum(each, axis=0)
    second = np.cumsum(each[..., :, None] * each[..., None, :], axis=0)
    ends = [w * f(parts[:, 1], 0.0) for f in (np.minimum, np.maximum)]
    half = max(1, round(_MARGIN * n))
    low, high = np.maximum(place - half, 0), np.minimum(place + half, n - 1)
    near = [np.concatenate([[0.0], np.cumsum(values[order])]) for values in (eta, gain)]
    # Where all rows are flagged there is no margin: each counts, whatever it brings.
    eta_cut, gain_cut = (
        np.where(place == n - 1, 0.0, (sums[high + 1] - sums[low]) / (high + 1 - low))
        for sums in near
    )
    return _Sums(
        first[place],
        second[place],
        np.cumsum(np.stack(ends, axis=-1), axis=0)[place],
        first[-1],
        second[-1],
        eta_cut,
        gain_cut,
    )


def _values(sums: _Sums, known: Array) -> dict[str, Array]:
    """Return the measures under each rate, shape (R, K)."""
    weight, q = sums.weight, sums.q
    found = np.clip(np.einsum("rl,kl->rk", known, sums.first[..., 0]) / weight, 0.0, q)
    share = np.clip(known @ sums.total[:, 0] / weight, 1e-9, 1.0)[:, None]
    slopes = np.einsum("rl,kl->rk", known, sums.first[..., 1])
    slopes = np.clip(slopes, sums.reach[:, 0], sums.reach[:, 1])
    return {
        "precision": found / np.maximum(q, 1e-300),
        "recall": np.minimum(found / share, 1.0),
        "profit": (slopes + sums.first[..., 2].sum(axis=1)) / weight,
    }


def _errors(sums: _Sums, known: Array, design: float) -> dict[str, Array]:
    """Return the standard errors of the measures under each rate, shape (R, K)."""
    weight, q, u = sums.weight, np.maximum(sums.q, 1e-300), known[:, None, :]
    values, scale = _values(sums, known), np.sqrt(design) / weight
    inside = sums.second[..., 0, 0]
    outside = np.maximum(sums.squares[:, 0, 0] - inside, 0.0)

    def error(flagged: Array, left: Array) -> Array:
        """Return the error given the influence of flagged rows, and of others, by label."""
        return np.asarray(scale * np.sqrt((flagged**2 * inside + left**2 * outside).sum(axis=2)))

    middle = ((values["precision"] - sums.eta_cut) * q)[..., None]
    flagged = u - sums.eta_cut[:, None] - middle
    share = np.clip(known @ sums.total[:, 0] / weight, 1e-9, 1.0)[:, None, None]
    drag = values["recall"][..., None] * (u - share)
    rest = values["profit"] - sums.gain_cut * q
    vector = np.stack(np.broadcast_arrays((-sums.gain_cut - rest)[..., None], u, 1.0), axis=-1)
    profit = np.einsum("rkli,klij,rklj->rk", vector, sums.second, vector)
    profit += rest**2 * outside.sum(axis=1)
    return {
        "precision": error(flagged, -middle) / q,
        "recall": error(flagged - drag, -middle - drag) / share[..., 0],
        "profit": scale * np.sqrt(np.maximum(profit, 0.0)),
    }
