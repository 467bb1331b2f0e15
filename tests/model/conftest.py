"""Models of every kind, and rows with all that may be odd in them."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from flipcost import (
    Costs,
    FlipCostClassifier,
    NoiseAwareThresholdClassifier,
    UnevenMarginClassifier,
    UnevenMarginClassifierCV,
)
from flipcost.model.convert import formula_of
from flipcost.tables.encoder import Encoder
from flipcost.tables.pipelines import PlainColumns, TableEncoder

# Columns that no model learns from.
OTHERS = ("key", "the price")
PRICES = Costs(fn="max(2, 0.8*`the price` - 1) / 1.5", fp=3, tn="abs(-1)")
TOWNS = np.array(["Lyon", "Paris", "O'Brien\\ville", "", 'say "hi"', "Oslo"], dtype=object)


def make_rows(n, seed):
    """Rows of numbers, yes and no, categories and dates, some of each missing."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n))
    missing = rng.random((5, n)) < 0.1
    days = rng.integers(0, 900, size=n)
    when = [dt.date(2022, 1, 1) + dt.timedelta(days=int(d)) for d in days]
    written = [day.strftime("%d/%m/%Y") for day in when]
    town = TOWNS[rng.choice(6, size=n, p=[0.4, 0.3, 0.15, 0.05, 0.09, 0.01])]
    smokes = np.where(rng.random(n) < 0.4, "yes", "No")
    rare = np.where(rng.random(n) < 0.005, "rare", np.where(x > 0, "a", "b"))

    def gaps(values, k):
        return [None if gone else v for v, gone in zip(values, missing[k], strict=True)]

    table = pa.table(
        {
            "key": pa.array(np.arange(n)),
            "the price": pa.array(5 * np.exp(y)),
            "an Amount": pa.array(gaps((1000 + 30 * x).tolist(), 0)),
            "ratio": pa.array(y),
            "visits": pa.array(gaps(rng.integers(0, 9, size=n).tolist(), 1), pa.int64()),
            "smokes": pa.array(gaps(smokes.tolist(), 2)),
            "town": pa.array(gaps(town.tolist(), 3)),
            "kind": pa.array(rare.tolist()),
            "seen": pa.array(gaps(when, 4), pa.date32()),
            "written": pa.array(written),
        }
    )
    bend = np.abs(y) + 0.5 * x + (town == "Paris") + (smokes == "yes") * x * y
    return table, np.where(bend + rng.normal(size=n) * 0.5 > 1, "bad", "good")


@pytest.fixture(scope="session")
def train():
    return make_rows(600, 0)


@pytest.fixture(scope="session")
def fresh():
    """Return new rows: levels that were never seen, and gaps where there were none."""
    table, _ = make_rows(300, 1)
    town, kind = table["town"].to_pylist(), table["kind"].to_pylist()
    ratio = table["ratio"].to_pylist()
    town[:5], kind[5:10] = ["Atlantis"] * 5, ["unheard of"] * 5
    kind[10:14], ratio[14:18], ratio[18] = [None] * 4, [None] * 4, float("nan")
    for name, values in {"town": town, "kind": kind, "ratio": ratio}.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return table


def make_pipeline(table, labels, classifier):
    """Return the pipeline that an audit saves."""
    names = [name for name in table.column_names if name not in OTHERS]
    encoder = Encoder.learn(table, columns=names)
    is_own = isinstance(classifier, FlipCostClassifier)  # it has an encoder of its own
    first = PlainColumns(encoder) if is_own else TableEncoder(encoder)
    return Pipeline([("columns", first), ("model", classifier)]).fit(table, labels)


def _threshold(estimator, pos_label):
    return NoiseAwareThresholdClassifier(estimator, cost=0.3, pos_label=pos_label)


CLASSIFIERS = {
    "linear": lambda: FlipCostClassifier(0.3, features="linear", pos_label="bad", random_state=0),
    "splines": lambda: FlipCostClassifier(0.3, features="splines", pos_label="bad", random_state=0),
    "auto": lambda: FlipCostClassifier(0.3, pos_label="bad", random_state=0),
    "closed form": lambda: UnevenMarginClassifier(0.3, 0.8, l2=0.1, pos_label="bad"),
    "closed form, tuned": lambda: UnevenMarginClassifierCV(pos_label="good", cv=3),
    "logistic regression": lambda: _threshold(LogisticRegression(), "bad"),
    "boosting": lambda: _threshold(HistGradientBoostingClassifier(max_iter=20), "good"),
}


def in_frame(table, *, priced=False):
    """Return the columns that models of frames learn from."""
    return table.drop_columns(["key"] if priced else list(OTHERS)).to_pandas()


# Of frames with categories, without the steps of an audit; the last ones with costs by row.
FRAMES = {
    "frame": lambda: FlipCostClassifier(0.3, pos_label="bad", random_state=0),
    "frame, priced": lambda: FlipCostClassifier(PRICES, pos_label="bad", random_state=0),
}


@pytest.fixture(scope="session", params=[*CLASSIFIERS, *FRAMES])
def model(request, train):
    if request.param in CLASSIFIERS:
        return make_pipeline(*train, CLASSIFIERS[request.param]())
    rows = in_frame(train[0], priced="priced" in request.param)
    return FRAMES[request.param]().fit(rows, train[1])


@pytest.fixture(scope="session")
def expected_of():
    """Return what the library says: the probability of the positive label, and predictions."""

    def found(model, table):
        if not isinstance(model, Pipeline):
            table = in_frame(table, priced=isinstance(model.cost, Costs))
        place = list(model.classes_).index(formula_of(model).pos_label)
        return model.predict_proba(table)[:, place], model.predict(table)

    return found
