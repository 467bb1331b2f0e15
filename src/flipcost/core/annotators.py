r"""True labels and error rates: of several annotators, and of a judge beside people.

Several annotators, none of whom is always right
------------------------------------------------
Given the true class :math:`z_i` of an item, annotators err on their own: annotator :math:`j` misses
a positive with probability :math:`\rho_{j+}` and cries wolf with :math:`\rho_{j-}`, the model of
Dawid and Skene for two classes. The rates of all annotators come from a Beta distribution for each
class, whose mean and strength are learned too, so that who labelled little is taken for an ordinary
annotator, and with three annotators of much the same quality the answer is near the majority's.

Everything is drawn in turns (Gibbs sampling): true classes, rates, the share of positives, the Beta
distributions on a grid; and share and rates are moved together, which takes fewer turns.
Probabilities are averages of conditional ones, and limits are those of a Beta distribution with the
mean and the variance of the posterior. The names of the classes are settled by ordinary annotators
being right more often than not.

A judge labelled all rows, and people some
------------------------------------------
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
A. P. Dawid and A. M. Skene, *Maximum likelihood estimation of observer error-rates using the EM
algorithm*, Applied Statistics 28(1), 1979. doi:10.2307/2346806

L. D. Brown, T. T. Cai and A. DasGupta, *Interval estimation for a binomial proportion*, Statistical
Science 16(2), 2001. doi:10.1214/ss/1009213286
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln, expit, log_expit, logit

from flipcost.core import priors
from flipcost.core.arrays import Array, Flags, Indices, unit_weights
from flipcost.core.confusion import Interval

_SEED = 0
# Draws that are thrown away, and how far rates stay from nought and one.
_WARM, _EDGE = 100, 1e-6
# Turns after which directions are learned anew, and how long steps along them are.
_LEARN, _STEPS = 50, (0.3, 1.0, 2.0)
# Draws by which votes are judged.
_VOTES = 100
# Of more labels such a move takes longer, and is less needed: every third turn will do.
_FEW = 5000


@dataclass(frozen=True, eq=False)
class CrowdFit:
    """What is known of items and annotators.

    Attributes
    ----------
    probability : ndarray of shape (n_items,)
        Of the positive class, from the labels and the prior; where the truth was given too.
    rates : list of pair of Interval
        Of each annotator: how often positives are missed, and negatives flagged. The same
        twice where both were taken to be equal.
    share : Interval
        Of positives among what the items are a sample of.
    vote : ndarray of bool, shape (n_items,)
        What the labels alone say, by what is known of who gave them.
    vote_rates : pair of Interval
        Share of the true positives that this calls negative, and of the true negatives that it
        calls positive.
    """

    probability: Array
    rates: list[tuple[Interval, Interval]]
    share: Interval
    vote: Flags
    vote_rates: tuple[Interval, Interval]


def fit_crowd(
    item: Indices,
    worker: Indices,
    label: Flags,
    n_items: int,
    *,
    counts: ArrayLike | None = None,
    truth: Array | None = None,
    prior: Array | None = None,
    n_workers: int | None = None,
    symmetric: bool = False,
    pooled: bool = True,
    level: float = 0.95,
) -> CrowdFit:
    """Learn true classes and rates from labels, one for each item and annotator that gave one.

    Parameters
    ----------
    item, worker : ndarray of int
        Of each label.
    label : ndarray of bool
        Whether it is the positive one.
    n_items : int
        Number of items; some may have no label.
    counts : ndarray of shape (n_items,), optional
        For how many items, labelled alike by the same annotators, each one stands.
    truth : ndarray of shape (n_items,), optional
        1 or 0 where the true class is known, NaN elsewhere.
    prior : ndarray of shape (n_items,), optional
        Probability of the positive class before labels are seen; one share for all when None.
    n_workers : int, optional
        Number of annotators, where the last ones may have labelled nothing.
    symmetric : bool
        Whether an annotator errs as often on either class.
    pooled : bool
        Whether annotators may be taken to be much alike, which decides better and covers the rate
        of one who is not less often.
    level : float
        Of the intervals.
    """
    n_workers = int(worker.max()) + 1 if n_workers is None else n_workers
    copies = unit_weights(counts, n_items)
    unknown = np.full(n_items, np.nan)
    labels = _Labels(
        item,
        (2 * worker + label).astype(np.intp),
        copies,
        n_workers,
        unknown if truth is None else truth,
        None if prior is None else logit(np.clip(prior, _EDGE, 1 - _EDGE)),
        symmetric,
        pooled,
    )
    draws = int(np.clip(priors.CROWD_WORK // max(len(item), 1), *priors.CROWD_DRAWS))
    votes = np.bincount(item, np.where(label, 1.0, -1.0), n_items).astype(float)
    chain = _Chain(labels, votes)
    for _ in range(_WARM):
        chain.step()
    total = np.zeros(n_items)
    moments = np.zeros((2, 2, n_workers))
    places = np.empty(draws)
    kept: list[tuple[float, Array]] = []
    for turn in range(draws):
        chain.step()
        total += chain.chance
        places[turn] = chain.place[0]
        if turn * _VOTES % draws < _VOTES:
            kept.append((places[turn], chain.rates))
        a, b = chain.after
        moments += [a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))]
    cut = (1 - level) / 2
    middle, square = moments / draws
    limits = [_beta_intervals(m, s - m**2, cut) for m, s in zip(middle, square, strict=True)]
    vote = labels.vote(float(places.mean()), logit(np.clip(middle, _EDGE, 1 - _EDGE)))
    missed = np.array([_wrong_votes(labels, vote, chain.rng, *one) for one in kept])
    return CrowdFit(
        total / draws,
        list(zip(*limits, strict=True)),
        _median(expit(places), level),
        vote,
        (_median(missed[:, 0], level), _median(missed[:, 1], level)),
    )


def _wrong_votes(
    labels: _Labels, vote: Flags, rng: np.random.Generator, share: float, rates: Array
) -> tuple[float, float]:
    """Return the shares of positives and of negatives that votes get wrong, classes drawn."""
    chance = expit(labels.odds(share, rates)[0])
    chance = np.where(np.isnan(labels.truth), chance, labels.truth)
    positive = rng.binomial(labels.copies.astype(np.int64), chance)
    negative = labels.copies - positive
    return (
        float(positive[~vote].sum() / max(positive.sum(), _EDGE)),
        float(negative[vote].sum() / max(negative.sum(), _EDGE)),
    )


def _median(drawn: Array, level: float) -> Interval:
    cut = (1 - level) / 2
    low, value, high = np.quantile(drawn, [cut, 0.5, 1 - cut]).tolist()
    return Interval(value, low, high)


@dataclass(frozen=True, eq=False)
class _Labels:
    """What was labelled; `cell` is twice the annotator, and one more where the label is positive.

    `ahead` has the log-odds of each item before labels are seen, None for one share of all.
    """

    item: Indices
    cell: Indices
    copies: Array
    n_workers: int
    truth: Array
    ahead: Array | None
    symmetric: bool
    pooled: bool

    @cached_property
    def counted(self) -> Array:
        """Labels by annotator: negative ones, and positive ones."""
        cells = np.bincount(self.cell, self.copies[self.item], 2 * self.n_workers)
        return cells.astype(float).reshape(-1, 2)

    @cached_property
    def known(self) -> Indices:
        """Items whose class is known."""
        return np.flatnonzero(~np.isnan(self.truth))

    def odds(self, share: float, rates: Array) -> tuple[Array, float]:
        """Return log-odds of each item, and the log-likelihood; both from log-odds of all rates."""
        wrong, right = log_expit(rates), log_expit(-rates)
        said = np.empty(2 * self.n_workers)
        said[0::2], said[1::2] = wrong[0] - right[1], right[0] - wrong[1]
        odds: Array = np.bincount(self.item, said[self.cell], len(self.copies)).astype(float)
        odds += np.float64(share) if self.ahead is None else self.ahead
        each = np.logaddexp(0, odds)
        each[self.known] = self.truth[self.known] * odds[self.known]
        fit = float(
            self.copies @ each + self.counted[:, 0] @ right[1] + self.counted[:, 1] @ wrong[1]
        )
        if self.ahead is None:
            fit += float(self.copies.sum() * log_expit(-share))
        return odds, fit

    def vote(self, share: float, rates: Array) -> Flags:
        """Return what the labels say by themselves."""
        return np.asarray(replace(self, ahead=None).odds(share, rates)[0] > 0)


class _Chain:
    """The draws: classes, rates and the share in turns, and now and then all rates at once.

    In turns alone the share and the rates follow each other in small steps where few labels tell
    them apart. So the share and the rates of either class are also moved together, classes summed
    out (Metropolis), along the directions in which they have moved so far.
    """

    def __init__(self, labels: _Labels, votes: Array) -> None:
        self.labels, self.rng = labels, np.random.default_rng(_SEED)
        self.strengths = _Strengths(labels.n_workers, pooled=labels.pooled)
        agreed = np.clip(labels.copies[votes > 0].sum() / labels.copies.sum(), 0.05, 0.95)
        # Log-odds of the share; rates start where most labels are right.
        self.place = np.array([logit(agreed), 0.0, 0.0])
        self.rates = np.full((2, labels.n_workers), -1.4)
        self.way: list[Array] = []
        self.every = 1 if len(labels.item) <= _FEW else 3
        self.directions = np.diag([0.1, 0.1, 0.1])
        self.chance = expit(2.0 * votes)
        self.after = (np.ones((2, labels.n_workers)), np.ones((2, labels.n_workers)))

    def step(self) -> None:
        """Draw everything once."""
        labels, rng = self.labels, self.rng
        if len(self.way) % self.every:
            self.chance = expit(labels.odds(self.place[0], self.rates)[0])
        elif self.way:
            self._move()
        positive = rng.binomial(labels.copies.astype(np.int64), self.chance).astype(float)
        positive[labels.known] = (labels.copies * labels.truth)[labels.known]
        hits = np.bincount(labels.cell, positive[labels.item], 2 * labels.n_workers).reshape(-1, 2)
        passes = labels.counted - hits
        wrong, right = np.stack([hits[:, 0], passes[:, 1]]), np.stack([hits[:, 1], passes[:, 0]])
        if labels.symmetric:
            wrong, right = (np.tile(x.sum(axis=0), (2, 1)) for x in (wrong, right))
        means = [self.strengths.drawn(rng, rates) for rates in self.rates]
        a, b = (np.array(side)[:, None] for side in zip(*means, strict=True))
        if labels.symmetric:
            a, b = a[:1], b[:1]
        self.after = wrong + a, right + b
        drawn = np.clip(rng.beta(*self.after), _EDGE, 1 - _EDGE)
        self.rates = logit(drawn[[0, 0]] if labels.symmetric else drawn)
        n_positive, n = positive.sum(), labels.copies.sum()
        share = rng.beta(n_positive + 0.5, n - n_positive + 0.5)
        self.place = np.array([logit(np.clip(share, _EDGE, 1 - _EDGE)), *self.rates.mean(axis=1)])
        self.way.append(self.place)
        if len(self.way) % _LEARN == 0:
            spread = np.cov(np.array(self.way[len(self.way) // 4 :]).T)
            self.directions = np.linalg.cholesky(spread + 1e-6 * np.eye(3))

    def _move(self) -> None:
        """Move the share and all rates together, if that is as likely; settle the chances."""
        odds, before = self._fit(self.place[0], self.rates)
        step = self.directions @ self.rng.normal(size=3) * self.rng.choice(_STEPS)
        if self.labels.symmetric:
            step[2] = step[1]
        if self.labels.ahead is not None:
            step[0] = 0.0
        share, rates = self.place[0] + step[0], self.rates + step[1:, None]
        moved, after = self._fit(share, rates)
        if np.log(self.rng.random()) < after - before:
            odds, self.rates = moved, rates
        self.chance = expit(odds)

    def _fit(self, share: float, rates: Array) -> tuple[Array, float]:
        """Return log-odds of the items, and the log-density of share and rates as log-odds."""
        odds, fit = self.labels.odds(share, rates)
        fit += 0.5 * float(log_expit(share) + log_expit(-share))
        once = rates[:1] if self.labels.symmetric else rates
        return odds, fit + sum(map(self.strengths.density, once))


class _Strengths:
    """Mean and strength of the Beta distribution that rates of one class come from, on a grid."""

    def __init__(self, n_workers: int, *, pooled: bool) -> None:
        strengths = priors.CROWD_STRENGTHS[: None if pooled else priors.CROWD_WEAK]
        mean, size = np.meshgrid(priors.CROWD_MEANS, strengths, indexing="ij")
        self.a, self.b = (mean * size).ravel(), ((1 - mean) * size).ravel()
        self.norm = n_workers * betaln(self.a, self.b)

    def _logs(self, rates: Array) -> Array:
        found: Array = self.a * log_expit(rates).sum() + self.b * log_expit(-rates).sum()
        return np.asarray(found - self.norm)

    def density(self, rates: Array) -> float:
        """Return the log-density of the rates of all annotators, as log-odds, over the grid."""
        logs = self._logs(rates)
        largest = float(logs.max())
        return largest + float(np.log(np.exp(logs - largest).sum()))

    def drawn(self, rng: np.random.Generator, rates: Array) -> tuple[float, float]:
        """Draw both given the rates of all annotators."""
        logs = self._logs(rates)
        weight = np.cumsum(np.exp(logs - logs.max()))
        place = min(int(np.searchsorted(weight, rng.random() * weight[-1])), len(weight) - 1)
        return float(self.a[place]), float(self.b[place])


def _beta_intervals(mean: Array, variance: Array, cut: float) -> list[Interval]:
    """Return medians and limits of Beta distributions with these means and variances."""
    size = np.maximum(mean * (1 - mean) / np.maximum(variance, 1e-15) - 1, 1e-3)
    a, b = mean * size, (1 - mean) * size
    found = [betaincinv(a, b, q) for q in (0.5, cut, 1 - cut)]
    return [Interval(*map(float, one)) for one in zip(*found, strict=True)]


def calibrate(probability: Array, truth: Array) -> float:
    """Return by what to multiply log-odds so that known truths are as likely as is said.

    Annotators who find the same items hard make probabilities too sure. The factor is drawn to 1
    as by a few known truths, and is never above it.
    """
    known = ~np.isnan(truth)
    odds = logit(np.clip(probability[known], _EDGE, 1 - _EDGE))
    sign = np.where(truth[known] == 1, 1.0, -1.0)
    factors = np.linspace(0.05, 1, 96)
    fit = -np.logaddexp(0, -factors[:, None] * sign * odds).sum(axis=1)
    return float(factors[np.argmax(fit + 0.5 * np.log(factors))])


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

    Labels are -1, 0 or 1: of the second less those of the first; people's count for the rows that
    were `seen`. What people say is drawn in each stratum of what the judge says, with a third of a
    row of each kind as prior.
    """
    rng = np.random.default_rng(_SEED)
    rows = np.bincount(judged + 1, minlength=3).astype(float)
    counts = np.bincount(3 * (judged[seen] + 1) + human[seen] + 1, minlength=9).reshape(3, 3)
    weight = rng.standard_gamma(rows, (priors.JUDGE_DRAWS, 3))
    weight /= weight.sum(axis=1, keepdims=True)
    kinds = rng.standard_gamma(counts + 1 / 3, (priors.JUDGE_DRAWS, 3, 3))
    kinds /= kinds.sum(axis=2, keepdims=True)
    return _median((weight * (kinds[..., 2] - kinds[..., 0])).sum(axis=1), level)


def _interval(draws: Array, level: float, *, any_: float, others: float) -> Interval:
    """Return quantiles; 0 and 1 are inside where nothing that was seen speaks against them."""
    found = _median(draws, level)
    low = found.low if any_ > 0 else 0.0
    high = found.high if others > 0 else 1.0
    return Interval(found.value, low, high)
