"""The decision boundary in two dimensions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.costs import CostLike, cost_share
from flipcost.plot._curves import pos_label_of, positive_probability, read_positive, take_axes


class DecisionBoundaryDisplay:
    """Probability of the clean label over two features, with the boundary at the cost.

    Parameters
    ----------
    first, second : ndarray of shape (n,) and (m,)
        Values of the two features.
    probability : ndarray of shape (m, n)
        Probability of the positive class at each pair of them.
    threshold : float
        Where a row starts to be flagged: the cost.

    Attributes
    ----------
    surface_, boundary_ : matplotlib contour sets
        What was drawn.
    ax_, figure_ : matplotlib axes and figure
        Where.

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from flipcost.plot import DecisionBoundaryDisplay
    >>> grid = np.linspace(0, 1, 5)
    >>> eta = np.add.outer(grid, grid) / 2
    >>> DecisionBoundaryDisplay.from_predictions(grid, grid, eta, cost=0.3).threshold
    0.3
    """

    def __init__(
        self,
        first: Array,
        second: Array,
        probability: Array,
        threshold: float,
    ) -> None:
        self.first = first
        self.second = second
        self.probability = probability
        self.threshold = threshold

    def plot(
        self,
        ax: Any = None,
        *,
        names: tuple[str, str] = ("first feature", "second feature"),
        **kwargs: Any,
    ) -> Self:
        """Draw the probability and the boundary.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; new axes when None.
        names : pair of str
            Names of the features.
        **kwargs : dict
            Passed to matplotlib's ``contourf``.

        Returns
        -------
        self
        """
        self.ax_ = take_axes(ax)
        self.figure_ = self.ax_.figure
        options = {"levels": np.linspace(0, 1, 11), "cmap": "RdBu_r", "alpha": 0.6, **kwargs}
        self.surface_ = self.ax_.contourf(self.first, self.second, self.probability, **options)
        self.boundary_ = None
        if self.probability.min() < self.threshold < self.probability.max():
            self.boundary_ = self.ax_.contour(
                self.first, self.second, self.probability, levels=[self.threshold], colors="black"
            )
        self.ax_.set(xlabel=names[0], ylabel=names[1])
        return self

    @classmethod
    def from_predictions(
        cls,
        first: ArrayLike,
        second: ArrayLike,
        probability: ArrayLike,
        *,
        cost: float,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw probabilities that are known on a grid.

        Parameters
        ----------
        first, second : array-like of shape (n,) and (m,)
            Values of the two features.
        probability : array-like of shape (m, n)
            Probability of the positive class at each pair of them.
        cost : float
            Share of the cost that a false positive bears.
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        x, y, eta = (np.asarray(a, dtype=float) for a in (first, second, probability))
        if eta.shape != (len(y), len(x)):
            msg = (
                "`probability` must have a row for each value of `second` and a column for each "
                f"of `first`, ({len(y)}, {len(x)}); got shape {eta.shape}."
            )
            raise ValueError(msg)
        return cls(x, y, eta, cost).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        cost: CostLike | None = None,
        pos_label: Any = None,
        n_points: int = 150,
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
        n_points : int, default=150
            Points along each axis of the grid.
        ax : matplotlib axes, default=None
            Where to draw.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        rows = np.asarray(X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != 2:
            msg = f"`X` must have two features to be drawn; got shape {rows.shape}. Choose two."
            raise ValueError(msg)
        low, high = rows.min(axis=0), rows.max(axis=0)
        pad = 0.05 * (high - low)
        first, second = np.linspace(low - pad, high + pad, n_points).T
        points = np.column_stack([a.ravel() for a in np.meshgrid(first, second)])
        grid = type(X)(points, columns=X.columns) if hasattr(X, "columns") else points
        eta = positive_probability(estimator, grid, pos_label).reshape(n_points, n_points)
        if hasattr(X, "columns"):
            kwargs = {"names": tuple(X.columns), **kwargs}
        share = cost_share(estimator.cost if cost is None else cost)
        display = cls(first, second, eta, share).plot(ax, **kwargs)
        colours = None
        if y is not None:
            colours = np.where(read_positive(y, pos_label_of(estimator, pos_label)), "C3", "C0")
        display.ax_.scatter(*rows.T, c=colours, s=8, edgecolors="none", alpha=0.7)
        return display
