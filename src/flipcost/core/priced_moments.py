r"""Moments of rows that have prices of their own: what the closed form needs to know of them.

With :math:`a_i` what a miss on row i costs and :math:`b_i` what a false alarm does, in units of
the mean of :math:`a_i + b_i`, the closed form minimises

.. math::

    \frac1m\Bigl[\sum_{y_i = +1} a_i (1 - w^\top z_i)^2 + \sum_{y_i = -1}
    \frac{b_i}{\gamma}(1 + \gamma w^\top z_i)^2\Bigr] + \lambda|w|^2,

which at one price is the objective of `flipcost.core.solve`. It needs the moments of positive rows
weighed by :math:`a_i` and of negative ones weighed by :math:`b_i`. A noisy label does not say which
of the two weights is meant, so both sets of moments are gathered of rows of *either* label: noise
mixes the classes within each set, and within each set it is undone,

.. math::

    M^a_+ = \frac{(1-\rho_-)\tilde M^a_+ - \rho_-\tilde M^a_-}{1-\rho_+-\rho_-}, \qquad
    M^b_- = \frac{(1-\rho_+)\tilde M^b_- - \rho_+\tilde M^b_+}{1-\rho_+-\rho_-},

without bias whatever prices depend on, if labels were flipped independently of them given the
class. Weights are kept at twice these, and systems are solved at a cost of one half. What denoising
throws out of the possible is clipped as in `flipcost.core.solve`, each set against its own total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core._rows import Matrix
from flipcost.core.arrays import Array
from flipcost.core.costs import RowCosts
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.noise import NoiseRateLike, rate_pair, unmixing_matrix
from flipcost.core.solve import DenoisedSystem, drop_constants, excess_of, positive_shares


@dataclass(frozen=True, eq=False)
class PricedMoments:
    """Moments of rows of either label, weighed by what a miss costs, and by what an alarm does.

    Attributes
    ----------
    miss, alarm : ClassMoments
        Of all rows by their noisy labels, weighed by twice either price.
    weight : float
        Weight of the rows, prices aside.

    Examples
    --------
    >>> X, labels = np.array([[0.0], [1.0], [3.0], [4.0]]), [False, False, True, True]
    >>> prices = RowCosts(np.array([8.0, 8.0, 8.0, 24.0]), np.full(4, 2.0))
    >>> moments = PricedMoments.from_rows(X, labels, prices)
    >>> moments.observed().weight.round(4), moments.weight
    (array([0.5714, 4.5714]), 4.0)
    """

    miss: ClassMoments
    alarm: ClassMoments
    weight: float

    @classmethod
    def from_rows(
        cls,
        X: Matrix,
        positive: ArrayLike,
        prices: RowCosts,
        sample_weight: ArrayLike | None = None,
    ) -> PricedMoments:
        """Gather the moments of rows; arguments as in `fold_priced_moments`."""
        return fold_priced_moments(X, positive, prices, sample_weight=sample_weight)[0]

    def merge(self, other: PricedMoments) -> PricedMoments:
        """Return the moments of both sets of rows, whose prices are in the same units."""
        return PricedMoments(
            self.miss + other.miss, self.alarm + other.alarm, self.weight + other.weight
        )

    def observed(self) -> ClassMoments:
        """Return moments by labels as they are: of positive ones by misses, of others by alarms."""
        both = (self.alarm, self.miss)
        return ClassMoments(
            self.miss.n_rows,
            np.array([part.weight[c] for c, part in enumerate(both)]),
            np.stack([part.mean[c] for c, part in enumerate(both)]),
            np.stack([part.scatter[c] for c, part in enumerate(both)]),
        )

    def is_possible(self, noise_rate: NoiseRateLike) -> bool:
        """Tell whether a noise rate leaves positive rows that cost, and negative ones."""
        unmix = unmixing_matrix(noise_rate)
        return bool(unmix[1] @ self.miss.weight > 0 and unmix[0] @ self.alarm.weight > 0)

    def check_possible(self, noise_rate: NoiseRateLike) -> None:
        """Raise a `ValueError` that says why, when a noise rate is impossible for the labels."""
        if self.is_possible(noise_rate):
            return
        rho_pos, rho_neg = rate_pair(noise_rate)
        msg = (
            f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) is impossible for these labels and prices: "
            "with so many flips, what rows of a class cost would come out below nothing. Give a "
            "smaller rate, or one for each class as (rho_pos, rho_neg)."
        )
        raise ValueError(msg)


def fold_priced_moments(
    X: Matrix,
    positive: ArrayLike,
    prices: RowCosts,
    folds: ArrayLike | None = None,
    n_folds: int = 1,
    sample_weight: ArrayLike | None = None,
    *,
    unit: ArrayLike | None = None,
) -> list[PricedMoments]:
    """Gather the moments of every fold, in two passes over the rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows.
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    prices : RowCosts
        Of the rows.
    folds, n_folds
        As in `flipcost.core.moments.fold_moments`; prices are in the same units in every fold.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    unit : array-like of shape (n,), optional
        Weights of the rows whose mean prices are the unit; `sample_weight` when not given.

    Examples
    --------
    >>> X, prices = np.arange(4.0)[:, None], RowCosts(np.full(4, 3.0), np.ones(4))
    >>> parts = fold_priced_moments(X, [0, 1, 0, 1], prices, [0, 0, 1, 1], n_folds=2)
    >>> [part.weight for part in parts]
    [2.0, 2.0]
    """
    n = len(np.asarray(positive))
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    own = prices.relative(weight if unit is None else unit)
    by_miss, by_alarm = (
        fold_moments(X, positive, folds, n_folds, 2 * weight * part)
        for part in (own.miss, own.alarm)
    )
    place = np.zeros(n, np.intp) if folds is None else np.asarray(folds)
    totals = [float(weight[place == k].sum()) for k in range(n_folds)]
    return [PricedMoments(*parts) for parts in zip(by_miss, by_alarm, totals, strict=True)]


def merge_other_prices(parts: Sequence[PricedMoments]) -> list[PricedMoments]:
    """Return, for each part, the merge of all the others.

    Examples
    --------
    >>> X, prices = np.arange(4.0)[:, None], RowCosts(np.full(4, 3.0), np.ones(4))
    >>> parts = fold_priced_moments(X, [0, 1, 0, 1], prices, [0, 1, 1, 1], n_folds=2)
    >>> [part.weight for part in merge_other_prices(parts)]
    [3.0, 1.0]
    """
    by_miss, by_alarm = (
        merge_others([getattr(p, name) for p in parts]) for name in ("miss", "alarm")
    )
    totals = [sum(p.weight for j, p in enumerate(parts) if j != k) for k in range(len(parts))]
    return [PricedMoments(*own) for own in zip(by_miss, by_alarm, totals, strict=True)]


def priced_systems(
    moments: PricedMoments, noise_rates: Sequence[NoiseRateLike]
) -> list[DenoisedSystem]:
    """Denoise moments of priced rows at several rates; to be solved at a cost of one half.

    Raises
    ------
    ValueError
        When a rate is impossible for labels and prices.

    Examples
    --------
    The same price on all rows is one price:

    >>> from flipcost.core.solve import path_of_systems, solve
    >>> X, labels = np.array([[0.0], [1.0], [3.0], [4.0]]), [False, True, False, True]
    >>> prices = RowCosts(np.full(4, 80.0), np.full(4, 20.0))
    >>> systems = priced_systems(PricedMoments.from_rows(X, labels, prices), [0.1])
    >>> path_of_systems(systems, [0.5], [1.0], [0.1]).ravel().round(6)
    array([0.18217 , 0.139455])
    >>> solve(ClassMoments.from_rows(X, labels), cost=0.2, noise_rate=0.1).round(6)
    array([0.18217 , 0.139455])
    """
    whole = moments.miss + moments.alarm
    centre = whole.centre()
    noisy = [part.about(centre) for part in (moments.alarm, moments.miss)]
    for part in noisy:
        drop_constants(part, centre)
    spectra: list[tuple[Array, Array]] = []
    systems = []
    for rate in noise_rates:
        if rate_pair(rate) == (0.0, 0.0):
            plain = np.stack([noisy[0][0], noisy[1][1]])
            systems.append(DenoisedSystem(centre, plain, moments.weight, np.empty(0)))
            continue
        moments.check_possible(rate)
        spectra = spectra or [positive_shares(part) for part in noisy]
        unmix = unmixing_matrix(rate)
        clean = np.stack([np.tensordot(unmix[c], noisy[c], axes=1) for c in (0, 1)])
        (among, beyond), (share, excess) = (excess_of(one, rate) for one in spectra)
        second = np.stack([clean[0] + beyond, clean[1] - excess])
        both = np.concatenate([among, share])
        systems.append(DenoisedSystem(centre, second, moments.weight, both, unclipped=clean))
    return systems
