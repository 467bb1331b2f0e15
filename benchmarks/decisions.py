"""Savings with prices by row from noisy labels, and the coverage of denoised lift and profit.

Savings are ``1 - cost / cost of the better constant``, costs counted on clean test labels at each
row's own prices. Labels of the training part are flipped at rates of 0, 10, 20 and 30 %; prices and
test labels are clean. Against it stand empulse's instance-cost learners (CSLogit, CSBoost, CSTree,
CSForest, AGPL: for this comparison only), and logistic regression and boosting whose probabilities
are cut at each row's own Bayes threshold. Methods that are not installed are named and left out.

Prices are made of the features, since these tables have no money in them: a miss costs
``20 exp(x1 / 2)``, a half more or less at random, and a false alarm 10. Every table is split 70/30,
``--trials`` times.

Coverage: in 500 draws of 1,000 rows, how often the 95 % interval of clean lift and profit at three
depths holds what many rows say, with the rate known and with the rate left to the classifier. In
the second case rows are called in the order that was learned from the draw, and the truth is what
that order brings on 100,000 new rows with clean labels.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from flipcost import FlipCostClassifier, datasets
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior
from flipcost.core.gains import gains_curve
from flipcost.noise import flip_labels, rate_from_trusted

RATES = (0.0, 0.1, 0.2, 0.3)
TABLES = {
    "pima": datasets.load_pima,
    "german": datasets.load_german_credit,
    "thyroid": datasets.load_thyroid,
    "syn3d": lambda: datasets.make_syn3d(1500, random_state=7),
    "syn10d": lambda: datasets.make_syn10d(1500, random_state=7),
}


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray, RowCosts]:
    """Return rows, clean labels and prices of a table."""
    data = TABLES[name]()
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target)
    positive = (y == np.unique(y)[1]).astype(int)
    rng = np.random.default_rng(11)
    first = StandardScaler().fit_transform(X)[:, :1].ravel()
    fn = 20 * np.exp(np.clip(first, -3, 3) / 2) * np.exp(0.4 * rng.normal(size=len(X)))
    return X, positive, RowCosts(fn, np.full(len(X), 10.0))


def flipcost(X: Any, y: Any, prices: RowCosts, new: Any, new_prices: RowCosts) -> np.ndarray:
    """Integrate the unknown rate out."""
    model = FlipCostClassifier(random_state=0).fit(X, y, prices=prices)
    return model.predict(new, prices=new_prices) == 1


def by_bayes(make: Any) -> Any:
    """Return what cuts the probability of a classifier at each row's threshold."""

    def flags(X: Any, y: Any, prices: RowCosts, new: Any, new_prices: RowCosts) -> np.ndarray:
        del prices
        probability = make().fit(X, y).predict_proba(new)[:, 1]
        return new_prices.gain(probability) > 0

    return flags


def by_empulse(name: str) -> Any:
    """Return what a learner of empulse calls, given the costs of the training rows."""

    def flags(X: Any, y: Any, prices: RowCosts, new: Any, new_prices: RowCosts) -> np.ndarray:
        del new_prices
        from empulse import models

        model = getattr(models, name)()
        model.fit(X, y, fn_cost=prices.miss, fp_cost=prices.alarm)
        return np.asarray(model.predict(new)).ravel() == 1

    return flags


def empulse_threshold(
    X: Any, y: Any, prices: RowCosts, new: Any, new_prices: RowCosts
) -> np.ndarray:
    """Cut logistic regression where empulse's instance costs say."""
    from empulse.models import CSThresholdClassifier

    model = CSThresholdClassifier(LogisticRegression(max_iter=2000), random_state=0)
    model.fit(X, y, fn_cost=prices.miss, fp_cost=prices.alarm)
    flagged = model.predict(new, fn_cost=new_prices.miss, fp_cost=new_prices.alarm)
    return np.asarray(flagged).ravel() == 1


def boosting() -> HistGradientBoostingClassifier:
    """Return boosting as a careful user would set it."""
    return HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.05, min_samples_leaf=20, random_state=0
    )


