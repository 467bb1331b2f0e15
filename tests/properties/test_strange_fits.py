"""Strange fits: whatever goes in, nothing comes out that cannot be."""

import json
import warnings

import numpy as np
import polars as pl
import pytest

from flipcost import Costs, FlipCostClassifier
from flipcost.audit import audit
from flipcost.exceptions import FlipCostError


def strange_rows(rng):
    """Rows of odd sizes, scales and kinds, with labels that may have nothing to do with them."""
    n = int(rng.choice([12, 30, 80, 200]))
    d = int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-12, 12, d)
    kind = rng.integers(6)
    if kind == 0:
        X = X.round(0)
    elif kind == 1:
        X[:, 0] = 0.0
    elif kind == 2:
        X = np.repeat(X[: max(n // 5, 3)], 5, axis=0)[:n]
    elif kind == 3:
        X[rng.random(X.shape) < 0.3] = np.nan
    elif kind == 4:
        X[0] *= 1e6
    told = X[: len(X), 0] > np.nanmedian(X[:, 0])
    y = told if rng.random() < 0.4 else rng.random(len(X)) < rng.uniform(0.05, 0.95)
    y = y ^ (rng.random(len(X)) < rng.choice([0.0, 0.2, 0.5]))
    y[:4] = [True, False, True, False]
    return X, y


def strange_options(rng, n):
    rate = rng.choice(["integrate", "minimax", "number", "pair"])
    if rate == "number":
        rate = float(rng.choice([0.0, 0.1, 0.45, 0.499]))
    elif rate == "pair":
        rate = tuple(rng.choice([(0.6, 0.39), (0.0, 0.9), (0.3, 0.0), (0.5, 0.499)]).tolist())
    options = {
        "cost": float(rng.choice([1e-9, 0.01, 0.2, 0.5, 0.99])),
        "noise_rate": rate,
        "noise_model": str(rng.choice(["auto", "symmetric", "missed_positives"])),
        "level": float(rng.choice([1e-9, 0.5, 0.95, 1 - 1e-9])),
        "features": str(rng.choice(["linear", "splines"])),
    }
    given = {}
    if rng.random() < 0.3:
        given["sample_weight"] = 10.0 ** rng.uniform(-3, 6) * rng.exponential(size=n)
    if rng.random() < 0.3:
        given["groups"] = rng.integers(0, max(n // 4, 3), n)
    elif rng.random() < 0.2:
        given["time"] = rng.normal(size=n)
    if rng.random() < 0.2:
        given["trusted"] = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), np.nan)
    return options, given


def inside(interval, least, most):
    value, low, high = interval.value, interval.low, interval.high
    rounding = 1e-12 * most
    assert least - rounding <= low <= value <= high <= most * (1 + 1e-9), interval


@pytest.mark.slow
def test_strange_fits_say_nothing_that_cannot_be():
    """Costs lie from none to the dearest mistake, shares in [0, 1], each inside its interval."""
    rng = np.random.default_rng(17)
    fitted = 0
    for _ in range(110):
        X, y = strange_rows(rng)
        options, given = strange_options(rng, len(y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                model = FlipCostClassifier(**options, random_state=0)
                model.fit(X, y.astype(float), **given)
            except ValueError:  # refused, in a sentence
                continue
        fitted += 1
        dearest = max(options["cost"], 1 - options["cost"])
        for cost in (model.rule_cost_, *model.constant_costs_.values()):
            inside(cost, 0.0, dearest)
        inside(model.wrong_share_, 0.0, 1.0)
        rates, limits = np.ravel(model.noise_rate_), np.reshape(model.noise_rate_interval_, (-1, 2))
        assert np.all((limits[:, 0] <= rates) & (rates <= limits[:, 1]))
        assert np.all((limits >= 0) & (limits <= 1))
        assert 0 <= model.value_of_information_ <= dearest
        assert 0 < model.n_effective_ <= len(y)
        probability = model.predict_proba(X)
        assert np.all((probability >= 0) & (probability <= 1))
        assert model.summary()
    assert fitted >= 75


@pytest.mark.parametrize("seed", range(6))
def test_strange_audits_write_strict_json(seed):
    """Summaries hold no number that JSON has not, and no cost that cannot be."""
    rng = np.random.default_rng(seed)
    n, prices = 120, Costs(fn=float(10 ** rng.uniform(-3, 6)), fp=1.0)
    X = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-9, 9, 2)
    frame = pl.DataFrame(X, schema=["a", "b"]).with_columns(
        y=rng.random(n) < rng.choice([0.15, 0.5]), w=10.0 ** rng.uniform(-2, 3, n)
    )
    more = [{}, {"noise_rate": 0.1}, {"sample_weight": "w"}][seed % 3]
    result = audit(frame if more.get("sample_weight") else frame.drop("w"), "y", prices,
                   model="linear", **more)  # fmt: skip
    text = json.dumps(result.summary(), allow_nan=False)
    most = max(prices.fn, prices.fp) * (1 + 1e-9)
    for candidate in json.loads(text)["candidates"]:
        for name in ("cost_observed", "cost_clean"):
            found = candidate[name]
            assert 0 <= found["low"] <= found["value"] <= found["high"] <= most


@pytest.mark.parametrize(
    ("X", "more", "words"),
    [
        (1e-200, {}, "Column 0 of `X` must not vanish"),
        (1e160, {}, "overflow"),
        (1.0, {"sample_weight": np.full(60, 1e-300)}, "must add up to between"),
        (1.0, {"sample_weight": np.full(60, 1e12)}, "must add up to between"),
        (1.0, {"sample_weight": np.full(60, 1e308)}, "must add up to between"),
        (1.0, {"l2s": []}, "at least one penalty"),
        (1.0, {"l2s": [-1.0]}, "none below 0"),
    ],
)
def test_numbers_that_cannot_be_computed_with_are_refused(X, more, words):
    """In one sentence, which says what to do."""
    rng = np.random.default_rng(0)
    rows, y = X * rng.normal(size=(60, 2)), np.arange(60) % 2
    options = {"l2s": more.pop("l2s")} if "l2s" in more else {}
    with pytest.raises(ValueError, match=words):
        FlipCostClassifier(features="linear", **options).fit(rows, y, **more)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("a", 1e-200, "Column 'a'.*vanish"),
        ("a", 1e200, "Column 'a' holds .*numbers beyond"),
        ("w", 1e-300, "Column 'w' must hold numbers of ordinary size"),
        ("w", 1e300, "Column 'w' must hold numbers of ordinary size"),
        ("w", 1e-6, "weights of column 'w'"),
        ("w", 1e11, "weights of column 'w'"),
    ],
)
def test_columns_that_cannot_be_computed_with_are_refused(column, values, words):
    """The same of a table, by the name of the column."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=60), "w": np.ones(60), "y": np.arange(60) % 2})
    frame = frame.with_columns(pl.col(column) * values)
    with pytest.raises(FlipCostError, match=words):
        audit(frame, "y", 0.2, sample_weight="w", model="linear")
