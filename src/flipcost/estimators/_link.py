"""Probabilities from a linear classifier by the inverse link of its loss."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

from flipcost._validation import Interval, StrOptions, fit_context
from flipcost.core.arrays import Array
from flipcost.core.newton import Design
from flipcost.core.row_losses import LINK_LOSSES, link_rows
from flipcost.estimators._linear_score import LinearScoreClassifier


class LinkClassifier(LinearScoreClassifier):
    r"""Linear classifier with a proper composite loss; probabilities by the inverse link.

    The plainest estimator of probabilities, and the default inside the schemes that need one.
    It takes labels as they are: the probabilities are those of the label as observed.

    Parameters
    ----------
    loss : {"logistic", "squared", "modified_squared", "exponential"}, default="logistic"
        The loss. The log-odds of Gaussian classes with one covariance are linear, so logistic
        loss is exactly right there, exponential loss too; the squared ones are approximations.
    l2 : float, default=1e-4
        Ridge penalty on the mean loss. With 0, classes that a hyperplane separates leave logistic
        and exponential loss without a minimum, which a warning then says.
    penalize_bias : bool, default=False
        Whether the bias is penalised too.
    pos_label : label, default=None
        The positive class, which `eta_raw` speaks of; ``classes_[1]`` when None.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    coef_ : ndarray of shape (1, d)
        Weights of the features; a positive score means ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        The bias.
    n_iter_ : int
        Newton steps taken.
    gradient_norm_ : float
        Norm of the gradient at the end, features scaled; at most 1e-8 unless a warning said so.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, when X has them.

    See Also
    --------
    flipcost.core.losses : The losses and their links.

    Notes
    -----
    ==================== ======================== =====================================
    loss                 value                    probability of the positive class
    ==================== ======================== =====================================
    logistic             :math:`\log(1+e^{-yf})`  :math:`1/(1+e^{-f})`
    exponential          :math:`e^{-yf}`          :math:`1/(1+e^{-2f})`
    squared              :math:`(1-yf)^2`         :math:`(1+f)/2`, clipped
    modified squared     :math:`\max(0,1-yf)^2`   :math:`(1+f)/2`, clipped
    ==================== ======================== =====================================

    The paper prints the modified squared loss without its square, which is the hinge loss and has
    no link. The bias is free of the penalty by default, as in scikit-learn and unlike the closed
    form of `UnevenMarginClassifier`: penalised, it would pull probabilities towards one half.

    References
    ----------
    Agarwal (2014), Surrogate regret bounds for bipartite ranking via strongly proper losses,
    JMLR 15, table 1.

    Examples
    --------
    >>> from flipcost import LinkClassifier
    >>> from flipcost.datasets import make_syn2d
    >>> from flipcost.metrics import eta_scores
    >>> data = make_syn2d(1000, random_state=0)
    >>> for loss in ("logistic", "squared"):
    ...     model = LinkClassifier(loss).fit(data.data, data.target)
    ...     eta = model.predict_proba(data.data)[:, 1]
    ...     print(loss, f"{eta_scores(data.eta, eta)['MSE']:.4f}")
    logistic 0.0001
    squared 0.0150
    """

    _parameter_constraints: dict = {  # noqa: RUF012 - scikit-learn's convention
        "loss": [StrOptions(set(LINK_LOSSES))],
        "l2": [Interval(Real, 0, None, closed="left")],
        "penalize_bias": ["boolean"],
        "pos_label": "no_validation",
    }

    def __init__(
        self,
        loss: Any = "logistic",
        l2: float = 1e-4,
        *,
        penalize_bias: bool = False,
        pos_label: Any = None,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.penalize_bias = penalize_bias
        self.pos_label = pos_label

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the loss.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels: any two values.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a weight counts as that many repetitions.

        Returns
        -------
        self
        """
        X, positive, weight = self._prepare(X, y, sample_weight)
        rows = link_rows(self.loss, positive)
        fit = Design(X, weight).minimize(rows, self.l2, penalize_bias=self.penalize_bias)
        return self._store(fit)

    def eta_raw(self, X: Any) -> Array:
        """Return the probability of the positive class before it is clipped to [0, 1].

        The squared losses can leave that range, and the paper's columns for squared loss measure
        it unclipped. With the other losses it is the column of `predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self.decision_function(X) * self._sign
        if self.loss in ("squared", "modified_squared"):
            return (1 + scores) / 2
        return self._positive_eta(scores)

    def _positive_eta(self, scores: Array) -> Array:
        return LINK_LOSSES[self.loss].inverse_link(scores)
