"""How close each probability estimator comes to the true probability, beside what the paper prints.

Mean squared error against the exact probability of the positive class on the paper's three Gaussian
laws, labels clean: 20 draws of 800 rows to learn from and 200 to be judged on. Every estimator has
its defaults; neighbours are chosen by cross-validated Brier score. The paper's cells are truncated
to three or four decimals, so a printed .001 is taken as "below .002".
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from flipcost import KLIEPClassifier, LinkClassifier, LSPClassifier, datasets
from flipcost.paper.kernels import choose_centers, gaussian_kernel, squared_distances
from flipcost.paper.kliep import (
    COMBINATIONS,
    combine_ratios,
    kliep,
    kliep_reference,
    training_scales,
)

LAWS = {
    "syn2d": datasets.make_syn2d,
    "syn3d": datasets.make_syn3d,
    "syn10d": datasets.make_syn10d,
}
N_DRAWS, N_TRAIN, N_TEST = 20, 800, 200
NEIGHBOURS = (1, 3, 5, 9, 15, 25, 35, 50, 75, 100)
# The paper's names of the losses behind its link-function columns; it prints no exponential one.
LINKS = {
    "lkfun_sq": "squared",
    "lkfun_log": "logistic",
    "lkfun_msq": "modified_squared",
    "lkfun_exp": "exponential",
}
# Misprints, found out by the root mean squared error printed below each cell: two lost or misplaced
# digits; and in ten dimensions the scaled forms stand one cell too far right, so that the last
# figure is lost (its root is printed as .26).
MENDED = {
    ("syn2d", "kliep_cnorm_s"): 0.0178,
    ("syn3d", "kliep_norm_s"): 0.003,
    ("syn10d", "kliep_pos_s"): 0.061,
    ("syn10d", "kliep_neg_s"): 0.104,
    ("syn10d", "kliep_norm_s"): 0.036,
    ("syn10d", "kliep_cnorm_s"): 0.084,
    ("syn10d", "kliep_avg_s"): 0.067,
}
# Fractions of the median distance between rows, for the best that any width could do.
FRACTIONS = (0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
REASONS = {
    "lkfun_sq": "of linear scores least squares is the one nearest to the probability, and its "
    "error on all of the law is .0227, .0227 and .0236 in 2, 3 and 10 dimensions; a printed .02 "
    "of two decimals would agree with that",
    "lkfun_msq": "with rows without end the error of this loss is .0015 on each law, and 800 rows "
    "add a third to a half of that; the print (root .034, so .0012) is below what it can reach",
    "kliep_pos_s": "pos is divided by its largest value on the training rows, which is above one "
    "(1.2 to 2): every confident probability is pulled down",
    "kliep_norm_s": "its part pos_s is pulled down likewise",
}


def printed_cells() -> dict[tuple[str, str], float]:
    """Return the paper's mean squared errors by law and method."""
    return {
        (cell["dataset"], cell["method"]): cell["mean"]
        for cell in datasets.load_paper_tables()
        if cell["table"].startswith("eta_syn") and cell["measure"] == "MSE"
    }


def limit(printed: float) -> float:
    """Return what a printed cell is certainly below: one more in its last decimal, three at least.

    Examples
    --------
    >>> [round(limit(cell), 4) for cell in (0.02, 0.001, 0.0108)]
    [0.021, 0.002, 0.0109]
    """
    decimals = max(3, len(f"{printed:.6f}".rstrip("0").split(".")[1]))
    return printed + 10.0**-decimals


def link_etas(X, y, fresh) -> dict[str, np.ndarray]:
    """Return probabilities by the inverse link, not clipped for squared loss, as in the paper."""
    etas = {}
    for name, loss in LINKS.items():
        model = LinkClassifier(loss).fit(X, y)
        raw = loss == "squared"
        etas[name] = model.eta_raw(fresh) if raw else model.predict_proba(fresh)[:, 1]
    return etas


def kliep_etas(X, y, fresh, seed) -> dict[str, np.ndarray]:
    """Return probabilities by every combination; those but "norm" share their ratios."""
    norm = KLIEPClassifier(random_state=seed).fit(X, y)
    etas = {"kliep_norm": norm.predict_proba(fresh)[:, 1]}
    apart = KLIEPClassifier("pos", random_state=seed).fit(X, y)
    for combine in COMBINATIONS[1:]:
        etas[f"kliep_{combine}"] = apart.set_params(combine=combine).predict_proba(fresh)[:, 1]
    if max(norm.gap_, apart.gap_) > 1e-6:
        print(f"  a ratio of draw {seed} is not certified: gap {max(norm.gap_, apart.gap_):.1e}")
    return etas


