"""The summary of a fitted `FlipCostClassifier`: one screen that a person can read."""

# ruff: noqa: SLF001 - this is a part of the classifier, in a room of its own

from __future__ import annotations

import numpy as np

from flipcost.core.information import PRECISION, labels_needed
from flipcost.core.rate_posterior import integrate_rates

# A Bayes factor above this is worth a warning, below its inverse worth nothing.
_SPEAKS_AGAINST = 3.0


def summarise(model):
    """Return the summary as text."""
    title = f"FlipCostClassifier on {model._n_rows:,} rows, {model.n_features_in_} features"
    lines = [
        f"{title}; positive class {_positive(model)!r}",
        "",
        "Prices   " + _prices(model),
        "Noise    " + _noise(model),
        *(f"         {line}" for line in _doubts(model)),
        "",
        f"Clean cost of a row, out of fold and denoised ({model.level:.0%} interval)",
        *_costs(model),
        "",
        "Chosen   " + _choice(model),
        "Unknown  " + _unknown(model),
        "Next     " + _advice(model),
    ]
    return "\n".join(lines)


def _positive(model):
    return model.classes_[[0 if model._flip else 1]].tolist()[0]


def _prices(model):
    cost = model._cost
    return (
        f"a missed positive costs {(1 - cost) / cost:.3g} times a false alarm;\n"
        f"         call a row positive above a probability of {cost:.3g}"
    )


def _noise(model):
    low_high = model.noise_rate_interval_
    if np.ndim(model.noise_rate_):
        parts = (
            f"P(flipped | {name}) {rate:.3f} ({low:.3f} to {high:.3f})"
            for name, rate, (low, high) in zip(
                ("positive", "negative"), model.noise_rate_, low_high, strict=True
            )
        )
        rates = "; ".join(parts)
    else:
        rates = f"rate {model.noise_rate_:.3f} ({low_high[0]:.3f} to {low_high[1]:.3f}), symmetric"
    return f"{rates}\n         {model.noise_rate_source_}"


def _doubts(model):
    """Say when the data speak against symmetric noise."""
    if model.noise_model != "symmetric" or model.noise_rate not in ("integrate", "minimax"):
        return []
    factor = asymmetry(model)
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


def asymmetry(model):
    """Return how much better two rates explain the labels than one does: a Bayes factor."""
    both = integrate_rates(model._bins, "auto")
    weight = both.weight.sum(axis=0)
    symmetric = weight[both.rates[:, 0] == both.rates[:, 1]].sum()
    # Pairs on the diagonal of the square count as symmetric: a hair against asymmetry.
    return float(np.clip((1 - symmetric) / max(symmetric, 1e-9), 0.0, 1e9))


def _costs(model):
    rows = [("the rule", model.rule_cost_)]
    rows += [(f"always {name[4:]}", value) for name, value in model.constant_costs_.items()]
    return [f"  {n:<16} {v.value:8.4f}  ({v.low:.4f} to {v.high:.4f})" for n, v in rows]


def _choice(model):
    better = min(interval.value for interval in model.constant_costs_.values())
    if model.chosen_ != "rule":
        return (
            f"always {model.chosen_[4:]}: the evidence is too thin for the rule to beat it;\n"
            "         predict gives this constant"
        )
    saved = 1 - model.rule_cost_.value / better if better > 0 else 0.0
    sure = model.rule_cost_.high < min(c.low for c in model.constant_costs_.values())
    hedge = "" if sure else ";\n         the intervals overlap: not certain"
    return f"the rule, which saves {saved:.0%} of the better constant's cost{hedge}"


def _unknown(model):
    if len(model.rate_posterior_.weight) == 1:
        return "nothing about the rate: it was taken as given, and a wrong one goes unnoticed"
    share = model.value_of_rate_ / model.cost_estimate_ if model.cost_estimate_ > 0 else 0.0
    return (
        f"not knowing the rate costs about {model.value_of_rate_:.4f} a row "
        f"({share:.0%} of the clean cost)"
    )


def _advice(model):
    if len(model.rate_posterior_.weight) == 1:
        return "check the rate: an expert's labels on a few rows, or a second label column"
    if model.value_of_rate_ < 0.02 * model.cost_estimate_:
        return "the rate is known well enough; more rows or better features would help more"
    wanted = labels_needed(model.noise_rate_, level=model.level)
    return (
        f"what would help most: a second, independent label on about {wanted:,} rows\n"
        f"         would pin the rate to within {PRECISION:g}"
    )
