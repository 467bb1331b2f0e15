"""Classifiers in scikit-learn's form: validate, delegate to the core, store."""

from flipcost.estimators._forward import ForwardLogisticClassifier
from flipcost.estimators._kliep import KLIEPClassifier
from flipcost.estimators._link import LinkClassifier
from flipcost.estimators._logistic import UnbiasedLogisticClassifier, WeightedLogisticClassifier
from flipcost.estimators._lsp import LSPClassifier
from flipcost.estimators._resampling import CostResamplingClassifier
from flipcost.estimators._threshold import NoiseAwareThresholdClassifier
from flipcost.estimators._uneven_margin import UnevenMarginClassifier
from flipcost.estimators._uneven_margin_cv import UnevenMarginClassifierCV
from flipcost.estimators.flipcost import FlipCostClassifier

__all__ = [
    "CostResamplingClassifier",
    "FlipCostClassifier",
    "ForwardLogisticClassifier",
    "KLIEPClassifier",
    "LSPClassifier",
    "LinkClassifier",
    "NoiseAwareThresholdClassifier",
    "UnbiasedLogisticClassifier",
    "UnevenMarginClassifier",
    "UnevenMarginClassifierCV",
    "WeightedLogisticClassifier",
]
