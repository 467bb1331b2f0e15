"""Label errors: flipping labels on purpose, and estimating how many are wrong."""

from flipcost.core.noise import NoiseRate
from flipcost.noise._crowds import CrowdLabels, WorkerRates, rate_of_patterns
from flipcost.noise._judge import JudgedRows, judge, judge_difference
from flipcost.noise._rates import (
    flip_labels,
    rate_bounds,
    rate_by_likelihood,
    rate_by_range,
    rate_from_repeats,
    rate_from_trusted,
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
    "rate_of_patterns",
]
