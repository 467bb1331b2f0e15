"""Label errors: flipping labels on purpose, and estimating how many are wrong."""

from flipcost.core.rates import NoiseRate
from flipcost.noise._crowds import CrowdLabels, WorkerRates
from flipcost.noise._flip import flip_labels
from flipcost.noise._inferred import rate_bounds, rate_by_likelihood, rate_by_range
from flipcost.noise._judge import JudgedRows, judge, judge_difference
from flipcost.noise._repeated import (
    rate_from_repeats,
    rate_from_trusted,
    rate_of_differences,
    rate_of_errors,
    rate_of_patterns,
)

__all__ = [
    "CrowdLabels",
    "JudgedRows",
    "NoiseRate",
    "WorkerRates",
    "flip_labels",
    "judge",
    "judge_difference",
    "rate_bounds",
    "rate_by_likelihood",
    "rate_by_range",
    "rate_from_repeats",
    "rate_from_trusted",
    "rate_of_differences",
    "rate_of_errors",
    "rate_of_patterns",
]