def methods() -> dict[str, Any]:
    """Return the methods that can be run."""
    found = {
        "flipcost": flipcost,
        "logistic, Bayes": by_bayes(lambda: LogisticRegression(max_iter=2000)),
        "boosting, Bayes": by_bayes(boosting),
    }
    if importlib.util.find_spec("empulse") is None:
        print("empulse is not installed and is left out")
        return found
    found["CSThreshold"] = empulse_threshold
    for name, needs in (
        ("CSLogitClassifier", None),
        ("CSTreeClassifier", None),
        ("CSForestClassifier", None),
        ("CSBoostClassifier", "xgboost"),
    ):
        if needs is not None and importlib.util.find_spec(needs) is None:
            print(f"{name} needs {needs}, which is not installed, and is left out")
            continue
        found[name.replace("Classifier", "")] = by_empulse(name)
    return found


def savings(trials: int, first: int) -> None:
    """Print the savings of every method at every rate."""
    known = methods()
    paid = {(name, rate): [] for name in known for rate in RATES}
    for table in TABLES:
        X, y, prices = rows_of(table)
        splits = StratifiedShuffleSplit(trials, test_size=0.3, random_state=first).split(X, y)
        totals = dict.fromkeys(paid, 0.0)
        constants = np.zeros(2)
        for trial, (train, test) in enumerate(splits):
            scaler = StandardScaler().fit(X[train])
            rows = (scaler.transform(X[train]), scaler.transform(X[test]))
            own, new = prices.take(train), prices.take(test)
            truth = y[test] == 1
            constants += [new.paid(truth, np.full(len(test), c)).sum() for c in (False, True)]
            for rate in RATES:
                noisy = flip_labels(y[train], rate, random_state=first + trial)
                for name, flags in known.items():
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        flagged = flags(rows[0], noisy, own, rows[1], new)
                    totals[name, rate] += new.paid(truth, flagged).sum()
        print(f"\n{table}: {len(y)} rows, {y.mean():.0%} positive, {trials} splits")
        for name in known:
            found = [1 - totals[name, rate] / constants.min() for rate in RATES]
            for rate, value in zip(RATES, found, strict=True):
                paid[name, rate].append(value)
            print(f"  {name:<18}" + "".join(f"{value:8.3f}" for value in found), flush=True)
    print("\nmean over tables, at rates " + ", ".join(f"{rate:g}" for rate in RATES))
    table = {name: np.array([np.mean(paid[name, rate]) for rate in RATES]) for name in known}
    for name, means in table.items():
        print(f"  {name:<18}" + "".join(f"{m:8.3f}" for m in means) + f"{np.mean(means):10.3f}")
    ours, others = table.pop("flipcost"), np.array(list(table.values()))
    print(f"ahead at every noisy rate: {bool(np.all(ours[1:] > others[:, 1:].max(axis=0)))}")
    print(f"ahead on the mean: {bool(ours.mean() > others.mean(axis=1).max())}")
    print(f"without noise, the best of the others less ours: {others[:, 0].max() - ours[0]:.3f}")


def coverage(draws: int = 500, n: int = 1000) -> None:
    """Print how often intervals of denoised lift and profit hold the truth."""
    depths = [0.05, 0.1, 0.3]
    clean = RatePosterior(np.zeros((1, 2)), np.ones(1))
    print(f"\ncoverage of 95 % intervals over {draws} draws of {n} rows, at depths 5, 10 and 30 %")
    for rates in ((0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.3, 0.1)):
        rng = np.random.default_rng(5)
        truth = gains_curve(*_draw(rng, 1_000_000), clean, depths=depths)
        known = RatePosterior(np.array([rates]), np.ones(1))
        held = {name: np.zeros(len(depths)) for name in ("lift", "profit")}
        for _ in range(draws):
            y, eta, prices = _draw(rng, n)
            noisy = y ^ (rng.random(n) < np.where(y, *rates))
            curve = gains_curve(noisy, eta, prices, known, depths=depths)
            for name in held:
                ends, true = curve.clean[name], truth.clean[name][:, 0]
                held[name] += (ends[:, 1] <= true) & (true <= ends[:, 2])
        said = "; ".join(
            f"{name} " + " ".join(f"{x / draws:.3f}" for x in count) for name, count in held.items()
        )
        print(f"  rates {rates}: {said}", flush=True)


