"""Cost-sensitive binary classification from labels that are partly wrong."""

from flipcost import core, datasets, exceptions, metrics, noise, plot, recheck, scale, theory
from flipcost._persist import load, save
from flipcost._version import __version__
from flipcost.core.costs import Costs, PriceRange
from flipcost.core.moments import ClassMoments
from flipcost.estimators import (
    CostResamplingClassifier,
    FlipCostClassifier,
    ForwardLogisticClassifier,
    KLIEPClassifier,
    LinkClassifier,
    LSPClassifier,
    NoiseAwareThresholdClassifier,
    UnbiasedLogisticClassifier,
    UnevenMarginClassifier,
    UnevenMarginClassifierCV,
    WeightedLogisticClassifier,
)

__all__ = [
    "ClassMoments",
    "CostResamplingClassifier",
    "Costs",
    "FlipCostClassifier",
    "ForwardLogisticClassifier",
    "KLIEPClassifier",
    "LSPClassifier",
    "LinkClassifier",
    "NoiseAwareThresholdClassifier",
    "PriceRange",
    "UnbiasedLogisticClassifier",
    "UnevenMarginClassifier",
    "UnevenMarginClassifierCV",
    "WeightedLogisticClassifier",
    "__version__",
    "core",
    "datasets",
    "exceptions",
    "load",
    "metrics",
    "noise",
    "plot",
    "recheck",
    "save",
    "scale",
    "theory",
]
