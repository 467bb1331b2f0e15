"""The mathematics of flipcost: pure functions of arrays, numpy and scipy only.

Two functions, `solve` and `kliep`, have the name of the module they live in. Here the name means
the function; ``from flipcost.core.solve import ...`` still reaches the module.
"""

from flipcost.core.confusion import ConfusionCounts, Interval, measure, measure_gradient
from flipcost.core.costs import Costs, cost_share
from flipcost.core.folds import stratified_folds
from flipcost.core.gaussian import gaussian_eta, gaussian_log_odds
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
from flipcost.core.scoring import fold_confusions
from flipcost.core.simplex import MixtureFit, maximise_mixture
from flipcost.core.solve import solve, solve_path

__all__ = [
    "ClassMoments",
    "ConfusionCounts",
    "Costs",
    "Interval",
    "KLIEPResult",
    "KLIEPSearch",
    "LSPCSearch",
    "MixtureFit",
    "PosteriorSearch",
    "RidgeSpectrum",
    "centile_widths",
    "choose_centers",
    "clean_eta",
    "clean_marginal",
    "clean_threshold",
    "combine_ratios",
    "cost_share",
    "exponential",
    "flip",
    "fold_confusions",
    "fold_moments",
    "gaussian_eta",
    "gaussian_kernel",
    "gaussian_log_odds",
    "kliep",
    "kliep_posterior_search",
    "kliep_reference",
    "kliep_search",
    "logistic",
    "lspc_fit",
    "lspc_outputs",
    "lspc_probabilities",
    "lspc_search",
    "maximise_mixture",
    "measure",
    "measure_gradient",
    "merge_others",
    "modified_squared",
    "noisy_eta",
    "noisy_marginal",
    "noisy_threshold",
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
    "weighted_zero_one",
]
