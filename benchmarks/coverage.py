"""Checked rows: how often 95% intervals hold the truth, and how wide they are.

Rows of five laws whose truth is known; on two of them label errors are systematic. Some rows are
checked: at random, half of each label, or as `flipcost.recheck.next_rows` chooses them, in two
rounds. Linear scores, so that a draw takes a fraction of a second. Intervals: both error rates, the
share of wrong labels and of positives (of the table), the cost of what was chosen and what it saves
over logistic regression (on new rows). Beside the rates stands `flipcost.judge` of the same labels:
post-stratified Beta intervals that know no column.

``--rare`` compares estimated and true costs where positives are rare. ``--drawn`` checks no row: a
fit learns from 10,000 rows drawn of 1,000,000, of which some 5 % are positive and half of those
drawn; beside it, from 100,000 rows, all of them.

Run as ``python -m benchmarks.coverage [--draws 200] [--checked 100] [--first 0] [--rare|--drawn]``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import flipcost as fc
from benchmarks.timing import verdict
from flipcost.core.checked_rows import CheckedRows, given_label
from flipcost.core.costs import RowCosts

if TYPE_CHECKING:
    from collections.abc import Callable

DESIGNS = ("random", "label", "recheck")
ROWS, FRESH = 2_000, 20_000
LEAST, MOST, RARE = 0.93, 0.97, 1.3


class Law(NamedTuple):
    """Probability of a positive, shares of wrong labels given the class, and the cost."""

    eta: Callable
    missed: Callable
    false: Callable
    cost: float


def _line(X: np.ndarray) -> np.ndarray:
    return 1.5 * X[:, 0] + X[:, 1]


def shifted(intercept: float) -> Callable:
    """Return a logistic law whose log-odds are shifted."""
    return lambda X: expit(_line(X) + intercept)


def always(rate: float) -> Callable:
    """Return a rate that is the same for all rows."""
    return lambda X: np.full(len(X), rate)


LAWS = {
    "a fifth flipped": Law(shifted(-0.5), always(0.2), always(0.2), 0.3),
    "3 in 10 missed": Law(shifted(-1), always(0.3), always(0.05), 0.2),
    "rare, 4 in 10 missed": Law(shifted(-4), always(0.4), always(0.01), 0.06),
    "follow a column": Law(
        shifted(-1),
        lambda X: expit(-1 + 1.2 * X[:, 1] - 0.5 * X[:, 0]),
        lambda X: expit(-3 + X[:, 3]),
        0.2,
    ),
    "follow the score": Law(
        shifted(-1), lambda X: expit(0.5 - _line(X)), lambda X: expit(_line(X) - 3), 0.3
    ),
}
RARE_LAWS = [
    Law(shifted(intercept), always(0.3), always(0.001), cost)
    for intercept, cost in ((-4.4, 0.05), (-6.4, 0.01), (-9.0, 0.001))
]
# A steeper line, so that a table alone tells the rate.
DRAWN_LAWS = {
    name: Law(lambda X, k=k: expit(2 * X[:, 0] + X[:, 1] + k), always(missed), always(false), c)
    for name, k, missed, false, c in (
        ("clean", -4.3, 0.0, 0.0, 0.08),
        ("1 in 10 missed", -4.3, 0.1, 0.0, 0.08),
        ("3 in 10 missed", -4.3, 0.3, 0.001, 0.08),
        ("missed and false", -4.3, 0.2, 0.01, 0.2),
        ("a fifth flipped", -0.5, 0.2, 0.2, 0.3),
    )
}
TABLE_ROWS, SAMPLE = 1_000_000, 10_000
FIGURES = ("rate +", "rate -", "wrong", "share", "cost", "saving")


class Drawn(NamedTuple):
    """Rows of a law with recorded and right labels."""

    X: np.ndarray
    noisy: np.ndarray
    clean: np.ndarray


def draw(law: Law, n: int, seed: int) -> Drawn:
    """Draw rows of a law."""
    rng = np.random.default_rng([28, seed])
    X = rng.normal(size=(n, 4))
    clean = rng.random(n) < law.eta(X)
    wrong = np.where(clean, law.missed(X), law.false(X))
    return Drawn(X, clean ^ (rng.random(n) < wrong), clean)


def classifier(law: Law, seed: int) -> fc.FlipCostClassifier:
    """Return the classifier to fit."""
    return fc.FlipCostClassifier(law.cost, features="linear", random_state=seed)


def check(
    law: Law, rows: Drawn, design: str, n: int, seed: int, rounds: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Check `n` rows; return their right labels, NaN elsewhere, and the chances of each row."""
    rng = np.random.default_rng([29, seed])
    trusted, chance = np.full(len(rows.noisy), np.nan), np.full(len(rows.noisy), n / len(rows.X))
    if design == "random":
        picked = rng.permutation(len(rows.noisy))[:n]
    elif design == "label":
        sides = [rng.permutation(np.flatnonzero(rows.noisy == side)) for side in (False, True)]
        few = min(n // 2, len(sides[1]))
        picked = np.concatenate([sides[0][: n - few], sides[1][:few]])
        chance = np.where(rows.noisy, few / len(sides[1]), (n - few) / len(sides[0]))
    else:
        model = classifier(law, seed).fit(rows.X, rows.noisy)
        for k in range(rounds):
            known = trusted if k else None
            batch = fc.recheck.next_rows(
                model, rows.X, rows.noisy, n // rounds, trusted=known, random_state=seed
            )
            trusted[batch.rows] = rows.clean[batch.rows]
            if k < rounds - 1:
                model.fit(rows.X, rows.noisy, trusted=trusted)
        return trusted, chance
    trusted[picked] = rows.clean[picked]
    return trusted, chance


def expected(flagged: np.ndarray, eta: np.ndarray, cost: float) -> float:
    """Return the mean cost of decisions about rows that are positive with these probabilities."""
    return float(np.where(flagged, cost * (1 - eta), (1 - cost) * eta).mean())


def saving(
    model: fc.FlipCostClassifier, law: Law, rows: Drawn, trusted: np.ndarray, fresh: np.ndarray
) -> tuple[tuple[float, float], float]:
    """Return the limits of what is saved over logistic regression, and what is."""
    rival = LogisticRegression()
    theirs = cross_val_predict(rival, rows.X, rows.noisy, cv=5, method="predict_proba")[:, 1]
    known = np.flatnonzero(~np.isnan(trusted))
    score = model.oof_probability_
    flagged = score > law.cost if model.chosen_ == "rule" else model.chosen_ == "all_positive"
    limits = CheckedRows(known, trusted[known] > 0).saving_interval(
        positive=rows.noisy,
        flagged=np.broadcast_to(flagged, len(score)),
        rival_flagged=theirs > law.cost,
        expected=given_label(score, rows.noisy, model.rate_posterior_.mean),
        score=score,
        costs=RowCosts.of(law.cost),
    )
    eta, rival_flagged = law.eta(fresh), rival.fit(rows.X, rows.noisy).predict_proba(fresh)[:, 1]
    paid = [expected(c, eta, law.cost) for c in (rival_flagged > law.cost, model.predict(fresh))]
    return limits, paid[0] - paid[1]


def covered(law: Law, design: str, n: int, seed: int) -> np.ndarray:
    """Return what one draw covers, the widths, and both for the rates without columns."""
    rows = draw(law, ROWS, seed)
    trusted, chance = check(law, rows, design, n, seed)
    model = classifier(law, seed).fit(rows.X, rows.noisy, trusted=trusted)
    fresh = np.random.default_rng([30, seed]).normal(size=(FRESH, 4))
    wrong = rows.noisy != rows.clean
    saved_limits, saved = saving(model, law, rows, trusted, fresh)
    share = model.constant_costs_["all_negative"]
    truth = [
        wrong[rows.clean].mean(), wrong[~rows.clean].mean(), wrong.mean(), rows.clean.mean(),
        expected(model.predict(fresh), law.eta(fresh), law.cost), saved,
    ]  # fmt: skip
    limits = np.array(
        [
            *model.noise_rate_interval_,
            (model.wrong_share_.low, model.wrong_share_.high),
            (share.low / (1 - law.cost), share.high / (1 - law.cost)),
            model.cost_interval_,
            saved_limits,
        ]
    )
    inside = (limits[:, 0] <= truth) & (truth <= limits[:, 1])
    plain = np.full(4, np.nan)
    if design != "recheck":
        judged = fc.judge(rows.noisy, trusted, inclusion=chance)
        rates = (judged.miss_rate_, judged.false_alarm_rate_)
        plain[:2] = [x.low <= t <= x.high for x, t in zip(rates, truth[:2], strict=True)]
        plain[2:] = [x.high - x.low for x in rates]
    return np.concatenate([inside, np.diff(limits)[:, 0], plain])


def show(laws: dict[str, Law], designs: list[str], n: int, seeds: range) -> None:
    """Print coverage and width by law and design."""
    k = len(FIGURES)
    print(f"{n} of {ROWS:,} rows checked, {len(seeds)} draws: covered (mean width)")
    print(" " * 32 + "".join(f"{name:>14}" for name in FIGURES) + "    judge: rate +, rate -")
    every = []
    for name, law in laws.items():
        for design in designs:
            found = np.mean([covered(law, design, n, seed) for seed in seeds], axis=0)
            every.append(found[:k])
            cells = [(found[j], found[k + j]) for j in range(k)]
            cells += [(found[2 * k + j], found[2 * k + 2 + j]) for j in (0, 1)]
            said = "".join(f" {share:.3f} ({width:.3f})" for share, width in cells)
            print(f"  {name:<21} {design:<8}{said}", flush=True)
    for j, name in enumerate(FIGURES):
        mean, least = np.mean(every, axis=0)[j], np.min(every, axis=0)[j]
        print(f"  {name}: mean {mean:.3f}, least {least:.3f}")
        print(f"    {verdict(mean, LEAST, at_most=False)}; {verdict(mean, MOST, at_most=True)}")


def rare(seeds: range) -> None:
    """Print estimated over true costs where positives are rare."""
    print("rare positives, 30 % missed, 20,000 rows: mean estimated cost over the true one")
    for law in RARE_LAWS:
        for n in (30, 100, 300, 1000):
            for design in ("random", "recheck"):
                found = np.mean([_claimed(law, design, n, seed) for seed in seeds], axis=0)
                said, paid, share, held = found
                print(
                    f"  {100 * share:.2g} %, {n} checked, {design}: covered {held:.2f}, "
                    f"{said / paid:.2f} times  {verdict(said / paid, RARE, at_most=True)}",
                    flush=True,
                )


def _claimed(law: Law, design: str, n: int, seed: int) -> tuple[float, float, float, bool]:
    """Return the estimated and the true cost, the share of positives, and whether it is covered."""
    rows = draw(law, 20_000, seed)
    trusted, _ = check(law, rows, design, n, seed, rounds=1)
    model = classifier(law, seed).fit(rows.X, rows.noisy, trusted=trusted)
    eta = law.eta(rows.X)
    paid = expected(model.predict(rows.X), eta, law.cost)
    low, high = model.cost_interval_
    return model.cost_estimate_, paid, float(eta.mean()), low <= paid <= high


def drawn(seeds: range) -> None:
    """Print coverage of fits to rows that were drawn, beside fits to all of fewer rows."""
    for name, law in DRAWN_LAWS.items():
        for n, sample in ((TABLE_ROWS, SAMPLE), (TABLE_ROWS // 10, None)):
            found = np.mean([_from_sample(law, n, sample, seed) for seed in seeds], axis=0)
            wrong, width, cost, cost_width = found
            print(
                f"  {name:<16} {sample or n:>8,} of {n:>9,} rows: wrong labels {wrong:.3f} "
                f"({width:.4f}), cost {cost:.3f} ({cost_width:.4f})",
                flush=True,
            )


def _from_sample(law: Law, n: int, sample: int | None, seed: int) -> tuple[float, ...]:
    """Return what intervals cover, and their widths."""
    rows, fresh = draw(law, n, seed), np.random.default_rng([30, seed]).normal(size=(FRESH, 4))
    table = fc.scale.scan_batches([(rows.X, rows.noisy)])
    model = classifier(law, seed).fit_table(table, sample or n)
    wrong, (low, high) = model.wrong_share_if_random_, model.cost_interval_
    truth = float((rows.noisy != rows.clean).mean())
    paid = expected(model.predict(fresh), law.eta(fresh), law.cost)
    return wrong.low <= truth <= wrong.high, wrong.high - wrong.low, low <= paid <= high, high - low


def main(arguments: list[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--checked", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--laws", nargs="+", choices=LAWS, default=list(LAWS))
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--rare", action="store_true")
    parser.add_argument("--drawn", action="store_true")
    asked = parser.parse_args([] if arguments is None else arguments)
    seeds = range(asked.first, asked.first + asked.draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if asked.rare:
            rare(seeds)
        elif asked.drawn:
            drawn(seeds)
        else:
            show({k: LAWS[k] for k in asked.laws}, asked.designs, asked.checked, seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
