"""How far each choice is from the best, whatever the noise rate is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike
from flipcost.core.decision import minimax_regret
from flipcost.plot._common import rates_up_to
from flipcost.plot._noise_path import RateDisplay, path_values


class RegretDisplay(RateDisplay):
    """Regret of classifiers over noise rates: cost above that of the best of them.

    Parameters
    ----------
    rates : ndarray of shape (n,)
        Noise rates.
    values : dict of str to ndarray of shape (n,)
        Regret at each, by the name of the classifier.
    chosen : str
        The one whose largest regret is least.

    Attributes
    ----------
    lines_ : dict of str to matplotlib line
        What was drawn; the chosen one is thick.
    ax_, figure_ : matplotlib axes and figure
        Where.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from flipcost.plot import RegretDisplay
    >>> y = [1, 1, 1, 0, 0, 0]
    >>> calls = {"rule": [1, 1, 0, 0, 0, 1], "always 1": [1] * 6}
    >>> display = RegretDisplay.from_predictions(y, calls, cost=0.5)
    >>> display.chosen, float(display.values["rule"].max())
    ('rule', 0.0)
    """

    _marked = ("interval",)

    def __init__(self, rates: Array, values: dict[str, Array], chosen: str) -> None:
        self.rates = rates
        self.values = values
        self.chosen = chosen

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; new axes when None.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        self
        """
        names = {"xlabel": "noise rate", "ylabel": "regret: cost above the best"}
        self._draw(ax, names, kwargs, thick=self.chosen)
        self.ax_.legend(title=f"least worst regret: {self.chosen}")
        return self

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        predictions: dict[str, ArrayLike],
        *,
        cost: CostLike,
        interval: tuple[float, float] = (0.0, 0.45),
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the regret of predictions.

        Parameters
        ----------
        y : array-like of shape (n,)
            Noisy labels.
        predictions : dict of str to array-like of shape (n,)
            Predicted labels, out of fold, by the names of the classifiers.
        cost : float or Costs
            Share of the cost that a false positive bears, or the prices.
        interval : pair of floats, default=(0, 0.45)
            The noise rates that are thought possible.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        pos_label : label, default=None
            The positive class; the second in order when None.
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        RegretDisplay
        """
        low, high = interval
        rates = low + (high - low) * rates_up_to(1.0)
        costs = path_values(y, predictions, cost, rates, sample_weight, pos_label)
        found = minimax_regret(np.column_stack(list(costs.values())))
        values = {name: found.regret[:, j] for j, name in enumerate(costs)}
        return cls(rates, values, list(costs)[found.chosen]).plot(ax, **kwargs)
