"""From rows and a fitted classifier to what the audit found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from flipcost.audit._decisions import more_decisions
from flipcost.audit._explain import column_effects, column_facts, find_suspects, log_odds
from flipcost.audit._findings import (
    Findings,
    Information,
    LabelsFound,
    ModelsFound,
    Priced,
    TableFound,
)
from flipcost.audit._models import compare, cost_grid
from flipcost.audit._recheck import plan_recheck
from flipcost.core.arrays import largest_first
from flipcost.core.curves import LabelBins, per_row_cost
from flipcost.core.label_errors import label_errors, probability_wrong
from flipcost.core.rates import PRECISION, labels_needed
from flipcost.estimators.flipcost.scores import GivenScores
from flipcost.tables.steps import PlainColumns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._explain import Effect, RowScore
    from flipcost.audit._fit import AuditData
    from flipcost.audit._models import Candidate

    Array = NDArray[np.float64]


def assemble(data: AuditData, say: Callable[[str], object]) -> Findings:
    """Compare the classifier with others, explain it, and choose the rows to check next."""
    options, rows, model, counts = data.options, data.rows, data.classifier, data.counts
    say("fitting comparison models")
    costs, index = cost_grid(model.cost_share_)
    candidates = compare(data, costs, index)
    say("looking for likely errors")
    pipeline = _pipeline(data, candidates[0])
    score = _scorer(data, pipeline[-1])
    wrong = _pool_wrong(data)
    suspects = find_suspects(data, wrong, score)
    effects = _effects(data, score, costs, index)
    say("choosing the rows to check next")
    table = TableFound(
        name=data.source.name,
        target=options.target,
        positive=data.labels[1],
        negative=data.labels[0],
        n_rows=sum(counts),
        n_rows_total=data.facts.n_rows,
        n_positive=counts[1],
        n_judged=len(rows.positive),
        n_effective=model.n_effective_,
        n_test=0 if data.test is None else len(data.test.positive),
        reading=data.source.reading,
        schema=data.maker.schema,
        columns=column_facts(data.maker.encoder, data.cells, rows.positive, options.target),
    )
    priced = Priced(
        prices=options.prices,
        cost=model.cost_share_,
        mean_prices=data.money.mean(rows.weight),
        costs=costs,
        cost_index=index,
        prices_are_assumed=options.cost is None,
    )
    errors = label_errors(
        model.state_,
        model.rate_posterior_,
        model.noise_bounds_,
        model.wrong_share_,
        counts[1] / sum(counts),
        model.n_effective_,
        n_checked=0 if rows.checked is None else len(rows.checked.rows),
        n_clean=0 if data.test is None else len(data.test.positive),
        level=rows.level,
    )
    labels = LabelsFound(
        errors=errors,
        noise_rate=model.noise_rate_,
        noise_interval=model.noise_rate_interval_,
        noise_source=model.noise_rate_source_,
        wrong_share=model.wrong_share_,
        noise_models=model.noise_models_,
        noise_bounds=model.noise_bounds_,
        noise_by_score=model.noise_by_score_,
        break_even=model.break_even_,
        posterior=model.rate_posterior_,
        bins=LabelBins.from_rows(model.oof_probability_, rows.positive, rows.weight),
        suspects=suspects,
        information=_information(data, wrong),
        leaks=tuple(data.leaks),
        pooled=data.pooled,
        known_flips=_known_flips(data, wrong),
    )
    models = ModelsFound(
        candidates=candidates,
        chosen=model.chosen_,
        model=pipeline,
        effects=effects,
        decisions=more_decisions(data, candidates[0], costs),
    )
    return Findings(
        table=table,
        priced=priced,
        labels=labels,
        models=models,
        recheck=plan_recheck(data, effects, suspects),
        level=options.level,
        seed=options.random_state,
        warnings=data.warnings + _late_warnings(data),
    )


def _pipeline(data: AuditData, winner: Candidate) -> Pipeline:
    """Return the steps from a table to the predictions of the winner, to be saved."""
    model: Any = data.classifier
    first: Any = data.maker.features
    if winner.estimator is not None:
        labels = np.array(data.labels, dtype=object)[data.rows.positive.astype(int)]
        model = winner.estimator.set_params(pos_label=data.labels[1])
        given = {} if data.rows.costs.is_constant else {"prices": data.rows.costs}
        model.fit(data.rows.X, labels, sample_weight=data.rows.weight, **given)
    elif model.estimator is None:
        first = PlainColumns(data.maker.encoder)
    return Pipeline([("columns", first), ("model", model)])


def _scorer(data: AuditData, model: Any) -> RowScore:
    """Return what scores cells by log-odds of the positive label.

    The encoder of the classifier, if it has one, has learned from the same rows, so that its cells
    are those of the audit.
    """
    place = int(np.flatnonzero(model.classes_ == data.labels[1])[0])
    own = getattr(getattr(model, "scorer_", None), "encoder", None) is not None

    def score(cells: Array) -> Array:
        if isinstance(getattr(model, "scorer_", None), GivenScores):
            return log_odds(model.predict_proba(cells)[:, place])
        if own:
            return log_odds(model.probability_of_cells(cells)[:, place])
        return log_odds(model.predict_proba(data.maker.features.of_cells(cells))[:, place])

    return score


def _pool_wrong(data: AuditData) -> Array:
    """Return the probability that each label of the pool is wrong; of checked rows 0."""
    pool, model = data.pool, data.classifier
    if data.pooled is None:
        wrong = probability_wrong(pool.positive, pool.probability, model.rate_posterior_)
    else:
        wrong = data.pooled.wrong[np.searchsorted(data.pooled.rows, pool.numbers)]
    given = data.maker.trusted(pool.frame)
    if given is not None:  # what was checked need not be looked at again
        wrong[given != ""] = 0.0
    return wrong


def _effects(data: AuditData, score: RowScore, costs: Array, index: int) -> list[Effect]:
    """Return how columns move the model, and what rows cost more without each."""
    model, rng = data.classifier, np.random.default_rng(data.options.random_state)
    typical = data.rows.typical(rng)
    labels = data.rows.positive[typical]
    # Where costs differ by row, figures are money, and a row is taken at mean costs here.
    unit = 1.0 if data.rows.costs.is_constant else model.cost_unit_
    price = unit * per_row_cost(model.cost_share_, model.noise_rate_)
    edges = log_odds(costs)

    def count(odds: Array, places: NDArray[np.intp]) -> Array:
        called = odds[:, None] > edges
        of_label = [labels[places] == label for label in (False, True)]
        positive = np.stack([called[chosen].sum(axis=0) for chosen in of_label], axis=1)
        rows_of = np.array([chosen.sum() for chosen in of_label])
        return np.stack([rows_of - positive, positive], axis=2) / len(places)

    def worth(moved: Array) -> float:
        return float(np.sum(price * moved[index]))

    return column_effects(data.maker.encoder, data.cells[typical], score, rng, count, worth)


def _known_flips(data: AuditData, wrong: Array) -> dict[str, int] | None:
    """Return how many labels are wrong in truth, and how many of the likeliest errors."""
    if data.truth is None:
        return None
    first = largest_first(wrong, 100)
    pool = data.truth_of(data.pool.frame.take(first))
    return {
        "wrong_labels": round(data.rows.number_of(data.truth != data.rows.positive)),
        "wrong_in_first_100": int(np.sum(pool != data.pool.positive[first])),
    }


def _information(data: AuditData, wrong: Array) -> Information:
    """Return what more labels are worth, given the probability that those of the pool are wrong."""
    rows, model, level = data.rows, data.classifier, data.rows.level
    of_rows = probability_wrong(rows.positive, model.oof_probability_, model.rate_posterior_)
    given = data.maker.trusted(rows.frame)
    if given is not None:
        checked = given != ""
        of_rows[checked] = (given == data.labels[1])[checked] != rows.positive[checked]
    n_rows, rate = sum(data.counts), model.noise_rate_
    return Information(
        second_labels=min(labels_needed(rate, level=level), n_rows),
        trusted_labels=min(labels_needed(rate, trusted=True, level=level), n_rows),
        precision=PRECISION,
        value_of_rate=model.value_of_information_ / data.options.unit,
        wrong_labels=rows.number_of(of_rows),
        wrong_in_first_100=float(np.sort(wrong)[::-1][:100].sum()),
    )


def _late_warnings(data: AuditData) -> list[str]:
    """Return the warnings of the fit, and that a constant was chosen."""
    model = data.classifier
    # Where nothing can be said, that is said first.
    if model.chosen_ == "rule" or model.state_ in ("no_signal", "small"):
        return list(model.warnings_)
    what = "positive" if model.chosen_ == "all_positive" else "negative"
    warning = (
        f"No rule is estimated to beat calling every row {what}: the columns say too little, the "
        "labels are too noisy, or the prices are too uneven."
    )
    return [*model.warnings_, warning]
