r"""Label flips acting on labels, probabilities, thresholds and counts, and their inverses.

Conventions
-----------
A noise rate is ``None`` (labels are taken as they are), one number in [0, 0.5) for symmetric
noise, or a pair ``(rho_pos, rho_neg)`` with ``rho_pos + rho_neg < 1``, where

.. math::

    \rho_+ = P(\tilde y = -1 \mid y = +1), \qquad \rho_- = P(\tilde y = +1 \mid y = -1).

Everything follows from one affine map: the noisy probability of the positive class is
:math:`\tilde\eta = \rho_- + (1 - \rho_+ - \rho_-)\,\eta`. Class axes have the negative class first.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array, Flags


class Estimated(Protocol):
    """Whatever holds a rate as its value, such as `flipcost.core.rates.NoiseRate`."""

    @property
    def value(self) -> float | tuple[float, float]:
        """One rate, or a pair."""


NoiseRateLike: TypeAlias = "float | tuple[float, float] | Estimated | None"


def _hint(rates: Array) -> str:
    """Return what was meant by rates that look like percentages, as a sentence, or nothing."""
    if np.all(rates >= 0) and 1 <= np.max(rates) <= 100 and np.sum(rates) < 100:
        meant = ", ".join(f"{rate / 100:g}" for rate in np.ravel(rates))
        shown = f"({meant})" if rates.ndim else meant
        return f"Rates are shares, not per cent: did you mean {shown}? "
    return ""


def rate_pair(noise_rate: NoiseRateLike) -> tuple[float, float]:
    """Return any noise rate as a checked pair ``(rho_pos, rho_neg)``.

    Parameters
    ----------
    noise_rate : float, pair of floats, NoiseRate or None
        None is no noise; a number is symmetric noise; a pair is class-conditional noise. Of an
        estimate, such as a `NoiseRate`, the ``value`` is taken.

    Returns
    -------
    tuple of float
        ``(rho_pos, rho_neg)``.

    Examples
    --------
    >>> rate_pair(0.2), rate_pair((0.3, 0.1)), rate_pair(None)
    ((0.2, 0.2), (0.3, 0.1), (0.0, 0.0))
    """
    if noise_rate is None:
        return 0.0, 0.0
    rates = np.asarray(getattr(noise_rate, "value", noise_rate), dtype=float)
    if rates.shape not in ((), (2,)):
        msg = (
            "`noise_rate` must be None, one number, or a pair (rho_pos, rho_neg); "
            f"got an array of shape {rates.shape}. Give a single rate, or one for each class."
        )
        raise ValueError(msg)
    if rates.ndim == 0:
        if not 0 <= rates < 0.5:
            msg = (
                f"`noise_rate` must lie in [0, 0.5); got {float(rates):g}. {_hint(rates)}At one "
                "half the labels say nothing about the classes; above it they say the opposite: "
                "swap the labels."
            )
            raise ValueError(msg)
        return float(rates), float(rates)
    rho_pos, rho_neg = float(rates[0]), float(rates[1])
    if not (rho_pos >= 0 and rho_neg >= 0 and rho_pos + rho_neg < 1):
        msg = (
            "`noise_rate` as a pair (rho_pos, rho_neg) must be non-negative with a sum below 1; "
            f"got ({rho_pos:g}, {rho_neg:g}). {_hint(rates)}At a sum of one the labels say nothing "
            "about the classes; above it they say the opposite: swap the labels."
        )
        raise ValueError(msg)
    return rho_pos, rho_neg


def transition_matrix(noise_rate: NoiseRateLike) -> Array:
    """Return the row-stochastic matrix ``T[clean, noisy]``, negative class first.

    Examples
    --------
    >>> transition_matrix((0.3, 0.1))
    array([[0.9, 0.1],
           [0.3, 0.7]])
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    return np.array([[1 - rho_neg, rho_neg], [rho_pos, 1 - rho_pos]])


