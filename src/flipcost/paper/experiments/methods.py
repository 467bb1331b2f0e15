"""The paper's methods as its experiments run them: every reading, all measures at once.

Scheme 1
--------
Readings of the printed columns:

- *stated*: the loss of the paper with the stated cost, the margin tuned.
- *half*: cost 1/2 and margin 1, where the closed form is robust to symmetric noise. Its weighted
  cost is counted with the stated cost and the smallest margin of the grid, where both mistakes
  weigh the same.
- *weight*: the margin divides the weight of the negatives and leaves their target alone, so that
  it moves the threshold to ``cost / (margin + (1 - margin) * cost)``, as in the weighted 0-1 loss
  of scheme 2. At the smallest margin of the grid this is cost 1/2.
- *denoised*: ours. The stated cost, moments and counts denoised with the true rate, margin 1.

Scheme 2
--------
Algorithm (eta~, alpha) under-samples the negatives for each margin, estimates probabilities by five
folds, and takes the margin with the best measure "from the partitioned data". That can be read in
two ways, and one set of fits serves both:

- *resampled*: the measure is taken on the rows of the fold that the under-sampling kept. A large
  margin leaves few negatives there, so that calling everything positive looks good when labels are
  noisy. The printed columns look like this.
- *untouched*: the measure is taken on all rows of the fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from flipcost.core import folds as core_folds
from flipcost.core.arrays import Array, Flags
from flipcost.core.confusion import ConfusionCounts
from flipcost.core.losses import weighted_zero_one
from flipcost.core.moments import ClassMoments, fold_moments, merge_others
from flipcost.core.noise import NoiseRateLike, clean_eta
from flipcost.core.scoring import fold_confusions
from flipcost.core.solve import solve_path
from flipcost.estimators import FlipCostClassifier
from flipcost.exceptions import DenoisingWarning
from flipcost.metrics import eta_scores
from flipcost.paper.experiments.problems import (
    L2S,
    MEASURES,
    N_FOLDS,
    Trial,
    choose,
    clean_scores,
    possible_rate,
    random_folds,
    scores_of,
)
from flipcost.paper.kernels import (
    centile_widths,
    choose_centers,
    gaussian_kernel,
    squared_distances,
)
from flipcost.paper.kliep import combine_ratios, kliep, kliep_posterior_search, kliep_reference
from flipcost.paper.logistic import (
    LinkClassifier,
    UnbiasedLogisticClassifier,
    WeightedLogisticClassifier,
)
from flipcost.paper.losses import LINK_LOSSES, Design, LinkLoss
from flipcost.paper.lspc import LSPClassifier, RidgeSpectrum, lspc_probabilities, lspc_search
from flipcost.paper.resampling import kept_negatives, margin_grid, negative_ratio

# The set of scheme 1's margins in section D is never given.
CLEAN_MARGINS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
CLEAN_COSTS = tuple(np.round(np.arange(0.1, 0.91, 0.05), 2))


class Candidates:
    """Costs and margins to solve for, and the margins to count the weighted cost with."""

    def __init__(self, pairs: Any, counted: Any, noise_rate: NoiseRateLike = None) -> None:
        self.pairs, self.counted, self.noise_rate = pairs, counted, noise_rate

    def path(self, moments: ClassMoments) -> Array:
        """Return coefficients of shape (pairs, penalties, d + 1)."""
        rate = [self.noise_rate]
        paths = [
            solve_path(moments, [cost], [margin], L2S, rate, l2_scale="sum")
            for cost, margin in self.pairs
        ]
        return np.stack([path[0, 0, :, 0] for path in paths])


def noisy_candidates(cost: float, margins: Sequence[float], rho: float) -> Any:
    """Return the candidates of each reading."""
    low = margin_grid(cost)[0]
    stated = [(cost, margin) for margin in margins]
    return {
        "stated": Candidates(stated, margins),
        "half": Candidates([(0.5, 1.0)], [low]),
        "weight": Candidates(as_weights(stated), margins),
        "denoised": Candidates([(cost, 1.0)], [1.0], rho),
    }


def as_weights(pairs: Any) -> Any:
    """Return the pairs with the margin as a weight: the threshold that it implies, at margin 1."""
    return [(weighted_zero_one(cost, margin).threshold, 1.0) for cost, margin in pairs]


def run_scheme1(
    trial: Trial, cost: float, margins: Sequence[float], rho: float, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    """Return ``(reading, measure, value)`` of every reading on the clean test rows."""
    folds = random_folds(trial.noisy, N_FOLDS, rng)
    parts = fold_moments(trial.X, trial.noisy, folds, N_FOLDS)
    training = merge_others(parts)
    total = parts[0].merge(training[0])
    rate = possible_rate(rho, *(trial.noisy[folds != fold] for fold in range(-1, N_FOLDS)))
    found = []
    for reading, candidates in noisy_candidates(cost, margins, rate).items():
        paths = np.stack([candidates.path(moments) for moments in training])
        shape = paths.shape[1:3]
        flat = paths.reshape(N_FOLDS, -1, paths.shape[-1])
        table = fold_confusions(trial.X, trial.noisy, flat, folds)
        counts = table.denoised(candidates.noise_rate).sum(axis=0).reshape(*shape, 2, 2)
        refit = candidates.path(total)
        for name in MEASURES:
            place, l2 = choose(counts, name, cost, candidates.counted)
            flags, counted = _calls(trial.X_test, refit[place, l2]), candidates.counted[place]
            found += [(reading, *pair) for pair in _measured(trial, flags, cost, counted, name)]
    return found


def _calls(X: Any, weights: Array) -> Flags:
    return X @ weights[:-1] + weights[-1] > 0


def _measured(trial: Trial, flags: Flags, cost: float, margin: float, name: str) -> Any:
    """Return ``(measure, value)`` of calls on the test rows; beside WC also WC1."""
    values = clean_scores(trial, flags, cost, margin)
    return [(key, values[key]) for key in ((name, "WC1") if name == "WC" else (name,))]


def run_clean(trial: Trial, pairs_by_name: dict[Any, Any], rng: np.random.Generator) -> Any:
    """Tune costs and margins on 15 of the 80 hundredths left for training; section D.

    From lists of ``(cost, margin)`` by name to ``(name, reading, measure, value)``: with the loss
    as printed, and with margins as weights.
    """
    # Sixteenths of the training part: three of them are fifteen hundredths of all rows.
    valid = random_folds(trial.noisy, 16, rng) < 3
    moments = ClassMoments.from_rows(trial.X[~valid], trial.noisy[~valid])
    total = ClassMoments.from_rows(trial.X, trial.noisy)
    found = []
    for reading, change in (("stated", list), ("weight", as_weights)):
        for name, pairs in pairs_by_name.items():
            margins = [margin for _, margin in pairs]
            candidates = Candidates(change(pairs), margins)
            path, refit = candidates.path(moments), candidates.path(total)
            flat = path.reshape(1, -1, path.shape[-1])
            counts = fold_confusions(trial.X[valid], trial.noisy[valid], flat).counts
            counts = counts.reshape(*path.shape[:2], 2, 2)
            for measure in ("Acc", "AM", "F"):
                place = choose(counts, measure, 0.5, margins)
                flags = _calls(trial.X_test, refit[place])
                found.append((name, reading, measure, clean_scores(trial, flags, 0.5)[measure]))
    return found


READINGS = ("resampled", "untouched")


def run_scheme2(
    trial: Trial,
    estimator: Any,
    cost: float,
    margins: Sequence[float],
    rng: np.random.Generator,
    fixed_margins: Sequence[float] = (),
) -> list[tuple[Any, ...]]:
    """Tune the margin and penalty for each measure, and score the clean test rows.

    The estimator has ``n_l2s`` and ``probabilities(rows, at)``: fit to training rows of those
    numbers, and evaluate at others, those of the test part numbered on; shape (at, n_l2s). Returned
    are ``(reading, margin, measure, value)``, the margin being "tuned" or one of the fixed ones.
    """
    counts = _cross_validate(trial, estimator, cost, margins, rng)
    order = rng.permutation(np.flatnonzero(~trial.noisy))
    refits: dict[int, Flags] = {}

    def measured(place: int, l2: int, name: str) -> Any:
        """Measure a final fit to a fresh under-sample, made once for each margin."""
        margin = margins[place]
        if place not in refits:
            kept = _sample(trial.noisy, order, negative_ratio(cost, margin))
            at = len(trial.noisy) + np.arange(len(trial.positive))
            refits[place] = estimator.probabilities(np.flatnonzero(kept), at) > 0.5
        return _measured(trial, refits[place][:, l2], cost, margin, name)

    found: list[tuple[Any, ...]] = []
    for reading, tables in zip(READINGS, counts, strict=True):
        for name in MEASURES:
            place, l2 = choose(tables, name, cost, margins)
            found += [(reading, "tuned", *pair) for pair in measured(place, l2, name)]
        for margin in fixed_margins:
            place = int(np.flatnonzero(np.asarray(margins) == margin)[0])
            for name in MEASURES:
                _, l2 = choose(tables[place : place + 1], name, cost, [margin])
                found.append((reading, margin, *measured(place, l2, name)[0]))
    return found


def _sample(noisy: Flags, order: NDArray[np.int_], ratio: float) -> Any:
    """Return which rows stay: all positives and the first negatives of a random order."""
    kept = np.zeros(len(noisy), dtype=bool)
    kept[noisy] = True
    kept[order[: kept_negatives(len(order), min(ratio, 1.0))]] = True
    return kept


def _cross_validate(
    trial: Trial, estimator: Any, cost: float, margins: Sequence[float], rng: np.random.Generator
) -> Any:
    """Return counts of shape (readings, margins, l2s, 2, 2), added up over the folds."""
    noisy = trial.noisy
    folds = random_folds(noisy, N_FOLDS, rng)
    order = rng.permutation(np.flatnonzero(~noisy))
    counts = np.zeros((2, len(margins), estimator.n_l2s, 2, 2))
    for place, margin in enumerate(margins):
        kept = _sample(noisy, order, negative_ratio(cost, margin))
        for fold in range(N_FOLDS):
            at = np.flatnonzero(folds == fold)
            flags = estimator.probabilities(np.flatnonzero(kept & (folds != fold)), at) > 0.5
            for column in range(estimator.n_l2s):
                for reading, rows in enumerate((kept[at], slice(None))):
                    table = ConfusionCounts.from_labels(noisy[at][rows], flags[rows, column])
                    counts[reading, place, column] += table.counts
    return counts


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
        loss = LINK_LOSSES[self._loss].rows(self._noisy[rows])
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
        widths, training = centile_widths(trial.X, rng), [base[:n] for base in distances]
        scores = lspc_search(training, self._codes, widths, np.array(L2S) / n)
        width = float(widths[scores.max(axis=1).argmax()])
        self._phi = [gaussian_kernel(base, width) for base in distances]

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
        grid = centile_widths(trial.X, rng)
        training = [base[:n] for base in distances]
        if solver == "reference":
            widths = [self._reference_width(training[c], c, grid) for c in (0, 1)]
        else:
            folds = core_folds.random_folds(np.zeros(n), N_FOLDS, rng)
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


LINKS = {"lkfun_sq": "squared", "lkfun_log": "logistic", "lkfun_msq": "modified_squared"}
NEIGHBOURS = (3, 5, 7, 10, 15, 20, 30, 50, 80)
# The ideal value of a measure, where it is not 0.
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

    `pos` and `other` are the estimated probabilities of the two classes, training rows first; the
    printed "neg" is one less `other`.
    """
    # As printed the scaled form of neg divides neg by its maximum. The figures (a smallest value of
    # zero, a mean deviation as large as that of pos with the other sign) are those of scaling the
    # probability of the negative class.
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


