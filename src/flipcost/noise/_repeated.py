"""Noise rates from rows that were labelled more than once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.arrays import Array
from flipcost.core.crowds import fit_crowd
from flipcost.core.rates import NoiseRate, clopper_pearson, rate_of_disagreement
from flipcost.noise._columns import noise_rate, read_columns


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
    noisy, trusted = read_columns(columns, pos_label, optional=("y_trusted",)).T
    seen = ~np.isnan(trusted)
    if not seen.any():
        msg = (
            "`y_trusted` must have a label in one row at least; got none. Have some rows "
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
    return rate_of_errors([int(wrong[group].sum()) for group in groups], rows, level)


def rate_of_errors(errors: Sequence[int], rows: Sequence[int], level: float) -> NoiseRate:
    """Return the rate from counts of trusted labels and of those that the noisy one differs from.

    Parameters
    ----------
    errors, rows : sequence of int
        Labels that were wrong and labels that were checked: in all, or of each class.
    level : float
        Confidence level of the interval.

    Returns
    -------
    NoiseRate

    Examples
    --------
    >>> print(rate_of_errors([1], [6], 0.95))
    0.167, 95% interval 0.004 to 0.641 (disagreement with 6 trusted labels)
    """
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
    different rates, the result lies between them, nearer to the larger. For three and more columns
    see `flipcost.core.crowds`.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost.noise import flip_labels, rate_from_repeats
    >>> y = np.repeat(["no", "yes"], [700, 300])
    >>> first, second = flip_labels(y, 0.2, 1), flip_labels(y, 0.2, 2)
    >>> print(rate_from_repeats(first, second))
    0.218, 95% interval 0.193 to 0.246 (disagreement of two labels on 1000 rows)
    >>> third = flip_labels(y, 0.1, 3)
    >>> print(rate_from_repeats(first, second, third))
    0.213, 95% interval 0.183 to 0.246 (first of 3 labels on 1000 rows)
    """
    columns = {f"y{j}": column for j, column in enumerate((y1, y2, *more), start=1)}
    table = read_columns(columns, pos_label, optional=columns)
    table = table[(~np.isnan(table)).sum(axis=1) >= 2]
    if not len(table):
        msg = (
            "There must be rows with two labels at least; got none. Have some rows labelled "
            "again, or use an estimate that needs no second label."
        )
        raise ValueError(msg)
    if more:
        return _of_the_first(table, class_conditional=class_conditional, level=level)
    if class_conditional:
        msg = (
            "Rates for each class must have three columns of labels at least; got two, from which "
            "they cannot be told. Give a third, or estimate one rate with class_conditional=False."
        )
        raise ValueError(msg)
    return rate_of_differences(int((table[:, 0] != table[:, 1]).sum()), len(table), level)


def rate_of_differences(differ: int, rows: int, level: float) -> NoiseRate:
    """Return the rate from counts of rows with two labels and of those where these differ.

    Parameters
    ----------
    differ, rows : int
        Rows whose two labels differ, and all rows that have two.
    level : float
        Confidence level of the interval.

    Returns
    -------
    NoiseRate

    Examples
    --------
    >>> print(rate_of_differences(340, 1000, 0.95))
    0.217, 95% interval 0.192 to 0.245 (disagreement of two labels on 1000 rows)
    """
    low, high = clopper_pearson(differ, rows, level)
    if low > 0.5:
        warnings.warn(
            f"The two columns disagree in {differ} of {rows} rows, more than independent flips "
            "can explain. Check that both code the classes in the same way.",
            UserWarning,
            stacklevel=3,
        )
    value, low, high = rate_of_disagreement(np.array([[differ / rows], [low], [high]]))
    return noise_rate(value, low, high, f"disagreement of two labels on {rows} rows", level)


def _of_the_first(table: Array, *, class_conditional: bool, level: float) -> NoiseRate:
    missing = np.flatnonzero(np.isnan(table).all(axis=0))
    if len(missing):
        msg = (
            "Each column must have labels in rows that another has labelled; got none in "
            f"column {int(missing[0]) + 1}. Leave that column out."
        )
        raise ValueError(msg)
    kinds, counts = np.unique(np.where(np.isnan(table), -1, table), axis=0, return_counts=True)
    return rate_of_patterns(
        kinds, counts.astype(float), class_conditional=class_conditional, level=level
    )


def rate_of_patterns(
    labels: Array, counts: Array, *, class_conditional: bool = False, level: float = 0.95
) -> NoiseRate:
    """Return the rate of the first of three or more annotators, each with rates of its own.

    Parameters
    ----------
    labels : ndarray of shape (n_patterns, n_annotators)
        Patterns of labels: 1, 0, or -1 where one is missing.
    counts : ndarray of shape (n_patterns,)
        Rows with each pattern.
    class_conditional : bool, default=False
        Whether to estimate a rate for each class.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    NoiseRate

    Examples
    --------
    >>> labels = np.array([[1, 1, 1], [0, 0, 0], [1, 0, 0]])
    >>> print(rate_of_patterns(labels, np.array([80, 80, 40])))
    0.198, 95% interval 0.147 to 0.257 (first of 3 labels on 200 rows)
    """
    row, worker = np.nonzero(labels >= 0)
    positive = labels[row, worker] == 1
    symmetric = not class_conditional
    found = fit_crowd(
        row, worker, positive, len(labels), counts=counts, symmetric=symmetric, pooled=False,
        level=level,
    )  # fmt: skip
    first = found.rates[0][: 2 if class_conditional else 1]
    limits = np.array([[rate.value, rate.low, rate.high] for rate in first]).T
    value, low, high = np.minimum(limits, 0.5 if symmetric else 1.0)
    source = f"first of {labels.shape[1]} labels on {int(counts.sum())} rows"
    return noise_rate(value, low, high, source, level)
