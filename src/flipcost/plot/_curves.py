"""Curves of probabilities: cost over all cost shares; decision curve, lift and profit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flipcost._validation import positive_index, read_two_labels
from flipcost.core.arrays import Array, Flags
from flipcost.core.confusion import ConfusionCounts, feasible_counts, measure
from flipcost.core.costs import RowCosts, prices_of
from flipcost.core.curves import confusions_at_costs, net_benefit_curve, price_curve
from flipcost.core.error_rates import RatePosterior
from flipcost.core.gains import gains_curve
from flipcost.core.noise import NoiseRateLike, rate_pair

_THRESHOLDS = np.linspace(0.02, 0.9, 45)
_FACTORS = 2.0 ** np.linspace(-3, 3, 37)
_COSTS = np.linspace(0.01, 0.99, 99)
# Which labels are positive, and the probability of each row.
_Rows: TypeAlias = "tuple[Flags, Array]"
# What a curve is drawn over, with its band, by recorded labels, and constants beside it.
_Found: TypeAlias = "tuple[Array, Array, Array, dict[str, Array]]"


def take_axes(ax: Any) -> Any:
    """Return the axes to draw on, new ones when there are none."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - needed only to draw

    return plt.subplots()[1] if ax is None else ax


def read_probability(probability: ArrayLike, n_rows: int) -> Array:
    """Return probabilities of the positive class as a checked array."""
    values = np.asarray(probability, dtype=float)
    if values.shape != (n_rows,) or not np.all((values >= 0) & (values <= 1)):
        msg = (
            f"`y_prob` must hold a probability of the positive class for each of the {n_rows} "
            f"rows; got shape {values.shape}. Give one column of predict_proba."
        )
        raise ValueError(msg)
    return values


def pos_label_of(estimator: Any, pos_label: Any) -> Any:
    """Return the positive label: the one given, or else the estimator's own."""
    return getattr(estimator, "pos_label", None) if pos_label is None else pos_label


