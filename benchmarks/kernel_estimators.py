"""KLIEP and LSPC against densratio and, where it is installed, adapt.

1000 + 1000 rows in ten dimensions, 100 centres, BLAS on one thread; ``--rows 2500 --centers 300``
for a larger table. Every call starts from the rows: distances, kernels and the choice of centres
are inside the time. Times are of the processor, the best of several, taken in turns; what counts is
their ratio within this run. The gap is the certificate of KLIEP, ``max_l g_l - 1``: an upper bound
on what the objective falls short of its optimum.

The limit is to compute the kernel matrices and nothing else. A search over widths cannot come near
it with LSPC: a Gram matrix and a rotation of 300 columns take ten times as long as 300 kernels.
Both products alone are shown too.

Scheme 2, which fits 66 times, is timed around each estimator on 400 rows, against itself around
`LinkClassifier`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from functools import cache, partial
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import best_of_each, verdict
from flipcost import CostResamplingClassifier, KLIEPClassifier, LinkClassifier, LSPClassifier
from flipcost.core.folds import random_folds
from flipcost.datasets import make_syn3d
from flipcost.noise import flip_labels
from flipcost.paper.kernels import (
    centile_widths,
    choose_centers,
    gaussian_kernel,
    squared_distances,
)
from flipcost.paper.kliep import kliep, kliep_posterior_search
from flipcost.paper.lspc import lspc_fit, lspc_search

if TYPE_CHECKING:
    from collections.abc import Callable

N_ROWS, N_FEATURES, N_CENTERS, N_FOLDS = 1000, 10, 100, 5
PENALTIES = np.logspace(-4, 1, 9)


def make_rows(shift: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two normal laws whose means are ``shift`` apart."""
    rng = np.random.default_rng(0)
    num, den = rng.normal(size=(2, N_ROWS, N_FEATURES))
    num[:, 0] += shift
    return num, den


def gap_of(num: np.ndarray, den: np.ndarray, centers: np.ndarray, alpha: np.ndarray, width: float):
    """Return the certificate of anybody's kernel weights."""
    phi = gaussian_kernel(squared_distances(num, centers), width)
    mean = gaussian_kernel(squared_distances(den, centers), width).mean(axis=0)
    alpha = alpha / (mean @ alpha)
    return float((phi / (phi @ alpha)[:, None] / mean).mean(axis=0).max() - 1)


def our_kliep(num, den, width):
    """Fit one ratio at a fixed width."""
    centers = choose_centers(num, N_CENTERS, np.random.default_rng(0))
    phi = gaussian_kernel(squared_distances(num, centers), width)
    mean = gaussian_kernel(squared_distances(den, centers), width).mean(axis=0)
    return kliep(phi, mean)


def our_kliep_search(num, den, widths):
    """Choose each sample's width by five folds and fit both ratios; return the search and fits."""
    rng = np.random.default_rng(0)
    X, upper = np.vstack([den, num]), np.arange(len(den) + len(num)) >= len(den)
    bases = [squared_distances(X, choose_centers(rows, N_CENTERS, rng)) for rows in (den, num)]
    search = kliep_posterior_search(bases, upper, widths, random_folds(upper, N_FOLDS, rng))
    fits = []
    for code, place in enumerate(search.class_best):
        phi = gaussian_kernel(bases[code], float(search.widths[place]))
        start = search.starts[code][place]
        fits.append(kliep(phi[upper == code], phi.mean(axis=0), start=start))
    return search, fits


def our_lspc_fit(num, den, width):
    """Fit both classes at a fixed width and penalty."""
    rng = np.random.default_rng(0)
    X, codes = np.vstack([den, num]), np.repeat([0, 1], [len(den), len(num)])
    bases = [squared_distances(X, choose_centers(rows, N_CENTERS, rng)) for rows in (den, num)]
    return lspc_fit([gaussian_kernel(sq, width) for sq in bases], codes, 0.01)


def our_lspc(num, den, widths):
    """Choose width and penalty of both classes by leave-one-out and fit."""
    rng = np.random.default_rng(0)
    X, codes = np.vstack([den, num]), np.repeat([0, 1], [len(den), len(num)])
    bases = [squared_distances(X, choose_centers(rows, N_CENTERS, rng)) for rows in (den, num)]
    scores = lspc_search(bases, codes, widths, PENALTIES)
    width, l2 = np.unravel_index(scores.argmax(), scores.shape)
    phis = [gaussian_kernel(sq, float(widths[width])) for sq in bases]
    return lspc_fit(phis, codes, float(PENALTIES[l2]))


def kernels_alone(num, den, widths, *, both=False):
    """Compute the kernel matrices that a fit, or a search over widths, consists of."""
    rng = np.random.default_rng(0)
    rows = np.vstack([den, num])
    groups = (den, num) if both else (num,)
    for distances in [squared_distances(rows, choose_centers(g, N_CENTERS, rng)) for g in groups]:
        for width in widths:
            gaussian_kernel(distances, float(width))


