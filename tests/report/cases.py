"""One small audit for each state of the labels, and for each thing that can be asked."""

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from flipcost.audit import audit
from flipcost.core.costs import Costs
from tests.audit.helpers import PRICES, noisy_table

WORDS = np.array(["no", "yes"], dtype=object)
LONG = "a column with a very long name that somebody exported from a warehouse_v2_final"


def _clean():
    """Return a table whose columns tell nearly every label, none of which is wrong."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(3000, 3))
    ill = rng.random(3000) < 1 / (1 + np.exp(-8 * (x[:, 0] + x[:, 1])))
    return pa.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "ill": WORDS[ill.astype(int)]})


def _no_signal():
    rng = np.random.default_rng(12)
    x, ill = rng.normal(size=(4000, 2)), rng.random(4000) < 0.3
    return pa.table({"a": x[:, 0], "b": x[:, 1], "ill": WORDS[ill.astype(int)]})


def _checked():
    """Return 4,000 rows with a quarter of the labels flipped, and 200 checked."""
    table = noisy_table(4000)
    right = table["truth"].to_numpy(zero_copy_only=False)
    known = np.random.default_rng(13).random(4000) < 0.05
    return table.drop_columns("truth").append_column(
        "right", pa.array(np.where(known, right, None).tolist())
    )


def _small():
    rng = np.random.default_rng(14)
    ill = np.arange(120) < 14
    return pa.table({"a": rng.normal(size=120) + 2 * ill, "ill": WORDS[ill.astype(int)]})


def _uncertain():
    return noisy_table(500, rate=(0.4, 0.0)).drop_columns("truth")


def _too_good():
    table = _uncertain()
    paid = [1.0 if word == "yes" else 0.0 for word in table["ill"].to_pylist()]
    return table.append_column("paid_out", pa.array(paid))


def _tie():
    """Return a table of one straight line, on which all models decide nearly alike."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1200, 2))
    ill = rng.random(1200) < 1 / (1 + np.exp(-1.5 * x[:, 0]))
    return pa.table({"a": x[:, 0], "b": x[:, 1], "ill": WORDS[ill.astype(int)]})


def _by_row():
    """Return a table with costs by row, text, missing values and a long name."""
    rng = np.random.default_rng(21)
    n = 900
    amount = rng.lognormal(9, 1, n)
    late = rng.random(n) < 1 / (1 + np.exp(-2 * (np.log(amount) - 9)))
    late ^= rng.random(n) < 0.1
    months = [None if missing else 12.0 for missing in rng.random(n) < 0.2]
    level = rng.choice(["<b>x</b>", "a level that has a very long text in it"], n)
    return pa.table(
        {"amount": amount, "months": months, LONG: level, "loss": 60 * amount, "ill": late}
    )


def _annotators():
    """Return a row for each of three labels of 600 claims, by six annotators."""
    rng = np.random.default_rng(31)
    x = rng.normal(size=(600, 2))
    ill = rng.random(600) < 1 / (1 + np.exp(1 - 3 * x[:, 0]))
    item = np.repeat(np.arange(600), 3)
    who = np.concatenate([rng.choice(6, 3, replace=False) for _ in range(600)])
    label = ill[item] ^ (rng.random(1800) < np.linspace(0.05, 0.3, 6)[who])
    columns = {"claim": item, "who": who + 1, "a": x[item, 0], "b": x[item, 1]}
    return pa.table(columns | {"ill": WORDS[label.astype(int)]})


def _scores():
    """Return noisy labels with out-of-fold probabilities of a model that ignores the noise."""
    table = noisy_table(1500, rate=0.2)
    x = np.column_stack([table[f"x{j}"] for j in range(3)])
    p = cross_val_predict(
        LogisticRegression(), x, table["ill"].to_pylist(), cv=5, method="predict_proba"
    )
    return table.append_column("p", pa.array(p[:, 1])).drop_columns("truth")


# What is audited, at which costs, how.
CASES = {
    "clean": (_clean, PRICES, {}),
    "noisy": (_checked, PRICES, {"trusted": "right"}),
    "uncertain": (_uncertain, PRICES, {}),
    "no_signal": (_no_signal, PRICES, {}),
    "too_few_rows": (_small, PRICES, {}),
    "rate_given": (_uncertain, PRICES, {"noise_rate": (0.4, 0.05)}),
    "tie": (_tie, Costs(fn=1, fp=1), {"model": "linear"}),
    "too_good_to_be_true": (_too_good, PRICES, {}),
    "costs_by_row": (_by_row, Costs(fn="loss", fp=40_000.0), {}),
    "annotators": (_annotators, PRICES, {"worker": "who", "item": "claim"}),
    "scores": (_scores, PRICES, {"score": "p", "score_kind": "probability"}),
    "capacity_and_segments": (
        lambda: _by_row().rename_columns(["amount", "months", "level", "loss", "ill"]),
        Costs(fn=5, fp=1),
        {"by": "level", "capacity": "10%", "drop": ["loss"], "cost_check": 2.0},
    ),
}


@cache
def audited(name):
    """Return the audit of a case, once."""
    make, costs, options = CASES[name]
    result = audit(make(), "ill", costs, name=f"{name}.csv", **options)
    return replace(result, batch_file=None if result.recheck.batch is None else "recheck.csv")
