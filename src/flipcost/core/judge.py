r"""What is true of all rows, when a judge labelled them all and people labelled a few.

Rows are post-stratified by the judge's label :math:`s`, and by bands of its confidence where that
is given. With :math:`n_s` rows in a stratum, :math:`k_s` of them labelled by people and
:math:`h_s` of these positive, draw

.. math::

    q_s \sim \mathrm{Beta}(1/2 + h_s,\, 1/2 + k_s - h_s), \qquad
    W \sim \mathrm{Dirichlet}(n_1, n_2, \dots),

so that the true share of positives is :math:`\sum_s W_s q_s`, the judge's miss rate the part of it
that the judge calls negative, and its false alarm rate the part of the negatives that the judge
calls positive. Intervals are quantiles of the draws. Rows that were chosen with known probabilities
enter by the inverse of these and count for their effective size,
:math:`(\sum_i w_i)^2 / \sum_i w_i^2`.

References
----------
L. D. Brown, T. T. Cai and A. DasGupta, *Interval estimation for a binomial proportion*, Statistical
Science 16(2), 2001. doi:10.1214/ss/1009213286
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flipcost.core import priors
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.confusion import Interval

_SEED = 0


@dataclass(frozen=True, eq=False)
class JudgeCounts:
    """Rows by stratum: what the judge says, how many there are, and what people say of some.

    Attributes
    ----------
    says : ndarray of bool, shape (n_strata,)
        Whether the judge calls the rows positive.
    rows : ndarray of shape (n_strata,)
        Rows in all.
    positives, negatives : ndarray of shape (n_strata,)
        Rows that people called so; effective numbers where rows were chosen unevenly.
    """

    says: Flags
    rows: Array
    positives: Array
    negatives: Array

    def intervals(self, level: float) -> tuple[Interval, Interval, Interval]:
        """Return the share of positives, the miss rate and the false alarm rate of the judge."""
        rng = np.random.default_rng(_SEED)
        size = (priors.JUDGE_DRAWS, len(self.rows))
        rows = rng.standard_gamma(self.rows, size)
        # The prior of a label is half a row of each kind, shared by its bands.
        prior = 0.5 / np.bincount(self.says, minlength=2)[self.says.astype(int)]
        yes = rng.standard_gamma(self.positives + prior, size)
        true = yes / (yes + rng.standard_gamma(self.negatives + prior, size))
        weight = rows / rows.sum(axis=1, keepdims=True)
        positive, negative = weight * true, weight * (1 - true)
        share = positive.sum(axis=1)
        miss = positive[:, ~self.says].sum(axis=1) / share
        alarm = negative[:, self.says].sum(axis=1) / (1 - share)
        hits, misses = self.positives[self.says].sum(), self.positives[~self.says].sum()
        alarms, passes = self.negatives[self.says].sum(), self.negatives[~self.says].sum()
        return (
            _interval(share, level, any_=hits + misses, others=alarms + passes),
            _interval(miss, level, any_=misses, others=hits),
            _interval(alarm, level, any_=alarms, others=passes),
        )

    def next_strata(self, n: int, left: Indices) -> Indices:
        """Return how many rows of each stratum to look at next, of those that are left.

        One at a time, where one more label is expected to lower the variance of the share most.
        """
        wanted = np.zeros(len(self.rows), dtype=np.intp)
        weight = self.rows / self.rows.sum()
        total = self.positives + self.negatives + 1.0
        share = (self.positives + 0.5) / total
        for _ in range(min(n, int(left.sum()))):
            size = total + wanted
            gain = weight**2 * share * (1 - share) / (size + 1) ** 2
            wanted[np.argmax(np.where(wanted < left, gain, -1.0))] += 1
        return wanted


def judge_strata(labels: Flags, confidence: Array | None, n_human: int) -> tuple[Indices, Flags]:
    """Return the stratum of each row, and what the judge says in each of the strata.

    A label is cut into bands of equally many rows by confidence, as many as there are people's
    labels for.
    """
    codes = labels.astype(np.intp)
    bands = 1
    if confidence is not None:
        bands = int(np.clip(n_human // priors.JUDGE_BAND_LABELS, 1, priors.JUDGE_BANDS))
    strata = np.zeros(len(codes), dtype=np.intp)
    if confidence is not None:
        for label in (0, 1):
            own = np.flatnonzero(codes == label)
            if not len(own):
                continue
            cuts = np.quantile(confidence[own], np.arange(1, bands) / bands)
            strata[own] = np.searchsorted(np.unique(cuts), confidence[own], side="right")
    found, strata = np.unique(codes * bands + strata, return_inverse=True)
    return strata, found >= bands


def count_judged(
    strata: Indices, says: Flags, human: Array, inclusion: Array | None
) -> JudgeCounts:
    """Count rows by stratum; ``human`` is 1, 0 or NaN where no one looked."""
    seen = ~np.isnan(human)
    n = len(says)
    rows = np.bincount(strata, minlength=n).astype(float)
    own, labels = strata[seen], human[seen]
    weight = np.ones(len(own)) if inclusion is None else 1 / inclusion[seen]
    total = np.bincount(own, weight, n)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_weight = np.where(total > 0, total / np.bincount(own, weight**2, n), 0.0)
    positives: Array = np.bincount(own, weight * labels, n).astype(float) * per_weight
    negatives: Array = total * per_weight - positives
    return JudgeCounts(says, rows, positives, negatives)


def difference_interval(judged: Indices, human: Indices, seen: Flags, level: float) -> Interval:
    """Return by how much the share of a second system exceeds that of a first.

    Strata are what the judge says of the second less what it says of the first; what people say is
    drawn in each, with a third of a row of each kind as prior.

    Parameters
    ----------
    judged, human : ndarray of int
        -1, 0 or 1 for each row; ``human`` counts where ``seen``.
    seen : ndarray of bool
        Rows that people labelled for both systems.
    level : float
        Of the interval.
    """
    rng = np.random.default_rng(_SEED)
    rows = np.bincount(judged + 1, minlength=3).astype(float)
    counts = np.bincount(3 * (judged[seen] + 1) + human[seen] + 1, minlength=9).reshape(3, 3)
    weight = rng.standard_gamma(rows, (priors.JUDGE_DRAWS, 3))
    weight /= weight.sum(axis=1, keepdims=True)
    kinds = rng.standard_gamma(counts + 1 / 3, (priors.JUDGE_DRAWS, 3, 3))
    kinds /= kinds.sum(axis=2, keepdims=True)
    return _quantiles((weight * (kinds[..., 2] - kinds[..., 0])).sum(axis=1), level)


def _interval(draws: Array, level: float, *, any_: float, others: float) -> Interval:
    """Return quantiles; 0 and 1 are inside where nothing that was seen speaks against them."""
    found = _quantiles(draws, level)
    low = found.low if any_ > 0 else 0.0
    high = found.high if others > 0 else 1.0
    return Interval(found.value, low, high)


def _quantiles(draws: Array, level: float) -> Interval:
    cut = (1 - level) / 2
    low, value, high = np.quantile(draws, [cut, 0.5, 1 - cut]).tolist()
    return Interval(value, low, high)
