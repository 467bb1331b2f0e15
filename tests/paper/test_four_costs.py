import pytest

from flipcost.core.costs import Costs
from flipcost.core.noise import noisy_threshold, transition_matrix
from flipcost.paper.theory.laws import cost_matrix
from flipcost.theory import (
    denoising_costs,
    extended_symmetry,
    four_cost_risk,
    reduce_costs,
)

PRICES = [
    Costs(fn=4, fp=1),
    Costs(fn=5, fp=3, tp=1, tn=2),
    Costs(fn=2, fp=7, tp=-3, tn=0.5),
    Costs(fn=5, fp=3, tp=3, tn=1),
]
RATES = [0.1, 0.4, (0.3, 0.1), (0.0, 0.6)]


def rules(law):
    """Return every decision rule on the points of a law."""
    n = len(law.mass)
    return [[bool(code >> j & 1) for j in range(n)] for code in range(2**n)]


@pytest.mark.parametrize("costs", PRICES)
def test_four_costs_reduce_to_one_share(law, costs):
    """For every rule the four-cost risk is the scaled weighted risk plus a part free of it."""
    reduction = reduce_costs(costs)
    base = law.prior * reduction.base_pos + (1 - law.prior) * reduction.base_neg
    for rule in rules(law):
        expected = reduction.scale * law.expected_cost(rule, reduction.alpha) + base
        assert four_cost_risk(law, rule, costs) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("costs", PRICES)
def test_reduced_threshold_is_the_best_rule(law, costs):
    """No rule has a smaller four-cost risk than thresholding eta at the share."""
    best = four_cost_risk(law, law.eta > reduce_costs(costs).alpha, costs)
    assert best <= min(four_cost_risk(law, rule, costs) for rule in rules(law)) + 1e-12


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("costs", PRICES)
def test_noisy_labels_are_clean_labels_with_other_costs(law, costs, rate):
    """For every rule the noisy risk is the clean risk at the effective costs."""
    effective, noisy = transition_matrix(rate) @ cost_matrix(costs), law.noisy(rate)
    for rule in rules(law):
        assert four_cost_risk(noisy, rule, costs) == pytest.approx(
            four_cost_risk(law, rule, effective), abs=1e-12
        )


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("costs", PRICES)
def test_denoising_costs(law, costs, rate):
    """For every rule the noisy risk at the denoising costs is the clean risk at the given ones."""
    mended, noisy = denoising_costs(costs, rate), law.noisy(rate)
    for rule in rules(law):
        assert four_cost_risk(noisy, rule, mended) == pytest.approx(
            four_cost_risk(law, rule, costs), abs=1e-11
        )
    assert mended.alpha == pytest.approx(float(noisy_threshold(costs.alpha, rate)), rel=1e-12)


@pytest.mark.parametrize("costs", PRICES)
def test_symmetry_condition_means_even_costs(costs):
    """E-SC holds exactly when the share is one half, and then the thresholds agree."""
    check = extended_symmetry(costs, 0.3)
    assert check.satisfied == (abs(costs.alpha - 0.5) < 1e-12)
    assert check.satisfied == (abs(check.threshold - check.noisy_threshold) < 1e-12)
    printed = (costs.fp - costs.tn - 0.3 * reduce_costs(costs).scale) / (
        0.4 * reduce_costs(costs).scale
    )
    assert check.noisy_threshold == pytest.approx(printed, rel=1e-12)


def test_symmetry_condition_is_sufficient(law):
    """Under E-SC, K of either sign, the noisy risk is (1 - 2 rho) clean risk + rho K."""
    for shift in (0.0, -10.0):
        costs = Costs(fn=5 + shift, fp=3 + shift, tp=3 + shift, tn=1 + shift)
        check, rate = extended_symmetry(costs), 0.3
        assert check.satisfied
        for rule in rules(law):
            clean = four_cost_risk(law, rule, costs)
            noisy = four_cost_risk(law.noisy(rate), rule, costs)
            assert noisy == pytest.approx(
                (1 - 2 * rate) * clean + rate * check.called_positive, abs=1e-12
            )
