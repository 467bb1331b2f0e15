"""What is true of cost-sensitive learning from noisy labels, as code that runs.

The paper behind this library claims more than holds. Its statements are here as printed and as
corrected, each computed exactly on laws over finitely many points: Bayes rules, Examples 1 to 3 and
B.4, Theorem 1 with its counter-examples and the exact condition under which it does hold, Lemmas 1
and 2, the bound of Theorem 2 term by term, the monotonicity lemma, and the four-cost space.
"""

from flipcost.datasets.gaussian import gaussian_eta
from flipcost.paper.theory.examples import (
    Example,
    Figure,
    example_1,
    example_2,
    example_3,
    example_b4,
)
from flipcost.paper.theory.four_costs import (
    CostReduction,
    SymmetryCheck,
    denoising_costs,
    extended_symmetry,
    four_cost_risk,
    reduce_costs,
)
from flipcost.paper.theory.laws import (
    BayesRules,
    DiscreteLaw,
    decide,
    keeps_side,
    noise_fixed_point,
    uneven_squared_rules,
    uneven_squared_scores,
    uneven_zero_one_rules,
    weighted_zero_one_rules,
)
from flipcost.paper.theory.lemmas import (
    DeviationBound,
    NoisyRisk,
    RademacherComplexity,
    excess_cost_bound,
    lemma_1,
    lemma_2,
    lipschitz_constant,
    printed_lipschitz_constant,
    rademacher_complexity,
)
from flipcost.paper.theory.theorem_1 import (
    CounterExample,
    RobustnessReport,
    linear_minimiser,
    parallel_margin,
    parallel_shift,
    proof_minimiser,
    robustness_report,
    theorem_1_counterexample,
    theorem_1_counterexamples,
    theorem_1_holds,
    unshift,
)
from flipcost.paper.theory.theorem_2 import (
    BoundTerm,
    Theorem2Bound,
    theorem_2,
    theorem_2_counterexample,
)

__all__ = [
    "BayesRules",
    "BoundTerm",
    "CostReduction",
    "CounterExample",
    "DeviationBound",
    "DiscreteLaw",
    "Example",
    "Figure",
    "NoisyRisk",
    "RademacherComplexity",
    "RobustnessReport",
    "SymmetryCheck",
    "Theorem2Bound",
    "decide",
    "denoising_costs",
    "example_1",
    "example_2",
    "example_3",
    "example_b4",
    "excess_cost_bound",
    "extended_symmetry",
    "four_cost_risk",
    "gaussian_eta",
    "keeps_side",
    "lemma_1",
    "lemma_2",
    "linear_minimiser",
    "lipschitz_constant",
    "noise_fixed_point",
    "parallel_margin",
    "parallel_shift",
    "printed_lipschitz_constant",
    "proof_minimiser",
    "rademacher_complexity",
    "reduce_costs",
    "robustness_report",
    "theorem_1_counterexample",
    "theorem_1_counterexamples",
    "theorem_1_holds",
    "theorem_2",
    "theorem_2_counterexample",
    "uneven_squared_rules",
    "uneven_squared_scores",
    "uneven_zero_one_rules",
    "unshift",
    "weighted_zero_one_rules",
]
