"""From a fitted classifier and its rows to the rows that are worth checking."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from flipcost._validation import check_is_fitted, check_weights, encode_labels, positive_index
from flipcost.core.confusion import Interval
from flipcost.core.recheck import (
    CellChoice,
    draw_rows,
    leading_directions,
    spread_order,
    value_checks,
)
from flipcost.estimators import FlipCostClassifier
from flipcost.estimators.flipcost.rows import read_trusted

if TYPE_CHECKING:
    from flipcost.core.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class NextRows:
    """Rows to check next.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Their positions, in the order to check them in: whoever stops early has checked rows that
        are spread as all of them are.
    probability : ndarray of shape (n,)
        Probability with which each was drawn, in (0, 1]. It depends on the label and the score of
        a row alone, and is positive for every row that was not checked.
    suspicion : ndarray of shape (n,)
        Probability that its label is wrong.
    reason : tuple of str
        Why it is among them.
    saving : float
        What decisions are expected to cost less for a row once these are checked, in the units of
        `FlipCostClassifier.cost_estimate_`. Times 1,000, for 1,000 rows. What learning from
        corrected labels saves comes on top.
    saving_interval : pair of floats
        Interval of that saving, at the `level` of the classifier, over what may be true.

    Examples
    --------
    >>> found = NextRows(np.array([4]), np.array([0.1]), np.array([0.8]), ("why",), 0.01, (0, 0.02))
    >>> found.to_frame().columns.tolist()
    ['row', 'inclusion_probability', 'probability_wrong', 'reason']
    """

    rows: Indices
    probability: Array
    suspicion: Array
    reason: tuple[str, ...]
    saving: float
    saving_interval: tuple[float, float]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def to_frame(self) -> Any:
        """Return a pandas frame, a row for each row to check."""
        import pandas as pd  # noqa: PLC0415 (optional dependency)

        return pd.DataFrame(
            {
                "row": self.rows,
                "inclusion_probability": self.probability,
                "probability_wrong": self.suspicion,
                "reason": list(self.reason),
            }
        )


def next_rows(
    model: Any,
    X: Any,
    y: Any,
    n: int = 50,
    *,
    trusted: Any = None,
    sample_weight: Any = None,
    random: bool = False,
    random_state: int = 0,
) -> NextRows:
    """Choose the rows that someone should check next.

    Those that are expected to save most once their right labels are known: they tell how many
    rows are truly positive where decisions turn, what mistakes cost, and which labels to correct
    before learning. They are drawn at random, by probabilities that depend on label and score
    alone, so that `fit(..., trusted=)` learns from them without leaning.

    Parameters
    ----------
    model : FlipCostClassifier, or Pipeline that ends in one
        Fitted on these rows and labels.
    X : array-like, sparse matrix or frame of shape (n_rows, d)
        The rows.
    y : array-like of shape (n_rows,)
        Their labels, as they are.
    n : int, default=50
        How many rows to choose; fewer are, if fewer are left.
    trusted : array-like of shape (n_rows,), optional
        The right label where a row was checked already, and missing elsewhere; these are not
        chosen again.
    sample_weight : array-like of shape (n_rows,), optional
        How many rows each represents.
    random : bool, default=False
        Whether to draw a plain sample, all rows alike.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    NextRows

    Examples
    --------
    >>> import flipcost as fc
    >>> data = fc.datasets.make_syn3d(2000, random_state=0)
    >>> noisy = fc.noise.flip_labels(data.target, (0.3, 0.05), random_state=0)
    >>> model = fc.FlipCostClassifier(0.2, features="linear", random_state=0).fit(data.data, noisy)
    >>> found = fc.recheck.next_rows(model, data.data, noisy, n=50)
    >>> len(found), len(set(found.rows)), bool(found.probability.min() > 0)
    (50, 50, True)

    Once they were checked, what they say goes into the next fit:

    >>> trusted = np.full(2000, np.nan)
    >>> trusted[found.rows] = data.target[found.rows]
    >>> model = model.fit(data.data, noisy, trusted=trusted)
    >>> more = fc.recheck.next_rows(model, data.data, noisy, n=50, trusted=trusted)
    >>> len(set(more.rows) & set(found.rows)), more.saving < found.saving
    (0, True)
    """
    classifier, X, names, choice = _choose(model, X, y, n, trusted, sample_weight, random=random)
    order = spread_order(choice.cells.cell, _directions(classifier, X), random_state)
    rows = draw_rows(choice.chance, order, random_state)
    saving = choice.saving.times(classifier.cost_unit_)
    return NextRows(
        rows=rows,
        probability=choice.chance[rows],
        suspicion=choice.suspicion[rows],
        reason=reasons(choice, rows, classifier.cost_share_, names, random=random),
        saving=saving.value,
        saving_interval=(saving.low, saving.high),
    )


def expected_saving(
    model: Any,
    X: Any,
    y: Any,
    n: int = 50,
    *,
    trusted: Any = None,
    sample_weight: Any = None,
    random: bool = False,
) -> Interval:
    """Return what the next `n` checks are expected to save a row, with an interval.

    Parameters
    ----------
    model, X, y, n, trusted, sample_weight, random
        As in `next_rows`.

    Returns
    -------
    Interval
        In the units of `FlipCostClassifier.cost_estimate_`; never negative, and never more than a
        row costs.

    Examples
    --------
    >>> import flipcost as fc
    >>> data = fc.datasets.make_syn3d(2000, random_state=0)
    >>> noisy = fc.noise.flip_labels(data.target, (0.3, 0.05), random_state=0)
    >>> model = fc.FlipCostClassifier(0.2, features="linear", random_state=0).fit(data.data, noisy)
    >>> few, many = (fc.recheck.expected_saving(model, data.data, noisy, n) for n in (10, 200))
    >>> bool(0 <= few.low <= few.value < many.value)
    True
    """
    classifier, *_, choice = _choose(model, X, y, n, trusted, sample_weight, random=random)
    return choice.saving.times(classifier.cost_unit_)


def _choose(
    model: Any, X: Any, y: Any, n: Any, trusted: Any, sample_weight: Any, *, random: bool
) -> tuple[FlipCostClassifier, Any, tuple[Any, Any], CellChoice]:
    """Check what is asked; return the classifier, its rows, both labels, and what checks bring."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        msg = f"`n` must be a whole number of rows, at least 1; got {n!r}."
        raise ValueError(msg)
    classifier = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(classifier, FlipCostClassifier):
        msg = (
            "`model` must be a FlipCostClassifier, or a pipeline that ends in one; got "
            f"{type(classifier).__name__}."
        )
        raise TypeError(msg)
    check_is_fitted(classifier)
    if isinstance(model, Pipeline) and len(model) > 1:
        X = model[:-1].transform(X)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    classes, second = encode_labels(classifier, y, n_rows, classifier.classes_)
    index = positive_index(classes, classifier.pos_label)
    checked = read_trusted(trusted, classes, n_rows, second_is_positive=index == 1)
    if checked is not None and len(checked.rows) == n_rows:
        msg = f"`trusted` holds the right labels of all {n_rows} rows: none is left to check."
        raise ValueError(msg)
    probability = classifier.oof_probability_
    if len(probability) != n_rows:
        probability = classifier.predict_proba(X)[:, index]
    probability = classifier.clean_probability(probability)
    weight = None if sample_weight is None else check_weights(sample_weight, np.empty((n_rows, 1)))
    choice = value_checks(
        second if index == 1 else ~second,
        probability,
        classifier.rate_posterior_,
        classifier.cost_share_,
        int(n),
        checked=checked,
        sample_weight=weight,
        level=classifier.level,
        random=random,
        paid=classifier.cost_estimate_ / classifier.cost_unit_,
    )
    names = classes.tolist()
    return classifier, X, (names[1 - index], names[index]), choice


