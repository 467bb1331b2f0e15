"""The paper whole: its theory, its methods with their own mathematics, its tables.

Tripathi and Hemachandra, "Cost Sensitive Learning in the Presence of Symmetric Label Noise", PAKDD
2019, with its supplement. Scheme 1, the closed form, is the one method of the paper on which the
product rests too: it is `flipcost.UnevenMarginClassifier`.

- `resampling`: scheme 2, Algorithm (eta~, alpha)
- `logistic`: probabilities by link functions; the baselines MUB and S-W0-1
- `forward`: the noise rate by likelihood in a logistic model
- `lspc`: least-squares probabilities
- `kliep`: probabilities from density ratios
- `losses`, `kernels`: what these are made of
- `theory`: every statement, printed and corrected, computed exactly
- `experiments`: the 23 tables regenerated

Names are imported when they are first asked for.
"""

from importlib import import_module
from typing import Any

_WHERE = {
    "CostResamplingClassifier": "resampling",
    "ForwardLogisticClassifier": "forward",
    "KLIEPClassifier": "kliep",
    "LSPClassifier": "lspc",
    "LinkClassifier": "logistic",
    "Reproduction": "experiments",
    "UnbiasedLogisticClassifier": "logistic",
    "WeightedLogisticClassifier": "logistic",
    "reproduce": "experiments",
}

__all__ = sorted(_WHERE)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    if name not in _WHERE:
        msg = f"module 'flipcost.paper' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"flipcost.paper.{_WHERE[name]}"), name)
