"""How well probabilities are estimated, when the true ones are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr
from sklearn.utils import column_or_1d

from flipcost.core.arrays import Array
from flipcost.metrics._confusion import are_positive


def eta_scores(
    eta_true: ArrayLike,
    eta_hat: ArrayLike,
    y: ArrayLike | None = None,
    *,
    eta_true_train: ArrayLike | None = None,
    eta_hat_train: ArrayLike | None = None,
    pos_label: Any = None,
) -> dict[str, float]:
    r"""Nine measures of estimated probabilities against true ones.

    Parameters
    ----------
    eta_true, eta_hat : array-like of shape (n,)
        True and estimated probabilities of the positive class. Estimates outside [0, 1] are
        measured as they are.
    y : array-like of shape (n,), optional
        Labels, for ``Acc`` and ``BS``, which are NaN without them.
    eta_true_train, eta_hat_train : array-like of shape (m,), optional
        The same on training rows, for ``DiffMax`` and ``DiffMin``, which the paper computes there;
        those of the other measures are used when not given.
    pos_label : label, default=None
        The positive class of `y`; the larger of the two labels when None.

    Returns
    -------
    dict of float
        - ``MSE``, ``RMSE``, ``MAD``: mean squared error, its root, mean absolute deviation;
        - ``MD``: mean of ``eta_hat - eta_true``;
        - ``KL``: mean divergence of the estimated from the true label distribution; NaN where it
          is not defined, that is when an estimate is outside [0, 1], or rules out a label that can
          occur;
        - ``Acc``: share of rows with the label on the estimate's side of one half;
        - ``BS``: Brier score, the mean of ``(eta_hat - y)^2`` with y 0 or 1;
        - ``DiffMax``, ``DiffMin``: estimated less true maximum and minimum.

    Notes
    -----
    Section F.7 of the paper defines these. Three definitions are corrected: its accuracy counts
    the mistakes, its Brier score has y as 1 or -1 (the tables fit 0 and 1), and its KL divides a
    sum over the test rows by another number of rows.

    Examples
    --------
    >>> from flipcost.metrics import eta_scores
    >>> scores = eta_scores([0.1, 0.5, 0.9], [0.2, 0.5, 0.7], [0, 1, 1])
    >>> {name: round(value, 4) for name, value in scores.items()}
    {'MSE': 0.0167, 'RMSE': 0.1291, 'MAD': 0.1, 'MD': -0.0333, 'KL': 0.051,
     'Acc': 0.6667, 'BS': 0.1267, 'DiffMax': -0.2, 'DiffMin': 0.1}
    """
    eta, estimate = _pair(eta_true, eta_hat, "eta")
    at_true, at_estimate = eta, estimate
    if eta_true_train is not None or eta_hat_train is not None:
        at_true, at_estimate = _pair(eta_true_train, eta_hat_train, "training eta")
    error = estimate - eta
    accuracy = brier = float("nan")
    if y is not None:
        (positive,) = are_positive([y], pos_label)
        if len(positive) != len(estimate):
            msg = f"`y` must have a label for each of {len(estimate)} rows; got {len(positive)}."
            raise ValueError(msg)
        accuracy = float(np.mean((2 * estimate - 1) * np.where(positive, 1.0, -1.0) > 0))
        brier = float(np.mean((estimate - positive) ** 2))
    mse = float(np.mean(error**2))
    return {
        "MSE": mse,
        "RMSE": float(np.sqrt(mse)),
        "MAD": float(np.mean(np.abs(error))),
        "MD": float(np.mean(error)),
        "KL": _divergence(eta, estimate),
        "Acc": accuracy,
        "BS": brier,
        "DiffMax": float(at_estimate.max() - at_true.max()),
        "DiffMin": float(at_estimate.min() - at_true.min()),
    }


def _pair(first: ArrayLike | None, second: ArrayLike | None, name: str) -> tuple[Array, Array]:
    if first is None or second is None:
        msg = f"True and estimated {name} must be given together; got one of them only."
        raise ValueError(msg)
    true, estimate = (column_or_1d(values).astype(float) for values in (first, second))
    if true.shape != estimate.shape or not len(true):
        msg = (
            f"True and estimated {name} must be of the same rows, one at least; "
            f"got {len(true)} and {len(estimate)}."
        )
        raise ValueError(msg)
    if not (np.isfinite(estimate).all() and ((true >= 0) & (true <= 1)).all()):
        msg = f"True {name} must lie in [0, 1], and estimates must be finite."
        raise ValueError(msg)
    return true, estimate


def _divergence(eta: Array, estimate: Array) -> float:
    # rel_entr is infinite where the second argument is not positive and the first is.
    mean = float(np.mean(rel_entr(eta, estimate) + rel_entr(1 - eta, 1 - estimate)))
    inside = ((estimate >= 0) & (estimate <= 1)).all()
    return mean if inside and np.isfinite(mean) else float("nan")
