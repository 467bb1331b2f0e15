"""Measures of classifiers and probabilities, as observed and as denoised, and scorers."""

from flipcost.core.confusion import Interval
from flipcost.metrics._confusion import (
    am_score,
    am_scorer,
    cost_scorer,
    denoised_confusion,
    denoised_cost,
    f_score,
    f_scorer,
    weighted_cost,
)
from flipcost.metrics._eta import eta_scores

__all__ = [
    "Interval",
    "am_score",
    "am_scorer",
    "cost_scorer",
    "denoised_confusion",
    "denoised_cost",
    "eta_scores",
    "f_score",
    "f_scorer",
    "weighted_cost",
]
