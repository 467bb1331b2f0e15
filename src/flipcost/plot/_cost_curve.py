"""Cost over all prices."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.confusion import ConfusionCounts, measure, possible_counts
from flipcost.core.cost_curves import confusions_at_costs
from flipcost.core.noise import NoiseRateLike
from flipcost.plot._common import (
    pos_label_of,
    positive_probability,
    read_positive,
    read_probability,
    take_axes,
)

_COSTS = np.linspace(0.01, 0.99, 99)


class CostCurveDisplay:
    """Mean cost of a row when a probability is cut at each cost, against both constants.

    Parameters
    ----------
    costs : ndarray of shape (n,)
        Shares of the cost that a false positive bears.
    values : ndarray of shape (n,)
        Mean cost of a row at each.
    constants : ndarray of shape (n,)
        The same for the better one of the two constant answers.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_, constant_line_ : matplotlib lines
        What was drawn.
    ax_, figure_ : matplotlib axes and figure
        Where.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from flipcost.plot import CostCurveDisplay
    >>> display = CostCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> float(display.values[24])
    0.0625
    """

    def __init__(
        self,
        costs: Array,
        values: Array,
        constants: Array,
        name: str | None = None,
    ) -> None:
        self.costs = costs
        self.values = values
        self.constants = constants
        self.name = name

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; new axes when None.
        name : str, default=None
            Name in the legend.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        self
        """
        self.ax_ = take_axes(ax)
        self.figure_ = self.ax_.figure
        (self.line_,) = self.ax_.plot(
            self.costs, self.values, **{"label": name or self.name or "classifier", **kwargs}
        )
        (self.constant_line_,) = self.ax_.plot(
            self.costs, self.constants, color="grey", linestyle=":", label="better constant"
        )
        self.ax_.set(xlabel="cost of a false positive, as a share", ylabel="mean cost of a row")
        self.ax_.set_ylim(bottom=0)
        self.ax_.legend()
        return self

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        y_prob: ArrayLike,
        *,
        noise_rate: NoiseRateLike = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of probabilities.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        y_prob : array-like of shape (n,)
            Probability of the positive class.
        noise_rate : float, pair of floats, or None, default=None
            Rate at which the labels were flipped; the costs shown are then those on clean labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        pos_label : label, default=None
            The positive class; the second in order when None.
        name : str, default=None
            Name in the legend.
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        CostCurveDisplay
        """
        positive = read_positive(y, pos_label)
        probability = read_probability(y_prob, len(positive))
        tables = confusions_at_costs(positive, probability, _COSTS, sample_weight)
        clean = possible_counts(tables, noise_rate)
        values = np.array(
            [float(measure(t, "cost", c)) for t, c in zip(clean, _COSTS, strict=True)]
        )
        total = ConfusionCounts.from_labels(positive, np.ones(len(positive), bool), sample_weight)
        share = possible_counts(total, noise_rate)[:, 1] / total.counts.sum()
        constants = np.minimum((1 - _COSTS) * share[1], _COSTS * share[0])
        return cls(_COSTS, values, constants, name).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        pos_label: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier on rows that it was not trained on.

        Parameters
        ----------
        estimator : classifier with `predict_proba`
            Fitted.
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels.
        pos_label : label, default=None
            The positive class; the estimator's own when None.
        name : str, default=None
            Name in the legend; that of the class when None.
        **kwargs : dict
            As in `from_predictions`.

        Returns
        -------
        CostCurveDisplay
        """
        probability = positive_probability(estimator, X, pos_label)
        return cls.from_predictions(
            y,
            probability,
            pos_label=pos_label_of(estimator, pos_label),
            name=name or type(estimator).__name__,
            **kwargs,
        )
