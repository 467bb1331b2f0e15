r"""How labels may have gone wrong: models of the noise, and grids of the rates that each allows.

Five models, pooled by their evidence unless the caller knows better:

============================ ===============================================
``"none"``                   no label is wrong
``"symmetric"``              one rate for both classes
``"missed_positives"``       only positives are labelled wrong
``"wrong_negatives"``        only negatives are labelled wrong
``"class_conditional"``      a rate for each class
============================ ===============================================

A share :math:`\tilde\pi` of positive labels bounds the rates: :math:`\rho_- \le \tilde\pi` and
:math:`\rho_+ \le 1 - \tilde\pi`, or there would be fewer than no positives, or negatives. The prior
of a rate is over what its bound leaves, so rare positives do not make "only negatives are wrong"
look absurd for want of room; it falls gently, to half at the bound, since most tables have few
mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

NoiseModel: TypeAlias = Literal[
    "auto", "symmetric", "missed_positives", "wrong_negatives", "class_conditional"
]
# Symmetric noise is the simplest story and the hardest to see in the share of positives: it gets
# half. With equal parts for all models the noise tax of symmetric flips was 0.05 higher (four
# tables, five rates, six splits), and that of ten tables with real noise the same.
PRIOR: dict[str, float] = {
    "none": 0.1,
    "symmetric": 0.5,
    "missed_positives": 0.4 / 3,
    "wrong_negatives": 0.4 / 3,
    "class_conditional": 0.4 / 3,
}
MODEL_NAMES = tuple(PRIOR)
# With so many rows of the rarer label, noise of any kind weighs half of what it weighs with many.
# Chosen on ten draws of 200 rows with some ten positives, seen on twenty others: with a signal
# regret was 0.47 of the better constant's with this and 0.79 without; without one 1.00 of its cost
# in place of 1.004 on the mean, where one of the first ten draws had 2.7.
_FEW = 20.0
# How fast the prior falls, over the whole range. Without it, and with "none" at 0.05, a weak signal
# in clean labels cost 6 % more than the constant in place of 4 %, and 200 rows without signal up to
# half more; faster, 1.5, cost 0.06 of noise tax under class-conditional noise.
_FALL = 0.7
# Rates stop short of the bound, where the classes could not be told apart at all.
_REACH = 0.98
# Cells of a line, and of the sides of a square. Coarse grids are for tempered labels, whose
# posterior is never narrow.
_POINTS = {False: (13, (10, 8)), True: (7, (6, 5))}
# Cells of both sides of a fine square.
_FINE = 40
# Cells that hold less than this share of the fullest one do not bound the next, finer grid.
_THIN = 1e-4


def model_prior(noise_model: NoiseModel, rarer: float = np.inf) -> dict[str, float]:
    """Return the prior weight of each model that a choice of noise model leaves.

    Parameters
    ----------
    noise_model : str
        What was chosen; "auto" leaves all.
    rarer : float, default=inf
        Rows of the rarer label. A few cannot tell noise from chance: they are taken as they are.

    Examples
    --------
    >>> {name: round(weight, 6) for name, weight in model_prior("symmetric").items()}
    {'none': 0.1, 'symmetric': 0.9}
    >>> round(model_prior("symmetric", rarer=10)["none"], 2)
    0.82
    >>> round(sum(model_prior("auto").values()), 9)
    1.0
    """
    if noise_model not in get_args(NoiseModel):
        msg = f"`noise_model` must be one of {', '.join(get_args(NoiseModel))}; got {noise_model}."
        raise ValueError(msg)
    prior = PRIOR if noise_model == "auto" else {"none": PRIOR["none"], noise_model: 1.0}
    noisy = (1 - PRIOR["none"]) / (1 + (_FEW / max(rarer, 1.0)) ** 2)
    others = sum(prior.values()) - prior["none"]
    return {
        name: 1 - noisy if name == "none" else noisy * weight / others
        for name, weight in prior.items()
    }


@dataclass(frozen=True, eq=False)
class RateGrid:
    """Cells of the rates that one model allows, with their prior masses.

    Attributes
    ----------
    model : str
        One of `MODEL_NAMES`.
    noisy_share : float
        Share of positive labels, which bounds the rates.
    low, high : tuple of floats
        Limits of the grid, as shares of the bounds; one of each for a line, two for a square.
    coarse : bool
        Whether fewer cells will do.
    """

    model: str
    noisy_share: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    coarse: bool = False

    @classmethod
    def whole(cls, model: str, noisy_share: float, *, coarse: bool = False) -> RateGrid:
        """Return the grid of all rates that a model allows.

        Examples
        --------
        >>> grid = RateGrid.whole("wrong_negatives", 0.1)
        >>> print(grid.rates.max(axis=0).round(3), grid.log_mass.shape)
        [0.    0.094] (13,)
        """
        n = {"none": 0, "class_conditional": 2}.get(model, 1)
        return cls(model, noisy_share, (0.0,) * n, (_REACH,) * n, coarse)

    @property
    def _axes(self) -> list[Array]:
        line, square = _POINTS[self.coarse]
        points = square if len(self.low) == 2 else (line,)
        return [
            low + (high - low) * (np.arange(n) + 0.5) / n
            for low, high, n in zip(self.low, self.high, points, strict=False)
        ]

    @cached_property
    def relative(self) -> Array:
        """Middles of the cells as shares of the bounds, shape (R, dimensions)."""
        if not self.low:
            return np.zeros((1, 0))
        return np.stack(np.meshgrid(*self._axes, indexing="ij"), axis=-1).reshape(-1, len(self.low))

    @cached_property
    def rates(self) -> Array:
        """Pairs ``(rho_pos, rho_neg)`` in the middles of the cells, shape (R, 2)."""
        share, u = self.noisy_share, self.relative
        none = np.zeros(len(u))
        if self.model == "none":
            return np.zeros((1, 2))
        if self.model == "symmetric":
            return np.column_stack([u[:, 0], u[:, 0]]) * min(share, 1 - share)
        if self.model == "missed_positives":
            return np.column_stack([u[:, 0] * (1 - share), none])
        if self.model == "wrong_negatives":
            return np.column_stack([none, u[:, 0] * share])
        return np.asarray(u * np.array([1 - share, share]))

    @property
    def log_mass(self) -> Array:
        """Log prior mass of each cell; the masses of a whole grid add up to one."""
        u = self.relative
        covered = np.prod([(h - a) / _REACH for a, h in zip(self.low, self.high, strict=True)])
        typical = np.log(-np.expm1(-_FALL * _REACH) / (_FALL * _REACH))
        return np.asarray(np.log(covered / len(u)) - (_FALL * u + typical).sum(axis=1))

    def zoom(self, weight: ArrayLike) -> RateGrid:
        """Return a finer grid over the cells with weight, and one cell around them.

        Examples
        --------
        >>> weight = np.zeros(13)
        >>> weight[5] = 1.0
        >>> grid = RateGrid.whole("symmetric", 0.5).zoom(weight)
        >>> print(round(grid.low[0], 3), round(grid.high[0], 3))
        0.302 0.528
        """
        share = np.asarray(weight, dtype=float)
        inside = self.relative[share > _THIN * share.max()]
        step = np.array([axis[1] - axis[0] for axis in self._axes])
        low = np.maximum(inside.min(axis=0) - 1.5 * step, 0.0)
        high = np.minimum(inside.max(axis=0) + 1.5 * step, _REACH)
        return replace(self, low=tuple(low.tolist()), high=tuple(high.tolist()))


def clean_share(rates: Array, noisy_share: float) -> Array:
    """Return the share of truly positive rows at each pair of rates.

    Examples
    --------
    >>> print(clean_share(np.array([(0.0, 0.0), (0.5, 0.0)]), 0.1))
    [0.1 0.2]
    """
    kept = np.maximum(1 - rates.sum(axis=1), 1e-9)
    return np.asarray(np.clip((noisy_share - rates[:, 1]) / kept, 0.0, 1.0))


def free_rates(noisy_share: float, *, fine: bool = False) -> Array:
    """Return pairs that cover all that the share of labels leaves possible, evenly.

    Parameters
    ----------
    noisy_share : float
        Share of positive labels.
    fine : bool, default=False
        Whether closely, for what leaves a narrow band of them.

    Examples
    --------
    >>> print(free_rates(0.2).max(axis=0).round(2), len(free_rates(0.2, fine=True)))
    [0.74 0.18] 1600
    """
    if not fine:
        return RateGrid.whole("class_conditional", noisy_share).rates
    axis = _REACH * (np.arange(_FINE) + 0.5) / _FINE
    pairs = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.asarray(pairs * np.array([1 - noisy_share, noisy_share]))
