"""The summary of a fitted `FlipCostClassifier`: one screen that a person can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.decision import CONSTANTS
from flipcost.core.information import PRECISION, labels_needed
from flipcost.core.rate_posterior import integrate_rates

if TYPE_CHECKING:
    from flipcost.estimators.flipcost.fit import FitResult

# A Bayes factor above this is worth a warning, below its inverse worth nothing: Jeffreys' bound
# of evidence that is more than a mention.
_SPEAKS_AGAINST = 3.0
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
    >>> from flipcost.estimators.flipcost.fit import FitOptions, ScoredRows, fit_scores
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
            "Prices   " + _prices(fit),
            "Noise    " + _noise(fit),
            *(_INDENT + line for line in _doubts(fit)),
            "",
            f"Clean cost of a row, out of fold and denoised ({fit.options.level:.0%} interval)",
            *_costs(fit),
            "",
            "Chosen   " + _choice(fit),
            "Unknown  " + _unknown(fit),
            "Next     " + _advice(fit),
        ]
    )


def _prices(fit: FitResult) -> str:
    cost = fit.options.cost
    return (
        f"a missed positive costs {(1 - cost) / cost:.3g} times a false alarm;\n"
        f"{_INDENT}call a row positive above a probability of {cost:.3g}"
    )


def _noise(fit: FitResult) -> str:
    limits = fit.posterior.interval(fit.options.level)
    shown = [
        f"{rate:.3f} ({low:.3f} to {high:.3f})"
        for rate, (low, high) in zip(fit.posterior.mean, limits, strict=True)
    ]
    if fit.posterior.is_symmetric:
        return f"rate {shown[0]}, symmetric\n{_INDENT}{fit.source}"
    names = zip(("positive", "negative"), shown, strict=True)
    rates = "; ".join(f"P(flipped | {name}) {rate}" for name, rate in names)
    return f"{rates}\n{_INDENT}{fit.source}"


def _doubts(fit: FitResult) -> list[str]:
    """Say when the data speak against symmetric noise."""
    rate = fit.options.noise_rate
    integrated = isinstance(rate, str) and rate in ("integrate", "minimax")
    if fit.options.noise_model != "symmetric" or not integrated:
        return []
    factor = _asymmetry(fit)
    if factor < 1 / _SPEAKS_AGAINST:
        return ["the labels speak for equal rates in both classes, as assumed"]
    if factor < _SPEAKS_AGAINST:
        return [
            "equal rates in both classes are assumed; these labels cannot tell",
            f"(two rates explain them {factor:.2g} times as well)",
        ]
    return [
        f"the labels speak AGAINST equal rates in both classes ({factor:.3g} : 1): fit again",
        'with noise_model="class_conditional" and compare',
    ]


def _asymmetry(fit: FitResult) -> float:
    """Return how much better two rates explain the labels than one does: a Bayes factor."""
    both = integrate_rates(fit.bins, "auto")
    weight = both.weight.sum(axis=0)
    symmetric = weight[both.rates[:, 0] == both.rates[:, 1]].sum()
    # Pairs on the diagonal of the square count as symmetric: a hair against asymmetry.
    return float(np.clip((1 - symmetric) / max(symmetric, 1e-9), 0.0, 1e9))


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
    return f"the rule, which saves {saved:.0%} of the better constant's cost{hedge}"


def _unknown(fit: FitResult) -> str:
    if fit.rate_is_known:
        return "nothing about the rate: it was taken as given, and a wrong one goes unnoticed"
    cost = fit.costs[fit.chosen].value
    share = fit.value_of_rate / cost if cost > 0 else 0.0
    return (
        f"not knowing the rate costs about {fit.value_of_rate:.4f} a row "
        f"({share:.0%} of the clean cost)"
    )


def _advice(fit: FitResult) -> str:
    if fit.rate_is_known:
        return "check the rate: an expert's labels on a few rows, or a second label column"
    if fit.value_of_rate < _LITTLE * fit.costs[fit.chosen].value:
        return "the rate is known well enough; more rows or better features would help more"
    wanted = labels_needed(fit.noise_rate, level=fit.options.level)
    return (
        f"what would help most: a second, independent label on about {wanted:,} rows\n"
        f"{_INDENT}would pin the rate to within {PRECISION:g}"
    )
