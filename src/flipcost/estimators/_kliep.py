"""Class probabilities from density ratios."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

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
from flipcost.core.kliep import kliep, kliep_reference
from flipcost.core.kliep_search import kliep_posterior_search
from flipcost.core.ratios import COMBINATIONS, combine_ratios, training_scales
from flipcost.estimators._binary import BinaryClassifier
from flipcost.estimators._folds import generator
from flipcost.estimators._kernel import KERNELS, KernelClassifier, Rows, refuse_weightless_classes


class KLIEPClassifier(BinaryClassifier, KernelClassifier):
    r"""Class probabilities from the density ratio of each class to all rows, by KLIEP.

    A generative counterpart of `LSPClassifier` for two classes: the density of each class over
    that of all rows is a sum of Gaussian kernels with weights of greatest likelihood, and the two
    ratios are put together into a probability. Labels are taken as they are: the probability is
    that of the label as observed.

    Features are not scaled here: one width serves all of them, and widths and centres stay in the
    units of the data. Standardise first, as in
    ``make_pipeline(StandardScaler(), KLIEPClassifier())``, unless they are alike.

    Parameters
    ----------
    combine : {"norm", "pos", "neg", "pos_s", "neg_s", "norm_s", "cnorm_s", "avg_s"}, \
default="norm"
        How the two ratios make a probability; see Notes. "norm" has much the smallest error; the
        others are there because the paper compares them.
    widths : "centiles", float or array-like, default="centiles"
        Kernel widths to try: the centiles 10, 20, ..., 90 of the distance between two distinct
        rows, with `narrower` ones, or the widths given.
    centers : int or None, default=100
        Number of kernel centres drawn from each class; None takes every distinct row.
    cv : int, splitter or iterable, default=5
        Folds to choose the width by. An int makes random stratified ones; a splitter's test sets
        must partition the rows.
    criterion : {"auto", "posterior", "likelihood"}, default="auto"
        What the choice of the width goes by. "posterior" takes one width for both classes, by the
        log-likelihood of the labels left out under "norm". "likelihood" takes each class's own
        width by the mean log-ratio on its rows left out, as KLIEP was published. "auto" is
        "posterior" for ``combine="norm"``, whose mean squared error it lowers by a quarter to two
        fifths on the paper's three laws, and "likelihood" for the others.
    solver : {"certified", "reference"}, default="certified"
        "certified" ascends to the optimum and proves it. "reference" is the gradient ascent first
        published, which stops short of it; it takes no weights, and is there for comparison. The
        width is chosen by certified fits either way.
    form : {"corrected", "printed"}, default="corrected"
        The paper's combinations as they must be meant, or as it prints them.
    tol : float, default=1e-6
        Stop when the mean log-ratio is certainly within `tol` of its maximum.
    narrower : array-like, default=(0.35, 0.5, 0.7)
        Multiples of the smallest centile to try as widths too. In ten dimensions distances crowd
        together, and likelihood sits at the narrow edge of the centiles.
    halved : bool, default=True
        Kernel :math:`\exp(-d^2 / 2\sigma^2)`; without the 2 if False, as in some published code.
    pos_label : label, default=None
        The positive class, which `combine` and `eta_raw` speak of; ``classes_[1]`` when None.
    random_state : int, RandomState or None, default=None
        Seed of centres, widths and folds.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    prior_ : float
        Share of the positive class: the answer where both ratios are zero, as happens far from
        all centres.
    gap_ : float
        The larger certificate of the two ratios: how much greater a mean log-ratio could be at
        most. At most `tol`, unless a warning said so or ``solver="reference"``.
    width_ : ndarray of shape (2,)
        Width of each class's kernels, negative class first, as everywhere below.
    widths_ : ndarray of shape (n_widths,)
        Widths tried, ascending.
    scores_ : ndarray of shape (n_widths,)
        Mean log-likelihood of the labels left out; NaN when there is one width and nothing to
        choose.
    class_scores_ : ndarray of shape (2, n_widths)
        Mean log-ratio of each class on its rows left out; likewise.
    search_gaps_ : ndarray of shape (2, n_widths, n_folds)
        Certificate of every fit behind the choice; no folds when there is one width.
    centers_ : list of two ndarray of shape (n_centers, d)
        Kernel centres.
    weights_ : list of two ndarray of shape (n_centers,)
        Kernel weights: the ratio at a row is their product with its kernel values.
    objective_ : ndarray of shape (2,)
        Mean log-ratio of each class on its own rows.
    scales_ : tuple of float
        Greatest "pos" and "neg" on the training rows, by which the scaled combinations divide.
    n_iter_ : int
        Steps of the solver, the larger number of the two ratios.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X has them.

    See Also
    --------
    LSPClassifier : The same kernels by least squares; two or more classes.
    flipcost.core.kliep : The mathematics of a ratio.
    flipcost.core.ratios : The combinations, corrected and printed.

    Notes
    -----
    With :math:`\pi` the share of the positive class and :math:`w_\pm` the estimated ratios,

    =========  =========================================================
    combine    probability of the positive class
    =========  =========================================================
    pos        :math:`\pi w_+`
    neg        :math:`1 - (1 - \pi) w_-`
    norm       pos / (pos + 1 - neg), the ratio of :math:`\pi w_+` to
               :math:`\pi w_+ + (1 - \pi) w_-`
    pos_s      pos divided by its maximum on the training rows
    neg_s      neg divided by its maximum on the training rows
    norm_s     pos_s / (pos_s + 1 - neg_s)
    cnorm_s    neg_s / (neg_s + 1 - pos_s)
    avg_s      (pos_s + neg_s) / 2
    =========  =========================================================

    clipped to [0, 1]. The paper prints pos / (pos + neg) for norm, which is one half everywhere
    for exact ratios, and likewise for the scaled ones.

    Each ratio maximises the mean logarithm of itself over the rows of its class, with mean one over
    all rows: the likelihood of mixture weights on a simplex, a concave problem whose dual gap is
    the certificate.

    `combine` and `form` act when probabilities are asked for: with ``criterion="likelihood"``, all
    combinations can be had from one fit by `set_params`.

    References
    ----------
    Sugiyama, Suzuki, Nakajima, Kashima, von Buenau and Kawanabe (2008), Direct importance
    estimation for covariate shift adaptation, Annals of the Institute of Statistical Mathematics
    60, 699-746, doi:10.1007/s10463-008-0197-x.

    Tripathi and Hemachandra (2019), Cost sensitive learning in the presence of symmetric label
    noise, PAKDD, section F.6 of the supplement.

    Examples
    --------
    >>> from flipcost import KLIEPClassifier
    >>> from flipcost.datasets import make_syn2d
    >>> train, test = make_syn2d(800, random_state=0), make_syn2d(200, random_state=1)
    >>> model = KLIEPClassifier(random_state=0).fit(train.data, train.target)
    >>> eta = model.predict_proba(test.data)[:, 1]
    >>> print(f"{((eta - test.eta) ** 2).mean():.4f}, certified: {model.gap_ <= 1e-6}")
    0.0017, certified: True
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "combine": [StrOptions(set(COMBINATIONS))],
        **KERNELS,
        "cv": [Integral, "cv_object"],
        "criterion": [StrOptions({"auto", "posterior", "likelihood"})],
        "solver": [StrOptions({"certified", "reference"})],
        "form": [StrOptions({"corrected", "printed"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "pos_label": "no_validation",
    }

    def __init__(
        self,
        combine: str = "norm",
        widths: str = "centiles",
        centers: int = 100,
        *,
        cv: int = 5,
        criterion: str = "auto",
        solver: str = "certified",
        form: Literal["corrected", "printed"] = "corrected",
        tol: float = 1e-6,
        narrower: Any = (0.35, 0.5, 0.7),
        halved: bool = True,
        pos_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.combine = combine
        self.widths = widths
        self.centers = centers
        self.cv = cv
        self.criterion = criterion
        self.solver = solver
        self.form = form
        self.tol = tol
        self.narrower = narrower
        self.halved = halved
        self.pos_label = pos_label
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the widths on held-out rows, and fit the two ratios to all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=np.float64)
        positive = self._read_labels(y, X.shape[0])
        weight = check_weights(sample_weight, X)
        refuse_weightless_classes(positive.astype(np.intp), 2, weight)
        rng = generator(self.random_state)
        rows = Rows(X, positive, weight)

        self.widths_ = rows.widths(self.widths, self.narrower, rng)
        self.centers_ = [rows.centers(rows.codes == code, self.centers, rng) for code in (0, 1)]
        bases = [squared_distances(rows.X, centers) for centers in self.centers_]
        choice, starts = self._choose(bases, rows, positive, rng)
        self.width_ = self.widths_[list(choice)]
        self._fit_ratios(bases, rows, starts)
        return self

    def _choose(self, bases, rows, positive, rng):
        """Return the place of each class's width in the grid, and where its fit may start."""
        if len(self.widths_) == 1:
            self.scores_, self.class_scores_ = np.full(1, np.nan), np.full((2, 1), np.nan)
            self.search_gaps_ = np.empty((2, 1, 0))
            return (0, 0), (None, None)
        search = kliep_posterior_search(
            bases,
            rows.codes,
            self.widths_,
            rows.folds(self.cv, positive.astype(np.intp), rng),
            sample_weight=rows.weight,
            halved=self.halved,
            tol=self.tol,
        )
        self.scores_, self.class_scores_ = search.scores, search.class_scores
        self.search_gaps_ = search.gaps
        jointly = self.criterion == "posterior" or (
            self.criterion == "auto" and self.combine == "norm"
        )
        choice = (search.best, search.best) if jointly else search.class_best
        return choice, [search.starts[code][place] for code, place in enumerate(choice)]

    def _fit_ratios(self, bases, rows, starts):
        share = np.full(len(rows.X), 1.0) if rows.weight is None else rows.weight
        share = share / share.sum()
        if self.solver == "reference" and np.ptp(share) > 0:
            msg = (
                'solver="reference" takes no weights; got `sample_weight` that differ. Give none, '
                'or use solver="certified".'
            )
            raise ValueError(msg)
        fits, ratios = [], []
        for code in (0, 1):
            phi = self._kernel(bases[code], code)
            members = rows.codes == code
            if self.solver == "reference":
                fit = kliep_reference(phi[members], share @ phi)
            else:
                fit = kliep(
                    phi[members],
                    share @ phi,
                    self.tol,
                    sample_weight=share[members],
                    start=starts[code],
                )
            fits.append(fit)
            ratios.append(phi @ fit.weights)
        self.prior_ = float(share @ rows.codes)
        self.scales_ = training_scales(ratios[1], ratios[0], self.prior_)
        self._store(fits)

    def _store(self, fits):
        self.weights_ = [fit.weights for fit in fits]
        self.objective_ = np.array([fit.objective for fit in fits])
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.gap_ = max(fit.gap for fit in fits)
        if self.solver == "certified" and self.gap_ > self.tol:
            msg = (
                f"A ratio ended with a gap of {self.gap_:.1g}, above tol={self.tol:g}: rounding or "
                "the limit of 100 steps stopped it. Widen the kernels, or raise `tol`."
            )
            warnings.warn(msg, ConvergenceWarning, 5)

    def _kernel(self, sq_distances, code):
        return gaussian_kernel(sq_distances, float(self.width_[code]), halved=self.halved)

    def density_ratios(self, X: Any) -> Array:
        """Return the density of each class over the density of all rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Negative class first. Both columns have mean one over the training rows.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.column_stack(
            [
                self._kernel(squared_distances(X, centers), code) @ self.weights_[code]
                for code, centers in enumerate(self.centers_)
            ]
        )

    def eta_raw(self, X: Any) -> Array:
        """Return the probability of the positive class as the formula gives it, not clipped.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._eta(X, clip=False)

    def _eta(self, X, *, clip):
        ratios = self.density_ratios(X)
        return combine_ratios(
            ratios[:, 1],
            ratios[:, 0],
            self.prior_,
            self.combine,
            scales=self.scales_,
            form=self.form,
            clip=clip,
        )

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns in the order of ``classes_``.
        """
        return self._columns(self._eta(X, clip=True))
