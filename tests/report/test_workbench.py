"""The workbench in a real browser: from the keyboard to a finished second audit."""

import csv
import time

import numpy as np
import pyarrow as pa
import pytest

from flipcost.audit import audit
from flipcost.core.costs import Costs
from flipcost.recheck import read_checked, rows_as_text
from flipcost.report.render import render_report
from flipcost.report.sections import make_check, make_history
from tests.audit.helpers import noisy_table
from tests.report.test_browser import browser, open_page  # noqa: F401 - a fixture

NASTY = '=1+1 "<b>quoted</b>",\nbroken'
N_ROWS = 500


@pytest.fixture(scope="module")
def table():
    made = noisy_table(N_ROWS, seed=3, rate=(0.3, 0.1))
    note = [NASTY if k % 3 else "plain" for k in range(N_ROWS)]
    names = [f"={k}" if k % 2 else f"r{k}" for k in range(N_ROWS)]
    return made.append_column("note", pa.array(note)).append_column("name", pa.array(names))


@pytest.fixture(scope="module")
def result(table):
    hidden = table.drop_columns("truth")
    return audit(hidden, "ill", Costs(fn=3, fp=2), id="name", model="linear")


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "report.html"
    path.write_text(render_report(result), encoding="utf-8")
    return path


def test_the_page_holds_the_rows_as_the_file_does(result):
    """Header and cells are those of recheck.csv, the answer empty; suspects come after."""
    made = make_check(result)
    batch = result.recheck.batch
    text = rows_as_text(batch.rows, batch.columns)
    lines = list(csv.reader(text.splitlines(keepends=True)))
    assert made["data"]["header"] == lines[0]
    assert [row["csv"] for row in made["rows"][:50]] == lines[1:]
    assert {row["next"] for row in made["rows"][:50]} == {True}
    assert not any(row["next"] for row in made["rows"][50:])
    numbers = [row["row"] for row in made["rows"]]
    assert len(set(numbers)) == len(numbers)
    assert make_history(result) is None  # no one has checked a row


def test_text_from_the_table_is_escaped(page):
    """What a cell holds is text in the page, in markup and in data."""
    text = page.read_text(encoding="utf-8")
    assert "<b>quoted" not in text
    assert "\\u003cb\\u003equoted" in text


def keys(driver, *pressed):
    """Press keys where the focus is."""
    from selenium.webdriver.common.action_chains import ActionChains

    for key in pressed:
        ActionChains(driver).send_keys(key).perform()


def text_of(driver, name):
    return driver.execute_script(f"return document.getElementById('bench-{name}').textContent")


def shown(driver):
    """Return the places of the rows that are listed, in order."""
    script = (
        "return [...document.querySelectorAll('#bench-rows tr')].filter((r) => !r.hidden)"
        ".map((r) => Number(r.dataset.k))"
    )
    return driver.execute_script(script)


def choose(driver, name, value):
    driver.execute_script(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
        "s.dispatchEvent(new Event('input', {bubbles: true}));",
        f"bench-{name}",
        value,
    )


def fresh(driver, page):
    open_page(driver, page)
    driver.execute_script("localStorage.clear()")
    open_page(driver, page)
    driver.execute_script("document.getElementById('workbench').focus()")