def products_alone(num, den, widths):
    """Compute kernel matrices of both classes, their Gram matrices and rotations."""
    rng = np.random.default_rng(0)
    rows = np.vstack([den, num])
    for group in (den, num):
        distances = squared_distances(rows, choose_centers(group, N_CENTERS, rng))
        for width in widths:
            phi = gaussian_kernel(distances, float(width))
            _ = phi @ (phi.T @ phi)


def say_limit(times: dict[str, float]) -> None:
    """Print how many times the kernel matrices ours takes."""
    ratio = times["flipcost"] / times["kernel matrices alone"]
    print(f"  ours / kernel matrices {ratio:.2f}", verdict(ratio, 3, at_most=True))


@cache
def peer(module: str, name: str, advice: str):
    """Return an object of another library, or None after saying once how to get it."""
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        print(advice)
        return None


def densratio_calls(num, den, width, widths) -> dict[str, Callable[[], object]] | None:
    """Return densratio's counterparts, or None where it is not installed."""
    densratio = peer(
        "densratio",
        "densratio",
        "densratio is not installed, only our own times are shown: pip install densratio==0.4.0",
    )
    if densratio is None:
        return None
    ratio = partial(densratio, num, den, kernel_num=N_CENTERS, verbose=False)
    return {
        "fit": partial(ratio, method="KLIEP", sigma=float(width)),
        "search": partial(ratio, method="KLIEP", sigma=list(widths), fold=N_FOLDS),
        "own search": partial(ratio, method="KLIEP", sigma="auto", fold=N_FOLDS),
        "grid": partial(
            ratio, method="uLSIF", sigma_range=list(widths), lambda_range=list(PENALTIES)
        ),
    }


def adapt_calls(num, den, width, widths) -> dict[str, Callable[[], object]] | None:
    """Return adapt's Frank-Wolfe counterparts, or None where it is not installed."""
    estimator = peer(
        "adapt.instance_based",
        "KLIEP",
        "adapt is not installed and left out; it brings TensorFlow: pip install adapt",
    )
    if estimator is None:
        return None

    def fit(gamma):
        model = estimator(gamma=gamma, max_centers=N_CENTERS, cv=N_FOLDS, verbose=0, random_state=0)
        model.fit_weights(den, num)
        return model

    return {
        "fit": partial(fit, 0.5 / width**2),
        "search": partial(fit, list(0.5 / widths**2)),
    }


def report(title: str, times: dict[str, float], gaps: dict[str, str]) -> None:
    """Print one table: milliseconds, ratio to ours, gap."""
    print(f"\n{title}")
    ours = times["flipcost"]
    for name, seconds in times.items():
        print(f"  {name:<28}{1e3 * seconds:>10.2f} ms {seconds / ours:>8.2f} x   {gaps[name]}")


def compare_fit(num, den, width, densratio, adapt) -> None:
    """Time one certified fit at a fixed width."""
    flags = {"flipcost": partial(our_kliep, num, den, width)}
    gaps = {"flipcost": f"gap {our_kliep(num, den, width).gap:.1e}"}
    if densratio:
        flags["densratio KLIEP"] = densratio["fit"]
        np.random.seed(0)  # noqa: NPY002 - densratio draws its centres from the global generator
        peer = densratio["fit"]()
        gap = gap_of(num, den, peer.kernel_info.centers, np.asarray(peer.theta), width)
        gaps["densratio KLIEP"] = f"gap {gap:.1e}"
    if adapt:
        flags["adapt Frank-Wolfe"] = adapt["fit"]
        model = adapt["fit"]()
        gap = gap_of(num, den, model.centers_, model.alphas_.ravel(), width)
        gaps["adapt Frank-Wolfe"] = f"gap {gap:.1e}"
    flags["kernel matrices alone"] = partial(kernels_alone, num, den, [width])
    gaps["kernel matrices alone"] = "the limit"
    times = best_of_each(flags, repeats=15, clock=process_time)
    report(f"KLIEP, width {width:.2f}", times, gaps)
    say_limit(times)
    print("  gap       ", verdict(our_kliep(num, den, width).gap, 1e-6, at_most=True))
    if densratio:
        ratio = times["flipcost"] / times["densratio KLIEP"]
        print(f"  ours / densratio {ratio:.2f}", verdict(ratio, 1.0, at_most=True))
    if adapt:
        ratio = times["adapt Frank-Wolfe"] / times["flipcost"]
        print(f"  adapt / ours {ratio:.1f}", verdict(ratio, 15, at_most=False))


def _twice(call: Callable[[], object]) -> None:
    call()
    call()


