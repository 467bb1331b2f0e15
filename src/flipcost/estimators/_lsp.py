"""The least-squares probabilistic classifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np

from flipcost._validation import (
    Interval,
    StrOptions,
    check_is_fitted,
    check_weights,
    fit_context,
    validate_data,
)
from flipcost.core.arrays import Array
from flipcost.core.kernels import gaussian_kernel, squared_distances
from flipcost.core.lspc import lspc_fit, lspc_outputs, lspc_probabilities, lspc_search
from flipcost.estimators._folds import generator
from flipcost.estimators._kernel import (
    KERNELS,
    KernelClassifier,
    Rows,
    ascending,
    encode_classes,
    refuse_weightless_classes,
)

# Half decades. Without noise the best penalties are small; flipped labels ask for large ones.
_L2S = tuple(10.0 ** (k / 2) for k in range(-12, 3))


class LSPClassifier(KernelClassifier):
    r"""Least-squares probabilistic classifier: smooth class probabilities by ridge regression.

    Probabilities of two or more classes as sums of Gaussian kernels, fitted in closed form, with
    the kernel width and the penalty chosen by leaving out each row exactly. To be taken where
    probabilities are not linear in the features and rows number from a hundred to some ten
    thousand. Labels are taken as they are: the probabilities are those of the label as observed.

    Features are not scaled here: one width serves all of them, and widths and centres stay in the
    units of the data. Standardise first, as in
    ``make_pipeline(StandardScaler(), LSPClassifier())``, unless they are alike.

    Parameters
    ----------
    widths : "centiles", float or array-like, default="centiles"
        Kernel widths to try: the centiles 10, 20, ..., 90 of the distance between two distinct
        rows, or the widths given.
    l2s : None, float or array-like, default=None
        Ridge penalties to try, on the mean over rows; half decades from 1e-6 to 10 when None.
    centers : int or None, default=100
        Number of kernel centres drawn for each class (for all together with ``basis="full"``);
        None takes every distinct row.
    cv : int, splitter, iterable or None, default=None
        How rows are held out to choose by. None leaves out each row, with all its weight, in
        closed form. An int makes that many random stratified folds; a splitter's test sets must
        partition the rows.
    criterion : {"brier", "squared", "accuracy"}, default="brier"
        What the choice goes by: the squared error of the probabilities, or of the raw outputs
        (the objective of the method), both of which noisy labels leave in order, or the share of
        rows whose likeliest class is their own.
    basis : {"class", "full"}, default="class"
        Whether each class has kernels on its own rows, or all share kernels on rows of any class.
    narrower : array-like, default=()
        Multiples of the smallest centile to try as widths too.
    halved : bool, default=True
        Kernel :math:`\exp(-d^2 / 2\sigma^2)`; without the 2 if False, as in some published code.
    random_state : int, RandomState or None, default=None
        Seed of centres, widths and folds. Nothing is random when there are at most 63 distinct
        rows, no class has more of them than `centers`, and `cv` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Their shares: the answer where no output is above zero, as happens far from all centres.
    width_, l2_ : float
        The choice.
    widths_ : ndarray of shape (n_widths,)
        Widths tried, ascending.
    l2s_ : ndarray of shape (n_l2s,)
        Penalties tried, ascending.
    scores_ : ndarray of shape (n_widths, n_l2s)
        Held-out scores, greater is better; squared errors are halved and have a minus sign.
    best_score_ : float
        The greatest of them. Of equal ones, the widest kernel and the largest penalty win.
    centers_ : list of ndarray of shape (n_centers, d)
        Kernel centres of each class, or one array for all.
    weights_ : list of ndarray of shape (n_centers,)
        Kernel weights of each class.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X has them.

    See Also
    --------
    KLIEPClassifier : Probabilities from the density ratio of each class to all rows.
    flipcost.core.lspc : The mathematics.

    Notes
    -----
    The output of class :math:`y` is :math:`q_y(x) = \theta_y^\top \varphi_y(x)` with

    .. math::

        \theta_y = (H_y + \lambda I)^{-1} h_y, \qquad
        H_y = \frac1m \sum_{i=1}^m \varphi_y(x_i) \varphi_y(x_i)^\top, \qquad
        h_y = \frac1m \sum_{i : y_i = y} \varphi_y(x_i).

    :math:`H_y` runs over all rows; as printed in the paper it would run over those of the class
    alone, which estimates something else. Outputs below zero are raised to it, and the rest are
    normalised. The "minimum squared deviation" estimator of the paper's section F.5 has the same
    solution: with ``basis="full"`` and ``centers=None`` it is this class.

    Kernels are computed in memory, ``n_rows * centers`` numbers for each class; a fit costs one
    eigendecomposition per class and width, whatever the number of penalties.

    References
    ----------
    Sugiyama (2010), Superfast-trainable multi-class probabilistic classifier by least-squares
    posterior fitting, IEICE Transactions E93-D, 2690-2701.

    Yamada, Sugiyama, Wichern and Simm (2011), Improving the accuracy of least-squares probabilistic
    classifiers, IEICE Transactions E94-D, 1337-1340.

    Tripathi and Hemachandra (2019), Cost sensitive learning in the presence of symmetric label
    noise, PAKDD, sections F.4 and F.5 of the supplement.

    Examples
    --------
    >>> from flipcost import LSPClassifier
    >>> from flipcost.datasets import make_syn2d
    >>> train, test = make_syn2d(800, random_state=0), make_syn2d(200, random_state=1)
    >>> model = LSPClassifier(random_state=0).fit(train.data, train.target)
    >>> eta = model.predict_proba(test.data)[:, 1]
    >>> print(f"{((eta - test.eta) ** 2).mean():.4f}")
    0.0023
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        **KERNELS,
        "l2s": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
        "cv": [Integral, "cv_object"],
        "criterion": [StrOptions({"brier", "squared", "accuracy"})],
        "basis": [StrOptions({"class", "full"})],
    }

    def __init__(
        self,
        widths: str = "centiles",
        l2s: Any = None,
        centers: int = 100,
        *,
        cv: Any = None,
        criterion: Literal["squared", "brier", "accuracy"] = "brier",
        basis: str = "class",
        narrower: Any = (),
        halved: bool = True,
        random_state: Any = None,
    ) -> None:
        self.widths = widths
        self.l2s = l2s
        self.centers = centers
        self.cv = cv
        self.criterion = criterion
        self.basis = basis
        self.narrower = narrower
        self.halved = halved
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the width and the penalty on held-out rows, and fit all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels: any two or more values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions, save that leaving out
            a row leaves out all its weight.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(y)
        weight = check_weights(sample_weight, X)
        refuse_weightless_classes(codes, len(self.classes_), weight)
        rng = generator(self.random_state)
        rows = Rows(X, codes, weight)

        self.widths_ = rows.widths(self.widths, self.narrower, rng)
        self.l2s_ = ascending(_L2S if self.l2s is None else self.l2s, "l2s")
        self.centers_ = self._draw_centers(rows, rng)
        bases = [squared_distances(rows.X, centers) for centers in self.centers_]
        search = lspc_search(
            bases,
            rows.codes,
            self.widths_,
            self.l2s_,
            folds=None if self.cv is None else rows.folds(self.cv, codes, rng),
            criterion=self.criterion,
            sample_weight=rows.weight,
            halved=self.halved,
        )
        self.scores_, self.best_score_ = search.scores, float(search.scores[search.best])
        self.width_, self.l2_ = search.width, search.l2
        self.weights_ = lspc_fit(
            [self._kernel(base) for base in bases], rows.codes, self.l2_, sample_weight=rows.weight
        )
        shares = np.bincount(rows.codes, rows.weight)
        self.class_prior_ = shares / shares.sum()
        return self

    def _draw_centers(self, rows, rng):
        members = (
            [np.full(len(rows.codes), fill_value=True)]
            if self.basis == "full"
            else [rows.codes == code for code in range(len(self.classes_))]
        )
        return [rows.centers(of_class, self.centers, rng) for of_class in members]

    def _kernel(self, sq_distances):
        return gaussian_kernel(sq_distances, self.width_, halved=self.halved)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        phis = [self._kernel(squared_distances(X, centers)) for centers in self.centers_]
        return lspc_probabilities(lspc_outputs(phis, self.weights_), self.class_prior_)
