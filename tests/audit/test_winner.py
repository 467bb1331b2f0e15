"""The model that is saved is the cheapest one, and words follow the paired interval."""

import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import flipcost as fc
from flipcost.audit import audit
from flipcost.cli import main
from flipcost.core.clean_means import cost_sums, paired_saving
from flipcost.core.costs import RowCosts
from flipcost.core.error_rates import RatePosterior
from flipcost.estimators.flipcost.boosting import boosting_classifier
from flipcost.report.headline import headline
from flipcost.report.render import render_report
from flipcost.tables.pipelines import TableEncoder
from tests.audit.helpers import PRICES, noisy_table

WORDS = np.array(["no", "yes"], dtype=object)


def crossed(n=1500, seed=0):
    """Return a table whose label is which of two numbers is positive: nothing for a line."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 2))
    ill = (x[:, 0] * x[:, 1] > 0) ^ (rng.random(n) < 0.02)
    return pa.table({"a": x[:, 0], "b": x[:, 1], "ill": WORDS[ill.astype(int)]})


@pytest.fixture(scope="module")
def result():
    return audit(crossed(), "ill", PRICES, model="linear", noise_rate=0.02)


def test_a_clearly_cheaper_candidate_wins(result):
    """Where our scores are made to be lines, boosting wins, and the first sentence says so."""
    assert result.best.key == "boosting" == result.summary()["winner"]
    assert all(c.saving_if_random.value >= 0 for c in result.candidates)
    assert result.candidate("flipcost").saving_if_random.low > 0
    assert headline(result).use.startswith("Use boosting: at that rate it saves about ")
    assert '<tr class="best"><td data-head="">boosting</td>' in render_report(result)


def test_the_winner_is_what_is_saved(result, tmp_path):
    """The saved model calls rows as boosting does, at the cost, on rows that it has not seen."""
    fc.save(result, tmp_path / "model.json")
    model = fc.load(tmp_path / "model.json")
    fresh = crossed(2000, seed=1)
    x = np.column_stack([fresh["a"], fresh["b"]])
    flagged = model.predict(fresh) == "yes"
    assert np.mean(flagged == (x[:, 0] * x[:, 1] > 0)) > 0.9
    likely = model.predict_proba(fresh)[:, list(model.classes_).index("yes")]
    np.testing.assert_array_equal(flagged, likely > result.cost)


def test_predict_takes_the_winner(tmp_path, capsys):
    """`flipcost predict` scores new rows by whatever model won."""
    pc.write_csv(crossed(), tmp_path / "a.csv")
    args = ["audit", str(tmp_path / "a.csv"), "--target", "ill", "--cost-fn", "4", "--cost-fp", "1"]
    assert (
        main([*args, "--model", "linear", "--noise-rate", "0.02", "--out", str(tmp_path / "out")])
        == 0
    )
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["winner"] == "boosting"
    model, out = tmp_path / "out" / "model.json", tmp_path / "p.csv"
    assert main(["predict", str(model), str(tmp_path / "a.csv"), "--out", str(out)]) == 0
    assert "1,500 rows" in capsys.readouterr().out
    assert pc.read_csv(out).column_names[-1] == "probability_positive"


def test_a_tie_is_ours():
    """Where boosting is as good as ours, ours is saved."""
    result = audit(crossed(600), "ill", PRICES)
    assert result.best.key == "flipcost"
    assert result.candidate("boosting").saving_if_random.high >= 0


def test_first_intervals_cover_where_labels_are_right():
    """Of 400 tables without a wrong label, the intervals of cost and saving hold the truth."""
    rng = np.random.default_rng(3)
    rates = RatePosterior(np.array([[0.0, 0.0], [0.005, 0.005]]), np.array([0.97, 0.03]))
    cost, hits = 0.2, np.zeros(2)
    # Labels and two calls of a row: a law over eight cells, its truth known.
    law = rng.dirichlet(np.full(8, 2.0))
    label, ours, theirs = (np.arange(8) >> k & 1 for k in (2, 1, 0))
    paid = [np.where(label == 1, (1 - cost) * (c == 0), cost * (c == 1)) for c in (ours, theirs)]
    truth = law @ paid[0], law @ (paid[1] - paid[0])
    for _ in range(400):
        cell = rng.choice(8, size=600, p=law)
        y, a, b = (x[cell].astype(bool) for x in (label, ours, theirs))
        found = (
            cost_sums(y, a, RowCosts.of(cost)).mean(rates),
            paired_saving(y, a, b, RowCosts.of(cost), rates),
        )
        hits += [i.low <= t <= i.high for i, t in zip(found, truth, strict=True)]
    # 95 % less three standard errors of 400 draws.
    assert np.all(hits / 400 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400))


def test_the_rival_is_plain_boosting():
    """Of all rows, by scikit-learn."""
    table = noisy_table(600)
    found = audit(table, "ill", PRICES, drop=("truth",))
    y = np.array(table["ill"]) == "yes"
    X = TableEncoder(found.model[0].encoder).fit_transform(table)
    rival = boosting_classifier(np.zeros(X.shape[1], bool), 0).fit(X, y)
    flagged = rival.predict_proba(X)[:, 1] > PRICES.alpha
    assert np.array_equal(
        found.candidate("boosting").predict(SimpleNamespace(X=X), RowCosts.of(PRICES)), flagged
    )
