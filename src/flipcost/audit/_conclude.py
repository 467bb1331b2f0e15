"""From rows and a fitted classifier to what the audit found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from flipcost.audit._candidates import compare, cost_grid
from flipcost.audit._decisions import more_decisions
from flipcost.audit._effects import (
    Effect,
    column_effects,
    log_odds,
)
from flipcost.audit._facts import column_facts
from flipcost.audit._findings import (
    Findings,
    Information,
    LabelsFound,
    ModelsFound,
    Priced,
    TableFound,
)
from flipcost.audit._judge import judge
from flipcost.audit._recheck import plan_recheck
from flipcost.audit._suspects import find_suspects
from flipcost.core.curves import LabelBins, per_row_cost
from flipcost.core.label_errors import label_errors, probability_wrong
from flipcost.core.quantiles import largest_first
from flipcost.core.rates import PRECISION, labels_needed
from flipcost.tables.arrow import take_column
from flipcost.tables.encoder import PlainColumns
from flipcost.tables.roles import read_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._candidates import Candidate
    from flipcost.audit._effects import RowScore
    from flipcost.audit._rows import Audited
    from flipcost.core.label_errors import LabelErrors
    from flipcost.estimators import FlipCostClassifier


def conclude(
    rows: Audited, classifier: FlipCostClassifier, say: Callable[[str], object]
) -> Findings:
    """Compare the classifier with others, and explain.

    Parameters
    ----------
    rows : Audited
        What was read and asked.
    classifier : FlipCostClassifier
        Fitted on the judged rows, or on all that they stand for.
    say : callable
        Called with a word on each step.

    Returns
    -------
    Findings
    """
    options, judged = rows.options, rows.judged
    encoder, prices = rows.maker.encoder, options.prices
    say("fitting comparison models")
    costs, index = cost_grid(classifier.cost_share_)
    truth = _truth(rows, judged.frame)
    candidates = judge(compare(rows, classifier, costs, index), rows, truth, classifier)
    say("looking for likely errors")
    pipeline = _pipeline(rows, classifier, candidates[0])
    score = _scorer(rows, pipeline[-1])
    watched = rows.watched
    wrong = probability_wrong(watched.positive, watched.probability, classifier.rate_posterior_)
    given = rows.maker.trusted(watched.frame)
    if given is not None:  # what was checked need not be looked at again
        wrong[given != ""] = 0.0
    rng = np.random.default_rng(options.seed)
    suspects = find_suspects(rows, wrong, score, classifier.state_)
    effects = _effects(rows, classifier, score, rng, costs, index)
    say("choosing the rows to check next")
    table = TableFound(
        name=rows.name,
        target=options.target,
        positive=rows.labels[1],
        negative=rows.labels[0],
        n_rows=sum(rows.counts),
        n_rows_total=rows.n_rows_total,
        n_positive=rows.counts[1],
        n_judged=len(judged.positive),
        n_effective=classifier.n_effective_,
        n_test=0 if rows.clean is None else len(rows.clean.positive),
        reading=rows.reading,
        schema=rows.maker.schema,
        columns=column_facts(encoder, rows.cells, judged.positive, options.target),
    )
    priced = Priced(
        prices=prices,
        cost=classifier.cost_share_,
        mean_prices=_mean_prices(rows),
        costs=costs,
        cost_index=index,
        prices_are_assumed=options.cost is None,
    )
    labels = LabelsFound(
        errors=_errors(rows, classifier),
        noise_rate=classifier.noise_rate_,
        noise_interval=classifier.noise_rate_interval_,
        noise_source=classifier.noise_rate_source_,
        wrong_share=classifier.wrong_share_,
        noise_models=classifier.noise_models_,
        noise_bounds=classifier.noise_bounds_,
        noise_by_score=classifier.noise_by_score_,
        break_even=classifier.break_even_,
        posterior=classifier.rate_posterior_,
        bins=LabelBins.from_rows(classifier.oof_probability_, judged.positive, judged.weight),
        suspects=suspects,
        information=_information(rows, classifier, wrong),
        leaks=tuple(rows.leaks),
        known_flips=None if truth is None else _known_flips(rows, truth, wrong),
    )
    models = ModelsFound(
        candidates=candidates,
        chosen=classifier.chosen_,
        model=pipeline,
        effects=effects,
        decisions=more_decisions(rows, classifier, candidates[0], costs),
    )
    return Findings(
        table=table,
        priced=priced,
        labels=labels,
        models=models,
        recheck=plan_recheck(rows, classifier, effects, suspects),
        level=options.level,
        seed=options.seed,
        warnings=rows.warnings + _late_warnings(classifier),
    )


def _errors(rows: Audited, classifier: FlipCostClassifier) -> LabelErrors:
    """Return how many labels are wrong, at each level of supposition."""
    checked = rows.judged.checked
    return label_errors(
        classifier.state_,
        classifier.rate_posterior_,
        classifier.noise_bounds_,
        classifier.wrong_share_,
        rows.counts[1] / sum(rows.counts),
        n_checked=0 if checked is None else len(checked.rows),
        level=rows.options.level,
    )


def _mean_prices(rows: Audited) -> tuple[float, float]:
    """Return what a miss and a false alarm cost on average."""
    prices = rows.judged.prices
    return rows.options.prices.extra if prices is None else prices.mean(rows.judged.weight)


def _truth(rows: Audited, frame: Any) -> NDArray[np.bool_] | None:
    """Return which clean labels of some rows are positive, if there is a column of them."""
    name = rows.options.truth
    if name is None:
        return None
    return np.asarray(read_labels(take_column(frame, name, rows.name), name) == rows.labels[1])


def _scorer(rows: Audited, classifier: Any) -> RowScore:
    """Return what scores cells by log-odds of the positive label.

    The encoder of the classifier, if it has one, has learned of the same rows, so that its cells
    are those of the audit.
    """
    place = int(np.flatnonzero(classifier.classes_ == rows.labels[1])[0])
    features = rows.maker.features
    own = getattr(getattr(classifier, "scorer_", None), "encoder", None) is not None

    def score(cells: NDArray[np.float64]) -> NDArray[np.float64]:
        if own:
            return log_odds(classifier.probability_of_cells(cells)[:, place])
        return log_odds(classifier.predict_proba(features.of_cells(cells))[:, place])

    return score


def _effects(
    rows: Audited,
    classifier: FlipCostClassifier,
    score: RowScore,
    rng: np.random.Generator,
    costs: NDArray[np.float64],
    index: int,
) -> list[Effect]:
    """Return how columns move the model, and what rows cost more without each."""
    typical = rows.judged.typical(rng)
    labels = rows.judged.positive[typical]
    # Where prices differ by row, figures are money, and a row is taken at mean prices here.
    unit = 1.0 if rows.judged.prices is None else classifier.cost_unit_
    price = unit * per_row_cost(classifier.cost_share_, classifier.noise_rate_)
    edges = log_odds(costs)

    def count(odds: NDArray[np.float64], places: NDArray[np.intp]) -> NDArray[np.float64]:
        called = odds[:, None] > edges
        of_label = [labels[places] == label for label in (False, True)]
        positive = np.stack([called[chosen].sum(axis=0) for chosen in of_label], axis=1)
        rows_of = np.array([chosen.sum() for chosen in of_label])
        return np.stack([rows_of - positive, positive], axis=2) / len(places)

    def worth(moved: NDArray[np.float64]) -> float:
        return float(np.sum(price * moved[index]))

    return column_effects(rows.maker.encoder, rows.cells[typical], score, rng, count, worth)


def _known_flips(
    rows: Audited, truth: NDArray[np.bool_], wrong: NDArray[np.float64]
) -> dict[str, int]:
    """Return how many labels are wrong in truth, and how many of the most suspicious."""
    first = largest_first(wrong, 100)
    watched = _truth(rows, rows.watched.frame.take(first))
    return {
        "wrong_labels": round(rows.judged.number_of(truth != rows.judged.positive)),
        "wrong_in_first_100": int(np.sum(watched != rows.watched.positive[first])),
    }


def _information(
    rows: Audited, classifier: FlipCostClassifier, wrong: NDArray[np.float64]
) -> Information:
    """Say what more labels would be worth, given the probability that watched ones are wrong."""
    rate, level, judged = classifier.noise_rate_, rows.options.level, rows.judged
    of_judged = probability_wrong(
        judged.positive, classifier.oof_probability_, classifier.rate_posterior_
    )
    given = rows.maker.trusted(judged.frame)
    if given is not None:
        checked = given != ""
        of_judged[checked] = (given == rows.labels[1])[checked] != judged.positive[checked]
    n_rows = sum(rows.counts)
    return Information(
        second_labels=min(labels_needed(rate, level=level), n_rows),
        trusted_labels=min(labels_needed(rate, trusted=True, level=level), n_rows),
        precision=PRECISION,
        value_of_rate=classifier.value_of_rate_ / rows.options.unit,
        wrong_labels=judged.number_of(of_judged),
        wrong_in_first_100=float(np.sort(wrong)[::-1][:100].sum()),
    )


def _late_warnings(classifier: FlipCostClassifier) -> list[str]:
    found = list(classifier.warnings_)
    # Where nothing can be said, that is said first.
    if classifier.chosen_ == "rule" or classifier.state_ in ("no_signal", "small"):
        return found
    what = "positive" if classifier.chosen_ == "all_positive" else "negative"
    warning = (
        f"No rule is estimated to beat calling every row {what}: the columns say too little, the "
        "labels are too noisy, or the prices are too uneven."
    )
    return [*found, warning]


def _pipeline(rows: Audited, classifier: FlipCostClassifier, winner: Candidate) -> Pipeline:
    """Return the steps from a table to the predictions of the winner, to be saved."""
    model: Any = classifier
    if winner.estimator is not None:
        labels = np.array(rows.labels, dtype=object)[rows.judged.positive.astype(int)]
        model = winner.estimator.set_params(pos_label=rows.labels[1])
        given = {} if rows.costs.is_constant else {"prices": rows.costs}
        model.fit(rows.judged.X, labels, sample_weight=rows.judged.weight, **given)
    first: PlainColumns = rows.maker.features
    if model is classifier and classifier.estimator is None:
        first = PlainColumns(rows.maker.encoder)
    return Pipeline([("columns", first), ("model", model)])
