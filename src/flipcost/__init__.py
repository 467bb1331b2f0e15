"""Cost-sensitive binary classification from labels that are partly wrong.

Names are imported when they are first asked for, so that `import flipcost` and the help of the
command line wait for nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from flipcost._version import __version__

if TYPE_CHECKING:
    from flipcost import (
        audit,
        core,
        datasets,
        exceptions,
        export,
        metrics,
        noise,
        plot,
        recheck,
        scale,
        theory,
    )
    from flipcost.core.costs import CostRange, Costs
    from flipcost.core.moments import ClassMoments
    from flipcost.estimators import (
        FlipCostClassifier,
        NoiseAwareThresholdClassifier,
        UnevenMarginClassifier,
        UnevenMarginClassifierCV,
    )
    from flipcost.model import load, save
    from flipcost.noise import CrowdLabels, judge, judge_difference
    from flipcost.paper.forward import ForwardLogisticClassifier
    from flipcost.paper.kliep import KLIEPClassifier
    from flipcost.paper.logistic import (
        LinkClassifier,
        UnbiasedLogisticClassifier,
        WeightedLogisticClassifier,
    )
    from flipcost.paper.lspc import LSPClassifier
    from flipcost.paper.resampling import CostResamplingClassifier

__all__ = [
    "ClassMoments",
    "CostRange",
    "CostResamplingClassifier",
    "Costs",
    "CrowdLabels",
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
    "__version__",
    "audit",
    "core",
    "datasets",
    "exceptions",
    "export",
    "judge",
    "judge_difference",
    "load",
    "metrics",
    "noise",
    "plot",
    "recheck",
    "save",
    "scale",
    "theory",
]

# Where each class and function is; a module is where it is itself.
_WHERE = {
    name: f"flipcost.{module}"
    for module, names in {
        "core.moments": ("ClassMoments",),
        "core.costs": ("CostRange", "Costs"),
        "estimators": (
            "FlipCostClassifier",
            "NoiseAwareThresholdClassifier",
            "UnevenMarginClassifier",
            "UnevenMarginClassifierCV",
        ),
        "model": ("load", "save"),
        "noise": ("CrowdLabels", "judge", "judge_difference"),
        "paper.forward": ("ForwardLogisticClassifier",),
        "paper.kliep": ("KLIEPClassifier",),
        "paper.logistic": (
            "LinkClassifier",
            "UnbiasedLogisticClassifier",
            "WeightedLogisticClassifier",
        ),
        "paper.lspc": ("LSPClassifier",),
        "paper.resampling": ("CostResamplingClassifier",),
    }.items()
    for name in names
}
# Names of version 0.1 that still work.
_FORMERLY = {"PriceRange": "CostRange"}


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    name = _FORMERLY.get(name, name)
    if name not in __all__:
        msg = f"module 'flipcost' has no attribute {name!r}"
        raise AttributeError(msg)
    if name in _WHERE:
        value = getattr(import_module(_WHERE[name]), name)
    else:
        value = import_module(f"flipcost.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
