"""The mathematics of flipcost: pure functions of arrays, numpy and scipy only.

Rows and moments
----------------
- `moments`: class moments, from rows, merged, denoised
- `priced_moments`: the same where each row has prices of its own
- `solve`: the closed form, at one point or along whole paths
- `folds`: which row is held out when: in order, at random, by a hash
- `scoring`: rows scored by classifiers that have not seen them
- `hinges`: hinge features, the basis of linear splines
- `balanced_ridge`: ridge regression on labels of -1 and 1, from moments, rows or steps
- `additive`: new rows scored fast
- `trees`: sums of small trees, for many rows at once
- `dependence`: rows that depend on each other, and for how many they count
- `memory`: the one limit of memory
- `arrays`: names of kinds of arrays, for signatures
- `files`: whole files of strangers, opened once, regular ones only

Noise
-----
- `judge`: rates of wrong answers of a judge, from rows that people labelled too
- `noise`: what flips do to labels, probabilities, thresholds and counts, and back
- `rates`: noise rates from trusted or repeated labels, with intervals
- `crowds`: true labels and error rates of several annotators

Losses and costs
----------------
- `costs`: what wrong decisions cost, for all rows or each, and the thresholds that follow
- `expressions`: prices written as arithmetic of columns
- `losses`: the weighted 0-1 and the uneven squared loss

Probabilities
-------------
- `calibration`: scores to clean probabilities, for given noise rates
- `noise_posterior`: the posterior over noise rates, and what it leaves in doubt
- `priors`: constants that shape a statistical result
- `checked_rows`: what checked rows tell of cells of label and score, and of costs
- `correction`: a score that checked rows correct where errors follow the columns
- `label_errors`: how many labels are wrong, at each level of supposition
- `systematic`: how many systematic errors change a decision
- `noise_by_score`: noise rates in bands of the score, from checked rows
- `recheck`: which rows to check next, and what that saves
- `quantiles`: weighted quantiles
- `mixtures`: central intervals of mixtures of normal distributions

Decisions
---------
- `confusion`: counts of labels against calls; measures with intervals
- `clean_means`: means of what depends on the clean label, prices by row among it
- `cost_curves`: counts over costs, cells of clean labels
- `quality`: calibration, ROC and precision-recall, as labelled and denoised
- `capacity`: which rows to call when only so many can be
- `depth`: precision, recall, lift and profit at every depth
- `segments`: parts of a table, partially pooled
- `price_curves`: net benefit over thresholds, cost over prices
- `decision`: the rule, the constants, the fallback to these, minimax regret
- `possible`: figures kept to what can be
- `information`: labels needed, labels that are likely wrong, the value of the rate, savings

Names
-----
What the package itself offers is below: the moments and the closed form, the losses, density
ratios, and what noise does to probabilities. All else is imported from its module. `solve` has the
name of the module it lives in: here the name means the function, and ``from flipcost.core.solve
import ...`` still reaches the module. Losses with links and `kliep` live in `flipcost.paper`, and
are imported when they are first asked for.
"""

from importlib import import_module
from typing import Any

from flipcost.core.costs import Costs
from flipcost.core.losses import uneven_squared, weighted_zero_one
from flipcost.core.moments import ClassMoments
from flipcost.core.noise import (
    clean_eta,
    clean_threshold,
    noisy_eta,
    noisy_marginal,
    noisy_threshold,
    transition_matrix,
)
from flipcost.core.solve import solve, solve_path

__all__ = [
    "ClassMoments",
    "Costs",
    "clean_eta",
    "clean_threshold",
    "exponential",
    "kliep",
    "logistic",
    "modified_squared",
    "noisy_eta",
    "noisy_marginal",
    "noisy_threshold",
    "solve",
    "solve_path",
    "squared",
    "transition_matrix",
    "uneven_squared",
    "unhinged",
    "weighted_zero_one",
]

# What only the paper needs, and where it is.
_IN_THE_PAPER = {
    "exponential": "flipcost.paper.losses",
    "kliep": "flipcost.paper.kliep",
    "logistic": "flipcost.paper.losses",
    "modified_squared": "flipcost.paper.losses",
    "squared": "flipcost.paper.losses",
    "unhinged": "flipcost.paper.losses",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    if name not in _IN_THE_PAPER:
        msg = f"module 'flipcost.core' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_IN_THE_PAPER[name]), name)
