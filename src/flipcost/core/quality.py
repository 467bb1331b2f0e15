r"""How good probabilities are: calibration, ROC and precision-recall, as labelled and denoised.

Labels in bins of the probability say it all. Flips act on the two counts of a bin as they act on
class totals, so the inverse mixing gives the clean counts of every bin, and of every set of bins,
without bias; see `flipcost.core.confusion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flipcost.core.noise import NoiseRateLike, unmixing_matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from flipcost.core.arrays import Array


@dataclass(frozen=True, eq=False)
class LabelBins:
    """Labels in bins of a probability, which rises from bin to bin.

    Attributes
    ----------
    probability : ndarray of shape (B,)
        Mean probability of each bin.
    counts : ndarray of shape (2, B)
        Weight of negative and of positive labels in each.

    Examples
    --------
    >>> bins = LabelBins.from_rows([0.1, 0.2, 0.8, 0.9], [False, False, True, True], n_bins=2)
    >>> bins.probability.round(2), bins.counts.tolist()
    (array([0.15, 0.85]), [[2.0, 0.0], [0.0, 2.0]])
    """

    probability: Array
    counts: Array

    @classmethod
    def from_rows(
        cls,
        probability: ArrayLike,
        positive: ArrayLike,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 100,
    ) -> LabelBins:
        """Put rows into bins of as many rows each; equal probabilities stay together."""
        eta, labels = np.asarray(probability, float), np.asarray(positive, bool)
        weight = np.ones(len(eta)) if sample_weight is None else np.asarray(sample_weight, float)
        values, place = np.unique(eta, return_inverse=True)
        mass = np.bincount(place, weight, len(values))
        middle = (np.cumsum(mass) - mass / 2) / max(mass.sum(), 1e-300)
        group = np.minimum((middle * n_bins).astype(int), n_bins - 1)
        _, group = np.unique(group, return_inverse=True)
        of_row = group[place]
        n_groups = int(group.max()) + 1
        total = np.bincount(of_row, weight, n_groups)
        counts = np.stack(
            [np.bincount(of_row, weight * chosen, n_groups) for chosen in (~labels, labels)]
        )
        mean = np.bincount(of_row, weight * eta, n_groups) / np.maximum(total, 1e-300)
        kept = total > 0
        return cls(mean[kept], counts[:, kept].astype(float))

    def coarser(self, n_bins: int) -> LabelBins:
        """Join neighbours to about so many bins of as many rows each.

        Examples
        --------
        >>> bins = LabelBins.from_rows(np.arange(100) / 100, np.arange(100) > 50)
        >>> len(bins.probability), len(bins.coarser(10).probability)
        (100, 10)
        """
        total = self.counts.sum(axis=0)
        middle = (np.cumsum(total) - total / 2) / total.sum()
        _, group = np.unique(
            np.minimum((middle * n_bins).astype(int), n_bins - 1), return_inverse=True
        )
        n_groups = int(group.max()) + 1
        counts = np.stack([np.bincount(group, row, n_groups) for row in self.counts])
        mean = np.bincount(group, total * self.probability, n_groups) / counts.sum(axis=0)
        return LabelBins(mean, counts.astype(float))

    def share(self, noise_rate: NoiseRateLike = None) -> Array:
        """Return the share of positives in each bin, denoised and cut to what can be.

        Examples
        --------
        >>> bins = LabelBins(np.array([0.2, 0.8]), np.array([[8.0, 3.0], [2.0, 7.0]]))
        >>> bins.share(), bins.share(0.1)
        (array([0.2, 0.7]), array([0.125, 0.75 ]))
        """
        clean = unmixing_matrix(noise_rate) @ self.counts
        share = clean[1] / np.maximum(self.counts.sum(axis=0), 1e-300)
        return np.asarray(np.clip(share, 0.0, 1.0))

    def roc(self, noise_rate: NoiseRateLike = None) -> tuple[Array, Array]:
        """Return shares of negatives and of positives above each threshold, from none to all.

        Examples
        --------
        >>> bins = LabelBins(np.array([0.2, 0.8]), np.array([[8.0, 3.0], [2.0, 7.0]]))
        >>> [shares.round(3).tolist() for shares in bins.roc()]
        [[0.0, 0.273, 1.0], [0.0, 0.778, 1.0]]
        """
        above = self._above(noise_rate)
        total = np.maximum(above[:, -1:], 1e-300)
        false, true = np.clip(above / total, 0.0, 1.0)
        return np.maximum.accumulate(false), np.maximum.accumulate(true)

    def area(self, noise_rate: NoiseRateLike = None) -> float:
        """Return the area under the ROC curve.

        Examples
        --------
        >>> bins = LabelBins(np.array([0.2, 0.8]), np.array([[9.0, 1.0], [1.0, 9.0]]))
        >>> round(bins.area(), 6), round(bins.area(0.1), 6)
        (0.9, 1.0)
        """
        false, true = self.roc(noise_rate)
        return float(np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2))

    def precision_recall(self, noise_rate: NoiseRateLike = None) -> tuple[Array, Array]:
        """Return precision and recall above each threshold, from the highest bin to all.

        Examples
        --------
        >>> bins = LabelBins(np.array([0.2, 0.8]), np.array([[8.0, 3.0], [2.0, 7.0]]))
        >>> [shares.round(3).tolist() for shares in bins.precision_recall()]
        [[0.7, 0.45], [0.778, 1.0]]
        """
        above = self._above(noise_rate)[:, 1:]
        called = np.cumsum(self.counts.sum(axis=0)[::-1])
        precision = np.clip(above[1] / np.maximum(called, 1e-300), 0.0, 1.0)
        return precision, self.roc(noise_rate)[1][1:]

    def _above(self, noise_rate: NoiseRateLike) -> Array:
        """Return clean counts above each threshold, shape (2, B + 1)."""
        clean = unmixing_matrix(noise_rate) @ self.counts
        return np.concatenate([np.zeros((2, 1)), np.cumsum(clean[:, ::-1], axis=1)], axis=1)