@pytest.mark.slow
def test_from_the_keyboard_to_a_second_audit(browser, page, result, table, tmp_path):  # noqa: F811
    """Rows answered by keys are kept, downloaded, read, and learned from."""
    fresh(browser, page)
    folder = tmp_path / "downloads"
    folder.mkdir()
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)}
    )
    truth, labels = (table[name].to_pylist() for name in ("truth", "ill"))
    rows = result.recheck.batch.rows[:30]
    for k, row in enumerate(rows):
        if k == 4:
            keys(browser, "s")
            continue
        right = truth[row.row - 1] == labels[row.row - 1]
        keys(browser, "r" if right else "w")
    n_right = sum(truth[r.row - 1] == r.label for k, r in enumerate(rows) if k != 4)
    said = f"29 of 146 checked: {n_right} right, {29 - n_right} wrong; 1 skipped"
    total = len(make_check(result)["rows"])
    assert text_of(browser, "progress") == said.replace("146", str(total))
    # The page forgets nothing when it is opened again.
    open_page(browser, page)
    assert text_of(browser, "progress").startswith("29 of")
    browser.execute_script("document.getElementById('bench-download').click()")
    path = folder / "checked.csv"
    limit = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < limit, "nothing was downloaded"
        time.sleep(0.05)
    found = read_checked(path)
    answered = [row for k, row in enumerate(rows) if k != 4]
    assert [row.row for row in found] == [row.row for row in answered]
    assert [row.id for row in found] == [row.id for row in answered]
    assert [row.checked for row in found] == [truth[row.row - 1] for row in answered]
    chances = [row.probability for row in answered]
    np.testing.assert_allclose([row.probability for row in found], chances, rtol=1e-5)
    hidden = table.drop_columns("truth")
    second = audit(hidden, "ill", Costs(fn=3, fp=2), id="name", model="linear", checked=path)
    assert second.n_checked == 29
    assert [point.n_checked for point in second.recheck.history] == [0, 29]
    made = make_history(second)
    assert "checks-rate" in made["picture"]
    # And the report of the second audit shows the way.
    again = tmp_path / "report.html"
    again.write_text(render_report(second), encoding="utf-8")
    open_page(browser, again)
    assert (
        browser.execute_script("return document.querySelectorAll('#checks-rate .limits').length")
        == 2
    )
    assert browser.get_log("browser") == []


def test_rows_are_sorted_filtered_and_searched(browser, page, result):  # noqa: F811
    """The list shows what is asked for, and keys go through it in that order."""
    fresh(browser, page)
    made = make_check(result)["rows"]
    assert shown(browser) == list(range(len(made)))
    choose(browser, "sort", "wrong")
    wrong = [made[k]["wrong"] for k in shown(browser)]
    assert wrong == sorted(wrong, reverse=True)
    choose(browser, "sort", "column0")
    column = [float(made[k]["cells"][0]) for k in shown(browser)]
    assert column == sorted(column)
    choose(browser, "filter", "label1")
    assert {made[k]["label"] for k in shown(browser)} == {"yes"}
    choose(browser, "filter", "next")
    assert sorted(shown(browser)) == list(range(50))
    choose(browser, "sort", "order")
    browser.execute_script("document.querySelector('#bench-rows tr:not([hidden]) td').click()")
    keys(browser, "r", "w", "s")
    choose(browser, "filter", "done")
    assert shown(browser) == [0, 1]
    choose(browser, "filter", "skipped")
    assert shown(browser) == [2]
    choose(browser, "filter", "open")
    assert shown(browser) == list(range(3, len(made)))
    keys(browser, "z")
    assert shown(browser) == list(range(2, len(made)))
    choose(browser, "filter", "all")
    # A slash leads to the search, Enter back to the rows.
    keys(browser, "/", *made[7]["name"], "\ue007")
    found = shown(browser)
    assert 7 in found
    assert len(found) < len(made)
    choose(browser, "search", "no such text")
    assert shown(browser) == []
    assert text_of(browser, "name") == "No row"
    keys(browser, "r")
    choose(browser, "search", "")
    assert text_of(browser, "progress").startswith("2 of")


def test_the_whole_row_is_shown_and_answers_can_be_forgotten(browser, page, result):  # noqa: F811
    """All columns of a row are there as text; arrows move; what is forgotten is gone."""
    fresh(browser, page)
    made = make_check(result)
    keys(browser, "\ue015")  # down
    row = made["rows"][1]
    assert text_of(browser, "name") == f"Row {row['name']}, labelled {row['label']}"
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#bench-cells dd')].map((d) => d.textContent)"
    )
    assert cells == row["cells"]
    names = browser.execute_script(
        "return [...document.querySelectorAll('#bench-cells dt')].map((d) => d.textContent)"
    )
    assert names == made["data"]["columns"]
    assert set(names) == {"x0", "x1", "x2", "note"}
    keys(browser, "w", "\ue013")  # up
    assert browser.execute_script("return document.querySelectorAll('tr.wrong').length") == 1
    browser.execute_script("document.getElementById('bench-clear').click()")
    open_page(browser, page)
    assert text_of(browser, "progress").startswith("0 of")
    # Keys elsewhere in the page answer nothing.
    browser.execute_script("document.activeElement.blur()")
    keys(browser, "r")
    assert text_of(browser, "progress").startswith("0 of")
    for width in (360, 800):
        open_page(browser, page, width)
        wide = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide[0] <= wide[1]
