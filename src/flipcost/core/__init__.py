"""The mathematics of flipcost: pure functions of arrays, numpy and scipy only.

Rows and moments
----------------
- `moments`: class moments, from rows, merged, denoised
- `solve`: the closed form, at one point or along whole paths
- `newton`: linear models by Newton steps
- `folds`: which row is held out when: in order, at random, by a hash
- `scoring`: rows scored by classifiers that have not seen them
- `hinges`: features that bend
- `memory`: the one limit of memory
- `arrays`: names of kinds of arrays, for signatures

Noise
-----
- `noise`: what flips do to labels, probabilities, thresholds and counts, and back
- `rates`: noise rates from trusted or repeated labels, with intervals
- `annotators`: rates of several annotators
- `forward`: the rate by likelihood in a logistic model

Losses and costs
----------------
- `costs`: prices and the share that a false positive bears
- `losses`: losses as functions of the score
- `row_losses`: losses of rows, for Newton steps
- `resampling`: ratios that stand for costs

Probabilities
-------------
- `calibration`: scores to clean probabilities, under each rate
- `rate_posterior`: the posterior over rates
- `gaussian`: two Gaussian classes
- `kernels`: kernels, centres and widths
- `lspc`: least-squares probabilities
- `kliep`: density ratios, certified
- `kliep_search`: their widths
- `simplex`: likelihood over a simplex
- `ratios`: probabilities from two ratios
- `quantiles`: weighted quantiles

Decisions
---------
- `confusion`: counts of labels against calls; measures with intervals
- `cost_curves`: counts over costs, costs over rates
- `decision`: the rule, the constants, the guard, minimax regret
- `information`: labels needed, labels that are likely wrong, the value of the rate, savings

Names
-----
Two functions, `solve` and `kliep`, have the name of the module they live in. Here the name means
the function; ``from flipcost.core.solve import ...`` still reaches the module.
"""

from flipcost.core.confusion import ConfusionCounts, Interval, measure, measure_gradient
from flipcost.core.cost_curves import confusion_cells, confusions_at_costs, costs_at_rates
from flipcost.core.costs import Costs, cost_share
from flipcost.core.decision import (
    Decision,
    Regret,
    bayes_calls,
    decide,
    decide_minimax,
    guard,
    minimax_regret,
)
from flipcost.core.folds import hash_folds, random_folds, stratified_folds
from flipcost.core.gaussian import gaussian_eta, gaussian_log_odds
from flipcost.core.information import (
    labels_needed,
    paired_saving,
    probability_wrong,
    value_of_knowing_rate,
)
from flipcost.core.kernels import (
    centile_widths,
    choose_centers,
    gaussian_kernel,
    squared_distances,
)
from flipcost.core.kliep import KLIEPResult, kliep, kliep_reference
from flipcost.core.kliep_search import (
    KLIEPSearch,
    PosteriorSearch,
    kliep_posterior_search,
    kliep_search,
)
from flipcost.core.losses import (
    exponential,
    logistic,
    modified_squared,
    squared,
    uneven_squared,
    unhinged,
    weighted_zero_one,
)
from flipcost.core.lspc import (
    LSPCSearch,
    RidgeSpectrum,
    lspc_fit,
    lspc_outputs,
    lspc_probabilities,
    lspc_search,
)
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.noise import (
    clean_eta,
    clean_marginal,
    clean_threshold,
    flip,
    noisy_eta,
    noisy_marginal,
    noisy_threshold,
    rate_pair,
    transition_matrix,
    unmixing_matrix,
)
from flipcost.core.ratios import combine_ratios, training_scales
from flipcost.core.scoring import fold_confusions, fold_scores
from flipcost.core.simplex import MixtureFit, maximize_mixture
from flipcost.core.solve import solve, solve_path

__all__ = [
    "ClassMoments",
    "ConfusionCounts",
    "Costs",
    "Decision",
    "Interval",
    "KLIEPResult",
    "KLIEPSearch",
    "LSPCSearch",
    "MixtureFit",
    "PosteriorSearch",
    "Regret",
    "RidgeSpectrum",
    "bayes_calls",
    "centile_widths",
    "choose_centers",
    "clean_eta",
    "clean_marginal",
    "clean_threshold",
    "combine_ratios",
    "confusion_cells",
    "confusions_at_costs",
    "cost_share",
    "costs_at_rates",
    "decide",
    "decide_minimax",
    "exponential",
    "flip",
    "fold_confusions",
    "fold_moments",
    "fold_scores",
    "gaussian_eta",
    "gaussian_kernel",
    "gaussian_log_odds",
    "guard",
    "hash_folds",
    "kliep",
    "kliep_posterior_search",
    "kliep_reference",
    "kliep_search",
    "labels_needed",
    "logistic",
    "lspc_fit",
    "lspc_outputs",
    "lspc_probabilities",
    "lspc_search",
    "maximize_mixture",
    "measure",
    "measure_gradient",
    "merge_others",
    "minimax_regret",
    "modified_squared",
    "noisy_eta",
    "noisy_marginal",
    "noisy_threshold",
    "paired_saving",
    "probability_wrong",
    "random_folds",
    "rate_pair",
    "solve",
    "solve_path",
    "squared",
    "squared_distances",
    "stratified_folds",
    "training_scales",
    "transition_matrix",
    "uneven_squared",
    "unhinged",
    "unmixing_matrix",
    "value_of_knowing_rate",
    "weighted_zero_one",
]
