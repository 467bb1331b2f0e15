"""Classifiers in scikit-learn's form: validate, delegate to the core, store."""

from flipcost.estimators._threshold import NoiseAwareThresholdClassifier
from flipcost.estimators._uneven_margin import UnevenMarginClassifier
from flipcost.estimators._uneven_margin_cv import UnevenMarginClassifierCV
from flipcost.estimators.flipcost import FlipCostClassifier

__all__ = [
    "FlipCostClassifier",
    "NoiseAwareThresholdClassifier",
    "UnevenMarginClassifier",
    "UnevenMarginClassifierCV",
]
