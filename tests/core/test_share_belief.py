"""What is known of the share of positives: a density of its log-odds."""

import numpy as np
import pytest
from scipy.special import expit, logit

from flipcost.core.share_belief import ShareBelief


@pytest.mark.parametrize("said", [0.02, 0.5, (0.1, 0.3), [0.9, 0.99]])
def test_the_range_holds_all_but_a_twentieth(said):
    """The density integrates to one over log-odds, and to 0.95 between the ends."""
    belief = ShareBelief.of(said)
    steps = np.linspace(-13, 13, 26_001)
    mass = np.exp(belief.log_density(expit(steps))) * (steps[1] - steps[0])
    inside = (steps >= logit(belief.low)) & (steps <= logit(belief.high))
    assert mass.sum() == pytest.approx(1.0, abs=1e-3)
    assert mass[inside].sum() == pytest.approx(0.95, abs=2e-3)


def test_shares_of_the_other_class_are_mirrored():
    """What is said of one class is said of the other."""
    one, other = ShareBelief.of((0.1, 0.3)), ShareBelief.of((0.7, 0.9))
    shares = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(one.log_density(shares), other.log_density(1 - shares), rtol=1e-9)
    assert ShareBelief.of(0.2).low == pytest.approx(1 - ShareBelief.of(0.8).high)


@pytest.mark.parametrize("said", [0.0, 1.0, 12.0, -0.1, np.nan, (0.2, 0.2), (0.1, 0.2, 0.3), ()])
def test_what_is_no_share_is_refused(said):
    """In a sentence that says what is."""
    with pytest.raises(ValueError, match="must be a share of rows above 0 and below 1"):
        ShareBelief.of(said)
