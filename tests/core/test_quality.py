"""Calibration, ROC and precision-recall: by hand, against scikit-learn, and denoised exactly."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve, roc_auc_score

from flipcost.core.curves import LabelBins
from flipcost.core.noise import transition_matrix

RATES = (0.3, 0.1)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    eta = np.round(rng.random(800), 2)
    return eta, rng.random(800) < eta


def test_areas_are_those_of_scikit_learn(rows):
    """With a bin for each value the area is that of the rows."""
    eta, positive = rows
    assert LabelBins.from_rows(eta, positive, n_bins=10_000).area() == pytest.approx(
        roc_auc_score(positive, eta)
    )


def test_precision_and_recall_are_those_of_scikit_learn(rows):
    """At every threshold, from the highest on."""
    eta, positive = rows
    ours = LabelBins.from_rows(eta, positive, n_bins=10_000).precision_recall()
    precision, recall, _ = precision_recall_curve(positive, eta)
    np.testing.assert_allclose(ours[0], precision[:-1][::-1])
    np.testing.assert_allclose(ours[1], recall[:-1][::-1])


def test_weights_count_as_rows(rows):
    """A weight of two is a row that is there twice."""
    eta, positive = rows
    weight = np.random.default_rng(1).integers(1, 4, len(eta))
    one = LabelBins.from_rows(eta, positive, weight, n_bins=20)
    other = LabelBins.from_rows(np.repeat(eta, weight), np.repeat(positive, weight), n_bins=20)
    np.testing.assert_allclose(one.counts, other.counts)
    np.testing.assert_allclose(one.probability, other.probability)


def test_denoising_undoes_the_flips(rows):
    """From the counts that flips give on average, all that is denoised is what was clean."""
    eta, positive = rows
    clean = LabelBins.from_rows(eta, positive, n_bins=25)
    noisy = LabelBins(clean.probability, transition_matrix(RATES).T @ clean.counts)
    np.testing.assert_allclose(noisy.share(RATES), clean.share(), atol=1e-12)
    np.testing.assert_allclose(noisy.roc(RATES), clean.roc(), atol=1e-12)
    np.testing.assert_allclose(noisy.precision_recall(RATES), clean.precision_recall(), atol=1e-12)
    assert noisy.area(RATES) == pytest.approx(clean.area())
    assert noisy.area() < clean.area()


def test_coarser_bins_hold_the_same_rows(rows):
    """Joining bins keeps counts and mean probability."""
    fine = LabelBins.from_rows(*rows)
    coarse = fine.coarser(10)
    np.testing.assert_allclose(coarse.counts.sum(axis=1), fine.counts.sum(axis=1))
    total = fine.counts.sum(axis=0)
    assert coarse.probability @ coarse.counts.sum(axis=0) == pytest.approx(fine.probability @ total)


def test_one_probability_for_all_is_one_bin():
    """Nothing to rank: half of the area."""
    bins = LabelBins.from_rows(np.full(10, 0.3), np.arange(10) < 4)
    assert bins.counts.tolist() == [[6.0], [4.0]]
    assert bins.area() == pytest.approx(0.5)
