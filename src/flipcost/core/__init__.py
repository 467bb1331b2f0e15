"""The mathematics of flipcost: pure functions of arrays, numpy and scipy only.

Rows and moments
----------------
- `moments`: class moments, from rows, merged, denoised, in files
- `solve`: the closed form, at one point or along whole paths, with one cost or costs by row
- `folds`: which row is held out when: in order, at random, by a hash
- `scoring`: rows scored by classifiers that have not seen them; linear splines; new rows fast
- `balanced_ridge`: ridge regression on labels of -1 and 1, from moments, rows or steps
- `trees`: sums of small trees, for many rows at once
- `dependence`: rows that depend on each other, and their design effect
- `system`: how much memory there is, and whole files that may come from anyone
- `arrays`: kinds of arrays, for signatures; weighted quantiles

Noise
-----
- `noise`: what flips do to labels, probabilities and counts, and back; rates from repeated labels
- `annotators`: true labels and error rates, of several annotators or of a judge beside people

Losses and costs
----------------
- `costs`: what wrong decisions cost, for all rows or each, as numbers or arithmetic of columns
- `losses`: the weighted 0-1 and the uneven squared loss

Probabilities
-------------
- `calibration`: scores to clean probabilities, for given noise rates
- `noise_posterior`: infers the rates: models of the noise, the search, the prevalence prior
- `error_rates`: what is known of the two rates, and intervals of what follows from them
- `priors`: constants that shape a statistical result
- `checked_rows`: what checked rows tell of cells of label and score, of rates, and of costs
- `correction`: a score that checked rows correct where errors follow the columns
- `label_errors`: how many labels are wrong, which, and how many would change a decision
- `recheck`: which rows to check next, and what that saves

Decisions
---------
- `confusion`: counts of labels against decisions; measures with intervals, clipped to what can be
- `clean_means`: means of what depends on the clean label, costs by row among it
- `curves`: calibration, ROC, precision and recall, net benefit, and cost
- `gains`: which rows to flag when their number is limited, and what the best rows bring
- `segments`: figures of segments of a table, partially pooled
- `decision`: the rule, the constants, the fallback to these, minimax regret

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
