"""The rule, the constants, the fallback to these and minimax regret, by hand."""

import numpy as np
import pytest

from flipcost.core.checked_rows import CheckedRows
from flipcost.core.clean_means import cost_sums, paired_saving
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.costs import RowCosts
from flipcost.core.decision import (
    CONSTANTS,
    bayes_flags,
    choose_at_factors,
    clean_cost,
    decide,
    decide_minimax,
    minimax_regret,
    saves_enough,
)
from flipcost.core.error_rates import RatePosterior

POSTERIOR = RatePosterior(np.array([[0.1, 0.1], [0.3, 0.3]]), np.array([0.6, 0.4]))


def test_by_hand():
    """The candidate that is never best can have the least worst regret."""
    regret = minimax_regret([[1.0, 4.0, 2.0], [5.0, 1.0, 2.5]])
    np.testing.assert_allclose(regret.regret, [[0, 3, 1], [4, 0, 1.5]])
    np.testing.assert_allclose(regret.worst, [4, 3, 1.5])
    assert regret.chosen == 2


@pytest.mark.parametrize("weighted", [False, True])
def test_many_costs_from_checked_rows_are_decided_as_one_by_one(weighted):
    """What is found once for all costs chooses as `decide` does at each, constants among them."""
    rng = np.random.default_rng(7)
    eta = rng.beta(0.8, 1.2, 300)
    clean = rng.random(300) < eta
    labels = clean ^ (rng.random(300) < 0.2)
    rows = rng.choice(300, 60, replace=False)
    checked = CheckedRows(rows, clean[rows], design=1.5)
    weight = rng.uniform(0.5, 2.0, 300) if weighted else None
    costs = np.linspace(0.005, 0.995, 25)
    factors = (1 - costs) / costs / ((1 - costs[12]) / costs[12])
    found = choose_at_factors(labels, eta, costs[12], factors, POSTERIOR, weight, checked)
    single = [decide(labels, eta, c, POSTERIOR, weight, checked=checked).chosen for c in costs]
    assert found == single
    assert set(found) == {"rule", *CONSTANTS}


@pytest.mark.parametrize("by_checks", [False, True])
def test_one_cost_for_all_rows_is_an_array_of_it(by_checks):
    """A number, and an array that repeats it, decide, cost and save the same to rounding."""
    rng = np.random.default_rng(3)
    for n in (17, 300):
        labels, eta = rng.random(n) < 0.4, rng.random(n)
        checked = CheckedRows(np.arange(0, n, 5), ~labels[::5]) if by_checks else None
        one, each = RowCosts(40.0, 10.0), RowCosts(np.full(n, 40.0), np.full(n, 10.0))
        decided = [decide(labels, eta, c, POSTERIOR, checked=checked) for c in (one, each)]
        assert decided[0].chosen == decided[1].chosen
        for answer, paid in decided[0].costs.items():
            other = decided[1].costs[answer]
            assert np.allclose([paid.value, paid.low], [other.value, other.low], atol=1e-12)
        flags = eta > 0.2, eta > 0.5
        saved = [paired_saving(labels, *flags, c, POSTERIOR) for c in (one, each)]
        assert np.allclose([saved[0].value, saved[0].low], [saved[1].value, saved[1].low])
        factors = [0.1, 1.0, 20.0]
        found = [
            choose_at_factors(labels, eta, c, factors, POSTERIOR, checked=checked)
            for c in (one, each)
        ]
        assert found[0] == found[1]
        money = clean_cost(labels, flags[0], one, POSTERIOR).value
        share = clean_cost(labels, flags[0], 0.2, POSTERIOR).value
        assert money == pytest.approx(50 * share)


def test_without_signal_rows_are_decided_by_what_they_cost():
    """Where costs differ by row, one probability for all tells rows apart; a constant does not."""
    rng = np.random.default_rng(0)
    flat = RatePosterior(np.zeros((1, 2)), np.ones(1), models={"no_signal": 0.9, "none": 0.1})
    labels = rng.random(500) < 0.3
    eta = np.full(500, labels.mean())
    costs = RowCosts(rng.choice([0.5, 20.0], 500), 2.0)
    decision = decide(labels, eta, costs, flat)
    assert decision.chosen == "rule"
    assert decision.cost.value < min(decision.costs[name].value for name in CONSTANTS)