def all_etas(X, y, fresh, seed) -> dict[str, np.ndarray]:
    """Return every estimator's probabilities at fresh rows."""
    lspc = LSPClassifier(random_state=seed).fit(X, y)
    neighbours = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": NEIGHBOURS}, scoring="neg_brier_score", cv=5
    ).fit(X, y)
    return {
        **link_etas(X, y, fresh),
        "lspc": lspc.predict_proba(fresh)[:, 1],
        "knn": neighbours.predict_proba(fresh)[:, 1],
        **kliep_etas(X, y, fresh, seed),
    }


def errors(law: str, etas_of, n_draws: int = N_DRAWS) -> dict[str, np.ndarray]:
    """Return the mean squared error of each estimate on each draw."""
    found: dict[str, list[float]] = {}
    for seed in range(n_draws):
        draw = LAWS[law](N_TRAIN + N_TEST, random_state=seed)
        X, fresh = draw.data[:N_TRAIN], draw.data[N_TRAIN:]
        for name, eta in etas_of(X, draw.target[:N_TRAIN], fresh, seed=seed).items():
            found.setdefault(name, []).append(float(np.mean((eta - draw.eta[N_TRAIN:]) ** 2)))
    return {name: np.array(values) for name, values in found.items()}


def fixed_width_etas(X, y, fresh, *, seed, fraction, solve) -> dict[str, np.ndarray]:
    """Return every combination at one width, by one solver."""
    half, upper = len(X) // 2, y == y.max()
    width = float(fraction * np.median(np.linalg.norm(X[:half] - X[half : 2 * half], axis=1)))
    rng, everything, ratios = np.random.default_rng(seed), np.vstack([X, fresh]), []
    for own in (upper, ~upper):
        centers = choose_centers(X[own], 100, rng)
        phi = gaussian_kernel(squared_distances(everything, centers), width)
        ratios.append(phi @ solve(phi[: len(X)][own], phi[: len(X)].mean(axis=0)).weights)
    above, below = ratios
    prior = float(upper.mean())
    scales = training_scales(above[: len(X)], below[: len(X)], prior)
    etas = {c: combine_ratios(above, below, prior, c, scales=scales) for c in COMBINATIONS}
    return {f"kliep_{combine}": eta[len(X) :] for combine, eta in etas.items()}


def least_over_widths(law: str) -> dict[str, float]:
    """Return the least error of any width and either solver, chosen knowing the truth."""
    tables = [
        errors(law, partial(fixed_width_etas, fraction=fraction, solve=solve), n_draws=5)
        for fraction in FRACTIONS
        for solve in (kliep, kliep_reference)
    ]
    return {name: min(float(table[name].mean()) for table in tables) for name in tables[0]}


def report(law: str, found: dict[str, np.ndarray], printed: dict[tuple[str, str], float]) -> None:
    """Print one law's table, with a reason under every figure that is above the print."""
    print(f"\n{law}: mean squared error, {N_DRAWS} draws of {N_TRAIN} + {N_TEST} rows")
    print(f"  {'method':<16}{'ours':>9}{'std. error':>12}{'printed':>9}{'mended':>8}")
    above = []
    for name, values in found.items():
        mean, deviation = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
        cell = printed.get((law, name), float("nan"))
        mended = MENDED.get((law, name))
        goal = cell if mended is None else mended
        verdict = "reached"
        if np.isnan(goal):
            verdict = "not printed"
        elif mean >= limit(goal):
            verdict = "ABOVE"
            above.append(name)
        shown = "" if np.isnan(cell) else f"{cell:g}"
        other = "" if mended is None else f"{mended:g}"
        print(f"  {name:<16}{mean:>9.4f}{deviation:>12.4f}{shown:>9}{other:>8}  {verdict}")
    least = least_over_widths(law) if any(name.startswith("kliep") for name in above) else {}
    for name in above:
        print(f"  {name}: {REASONS.get(name, 'no reason known')}.")
        if name in least:
            print(f"    Over {len(FRACTIONS)} widths and both solvers at best {least[name]:.4f}.")


def main() -> None:
    """Print all figures."""
    print("Closeness to the true probability")
    printed = printed_cells()
    with threadpool_limits(1, user_api="blas"):
        for law in LAWS:
            report(law, errors(law, all_etas), printed)


if __name__ == "__main__":
    main()