def _directions(classifier: FlipCostClassifier, X: Any) -> Array | None:
    """Return what rows should be spread over, or None where features are no numbers."""
    if hasattr(classifier.scorer_, "cells"):
        rows = classifier._validated(X, reset=False)  # noqa: SLF001 - as they were learned from
        X = classifier.scorer_.numbers(classifier.scorer_.cells(rows))
    if sparse.issparse(X):
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(X.shape[1], 3))
        return np.asarray(X @ signs)
    try:
        numbers = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return None
    return leading_directions(np.nan_to_num(numbers))


# A label that is wrong with at least this probability is a reason of its own.
_LIKELY_WRONG = 0.4


def reasons(
    choice: CellChoice,
    rows: Indices,
    cost: float,
    names: tuple[Any, Any],
    *,
    random: bool = False,
    n_rows: int | None = None,
) -> tuple[str, ...]:
    """Return a reason for each row, the first that holds.

    Parameters
    ----------
    choice : CellChoice
        What checks are worth.
    rows : ndarray of int
        Which rows were drawn.
    cost : float
        Where decisions turn.
    names : pair
        The negative and the positive label.
    random : bool, default=False
        Whether all rows were as likely.
    n_rows : int, optional
        Rows of the table, where these represent more.

    Examples
    --------
    >>> from flipcost.core.rate_posterior import RatePosterior
    >>> from flipcost.core.recheck import value_checks
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> choice = value_checks([True, False] * 50, [0.05, 0.1] * 50, known, 0.3, 10)
    >>> reasons(choice, np.array([0]), 0.3, ("no", "yes"))
    ("label 'yes' is probably wrong (83%)",)
    """
    if random:
        return ("drawn at random",) * len(rows)
    return tuple(_reason(choice, int(row), cost, names, n_rows) for row in rows)


def _reason(
    choice: CellChoice, row: int, cost: float, names: tuple[Any, Any], n_rows: int | None
) -> str:
    cell = int(choice.cells.cell[row])
    label = names[int(choice.cells.label[cell])]
    wrong = float(choice.suspicion[row])
    if wrong >= _LIKELY_WRONG:
        sure = "is probably" if wrong >= 0.5 else "may be"
        return f"label {label!r} {sure} wrong ({100 * wrong:.0f}%)"
    low, high = float(choice.low[row]), float(choice.high[row])
    if low < cost < high:
        return (
            f"decision in doubt: {100 * low:.0f} to {100 * high:.0f}% of similar rows may be "
            f"{names[1]!r}; threshold {100 * cost:.0f}%"
        )
    alike = int(np.count_nonzero(choice.cells.cell == cell))
    if n_rows is not None:
        alike = max(1, round(n_rows * float(choice.cells.share[cell])))
    seen = int(choice.posterior.positives[cell] + choice.posterior.negatives[cell])
    checked = f"{seen:,} of them checked" if seen else "none of them checked"
    return f"represents {alike:,} rows labelled {label!r} with similar scores, {checked}"