def unmixing_matrix(noise_rate: NoiseRateLike) -> Array:
    r"""Return ``U`` with ``clean = U @ noisy`` for any quantity that adds up over rows of a class.

    Flips act on class totals by the transpose of the transition matrix, so
    :math:`U = (T^\top)^{-1}`: the two-by-two inversion behind every denoised moment and count.

    Examples
    --------
    >>> clean = np.array([60.0, 40.0])
    >>> noisy = transition_matrix((0.3, 0.1)).T @ clean
    >>> unmixing_matrix((0.3, 0.1)) @ noisy
    array([60., 40.])
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    kept = 1 - rho_pos - rho_neg
    return np.array([[1 - rho_pos, -rho_pos], [-rho_neg, 1 - rho_neg]]) / kept


def unmixing_matrices(rates: ArrayLike) -> Array:
    """Return the `unmixing_matrix` of each pair of rates, which are not checked.

    Parameters
    ----------
    rates : array-like of shape (R, 2)
        Pairs ``(rho_pos, rho_neg)``.

    Examples
    --------
    >>> unmixing_matrices([(0.0, 0.0), (0.3, 0.1)])[1].round(3)
    array([[ 1.167, -0.5  ],
           [-0.167,  1.5  ]])
    """
    pairs = np.asarray(rates, dtype=float)
    rho_pos, rho_neg = pairs[:, 0], pairs[:, 1]
    rows = np.array([[1 - rho_pos, -rho_pos], [-rho_neg, 1 - rho_neg]]) / (1 - rho_pos - rho_neg)
    return np.moveaxis(rows, -1, 0)


def noisy_eta(eta: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return the probability of a positive noisy label, given that of a positive clean one.

    Examples
    --------
    >>> noisy_eta([0.0, 0.5, 1.0], 0.2)
    array([0.2, 0.5, 0.8])
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    return np.asarray(rho_neg + (1 - rho_pos - rho_neg) * np.asarray(eta, dtype=float))


def clean_eta(noisy: ArrayLike, noise_rate: NoiseRateLike, *, clip: bool = True) -> Array:
    """Return the probability of a positive clean label, given that of a positive noisy one.

    Parameters
    ----------
    noisy : array-like
        Probabilities of the positive noisy label.
    noise_rate : float, pair of floats, or None
        The noise rate.
    clip : bool, default=True
        Estimated noisy probabilities can fall outside ``[rho_neg, 1 - rho_pos]``, where no clean
        probability maps to. Clip the result to [0, 1] there.

    Examples
    --------
    >>> clean_eta([0.1, 0.5, 0.8], 0.2)
    array([0. , 0.5, 1. ])
    """
    rho_pos, rho_neg = rate_pair(noise_rate)
    clean = (np.asarray(noisy, dtype=float) - rho_neg) / (1 - rho_pos - rho_neg)
    return np.clip(clean, 0.0, 1.0) if clip else np.asarray(clean)


def noisy_threshold(threshold: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return where the noisy probability stands when the clean one stands at ``threshold``.

    To honour a cost on clean labels, threshold the *noisy* probability here, not at the cost.

    Examples
    --------
    >>> float(noisy_threshold(0.2, 0.4))
    0.44
    """
    return noisy_eta(threshold, noise_rate)


def clean_threshold(threshold: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return the clean threshold that a threshold on the noisy probability amounts to, unclipped.

    A result outside [0, 1] means that the threshold makes every row positive (below 0) or
    negative (above 1).

    Examples
    --------
    >>> clean_threshold([0.44, 0.25], 0.4).round(6)
    array([ 0.2 , -0.75])
    """
    return clean_eta(threshold, noise_rate, clip=False)


def noisy_marginal(marginal: ArrayLike, noise_rate: NoiseRateLike) -> Array:
    """Return the share of positive noisy labels, given that of positive clean ones.

    Examples
    --------
    >>> float(noisy_marginal(0.3, 0.2))
    0.38
    """
    return noisy_eta(marginal, noise_rate)


def clean_marginal(marginal: ArrayLike, noise_rate: NoiseRateLike, *, clip: bool = True) -> Array:
    """Return the share of positive clean labels, given that of positive noisy ones.

    Examples
    --------
    >>> round(float(clean_marginal(0.38, 0.2)), 12)
    0.3
    """
    return clean_eta(marginal, noise_rate, clip=clip)


def flip(positive: ArrayLike, noise_rate: NoiseRateLike, rng: np.random.Generator) -> Flags:
    """Flip each boolean label on its own with the probability of its class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kept = flip(np.ones(10_000, dtype=bool), (0.3, 0.1), rng)
    >>> print(round(kept.mean(), 2))
    0.7
    """
    labels = np.asarray(positive, dtype=bool)
    rho_pos, rho_neg = rate_pair(noise_rate)
    flipped = rng.random(labels.shape) < np.where(labels, rho_pos, rho_neg)
    return np.asarray(labels ^ flipped)
