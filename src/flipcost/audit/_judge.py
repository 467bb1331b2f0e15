"""What candidates cost on clean labels, which of them wins, and what checking rows would save."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.audit._result import Checks
from flipcost.core.checked_rows import given_label
from flipcost.core.clean_means import cost_sums, denoised_mean
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.decision import clean_cost
from flipcost.core.information import paired_saving
from flipcost.core.noise_posterior import RatePosterior
from flipcost.core.quantiles import largest_first
from flipcost.core.recheck import value_checks
from flipcost.tables.roles import row_prices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.audit._candidates import Candidate
    from flipcost.audit._rows import Audited
    from flipcost.estimators import FlipCostClassifier

# Checked rows to ask for; see `flipcost.estimators.flipcost.summary.CHECK_ROWS`.
_CHECKS = 100
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
    """Return the rates that figures suppose which are shown first.

    Where labels look right: those of the posterior, which hold if mistakes do not follow the
    columns. Where nothing can be said of mistakes: none. Else all that intervals allow for.
    """
    posterior = classifier.rate_posterior_
    if measured or len(posterior.weight) == 1:
        return posterior
    if classifier.state_ == "clean":
        return RatePosterior(posterior.rates, posterior.weight, models=posterior.models)
    if classifier.state_ in ("no_signal", "small"):
        return RatePosterior(np.zeros((1, 2)), np.ones(1), models=posterior.models)
    return posterior


def value_of_checks(rows: Audited, classifier: FlipCostClassifier) -> Checks | None:
    """Return what checking rows would save: picked ones, random ones, the most suspicious."""
    judged, posterior = rows.judged, classifier.rate_posterior_
    n_checked = 0 if judged.checked is None else len(judged.checked.rows)
    n = min(_CHECKS, sum(rows.counts) - n_checked)
    doubtful = len(posterior.weight) > 1 and classifier.state_ not in ("no_signal", "small")
    if n < 1 or not doubtful:
        return None
    asked = (judged.positive, classifier.oof_probability_, posterior, classifier.cost_share_, n)
    # Where prices differ by row, figures are money already, and what a row's are worth on average.
    unit = 1.0 if judged.prices is None else classifier.cost_unit_
    options: dict[str, Any] = {
        "checked": judged.checked,
        "sample_weight": judged.weight,
        "level": rows.options.level,
    }
    picked = value_checks(*asked, **options)
    first = largest_first(picked.suspicion, n)
    return Checks(
        n_rows=n,
        picked=_times(picked.saving, unit),
        random=_times(value_checks(*asked, **options, random=True).saving, unit),
        suspects=_times(value_checks(*asked, **options, rows=first).saving, unit),
    )


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
        test=_tested(rows, candidate, truth),
    )


def _observed(rows: Audited, candidate: Candidate) -> Interval:
    """Return what calls cost by the labels as they are."""
    judged, level = rows.judged, rows.options.level
    if judged.prices is not None:
        sums = cost_sums(judged.positive, candidate.called, judged.prices, judged.weight)
        design = judged.design_of(candidate.called, judged.prices, _AS_LABELLED, level)
        return denoised_mean(sums.thinned(design), None, level)
    # Its own table of calls, not that of the grid: a saved model may cut elsewhere.
    table = judged.table(candidate.called)
    return table.interval("cost", cost=rows.options.prices.alpha, level=level)


def _tested(
    rows: Audited, candidate: Candidate, truth: NDArray[np.bool_] | None
) -> Interval | None:
    """Return what calls cost by labels that are known to be right, if there are any."""
    judged, level, prices = rows.judged, rows.options.level, rows.judged.prices
    if truth is not None:
        labels, called, weight = truth, candidate.called, judged.weight
    elif rows.clean is not None:
        tested = rows.clean.frame if candidate.key == "saved" else rows.clean.X
        prices = row_prices(rows.options.prices, rows.clean.frame, "The test table")
        given = () if prices is None else (prices,)
        called = np.asarray(candidate.predict(tested, *given), dtype=bool)
        labels, weight = rows.clean.positive, None
    else:
        return None
    if prices is not None:
        sums = cost_sums(labels, called, prices, weight)
        if truth is not None and judged.ties is not None:
            values = prices.paid(labels, called)
            sums = sums.thinned(judged.ties.mean_design(values, weight, level))
        return denoised_mean(sums, None, level)
    table = ConfusionCounts.from_labels(labels, called, weight)
    return table.interval("cost", cost=rows.options.prices.alpha, level=level)


def _times(found: Interval, unit: float) -> Interval:
    return Interval(unit * found.value, unit * found.low, unit * found.high)


def _clean_cost(
    rows: Audited,
    classifier: FlipCostClassifier,
    posterior: RatePosterior,
    called: NDArray[np.bool_],
) -> Interval:
    """Return what calls cost on clean labels: on checked rows if there are any, else denoised."""
    judged, prices, level = rows.judged, rows.judged.prices, rows.options.level

    def call_design(called: NDArray[np.bool_], posterior: RatePosterior) -> float:
        return 1.0 if prices is None else judged.design_of(called, prices, posterior, level)

    return clean_cost(
        judged.positive,
        called,
        rows.cost,
        posterior,
        judged.weight,
        table=judged.table(called),
        checked=judged.checked,
        probability=classifier.oof_probability_,
        call_design=call_design,
        level=level,
    )


def _saving(
    rows: Audited,
    classifier: FlipCostClassifier,
    posterior: RatePosterior,
    winner: Candidate,
    rival: Candidate,
) -> Interval:
    """Return what the calls of one save over those of a rival, on the same rows."""
    judged, cost, level = rows.judged, rows.cost, rows.options.level
    both = (judged.positive, winner.called, rival.called)
    if judged.checked is None:
        design = 1.0
        if judged.prices is not None:
            called = (winner.called, judged.prices, posterior, level, rival.called)
            design = judged.design_of(*called)
        elif judged.ties is not None:
            cells = both[0] + 2 * both[1].astype(np.intp) + 4 * both[2]
            design = judged.ties.design(cells, judged.weight, level)
        return paired_saving(*both, cost, posterior, judged.weight, level, design)
    score = classifier.oof_probability_
    expected = given_label(score, judged.positive, posterior.mean)
    low, high = judged.checked.saving_interval(*both, expected, cost, judged.weight, level, score)
    ours, theirs = (
        _clean_cost(rows, classifier, posterior, c.called).value for c in (winner, rival)
    )
    value = theirs - ours
    return Interval(value, min(low, value), max(high, value))