def test_a_dominated_candidate_is_never_chosen():
    """A candidate that costs more than another at every rate is not chosen, wherever it stands."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        cost = rng.random((5, 3))
        place = int(rng.integers(4))
        worse = np.insert(cost, place, cost[:, 0] + rng.uniform(0.001, 0.1, 5), axis=1)
        found = minimax_regret(worse)
        assert found.chosen != place
        # Nor does it change which of the others is.
        assert np.delete(np.arange(4), place)[minimax_regret(cost).chosen] == found.chosen


@pytest.mark.parametrize("bad", [[], [[np.nan, 1.0]], [1.0, 2.0]])
def test_bad_tables_are_refused(bad):
    """A table that is empty, not finite or flat is refused with its shape."""
    with pytest.raises(ValueError, match="finite table"):
        minimax_regret(bad)


def sample(n=200, seed=0):
    rng = np.random.default_rng(seed)
    eta = rng.beta(2, 3, n)
    return rng.random(n) < 0.2 + 0.6 * eta, eta, rng.random(n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cost", [0.02, 0.1, 0.3, 0.6, 0.95])
def test_the_fallback_averages_two_gains(cost, weighted):
    """The rule is kept where promised and denoised gains over the better constant are positive."""
    positive, eta, weight = sample()
    weight = weight if weighted else np.ones(len(eta))
    decision = decide(positive, eta, cost, POSTERIOR, weight)
    paid = np.array([(1 - cost) * eta, cost * (1 - eta)]) @ weight / weight.sum()
    constant = CONSTANTS[int(paid.argmin())]
    promised = paid.min() - np.minimum((1 - cost) * eta, cost * (1 - eta)) @ weight / weight.sum()
    denoised = decision.costs[constant].value - decision.costs["rule"].value
    assert decision.chosen == ("rule" if promised + denoised > 1e-9 else constant)
    for answer, table in decision.tables.items():
        flagged = bayes_flags(eta, cost, answer)
        expected = ConfusionCounts.from_labels(positive, flagged, weight)
        np.testing.assert_array_equal(table.counts, expected.counts)
        found, known = (
            decision.costs[answer],
            cost_sums(positive, flagged, RowCosts.of(cost), weight).mean(POSTERIOR),
        )
        assert [found.value, found.low, found.high] == pytest.approx(
            [known.value, known.low, known.high], rel=1e-12, abs=1e-15
        )
    assert decision.table is decision.tables[decision.chosen]
    assert decision.cost is decision.costs[decision.chosen]


@pytest.mark.parametrize("n_checked", [5, 30, 150])
@pytest.mark.parametrize("cost", [0.05, 0.1, 0.2, 0.3])
def test_few_checked_rows_say_little_against_the_rule(cost, n_checked):
    """The difference that n checked rows show weighs n / (n + 100) beside what is promised."""
    positive, eta, _ = sample()
    rows = np.arange(n_checked)
    decision = decide(positive, eta, cost, POSTERIOR, checked=CheckedRows(rows, ~positive[rows]))
    paid = np.array([((1 - cost) * eta).mean(), (cost * (1 - eta)).mean()])
    constant = CONSTANTS[int(paid.argmin())]
    promised = paid.min() - np.minimum((1 - cost) * eta, cost * (1 - eta)).mean()
    shown = decision.costs[constant].value - decision.costs["rule"].value
    kept = promised + n_checked / (n_checked + 100) * shown > 1e-9
    assert decision.chosen == ("rule" if kept else constant)


@pytest.mark.parametrize("cost", [0.1, 0.3, 0.6])
def test_without_signal_the_constant_that_labels_prefer_is_taken(cost):
    """A posterior that gives most weight to a flat curve leaves no rule to keep."""
    positive, eta, _ = sample()
    flat = RatePosterior(np.zeros((1, 2)), np.ones(1), models={"no_signal": 0.6, "none": 0.4})
    found = decide(positive, eta, cost, flat).chosen
    assert found == CONSTANTS[int(cost * (1 - eta.mean()) < (1 - cost) * eta.mean())]


def test_swapping_the_classes_mirrors_the_decision():
    """With labels, probabilities, rates and the cost swapped, the constants swap places."""
    positive, eta, weight = sample()
    swapped = {"rule": "rule", "all_negative": "all_positive", "all_positive": "all_negative"}
    for cost in (0.05, 0.3, 0.9):
        one = decide(positive, eta, cost, POSTERIOR, weight)
        other = decide(~positive, 1 - eta, 1 - cost, POSTERIOR, weight)
        assert other.chosen == swapped[one.chosen]
        assert other.cost.value == pytest.approx(one.cost.value, abs=1e-12)


def test_rows_that_stand_for_more_keep_their_counts():
    """Other squared weights change the intervals, not the values and not the choice."""
    positive, eta, weight = sample()
    plain = decide(positive, eta, 0.3, POSTERIOR, weight)
    wide = decide(
        positive, eta, 0.3, POSTERIOR, weight, flag_squares=lambda flagged: np.full((2, 2), 90.0)
    )
    assert wide.chosen == plain.chosen
    assert wide.cost.value == pytest.approx(plain.cost.value, abs=1e-12)
    assert wide.cost.high - wide.cost.low > plain.cost.high - plain.cost.low


@pytest.mark.parametrize("cost", [0.001, 0.3, 0.999])
def test_minimax_takes_the_least_worst_regret(cost):
    """What is decided is the candidate with the least worst regret, the constants last."""
    positive, eta, _ = sample()
    flags = [bayes_flags(eta * k, cost) for k in (1.0, 0.8)]
    flags += [bayes_flags(eta, cost, name) for name in CONSTANTS]
    sums = [cost_sums(positive, flagged, RowCosts.of(cost)) for flagged in flags]
    answer, rate, regret = decide_minimax(
        sums[:2], dict(zip(CONSTANTS, sums[2:], strict=True)), POSTERIOR
    )
    expected = minimax_regret(np.column_stack([one.by_rate(POSTERIOR) for one in sums]))
    np.testing.assert_allclose(regret.cost, expected.cost, atol=1e-12)
    names = ["rule", "rule", *CONSTANTS]
    assert answer == names[expected.chosen]
    assert rate == (expected.chosen if answer == "rule" else 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_allowing_for_errors_pays_beyond_the_standard_error(weighted):
    """With no errors the saving is the paired difference of costs, added to what is promised."""
    rng = np.random.default_rng(0)
    n, known = 500, RatePosterior(np.zeros((1, 2)), np.ones(1))
    found = []
    for shift in np.linspace(-0.2, 0.2, 9):
        eta = rng.random(n)
        labels, weight = rng.random(n) < eta, rng.integers(1, 3, n) if weighted else np.ones(n)
        allowing, trusting = eta > 0.3 + shift, eta > 0.3
        paid = [np.where(labels, 0.7 * ~c, 0.3 * c) for c in (allowing, trusting)]
        saved = paid[1] - paid[0]
        mean = np.average(saved, weights=weight)
        error = np.sqrt(np.sum(weight**2 * (saved - mean) ** 2)) / weight.sum()
        promised = np.average((allowing * 1.0 - trusting) * (eta - 0.3), weights=weight)
        given = weight if weighted else None
        pays = saves_enough(labels, eta, allowing, trusting, RowCosts.of(0.3), known, given)
        assert pays == (mean + promised >= error)
        # Rows that count for four times fewer have twice the standard error.
        pays = saves_enough(labels, eta, allowing, trusting, RowCosts.of(0.3), known, given, 4.0)
        assert pays == (mean + promised >= 2 * error)
        found.append(pays)
    assert any(found)
    assert not all(found)
