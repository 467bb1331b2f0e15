"""What candidates cost on clean labels, which of them wins, and what checking rows would save."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.checked_rows import given_label
from flipcost.core.clean_means import cost_sums, denoised_mean, paired_saving
from flipcost.core.confusion import Interval
from flipcost.core.decision import clean_cost
from flipcost.core.noise_posterior import RatePosterior
from flipcost.tables.roles import row_prices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.audit._candidates import Candidate
    from flipcost.audit._rows import Audited
    from flipcost.estimators import FlipCostClassifier

_NOTHING = Interval(0.0, 0.0, 0.0)
_AS_LABELLED = RatePosterior(np.zeros((1, 2)), np.ones(1))


def judge(
    candidates: list[Candidate],
    rows: Audited,
    truth: NDArray[np.bool_] | None,
    classifier: FlipCostClassifier,
) -> list[Candidate]:
    """Attach to candidates what they cost, and put the winner first.

    The flipcost model wins unless another one is clearly cheaper: the interval of what it saves
    against that one, on the same rows, lies below nothing. A saved model, which may have seen the
    rows, is shown but does not win.
    """
    ours = candidates[0]
    found = [_judged(c, ours, rows, truth, classifier) for c in candidates]
    if classifier.state_ == "small":
        return found
    cheaper = [c for c in found[1:] if c.estimator is not None and c.saving_likely.high < 0]
    if not cheaper:
        return found
    winner = min(cheaper, key=lambda c: c.likely.value)
    order = [winner, *(c for c in found if c is not winner)]
    return [_judged(c, winner, rows, truth, classifier) for c in order]


def likely_posterior(classifier: FlipCostClassifier, *, measured: bool) -> RatePosterior:
    """Return the rates that expected costs suppose: random errors, or what checked rows leave.

    Where nothing can be said of label errors: none, so that recorded labels are counted.
    """
    posterior = classifier.rate_posterior_
    if measured or len(posterior.weight) == 1:
        return posterior
    if classifier.state_ in ("no_signal", "small"):
        return RatePosterior(np.zeros((1, 2)), np.ones(1), models=posterior.models)
    return posterior.if_random


def _judged(
    candidate: Candidate,
    winner: Candidate,
    rows: Audited,
    truth: NDArray[np.bool_] | None,
    classifier: FlipCostClassifier,
) -> Candidate:
    judged = rows.judged
    wide = classifier.rate_posterior_
    likely = likely_posterior(classifier, measured=judged.checked is not None)
    same = candidate.key == winner.key
    saving = _NOTHING if same else _saving(rows, classifier, wide, winner, candidate)
    clean = _clean_cost(rows, classifier, wide, candidate.called)
    first = (clean, saving)
    if likely is not wide:
        first = (
            _clean_cost(rows, classifier, likely, candidate.called),
            _NOTHING if same else _saving(rows, classifier, likely, winner, candidate),
        )
    return replace(
        candidate,
        share_called=float(np.average(candidate.called, weights=judged.weight)),
        observed=_observed(rows, candidate),
        clean=clean,
        saving=saving,
        likely=first[0],
        saving_likely=first[1],
        test=_tested(rows, candidate, truth, classifier),
    )


def _observed(rows: Audited, candidate: Candidate) -> Interval:
    """Return what decisions cost by the labels as they are."""
    judged = rows.judged
    # Its own table of decisions, not that of the grid: a saved model may cut elsewhere.
    sums = cost_sums(
        judged.positive,
        candidate.called,
        rows.costs,
        judged.weight,
        judged.table(candidate.called),
    )
    sums = sums.thinned(_design(rows, candidate.called, _AS_LABELLED))
    return denoised_mean(sums, None, rows.options.level)


def _design(
    rows: Audited,
    called: NDArray[np.bool_],
    posterior: RatePosterior,
    rival_called: NDArray[np.bool_] | None = None,
) -> float:
    """Return for how many rows one counts in what decisions cost, beyond what their table says."""
    if rows.costs.is_constant:
        return 1.0
    return rows.judged.design_of(called, rows.costs, posterior, rows.options.level, rival_called)


def _tested(
    rows: Audited,
    candidate: Candidate,
    truth: NDArray[np.bool_] | None,
    classifier: FlipCostClassifier,
) -> Interval | None:
    """Return what decisions cost by labels that are known to be right, if there are any."""
    judged, level, costs = rows.judged, rows.options.level, rows.costs
    design = 1.0
    if truth is not None:
        labels, called, weight = truth, candidate.called, judged.weight
        if judged.ties is not None and not costs.is_constant:
            design = judged.ties.mean_design(costs.paid(labels, called), weight, level)
    elif rows.clean is not None:
        tested = rows.clean.frame if candidate.key == "saved" else rows.clean.X
        if candidate.key == "flipcost":
            tested = rows.maker.inputs(rows.clean.frame, classifier)
        of_test = row_prices(rows.options.prices, rows.clean.frame, "The test table")
        costs = costs if of_test is None else of_test
        called = np.asarray(candidate.predict(tested, costs), dtype=bool)
        labels, weight = rows.clean.positive, None
    else:
        return None
    sums = cost_sums(labels, called, costs, weight).thinned(design)
    return denoised_mean(sums, None, level)


def _clean_cost(
    rows: Audited,
    classifier: FlipCostClassifier,
    posterior: RatePosterior,
    called: NDArray[np.bool_],
) -> Interval:
    """Return what decisions cost on clean labels: by checked rows if there are any."""
    judged = rows.judged
    return clean_cost(
        judged.positive,
        called,
        rows.costs,
        posterior,
        judged.weight,
        table=judged.table(called),
        checked=judged.checked,
        probability=classifier.oof_probability_,
        call_design=lambda called, posterior: _design(rows, called, posterior),
        level=rows.options.level,
    )


def _saving(
    rows: Audited,
    classifier: FlipCostClassifier,
    posterior: RatePosterior,
    winner: Candidate,
    rival: Candidate,
) -> Interval:
    """Return what the decisions of one save over those of a rival, on the same rows."""
    judged, costs, level = rows.judged, rows.costs, rows.options.level
    both = (judged.positive, winner.called, rival.called)
    if judged.checked is None:
        design = _design(rows, winner.called, posterior, rival.called)
        if costs.is_constant and judged.ties is not None:
            cells = both[0] + 2 * both[1].astype(np.intp) + 4 * both[2]
            design = judged.ties.design(cells, judged.weight, level)
        return paired_saving(*both, costs, posterior, judged.weight, level, design)
    score = classifier.oof_probability_
    expected = given_label(score, judged.positive, posterior.mean)
    low, high = judged.checked.saving_interval(*both, expected, costs, judged.weight, level, score)
    ours, theirs = (
        _clean_cost(rows, classifier, posterior, c.called).value for c in (winner, rival)
    )
    value = theirs - ours
    return Interval(value, min(low, value), max(high, value))
