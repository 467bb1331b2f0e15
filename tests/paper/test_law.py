import numpy as np
import pytest

from flipcost.core.losses import uneven_squared
from flipcost.theory import DiscreteLaw, decide


def test_risk_is_the_expected_loss(law):
    """The risk equals the loss of every (point, label) pair weighted by its probability."""
    loss = uneven_squared(0.3, 0.7)
    f = np.linspace(-1, 1, len(law.mass))
    by_hand = sum(
        m * (e * loss.value(1, s) + (1 - e) * loss.value(-1, s))
        for m, e, s in zip(law.mass, law.eta, f, strict=True)
    )
    assert law.risk(loss, f) == pytest.approx(by_hand, rel=1e-14)


def test_expected_cost_counts_both_mistakes():
    """A miss costs 1 - cost and a false alarm cost over margin, each by its probability."""
    law = DiscreteLaw([0, 1], [0.25, 0.75], [0.1, 0.6])
    paid = law.expected_cost([True, False], cost=0.2, margin=2.0)
    assert paid == pytest.approx(0.25 * 0.9 * 0.1 + 0.75 * 0.6 * 0.8)


def test_noise_acts_on_the_labels_alone(law):
    """Flips leave points and masses and mix eta with its complement."""
    noisy = law.noisy((0.3, 0.1))
    assert np.array_equal(noisy.points, law.points)
    assert np.array_equal(noisy.mass, law.mass)
    np.testing.assert_allclose(noisy.eta, 0.7 * law.eta + 0.1 * (1 - law.eta), rtol=1e-14)


def test_a_law_cannot_be_changed(law):
    """The arrays of a law are read-only copies."""
    with pytest.raises(ValueError, match="read-only"):
        law.eta[0] = 0.5


def test_vector_points_are_points_on_a_line():
    """A vector of points gives one feature and a design with the bias last."""
    law = DiscreteLaw([3, 4], [0.5, 0.5], [0, 1])
    np.testing.assert_array_equal(law.design, [[3, 1], [4, 1]])
    np.testing.assert_array_equal(law.scores([2, -1]), [5, 7])


@pytest.mark.parametrize(
    ("points", "mass", "eta", "says"),
    [
        ([0, 1], [0.5, 0.6], [0, 1], "add up to 1"),
        ([0, 1], [1.5, -0.5], [0, 1], "non-negative"),
        ([0, 1], [0.5, 0.5], [0, 1.2], r"`eta` must lie in \[0, 1\]"),
        ([0, 1], [0.5, 0.5], [0, np.nan], r"`eta` must lie in \[0, 1\]"),
        ([0, np.nan], [0.5, 0.5], [0, 1], "finite"),
        ([0, 1], [1.0], [0, 1], "one entry per point"),
    ],
)
def test_bad_laws_are_refused(points, mass, eta, says):
    """What is not a law is refused with what must hold."""
    with pytest.raises(ValueError, match=says):
        DiscreteLaw(points, mass, eta)


def test_scores_within_rounding_of_zero_are_negative():
    """A score that is zero but for rounding is decided as zero is."""
    assert decide([1.0, 1e-16, 0.0]).tolist() == [True, False, False]
    assert decide([]).shape == (0,)