def run_natarajan(
    trial: Trial, method: str, rho: float, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    """Tune the penalty of MUB or S-W0-1, the rate being known; return ``(measure, value)``.

    Accuracy asks for the threshold 1/2, AM for the share of positives, as in the source.
    """
    folds = random_folds(trial.noisy, N_FOLDS, rng)
    found = []
    for name in ("Acc", "AM"):
        scores = [_left_out_score(trial, folds, method, rho, name, l2) for l2 in L2S]
        l2 = L2S[int(np.argmax(scores))]
        flags = _fit(trial.X, trial.noisy, method, rho, name, l2).predict(trial.X_test)
        found.append((name, clean_scores(trial, flags, 0.5)[name]))
    return found


def _left_out_score(
    trial: Trial, folds: NDArray[np.int_], method: str, rho: float, name: str, l2: float
) -> Any:
    counts = np.zeros((2, 2))
    for fold in range(N_FOLDS):
        rest, at = folds != fold, folds == fold
        model = _fit(trial.X[rest], trial.noisy[rest], method, rho, name, l2)
        counts += ConfusionCounts.from_labels(trial.noisy[at], model.predict(trial.X[at])).counts
    return float(scores_of(counts, name))


def _fit(X: Any, noisy: Flags, method: str, rho: float, name: str, l2: float) -> Any:
    penalty = l2 / len(X)
    if method == "sw01_log":
        target = {"Acc": "accuracy", "AM": "am"}[name]
        model = WeightedLogisticClassifier(noise_rate=rho, target=target, l2=penalty)
    else:
        rate = possible_rate(rho, noisy)
        cost = 0.5 if name == "Acc" else float(clean_eta(float(noisy.mean()), rate))
        model = UnbiasedLogisticClassifier(cost=cost, noise_rate=rate, l2=penalty)
    with warnings.catch_warnings():
        # The unbiased loss of few rows can fall almost without end under the smallest penalties;
        # cross-validation decides what becomes of them.
        warnings.simplefilter("ignore", DenoisingWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, noisy)


def run_flipcost(trial: Trial, cost: float, rng: np.random.Generator) -> Any:
    """Return ``(measure, value)`` of FlipCostClassifier, which does not know the rate."""
    model = FlipCostClassifier(cost=cost, random_state=int(rng.integers(2**31)))
    flags = model.fit(trial.X, trial.noisy).predict(trial.X_test)
    return list(clean_scores(trial, flags, cost).items())


def run_constants(trial: Trial, cost: float) -> Any:
    """Return ``(method, measure, value)`` of calling every row positive, or negative.

    The printed form of the weighted cost is counted at the margin that makes it smallest, the
    largest of the grid.
    """
    found = []
    for method, call in (("all_positive", True), ("all_negative", False)):
        flags = np.full(len(trial.positive), call)
        values = clean_scores(trial, flags, cost, margin_grid(cost)[-1])
        found += [(method, name, value) for name, value in values.items()]
    return found


def run_bayes(trial: Trial, cost: float, margins: Sequence[float]) -> Any:
    """Return ``(measure, value)`` of the Bayes rule, its margin tuned on clean training rows."""
    thresholds = [weighted_zero_one(cost, margin).threshold for margin in margins]
    counts = np.stack(
        [ConfusionCounts.from_labels(trial.clean, trial.eta > t).counts for t in thresholds]
    )[:, None]
    found = []
    for name in MEASURES:
        place, _ = choose(counts, name, cost, margins)
        flags = trial.eta_test > thresholds[place]
        found += _measured(trial, flags, cost, margins[place], name)
    return found
