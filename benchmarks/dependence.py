"""How often intervals cover where rows depend on each other, told of it and not.

Three tables: each row ten times; thirty groups of twenty rows, whose class is the group's; and
groups of ten with half of what a row is in common. Printed is the share of runs whose intervals
hold the true share of wrong labels, and the true cost of the rule that was fitted, on fresh rows:
for rows taken as independent (``groups`` of one row each), and as `FlipCostClassifier` takes them
when it is given the groups, or notices the copies.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from flipcost import FlipCostClassifier
from flipcost.noise import flip_labels

_COST, _RATE = 0.2, 0.15


def _draw(n_groups, rows, common, rng):
    """Rows of groups that share a part of their place, and the class that it tells."""
    place = np.repeat(rng.normal(size=(n_groups, 4)), rows, axis=0)
    own = rng.normal(size=place.shape)
    X = np.sqrt(common) * place + np.sqrt(1 - common) * own
    by = place if common > 0.8 else X
    drawn = np.repeat(rng.random(n_groups), rows) if common > 0.8 else rng.random(len(X))
    return X, drawn < 1 / (1 + np.exp(-2 * by[:, 0])), np.repeat(np.arange(n_groups), rows)


def _copies(rng):
    X, clean, _ = _draw(200, 1, 0.0, rng)
    return X, clean, np.arange(200), 10


def _thirty(rng):
    return *_draw(30, 20, 0.9, rng), 1


def _tens(rng):
    return *_draw(100, 10, 0.5, rng), 1


TABLES = {
    "each row ten times": (_copies, 0.0),
    "thirty groups of twenty": (_thirty, 0.9),
    "groups of ten, half in common": (_tens, 0.5),
}


def covered(make, common, seed, *, told):
    """Return whether the intervals of one run hold the share of wrong labels, and the cost."""
    rng = np.random.default_rng(seed)
    X, clean, groups, times = make(rng)
    noisy = flip_labels(clean.astype(int), _RATE, random_state=rng)
    wrong = float(np.mean(noisy != clean))
    X, noisy, groups = (np.repeat(part, times, axis=0) for part in (X, noisy, groups))
    given = groups if told else np.arange(len(X))
    model = FlipCostClassifier(_COST, noise_model="symmetric", features="linear", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, noisy, groups=given)
    X_new, true, _ = _draw(5000, 1, common, rng)
    flagged = model.predict(X_new) == 1
    cost = np.mean((1 - _COST) * (true & ~flagged) + _COST * (~true & flagged))
    rate = model.wrong_share_
    low, high = model.cost_interval_
    return rate.low <= wrong <= rate.high, low <= cost <= high


def main(argv: list[str] | None = None) -> None:
    """Print the coverage of each table, told and not."""
    args = sys.argv[1:] if argv is None else argv
    runs = int(args[0]) if args and args[0].isdigit() else 100
    print(f"95 % intervals that cover, of {runs} runs")
    print(f"{'':32}{'wrong labels':>26}{'cost':>26}")
    print(f"{'':32}{'as independent':>16}{'told':>10}{'as independent':>16}{'told':>10}")
    for name, (make, common) in TABLES.items():
        shares = [
            np.mean([covered(make, common, seed, told=told) for seed in range(runs)], axis=0)
            for told in (False, True)
        ]
        wrong, cost = np.transpose(shares)
        print(f"{name:32}{wrong[0]:16.2f}{wrong[1]:10.2f}{cost[0]:16.2f}{cost[1]:10.2f}")


if __name__ == "__main__":
    main()
