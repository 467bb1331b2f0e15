"""The audit itself: from a table to what was found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from flipcost._validation import check_is_fitted
from flipcost.audit._candidates import (
    constant_candidate,
    cost_grid,
    flipcost_candidate,
    ignoring_candidate,
    logistic_candidate,
    saved_candidate,
    shuffled_folds,
)
from flipcost.audit._effects import column_effects, log_odds, row_evidence
from flipcost.audit._information import (
    Information,
    labels_needed,
    probability_wrong,
    value_of_knowing_rate,
)
from flipcost.audit._prepare import Prepared, prepare, prepare_test
from flipcost.audit._result import AuditResult, Suspect
from flipcost.audit._saving import paired_saving
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.costs import Costs, cost_share
from flipcost.estimators._flipcost import FlipCostClassifier
from flipcost.tables import Roles, TableError

_PRECISION = 0.02
_MOST_SUSPECTS = 1000
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
    known = data.rate_from_columns(level) if noise_rate is None else data.checked_rate(noise_rate)
    # Threads that wait for each other cost more than they bring on matrices of this shape, and far
    # more when other programs want the cores too: 280 s against 6 s for boosting on 800 rows, 16 s
    # against 7 s for the linear model on 100,000. Only boosting on many rows is left its threads.
    limits = {"blas": 1, "openmp": 1 if len(data.positive) < _FEW_ROWS else None}
    with threadpool_limits(limits=limits):
        return _audit_rows(data, held_out, prices, known, noise_model, model, seed, level, say)


def _audit_rows(data: Prepared, held_out, prices, known, noise_model, model, seed, level, say):
    """Fit, compare and explain, once everything has been read and checked."""
    say("estimating the noise and fitting the model")
    classifier = _fit(data, prices, known, noise_model, model, seed, level)
    say("fitting what it is compared with")
    costs, index = cost_grid(prices.alpha)
    candidates = _candidates(data, classifier, costs, index, model, seed)
    candidates = [
        _judge(c, candidates[0], data, classifier, prices.alpha, held_out, level)
        for c in candidates
    ]
    say("looking for labels that are wrong")
    score = _scorer(data, classifier)
    suspects, wrong = _suspects(data, classifier, score)
    return AuditResult(
        name=data.name,
        target=data.roles.target,
        positive=data.positive_label,
        negative=data.negative_label,
        prices=prices,
        cost=prices.alpha,
        n_rows=len(data.positive),
        n_rows_total=data.n_rows_total,
        n_positive=int(data.positive.sum()),
        schema=data.reader.schema_,
        noise_rate=classifier.noise_rate_,
        noise_interval=classifier.noise_rate_interval_,
        noise_source=classifier.noise_rate_source_,
        posterior=classifier.rate_posterior_,
        level=level,
        costs=costs,
        cost_index=index,
        candidates=candidates,
        chosen=classifier.chosen_,
        suspects=suspects,
        effects=column_effects(data.reader, data.numbers, score, np.random.default_rng(seed)),
        information=_information(classifier, data, prices.alpha, wrong, level),
        warnings=data.warnings + _late_warnings(classifier),
        seed=seed,
        model=_pipeline(data, classifier),
        n_test=0 if held_out is None else len(held_out.positive),
        known_flips=_known_flips(data, wrong),
    )


def _fit(data: Prepared, prices, rate: Any, noise_model, model, seed, level):
    estimator = None
    if isinstance(model, str):
        if model not in ("linear", "boosting"):
            msg = f"The model must be linear, boosting or an estimator; got {model!r}."
            raise ValueError(msg)
        if model == "boosting":
            estimator = HistGradientBoostingClassifier(
                max_iter=150, learning_rate=0.05, min_samples_leaf=20, random_state=seed
            )
    elif not _is_fitted(model):
        estimator = clone(model)
    classifier = FlipCostClassifier(
        cost=prices,
        noise_rate="integrate" if rate is None else rate,
        noise_model=noise_model,
        estimator=estimator,
        level=level,
        pos_label=data.positive_label,
        random_state=seed,
    )
    return classifier.fit(data.X, data.labels, data.weight)


def _is_fitted(model):
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _candidates(data: Prepared, classifier, costs, index, model, seed):
    positive, weight = data.positive, data.weight
    folds = shuffled_folds(positive, np.random.default_rng(seed))
    found = [
        flipcost_candidate(classifier, positive, weight, costs, index),
        ignoring_candidate(data.X, positive, weight, folds, costs, index),
        logistic_candidate(data.X, positive, weight, folds, costs, index),
        constant_candidate(positive, weight, costs, everything=True, name=data.positive_label),
        constant_candidate(positive, weight, costs, everything=False, name=data.negative_label),
    ]
    if not isinstance(model, str) and _is_fitted(model):
        found.append(_saved(data, model, costs))
    return found


def _saved(data: Prepared, model, costs):
    """Return the candidate of a model that was made before, which reads tables."""
    classes = [str(label) for label in model.classes_]
    if data.positive_label not in classes:
        msg = (
            f"The saved model tells {classes} apart, not {data.positive_label!r} and "
            f"{data.negative_label!r}; give a model of the same labels."
        )
        raise TableError(msg)
    place = classes.index(data.positive_label)

    def predict(table):
        return np.array([str(label) for label in model.predict(table)]) == data.positive_label

    probability = None
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(data.table)[:, place]
    called = predict(data.table)
    data.warnings.append(
        "The saved model is judged on all rows; if it was trained on some of them, it looks better "
        "than it is."
    )
    return saved_candidate(probability, called, predict, data.positive, data.weight, costs)


def _judge(candidate, chosen, data, classifier, cost, held_out, level):
    """Attach to a candidate what it costs."""
    # Its own table of calls, not that of the grid: a saved model may cut elsewhere.
    table = ConfusionCounts.from_labels(data.positive, candidate.called, data.weight)
    posterior = classifier.rate_posterior_
    test = None
    if data.truth is not None:
        counts = ConfusionCounts.from_labels(data.truth, candidate.called, data.weight)
        test = counts.interval("cost", cost=cost, level=level)
    elif held_out is not None:
        rows = held_out.table if candidate.key == "saved" else held_out.X
        called = np.asarray(candidate.predict(rows), dtype=bool)
        counts = ConfusionCounts.from_labels(held_out.positive, called)
        test = counts.interval("cost", cost=cost, level=level)
    return replace(
        candidate,
        observed=table.interval("cost", cost=cost, level=level),
        clean=posterior.cost(table, cost, level)[0],
        saving=Interval(0.0, 0.0, 0.0)
        if candidate is chosen
        else paired_saving(
            data.positive, chosen.called, candidate.called, cost, posterior, data.weight, level
        ),
        test=test,
    )


def _scorer(data: Prepared, classifier):
    place = int(np.flatnonzero(classifier.classes_ == data.positive_label)[0])

    def score(numbers):
        X = np.asarray(data.features.transform(numbers), dtype=float)
        return log_odds(classifier.predict_proba(X)[:, place])

    return score


def _suspects(data: Prepared, classifier, score):
    """Return the most suspicious labels, and the probability that each label is wrong."""
    wrong = probability_wrong(
        data.positive, classifier.oof_probability_, classifier.rate_posterior_
    )
    likely = int(np.sum(wrong > 0.5))
    order = np.argsort(-wrong, kind="stable")[: min(_MOST_SUSPECTS, max(100, likely))]
    order = order[wrong[order] > 0]
    towards = np.where(data.positive[order], -1.0, 1.0)
    evidence = row_evidence(data.reader, data.numbers, order, score, towards)
    names = (data.negative_label, data.positive_label)
    found = [
        Suspect(
            row=int(data.rows[i]) + 1,
            id=None if data.ids is None else data.ids[i],
            label=names[int(data.positive[i])],
            suggested=names[1 - int(data.positive[i])],
            wrong=float(wrong[i]),
            probability=float(classifier.oof_probability_[i]),
            evidence=words,
        )
        for i, words in zip(order, evidence, strict=True)
    ]
    return found, wrong


def _known_flips(data: Prepared, wrong):
    """Return how many labels are wrong, and how many of the most suspicious, if that is known."""
    if data.truth is None:
        return None
    flipped = data.truth != data.positive
    first = np.argsort(-wrong, kind="stable")[:100]
    return {
        "wrong_labels": int(flipped.sum()),
        "wrong_in_first_100": int(flipped[first].sum()),
    }


def _information(classifier, data: Prepared, cost, wrong, level):
    rate = classifier.noise_rate_
    return Information(
        second_labels=labels_needed(rate, _PRECISION, level=level),
        trusted_labels=labels_needed(rate, _PRECISION, trusted=True, level=level),
        precision=_PRECISION,
        value_of_rate=value_of_knowing_rate(
            classifier.oof_probability_, cost, classifier.rate_posterior_, data.weight
        ),
        wrong_labels=float(wrong.sum()),
        wrong_in_first_100=float(np.sort(wrong)[::-1][:100].sum()),
    )


def _late_warnings(classifier):
    if classifier.chosen_ == "rule":
        return []
    what = "positive" if classifier.chosen_ == "all_positive" else "negative"
    warning = (
        f"No rule is estimated to beat calling every row {what}: the columns say too little, the "
        "labels are too noisy, or the prices are too uneven."
    )
    return [warning]


def _pipeline(data: Prepared, classifier):
    steps = [("columns", data.reader), ("features", data.features), ("model", classifier)]
    return Pipeline(steps)
