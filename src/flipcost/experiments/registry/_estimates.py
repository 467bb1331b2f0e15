"""Probability estimators as scheme 2 uses them: kernels and distances are made once for a trial.

Each has ``n_l2s`` and ``probabilities(rows, at)``. Rows are numbered with the test part below the
training part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flipcost.core.arrays import Array
from flipcost.core.folds import random_folds
from flipcost.core.kernels import (
    centile_widths,
    choose_centers,
    gaussian_kernel,
    squared_distances,
)
from flipcost.core.kliep import kliep, kliep_reference
from flipcost.core.kliep_search import kliep_posterior_search
from flipcost.core.lspc import RidgeSpectrum, lspc_probabilities, lspc_search
from flipcost.core.newton import Design
from flipcost.core.ratios import combine_ratios
from flipcost.core.row_losses import LINK_LOSSES, LinkLoss, link_rows
from flipcost.experiments.registry._protocol import L2S, N_FOLDS, Trial

# More centres change no cell by more than its spread, and fits take the cube of their number.
N_CENTERS = 100
_TOL = 1e-4


class LinkEstimate:
    """Linear scores and the inverse link of their loss, with every penalty of the paper's set.

    The penalty is on the sum over rows, as in the printed solution of scheme 1.
    """

    n_l2s = len(L2S)

    def __init__(self, trial: Trial, loss: LinkLoss) -> None:
        self._X = np.vstack([trial.X, trial.X_test])
        self._noisy, self._loss = trial.noisy, loss

    def probabilities(self, rows: NDArray[np.int_], at: NDArray[np.int_]) -> Array:
        """Fit to rows, and return probabilities of the positive class, a column per penalty."""
        design = Design(self._X[rows])
        loss = link_rows(self._loss, self._noisy[rows])
        fits = [design.minimize(loss, l2 / len(rows)).coefficients for l2 in L2S]
        weights = np.array(fits)
        scores = self._X[at] @ weights[:, :-1].T + weights[:, -1]
        return LINK_LOSSES[self._loss].inverse_link(scores)


class LSPEstimate:
    """Least-squares class probabilities; the width is chosen once, leaving out each noisy row."""

    n_l2s = len(L2S)

    def __init__(self, trial: Trial, rng: np.random.Generator) -> None:
        X = np.vstack([trial.X, trial.X_test])
        self._codes = trial.noisy.astype(np.intp)
        centers = [choose_centers(trial.X[self._codes == c], N_CENTERS, rng) for c in (0, 1)]
        distances = [squared_distances(X, rows) for rows in centers]
        n = len(trial.noisy)
        search = lspc_search(
            [base[:n] for base in distances],
            self._codes,
            np.sort(centile_widths(trial.X, rng)),
            np.array(L2S) / n,
        )
        self._phi = [gaussian_kernel(base, search.width) for base in distances]

    def probabilities(self, rows: NDArray[np.int_], at: NDArray[np.int_]) -> Array:
        """Fit to rows, and return probabilities of the positive class, a column per penalty."""
        codes = self._codes[rows]
        outputs = np.empty((len(at), 2, self.n_l2s))
        for code, phi in enumerate(self._phi):
            target = (codes == code).astype(float)[:, None]
            spectrum = RidgeSpectrum.from_columns(phi[rows])
            theta = spectrum.coefficients(target, np.array(L2S) / len(rows))[:, 0]
            outputs[:, code] = phi[at] @ theta
        prior = np.bincount(codes, minlength=2) / len(codes)
        return lspc_probabilities(outputs, prior)[:, 1]


class KLIEPEstimate:
    """Density ratios of both classes, normalised; the widths are chosen once for a trial.

    Parameters
    ----------
    trial : Trial
        The rows.
    rng : Generator
        For centres, widths and folds.
    solver : {"reference", "certified"}
        "reference" is the gradient ascent first published, with kernels ``exp(-d^2 / width^2)``;
        it stops short of the optimum. Widths have the "maximum objective value", as the paper
        says, which is that of the training rows: the narrowest of the set. This is what the
        printed figures look like. "certified" is at the optimum, with the usual kernels and widths
        chosen by left-out rows.
    """

    n_l2s = 1

    def __init__(self, trial: Trial, rng: np.random.Generator, solver: str = "reference") -> None:
        X = np.vstack([trial.X, trial.X_test])
        self._codes, self._solver = trial.noisy.astype(np.intp), solver
        centers = [choose_centers(trial.X[self._codes == c], N_CENTERS, rng) for c in (0, 1)]
        distances = [squared_distances(X, rows) for rows in centers]
        n = len(trial.noisy)
        grid = np.sort(centile_widths(trial.X, rng))
        training = [base[:n] for base in distances]
        if solver == "reference":
            widths = [self._reference_width(training[c], c, grid) for c in (0, 1)]
        else:
            folds = random_folds(np.zeros(n), N_FOLDS, rng)
            search = kliep_posterior_search(training, trial.noisy, grid, folds, tol=_TOL)
            widths = [search.widths[place] for place in search.class_best]
        self._phi = [
            gaussian_kernel(base, float(width), halved=solver == "certified")
            for base, width in zip(distances, widths, strict=True)
        ]

    def _reference_width(self, base: Any, code: Any, grid: Any) -> Any:
        """Return the width with the greatest objective: in practice, the narrowest."""
        own = self._codes == code
        objectives = []
        for width in grid:
            phi = gaussian_kernel(base, float(width), halved=False)
            objectives.append(kliep_reference(phi[own], phi.mean(axis=0)).objective)
        return grid[int(np.argmax(objectives))]

    def ratios(self, rows: NDArray[np.int_], at: NDArray[np.int_]) -> Any:
        """Fit to rows; return the ratios at rows, shape (2, at), negative class first."""
        codes, found = self._codes[rows], []
        for code, phi in enumerate(self._phi):
            numerator, mean = phi[rows[codes == code]], phi[rows].mean(axis=0)
            if self._solver == "reference":
                fit = kliep_reference(numerator, mean)
            else:
                fit = kliep(numerator, mean, _TOL)
            found.append(phi[at] @ fit.weights)
        return np.array(found)

    def probabilities(self, rows: NDArray[np.int_], at: NDArray[np.int_]) -> Array:
        """Fit to rows, and return probabilities of the positive class, in one column."""
        below, above = self.ratios(rows, at)
        return combine_ratios(above, below, float(self._codes[rows].mean()))[:, None]
