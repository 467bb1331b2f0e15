"""Classifiers in scikit-learn's form: validate, delegate to the core, store."""

from flipcost.estimators._threshold import NoiseAwareThresholdClassifier
from flipcost.estimators._uneven_margin import UnevenMarginClassifier, UnevenMarginClassifierCV
from flipcost.estimators.flipcost import FlipCostClassifier

__all__ = [
    "FlipCostClassifier",
    "NoiseAwareThresholdClassifier",
    "UnevenMarginClassifier",
    "UnevenMarginClassifierCV",
]
