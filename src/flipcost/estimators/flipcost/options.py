"""What a fit is asked: cost, noise and level, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flipcost.core.feasible import tells_nothing
from flipcost.core.rates import NoiseRate

if TYPE_CHECKING:
    from flipcost.core.noise_posterior import NoiseModel, PrevalencePrior

# What may be said in place of a rate, and where the rate then comes from.
SOURCES = {
    "integrate": "integrated out: posterior from the calibration of out-of-fold scores",
    "minimax": "minimax regret over the rates that the posterior leaves plausible",
}


@dataclass(frozen=True)
class FitOptions:
    """Parameters of the classifier that the steps need, checked.

    Attributes
    ----------
    cost : float
        Share of the cost that a false positive bears; where prices differ by row, that of their
        means, which nothing is decided by.
    noise_rate, noise_model, level
        As in `FlipCostClassifier`.
    unit : float
        What a cost of 1, as a share, is in the user's money; 1 when the cost was given as a share.
        Of mean prices where they differ by row: costs are counted in money then.
    by_row : bool
        Whether prices differ by row.
    prevalence : PrevalencePrior or None
        What is known of the share of positives.
    """

    cost: float
    noise_rate: Any
    noise_model: Any
    level: float
    unit: float = 1.0
    by_row: bool = False
    prevalence: PrevalencePrior | None = None

    @property
    def told_rate(self) -> Any:
        """The rate that was given; "integrate" where it is an estimate that tells nothing."""
        rate = self.noise_rate
        return "integrate" if isinstance(rate, NoiseRate) and tells_nothing(rate) else rate

    @property
    def model_in_doubt(self) -> NoiseModel | None:
        """The noise model whose rates were inferred, or None when they were given."""
        rate = self.told_rate
        inferred = isinstance(rate, str) and rate in ("integrate", "minimax")
        return self.noise_model if inferred else None
