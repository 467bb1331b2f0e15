"""Label noise: flipping labels on purpose, and estimating at which rate they were flipped."""

from flipcost.core.rates import NoiseRate
from flipcost.noise._flip import flip_labels
from flipcost.noise._inferred import rate_bounds, rate_by_likelihood, rate_by_range
from flipcost.noise._repeated import (
    rate_from_repeats,
    rate_from_trusted,
    rate_of_differences,
    rate_of_errors,
    rate_of_patterns,
)

__all__ = [
    "NoiseRate",
    "flip_labels",
    "rate_bounds",
    "rate_by_likelihood",
    "rate_by_range",
    "rate_from_repeats",
    "rate_from_trusted",
    "rate_of_differences",
    "rate_of_errors",
    "rate_of_patterns",
]
