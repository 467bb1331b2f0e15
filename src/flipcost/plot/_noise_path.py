"""Cost against the assumed noise rate."""

from __future__ import annotations

import numpy as np
from sklearn.utils import column_or_1d

from flipcost.core.confusion import ConfusionCounts
from flipcost.core.cost_curves import costs_at_rates
from flipcost.plot._common import pos_label_of, rates_up_to, read_positive, take_axes


class NoisePathDisplay:
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

    def __init__(self, rates, values, rate=None, interval=None):
        self.rates = rates
        self.values = values
        self.rate = rate
        self.interval = interval

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
        if self.interval is not None:
            self.ax_.axvspan(*self.interval, alpha=0.15, label="interval of the rate")
        self.lines_ = {
            name: self.ax_.plot(self.rates, values, **{"label": name, **kwargs})[0]
            for name, values in self.values.items()
        }
        if self.rate is not None:
            self.ax_.axvline(self.rate, color="black", linestyle=":")
        self.ax_.set(xlabel="assumed noise rate", ylabel="mean cost of a row on clean labels")
        self.ax_.legend()
        return self

    @classmethod
    def from_predictions(
        cls,
        y,
        predictions,
        *,
        cost,
        rate=None,
        interval=None,
        most=0.45,
        sample_weight=None,
        pos_label=None,
        ax=None,
        **kwargs,
    ):
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

    @classmethod
    def from_estimator(cls, estimator, X, y, *, cost=None, pos_label=None, **kwargs):
        """Draw the path of a fitted classifier on rows that it was not trained on, and constants.

        Parameters
        ----------
        estimator : classifier
            Fitted. Its rate and interval are marked when it has them.
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
        NoisePathDisplay
        """
        named = with_constants(estimator, X, y, pos_label)
        rate = getattr(estimator, "noise_rate_", None)
        if rate is not None and np.ndim(rate) == 0:
            kwargs = {"rate": rate, "interval": estimator.noise_rate_interval_, **kwargs}
        return cls.from_predictions(
            y,
            named,
            cost=estimator.cost if cost is None else cost,
            pos_label=pos_label_of(estimator, pos_label),
            **kwargs,
        )


def path_values(y, predictions, cost, rates, sample_weight, pos_label):
    """Return, by name, the clean cost of predictions at each assumed rate."""
    labels = column_or_1d(y)
    positive = read_positive(labels, pos_label)
    label = labels[positive][0]
    return {
        name: costs_at_rates(
            ConfusionCounts.from_labels(positive, column_or_1d(called) == label, sample_weight),
            cost,
            rates,
        )
        for name, called in predictions.items()
    }


def with_constants(estimator, X, y, pos_label):
    """Return the predictions of a classifier and of both constants, by name."""
    labels = column_or_1d(y)
    positive = read_positive(labels, pos_label_of(estimator, pos_label))
    return {
        type(estimator).__name__: estimator.predict(X),
        f"always {labels[positive][0]}": np.full(len(labels), labels[positive][0]),
        f"always {labels[~positive][0]}": np.full(len(labels), labels[~positive][0]),
    }