class ProbabilityDisplay:
    """What displays of probabilities share: how they come from a fitted classifier."""

    from_predictions: ClassVar[Callable[..., Any]]

    @staticmethod
    def _known(estimator: Any, X: Any, prices: Any) -> dict[str, Any]:
        """Return what the estimator knows of costs and the noise rate, where these are drawn."""
        del estimator, X, prices
        return {}

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

        Where the curve depends on costs and on the noise rate, those of the estimator are taken, if
        it has them and none are given.

        Parameters
        ----------
        estimator : classifier with `predict_proba`
            Fitted.
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels, noisy.
        pos_label : label, default=None
            The positive class; the estimator's own when None.
        name : str, default=None
            Name in the legend; that of the class when None.
        **kwargs : dict
            As in `from_predictions`.

        Returns
        -------
        display
        """
        label = pos_label_of(estimator, pos_label)
        known = cls._known(estimator, X, kwargs.pop("prices", None))
        drawn: Self = cls.from_predictions(
            y,
            estimator.predict_proba(X)[:, positive_index(estimator.classes_, label)],
            pos_label=label,
            name=name or type(estimator).__name__,
            **{**known, **kwargs},
        )
        return drawn


@dataclass(repr=False, eq=False)
class CostCurveDisplay(ProbabilityDisplay):
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

    costs: Array
    values: Array
    constants: Array
    name: str | None = None

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
        positive = read_two_labels(y, pos_label)[2]
        probability = read_probability(y_prob, len(positive))
        tables = confusions_at_costs(positive, probability, _COSTS, sample_weight)
        clean = feasible_counts(tables, noise_rate)
        values = np.array(
            [float(measure(t, "cost", c)) for t, c in zip(clean, _COSTS, strict=True)]
        )
        total = ConfusionCounts.from_labels(positive, np.ones(len(positive), bool), sample_weight)
        share = feasible_counts(total, noise_rate)[:, 1] / total.counts.sum()
        constants = np.minimum((1 - _COSTS) * share[1], _COSTS * share[0])
        return cls(_COSTS, values, constants, name).plot(ax, **kwargs)


@dataclass(repr=False, eq=False)
class BandDisplay(ProbabilityDisplay):
    """A curve corrected for label errors, with its band; by recorded labels; and the constants.

    Parameters
    ----------
    x : ndarray of shape (K,)
        What it is drawn over.
    clean : ndarray of shape (K, 3)
        Value, lower and upper limit, corrected for label errors.
    observed : ndarray of shape (K,)
        The same by recorded labels.
    constants : dict of str to ndarray of shape (K,)
        The constant answers.
    name : str, default=None
        Name in the legend.

    Attributes
    ----------
    line_, observed_line_, band_, constant_lines_ : matplotlib artists
        What was drawn.
    ax_, figure_ : matplotlib axes and figure
        Where.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from flipcost.plot import BandDisplay
    >>> x = np.linspace(0, 1, 5)
    >>> display = BandDisplay(x, np.column_stack([x, x - 0.1, x + 0.1]), x, {"none": 0 * x}).plot()
    >>> [line.get_label() for line in display.ax_.get_lines()]
    ['corrected for label errors', 'by recorded labels', 'none']
    """

    _x_name, _y_name = "", ""

    x: Array
    clean: Array
    observed: Array
    constants: dict[str, Array]
    name: str | None = None

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
        label = name or self.name or "corrected for label errors"
        (self.line_,) = self.ax_.plot(self.x, self.clean[:, 0], **{"label": label, **kwargs})
        color = self.line_.get_color()
        self.band_ = self.ax_.fill_between(
            self.x, self.clean[:, 1], self.clean[:, 2], color=color, alpha=0.15, linewidth=0
        )
        (self.observed_line_,) = self.ax_.plot(
            self.x, self.observed, color=color, linestyle="--", label="by recorded labels"
        )
        self.constant_lines_ = [
            self.ax_.plot(self.x, values, color="grey", linestyle=style, label=words)[0]
            for (words, values), style in zip(self.constants.items(), (":", "-."), strict=False)
        ]
        self.ax_.set(xlabel=self._x_name, ylabel=self._y_name)
        self.ax_.legend()
        return self

    @classmethod
    def _compute(cls, rows: _Rows, prices: RowCosts, posterior: Any, **more: Any) -> _Found:
        raise NotImplementedError

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        y_prob: ArrayLike,
        *,
        cost: Any = 0.5,
        prices: Any = None,
        noise_rate: Any = None,
        sample_weight: ArrayLike | None = None,
        level: float = 0.95,
        pos_label: Any = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of probabilities.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels, noisy.
        y_prob : array-like of shape (n,)
            Probability of the positive class on clean labels, of rows that were not trained on.
        cost : float or Costs, default=0.5
            Share of the cost that a false positive bears, or both costs.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, default=None
            Costs by row, in place of `cost`.
        noise_rate : float, pair of floats, RatePosterior or None, default=None
            Rate at which the labels were flipped, or what is known of it.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        level : float, default=0.95
            Level of the band.
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
        display
        """
        positive = read_two_labels(y, pos_label)[2]
        rows = positive, read_probability(y_prob, len(positive))
        paid = prices_of(cost, prices, np.empty((len(positive), 1))) or RowCosts.in_units(cost)
        known = noise_rate
        if not isinstance(known, RatePosterior):
            known = RatePosterior(np.array([rate_pair(noise_rate)]), np.ones(1))
        found = cls._compute(rows, paid, known, sample_weight=sample_weight, level=level)
        return cls(*found, name=name).plot(ax, **kwargs)

    @staticmethod
    def _known(estimator: Any, X: Any, prices: Any) -> dict[str, Any]:
        cost = getattr(estimator, "cost", 0.5)
        rate = getattr(estimator, "rate_posterior_", getattr(estimator, "noise_rate", None))
        return {"cost": cost, "noise_rate": rate, "prices": prices_of(cost, prices, X)}


