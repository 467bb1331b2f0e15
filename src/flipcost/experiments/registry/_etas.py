"""Section F: how well nine estimators find the true probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from flipcost.estimators import LinkClassifier, LSPClassifier
from flipcost.experiments.registry._estimates import KLIEPEstimate
from flipcost.experiments.registry._protocol import N_FOLDS, Trial, random_folds
from flipcost.metrics import eta_scores

LINKS = {"lkfun_sq": "squared", "lkfun_log": "logistic", "lkfun_msq": "modified_squared"}
NEIGHBOURS = (3, 5, 7, 10, 15, 20, 30, 50, 80)
# What a value of each measure is far from when it is bad.
_TARGETS = {"Acc": 1.0}


def run_etas(trial: Trial, column: str, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Return ``(method, reading, measure, value)`` of the estimators of a column."""
    state = int(rng.integers(2**31))
    if column == "link":
        return [row for name in LINKS for row in _link(trial, name)]
    if column == "lspc":
        model = LSPClassifier(random_state=state).fit(trial.X, trial.clean)
        scores = _scores(trial, lambda X: model.predict_proba(X)[:, 1])
        return [("lspc", "tuned", name, value) for name, value in scores.items()]
    if column == "knn":
        return _neighbours(trial, rng)
    return _kliep(trial, rng)


def _kliep(trial: Trial, rng: np.random.Generator) -> Any:
    """Give all combinations of the ratios by both solvers, from one fit each."""
    n = len(trial.clean)
    rows, everything = np.arange(n), np.arange(n + len(trial.positive))
    found = []
    for solver in ("reference", "certified"):
        below, above = KLIEPEstimate(trial, rng, solver).ratios(rows, everything)
        prior = float(trial.clean.mean())
        estimates = combinations(prior * above, (1 - prior) * below, n, prior)
        for name, eta in estimates.items():
            scores = eta_scores(
                trial.eta_test,
                eta[n:],
                trial.positive,
                eta_true_train=trial.eta,
                eta_hat_train=eta[:n],
            )
            found += [(f"kliep_{name}", solver, measure, v) for measure, v in scores.items()]
    return found


def combinations(pos: Any, other: Any, n_train: Any, prior: float) -> Any:
    """Return the eight estimates of the positive class' probability, as the printed figures fit.

    Parameters
    ----------
    pos, other : ndarray of shape (n,)
        The estimated probabilities of the two classes, each from its own ratio; training rows
        first. The printed "neg" is one less ``other``.
    n_train : int
        Number of training rows.
    prior : float
        Share of the positive class, the answer where both are zero.

    Notes
    -----
    The scaled form of neg as printed divides neg by its maximum. The figures (a smallest value of
    zero, and a mean deviation as large as that of pos, with the other sign) are those of scaling
    the probability of the negative class, ``1 - other / max(other)``. Scaled forms are clipped.

    Examples
    --------
    >>> found = combinations(np.array([0.2, 1.2]), np.array([0.9, 0.1]), 2, 0.5)
    >>> found["neg"], found["pos_s"].round(3), found["neg_s"].round(3)
    (array([0.1, 0.9]), array([0.167, 1.   ]), array([0.   , 0.889]))
    """
    pos_s = np.clip(pos / pos[:n_train].max(), 0, 1)
    neg_s = np.clip(1 - other / other[:n_train].max(), 0, 1)
    return {
        "pos": pos,
        "neg": 1 - other,
        "norm": _share(pos, other, prior),
        "pos_s": pos_s,
        "neg_s": neg_s,
        "norm_s": _share(pos_s, 1 - neg_s, prior),
        "cnorm_s": _share(neg_s, 1 - pos_s, prior),
        "avg_s": (pos_s + neg_s) / 2,
    }


def _share(part: Any, rest: Any, prior: float) -> Any:
    whole = part + rest
    return np.divide(part, whole, out=np.full(part.shape, prior), where=whole > 0)


def _scores(trial: Trial, estimate: Any) -> Any:
    return eta_scores(
        trial.eta_test,
        estimate(trial.X_test),
        trial.positive,
        eta_true_train=trial.eta,
        eta_hat_train=estimate(trial.X),
    )


def _link(trial: Trial, name: str) -> Any:
    # The algorithm prints no penalty; this one only keeps separable draws from running off. Squared
    # loss is not clipped (its DiffMax is printed as .53), the modified one is.
    model = LinkClassifier(LINKS[name], l2=1e-6).fit(trial.X, trial.clean)
    estimate = model.eta_raw if name == "lkfun_sq" else lambda X: model.predict_proba(X)[:, 1]
    return [(name, "tuned", measure, value) for measure, value in _scores(trial, estimate).items()]


def _neighbours(trial: Trial, rng: np.random.Generator) -> Any:
    """Give five neighbours, and for each measure the number that cross-validates best."""
    folds = random_folds(trial.clean, N_FOLDS, rng)
    fits = {k: KNeighborsClassifier(k).fit(trial.X, trial.clean) for k in NEIGHBOURS}
    final = {k: _scores(trial, _of_neighbours(model)) for k, model in fits.items()}
    left_out = {k: _left_out(trial, folds, k) for k in NEIGHBOURS}
    found = [("knn", "five", name, value) for name, value in final[5].items()]
    for name in final[5]:
        lost = [_loss(name, left_out[k][name]) for k in NEIGHBOURS]
        found.append(("knn", "tuned", name, final[NEIGHBOURS[int(np.argmin(lost))]][name]))
    return found


def _of_neighbours(model: Any) -> Any:
    return lambda X: model.predict_proba(X)[:, 1]


def _loss(name: str, value: float) -> Any:
    return np.inf if np.isnan(value) else abs(value - _TARGETS.get(name, 0.0))


def _left_out(trial: Trial, folds: NDArray[np.int_], k: int) -> Any:
    estimate = np.empty(len(folds))
    for fold in range(N_FOLDS):
        rest, at = folds != fold, folds == fold
        model = KNeighborsClassifier(k).fit(trial.X[rest], trial.clean[rest])
        estimate[at] = model.predict_proba(trial.X[at])[:, 1]
    return eta_scores(trial.eta, estimate, trial.clean)
