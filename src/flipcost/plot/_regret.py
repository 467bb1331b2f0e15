"""How far each choice is from the best, whatever the noise rate is."""

from __future__ import annotations

import numpy as np

from flipcost.core.decision import minimax_regret
from flipcost.plot._common import pos_label_of, rates_up_to, take_axes
from flipcost.plot._noise_path import path_values, with_constants


class RegretDisplay:
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

    def __init__(self, rates, values, chosen):
        self.rates = rates
        self.values = values
        self.chosen = chosen

    def plot(self, ax=None, **kwargs):
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
        self.ax_ = take_axes(ax)
        self.figure_ = self.ax_.figure
        self.lines_ = {}
        for name, values in self.values.items():
            style = {"label": name, "linewidth": 3 if name == self.chosen else 1.5, **kwargs}
            (self.lines_[name],) = self.ax_.plot(self.rates, values, **style)
        self.ax_.set(xlabel="noise rate", ylabel="regret: cost above the best")
        self.ax_.legend(title=f"least worst regret: {self.chosen}")
        return self

    @classmethod
    def from_predictions(
        cls,
        y,
        predictions,
        *,
        cost,
        interval=(0.0, 0.45),
        sample_weight=None,
        pos_label=None,
        ax=None,
        **kwargs,
    ):
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

    @classmethod
    def from_estimator(cls, estimator, X, y, *, cost=None, pos_label=None, **kwargs):
        """Draw the regret of a fitted classifier and of both constants.

        Parameters
        ----------
        estimator : classifier
            Fitted. The interval of its rate bounds the picture when it has one.
        X : array-like of shape (n, d)
            Rows that it was not trained on.
        y : array-like of shape (n,)
            Noisy labels.
        cost : float or Costs, default=None
            Share of the cost that a false positive bears; the estimator's own when None.
        pos_label : label, default=None
            The positive class; the estimator's own when None.
        **kwargs : dict
            As in `from_predictions`.

        Returns
        -------
        RegretDisplay
        """
        rate = getattr(estimator, "noise_rate_", None)
        if rate is not None and np.ndim(rate) == 0:
            kwargs = {"interval": estimator.noise_rate_interval_, **kwargs}
        return cls.from_predictions(
            y,
            with_constants(estimator, X, y, pos_label),
            cost=estimator.cost if cost is None else cost,
            pos_label=pos_label_of(estimator, pos_label),
            **kwargs,
        )
