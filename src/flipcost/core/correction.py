r"""A score that checked rows correct where wrong labels follow the columns.

Scores learned from labels say what is labelled positive. If labels go wrong more often in some
rows than in others, that is not the order in which rows are positive, and no curve of the score
corrects it. So the clean log-odds are taken as linear in the scores that count and in the features,

.. math:: \operatorname{logit} \eta = b + a f(x) + w^\top x,

where f is the linear combination of these scores that comes closest to the log-odds found without.
A penalty draws a to 1 and w to 0, and the correction is made only if it explains held-out checked
rows better by more than one standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from flipcost.core import priors
from flipcost.core.arrays import Array, Flags, Indices

# Nothing is learned of more columns, or from checked rows that count for fewer.
_MOST_COLUMNS, _FEWEST_ROWS = 500, 30
# Rows are put into this many ranges of the score by either label; checked rows represent the others
# of their cell. Cells without a checked row may hold this share of all rows; a checked row stands
# for at most this many times as many rows as the mean one.
_RANGES, _UNSEEN, _HEAVIEST = 4, 0.15, 10.0
_SUREST = 1e-3
_NEWTON_STEPS, _CONVERGED = 30, 1e-8


@dataclass(frozen=True, eq=False)
class Correction:
    """Log-odds that are linear in scores and features, and what they gave checked rows held out."""

    bias: float
    of_scores: Array
    of_features: Array
    held_out: Array

    def score(self, scores: Array, X: Array) -> Array:
        """Return the log-odds of rows."""
        return np.asarray(self.bias + self.of_scores @ scores + X @ self.of_features)


def learn_correction(
    probability: Array,
    scores: Array,
    X: Array,
    positive: Flags,
    rows: Indices,
    right: Flags,
    folds: Indices,
    weight: Array | None = None,
    design: float = 1.0,
) -> Correction | None:
    """Learn from the checked `rows`, whose right labels are `right`; None where that gains nothing.

    The probability without, the scores that count, of shape (k, n), and the features are those of
    all rows; `folds` those of the checked ones, which hold each other out.
    """
    counts = _stand_for(probability, positive, rows, weight)
    if counts is None or X.shape[1] > _MOST_COLUMNS or right.all() or not right.any():
        return None
    counts = counts / design
    n_effective = counts.sum() ** 2 / (counts**2).sum() / design
    if n_effective < _FEWEST_ROWS:
        return None
    line = logit(np.clip(probability, _SUREST, 1 - _SUREST))
    shape = np.sqrt(probability * (1 - probability) + 1e-3)
    if weight is not None:
        shape = shape * np.sqrt(weight)
    design_matrix = np.vstack([np.ones(len(line)), scores]).T
    base = np.linalg.lstsq(design_matrix * shape[:, None], line * shape, rcond=None)[0]
    centre = np.average(X, axis=0, weights=weight)
    spread = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weight))
    unit = np.where(spread > 1e-9 * np.abs(centre), 1 / np.where(spread > 0, spread, 1.0), 0.0)
    own = np.column_stack(
        [np.ones(len(rows)), design_matrix[rows] @ base, (X[rows] - centre) * unit]
    )
    found = _best(own, right, counts, folds, probability[rows])
    if found is None:
        return None
    beta, held_out = found
    of_features = beta[2:] * unit
    return Correction(
        float(beta[0] + beta[1] * base[0] - of_features @ centre),
        beta[1] * base[1:],
        of_features,
        held_out,
    )


def _stand_for(
    probability: Array, positive: Flags, rows: Indices, weight: Array | None
) -> Array | None:
    """Return for how many rows each checked one stands, of mean 1; None if many have none.

    Rows are checked because their labels look wrong; of these alone, all labels are.
    """
    places = np.quantile(probability, np.arange(1, _RANGES) / _RANGES)
    cell = np.searchsorted(places, probability) + _RANGES * positive
    n_cells = 2 * _RANGES
    total = np.bincount(cell, weight, n_cells).astype(float)
    seen = np.bincount(cell[rows], minlength=n_cells)
    if total[seen == 0].sum() > _UNSEEN * total.sum():
        return None
    share = total[cell[rows]] / seen[cell[rows]]
    share = np.minimum(share / share.mean(), _HEAVIEST)
    return np.asarray(share / share.mean())


def _best(
    Z: Array, right: Flags, counts: Array, folds: Indices, before: Array
) -> tuple[Array, Array] | None:
    """Return coefficients and held-out probabilities at the best penalty, if it is any gain."""
    least, found = 0.0, None
    for penalty in priors.CORRECTION_PENALTIES:
        held_out = np.empty(len(right))
        for fold in np.unique(folds):
            rest = folds != fold
            if right[rest].all() or not right[rest].any():
                return None
            beta = _logistic(Z[rest], right[rest], counts[rest], penalty)
            held_out[~rest] = expit(Z[~rest] @ beta)
        gain = counts * (_log_likelihood(held_out, right) - _log_likelihood(before, right))
        sure = gain.sum() - np.sqrt(len(gain)) * gain.std()
        if sure > least:
            least, found = sure, (penalty, held_out)
    return None if found is None else (_logistic(Z, right, counts, found[0]), found[1])


def _log_likelihood(probability: Array, right: Flags) -> Array:
    sure = np.clip(probability, _SUREST, 1 - _SUREST)
    return np.log(np.where(right, sure, 1 - sure))


def _logistic(Z: Array, right: Flags, counts: Array, penalty: float) -> Array:
    """Return coefficients of logistic regression that are drawn to those of the second column."""
    centre = np.zeros(Z.shape[1])
    centre[1] = 1.0
    weight = np.full(Z.shape[1], penalty)
    weight[:2] = priors.CORRECTION_BIAS, priors.CORRECTION_SLOPE
    beta = centre.copy()
    for _ in range(_NEWTON_STEPS):
        share = expit(Z @ beta)
        slope = Z.T @ (counts * (share - right)) + weight * (beta - centre)
        curvature = (Z.T * (counts * share * (1 - share))) @ Z + np.diag(weight)
        step = np.linalg.solve(curvature, slope)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        beta = beta - step
        if np.abs(step).max() < _CONVERGED:
            break
    return beta
