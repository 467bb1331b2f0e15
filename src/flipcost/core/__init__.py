"""The mathematics of flipcost: pure functions of arrays, numpy and scipy only.

Rows and moments
----------------
- `moments`: class moments, from rows, merged, denoised
- `priced_moments`: the same where each row has prices of its own
- `solve`: the closed form, at one point or along whole paths
- `newton`: linear models by Newton steps
- `folds`: which row is held out when: in order, at random, by a hash
- `scoring`: rows scored by classifiers that have not seen them
- `hinges`: hinge features, the basis of linear splines
- `balanced_ridge`: ridge regression on labels of -1 and 1, from moments, rows or steps
- `additive`: new rows scored fast
- `trees`: sums of small trees, for many rows at once
- `dependence`: rows that depend on each other, and for how many they count
- `memory`: the one limit of memory
- `arrays`: names of kinds of arrays, for signatures
- `archive`: files of arrays, unpacked within bounds

Noise
-----
- `noise`: what flips do to labels, probabilities, thresholds and counts, and back
- `rates`: noise rates from trusted or repeated labels, with intervals
- `annotators`: rates of several annotators
- `forward`: the rate by likelihood in a logistic model

Losses and costs
----------------
- `costs`: prices and the share that a false positive bears
- `prices`: prices of each row, and the threshold that follows from them
- `row_prices`: prices as estimators and scorers are given them
- `expressions`: prices written as arithmetic of columns
- `losses`: losses as functions of the score
- `row_losses`: losses of rows, for Newton steps
- `resampling`: ratios that stand for costs

Probabilities
-------------
- `calibration`: scores to clean probabilities, for given noise rates
- `noise_posterior`: the posterior over noise rates, and what it leaves in doubt
- `priors`: constants that shape a statistical result
- `checked_rows`: what checked rows tell of cells of label and score, and of costs
- `noise_by_score`: noise rates in bands of the score, from checked rows
- `recheck`: which rows to check next, and what that saves
- `gaussian`: two Gaussian classes
- `kernels`: kernels, centres and widths
- `lspc`: least-squares probabilities
- `kliep`: density ratios, certified
- `kliep_search`: their widths
- `simplex`: likelihood over a simplex
- `ratios`: probabilities from two ratios
- `quantiles`: weighted quantiles
- `mixtures`: central intervals of mixtures of normal distributions

Decisions
---------
- `confusion`: counts of labels against calls; measures with intervals
- `clean_means`: means of what depends on the clean label, prices by row among it
- `cost_curves`: counts over costs, costs over rates
- `quality`: calibration, ROC and precision-recall, as labelled and denoised
- `capacity`: which rows to call when only so many can be
- `depth`: precision, recall, lift and profit at every depth
- `segments`: parts of a table, partially pooled
- `price_curves`: net benefit over thresholds, cost over prices
- `decision`: the rule, the constants, the guard, minimax regret
- `possible`: figures kept to what can be
- `information`: labels needed, labels that are likely wrong, the value of the rate, savings

Names
-----
What the package itself offers is below: the moments and the closed form, the losses, density
ratios, and what noise does to probabilities. All else is imported from its module. Two functions,
`solve` and `kliep`, have the name of the module they live in. Here the name means the function;
``from flipcost.core.solve import ...`` still reaches the module.
"""

from flipcost.core.costs import Costs
from flipcost.core.kliep import kliep
from flipcost.core.losses import (
    exponential,
    logistic,
    modified_squared,
    squared,
    uneven_squared,
    unhinged,
    weighted_zero_one,
)
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
