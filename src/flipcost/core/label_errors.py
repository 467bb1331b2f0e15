"""How many labels are wrong, at each level of supposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from flipcost.core.confusion import Interval
from flipcost.core.noise_posterior import RatePosterior
from flipcost.core.rates import NoiseRate

State: TypeAlias = Literal["clean", "noisy", "undecided", "no_signal", "small"]


@dataclass(frozen=True)
class LabelErrors:
    """How many labels are wrong: the estimate, and what it supposes.

    Attributes
    ----------
    state : {"clean", "noisy", "undecided", "no_signal", "small"}
        What can be said of the labels.
    share : Interval
        Share of all labels that are wrong. The interval holds if errors are random: every true
        positive is equally likely to be mislabelled, and every true negative. With checked rows it
        is what these leave, whatever errors follow.
    random_most : float
        The most that can be wrong if errors are random, whatever the curve of the labels.
    most : float
        The most that may be wrong if some errors are systematic.
    rates : pair of Interval
        Share of the true positives that is labelled wrong, and of the true negatives.
    n_checked : int
        Rows whose right label is known.
    is_given : bool
        Whether the rates were given, so that nothing was estimated.
    """

    state: State
    share: Interval
    random_most: float
    most: float
    rates: tuple[Interval, Interval]
    n_checked: int = 0
    is_given: bool = False


def label_errors(
    state: State,
    posterior: RatePosterior,
    bounds: NoiseRate,
    wrong_share: Interval,
    noisy_share: float,
    *,
    n_checked: int = 0,
    level: float = 0.95,
) -> LabelErrors:
    """Sum up how many labels are wrong, from the posterior over the rates and their bounds."""
    is_given = len(posterior.weight) == 1
    # The posterior without the doubt that errors may be systematic.
    plain = posterior if n_checked or is_given else posterior.if_random
    share = wrong_share if plain is posterior else plain.wrong_share(noisy_share, level)
    ends, mean = plain.interval(level), posterior.mean
    rates = [Interval(float(mean[k]), *ends[k]) for k in (0, 1)]
    most = wrong_share.high
    bound = most if n_checked or is_given else max(most_wrong(bounds, noisy_share), share.value)
    return LabelErrors(
        state, share, bound, max(most, share.high), (rates[0], rates[1]), n_checked, is_given
    )


def most_wrong(bounds: NoiseRate, noisy_share: float) -> float:
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
    return float(min(rho_neg, noisy_share) + min(rho_pos * noisy_share / kept, 1 - noisy_share))
