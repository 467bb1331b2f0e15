r"""Noise rates of several annotators who labelled the same rows, without a trusted label.

Given the clean class, annotators err on their own. With prior :math:`\pi` of the positive class and
rates :math:`(\rho_{j+}, \rho_{j-})` of annotator :math:`j`, a row with labels
:math:`y_1, \dots, y_J` has probability

.. math::

    \pi \prod_j P(y_j \mid +) + (1 - \pi) \prod_j P(y_j \mid -),

the model of Dawid and Skene for two classes. Three annotators identify all of it, but for the
names of the classes, which are settled by starting where most annotators are mostly right. Rows
enter as counts of patterns of labels, so the cost does not grow with them. A label that is missing
adds no factor, which is right when what is missing does not depend on the class.

References
----------
A. P. Dawid and A. M. Skene, *Maximum likelihood estimation of observer error-rates using the EM
algorithm*, Applied Statistics 28(1), 1979. doi:10.2307/2346806
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize
from scipy.special import chdtri, expit, log_expit, logit

from flipcost.core.arrays import Array
from flipcost.core.rates import check_level

# Rates of nought have infinite log-odds: this is as far as the search goes.
_REACH = 30.0
_END_TOL = 1e-5
# Steps away from the estimate in search of a limit start at this and double.
_FIRST_STEP = 0.01


@dataclass(frozen=True, eq=False)
class LabelPatterns:
    """How often each pattern of labels occurs.

    Attributes
    ----------
    positive, negative : ndarray of shape (n_patterns, n_annotators)
        One where the annotator says so, else nought; both are nought for a missing label.
    counts : ndarray of shape (n_patterns,)
        Rows with the pattern.

    Examples
    --------
    >>> patterns = LabelPatterns.from_labels([[1, 1, 0], [1, 1, 0], [0, np.nan, 0]])
    >>> patterns.counts
    array([1., 2.])
    """

    positive: Array
    negative: Array
    counts: Array

    @classmethod
    def from_labels(cls, labels: ArrayLike) -> LabelPatterns:
        """Count the rows of an array of 0, 1 and NaN (missing), of shape (n, n_annotators)."""
        table = np.asarray(labels, dtype=float)
        codes = np.where(np.isnan(table), -1, table).astype(np.int8)
        seen, counts = np.unique(codes, axis=0, return_counts=True)
        return cls((seen == 1).astype(float), (seen == 0).astype(float), counts.astype(float))


@dataclass(frozen=True, eq=False)
class AnnotatorFit:
    """Prior and rates of largest likelihood.

    Attributes
    ----------
    prior : float
        Probability of the positive class.
    rates : ndarray of shape (n_annotators, 2)
        ``(rho_pos, rho_neg)`` of each.
    log_likelihood : float
        Reached by them.
    """

    prior: float
    rates: Array
    log_likelihood: float


class AnnotatorModel:
    """Likelihood of the labels of several annotators.

    Parameters
    ----------
    patterns : LabelPatterns
        The labels.
    symmetric : bool
        Whether each annotator errs as often on either class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.random((5000, 1)) < 0.4
    >>> labels = clean ^ (rng.random((5000, 3)) < [0.1, 0.2, 0.3])
    >>> model = AnnotatorModel(LabelPatterns.from_labels(labels), symmetric=True)
    >>> model.fit().rates[:, 0].round(2)
    array([0.1, 0.2, 0.3])
    >>> value, low, high = model.interval(0)
    >>> print(f"{value:.3f} in [{low:.3f}, {high:.3f}]")
    0.097 in [0.078, 0.116]
    """

    def __init__(self, patterns: LabelPatterns, *, symmetric: bool) -> None:
        self.patterns, self.symmetric = patterns, symmetric
        self.n_annotators = patterns.positive.shape[1]
        # Parameters are log-odds: of the prior, then of the rates, positives first.
        self.size = 1 + self.n_annotators * (1 if symmetric else 2)

    def fit(self) -> AnnotatorFit:
        """Maximise the likelihood, from the majority vote and from each annotator's own labels."""
        theta, value = self._best(self._starts(), {})
        rates = expit(self._rates(theta)).reshape(2, -1).T
        return AnnotatorFit(float(expit(theta[0])), rates, value)

    def interval(self, which: int, level: float = 0.95) -> tuple[float, float, float]:
        """Return the first annotator's rate with its profile-likelihood limits.

        Parameters
        ----------
        which : {0, 1}
            The rate on positives or on negatives; they are the same in a symmetric model.
        level : float, default=0.95
            Confidence level.

        Returns
        -------
        value, low, high : float
        """
        reach = float(chdtri(1, 1 - check_level(level))) / 2
        at = 1 if self.symmetric else 1 + which * self.n_annotators
        largest = 0.5 if self.symmetric else 1.0
        theta, best = self._best(self._starts(), {})
        if expit(theta[at]) > largest:
            theta, best = self._best([theta, *self._starts()], {at: float(logit(largest))})
        value = float(expit(theta[at]))
        low = _first_crossing(self._profile(at, theta, best - reach), value, 0.0)
        high = _first_crossing(self._profile(at, theta, best - reach), value, largest)
        return value, low, high

    def _profile(self, at: int, theta: Array, limit: float) -> Callable[[float], float]:
        """Return the profile above the limit."""
        seen = {float(expit(theta[at])): (theta, -self._objective(theta)[0])}
        starts = self._starts()

        def above(rate: float) -> float:
            if rate not in seen:
                near = min(seen, key=lambda other: abs(other - rate))
                fixed = float(np.clip(logit(rate), -_REACH, _REACH))
                seen[rate] = self._best([seen[near][0], *starts], {at: fixed})
            return seen[rate][1] - limit

        return above

    def _starts(self) -> list[Array]:
        """Return log-odds to start from.

        With few rows the likelihood has a maximum for each annotator who may be nearly right
        always. Missing one makes intervals too short: of 60 rows by three annotators, 90 in a
        hundred covered instead of 95.
        """
        seen = self.patterns
        positives, labels = seen.positive.sum(axis=1), (seen.positive + seen.negative).sum(axis=1)
        majority = (positives + 0.5) / (labels + 1.0)
        shares = [majority]
        for own, other in zip(seen.positive.T, seen.negative.T, strict=True):
            shares.append(np.where(own + other > 0, 0.02 + 0.96 * own, majority))
        return [self._start(share) for share in shares]

    def _start(self, share: Array) -> Array:
        """Return log-odds when the patterns are positive with these probabilities."""
        seen = self.patterns
        pos, neg = seen.counts * share, seen.counts * (1 - share)
        wrong = np.stack([pos @ seen.negative, neg @ seen.positive])
        right = np.stack([pos @ seen.positive, neg @ seen.negative])
        if self.symmetric:
            wrong, right = wrong.sum(axis=0), right.sum(axis=0)
        rates = np.log((wrong + 0.5) / (right + 0.5))
        return np.append(np.log((pos.sum() + 0.5) / (neg.sum() + 0.5)), rates.ravel())

    def _best(self, starts: list[Array], fixed: dict[int, float]) -> tuple[Array, float]:
        return max((self._maximise(start, fixed) for start in starts), key=lambda found: found[1])

    def _rates(self, theta: Array) -> Array:
        """Return log-odds of the rates on positives, then of those on negatives."""
        return np.tile(theta[1:], 2) if self.symmetric else theta[1:]

    def _objective(self, theta: Array) -> tuple[float, Array]:
        """Return the negative log-likelihood and its gradient."""
        seen, count = self.patterns, self.patterns.counts
        on_pos, on_neg = self._rates(theta).reshape(2, -1)
        if_pos = log_expit(theta[0]) + (
            seen.negative @ log_expit(on_pos) + seen.positive @ log_expit(-on_pos)
        )
        if_neg = log_expit(-theta[0]) + (
            seen.positive @ log_expit(on_neg) + seen.negative @ log_expit(-on_neg)
        )
        both = np.logaddexp(if_pos, if_neg)
        share = np.exp(if_pos - both)
        pos, neg = count * share, count * (1 - share)
        observed = seen.positive + seen.negative
        by_pos = pos @ seen.negative - (pos @ observed) * expit(on_pos)
        by_neg = neg @ seen.positive - (neg @ observed) * expit(on_neg)
        rates = by_pos + by_neg if self.symmetric else np.concatenate([by_pos, by_neg])
        prior = pos.sum() - count.sum() * expit(theta[0])
        return -float(count @ both), -np.append(prior, rates)

    def _maximise(self, start: Array, fixed: dict[int, float]) -> tuple[Array, float]:
        """Return the parameters of largest likelihood, some held fixed, and that likelihood."""
        bounds = [(fixed.get(i, -_REACH), fixed.get(i, _REACH)) for i in range(self.size)]
        found = minimize(
            self._objective,
            np.clip(start, *np.transpose(bounds)),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-6},
        )
        return np.asarray(found.x), -float(found.fun)


def _first_crossing(above: Callable[[float], float], start: float, end: float) -> float:
    """Return where a function, positive at the start, first falls to nought; the end if nowhere."""
    inside, step = start, _FIRST_STEP
    while inside != end:
        outside = max(inside - step, end) if end < start else min(inside + step, end)
        if above(outside) < 0:
            return float(brentq(above, inside, outside, xtol=_END_TOL))
        inside, step = outside, 2 * step
    return end
