"""Fits on numbers that no one expects, from a seed: features, labels, weights, prices, rates."""

import traceback
import warnings
from pathlib import Path

import numpy as np

import flipcost as fc
from flipcost.exceptions import FlipCostError
from flipcost.metrics import denoised_cost
from flipcost.noise import rate_from_repeats, rate_from_trusted
from tests.fuzz.oracles import Fault

RATES = [
    "integrate", "integrate", "integrate", "minimax", "likelihood", "range", 0.0, 0.2, 0.4999, 0.5,
    -0.1, np.nan, (0.3, 0.1), (0.6, 0.39), (0.999, 0.0), (0.0, 0.0), (0.5, 0.5), (1e-300, 0.2),
]  # fmt: skip
COSTS = [
    0.5, 0.2, 0.9, 1e-9, 1 - 1e-9, 1e-300, 0.0, 1.0, np.nan, fc.Costs(fn=4000, fp=1000),
    fc.Costs(fn=1e-8, fp=1e-9), fc.Costs(fn=1e9, fp=1.0), fc.Costs(fn=5, fp=1, tp=1, tn=-1),
]  # fmt: skip
LEVELS = [0.95, 0.95, 0.95, 0.5, 0.999, 1e-9, 1 - 1e-12, 0.0, 1.0, np.nan]
L2S = [(0.01, 1.0), (0.01, 1.0), (1.0,), (), (0.0,), (1e-300,), (1e300,), (-1.0,), (np.nan, 1.0)]
MODELS = ["auto", "symmetric", "missed_positives", "wrong_negatives", "class_conditional"]


def _plain(rng, X):
    return X


def _of_any_size(rng, X):
    return X * 10.0 ** rng.integers(-170, 160, X.shape[1])


def _of_every_size(rng, X):
    return X * 10.0 ** rng.integers(-80, 80, X.shape)


def _with_one_huge(rng, X):
    X[int(rng.integers(len(X))), 0] = rng.choice([1e90, -1e153, 1e308, 1e16, np.inf])
    return X


def _far_away(rng, X):
    return X + 10.0 ** int(rng.integers(3, 20))


def _constant(rng, X):
    X[:, int(rng.integers(X.shape[1]))] = rng.choice([0.0, 7.0, 1e-310, -1e100])
    return X


def _repeated(rng, X):
    return np.column_stack([X, X[:, 0], -2 * X[:, 0] + 1e-13 * X[:, -1]])


def _with_gaps(rng, X):
    X[rng.random(X.shape) < rng.choice([0.05, 0.9])] = np.nan
    return X


def _few_values(rng, X):
    return np.round(X)


