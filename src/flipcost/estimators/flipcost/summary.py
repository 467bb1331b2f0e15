"""The summary of a fitted `FlipCostClassifier`: one screen that a person can read."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from flipcost.core.checked_rows import furthest_apart
from flipcost.core.decision import CONSTANTS
from flipcost.words import (
    LEAST_SHARE,
    break_even_sentence,
    errors_sentence,
    figure,
    label,
    percent,
    share_span,
    shares,
    span,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flipcost.core.label_errors import LabelErrors
    from flipcost.estimators.flipcost.result import FitResult
    from flipcost.estimators.flipcost.scores import ScoreParts

# What the models of label errors are called for people.
_MODEL_WORDS = {
    "none": "no errors",
    "symmetric": "one rate for both classes",
    "missed_positives": "only {positives} mislabelled",
    "wrong_negatives": "only {negatives} mislabelled",
    "class_conditional": "a rate for each class",
    "no_signal": "columns do not predict the label",
}
# Checked rows to ask for: with these the savings lost on ten noisy tables fell from 0.36
# to 0.04; 30 gave 0.13, 300 gave -0.03 (ten splits not used in development).
CHECK_ROWS = 100
_NAMES = {"rule": "this model", "all_negative": "flag none", "all_positive": "flag all"}
_WIDTH = 88


def summarize(
    fit: FitResult,
    n_features: int,
    positive: Any,
    n_rows: int | None = None,
    parts: ScoreParts | None = None,
) -> str:
    """Return the summary as text."""
    rows = f"{fit.n_rows:,} rows"
    if n_rows not in (None, fit.n_rows):
        rows = f"{n_rows:,} rows (learned from {fit.n_rows:,} weighted to represent all)"
    title = f"FlipCostClassifier on {rows}, {n_features} features"
    per_row = "in your units" if fit.options.unit != 1.0 else "as a share of both costs"
    costs = [
        f"  {_NAMES[answer]:<12} {span(cost)}" + ("  (chosen)" if answer == fit.chosen else "")
        for answer, cost in fit.costs.items()
    ]
    scores = "" if parts is None else f"Scores: {scores_sentence(parts, fit.n_checked)}"
    lines = [
        f"{title}; positive class {label(positive)}",
        *_wrapped(scores),
        "",
        *_wrapped(_errors(fit, positive)),
        "",
        *_wrapped(_costs(fit)),
        f"Expected cost per row, {per_row} ({percent(fit.options.level)} interval):",
        *costs,
        "",
        *_wrapped(_use(fit)),
        *_wrapped(_systematic(fit)),
        *_wrapped(_next(fit)),
    ]
    return "\n".join(lines)


def scores_sentence(parts: ScoreParts, n_checked: int) -> str:
    """Say what the scores are made of, and what was left out.

    Examples
    --------
    >>> from flipcost.estimators.flipcost.scores import ScoreParts
    >>> scores_sentence(ScoreParts(0, 64, True, ()), 50)
    'linear, boosting of 64 trees, corrected by 50 checked rows.'
    """
    said = ["linear"]
    said += [f"splines of {parts.knots:,} knots"] if parts.knots else []
    said += [f"boosting of {parts.trees:,} trees"] if parts.trees else []
    said += [f"corrected by {n_checked:,} checked rows"] if parts.corrected else []
    left_out = f" Left out: {'; '.join(parts.left_out)}." if parts.left_out else ""
    return f"{', '.join(said)}.{left_out}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_on_hyphens=False)


def _errors(fit: FitResult, positive: Any) -> str:
    """Say how many labels are wrong, and how that is known."""
    bins, found = fit.bins[0], fit.label_errors
    is_rare = bins.positive.sum() <= bins.negative.sum()
    rare = label(positive) if is_rare else "the other class"
    names = ("the other class", label(positive))
    said = errors_sentence(found, "the label", names, (round(bins.rarer), rare))
    if found.is_given or fit.state in ("no_signal", "small"):
        return said
    return f"{said} {_by_class(found)}{_assumed(fit)}{_by_score(fit)}"


def _by_class(errors: LabelErrors) -> str:
    missed, false = (share_span(rate) for rate in errors.rates)
    return f"Of the positives {missed} are mislabelled, of the negatives {false}."


def _by_score(fit: FitResult) -> str:
    """Say where labels are wrong more often than elsewhere, if the checked rows show it."""
    found = furthest_apart(fit.noise_by_score)
    if found is None:
        return ""
    side, *bands = found
    hard, easy = (
        f"{shares(getattr(part, side).low, getattr(part, side).high)} at a probability of "
        f"{shares(part.low, part.high)}"
        for part in bands
    )
    return f" Errors are systematic: of the {side}, {hard}, and {easy}."


def models_phrase(
    weights: Mapping[str, float], negatives: str = "negatives", positives: str = "positives"
) -> str:
    """Name the models of the errors that were weighed, and how much each counts."""
    return "; ".join(
        f"{_MODEL_WORDS[name].format(negatives=negatives, positives=positives)} {percent(share)}"
        for name, share in weights.items()
        if share > LEAST_SHARE
    )


def _assumed(fit: FitResult) -> str:
    """Say which models of the errors were weighed, and how much each counts."""
    shown = models_phrase(fit.posterior.models or {})
    said = f" Error models, by posterior weight: {shown}." if shown else ""
    known = fit.options.prevalence
    if known is not None:
        said += f" Of all rows {shares(known.low, known.high)} are positive, as you said."
    return said


def _costs(fit: FitResult) -> str:
    if fit.options.by_row:
        return "Costs differ by row, and each row is decided at its own."
    cost = fit.options.cost
    return (
        f"A miss costs {figure((1 - cost) / cost)} times a false alarm: decision threshold "
        f"{percent(cost)}."
    )


def _use(fit: FitResult) -> str:
    constants = {name: fit.costs[name] for name in CONSTANTS}
    better = min(constants, key=lambda name: constants[name].value)
    if fit.chosen != "rule":
        every = "every" if fit.chosen == "all_positive" else "no"
        return f"Flag {every} row: the model is not expected to beat that."
    saved = constants[better].value - fit.costs["rule"].value
    share = saved / constants[better].value if constants[better].value > 0 else 0.0
    what = _NAMES[better].replace("flag", "flagging")
    if saved <= 0:
        return f"Use this model: it costs about as much as {what}."
    return f"Use this model: it saves about {figure(saved)} per row over {what} ({percent(share)})."


def _systematic(fit: FitResult) -> str:
    """Say how many systematic errors would change the decision."""
    if fit.rate_is_known or fit.state in ("no_signal", "small"):
        return ""
    return break_even_sentence(
        fit.break_even, fit.chosen, ("negative", "positive"), fit.n_rows - fit.n_checked
    )


def _next(fit: FitResult) -> str:
    n = min(CHECK_ROWS, fit.n_rows - fit.n_checked)
    more = "more " if fit.n_checked else ""
    check = f"Next: check {n} {more}rows and give their right labels as `trusted`"
    if fit.rate_is_known:
        return f"{check}, to test that rate."
    if fit.state == "small":
        return "Next: label more rows, of the rarer class above all."
    if fit.state == "no_signal":
        return "Next: add columns that separate the classes."
    known = fit.n_checked or fit.options.prevalence is not None
    known = known or fit.options.given_rate not in ("integrate", "minimax")
    settled = fit.state == "clean" or (fit.state == "noisy" and known)
    if n < 1 or (settled and not fit.decision_is_open):
        return "Next: deploy it."
    if known:
        return f"{check}, to narrow that range."
    return f"{check}, or the true share of positives as `prevalence`, to narrow that range."