def compare_search(num, den, widths, densratio, adapt) -> None:
    """Time the choice among nine widths by five folds, and the final fit.

    Ours is of both samples to all rows; the others' is of one ratio, and is made twice.
    """
    search, fits = our_kliep_search(num, den, widths)
    largest = max(float(search.gaps.max()), *(fit.gap for fit in fits))
    flags = {"flipcost": partial(our_kliep_search, num, den, widths)}
    gaps = {"flipcost": f"largest gap {largest:.1e} of {search.gaps.size + 2} fits"}
    if densratio:
        flags["densratio KLIEP"] = partial(_twice, densratio["search"])
        flags["densratio KLIEP, own search"] = partial(_twice, densratio["own search"])
        gaps |= dict.fromkeys(flags, "no certificate") | gaps
    if adapt:
        flags["adapt Frank-Wolfe"] = partial(_twice, adapt["search"])
        gaps["adapt Frank-Wolfe"] = "no certificate"
    flags["kernel matrices alone"] = partial(kernels_alone, num, den, widths, both=True)
    gaps["kernel matrices alone"] = "the limit"
    times = best_of_each(flags, repeats=3, clock=process_time)
    report(f"KLIEP, {len(widths)} widths x {N_FOLDS} folds", times, gaps)
    say_limit(times)
    print("  largest gap", verdict(largest, 1e-6, at_most=True))
    if densratio:
        ratio = times["flipcost"] / times["densratio KLIEP"]
        print(f"  ours / densratio {ratio:.2f}", verdict(ratio, 0.8, at_most=True))
    if adapt:
        ratio = times["adapt Frank-Wolfe"] / times["flipcost"]
        print(f"  adapt / ours {ratio:.1f}", verdict(ratio, 25, at_most=False))


def compare_lspc_fit(num, den, width) -> None:
    """Time one fit of both classes at a fixed width and penalty."""
    flags = {
        "flipcost": partial(our_lspc_fit, num, den, width),
        "kernel matrices alone": partial(kernels_alone, num, den, [width], both=True),
    }
    times = best_of_each(flags, repeats=9, clock=process_time)
    gaps = {"flipcost": "two classes", "kernel matrices alone": "the limit"}
    report(f"LSPC, width {width:.2f}", times, gaps)
    say_limit(times)


def compare_grid(num, den, widths, densratio) -> None:
    """Time the choice among nine widths and nine penalties by leave-one-out, and the final fit."""
    flags = {"flipcost": partial(our_lspc, num, den, widths)}
    gaps = {"flipcost": "two classes, exact leave-one-out"}
    if densratio:
        flags["densratio uLSIF"] = densratio["grid"]
        gaps["densratio uLSIF"] = "one ratio, leave-one-out"
    flags["kernel matrices alone"] = partial(kernels_alone, num, den, widths, both=True)
    flags["with Gram and rotation"] = partial(products_alone, num, den, widths)
    gaps |= {"kernel matrices alone": "the limit", "with Gram and rotation": "the products"}
    times = best_of_each(flags, repeats=5, clock=process_time)
    report(f"LSPC, {len(widths)} widths x {len(PENALTIES)} penalties", times, gaps)
    say_limit(times)
    if densratio:
        ratio = times["densratio uLSIF"] / times["flipcost"]
        print(f"  densratio / ours {ratio:.1f}", verdict(ratio, 10, at_most=False))


def compare_scheme_2() -> None:
    """Time scheme 2 around each estimator, 13 margins by five folds and the final fit."""
    data = make_syn3d(400, random_state=0)
    noisy = flip_labels(data.target, 0.2, random_state=0)

    def fit(estimator):
        CostResamplingClassifier(estimator, cost=0.25, random_state=0).fit(data.data, noisy)

    flags = {
        "LinkClassifier": partial(fit, LinkClassifier()),
        "LSPClassifier": partial(fit, LSPClassifier(random_state=0)),
        "KLIEPClassifier": partial(fit, KLIEPClassifier(random_state=0)),
    }
    times = best_of_each(flags, repeats=3, clock=process_time)
    print("\nScheme 2 on 400 rows, 66 fits")
    for name, seconds in times.items():
        ratio = seconds / times["LinkClassifier"]
        print(f"  {name:<28}{1e3 * seconds:>10.2f} ms {ratio:>8.2f} x")
    ratio = times["KLIEPClassifier"] / times["LinkClassifier"]
    print(f"  KLIEP / link {ratio:.1f}", verdict(ratio, 12, at_most=True))


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    global N_ROWS, N_CENTERS  # the size of all that is measured here
    parser = argparse.ArgumentParser(prog="benchmarks.kernel_estimators", description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS, help="rows of each of the two samples")
    parser.add_argument("--centers", type=int, default=N_CENTERS)
    options = parser.parse_args([] if arguments is None else arguments)
    N_ROWS, N_CENTERS = options.rows, options.centers
    num, den = make_rows()
    widths = centile_widths(np.vstack([num, den]), np.random.default_rng(0))
    narrow = 0.5 * float(widths[0])
    print(
        f"Kernel estimators, {N_ROWS} + {N_ROWS} rows, {N_FEATURES} features, {N_CENTERS} centres"
    )
    with threadpool_limits(1, user_api="blas"):
        for width in (float(widths[len(widths) // 2]), narrow):
            densratio = densratio_calls(num, den, width, widths)
            adapt = adapt_calls(num, den, width, widths)
            compare_fit(num, den, width, densratio, adapt)
        compare_search(num, den, widths, densratio, adapt)
        compare_lspc_fit(num, den, float(widths[len(widths) // 2]))
        compare_grid(num, den, widths, densratio)
        compare_scheme_2()


if __name__ == "__main__":
    main(sys.argv[1:])
