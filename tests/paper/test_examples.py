import math

import numpy as np
import pytest

from flipcost.theory import example_1, example_2, example_3, example_b4

ALL = [example_1, example_2, example_3, example_b4]


def digits(value):
    return len(repr(value).partition(".")[2]) if value != int(value) else 0


@pytest.mark.parametrize("example", ALL)
def test_the_paper_s_route_gives_the_paper_s_figures(example):
    """Recomputing by the paper's route gives its figures, rounded or truncated as it prints."""
    for figure in example().figures:
        # B.4's costs come from a table of Phi read at two decimals: half a unit of the argument
        # times the density there, 0.28 * 0.08 * 0.005, is the third decimal's worth.
        slack = 1.5e-4 if figure.name.endswith("cost") and example is example_b4 else 0
        if figure.printed is not None:
            unit = 10.0 ** -digits(figure.printed)
            assert abs(figure.as_printed - figure.printed) < unit * (1 + 1e-9) + slack, figure


@pytest.mark.parametrize("example", ALL)
def test_conclusions_survive_correction(example):
    """Corrected or not, the noisy rule costs more than the clean one in all four examples."""
    computed = example()
    assert computed.conclusion_holds
    assert computed["noisy cost"].as_printed > computed["clean cost"].as_printed


def test_example_1_by_simulation():
    """The corrected costs of Example 1 are those of rules applied to draws from its law."""
    rng = np.random.default_rng(0)
    n, p, cost = 200_000, 0.2, 0.25
    y = rng.random(n) < p
    x = np.where(y, rng.uniform(0, p, n), rng.uniform(1 - p, 1, n))
    flipped = y ^ (rng.random(n) < 0.3)
    flagged = {}
    for name, labels in (("clean", y), ("noisy", flipped)):
        # The best rule on each support: is the share of positive labels there above the cost?
        low = x < 0.5
        share = np.where(low, labels[low].mean(), labels[~low].mean())
        flagged[name] = share > cost
    for name, positive in flagged.items():
        paid = np.where(y & ~positive, 1 - cost, np.where(~y & positive, cost, 0.0))
        error = 5 * paid.std() / math.sqrt(n)
        assert abs(paid.mean() - example_1()[f"{name} cost"].corrected) <= error


def test_example_2_by_brute_force():
    """The clean optimum of Example 2 is (-12, -8], found by trying every bias."""
    x, y, cost = np.array([3, 8, 12]), np.array([-1, -1, 1]), 0.3
    grid = np.arange(-15, 0.125, 0.125)
    flagged = x + grid[:, None] > 0
    paid = np.where(flagged, cost * (y < 0), (1 - cost) * (y > 0)).mean(axis=1)
    best = grid[paid == 0]
    example = example_2()
    assert best.min() > example["clean best b, above"].corrected
    assert best.min() - 0.125 == example["clean best b, above"].corrected
    assert best.max() == example["clean best b, up to"].corrected


def test_example_2_lost_the_factor_one_third():
    """The printed noisy risks are three times the risks."""
    for figure in example_2().figures:
        if figure.name.startswith("noisy risk"):
            assert figure.as_printed == pytest.approx(3 * figure.corrected)


def test_example_b4_cuts_stand_where_eta_crosses():
    """At the corrected cuts, and not at the printed ones, the stated eta is at its thresholds."""
    example = example_b4()
    for cut, threshold in (("clean cut on x", 0.65), ("noisy cut on x", 0.875)):
        eta = [
            1 / (1 + 0.25 * math.exp(-1.125 - 4.5 * x))
            for x in (example[cut].corrected, example[cut].as_printed)
        ]
        assert eta[0] == pytest.approx(threshold, rel=1e-12)
        assert abs(eta[1] - threshold) > 0.1


def test_corrected_figures_of_b4():
    """The corrected cuts and costs, checked by another program."""
    example = example_b4()
    assert example["clean cut on x"].corrected == pytest.approx(-0.42050, abs=5e-6)
    assert example["noisy cut on x"].corrected == pytest.approx(-0.12564, abs=5e-6)
    assert example["clean cost"].corrected == pytest.approx(0.00461, abs=5e-6)
    assert example["noisy cost"].corrected == pytest.approx(0.00584, abs=5e-6)


def test_unknown_figures_are_named():
    """Asking for a figure that an example lacks says which it has."""
    with pytest.raises(KeyError, match="clean cost"):
        example_1()["margin"]
