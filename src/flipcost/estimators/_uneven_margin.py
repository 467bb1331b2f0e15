"""Scheme 1 of the paper: the uneven-margin squared-loss classifier in closed form."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Literal, Self

import numpy as np

from flipcost._threads import moment_threads
from flipcost._validation import (
    StrOptions,
    check_weights,
    encode_labels,
    fit_context,
    positive_index,
    validate_rows,
)
from flipcost.core.costs import Costs, cost_share, margin_value, prices_of
from flipcost.core.moments import ClassMoments
from flipcost.core.solve import PricedMoments, denoised_systems, path_of_systems, priced_systems
from flipcost.estimators.base import (
    COST_AND_RATE,
    LinearMomentsClassifier,
    PricedScoreMixin,
    check_table,
    dask_table,
    is_dask,
    name_features,
    oriented,
    refuse_prices,
)
from flipcost.exceptions import DenoisingWarning


class UnevenMarginClassifier(PricedScoreMixin, LinearMomentsClassifier):
    r"""Cost-sensitive linear classifier in closed form, with or without a noise rate.

    Reads every row once, keeps the class moments, and solves one small linear system. Reach for
    it when the noise rate is known, or when labels are clean; when the rate is unknown, the
    classifier that integrates it out does better.

    Parameters
    ----------
    cost : float or Costs, default=0.5
        Share of the misclassification cost that a false positive bears, in (0, 1); a false
        negative bears ``1 - cost``. Or the prices, as ``Costs(fn=4, fp=1)``; these may differ by
        row, as in ``Costs(fn="amount", fp=5)``, and come as `prices` too (see Notes).
    margin : float, default=1.0
        Uneven margin of the negative class, above 0. It does not move the decision threshold of
        the loss; it matters through the penalty and where a linear score does not fit.
    l2 : float, default=0.1
        Ridge penalty on the mean loss. Features should be on comparable scales.
    noise_rate : float, pair of floats, or None, default=None
        None takes the labels as they are, which is the paper's estimator. The paper states that
        symmetric noise does not move its decisions; **that is false** unless the cost is 1/2 and
        the margin 1. At other costs noise pulls the decisions towards one class: with cost 0.2 and
        rate 0.4, nearly all rows are called positive. A rate in [0, 0.5), or a pair
        ``(rho_pos, rho_neg)`` of P(flipped given positive) and P(flipped given negative), denoises
        the moments first, which gives back the clean solution in expectation.
    l2_scale : {"mean", "sum"}, default="mean"
        "sum" puts the penalty on the summed loss, as in the solution that the paper prints.
    penalize_bias : bool, default=True
        Whether the bias is penalised too, as in the paper.
    pos_label : label, default=None
        The positive class, which `cost`, `margin` and `noise_rate` speak of; ``classes_[1]`` when
        None.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    coef_ : ndarray of shape (1, d)
        Weights of the features; a positive score means ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        The bias.
    moments_ : ClassMoments
        Moments of the rows seen, with labels as observed; the positive class is at 1. With prices
        by row, rows of it are weighed by what a miss costs, the others by what an alarm does.
    n_clipped_ : int
        Directions in which the denoised moments were impossible and were projected back.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X has them.

    Notes
    -----
    With :math:`z = (x, 1)` it minimises

    .. math::

        \frac1m\Bigl[\sum_{y_i = +1} (1-\alpha)(1 - w^\top z_i)^2 + \sum_{y_i = -1}
        \frac{\alpha}{\gamma}(1 + \gamma w^\top z_i)^2\Bigr] + \lambda|w|^2,

    whose solution is :math:`(A + m\lambda I)^{-1} c`; see `flipcost.core.solve` for how it is
    computed, and for the projection that keeps it well posed when denoising does not.

    `predict_proba` is the exact inverse link of the loss: the probability of the positive class
    exceeds the cost exactly where a row is called positive, and scores that no probability has are
    clipped to 0 or 1. It speaks of labels as observed, or of clean ones when a noise rate was
    given; a linear score makes it an approximation either way.

    With prices by row, :math:`a_i` for a miss and :math:`b_i` for a false alarm in units of the
    mean of :math:`a_i + b_i`, positive rows weigh :math:`a_i` in place of :math:`1-\alpha` and
    negative ones :math:`b_i` in place of :math:`\alpha`. The moments are denoised without bias,
    whatever prices depend on (`flipcost.core.solve`). The same price on all rows is one
    price. The score then weighs probability and prices in one: it is above zero where rows like
    this one cost less if they are called, at the prices that such rows have. So `predict` takes no
    prices (the squared loss has no score that one could be subtracted from), and `predict_proba`
    speaks of rows so weighed. `WeightedLogisticClassifier` models the probability alone, and
    compares it with the price of each row.

    References
    ----------
    Tripathi and Hemachandra (2019), Cost sensitive learning in the presence of symmetric label
    noise, PAKDD, Proposition 1. doi:10.1007/978-3-030-16148-4_2

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost import UnevenMarginClassifier
    >>> from flipcost.noise import flip_labels
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> X = rng.normal(size=(4000, 3)) + y[:, None]
    >>> noisy = flip_labels(y, 0.3, random_state=0)
    >>> told = UnevenMarginClassifier(cost=0.2, noise_rate=0.3).fit(X, noisy)
    >>> untold = UnevenMarginClassifier(cost=0.2).fit(X, noisy)
    >>> clean = UnevenMarginClassifier(cost=0.2).fit(X, y)
    >>> print([f"{model.predict(X).mean():.2f}" for model in (clean, told, untold)])
    ['0.81', '0.84', '1.00']
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        **COST_AND_RATE,
        "margin": [Real],
        "l2": [Real],
        "l2_scale": [StrOptions({"mean", "sum"})],
        "penalize_bias": ["boolean"],
    }
    _by_row = False

    def __init__(
        self,
        cost: float | Costs = 0.5,
        margin: float = 1.0,
        l2: float = 0.1,
        noise_rate: Any = None,
        *,
        l2_scale: Literal["mean", "sum"] = "mean",
        penalize_bias: bool = True,
        pos_label: Any = None,
    ) -> None:
        self.cost = cost
        self.margin = margin
        self.l2 = l2
        self.noise_rate = noise_rate
        self.l2_scale = l2_scale
        self.penalize_bias = penalize_bias
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, prices: Any = None) -> Self:
        """Learn from all rows, forgetting what was seen before.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d), or Dask collection
            Rows.
        y : array-like of shape (n,), or Dask collection
            Labels: any two values.
        sample_weight : array-like of shape (n,), or Dask collection, optional
            Non-negative weights; a weight counts as that many repetitions.
        prices : array-like of shape (n, 2) or (n, 4), frame or Costs, optional
            What mistakes on each row cost: ``fn, fp`` or ``fn, fp, tp, tn``. They count in place of
            `cost`; the Notes say how. `predict` takes none.

        Returns
        -------
        self
        """
        if is_dask(X):
            if prices is not None:
                refuse_prices("a Dask collection")
            return self.fit_table(dask_table(X, y, sample_weight))
        paid = prices_of(self.cost, prices, X)
        X = validate_rows(self, X, reset=True)
        classes, second = encode_labels(self, y, X.shape[0])
        if paid is None:
            return self._learn(None, classes, X, second, sample_weight)
        positive = second if positive_index(classes, self.pos_label) == 1 else ~second
        weight = check_weights(sample_weight, X)
        with moment_threads(X.shape[1]):
            moments = PricedMoments.from_rows(X, positive, paid, weight)
        return self._solve(moments, classes)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; any split of the rows gives what `fit` gives on all of them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels.
        classes : array-like of shape (2,), optional
            Both labels; needed in the first call when one of them is not in `y`.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights.

        Returns
        -------
        self
        """
        first = not hasattr(self, "moments_")
        if not first and self._by_row:
            msg = (
                "`partial_fit` cannot go on from rows that were weighed by their own prices: what "
                "one unit of these is depends on all rows. Use `fit` on all of them."
            )
            raise ValueError(msg)
        X = validate_rows(self, X, reset=first)
        known = None if first else self.classes_
        if classes is not None:
            known = _check_classes(classes, known)
        known, second = encode_labels(self, y, X.shape[0], known)
        return self._learn(None if first else self.moments_, known, X, second, sample_weight)

    def _learn(self, before, classes, X, second, sample_weight):
        positive = second if positive_index(classes, self.pos_label) == 1 else ~second
        weight = check_weights(sample_weight, X)
        with moment_threads(X.shape[1]):
            moments = ClassMoments.from_rows(X, positive, weight)
        return self._solve(moments if before is None else before.merge(moments), classes)

    @fit_context(prefer_skip_nested_validation=True)
    def fit_moments(self, moments: Any, classes: Any = None) -> Self:
        """Learn from moments that were gathered elsewhere: a file, a stream, other machines.

        Parameters
        ----------
        moments : ClassMoments
            Moments of rows with their labels as observed, the positive class at 1.
        classes : array-like of shape (2,), optional
            The labels; 0 and 1 when not given.

        Returns
        -------
        self
        """
        if not isinstance(moments, ClassMoments):
            msg = (
                f"`moments` must be ClassMoments; got {type(moments).__name__}. "
                "Gather them with ClassMoments.from_rows."
            )
            raise TypeError(msg)
        # Moments do not know the names of their features; those of an earlier fit no longer hold.
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = moments.n_features
        return self._solve(moments, _check_classes((0, 1) if classes is None else classes))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_table(self, table: Any) -> Self:
        """Learn from a table that is read in one pass and never held: files, batches, a cluster.

        Parameters
        ----------
        table : flipcost.scale.Table
            Made by `scan_parquet`, `scan_csv`, `scan_batches` or `scan_dask`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from flipcost import UnevenMarginClassifier
        >>> from flipcost.scale import scan_batches
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
        >>> table = scan_batches([(X[:3], y[:3]), (X[3:], y[3:])])
        >>> UnevenMarginClassifier().fit_table(table).predict(X)
        array([0, 0, 1, 1])
        """
        if isinstance(self.cost, Costs) and self.cost.is_by_row:
            refuse_prices("a table")
        check_table(table)
        classes, labelled = oriented(table, 1, self.pos_label)
        self.fit_moments(labelled.parts[0], classes)
        name_features(self, labelled.names)
        return self

    def _solve(self, moments, classes):
        by_row = isinstance(moments, PricedMoments)
        if not np.sum(moments.weight) > 0:
            msg = (
                "There must be rows with a positive weight to learn from; got none. "
                "Check `sample_weight`, or what the moments were gathered from."
            )
            raise ValueError(msg)
        # Prices by row are in the weights already.
        cost, margin = 0.5 if by_row else cost_share(self.cost), margin_value(self.margin)
        denoise = priced_systems if by_row else denoised_systems
        system = denoise(moments, [self.noise_rate])[0]
        path = path_of_systems(
            [system],
            [cost],
            [margin],
            [self.l2],
            l2_scale=self.l2_scale,
            penalize_bias=self.penalize_bias,
        )

        self.classes_ = classes
        self.moments_ = moments.observed() if by_row else moments
        self.n_clipped_ = system.n_clipped
        self._by_row = by_row
        self._store(path[0, 0, 0, 0], cost, margin)
        if system.is_indefinite(cost, margin):
            warnings.warn(_indefinite_message(system, self.noise_rate), DenoisingWarning, 2)
        return self


def _check_classes(classes, known=None):
    found = np.unique(np.asarray(classes))
    if found.shape != (2,):
        msg = f"`classes` must hold two labels; got {found.tolist()}. Give both, and only them."
        raise ValueError(msg)
    if known is not None and not np.array_equal(found, known):
        msg = (
            f"`classes` must be the same in every call; got {found.tolist()} after "
            f"{known.tolist()}. Use `fit` to start anew."
        )
        raise ValueError(msg)
    return found


def _indefinite_message(system, noise_rate):
    return (
        f"Denoising with noise_rate={noise_rate} left no minimum: in {system.n_clipped} of "
        f"{len(system.shares)} directions the denoised moments are those of no labelling. They "
        "were projected onto the nearest possible ones (see flipcost.core.solve). The data are "
        "thin for this rate: trust the result less, gather rows, drop features, or check the rate."
    )
