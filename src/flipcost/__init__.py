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

# Where each of these is; a module is where it is itself.
_WHERE = {
    "ClassMoments": "flipcost.core.moments",
    "CostRange": "flipcost.core.costs",
    "CostResamplingClassifier": "flipcost.paper.resampling",
    "Costs": "flipcost.core.costs",
    "CrowdLabels": "flipcost.noise",
    "FlipCostClassifier": "flipcost.estimators",
    "ForwardLogisticClassifier": "flipcost.paper.forward",
    "KLIEPClassifier": "flipcost.paper.kliep",
    "LSPClassifier": "flipcost.paper.lspc",
    "LinkClassifier": "flipcost.paper.logistic",
    "NoiseAwareThresholdClassifier": "flipcost.estimators",
    "UnbiasedLogisticClassifier": "flipcost.paper.logistic",
    "UnevenMarginClassifier": "flipcost.estimators",
    "UnevenMarginClassifierCV": "flipcost.estimators",
    "WeightedLogisticClassifier": "flipcost.paper.logistic",
    "audit": "flipcost.audit",
    "core": "flipcost.core",
    "datasets": "flipcost.datasets",
    "exceptions": "flipcost.exceptions",
    "export": "flipcost.export",
    "judge": "flipcost.noise",
    "judge_difference": "flipcost.noise",
    "load": "flipcost.model",
    "metrics": "flipcost.metrics",
    "noise": "flipcost.noise",
    "plot": "flipcost.plot",
    "recheck": "flipcost.recheck",
    "save": "flipcost.model",
    "scale": "flipcost.scale",
    "theory": "flipcost.theory",
}
# Names of version 0.1 that still work.
_FORMERLY = {"PriceRange": "CostRange"}


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    name = _FORMERLY.get(name, name)
    if name not in _WHERE:
        msg = f"module 'flipcost' has no attribute {name!r}"
        raise AttributeError(msg)
    module = import_module(_WHERE[name])
    value = module if module.__name__ == f"flipcost.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
