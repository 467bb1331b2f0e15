"""How many labels are wrong at each level of supposition, which, and how many change a decision.

Errors that follow the columns leave no trace in a table: nothing in it bounds them. But a decision
can be asked how many it survives. Spread evenly over the rows of a label, further errors change the
difference of two answers' costs in a straight line, so where it crosses nothing is a division.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from flipcost.core.arrays import Array, Flags, unit_weights
from flipcost.core.confusion import Interval
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior
from flipcost.core.noise import NoiseRate, clean_eta, noisy_eta

# Rates that weigh less than this share of the heaviest change no digit.
_NO_WEIGHT = 1e-15
_BLOCK_ROWS = 16_384  # rows at a time, for the cache

State: TypeAlias = Literal["clean", "noisy", "undecided", "no_signal", "small"]


@dataclass(frozen=True)
class LabelErrors:
    """How many labels are wrong: the estimate, and what it supposes.

    Attributes
    ----------
    state : {"clean", "noisy", "undecided", "no_signal", "small"}
        What is known about the labels.
    share : Interval
        Share of all labels that are wrong. The interval holds if errors are random: every true
        positive is equally likely to be mislabelled, and every true negative. With checked rows it
        is what these leave, whatever errors follow.
    most : float
        The most that may be wrong if some errors are systematic.
    rates : pair of Interval
        Share of the true positives that is labelled wrong, and of the true negatives.
    n_checked : int
        Rows whose right label is known.
    n_clean : int
        Rows of another table whose labels are right.
    is_given : bool
        Whether the rates were given, so that nothing was estimated.
    prevalence : Interval or None
        Share of rows that are truly positive, under what `share` supposes; None where label errors
        cannot be estimated.
    """

    state: State
    share: Interval
    most: float
    rates: tuple[Interval, Interval]
    n_checked: int = 0
    n_clean: int = 0
    is_given: bool = False
    prevalence: Interval | None = None


def most_wrong(bounds: NoiseRate, label_share: float) -> float:
    """Return the largest share of wrong labels that bounds of both rates leave.

    Examples
    --------
    >>> bounds = NoiseRate((0.1, 0.01), (0.0, 0.0), (0.2, 0.02), "", 0.95)
    >>> round(most_wrong(bounds, 0.4), 6)
    0.12
    """
    rho_pos, rho_neg = np.ravel(bounds.high)
    # Of positive labels at most what wrong negatives give, of negative ones what missed ones do.
    kept = max(1 - rho_pos, 1e-9)
    return float(min(rho_neg, label_share) + min(rho_pos * label_share / kept, 1 - label_share))


def probability_wrong(
    positive: ArrayLike, probability: ArrayLike, posterior: RatePosterior
) -> Array:
    """Return the probability that each label is wrong, given its row.

    Parameters
    ----------
    positive : array-like of bool, shape (n,)
        Which labels are positive, as observed.
    probability : array-like of shape (n,)
        Out-of-fold probability that the clean label is positive.
    posterior : RatePosterior
        Over the noise rates.

    Returns
    -------
    ndarray of shape (n,)

    Notes
    -----
    By Bayes' rule, with the noisy probability held fixed while the rate varies: it is what the
    labels determine, whatever the rate.

    Examples
    --------
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> probability_wrong([True, True, False], [0.9, 0.05, 0.5], known).round(3)
    array([0.027, 0.826, 0.2  ])
    """
    labels = np.asarray(positive, dtype=bool)
    observed = noisy_eta(probability, tuple(posterior.mean))
    counts = np.flatnonzero(posterior.weight > _NO_WEIGHT * posterior.weight.max())
    given = [(*posterior.rates[k].tolist(), float(posterior.weight[k])) for k in counts]
    wrong = np.empty(len(labels))
    for start in range(0, len(labels), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        wrong[rows] = _wrong_given(labels[rows], observed[rows], given)
    return wrong


def _wrong_given(
    labels: NDArray[np.bool_], observed: Array, given: Sequence[tuple[float, float, float]]
) -> Array:
    """Average the probability over pairs of rates with their weights."""
    wrong = np.zeros(len(labels))
    for rho_pos, rho_neg, share in given:
        clean = clean_eta(observed, (rho_pos, rho_neg))
        noisy = rho_neg + (1 - rho_pos - rho_neg) * clean
        flipped = np.where(labels, rho_neg * (1 - clean), rho_pos * clean)
        seen = np.where(labels, noisy, 1 - noisy)
        wrong += share * np.divide(flipped, seen, out=np.zeros_like(flipped), where=seen > 0)
    return wrong


@dataclass(frozen=True)
class BreakEven:
    """Shares of wrong labels, beyond random errors, at which another answer would cost less.

    Attributes
    ----------
    missed_positives : float or None
        Share of the rows labelled negative that would have to be positive; None where no share
        changes the decision.
    wrong_positives : float or None
        Share of the rows labelled positive that would have to be negative, likewise.
    n_checks : int or None
        Rows to check at random to tell, at one error in twenty either way, whether it is so; None
        where nothing changes the decision.
    """

    missed_positives: float | None
    wrong_positives: float | None
    n_checks: int | None


def break_even_errors(
    positive: ArrayLike,
    flagged: Mapping[str, Flags],
    paid: Mapping[str, float],
    chosen: str,
    costs: RowCosts,
    wrong: tuple[float, float],
    sample_weight: Array | None = None,
) -> BreakEven:
    """Return how many systematic errors it takes until another answer costs less than the chosen.

    `flagged` are the rows that each answer flags, `paid` what it is estimated to cost, and `wrong`
    the estimated shares of rows labelled negative, and positive, that are labelled wrong.
    """
    labels = np.asarray(positive, dtype=bool)
    weight = unit_weights(sample_weight, len(labels))
    share = np.array([weight[~labels].sum(), weight[labels].sum()]) / weight.sum()
    rise = {name: _rise(labels, flags, costs, weight) for name, flags in flagged.items()}
    found: list[float | None] = []
    checks = 0.0
    for k in (0, 1):
        crossings = [1.0]
        for name, slope in rise.items():
            fall = rise[chosen][k] - slope[k]
            if name != chosen and fall > 0:
                crossings.append(max(paid[name] - paid[chosen], 0.0) / fall)
        least, room = min(crossings), 1 - wrong[k]
        found.append(least if least < room else None)
        if least < room:
            checks = max(checks, _rows_to_tell(wrong[k], wrong[k] + least) / max(share[k], 1e-9))
    return BreakEven(found[0], found[1], int(np.ceil(min(checks, 1e9))) or None)


def _rise(labels: Flags, flagged: Flags, costs: RowCosts, weight: Array) -> tuple[float, float]:
    """Return what a row costs more if all labels of one kind are wrong: negatives, positives."""
    turned = np.where(flagged, -costs.alarm, costs.miss) * np.where(labels, -weight, weight)
    total = weight.sum()
    return float(turned[~labels].sum() / total), float(turned[labels].sum() / total)


def _rows_to_tell(one: float, other: float) -> float:
    """Return how many rows distinguish two shares, at one error in twenty either way."""
    gap, far = other - one, float(ndtri(0.95))
    if gap <= 0:
        return np.inf
    spread = far * (np.sqrt(one * (1 - one)) + np.sqrt(other * (1 - other)))
    # As many as rule the other share out when none is found wrong, at least.
    return float(max((spread / gap) ** 2, np.log(0.05) / np.log1p(-min(other, 1 - 1e-9))))
