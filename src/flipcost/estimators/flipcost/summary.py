"""The summary of a fitted `FlipCostClassifier`: one screen that a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.decision import CONSTANTS
from flipcost.core.noise_by_score import furthest_apart

if TYPE_CHECKING:
    from flipcost.estimators.flipcost.result import FitResult

# What the noise models are called for people.
MODEL_WORDS = {
    "none": "no mistakes",
    "symmetric": "both classes alike",
    "missed_positives": "only positives wrong",
    "wrong_negatives": "only negatives wrong",
    "class_conditional": "a rate for each class",
    "no_signal": "columns say nothing",
}
# Checked rows to ask for: with so many the noise tax of ten tables with real noise fell from 0.36
# to 0.04; 30 gave 0.13, 300 gave -0.03 (ten splits by which nothing was chosen).
CHECK_ROWS = 100
# Smaller shares are not shown as numbers: no table can tell them from none.
_LEAST_SHOWN = 0.005
# Where knowing the rate would save less than this share of the cost, other things help more.
_LITTLE = 0.02
_INDENT = " " * 9


def summarize(fit: FitResult, n_features: int, positive: Any) -> str:
    """Return the summary as text.

    Parameters
    ----------
    fit : FitResult
        What was found.
    n_features : int
        Number of features.
    positive : label
        The positive class.

    Examples
    --------
    >>> from flipcost.estimators.flipcost.fit import fit_scores
    >>> from flipcost.estimators.flipcost.options import FitOptions
    >>> from flipcost.estimators.flipcost.scored import ScoredRows
    >>> rows = ScoredRows.from_scores(np.arange(90.0)[None], np.arange(90) % 7 > 3, None)
    >>> fit = fit_scores(rows, FitOptions(0.3, 0.1, "symmetric", 0.95))
    >>> summarize(fit, 2, "ill").splitlines()[0]
    "FlipCostClassifier on 90 rows, 2 features; positive class 'ill'"
    """
    title = f"FlipCostClassifier on {fit.n_rows:,} rows, {n_features} features"
    return "\n".join(
        [
            f"{title}; positive class {positive!r}",
            "",
            "Labels   " + f"\n{_INDENT}".join(_labels(fit)),
            "Assumed  " + f"\n{_INDENT}".join(_assumed(fit)),
            "Prices   " + _prices(fit),
            "",
            f"Clean cost of a row, out of fold and denoised ({percent(fit.options.level)} interval)"
            + _money_words(fit),
            *_costs(fit),
            "",
            "Chosen   " + _choice(fit),
            "Unknown  " + _unknown(fit),
            "Next     " + _advice(fit),
        ]
    )


def percent(share: float) -> str:
    """Return a share in per cent, or that it is too small to tell.

    Examples
    --------
    >>> percent(0.123), percent(0.001), percent(0.0), percent(1.0)
    ('12 %', 'under 0.5 %', '0 %', '100 %')
    """
    return "under 0.5 %" if 0 < share < _LEAST_SHOWN else f"{share:.0%}".replace("%", " %")


def band(low: float, high: float) -> str:
    """Return an interval of shares in per cent.

    Examples
    --------
    >>> band(0.1, 0.3), band(0.001, 0.3), band(0.0, 0.002)
    ('10 % to 30 %', 'up to 30 %', 'under 0.5 %')
    """
    if high < _LEAST_SHOWN:
        return percent(max(high, 1e-9))
    if low < _LEAST_SHOWN:
        return f"up to {percent(high)}"
    return f"{percent(low)} to {percent(high)}"


def _labels(fit: FitResult) -> list[str]:
    """Say how many labels are wrong, as far as that can be told."""
    wrong, limits = fit.wrong_share, fit.posterior.interval(fit.options.level)
    if fit.rate_is_known:
        rates = " and ".join(percent(float(rate)) for rate in fit.posterior.mean)
        return [f"{rates} of positives and negatives are labelled wrong ({fit.source})"]
    by_class = "of the positives {}, of the negatives {}".format(*(band(*ends) for ends in limits))
    bounds = " and ".join(percent(float(rate)) for rate in np.ravel(fit.bounds.high))
    apart = f"if mistakes do not follow the features, at most {bounds}"
    around = f"about {percent(wrong.value)} are wrong ({band(wrong.low, wrong.high)})"
    said = {
        "clean": f"look right: {band(0.0, wrong.value)} wrong by the best estimate",
        "noisy": f"are noisy: {around}",
        "undecided": f"{band(wrong.low, wrong.high)} are wrong: the table cannot tell",
        "no_signal": "the columns say nothing about them, so nothing can be said of mistakes",
        "small": "too few rows of one label to say how many are wrong",
    }[fit.state]
    if fit.state == "no_signal":
        return [said]
    if fit.n_checked:
        return [said, by_class, f"measured on {fit.n_checked:,} checked rows", *_along(fit)]
    return [said, by_class, apart]


def _along(fit: FitResult) -> list[str]:
    """Say where labels are wrong more often than elsewhere, if the checked rows show it."""
    found = furthest_apart(fit.noise_by_score)
    if found is None:
        return []
    side, worse, better = found
    more, less = (band(getattr(part, side).low, getattr(part, side).high) for part in found[1:])
    hard, easy = (f"{percent(part.low)} to {percent(part.high)}" for part in (worse, better))
    return [
        f"mistakes follow the columns: of {side} with a probability of {hard}",
        f"{more} are labelled wrong, with one of {easy} {less}",
    ]


def _assumed(fit: FitResult) -> list[str]:
    """Say which models of the noise were weighed, and how much each counts."""
    weights = {name: share for name, share in (fit.posterior.models or {}).items() if share > 0.005}
    if fit.rate_is_known or not weights:
        return [fit.source]
    shown = [f"{MODEL_WORDS[name]} {percent(share)}" for name, share in weights.items()]
    lines = ["; ".join(shown[:3])]
    if shown[3:]:
        lines[0] += ";"
        lines.append("; ".join(shown[3:]))
    prevalence = fit.options.prevalence
    if prevalence is not None:
        lines.append(
            f"of all rows {band(prevalence.low, prevalence.high)} are positive, as you said"
        )
    return lines


def _prices(fit: FitResult) -> str:
    cost = fit.options.cost
    if fit.options.by_row:
        return (
            "differ by row: a row is called positive where its probability exceeds\n"
            f"{_INDENT}a threshold of its own"
        )
    return (
        f"a missed positive costs {(1 - cost) / cost:.3g} times a false alarm;\n"
        f"{_INDENT}call a row positive above a probability of {cost:.3g}"
    )


def _money_words(fit: FitResult) -> str:
    """Say in what units costs are."""
    in_money = fit.options.unit != 1.0
    return ", in the units of your prices" if in_money else ", as a share of both prices"


def _costs(fit: FitResult) -> list[str]:
    names = {
        "rule": "the rule",
        "all_negative": "always negative",
        "all_positive": "always positive",
    }
    return [
        f"  {names[answer]:<16} {cost.value:8.4f}  ({cost.low:.4f} to {cost.high:.4f})"
        for answer, cost in fit.costs.items()
    ]


def _choice(fit: FitResult) -> str:
    if fit.chosen != "rule":
        return (
            f"always {fit.chosen[4:]}: the evidence is too thin for the rule to beat it;\n"
            f"{_INDENT}predict gives this constant"
        )
    rule, constants = fit.costs["rule"], [fit.costs[name] for name in CONSTANTS]
    better = min(cost.value for cost in constants)
    saved = 1 - rule.value / better if better > 0 else 0.0
    sure = rule.high < min(cost.low for cost in constants)
    hedge = "" if sure else f";\n{_INDENT}the intervals overlap: not certain"
    return f"the rule, which saves {percent(saved)} of the better constant's cost{hedge}"


def _unknown(fit: FitResult) -> str:
    if fit.rate_is_known:
        return "nothing about the rate: it was taken as given, and a wrong one goes unnoticed"
    cost = fit.costs[fit.chosen].value
    share = fit.value_of_rate / cost if cost > 0 else 0.0
    return (
        f"not knowing the rate costs about {fit.value_of_rate:.4f} a row "
        f"({percent(share)} of the clean cost)"
    )


def _advice(fit: FitResult) -> str:
    if fit.rate_is_known:
        return "check the rate: an expert's labels on a few rows, or a second label column"
    little = fit.value_of_rate < _LITTLE * fit.costs[fit.chosen].value
    if fit.state in ("clean", "noisy") and little:
        return "more rows or better features would help more than knowing the rate better"
    if fit.state == "no_signal":
        return "other columns: these cannot tell the two classes apart"
    wanted = min(CHECK_ROWS, fit.n_rows)
    more = "more " if fit.n_checked else ""
    advice = (
        f"check {wanted} {more}rows and give their right labels as `trusted`:\n"
        f"{_INDENT}that tells what the table cannot"
    )
    told = fit.n_checked or fit.options.prevalence is not None
    if told or fit.options.told_rate not in ("integrate", "minimax"):
        return advice
    return (
        f"{advice}; so does the share of positives,\n{_INDENT}known from elsewhere, as `prevalence`"
    )
