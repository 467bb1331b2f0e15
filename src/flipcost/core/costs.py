r"""What mistakes cost.

One number decides: ``cost`` (:math:`\alpha` in the paper), the share of the misclassification cost
that a false positive bears. A false negative bears ``1 - cost``, and a row is best called positive
when the probability of the positive class exceeds ``cost``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

CostLike: TypeAlias = "float | Costs"


@dataclass(frozen=True)
class Costs:
    """The four prices of a decision, reduced to the one number that matters.

    Parameters
    ----------
    fn : float
        Price of a false negative (a missed positive).
    fp : float
        Price of a false positive (a false alarm).
    tp, tn : float, default=0
        Prices of correct decisions, when these are not free.

    Attributes
    ----------
    alpha : float
        ``(fp - tn) / ((fn - tp) + (fp - tn))``, in (0, 1): the threshold on the probability of the
        positive class at which calling a row positive starts to pay.

    Examples
    --------
    A missed fraud costs four times a needless call:

    >>> Costs(fn=4, fp=1).alpha
    0.2
    """

    fn: float
    fp: float
    tp: float = 0.0
    tn: float = 0.0

    def __post_init__(self) -> None:
        prices = (self.fn, self.fp, self.tp, self.tn)
        if not all(np.isfinite(price) for price in prices):
            msg = f"The four prices must be finite numbers; got {self}."
            raise ValueError(msg)
        if not (self.fn > self.tp and self.fp > self.tn):
            msg = (
                "A mistake must cost more than the correct decision on the same row: `fn` > `tp` "
                f"and `fp` > `tn`; got {self}. Otherwise one constant decision is always best."
            )
            raise ValueError(msg)

    @property
    def alpha(self) -> float:
        """Share of the cost that a false positive bears."""
        extra_fn, extra_fp = self.fn - self.tp, self.fp - self.tn
        return extra_fp / (extra_fn + extra_fp)


def cost_share(cost: CostLike) -> float:
    """Return a cost as a checked number in (0, 1).

    Examples
    --------
    >>> cost_share(0.25), cost_share(Costs(fn=3, fp=1))
    (0.25, 0.25)
    """
    share = cost.alpha if isinstance(cost, Costs) else float(cost)
    if not 0 < share < 1:
        msg = (
            f"`cost` must lie in (0, 1); got {share:g}. It is the share of the cost that a false "
            "positive bears; give prices as Costs(fn=..., fp=...) to have it computed."
        )
        raise ValueError(msg)
    return share


def margin_value(margin: float) -> float:
    """Return a margin as a checked positive number.

    Examples
    --------
    >>> margin_value(2)
    2.0
    """
    value = float(margin)
    if not (value > 0 and np.isfinite(value)):
        msg = f"`margin` must be a positive number; got {value:g}. Use 1 for an even margin."
        raise ValueError(msg)
    return value
