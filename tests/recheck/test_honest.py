"""Rows that were chosen bias neither rates nor costs: known laws, three rounds."""

import numpy as np
import pytest
from scipy.special import expit

from flipcost import FlipCostClassifier
from flipcost.core.checked_rows import CheckedRows, given_label
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior
from flipcost.core.recheck import draw_rows, spread_order, value_checks
from flipcost.metrics import weighted_cost
from flipcost.recheck import next_rows

COST = 0.2


def known_law(n, seed, kind):
    """Return rows, labels and right labels: mistakes by class, or where the columns say."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    clean = rng.random(n) < expit(1.5 * X[:, 0] + X[:, 1] - 1.0)
    if kind == "by class":
        flip = np.where(clean, 0.3, 0.05)
    else:
        flip = np.where(clean, expit(-1 + 1.2 * X[:, 1] - 0.5 * X[:, 0]), expit(-3 + X[:, 3]))
    return X, clean ^ (rng.random(n) < flip), clean


@pytest.mark.slow
def test_costs_are_covered_after_three_rounds_of_chosen_rows():
    """At 95 %, of 40 draws at least 33 cover, which fewer do with probability below 0.001.

    The mean of what is said lies within four standard errors of what is paid. The model of the
    noise is wrong: mistakes follow the score.
    """
    rates = RatePosterior(np.array([[0.1, 0.02], [0.3, 0.1]]), np.array([0.5, 0.5]))
    held, off = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        score = rng.normal(size=3000)
        eta = expit(2 * score - 1)
        clean = rng.random(3000) < eta
        labels = clean & (rng.random(3000) < expit(1 + score))
        flagged = eta > COST
        rows = np.empty(0, dtype=np.intp)
        for number in range(3):
            checked = CheckedRows(rows, clean[rows]) if len(rows) else None
            choice = value_checks(labels, eta, rates, COST, 25, checked=checked)
            order = spread_order(choice.cells.cell, None, seed)
            rows = np.concatenate([rows, draw_rows(choice.chance, order, seed + number)])
        expected = given_label(eta, labels, rates.mean)
        checked = CheckedRows(rows, clean[rows])
        found = checked.cost(
            positive=labels, flagged=flagged, expected=expected, score=eta, costs=RowCosts.of(COST)
        )
        paid = np.mean(np.where(clean, (1 - COST) * ~flagged, COST * flagged))
        held += found.low <= paid <= found.high
        off.append(found.value - paid)
    assert held >= 33
    assert abs(np.mean(off)) < 4 * np.std(off) / np.sqrt(40)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["by class", "by columns"])
def test_rates_and_costs_of_a_classifier_are_covered(kind):
    """Three rounds through `next_rows` and `fit`: of 40 draws at least 33 cover, as above.

    Costs are judged on 20,000 new rows; the mean of what is said is within four standard errors
    of what is paid, or a twentieth of it.
    """
    new, _, right = known_law(20_000, 99_999, kind)
    held, off = np.zeros(2), []
    for seed in range(40):
        X, noisy, clean = known_law(800, seed, kind)
        trusted = np.full(800, np.nan)
        model = FlipCostClassifier(COST, features="linear", random_state=seed).fit(X, noisy)
        for number in range(3):
            known = trusted if number else None
            batch = next_rows(model, X, noisy, 20, trusted=known, random_state=seed)
            trusted[batch.rows] = clean[batch.rows]
            model = model.fit(X, noisy, trusted=trusted)
        paid = weighted_cost(right, model.predict(new), COST, normalize=True)
        low, high = model.cost_interval_
        wrong, found = np.mean(noisy != clean), model.wrong_share_
        held += [low <= paid <= high, found.low <= wrong <= found.high]
        off.append(model.cost_estimate_ / paid - 1)
    assert held.min() >= 33
    assert abs(np.mean(off)) < 0.05 + 4 * np.std(off) / np.sqrt(40)


@pytest.mark.slow
def test_what_is_expected_to_be_saved_is():
    """Of 40 tables drawn from what is thought possible, intervals hold the saving of at least 33.

    The mean saving is no more than four standard errors above the mean expectation. Decisions are
    those of ranges of the score, before and after the checks.
    """
    held, said, saved = 0, [], []
    rates = np.array([[0.02, 0.02], [0.3, 0.1]])
    posterior = RatePosterior(rates, np.array([0.5, 0.5]))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        eta = rng.beta(0.8, 1.6, 2000)
        pair = rates[seed % 2]
        # What is thought to be the noisy probability is right; which rate made it is not known.
        noisy = posterior.mean[1] + (1 - posterior.mean.sum()) * eta
        truth = np.clip((noisy - pair[1]) / (1 - pair.sum()), 0.0, 1.0)
        clean = rng.random(2000) < truth
        labels = np.where(clean, rng.random(2000) >= pair[0], rng.random(2000) < pair[1])
        choice = value_checks(labels, eta, posterior, 0.3, 60)
        order = spread_order(choice.cells.cell, None, seed)
        rows = draw_rows(choice.chance, order, seed)
        gain = _gain(choice, CheckedRows(rows, clean[rows]), labels, eta, truth, posterior)
        saved.append(gain)
        said.append(choice.saving.value)
        held += choice.saving.low - 0.002 <= gain <= choice.saving.high + 0.002
    assert held >= 33
    error = np.std(np.subtract(saved, said)) / np.sqrt(40)
    assert np.mean(saved) < np.mean(said) + 4 * error


def _gain(choice, checked, labels, eta, truth, posterior):
    """Return what deciding by ranges of the score saves once rows were checked."""
    after = value_checks(labels, eta, posterior, 0.3, 1, checked=checked)
    place = choice.cells.bin[choice.cells.cell]
    flags = []
    for known in (choice.posterior, after.posterior):
        share = known.draws(500).mean(axis=0)[known.cells.cell]
        by_bin = np.bincount(place, share) / np.maximum(np.bincount(place), 1)
        flags.append(by_bin[place] > 0.3)
    paid = [np.mean(np.where(c, 0.3 * (1 - truth), 0.7 * truth)) for c in flags]
    return paid[0] - paid[1]