def _same_rows(rng, X):
    return X[rng.integers(0, max(1, len(X) // 10), len(X))]


FEATURES = [
    _plain, _plain, _plain, _of_any_size, _of_every_size, _with_one_huge, _far_away, _constant,
    _repeated, _with_gaps, _few_values, _same_rows,
]  # fmt: skip


def rows(rng):
    """Return features, labels and what the labels truly are."""
    n, d = int(rng.integers(12, 150)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    logits = X[:, 0] * rng.choice([0.0, 1.0, 5.0, 1e3]) + rng.choice([0.0, 0.0, -3.0])
    truth = rng.random(n) < 1 / (1 + np.exp(-np.clip(logits, -700, 700)))
    y = truth ^ (rng.random(n) < rng.choice([0.0, 0.0, 0.2, 0.5, 1.0]))
    with np.errstate(all="ignore"):
        for _ in range(int(rng.integers(1, 3))):
            X = FEATURES[int(rng.integers(len(FEATURES)))](rng, X)
    return X, y, truth


def weights(rng, n):
    """Return weights of rows, or None."""
    kind = int(rng.integers(0, 12))
    if kind < 6:
        return None
    if kind == 6:
        return rng.gamma(2.0, 1.0, n)
    if kind == 7:
        return np.full(n, 10.0 ** int(rng.integers(-320, 308)))
    if kind == 8:
        return 10.0 ** rng.integers(-300, 300, n)
    if kind == 9:
        return (rng.random(n) < 0.5).astype(float)
    if kind == 10:
        return np.where(np.arange(n) == 0, 10.0 ** int(rng.integers(3, 16)), 1.0)
    return rng.choice([0.0, 1.0, -1.0, np.nan], n, p=[0.2, 0.76, 0.02, 0.02])


def fit_numbers(rng):
    """Fit one estimator on made-up numbers; return "taken" or "refused", or raise `Fault`."""
    X, y, truth = rows(rng)
    which = int(rng.integers(0, 5))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            (_flipcost, _flipcost, _closed_form, _crossed, _rates)[which](rng, X, y, truth)
        except (FlipCostError, ValueError, TypeError) as error:
            check_refusal(error)
            return "refused"
    return "taken"


def check_refusal(error):
    """Check that an error was raised on purpose: by us, or by scikit-learn's checks."""
    frames = traceback.extract_tb(error.__traceback__)
    by = Path(frames[-1].filename).as_posix()
    ours = "/flipcost/" in by or "/sklearn/utils/" in by or "/sklearn/model_selection/" in by
    if isinstance(error, FlipCostError):
        ours = True
    if isinstance(error, np.linalg.LinAlgError) or not ours or "unpack" in str(error):
        raise Fault(f"a fault within: {error!r} at {by}:{frames[-1].lineno}") from error
    if len(str(error)) > 2000:
        raise Fault(f"a message of {len(str(error))} characters") from error


def check_interval(what, found, least, most):
    """Check an estimate and its limits."""
    value, low, high = found
    slack = 1e-9 * max(1.0, abs(most), abs(least))
    if not all(np.isfinite(found)):
        raise Fault(f"{what} is not finite: {found}")
    if not (least - slack <= low <= value + slack and value - slack <= high <= most + slack):
        raise Fault(f"impossible number: {what} {found}, can be {least} to {most}")


def _flipcost(rng, X, y, truth):
    n = len(X)
    given = {}
    if rng.random() < 0.25:
        given["trusted"] = [
            t if k else None for t, k in zip(truth, rng.random(n) < 0.3, strict=True)
        ]
    if rng.random() < 0.15:
        given["groups"] = rng.integers(0, max(1, int(n * rng.random())), n)
    if rng.random() < 0.15:
        given["time"] = rng.permutation(n) * 10.0 ** int(rng.integers(-300, 300))
    if rng.random() < 0.15:
        given["prices"] = rng.gamma(2.0, 1.0, (n, 2)) * 10.0 ** int(rng.integers(-12, 12))
    model = fc.FlipCostClassifier(
        cost=COSTS[int(rng.integers(len(COSTS)))] if rng.random() < 0.6 else 0.2,
        noise_rate=RATES[int(rng.integers(len(RATES)))],
        noise_model=str(rng.choice(MODELS)),
        features=str(rng.choice(["linear", "linear", "linear", "splines"])),
        l2s=L2S[int(rng.integers(len(L2S)))],
        level=LEVELS[int(rng.integers(len(LEVELS)))],
        random_state=0,
    )
    model.fit(X, y, sample_weight=weights(rng, n), **given)
    least, most = _dearest(model, given.get("prices"))
    costs = {"rule": model.rule_cost_, **model.constant_costs_}
    for name, found in costs.items():
        check_interval(name, (found.value, found.low, found.high), least, most)
    check_interval("cost", (model.cost_estimate_, *model.cost_interval_), least, most)
    wrong = model.wrong_share_
    check_interval("wrong share", (wrong.value, wrong.low, wrong.high), 0.0, 1.0)
    limits = np.reshape(model.noise_rate_interval_, (-1, 2))
    for value, (low, high) in zip(np.atleast_1d(model.noise_rate_), limits, strict=True):
        check_interval("rate", (value, low, high), 0.0, 1.0)
    _check_probability(model.oof_probability_)
    _check_probability(model.predict_proba(X))
    model.predict(X, **({} if "prices" not in given else {"prices": given["prices"]}))


def _dearest(model, prices):
    """Return the least and the most that a row can cost above its right decision."""
    if prices is not None:
        return 0.0, float(np.max(prices))
    if isinstance(model.cost, fc.Costs):
        return 0.0, max(model.cost.fn - model.cost.tp, model.cost.fp - model.cost.tn)
    return 0.0, max(model.cost, 1 - model.cost)


def _check_probability(found):
    found = np.asarray(found)
    found = found[~np.isnan(found)] if found.ndim == 1 else found  # rows that were not judged by
    if not (np.isfinite(found).all() and (found >= 0).all() and (found <= 1).all()):
        raise Fault("impossible number: a probability outside 0 to 1")


def _closed_form(rng, X, y, truth):
    rate = RATES[int(rng.integers(6, len(RATES)))]
    cost = COSTS[int(rng.integers(len(COSTS)))]
    margin = float(rng.choice([1.0, 0.5, 3.0, 1e-300, 1e300, 0.0, np.nan]))
    l2 = float(rng.choice([0.1, 1.0, 0.0, 1e-300, 1e300, -1.0]))
    model = fc.UnevenMarginClassifier(cost=cost, margin=margin, l2=l2, noise_rate=rate)
    model.fit(X, y, sample_weight=weights(rng, len(X)))
    if not (np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()):
        raise Fault("a coefficient is not finite")
    scores = model.decision_function(X)
    if not np.isfinite(scores).all():
        raise Fault("a score is not finite")
    _check_probability(model.predict_proba(X))


def _crossed(rng, X, y, truth):
    l2s = L2S[int(rng.integers(len(L2S)))]
    rates = RATES[6 : 6 + int(rng.integers(1, 4))]
    scoring = str(rng.choice(["accuracy", "am", "f", "cost"]))
    model = fc.UnevenMarginClassifierCV(
        costs=[0.2, 0.5], l2s=l2s, noise_rates=rates, scoring=scoring, cv=3
    )
    model.fit(X, y, sample_weight=weights(rng, len(X)))
    if not np.isfinite(model.decision_function(X)).all():
        raise Fault("a score is not finite")
    _check_probability(model.predict_proba(X))


def _rates(rng, X, y, truth):
    again = truth ^ (rng.random(len(y)) < rng.choice([0.0, 0.2, 0.5, 1.0]))
    rate = RATES[int(rng.integers(6, len(RATES)))]
    cost = float(rng.choice([0.2, 0.5, 1e-9, 1 - 1e-9, 0.0]))
    found = denoised_cost(y, again, cost, noise_rate=rate)
    most = len(y) * max(cost, 1 - cost)
    check_interval("cost", (found.value, found.low, found.high), 0.0, most)
    for estimate in (rate_from_repeats, rate_from_trusted):
        found = estimate(y, again)
        for each in zip(
            *(np.atleast_1d(v) for v in (found.value, found.low, found.high)), strict=True
        ):
            check_interval(estimate.__name__, each, 0.0, 1.0)
