"""What each score means under each rate that is left open, by what is known of the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from flipcost.core.calibration import Calibration, ScoreBins, calibrate
from flipcost.core.noise import rate_pair
from flipcost.core.noise_posterior import integrate_rates
from flipcost.core.rates import NoiseRate
from flipcost.estimators.flipcost.options import SOURCES, FitOptions
from flipcost.exceptions import FlipCostError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.noise_posterior import NoiseModel, PrevalencePrior
    from flipcost.estimators.flipcost.scored import ScoredRows

    Array = NDArray[np.float64]

# A share of positives this many standard errors off cannot come from the rate that was given.
_IMPOSSIBLE = 4.0


def calibrate_scores(rows: ScoredRows, options: FitOptions) -> tuple[Calibration, str]:
    """Return the calibration over the rates that are left open, and where the rate came from.

    Examples
    --------
    >>> from flipcost.estimators.flipcost.scored import ScoredRows
    >>> rng = np.random.default_rng(0)
    >>> scores, options = rng.normal(size=(1, 2000)), FitOptions(0.3, (0.1, 0.2), "symmetric", 0.95)
    >>> noisy = (rng.random(2000) < 1 / (1 + np.exp(-3 * scores[0]))) ^ (rng.random(2000) < 0.1)
    >>> calibration, source = calibrate_scores(
    ...     ScoredRows.from_scores(scores, noisy, None), options
    ... )
    >>> calibration.rates, source
    (array([[0.1, 0.2]]), 'given')
    """
    rate = options.told_rate
    if options.prevalence is not None and rate not in ("integrate", "minimax"):
        msg = (
            "`prevalence` counts where the noise rate is open; with `noise_rate` as given it "
            "would play no part. Give one of the two."
        )
        raise ValueError(msg)
    if isinstance(rate, str):
        _check_model(rows.bins[0], options.noise_model)
        fit = integrate_rates(rows.bins, options.noise_model, prevalence=options.prevalence)
        return fit, SOURCES[rate] if options.prevalence is None else _told_share(options.prevalence)
    known = _prior_of(rate)
    if known is not None:
        source = f"given with its interval: {rate.source}"
        return integrate_rates(rows.bins, known=known), source
    pair = rate_pair(rate)
    _check_possible(pair, rows.positive_share, rows.n_effective)
    return calibrate(rows.bins, [pair]), "given"


def _told_share(prevalence: PrevalencePrior) -> str:
    """Say where the rate came from, when the share of positives was told."""
    return (
        f"the prevalence that was given, {prevalence.low:.3g} to {prevalence.high:.3g}, and the "
        "calibration of out-of-fold scores"
    )


def _check_model(bins: ScoreBins, noise_model: NoiseModel) -> None:
    """Refuse a noise model that checked rows contradict: under it they cannot be."""
    sides = {"missed_positives": ("negative", bins.flips[0, 1]),
             "wrong_negatives": ("positive", bins.flips[1, 0])}  # fmt: skip
    side, wrong = sides.get(noise_model, ("", 0.0))
    if wrong > 0:
        msg = (
            f"`noise_model={noise_model!r}` leaves no labels of {side} rows wrong, but some that "
            "were checked are. Give 'auto'."
        )
        raise FlipCostError(msg)


def _prior_of(rate: Any) -> tuple[Array, Array] | None:
    """Return values and standard errors of rates that come with an interval, else None."""
    if not isinstance(rate, NoiseRate):
        return None
    width = np.subtract(rate.high, rate.low)
    if np.all(width <= 0):
        return None
    return np.asarray(rate.value), np.asarray(width / (2 * ndtri((1 + rate.level) / 2)))


def _check_possible(pair: tuple[float, float], share: float, n_rows: float) -> None:
    """Refuse a rate that the share of positive labels contradicts beyond chance."""
    slack = _IMPOSSIBLE * np.sqrt(0.25 / n_rows)
    rho_pos, rho_neg = pair
    if not rho_neg - slack <= share <= 1 - rho_pos + slack:
        msg = (
            f"`noise_rate` = ({rho_pos:g}, {rho_neg:g}) is impossible for these labels: it implies "
            f"a share of positive labels between {rho_neg:g} and {1 - rho_pos:g}, but the share is "
            f"{share:.4g}. Give a smaller rate, or one for each class as (rho_pos, rho_neg)."
        )
        raise ValueError(msg)
