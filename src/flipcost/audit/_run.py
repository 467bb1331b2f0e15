"""The audit itself: from a table to what was found."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from flipcost.audit._conclude import conclude, is_fitted
from flipcost.audit._prepare import prepare, prepare_test
from flipcost.audit._rates import checked_rate
from flipcost.core.costs import Costs, cost_share
from flipcost.data import Roles
from flipcost.estimators._flipcost import FlipCostClassifier

_FEW_ROWS = 50_000


def audit(
    table,
    target,
    cost,
    *,
    positive=None,
    noise_rate=None,
    noise_model="symmetric",
    trusted=None,
    second_label=None,
    id=None,  # noqa: A002 - what the column is called on the command line
    sample_weight=None,
    drop=(),
    categorical=(),
    drop_unusable=False,
    model="linear",
    test=None,
    truth=None,
    seed=0,
    level=0.95,
    max_rows=200_000,
    rows=None,
    n_rows=None,
    name="the table",
    progress=None,
):
    """Audit a table whose labels are partly wrong.

    Parameters
    ----------
    table : pyarrow, pandas or polars table
        Rows with their labels.
    target : str
        The column of labels.
    cost : Costs or float
        Prices of the mistakes, or the share that a false positive bears.
    positive : str, default=None
        The positive label; the second in order when None.
    noise_rate : float, pair of floats, or None, default=None
        The rate, when it is known.
    noise_model : {"symmetric", "class_conditional", "auto"}, default="symmetric"
        One rate, one for each class, or both models weighed, when nothing is known.
    trusted, second_label : str, default=None
        Columns with labels that are right, on some rows, or that were given independently; the
        rate is estimated from these.
    id, sample_weight : str, default=None
        Columns with names and weights of the rows.
    drop, categorical : sequence of str
        Columns to leave out, and columns that hold categories although they look like numbers.
    drop_unusable : bool, default=False
        Whether to leave out columns that are empty, constant or have too many categories, rather
        than to refuse them.
    model : {"linear", "boosting"} or estimator, default="linear"
        What scores the rows: the pooled closed form, gradient boosting, or a classifier that is
        not fitted yet. A fitted model that reads tables is compared with the linear one.
    test : pyarrow, pandas or polars table, default=None
        Rows with clean labels.
    truth : str, default=None
        Column of the clean labels of the same rows, when these are known, as in an example. Not
        learned from: candidates are judged by it.
    seed : int, default=0
        Seed of the folds.
    level : float, default=0.95
        Level of all intervals.
    max_rows : int, default=200000
        A larger table is sampled.
    rows, n_rows : array of int and int, default=None
        Which rows of a larger table these are, and how many it has, when it was sampled already.
    name : str, default="the table"
        What the table is called in messages.
    progress : callable, default=None
        Called with a word on each step.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> import polars
    >>> from flipcost import Costs
    >>> from flipcost.audit import audit
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.noise import flip_labels
    >>> data = make_syn3d(4000, random_state=0)
    >>> frame = polars.DataFrame(data.data, schema=["a", "b", "c"])
    >>> noisy = flip_labels(data.target, 0.3, random_state=1)
    >>> frame = frame.with_columns(ill=polars.Series(noisy))
    >>> result = audit(frame, "ill", Costs(fn=4, fp=1))
    >>> low, high = result.noise_interval
    >>> bool(low < 0.3 < high), result.chosen
    (True, 'rule')
    >>> saving = result.candidate("ignoring").saving
    >>> bool(saving.low > 0)
    True
    """
    say = progress or (lambda _: None)
    prices = cost if isinstance(cost, Costs) else Costs(fn=1 - cost_share(cost), fp=cost)
    roles = Roles(target, id, trusted, second_label, sample_weight, tuple(drop), truth)
    data = prepare(table, roles, prices, positive, categorical, drop_unusable, max_rows, seed, name)
    if rows is not None:
        data.place_in(rows, n_rows)
    held_out = None if test is None else prepare_test(test, data)
    if noise_rate is None:
        known = data.rate_from_columns(level, noise_model)
    else:
        share = float(np.average(data.positive, weights=data.weight))
        known = checked_rate(noise_rate, share, data.n_rows, data.positive_label)
    # Threads that wait for each other cost more than they bring on matrices of this shape, and far
    # more when other programs want the cores too: 280 s against 6 s for boosting on 800 rows, 16 s
    # against 7 s for the linear model on 100,000. Only boosting on many rows is left its threads.
    limits = {"blas": 1, "openmp": 1 if len(data.positive) < _FEW_ROWS else None}
    with threadpool_limits(limits=limits):
        say("estimating the noise and fitting the model")
        classifier = make_classifier(data.positive_label, prices, known, noise_model, seed, level)
        classifier.set_params(estimator=_scored_by(model, seed))
        classifier.fit(data.X, data.labels, data.weight)
        return conclude(data, classifier, prices, model, held_out, seed, level, say)


def make_classifier(positive, prices, rate, noise_model, seed, level):
    """Return the classifier that an audit fits."""
    return FlipCostClassifier(
        cost=prices,
        noise_rate="integrate" if rate is None else rate,
        noise_model=noise_model,
        level=level,
        pos_label=positive,
        random_state=seed,
    )


def _scored_by(model, seed):
    """Return what scores the rows in place of the closed form, or None."""
    if not isinstance(model, str):
        return None if is_fitted(model) else clone(model)
    if model not in ("linear", "boosting"):
        msg = f"The model must be linear, boosting or an estimator; got {model!r}."
        raise ValueError(msg)
    if model == "linear":
        return None
    return HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.05, min_samples_leaf=20, random_state=seed
    )
