"""A result in a notebook, as Markdown, as data and as frames; a fitted classifier in a notebook."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn

from flipcost import FlipCostClassifier
from flipcost.audit import audit
from flipcost.exceptions import FlipCostError
from flipcost.report.headline import headline
from tests.audit.helpers import PRICES, noisy_table

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def result():
    table = noisy_table(500, **{NASTY: np.random.default_rng(0).normal(size=500)})
    return audit(table, "ill", PRICES, drop=["truth"], name=f"a|{NASTY}", model="linear")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.5
    return FlipCostClassifier(0.3, features="linear").fit(rng.normal(size=(300, 2)) + y[:, None], y)


def test_the_repr_is_one_line(result):
    """A line that says what was found and where there is more."""
    assert re.fullmatch(r"<Findings of .*: 500 rows, labels \w+; .* costs .*>", repr(result))
    assert len(repr(result)) < 200


def test_a_notebook_shows_it_isolated(result):
    """The answer stands in a shadow root, beside plain text for pages without scripts."""
    html = result._repr_html_()
    assert "attachShadow" in html
    assert headline(result).estimate in html
    assert NASTY not in html
    assert html.count("<script>") == 1
    first, second = (re.search(r'id="(flipcost-[\d-]+)"', result._repr_html_())[1] for _ in "ab")
    assert first != second


def test_the_whole_page_can_be_had(result):
    """`to_html` is the report."""
    assert result.to_html().startswith("<!doctype html>")


def test_markdown_has_the_answers_and_no_markup_of_the_data(result):
    """The first sentence, the questions and the table; text from data is text."""
    text = result.to_markdown()
    assert text.startswith("# Audit of a\\|\\<script\\>alert(1)")
    for heading in ("Cost by model", "Label errors", "Method"):
        assert f"## {heading}" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(result.candidates)
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_data_are_those_of_the_summary(result):
    """`to_dict` is what summary.json holds."""
    assert result.to_dict() == result.summary()


@pytest.mark.parametrize(("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_frames(result, backend, kind):
    """Suspects and candidates come as frames of the kind that is asked for."""
    suspects, candidates = result.suspects_frame(backend), result.candidates_frame(backend)
    assert isinstance(suspects, kind)
    assert list(suspects["row"]) == [s.row for s in result.suspects]
    assert list(candidates["key"]) == [c.key for c in result.candidates]
    cost = 1000 * result.unit * result.best.cost_if_random.value
    assert next(iter(candidates["cost"])) == pytest.approx(cost)
    assert next(iter(candidates["saved"])) == 0


def test_frames_of_an_unknown_kind_are_refused(result):
    """The kinds that there are are named."""
    with pytest.raises(FlipCostError, match="must be one of pandas, polars, pyarrow"):
        result.suspects_frame("excel")


def test_a_fitted_classifier_shows_its_summary(fitted):
    """The summary stands above scikit-learn's diagram, in both ways that notebooks ask."""
    html = fitted._repr_html_()
    assert "attachShadow" in html
    assert "FlipCostClassifier on 300 rows" in html
    assert "sk-top-container" in html
    assert "FlipCostClassifier on 300 rows" in fitted._repr_mimebundle_()["text/html"]


def test_scikit_learn_decides_whether_there_is_html(fitted):
    """Not fitted, the diagram alone; with display="text" nothing but text."""
    assert "attachShadow" not in FlipCostClassifier()._repr_html_()
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert list(fitted._repr_mimebundle_()) == ["text/plain"]
