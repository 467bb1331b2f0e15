"""A judge and a few human labels: coverage and width beside prediction-powered inference.

Rows are simulated with a known share of positives, a judge that errs where its confidence is low,
and human labels of some rows: chosen at random, as many of either label of the judge, or sooner
where its confidence is low. 216 cells: three ways to choose, six shares, four numbers of human
labels, three judges. Both methods know the probabilities with which rows were chosen. The peer is
PPI++ of ``ppi-python``, with its tuned weight; it is left out where that is not installed.

Run as ``python -m benchmarks.judge [--draws 200]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import warnings

import numpy as np

import flipcost as fc
from benchmarks.timing import verdict

N_ROWS = 5000
DESIGNS = ("random", "label", "confidence")
SHARES = (0.01, 0.05, 0.1, 0.3, 0.5, 0.9)
HUMAN = (30, 100, 300, 1000)
# How often the judge misses and cries wolf.
JUDGES = ((0.1, 0.05), (0.3, 0.1), (0.4, 0.4))
# Coverage that is asked for on average and in each cell, and of the peer before widths compare.
MEAN, LEAST, PEER, WIDTH = 0.945, 0.89, 0.92, 1.03


def chances(design: str, said: np.ndarray, confidence: np.ndarray, n_human: int) -> np.ndarray:
    """Return the probability with which a person looks at each row."""
    if design == "random":
        weight = np.ones(N_ROWS)
    elif design == "label":
        weight = np.where(said, 1 / max(said.sum(), 1), 1 / max((~said).sum(), 1))
    else:
        weight = 1.25 - confidence
    return np.minimum(n_human * weight / weight.sum(), 1)


def ppi(true: np.ndarray, said: np.ndarray, seen: np.ndarray, chance: np.ndarray) -> tuple:
    """Return the limits of PPI++; nothing is covered where it finds none."""
    from ppi_py import ppi_mean_ci

    weight = 1 / chance[seen]
    try:
        low, high = ppi_mean_ci(
            true[seen] * 1.0, said[seen] * 1.0, said[~seen] * 1.0, 0.05, w=weight
        )
    except (ValueError, ZeroDivisionError, FloatingPointError):
        return np.nan, np.nan
    return float(np.squeeze(low)), float(np.squeeze(high))


def run(cell: tuple, draws: int, *, peer: bool) -> np.ndarray:
    """Return coverage of the share, the misses and the false alarms, the width, and the peer's."""
    design, share, n_human, (miss, alarm) = cell
    rng = np.random.default_rng(
        [31, DESIGNS.index(design), int(1000 * share), n_human, int(10 * miss)]
    )
    found = []
    while len(found) < draws:
        true = rng.random(N_ROWS) < share
        doubt = rng.random(N_ROWS)
        said = true ^ (rng.random(N_ROWS) < 2 * doubt * np.where(true, miss, alarm))
        chance = chances(design, said, 1 - doubt / 2, n_human)
        seen = rng.random(N_ROWS) < chance
        judged = fc.judge(said, np.where(seen, true, np.nan), inclusion=chance)
        own = (judged.share_, judged.miss_rate_, judged.false_alarm_rate_)
        covered = [x.low <= t <= x.high for x, t in zip(own, (share, miss, alarm), strict=True)]
        low, high = ppi(true, said, seen, chance) if peer else (np.nan, np.nan)
        width = judged.share_.high - judged.share_.low
        found.append([*covered, width, low <= share <= high, high - low])
    return np.nanmean(np.array(found, dtype=float), axis=0)


def main() -> None:
    """Run all cells and print what was covered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    draws = parser.parse_args().draws
    peer = importlib.util.find_spec("ppi_py") is not None
    cells = list(itertools.product(DESIGNS, SHARES, HUMAN, JUDGES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = np.array([run(cell, draws, peer=peer) for cell in cells])
    for j, what in enumerate(("the share", "misses", "false alarms")):
        mean, least = figures[:, j].mean(), figures[:, j].min()
        print(f"coverage of {what}: mean {mean:.3f} {verdict(mean, MEAN, at_most=False)}")
        print(f"  least of {len(cells)} cells {least:.3f} {verdict(least, LEAST, at_most=False)}")
        print(f"  in {cells[int(figures[:, j].argmin())]}")
    if not peer:
        print("ppi-python is not installed: nothing to compare with.")
        return
    for design in DESIGNS:
        own = np.array([cell[0] == design for cell in cells])
        print(
            f"rows chosen by {design}: coverage {figures[own, 0].mean():.3f}, PPI++ "
            f"{figures[own, 4].mean():.3f} (least {figures[own, 4].min():.3f})"
        )
    fair = figures[:, 4] >= PEER
    ratio = float((figures[fair, 3] / figures[fair, 5]).mean())
    print(f"width against PPI++'s in the {fair.sum()} cells where that covers {PEER}, mean")
    print(f"  {ratio:.3f} {verdict(ratio, WIDTH, at_most=True)}")


if __name__ == "__main__":
    main()
