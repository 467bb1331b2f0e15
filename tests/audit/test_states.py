"""What an audit says first depends on what can be said: one table for each state."""

import json
import re

import numpy as np
import pyarrow.csv as pc
import pytest

from flipcost.audit import audit
from flipcost.cli import main
from flipcost.report.headline import headline
from flipcost.report.payload import assumed_rates
from flipcost.report.render import render_report
from flipcost.words import on_screen
from tests.audit.helpers import PRICES
from tests.report.cases import CASES, audited

STATES = {
    "clean": "clean",
    "no_signal": "no_signal",
    "noisy": "noisy",
    "too_few_rows": "small",
    "uncertain": "undecided",
}


@pytest.fixture(params=STATES)
def name(request):
    return request.param


@pytest.fixture
def result(name):
    return audited(name)


def test_the_state_decides_the_first_sentence(name, result):
    """Report and summary name the same state first, and the page shows all three sentences."""
    assert result.state == STATES[name] == result.summary()["state"] == headline(result).kind
    html = render_report(result).replace("\xa0", " ")
    for line in headline(result).lines:
        assert line in html


def test_the_command_says_the_same(name, result, tmp_path, capsys):
    """The screen has the three sentences, and summary.json state, models and bounds."""
    make, _, options = CASES[name]
    pc.write_csv(make(), tmp_path / "a.csv")
    args = ["audit", str(tmp_path / "a.csv"), "--target", "ill", "--cost-fn", "4"]
    args += ["--cost-fp", "1", "--out", str(tmp_path / "out")]
    for option, value in options.items():
        args += [f"--{option}", value]
    assert main(args) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert on_screen(" ".join(headline(result).lines[:2])) in screen
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    expected = json.loads(json.dumps(result.summary()))
    for key in ("state", "wrong_share", "noise_models", "noise_bounds", "noise_rate"):
        assert summary[key] == expected[key]
    assert sum(summary["noise_models"].values()) == pytest.approx(1.0)


def test_expected_costs_suppose_random_errors(name, result):
    """Unless rows were checked, or nothing can be said; the wide interval holds the narrow one."""
    ours = result.best
    if name in ("no_signal", "too_few_rows"):
        assert ours.cost_if_random.value == pytest.approx(ours.observed.value)
    elif result.n_checked:
        assert ours.cost_if_random == ours.clean
    else:
        assert ours.cost_if_random.high - ours.cost_if_random.low < ours.clean.high - ours.clean.low
        assert ours.cost_if_random.high <= ours.clean.high + 1e-12


def test_a_known_prevalence_counts():
    """Told the share of positives, the range of the error rate is not the same."""
    told = audit(CASES["uncertain"][0](), "ill", PRICES, prevalence=(0.3, 0.6))
    assert told.wrong_share != audited("uncertain").wrong_share


def test_nothing_impossible_is_found(result):
    """No figure outside its interval, none above all or below nothing."""
    summary = result.summary()
    dearest = max(PRICES.fn, PRICES.fp)
    for candidate in summary["candidates"]:
        for name in ("cost_observed", "cost_clean"):
            found = candidate[name]
            assert 0 <= found["low"] <= found["value"] <= found["high"] <= dearest
        saved = candidate["saving_of_chosen"]
        assert -dearest <= saved["low"] <= saved["value"] <= saved["high"] <= dearest
    shares = [summary["wrong_share"], *list(summary["noise_rate"].values())[1:3]]
    shares += [
        *summary["confusion"]["observed"].values(),
        *summary["confusion"]["denoised"].values(),
    ]
    for found in shares:
        assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1
    found = summary["information"]
    assert max(found["second_labels_needed"], found["trusted_labels_needed"]) <= result.n_rows


def test_no_label_is_listed_that_is_hardly_wrong(name, result):
    """Suspects are suspicious; where labels look clean, or nothing is known, more likely so."""
    least = 0.5 if name in ("clean", "no_signal", "too_few_rows") else 0.01
    assert all(suspect.wrong > least for suspect in result.suspects)
    assert not (name == "no_signal" and result.suspects)


def test_the_sliders_end_where_rates_become_impossible(result):
    """Every rate that can be assumed leaves both classes, and is one that bounds or data allow."""
    about = assumed_rates(result)
    share = result.n_positive / result.n_rows
    for rate, most, bound in zip(
        about["value"], about["most"], np.ravel(result.noise_bounds.high), strict=True
    ):
        assert rate <= most
        assert most <= max(bound, rate, 0.003)
    assert about["most"][0] < 1 - share
    assert about["most"][1] < share
    assert about["value"] == pytest.approx(list(result.noise_rate), abs=1e-6)
    assert about["most"][0] < about["axis"]


def test_every_state_has_its_picture(name, result):
    """The range bar is drawn for the state, and says in words what it shows."""
    page = render_report(result)
    drawn = re.search(r'<svg class="state".*?</svg>', page, re.DOTALL)[0]
    wanted = {"no_signal": "unknown", "too_few_rows": "lack"}.get(name, STATES[name])
    assert f'class="{wanted}"' in drawn
    words = re.search('aria-label="([^"]*)"', drawn)[1]
    assert words.startswith(("Error rate", "14 rows labelled"))
    assert f'<header class="hero {STATES[name]}">' in page
