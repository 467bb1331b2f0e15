"""Noise of two rates, and of a model that the labels choose, through audit, command and report."""

import json
import re

import numpy as np
import pyarrow.csv as pc
import pytest
from sklearn.base import clone

from flipcost.audit import audit, audit_files
from flipcost.cli import main
from flipcost.exceptions import FlipCostError
from flipcost.report.render import render_report
from flipcost.words import share_span
from tests.audit.helpers import PRICES, noisy_table

RATES = (0.35, 0.05)
MODELS = ("class_conditional", "auto")


@pytest.fixture(scope="module")
def table():
    return noisy_table(2500, rate=RATES).drop_columns("truth")


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "a.csv"
    pc.write_csv(table, path)
    return path


@pytest.fixture(scope="module")
def found(table, path):
    """Return the audit of a noise model, the rows in memory or in passes, made when asked for."""
    made = {}

    def result(model, source):
        if (model, source) not in made:
            run, rows = {"memory": (audit, table), "passes": (audit_files, path)}[source]
            made[model, source] = run(rows, "ill", PRICES, noise_model=model, name="a.csv")
        return made[model, source]

    return result


@pytest.fixture(scope="module", params=[(m, s) for m in MODELS for s in ("memory", "passes")])
def result(request, found):
    return found(*request.param)


def test_both_rates_are_covered(result):
    """The interval of each rate holds the rate at which labels of that class were flipped."""
    for rate, (low, high), true in zip(
        result.noise_rate, result.noise_interval, RATES, strict=True
    ):
        assert low <= rate <= high
        assert low <= true <= high


def test_the_summary_names_the_rate_of_each_class(result):
    """The rate of the positive class comes first, and none is said to stand for both."""
    found = result.summary()["noise_rate"]
    assert not found["symmetric"]
    for key, rate, (low, high) in zip(
        ("of_positives", "of_negatives"), result.noise_rate, result.noise_interval, strict=True
    ):
        assert found[key] == {"value": rate, "low": low, "high": high}


def test_denoised_cells_are_those_of_the_two_rates(result):
    """Denoised shares add up to one, and labels flipped again give the observed ones."""
    clean, seen = (result.cells(clean=clean)[..., 0] for clean in (True, False))
    assert clean.sum() == pytest.approx(1.0)
    of_positives, of_negatives = result.noise_rate
    flips = np.array([[1 - of_negatives, of_positives], [of_negatives, 1 - of_positives]])
    np.testing.assert_allclose(flips @ clean, seen, rtol=1e-9)


def test_the_report_tells_the_classes_apart(result):
    """Sentence and picture show two rates, in the order of their labels."""
    html = render_report(result).replace("\u00a0", " ")
    first, second = result.noise_rate
    said = [share_span(rate) for rate in result.errors.rates]
    assert re.search(f"{re.escape(said[0])} of true “yes”.*{re.escape(said[1])}", html)
    drawn = re.search(r'<svg id="posterior".*?</svg>', html, re.DOTALL)[0]
    assert [f"limits side{side}" in drawn for side in (0, 1)] == [True, True]
    assert "nan" not in drawn.lower()
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    about = json.loads(found[1])["rate"]
    assert not about["one"]
    assert about["value"] == pytest.approx([first, second])
    assert all(value <= most for value, most in zip(about["value"], about["most"], strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_the_audit_fits_what_the_classifier_fits(model, table, found):
    """Refitting the classifier on the same features gives the same rates, costs and choice."""
    result = found(model, "memory")
    columns, classifier = result.model[:-1], result.model[-1]
    labels = table["ill"].to_numpy(zero_copy_only=False).astype(str)
    again = clone(classifier).fit(columns.transform(table), labels)
    assert again.noise_model == model
    assert result.noise_rate == again.noise_rate_
    assert result.unit * result.best.clean.value == pytest.approx(again.cost_estimate_)
    assert result.chosen == again.chosen_


@pytest.mark.parametrize(
    ("model", "source", "share"), [("class_conditional", "passes", 0), ("auto", "memory", 1)]
)
def test_the_command_finds_what_the_library_finds(
    model, source, share, found, path, tmp_path, capsys
):
    """The same figures in summary.json as in the result, in memory and in passes."""
    args = ["audit", path, "--target", "ill", "--cost-fn", 4, "--cost-fp", 1, "--noise-model"]
    args += [model, "--memory-share", share, "--json", "--overwrite", "--out", tmp_path / "out"]
    assert main([str(arg) for arg in args]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(found(model, source).summary()))


def test_auto_keeps_one_rate_where_noise_is_even():
    """Labels flipped at one rate are explained by one, most of the weight being on equal pairs."""
    found = audit(noisy_table(2500), "ill", PRICES, drop=["truth"], noise_model="auto")
    rates, weight = found.posterior.rates, found.posterior.weight
    assert weight[rates[:, 0] == rates[:, 1]].sum() > 0.5
    for rate, (low, high) in zip(found.noise_rate, found.noise_interval, strict=True):
        assert low <= 0.25 <= high
        assert rate == pytest.approx(0.25, abs=0.1)


def test_what_is_known_of_the_rate_is_said_once(table):
    """An unknown noise model, and two sources of the rate, are refused before rows are read."""
    with pytest.raises(FlipCostError, match="`noise_model` must be one of auto, symmetric"):
        audit(table, "ill", PRICES, noise_model="odd")
    with pytest.raises(FlipCostError, match="one of `noise_rate` and `trusted`, not both"):
        audit_files("nowhere.csv", "ill", PRICES, noise_rate=0.2, trusted="checked")
