"""Cost-sensitive binary classification from labels that are partly wrong."""

from flipcost import core, datasets, exceptions, noise, theory
from flipcost._version import __version__
from flipcost.core.costs import Costs
from flipcost.core.moments import ClassMoments
from flipcost.estimators import UnevenMarginClassifier, UnevenMarginClassifierCV

__all__ = [
    "ClassMoments",
    "Costs",
    "UnevenMarginClassifier",
    "UnevenMarginClassifierCV",
    "__version__",
    "core",
    "datasets",
    "exceptions",
    "noise",
    "theory",
]
