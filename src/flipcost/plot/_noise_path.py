"""Cost against the assumed noise rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from flipcost.core.arrays import Array
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.cost_curves import costs_at_rates
from flipcost.core.costs import CostLike
from flipcost.plot._common import pos_label_of, rates_up_to, read_positive, take_axes


class RateDisplay:
    """What displays over noise rates share: a line for each classifier, and where they come from.

    `_marked` names what `from_predictions` takes of an estimator's own noise rate.
    """

    _marked: tuple[str, ...] = ()
    rates: Array
    values: dict[str, Array]

    def _draw(
        self, ax: Any, labels: dict[str, str], options: dict[str, Any], thick: str = ""
    ) -> None:
        """Draw a line for each classifier, one of them thick."""
        self.ax_ = take_axes(ax)
        self.figure_ = self.ax_.figure
        self.lines_ = {
            name: self.ax_.plot(
                self.rates,
                values,
                **{"label": name, "linewidth": 3 if name == thick else 1.5, **options},
            )[0]
            for name, values in self.values.items()
        }
        self.ax_.set(**labels)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, predictions: Any, *, cost: CostLike, **kwargs: Any
    ) -> Self:
        """Draw predictions; each display says how."""
        raise NotImplementedError

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        cost: CostLike | None = None,
        pos_label: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted classifier on rows that it was not trained on, and both constants.

        Parameters
        ----------
        estimator : classifier
            Fitted. Its noise rate and the interval, when it has them, are marked or bound the
            picture.
        X : array-like of shape (n, d)
            Rows.
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
        display
            What `from_predictions` returns.
        """
        wrong = getattr(estimator, "wrong_share_", None)
        if wrong is not None:
            known = {"rate": wrong.value, "interval": (wrong.low, wrong.high)}
            kwargs = {name: known[name] for name in cls._marked} | kwargs
        return cls.from_predictions(
            y,
            with_constants(estimator, X, y, pos_label),
            cost=estimator.cost if cost is None else cost,
            pos_label=pos_label_of(estimator, pos_label),
            **kwargs,
        )


class NoisePathDisplay(RateDisplay):
    """Clean cost of classifiers against the noise rate that is assumed.

    Parameters
    ----------
    rates : ndarray of shape (n,)
        Assumed rates.
    values : dict of str to ndarray of shape (n,)
        Mean clean cost of a row at each, by the name of the classifier.
    rate : float, default=None
        The estimated rate, marked.
    interval : pair of floats, default=None
        Its interval, shaded.

    Attributes
    ----------
    lines_ : dict of str to matplotlib line
        What was drawn.
    ax_, figure_ : matplotlib axes and figure
        Where.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from flipcost.plot import NoisePathDisplay
    >>> y, called = [1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1]
    >>> display = NoisePathDisplay.from_predictions(y, {"rule": called}, cost=0.5)
    >>> print(f"{display.values['rule'][0]:.4f} {display.values['rule'][50]:.4f}")
    0.1667 0.0833
    """

    _marked = ("rate", "interval")

    def __init__(
        self,
        rates: Array,
        values: dict[str, Array],
        rate: float | None = None,
        interval: tuple[float, float] | None = None,
    ) -> None:
        self.rates = rates
        self.values = values
        self.rate = rate
        self.interval = interval

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
        names = {"xlabel": "assumed noise rate", "ylabel": "mean cost of a row on clean labels"}
        self._draw(ax, names, kwargs)
        if self.interval is not None:
            self.ax_.axvspan(*self.interval, alpha=0.15, label="interval of the rate")
        if self.rate is not None:
            self.ax_.axvline(self.rate, color="black", linestyle=":")
        self.ax_.legend()
        return self

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        predictions: ArrayLike | dict[str, ArrayLike],
        *,
        cost: CostLike,
        rate: float | None = None,
        interval: tuple[float, float] | None = None,
        most: float = 0.45,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the paths of predictions.

        Parameters
        ----------
        y : array-like of shape (n,)
            Noisy labels.
        predictions : array-like of shape (n,), or dict of str to array-like
            Predicted labels, out of fold; of several classifiers by their names.
        cost : float or Costs
            Share of the cost that a false positive bears, or the prices.
        rate, interval : float and pair of floats, default=None
            The estimated rate and its interval, marked.
        most : float, default=0.45
            Largest rate drawn.
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
        NoisePathDisplay
        """
        named = predictions if isinstance(predictions, dict) else {"classifier": predictions}
        rates = rates_up_to(most)
        values = path_values(y, named, cost, rates, sample_weight, pos_label)
        return cls(rates, values, rate, interval).plot(ax, **kwargs)


def path_values(
    y: ArrayLike,
    predictions: Mapping[str, ArrayLike],
    cost: CostLike,
    rates: Array,
    sample_weight: ArrayLike | None,
    pos_label: Any,
) -> dict[str, Array]:
    """Return, by name, the clean cost of predictions at each assumed rate."""
    labels = column_or_1d(y)
    positive = read_positive(labels, pos_label)
    label = labels[positive][0]
    return {
        name: costs_at_rates(
            ConfusionCounts.from_labels(positive, column_or_1d(called) == label, sample_weight),
            cost,
            rates.tolist(),
        )
        for name, called in predictions.items()
    }


def with_constants(estimator: Any, X: Any, y: ArrayLike, pos_label: Any) -> dict[str, NDArray[Any]]:
    """Return the predictions of a classifier and of both constants, by name."""
    labels = column_or_1d(y)
    positive = read_positive(labels, pos_label_of(estimator, pos_label))
    return {
        type(estimator).__name__: estimator.predict(X),
        f"always {labels[positive][0]}": np.full(len(labels), labels[positive][0]),
        f"always {labels[~positive][0]}": np.full(len(labels), labels[~positive][0]),
    }
