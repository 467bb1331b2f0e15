"""From rows and a fitted classifier to what the audit found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from flipcost._validation import check_is_fitted
from flipcost.audit._candidates import (
    constant_candidate,
    cost_grid,
    flipcost_candidate,
    ignoring_candidate,
    logistic_candidate,
    saved_candidate,
)
from flipcost.audit._effects import column_effects, log_odds, row_evidence, typical_numbers
from flipcost.audit._information import Information
from flipcost.audit._prepare import Prepared, Watched
from flipcost.audit._result import AuditResult, Suspect
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.folds import random_folds, usual_folds
from flipcost.core.information import (
    PRECISION,
    labels_needed,
    paired_saving,
    probability_wrong,
)
from flipcost.exceptions import TableError

MOST_SUSPECTS = 1000


def conclude(data: Prepared, classifier, prices, model, held_out, seed, level, say, reading=""):
    """Compare the classifier with others, and explain.

    Parameters
    ----------
    data : Prepared
        Rows.
    classifier : FlipCostClassifier
        Fitted on these rows, or on all that they stand for.
    prices : Costs
        What mistakes cost.
    model : str or estimator
        A fitted one that reads tables is compared too.
    held_out : HeldOut or None
        Rows with clean labels.
    seed : int
        Seed of the folds.
    level : float
        Level of all intervals.
    say : callable
        Called with a word on each step.
    reading : str
        How the rows were read, if not into memory.

    Returns
    -------
    AuditResult
    """
    say("fitting what it is compared with")
    costs, index = cost_grid(prices.alpha)
    candidates = _candidates(data, classifier, costs, index, model, seed)
    candidates = [
        _judge(c, candidates[0], data, classifier, prices.alpha, held_out, level)
        for c in candidates
    ]
    say("looking for labels that are wrong")
    score = _scorer(data, classifier)
    watched = data.watched or Watched(
        data.rows, data.positive, classifier.oof_probability_, data.numbers, data.ids
    )
    suspicion = _wrong(watched.positive, watched.probability, classifier)
    rng = np.random.default_rng(seed)
    return AuditResult(
        name=data.name,
        target=data.roles.target,
        positive=data.positive_label,
        negative=data.negative_label,
        prices=prices,
        cost=prices.alpha,
        n_rows=data.n_rows,
        n_rows_total=data.n_rows_total,
        n_positive=data.n_positive,
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
        suspects=_suspects(data, watched, suspicion, score),
        effects=column_effects(data.reader, data.typical_rows(rng), score, rng),
        information=_information(classifier, data, suspicion, level),
        warnings=data.warnings + _late_warnings(classifier),
        seed=seed,
        model=_pipeline(data, classifier),
        n_test=0 if held_out is None else len(held_out.positive),
        known_flips=_known_flips(data, suspicion),
        reading=reading,
        n_judged=len(data.positive),
    )


def _wrong(positive, probability, classifier):
    return probability_wrong(positive, probability, classifier.rate_posterior_)


def _candidates(data: Prepared, classifier, costs, index, model, seed):
    positive, weight = data.positive, data.weight
    folds = random_folds(positive, usual_folds(len(positive)), np.random.default_rng(seed))
    own = folds if data.folds is None else data.folds
    found = [
        flipcost_candidate(classifier, positive, weight, costs, index, data.call_squares),
        ignoring_candidate(data.X, positive, weight, own, costs, index, data.parts),
        logistic_candidate(data.X, positive, weight, folds, costs, index),
    ]
    for everything, name in ((True, data.positive_label), (False, data.negative_label)):
        known = {"everything": everything, "name": name, "call_squares": data.call_squares}
        found.append(constant_candidate(positive, weight, costs, **known))
    if not isinstance(model, str) and is_fitted(model):
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
    table = data.count(candidate.called)
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
        share_called=float(np.average(candidate.called, weights=data.weight)),
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


def _suspects(data: Prepared, watched: Watched, wrong, score):
    """Return the most suspicious labels, given the probability that each is wrong."""
    likely = int(np.sum(wrong > 0.5))
    order = np.argsort(-wrong, kind="stable")[: min(MOST_SUSPECTS, max(100, likely))]
    order = order[wrong[order] > 0]
    towards = np.where(watched.positive[order], -1.0, 1.0)
    typical = typical_numbers(data.reader, data.typical_rows(np.random.default_rng(0)))
    evidence = row_evidence(data.reader, watched.numbers[order], typical, score, towards)
    names = (data.negative_label, data.positive_label)
    return [
        Suspect(
            row=int(watched.rows[i]) + 1,
            id=None if watched.ids is None else watched.ids[i],
            label=names[int(watched.positive[i])],
            suggested=names[1 - int(watched.positive[i])],
            wrong=float(wrong[i]),
            probability=float(watched.probability[i]),
            evidence=words,
        )
        for i, words in zip(order, evidence, strict=True)
    ]


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


def _information(classifier, data: Prepared, suspicion, level):
    """Say what more labels would be worth; suspicion is of the watched rows."""
    wrong = _wrong(data.positive, classifier.oof_probability_, classifier)
    rate = classifier.noise_rate_
    return Information(
        second_labels=labels_needed(rate, level=level),
        trusted_labels=labels_needed(rate, trusted=True, level=level),
        precision=PRECISION,
        value_of_rate=classifier.value_of_rate_,
        wrong_labels=data.number_of(wrong),
        wrong_in_first_100=float(np.sort(suspicion)[::-1][:100].sum()),
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


def is_fitted(model):
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True