def coverage_unknown(draws: int = 500, n: int = 1000) -> None:
    """Print the same where the rate has to be found, by how much is taken for granted.

    All that intervals allow for by default, mistakes that follow the columns among it; the
    posterior alone, which takes for granted that they do not; symmetric noise; rates estimated on
    200 checked rows.
    """
    depths = [0.05, 0.1, 0.3]
    print(
        f"\nthe same with the rate not known, {draws} draws of {n} rows; after the bar mean widths"
        " of lift and profit at 10 %"
    )
    for rates in ((0.0, 0.0), (0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.3, 0.1)):
        rng = np.random.default_rng(6)
        new = _rows(rng, 100_000)
        held: dict[str, np.ndarray] = {}
        for _ in range(draws):
            x, y, prices = _rows(rng, n)
            noisy = y ^ (rng.random(n) < np.where(y, *rates))
            for name, model, posterior in _posteriors(x, y, noisy, prices, rates):
                curve = gains_curve(noisy, model.oof_probability_, prices, posterior, depths=depths)
                truth = _brings(model, *new, depths)
                found = [curve.clean[key] for key in ("lift", "profit")]
                within = [
                    (ends[:, 1] <= true) & (true <= ends[:, 2])
                    for ends, true in zip(found, truth, strict=True)
                ]
                widths = [ends[1, 2] - ends[1, 1] for ends in found]
                held[name] = held.get(name, 0.0) + np.concatenate([*within, widths])
        for name, count in held.items():
            said = " ".join(f"{x / draws:.3f}" for x in count)
            lift, profit, wide = said.split()[:3], said.split()[3:6], said.split()[6:]
            print(
                f"  rates {rates}, {name}: lift {' '.join(lift)}; profit {' '.join(profit)} | "
                f"{' '.join(wide)}",
                flush=True,
            )


def _posteriors(x: Any, y: Any, noisy: Any, prices: RowCosts, rates: Any) -> Any:
    """Yield fits to noisy rows with posteriors that take more and more for granted."""
    models = {"default": FlipCostClassifier(features="linear", random_state=0)}
    if rates[0] == rates[1]:
        models["symmetric"] = clone(models["default"]).set_params(noise_model="symmetric")
    both = noisy[:200].astype(int), y[:200].astype(int)
    checked = rate_from_trusted(*both, class_conditional=rates[0] != rates[1])
    models["200 checked"] = clone(models["default"]).set_params(noise_rate=checked)
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(x, noisy, prices=prices)
        posterior = model.rate_posterior_
        yield name, model, posterior
        if name == "default":
            yield "posterior alone", model, RatePosterior(posterior.rates, posterior.weight)


def _brings(model: Any, x: Any, y: Any, prices: RowCosts, depths: list[float]) -> list[np.ndarray]:
    """Return clean lift and profit of calling rows in the order that a model gives them."""
    order = np.argsort(-prices.gain(model.predict_proba(x)[:, 1]), kind="stable")
    saved = prices.paid(y, np.zeros(len(y), bool)) - prices.paid(y, np.ones(len(y), bool))
    place = [round(depth * len(y)) for depth in depths]
    found, money = (np.cumsum(v[order])[np.array(place) - 1] for v in (y, saved))
    return [found / y.sum() / depths, money / len(y)]


def _rows(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, RowCosts]:
    """Draw two columns, clean labels and prices that follow the first."""
    x = rng.normal(size=(size, 2))
    eta = 1 / (1 + np.exp(1 - 1.5 * x[:, 0] - x[:, 1]))
    fn = 20 * np.exp(0.5 * x[:, 0] + 0.5 * rng.normal(size=size))
    return x, rng.random(size) < eta, RowCosts(fn, np.full(size, 5.0))


def _draw(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, RowCosts]:
    x = rng.normal(size=size)
    eta = 1 / (1 + np.exp(1 - 1.5 * x))
    prices = RowCosts(np.exp(0.5 * x + 0.5 * rng.normal(size=size)) * 20, np.full(size, 5.0))
    return rng.random(size) < eta, eta, prices


def main() -> None:
    """Print savings and coverage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=3, help="splits of each table")
    parser.add_argument("--first", type=int, default=0, help="seed of the first split")
    parser.add_argument("--no-savings", action="store_true", help="print coverage only")
    parser.add_argument("--no-coverage", action="store_true", help="print savings only")
    parser.add_argument("--draws", type=int, default=500, help="draws of the coverage")
    options, _ = parser.parse_known_args()
    if not options.no_savings:
        savings(options.trials, options.first)
    if not options.no_coverage:
        coverage(options.draws)
        coverage_unknown(options.draws)


if __name__ == "__main__":
    main()
