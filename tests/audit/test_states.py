"""What an audit says first depends on what can be said: one table for each state."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

from flipcost.audit import audit
from flipcost.cli import main
from flipcost.report import answers, found_words, headline, render_report
from flipcost.report._numbers import amounts, scale_of
from flipcost.report._payload import assumed_rates
from flipcost.report._state import next_step
from tests.audit.helpers import PRICES, noisy_table

WORDS = np.array(["no", "yes"], dtype=object)


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


def _undecided():
    return noisy_table(800, rate=(0.5, 0.0)).drop_columns("truth")


TABLES = {
    "clean": (_clean, {}),
    "no_signal": (_no_signal, {}),
    "noisy": (_checked, {"trusted": "right"}),
    "small": (_small, {}),
    "undecided": (_undecided, {}),
}
FIRST = {
    "clean": "The labels look right (",
    "no_signal": "The columns say nothing about 'ill'",
    "noisy": "About ",
    "small": "Only 14 rows are labelled 'yes'",
    "undecided": ("Between ", "Anything up to "),
}


@pytest.fixture(scope="module", params=TABLES)
def state(request):
    return request.param


@pytest.fixture(scope="module")
def result(state):
    make, options = TABLES[state]
    return audit(make(), "ill", PRICES, **options)


def test_the_state_decides_the_first_sentence(state, result):
    """Screen, report and summary name the same state first."""
    assert result.state == state == result.summary()["state"]
    assert headline(result).startswith(FIRST[state])
    html = render_report(result).replace("\u00a0", " ")
    first = re.search(r'<p class="headline">(.*?)</p>', html, re.DOTALL)[1]
    assert first.replace("&#39;", "'") == headline(result)


def test_the_command_says_the_same(state, result, tmp_path, capsys):
    """The screen begins with the sentence, and summary.json has state, models and bounds."""
    make, options = TABLES[state]
    pc.write_csv(make(), tmp_path / "a.csv")
    args = ["audit", str(tmp_path / "a.csv"), "--target", "ill", "--cost-fn", "4"]
    args += ["--cost-fp", "1", "--out", str(tmp_path / "out")]
    for name, value in options.items():
        args += [f"--{name}", value]
    assert main(args) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert " ".join(headline(result).split()) in screen
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    expected = json.loads(json.dumps(result.summary()))
    for key in ("state", "wrong_share", "noise_models", "noise_bounds", "noise_rate"):
        assert summary[key] == expected[key]
    assert sum(summary["noise_models"].values()) == pytest.approx(1.0)


def test_the_first_sentence_is_one_and_says_it_all(state, result):
    """What holds, what to use, what that saves with its interval, and one next step."""
    said = headline(result)
    assert said.count(". ") == 0
    assert said.endswith(".")
    labels, _, rest = said.partition(": ")
    use, _, then = rest.partition("; next, ")
    assert labels
    assert then
    assert re.match("(the safe choice is|use|answer|until there are more)", use)
    # A saving, or that it costs about as much; see `saving_words`.
    ends = r"[\d,.]+(?: more| less)? to [\d,.]+(?: more| less)?\)"
    money = rf"per 1,000 rows (?:against .*|)\(.*{ends}|about as much as .* \(per 1,000 rows {ends}"
    assert (re.search(money, use) is None) == (state == "small")


def test_the_next_step_suits_the_state(state, result):
    """Labels that look right are not sent to be checked; others are asked for what is missing."""
    wanted = {
        "clean": "put it to use",
        "no_signal": "look for columns that tell the two labels apart",
        "small": "label more rows until some hundreds, 20 at the least, are 'yes'",
        "undecided": "check 100 rows, which decides",
    }
    if state in wanted:
        assert next_step(result) == wanted[state]
    else:
        assert re.match(r"(check 100 more rows|mend the \d+ most)", next_step(result))


def test_what_the_first_figures_suppose_is_said(state, result):
    """Where labels look right the wide interval comes second, with what it would take."""
    ours = result.best
    assert ours.clean.low <= ours.likely.low <= ours.likely.value
    assert ours.likely.value <= ours.likely.high <= ours.clean.high
    said = dict(answers(result))["What do mistakes cost?"]
    if state == "clean":
        assert ours.likely.high - ours.likely.low < 0.5 * (ours.clean.high - ours.clean.low)
        assert "Intervals hold if mistakes do not follow the columns." in said
        worst = f"would make it {amounts(scale_of(result) * ours.clean.high)[0]}."
        assert worst in said
        assert worst in render_report(result)
    elif state in ("no_signal", "small"):
        assert ours.likely.value == pytest.approx(ours.observed.value)
        assert "by the labels as they are" in said
    else:
        assert ours.likely == ours.clean


def test_checks_are_compared_by_what_they_save(state, result):
    """Rows that are picked save at least what random ones do, and no more than is paid."""
    found = result.information.checks
    if state in ("no_signal", "small"):
        assert found is None
        return
    assert found.n_rows == 100
    for saving in (found.picked, found.random, found.suspects):
        assert 0 <= saving.low <= saving.value <= saving.high
        assert saving.value <= result.best.clean.high
    assert found.picked.value > 0.8 * found.random.value
    assert "at random would save" in dict(answers(result))["What would help most?"]


def test_a_known_share_of_positives_is_asked_for_once(state, result):
    """Where the table cannot tell and nobody checked, until it was told."""
    asked = "`prevalence`" in dict(answers(result))["What would help most?"]
    assert asked == (state == "undecided" and not result.n_checked)
    if asked:
        told = audit(TABLES[state][0](), "ill", PRICES, prevalence=(0.3, 0.6))
        assert "`prevalence`" not in dict(answers(told))["What would help most?"]


def test_every_screen_states_what_was_assumed(result):
    """What is said of how this was found names each model that counts, with its weight."""
    said = dict(found_words(result))["Noise models"]
    assert "Assumed, each with its weight: " in said
    assert len(re.findall(r"\d %", said.partition("weight: ")[2])) == sum(
        weight > 0.005 for weight in result.noise_models.values()
    )


def test_nothing_impossible_is_said(result):
    """No "0 % to 0 %", no figure outside its interval, none above all or below nothing."""
    text = " ".join([headline(result), *(answer for _, answer in answers(result))])
    assert "0 % to 0 %" not in text
    assert "nan" not in text
    assert "well enough" not in text
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


def test_no_more_rows_are_asked_for_than_there_are(result):
    """Advice, and the figures that it rests on, stay within the table."""
    found = result.summary()["information"]
    assert found["second_labels_needed"] <= result.n_rows
    assert found["trusted_labels_needed"] <= result.n_rows
    text = " ".join([headline(result), *(answer for _, answer in answers(result))])
    for rows in re.findall(r"([\d,]+) (?:more )?rows", text):
        assert int(rows.replace(",", "")) <= max(result.n_rows, 1000)


def test_no_label_is_listed_that_is_hardly_wrong(state, result):
    """Suspects are suspicious; where labels look right, or nobody can tell, more likely so."""
    least = 0.5 if state in ("clean", "no_signal", "small") else 0.01
    assert all(suspect.wrong > least for suspect in result.suspects)
    if state == "no_signal":
        assert not result.suspects
        assert "Nobody can tell" in dict(answers(result))["Which labels look wrong?"]


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


def test_every_state_has_its_picture(state, result):
    """The strip above the figures is drawn for the state, and says in words what it shows."""
    page = render_report(result).replace("\u00a0", " ")
    drawn = re.search(r'<svg class="state".*?</svg>', page, re.DOTALL)[0]
    wanted = {"no_signal": "unknown", "small": "lack"}.get(state, state)
    assert f'class="{wanted}"' in drawn
    words = re.search('aria-label="([^"]*)"', drawn)[1]
    assert words.startswith(("Share of wrong labels: ", "14 rows labelled"))
    assert f'<header class="hero {state}">' in page


def test_checked_rows_are_named_where_there_are_any(state, result):
    """With checked rows the band is measured, and the sentence says so."""
    measured = "measured on" in headline(result)
    assert measured == (state == "noisy") == bool(result.n_checked)
    if measured:
        assert result.wrong_share.low < 0.25 < result.wrong_share.high
