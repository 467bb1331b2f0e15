"""The decision boundary in two dimensions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import inspection

from flipcost._validation import positive_index, read_two_labels
from flipcost.core.costs import CostLike, cost_share
from flipcost.plot._curves import pos_label_of


class DecisionBoundaryDisplay(inspection.DecisionBoundaryDisplay):
    """Probability of the clean label over two features, with the boundary at the cost.

    scikit-learn's display of the same name, with the line where a row starts to be flagged.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n, n)
        Values of the two features.
    response : ndarray of shape (n, n)
        Probability of the positive class at each pair of them.
    xlabel, ylabel : str, default=None
        Names of the features.

    Attributes
    ----------
    surface_, boundary_ : matplotlib contour sets
        What was drawn; no boundary where all probabilities are on one side of the cost.
    ax_, figure_ : matplotlib axes and figure
        Where.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import flipcost as fc
    >>> data = fc.datasets.make_syn2d(200, random_state=0)
    >>> model = fc.UnevenMarginClassifier(cost=0.3).fit(data.data, data.target)
    >>> display = fc.plot.DecisionBoundaryDisplay.from_estimator(model, data.data, data.target)
    >>> display.response.shape
    (150, 150)
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        cost: CostLike | None = None,
        pos_label: Any = None,
        grid_resolution: int = 150,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the boundary of a classifier of two features, and the rows.

        Parameters
        ----------
        estimator : classifier with `predict_proba`
            Fitted on two features.
        X : array-like of shape (n, 2)
            Rows: they set the frame, and are drawn.
        y : array-like of shape (n,), default=None
            Labels, for the colours of the rows.
        cost : float, default=None
            Share of the cost that a false positive bears; the estimator's own when None.
        pos_label : label, default=None
            The positive class; the estimator's own when None.
        grid_resolution : int, default=150
            Points along each axis of the grid.
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs : dict
            Passed to scikit-learn's display and matplotlib's ``contourf``.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        label, rows = pos_label_of(estimator, pos_label), np.asarray(X, dtype=float)
        options = {"levels": np.linspace(0, 1, 11), "cmap": "RdBu_r", "alpha": 0.6, **kwargs}
        display = super().from_estimator(
            estimator,
            X,
            grid_resolution=grid_resolution,
            eps=0.05 * np.ptp(rows, axis=0).max(),
            response_method="predict_proba",
            class_of_interest=estimator.classes_[positive_index(estimator.classes_, label)],
            ax=ax,
            **options,
        )
        share, eta = cost_share(estimator.cost if cost is None else cost), display.response
        display.boundary_ = None
        if eta.min() < share < eta.max():
            display.boundary_ = display.ax_.contour(
                display.xx0, display.xx1, eta, levels=[share], colors="black"
            )
        colours = None if y is None else np.where(read_two_labels(y, label)[2], "C3", "C0")
        display.ax_.scatter(*rows.T, c=colours, s=8, edgecolors="none", alpha=0.7)
        return display