class DecisionCurveDisplay(BandDisplay):
    """Net benefit by threshold, corrected for label errors: the decision curve.

    Parameters
    ----------
    x, clean, observed, constants, name
        As in `BandDisplay`: thresholds, and net benefit in true positives a row.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from flipcost.plot import DecisionCurveDisplay
    >>> display = DecisionCurveDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], noise_rate=0.1
    ... )
    >>> display.clean.shape
    (45, 3)
    """

    _x_name, _y_name = "threshold on the clean probability", "net benefit of a row"

    @classmethod
    def _compute(cls, rows: _Rows, prices: RowCosts, posterior: Any, **more: Any) -> _Found:
        del prices
        curve = net_benefit_curve(*rows, posterior, _THRESHOLDS, **more)
        constants = {"flag all": curve.all_positive, "flag none": curve.all_negative}
        return curve.x, curve.clean, curve.observed, constants


class PriceCurveDisplay(BandDisplay):
    """Cost of a row by the cost of a miss, decided at each, corrected for label errors.

    Parameters
    ----------
    x, clean, observed, constants, name
        As in `BandDisplay`: costs of a miss, on the mean, and what a row costs, in their units.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from flipcost import Costs
    >>> from flipcost.plot import PriceCurveDisplay
    >>> display = PriceCurveDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], cost=Costs(fn=4, fp=1), noise_rate=0.1
    ... )
    >>> float(display.x[18])
    4.0
    """

    _x_name, _y_name = "cost of a miss", "cost of a row"

    @classmethod
    def _compute(cls, rows: _Rows, prices: RowCosts, posterior: Any, **more: Any) -> _Found:
        curve = price_curve(*rows, prices, posterior, _FACTORS, **more)
        constants = {"flag all": curve.all_positive, "flag none": curve.all_negative}
        mean = prices.mean(more.get("sample_weight"))[0]
        return mean * curve.x, curve.clean, curve.observed, constants


class LiftDisplay(BandDisplay):
    """Lift by the share of rows that are flagged, corrected for label errors.

    Parameters
    ----------
    x, clean, observed, constants, name
        As in `BandDisplay`: depths, and how many times as many positives as among random rows.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from flipcost.plot import LiftDisplay
    >>> y, p = [0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20
    >>> display = LiftDisplay.from_predictions(y, p, noise_rate=0.1)
    >>> bool(display.clean[0, 0] > display.clean[-1, 0])
    True
    """

    _x_name, _y_name = "share of rows flagged", "lift"

    @classmethod
    def _compute(cls, rows: _Rows, prices: RowCosts, posterior: Any, **more: Any) -> _Found:
        curve = gains_curve(*rows, prices, posterior, **more)
        constants = {"random rows": np.ones(len(curve.depth))}
        return curve.depth, curve.clean["lift"], curve.observed["lift"], constants


class ProfitDisplay(BandDisplay):
    """What flagging rows saves, by the share that is flagged, corrected for label errors.

    Parameters
    ----------
    x, clean, observed, constants, name
        As in `BandDisplay`: depths, and money for each row of the table, over flagging none.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from flipcost import Costs
    >>> from flipcost.plot import ProfitDisplay
    >>> y, p = [0, 0, 1, 1] * 20, [0.1, 0.4, 0.35, 0.8] * 20
    >>> display = ProfitDisplay.from_predictions(y, p, cost=Costs(fn=4, fp=1), noise_rate=0.1)
    >>> sorted(display.constants)
    ['flag all', 'flag none']
    """

    _x_name, _y_name = "share of rows flagged", "profit of a row"

    @classmethod
    def _compute(cls, rows: _Rows, prices: RowCosts, posterior: Any, **more: Any) -> _Found:
        curve = gains_curve(*rows, prices, posterior, **more)
        every = np.full(len(curve.depth), curve.everyone.value)
        constants = {"flag all": every, "flag none": np.zeros(len(curve.depth))}
        return curve.depth, curve.clean["profit"], curve.observed["profit"], constants
