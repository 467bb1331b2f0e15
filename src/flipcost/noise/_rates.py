"""Flip labels on purpose, and estimate at which rates labels were flipped.

From checked rows, from rows labelled again, and from noisy labels alone with out-of-fold scores.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flipcost._validation import read_two_labels
from flipcost.core.arrays import Array, Flags
from flipcost.core.noise import (
    NoiseRate,
    NoiseRateLike,
    clopper_pearson,
    flip,
    purest_tail,
    quantile_interval,
    tail_counts,
)
from flipcost.noise._columns import (
    noise_rate,
    read_columns,
    read_labels,
    read_probabilities,
    read_scores,
)
from flipcost.noise._crowds import CrowdLabels
from flipcost.paper.forward import LARGEST_RATE, LARGEST_SUM, pair_of_rates, symmetric_rate
from flipcost.paper.losses import Design

# Apart from the stream of a user who made the data with the same seed: "flip".
_STREAM = 0x666C6970
# Bins of scores with equally many rows; what they lose is below the sampling error.
_N_BINS = 256
# Slope per standard deviation of the score above which a curve is a step.
_SLOPE_SCALE = 30.0


def flip_labels(
    y: ArrayLike, noise_rate: NoiseRateLike, random_state: Any = None, *, pos_label: Any = None
) -> NDArray[Any]:
    """Flip each label to the other class, independently, with the probability of its class.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: two values.
    noise_rate : float or pair of floats
        One probability in [0, 0.5) for all labels, or ``(rho_pos, rho_neg)`` for positive and
        negative ones.
    random_state : int, Generator or None, default=None
        Seed; an int gives the same flips each time. Its stream is the flips' own, so that the
        seed that made the data does not tie the flips to the labels.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    ndarray of shape (n,)
        Labels of the same kind, some of them flipped.

    Examples
    --------
    >>> flip_labels(["yes", "no", "yes", "yes", "no", "no"], 0.4, random_state=0)
    array(['yes', 'yes', 'no', 'yes', 'yes', 'no'], dtype='<U3')
    """
    classes, index, positive = read_two_labels(y, pos_label)
    flipped = flip(positive, noise_rate, _generator(random_state))
    return classes[np.where(flipped, index, 1 - index)]


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, Integral):
        return np.random.default_rng([_STREAM, int(random_state)])
    return np.random.default_rng(random_state)


def rate_from_trusted(
    y_noisy: ArrayLike,
    y_trusted: ArrayLike,
    *,
    class_conditional: bool = False,
    level: float = 0.95,
    pos_label: Any = None,
) -> NoiseRate:
    """Estimate the noise rate from rows whose label an expert has checked.

    The strongest information there is, and exact: the noisy label disagrees with the true one
    with the probability that is asked for. A few hundred rows do.

    Parameters
    ----------
    y_noisy : array-like of shape (n,)
        The labels to learn from.
    y_trusted : array-like of shape (n,)
        True labels of the same rows. Rows where it is missing (None, NaN, NA) are skipped.
    class_conditional : bool, default=False
        Whether to estimate a rate for each class, ``(rho_pos, rho_neg)``, from the trusted labels
        of that class.
    level : float, default=0.95
        Confidence level of the interval; of each interval when there are two.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    NoiseRate
        With Clopper-Pearson limits, which cover with at least their level at any number of rows.

    Notes
    -----
    The rows to check must be drawn at random (within each class, for two rates): rows that look
    wrong are wrong more often. Without `class_conditional` the rate is the share of wrong labels,
    which is what one rate for both classes means; if they differ, it depends on the mix of classes.

    Examples
    --------
    >>> from flipcost.noise import rate_from_trusted
    >>> noisy = ["ham", "spam", "ham", "spam", "ham", "ham", "spam", "ham"]
    >>> checked = ["ham", "spam", "spam", "spam", "ham", "ham", None, None]
    >>> print(rate_from_trusted(noisy, checked))
    0.167, 95% interval 0.004 to 0.641 (disagreement with 6 trusted labels)
    """
    columns = {"y_noisy": y_noisy, "y_trusted": y_trusted}
    noisy, trusted = read_columns(columns, pos_label, optional=("y_trusted",))[0].T
    seen = ~np.isnan(trusted)
    if not seen.any():
        msg = (
            "`y_trusted` must have a label in at least one row; got none. Have some rows "
            "checked, or use an estimate that needs no trusted labels."
        )
        raise ValueError(msg)
    wrong = noisy != trusted
    groups = [trusted == 1, trusted == 0] if class_conditional else [seen]
    rows = [int(group.sum()) for group in groups]
    if not all(rows):
        msg = (
            "A rate for each class must have trusted labels of each; got "
            f"{rows[0]} positive and {rows[1]} negative ones. Have more rows checked, or estimate "
            "one rate with class_conditional=False."
        )
        raise ValueError(msg)
    errors = [int(wrong[group].sum()) for group in groups]
    low, high = clopper_pearson(errors, rows, level)
    source = f"disagreement with {sum(rows)} trusted labels"
    return noise_rate(np.divide(errors, rows), low, high, source, level)


def rate_from_repeats(
    y1: ArrayLike,
    y2: ArrayLike,
    *more: ArrayLike,
    class_conditional: bool = False,
    level: float = 0.95,
    pos_label: Any = None,
) -> NoiseRate:
    r"""Estimate the noise rate from two or more labels of the same rows, none of them trusted.

    Annotators who err on their own disagree more, the more they err. With **two** columns, both
    are taken to be equally noisy; they disagree with probability :math:`2\rho(1-\rho)`, whatever
    the classes are, and that is solved for the rate. With **three or more**, each column has rates
    of its own and the rate *of the first column* is returned, the one to learn from.

    Parameters
    ----------
    y1, y2 : array-like of shape (n,)
        Labels of the same rows by two annotators. Missing labels (None, NaN, NA) are allowed:
        with two columns their rows are skipped, with more the other labels of the row are used.
    *more : array-like of shape (n,)
        Labels by further annotators.
    class_conditional : bool, default=False
        Whether to estimate a rate for each class, ``(rho_pos, rho_neg)``. It takes three columns:
        two leave one more unknown than there are shares to compute it from.
    level : float, default=0.95
        Confidence level of the interval; of each interval when there are two.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    NoiseRate
        With two columns the limits are exact (Clopper-Pearson limits of the disagreement, solved
        for the rate); with more they are those of the posterior. A rate of 0.5 means that
        the columns agree no more than chance does.

    Warns
    -----
    UserWarning
        When two columns disagree in more than half of the rows, beyond sampling error.

    Notes
    -----
    Annotators must err independently given the class. Those who find the same rows hard, or who saw
    each other's labels, agree too often, and the rate comes out too low. If two columns have
    different rates, the result lies between them, nearer to the larger. This is
    `CrowdLabels.noise_rate` of the first column.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost.noise import flip_labels, rate_from_repeats
    >>> y = np.repeat(["no", "yes"], [700, 300])
    >>> first, second = flip_labels(y, 0.2, 1), flip_labels(y, 0.2, 2)
    >>> print(rate_from_repeats(first, second))
    0.218, 95% interval 0.193 to 0.246 (disagreement of two labels on 1,000 rows)
    >>> third = flip_labels(y, 0.1, 3)
    >>> print(rate_from_repeats(first, second, third))
    0.213, 95% interval 0.183 to 0.246 (first of 3 labels on 1000 rows)
    """
    columns = {f"y{j}": column for j, column in enumerate((y1, y2, *more), start=1)}
    crowd = CrowdLabels.from_wide(columns, pos_label=pos_label)
    return crowd.noise_rate("y1", class_conditional=class_conditional, level=level)


def rate_by_range(
    noisy_probability: ArrayLike,
    y_noisy: ArrayLike | None = None,
    *,
    tail: float = 0.01,
    class_conditional: bool = False,
    level: float = 0.95,
    pos_label: Any = None,
) -> NoiseRate:
    r"""Estimate the noise rate from how far the probabilities of noisy labels reach.

    Noise keeps them within :math:`[\rho_-, 1 - \rho_+]`. **If** some rows are surely negative and
    some surely positive, at least the share `tail` of all rows each, then the ends of the range are
    the rates.

    Parameters
    ----------
    noisy_probability : array-like of shape (n,)
        Out-of-fold probability of a positive *noisy* label.
    y_noisy : array-like of shape (n,), optional
        The noisy labels of the same rows. If given, the rates are the shares of odd labels in the
        two tails, so that the probabilities need only be in the right order; otherwise the
        quantiles of the probabilities are taken at their word.
    tail : float, default=0.01
        Share of the rows in each tail, in (0, 0.5).
    class_conditional : bool, default=False
        Whether to return ``(rho_pos, rho_neg)``, one from each end, instead of their mean.
    level : float, default=0.95
        Confidence level of the interval; of each interval when there are two.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    NoiseRate
        The interval holds the effect of *sampling* only: with labels, that of the labels in the
        tails (Clopper-Pearson); without, that of the rows on the quantiles (exact, whatever their
        distribution).

    Notes
    -----
    This is the estimator of [1]_ (equation 17) with quantiles in place of the extremes. Its
    assumption cannot be checked on noisy labels. Where classes overlap everywhere, no row is pure
    and the rate comes out **too high**, by what the other class adds to the tails. Without labels,
    the probabilities must be right as well: a penalty shrinks them, which makes the rate higher
    still; overfitting, or a curve that knows of no noise and goes on towards 0 and 1, as that of
    logistic regression does, makes it too low. `rate_bounds` makes no such assumption, and
    `rate_by_likelihood` another.

    References
    ----------
    .. [1] A. Menon, B. van Rooyen, C. S. Ong and R. Williamson, *Learning from corrupted binary
       labels via class-probability estimation*, ICML 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost.noise import rate_by_range
    >>> noisy_probability = np.linspace(0.1, 0.7, 2001)
    >>> rate = rate_by_range(noisy_probability, class_conditional=True)
    >>> print(np.round(rate.value, 3))
    [0.306 0.106]
    >>> y = np.random.default_rng(0).random(2001) < noisy_probability
    >>> rate = rate_by_range(noisy_probability, y, tail=0.05, class_conditional=True)
    >>> print(np.round(rate.low, 2), np.round(rate.high, 2))
    [0.21 0.06] [0.4 0.2]
    """
    if not 0 < tail < 0.5:
        msg = f"`tail` must lie in (0, 0.5); got {tail:g}. Give 0.01 for the outermost hundredths."
        raise ValueError(msg)
    if y_noisy is None:
        ends = read_probabilities(noisy_probability)
        found = _range_of_quantiles(ends, tail, level, pooled=not class_conditional)
        source = f"quantiles {tail:g} and {1 - tail:g} of {len(ends)} noisy probabilities"
    else:
        positive = read_labels(y_noisy, pos_label)
        ends = read_probabilities(noisy_probability, len(positive))
        found = _range_of_labels(ends, positive, tail, level, pooled=not class_conditional)
        source = f"labels in the outermost {100 * tail:g}% of {len(ends)} noisy probabilities"
    value, low, high = found.T
    return noise_rate(value, low, high, source, level)


def _range_of_quantiles(probability: Array, tail: float, level: float, *, pooled: bool) -> Any:
    """Return (value, low, high) of each rate, from the quantiles at either end."""
    # The mean of two limits holds when both do, so that each may fail half as often.
    each = (1 + level) / 2 if pooled else level
    rates = np.array(
        [quantile_interval(1 - probability, tail, each), quantile_interval(probability, tail, each)]
    )
    rates = np.clip(rates, 0.0, 1.0)
    return rates.mean(axis=0, keepdims=True) if pooled else rates


def _range_of_labels(
    probability: Array,
    positive: Flags,
    tail: float,
    level: float,
    *,
    pooled: bool,
) -> Any:
    """Return (value, low, high) of each rate, from the labels at either end."""
    smallest = int(np.ceil(tail * len(probability)))
    counts = np.stack(
        [
            tail_counts(-probability, ~positive, smallest)[0],
            tail_counts(probability, positive, smallest)[0],
        ]
    )
    counts = counts.sum(axis=0, keepdims=True) if pooled else counts
    odd, rows = counts.T
    return np.stack([odd / rows, *clopper_pearson(odd, rows, level)], axis=1)


def rate_by_likelihood(
    y_noisy: ArrayLike,
    scores: ArrayLike,
    *,
    class_conditional: bool = False,
    level: float = 0.95,
    pos_label: Any = None,
) -> NoiseRate:
    r"""Estimate the noise rate from the form of a calibration curve.

    The probability of a positive noisy label, as a function of a score s, is modelled as

    .. math::

        \tilde\eta(s) = \rho_- + (1 - \rho_+ - \rho_-)\,\sigma(a s + b),

    a logistic curve that noise keeps away from 0 and 1. Where the curve levels off shows the rate.

    Parameters
    ----------
    y_noisy : array-like of shape (n,)
        Noisy labels.
    scores : array-like of shape (n,)
        Out-of-fold scores of the same rows, such as ``cross_val_predict(...,
        method="decision_function")``. Any scale will do; log-odds rather than probabilities, which
        bend the curve themselves.
    class_conditional : bool, default=False
        Whether to estimate a rate for each class, ``(rho_pos, rho_neg)``.
    level : float, default=0.95
        Confidence level of the interval; of each interval when there are two.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    NoiseRate
        Of largest likelihood, with the limits of the profile likelihood. When the scores do not
        reach far enough to show where the curve levels off, the interval is wide, as it should be.

    Notes
    -----
    The rate is identified by the model only: clean log-odds linear in the score. If they level off
    by themselves, the rate comes out too high; if the score is in-sample, too low. The interval
    does not know of that. Scores are binned (256 bins of as many rows each), so that the time does
    not depend on the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost.noise import flip_labels, rate_by_likelihood
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=3000)
    >>> y = flip_labels(rng.random(3000) < 1 / (1 + np.exp(-4 * s)), 0.2, 0)
    >>> print(rate_by_likelihood(y, s))
    0.223, 95% interval 0.200 to 0.245 (likelihood of 3000 labels given their scores)
    """
    positive = read_labels(y_noisy, pos_label)
    values = read_scores(scores, len(positive))
    spread = values.std()
    if not spread > 0:
        msg = "`scores` must differ between rows; got one value. Such a score shows no rate."
        raise ValueError(msg)
    centre, counts = _bin_scores((values - values.mean()) / spread, positive)
    design = Design(np.tile(centre, 2)[:, None], counts.ravel())
    labels = np.repeat([False, True], len(centre))
    n = len(values)
    estimate = pair_of_rates if class_conditional else symmetric_rate
    found = estimate(design, labels, 0.5 / (n * _SLOPE_SCALE**2), n_rows=float(n), level=level)
    largest, end = (LARGEST_SUM - 0.01, 1.0) if class_conditional else (LARGEST_RATE, 0.5)
    rates = found.rates if class_conditional else found.rates[:1]
    low, high = found.intervals.T
    # The search stops short of where labels say nothing; what reaches its end has no limit.
    high = np.where(high >= largest, end, high)
    source = f"likelihood of {n} labels given their scores"
    return noise_rate(rates, np.minimum(low, rates), np.maximum(high, rates), source, level)


def _bin_scores(z: Array, positive: Flags) -> Any:
    """Return mean scores of bins of equally many rows, and counts of (negative, positive)."""
    # By the rank of the first of ties, which so stay together whatever the order of the rows.
    rank = np.searchsorted(np.sort(z), z)
    _, place = np.unique(rank * min(_N_BINS, len(z)) // len(z), return_inverse=True)
    rows, ones = np.bincount(place), np.bincount(place, positive)
    return np.bincount(place, z) / rows, np.stack([rows - ones, ones])


def rate_bounds(
    y_noisy: ArrayLike,
    scores: ArrayLike,
    *,
    class_conditional: bool = False,
    level: float = 0.95,
    smallest: int = 10,
    pos_label: Any = None,
) -> NoiseRate:
    r"""Bound the noise rate without any assumption on the classes.

    In every part of the data at least :math:`\rho_-` of the labels are positive and at least
    :math:`\rho_+` negative, since flips alone make them so. The purest part that can be found
    bounds the rates. More cannot be known from noisy labels alone: every rate from 0 up to the
    bound fits them, with classes that overlap accordingly.

    Parameters
    ----------
    y_noisy : array-like of shape (n,)
        Noisy labels.
    scores : array-like of shape (n,)
        Out-of-fold scores of the same rows, or probabilities, larger for positives. The bound holds
        for any scores that have not seen the labels; the better they are, the tighter it is.
    class_conditional : bool, default=False
        Whether to bound each rate, ``(rho_pos, rho_neg)``, by its own end of the scores. One rate
        for both classes is bounded by both ends.
    level : float, default=0.95
        Confidence level of the bound; of each bound when there are two.
    smallest : int, default=10
        Rows in the smallest tail that is tried.
    pos_label : label, default=None
        The positive class; the larger of the two labels when None.

    Returns
    -------
    NoiseRate
        ``high`` is the bound and ``low`` is 0. ``value`` is the share of odd labels in the purest
        tail: what the rate is if that tail is truly pure, and more than it is otherwise.

    Notes
    -----
    Tails of the scores are tried, from `smallest` rows at either end and doubling up to all rows.
    Each gets an exact binomial upper limit on its share of odd labels, at a level that makes all of
    them hold together (Bonferroni); the smallest is the bound. It is one-sided: the rate exceeds it
    with probability of at most ``1 - level``.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost.noise import flip_labels, rate_bounds
    >>> rng = np.random.default_rng(0)
    >>> s = rng.normal(size=3000)
    >>> y = flip_labels(rng.random(3000) < 1 / (1 + np.exp(-4 * s)), 0.2, 0)
    >>> print(rate_bounds(y, s))
    0.223, 95% interval 0.000 to 0.273 (upper bound from the purest 640 of 3000 rows)
    """
    positive = read_labels(y_noisy, pos_label)
    values = read_scores(scores, len(positive))
    if not 1 <= smallest <= len(values):
        msg = (
            f"`smallest` must lie between 1 and the number of rows, {len(values)}; got {smallest}. "
            "Ten rows suit most data."
        )
        raise ValueError(msg)
    counts = [
        tail_counts(-values, ~positive, int(smallest)),
        tail_counts(values, positive, int(smallest)),
    ]
    counts = counts if class_conditional else [np.concatenate(counts)]
    tails = [purest_tail(table, 1 - level) for table in counts]
    largest = 1.0 if class_conditional else 0.5  # one rate lies below one half by definition
    value, high = np.minimum([[t.share for t in tails], [t.limit for t in tails]], largest)
    purest = " and ".join(f"purest {t.n_rows}" for t in tails)
    source = f"upper bound from the {purest} of {len(values)} rows"
    return noise_rate(value, np.zeros_like(value), high, source, level)
