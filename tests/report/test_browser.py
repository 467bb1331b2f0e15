"""The report in a real browser: sliders, console, requests, escaping, widths."""

import base64
import json
import re
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from flipcost.audit import audit
from flipcost.core.clean_means import LabelSums, cost_sums, denoised_mean
from flipcost.core.confusion import ConfusionCounts, Interval
from flipcost.core.costs import Costs, RowCosts
from flipcost.core.curves import confusion_cells, per_row_cost
from flipcost.core.decision import bayes_flags, decide
from flipcost.core.error_rates import RatePosterior
from flipcost.report.charts import BOTTOM, TOP
from flipcost.report.payload import make_payload
from flipcost.report.render import render_report
from flipcost.report.sections import make_price
from flipcost.words import span
from tests.audit.helpers import noisy_table

NASTY = "<script>alert(1)</script>"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="browser tests need selenium, which is not installed"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("browser tests need chromium and chromedriver; there is no browser here")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    session = webdriver.Chrome(options=options, service=service)
    yield session
    session.quit()


def weighted(table):
    weight = np.random.default_rng(0).integers(1, 4, table.num_rows).astype(float)
    return table.append_column("w", [weight])


CASES = {
    "auto": {},
    "symmetric": {"noise_model": "symmetric"},
    "pair": {"noise_rate": (0.3, 0.1)},
    "weighted": {"sample_weight": "w"},
}


QUICK = "auto"  # the one that `make test` looks at; the others are for `make test-all`


@pytest.fixture(
    scope="module",
    params=[
        name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES
    ],
)
def case(request, tmp_path_factory):
    table = noisy_table(600, seed=4, **{NASTY: np.random.default_rng(0).normal(size=600)})
    if request.param == "weighted":
        table = weighted(table)
    options = CASES[request.param]
    result = audit(table, "ill", Costs(fn=3, fp=2), drop=["truth"], name=NASTY, **options)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(result), encoding="utf-8")
    return result, path


def open_page(browser, path, width=1200, scheme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(path.as_uri())
    ready = (
        "return document.readyState === 'complete' && location.href === arguments[0]"
        " && document.getElementById('out-now').textContent !== ''"
    )
    limit = time.monotonic() + 30
    while not browser.execute_script(ready, path.as_uri()):
        assert time.monotonic() < limit, "the page did not load"
        time.sleep(0.02)


def unfold(browser):
    """Open all that is folded."""
    browser.execute_script("document.querySelectorAll('details').forEach((d) => d.open = true)")


def move(browser, name, value):
    browser.execute_script(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
        "s.dispatchEvent(new Event('input', {bubbles: true}));",
        f"slider-{name}",
        str(value),
    )


def figures(browser, name):
    """Return value, low and high that a part of the page shows."""
    script = (
        "const d = document.getElementById(arguments[0]).dataset;"
        "return [Number(d.value), Number(d.low), Number(d.high)];"
    )
    return browser.execute_script(script, name)


def move_rates(browser, about, part):
    """Move each slider of a rate to a part of its way, by its steps; return what is assumed."""
    found = []
    for side, most, step in zip(("pos", "neg"), about["most"], about["step"], strict=True):
        rate = max(round(part * most / step - 0.5) * step, 0.0)
        if side == "pos" or not about["one"]:
            move(browser, f"rate-{side}", rate)
        found.append(rate)
    return (found[0], found[0]) if about["one"] else tuple(found)


@pytest.mark.parametrize(("index", "part"), [(None, None), (3, 0.0), (20, 0.5), (38, 1.0)])
def test_the_sliders_move_the_figures_to_the_librarys_values(browser, case, index, part):
    """Costs and cells that the page shows are those that the library computes, to the end."""
    result, path = case
    open_page(browser, path)
    k = result.cost_index if index is None else index
    about = make_payload(result)["rate"]
    pair = tuple(about["value"])
    if index is not None:
        move(browser, "cost", index)
        pair = move_rates(browser, about, part)
    cost = float(result.costs[k])
    scale = 1000 * result.prices.fp / cost
    table = ConfusionCounts(result.best.tables.counts[k], result.best.tables.squares[k])
    # Where nothing was moved the page shows the one expected cost: all rates are weighed.
    expected = (
        result.best.cost_if_random
        if index is None
        else denoised_mean(LabelSums.of_table(table, RowCosts.of(cost)), pair)
    )
    assert 0 <= expected.low <= expected.value <= expected.high <= max(cost, 1 - cost)
    limits = [scale * x for x in (expected.value, expected.low, expected.high)]
    found = figures(browser, "out-now")
    np.testing.assert_allclose(found, limits, rtol=1e-7, atol=1e-7 * scale)
    text = browser.execute_script("return document.getElementById('out-now').textContent")
    assert text.replace("\u00a0", " ") == span(Interval(*limits))
    table = result.best.table(k)
    for kind, assumed in (("observed", None), ("denoised", pair)):
        cells = 1000 * confusion_cells(table, assumed)
        for i, j, name in ((0, 0, "tn"), (0, 1, "fp"), (1, 0, "fn"), (1, 1, "tp")):
            found = figures(browser, f"{kind}-{name}")
            np.testing.assert_allclose(found, cells[i, j], rtol=1e-7, atol=1e-6)


def drawn_points(browser, name):
    """Return the points of the denoised line of a square picture, as shares across and up."""
    line = f"document.querySelector('#{name} polyline.denoised')"
    text = browser.execute_script(f"return {line}.getAttribute('points')")
    x, y = np.array([place.split(",") for place in text.split()], dtype=float).T
    return (x - 38) / 252, (244 - y) / 216


@pytest.mark.parametrize(("index", "part"), [(None, None), (10, 0.0), (30, 0.8)])
def test_quality_and_importance_follow_the_sliders(browser, case, index, part):
    """Calibration, ROC, precision and importance are the library's at the assumed rates."""
    result, path = case
    open_page(browser, path)
    about = make_payload(result)["rate"]
    k, pair = result.cost_index, tuple(about["value"])
    if index is not None:
        k = index
        move(browser, "cost", index)
        pair = move_rates(browser, about, part)
    bins = result.labels.bins.coarser(10)  # as the report shows them
    precision, recall = result.bins.precision_recall(pair)
    expected = {
        "calibration": (bins.probability, bins.share(pair)),
        "roc": result.bins.roc(pair),
        "precision": (recall, precision),
    }
    for name, points in expected.items():
        # Points are written with one decimal, of some 216 to 252.
        np.testing.assert_allclose(drawn_points(browser, name), points, atol=0.051 / 216)
    area = "return Number(document.getElementById('roc-area').dataset.value)"
    assert browser.execute_script(area) == pytest.approx(result.bins.area(pair), abs=1e-9)
    cost = float(result.costs[k])
    price = 1000 * result.mean_prices[1] / cost * per_row_cost(cost, pair)
    shown = sorted(result.effects, key=lambda e: (-e.importance, -abs(e.change)))
    found = browser.execute_script(
        "return [...document.querySelectorAll('[id^=worth-]')].map((n) => n.dataset.value)"
        ".filter((v) => v !== undefined).map(Number)"
    )
    worth = [max(0.0, float(np.sum(price * effect.moved[k]))) for effect in shown]
    np.testing.assert_allclose(found, worth, rtol=1e-7, atol=1e-6)
    if index is None:
        stored = [1000 * result.unit * max(0.0, effect.importance) for effect in shown]
        np.testing.assert_allclose(found, stored, rtol=1e-7, atol=1e-6)


def test_the_calls_of_every_candidate_can_be_seen(browser, case):
    """The choice above the two tables shows the cells of that candidate."""
    result, path = case
    open_page(browser, path)
    for place, candidate in enumerate(result.candidates):
        browser.execute_script(
            "const s = document.getElementById('confusion-of'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change'));",
            str(place),
        )
        cells = 1000 * confusion_cells(candidate.table(result.cost_index), None)
        found = figures(browser, "observed-fp")
        np.testing.assert_allclose(found, cells[0, 1], rtol=1e-7, atol=1e-6)


def test_sliders_have_names_and_values_for_who_listens(browser, case):
    """Every slider has a name, and says its value in words as it moves."""
    _, path = case
    open_page(browser, path)
    move(browser, "rate-pos", 0.02)
    said = browser.execute_script(
        "return [...document.querySelectorAll('input[type=range]')].map((s) =>"
        "[s.getAttribute('aria-label'), s.getAttribute('aria-valuetext')])"
    )
    assert len(said) >= 2
    assert all(name and re.search(r"\d", value) for name, value in said)
    assert said[1][1] == "2.0%"


def serious_faults(browser):
    """Return what axe-core finds serious in the page that is open."""
    script = Path(sys.prefix) / "npm" / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        pytest.skip("axe-core is not installed; `make test-all` does it where there is npm")
    unfold(browser)
    # Checks run in a page that allows no script of others, so that axe is handed to it here.
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": script.read_text()})
    found = browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "const said = (v) => [v.impact, v.id, v.nodes[0].html];"
        "axe.run().then((r) => done(r.violations.map(said)));"
    )
    return [v for v in found if v[0] in ("serious", "critical")]


def collisions(browser):
    """Return labels of pictures that lie on each other or leave their picture, as it is shown."""
    return browser.execute_script(
        "const bad = [];"
        "for (const svg of document.querySelectorAll('figure svg')) {"
        "  const frame = svg.getBoundingClientRect();"
        "  const texts = [...svg.querySelectorAll('text')].map((t) =>"
        "    [t.textContent, t.getBoundingClientRect()]).filter(([, r]) => r.width);"
        "  texts.forEach(([a, r], i) => {"
        "    if (r.left < frame.left - 1 || r.right > frame.right + 1"
        "        || r.bottom > frame.bottom + 1)"
        "      bad.push([svg.id, 'outside', a]);"
        "    for (const [b, s] of texts.slice(i + 1)) {"
        "      const across = Math.min(r.right, s.right) - Math.max(r.left, s.left);"
        "      const down = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);"
        "      if (across > 0.5 && down > 0.35 * Math.min(r.height, s.height))"
        "        bad.push([svg.id, a, b]);"
        "    }"
        "  });"
        "}"
        "return bad"
    )


def broken_words(browser):
    """Return cells of tables that are narrower than a few letters of the text in them."""
    return browser.execute_script(
        "return [...document.querySelectorAll('td, th')].filter((c) => c.clientWidth &&"
        " c.textContent.trim().length > 3 && c.clientHeight > 8 * c.clientWidth)"
        ".map((c) => c.textContent.trim())"
    )


def test_axe_finds_nothing_serious(browser, case):
    """Accessibility checks of axe-core find nothing serious, light and dark, wide and narrow."""
    _, path = case
    for width, scheme in ((1200, "light"), (400, "dark")):
        open_page(browser, path, width, scheme)
        assert serious_faults(browser) == []


def test_lines_are_drawn_where_the_costs_are(browser, case):
    """Each model's line begins at its cost where no positive is labelled wrong."""
    result, path = case
    open_page(browser, path)
    pair = (0.0, 0.0 if make_payload(result)["rate"]["one"] else result.noise_rate[1])
    top = browser.execute_script(
        "return [...document.querySelectorAll('#path .ytick')].pop().textContent"
    )
    for candidate in result.candidates:
        line = f"document.querySelector('#path .line.{candidate.key}').getAttribute('points')"
        y = float(browser.execute_script(f"return {line}").split()[0].split(",")[1])
        table = candidate.table(result.cost_index)
        cost = denoised_mean(LabelSums.of_table(table, RowCosts.of(result.cost)), pair).value
        height = min(1000 * result.unit * cost / float(top.replace(",", "")), 1.6)
        # Places are written with one decimal.
        assert y == pytest.approx(BOTTOM - (BOTTOM - TOP) * height, abs=0.06)


def test_moving_a_slider_moves_the_pictures(browser, case):
    """The lines, the mark and the words follow the sliders, and come back on reset."""
    _, path = case
    open_page(browser, path)
    read = (
        "return [document.querySelector('#path .line.flipcost').getAttribute('points'),"
        "document.querySelector('#price-price .marker').getAttribute('x1'),"
        "document.querySelector('#path .marker').getAttribute('x1'),"
        "document.getElementById('out-cost').textContent,"
        "document.getElementById('out-rate-pos').textContent]"
    )
    before = browser.execute_script(read)
    move(browser, "cost", 5)
    move(browser, "rate-pos", 0.02)
    after = browser.execute_script(read)
    assert all(a != b for a, b in zip(before, after, strict=True))
    browser.execute_script("document.getElementById('reset').click()")
    assert browser.execute_script(read) == before


def test_nothing_is_logged_and_nothing_is_fetched(browser, case):
    """The console stays empty, and no request leaves the page."""
    _, path = case
    open_page(browser, path)
    move(browser, "rate-pos", 0.3)
    assert browser.get_log("browser") == []
    asked = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] != "Network.requestWillBeSent":
            continue
        # The log is shared: late entries of an earlier page are not of this one.
        if message["params"]["documentURL"] == path.as_uri():
            asked.append(message["params"]["request"]["url"])
    outside = [u for u in asked if not u.startswith("data:") and u != path.as_uri()]
    assert path.as_uri() in asked
    assert outside == []


def test_a_column_named_like_a_script_is_text(browser, case):
    """The name shows as it is, and nothing runs."""
    _, path = case
    open_page(browser, path)
    shown = browser.execute_script("return document.body.innerText")
    assert NASTY in shown
    assert NASTY in browser.title
    assert browser.execute_script("return document.querySelectorAll('script').length") == 2


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_width(browser, case, width, scheme):
    """Nothing sticks out at the width of a phone, a tablet or a desk; text has contrast."""
    _, path = case
    open_page(browser, path, width, scheme)
    unfold(browser)
    wide = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide[0] <= wide[1]
    assert collisions(browser) == []
    assert broken_words(browser) == []
    colours = browser.execute_script(
        "const s = getComputedStyle(document.body);"
        "const t = getComputedStyle(document.querySelector('figcaption'));"
        "const b = getComputedStyle(document.querySelector('section'));"
        "return [s.color, s.backgroundColor, t.color, b.backgroundColor]"
    )
    body, ground, soft, paper = (luminance(c) for c in colours)
    assert contrast(body, ground) > 7
    assert contrast(soft, paper) > 4.5


def luminance(colour):
    """Relative luminance of a colour as the page states it."""
    values = np.array([float(v) for v in re.findall(r"[\d.]+", colour)[:3]]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    """Ratio of contrast of two luminances."""
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def test_it_prints(browser, case):
    """The page prints on three pages, what is folded left out."""
    _, path = case
    open_page(browser, path)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    data = base64.b64decode(printed["data"])
    assert data.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type /Page\b(?!s)", data))
    assert 1 <= pages <= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_notebook_cannot_break_what_it_shows(browser, case, tmp_path, scheme):
    """Styles of the page do not reach a result in it, nor its own the page; text has contrast."""
    result, _ = case
    page = tmp_path / "notebook.html"
    ground = "#fff" if scheme == "light" else "#111"
    page.write_text(
        f"<style>* {{ color: red !important; font-size: 3px }} body {{ background: {ground} }}"
        f"</style><p id='other'>other</p>{result._repr_html_()}<output id='out-now'>x</output>",
        encoding="utf-8",
    )
    open_page(browser, page, scheme=scheme)
    found = browser.execute_script(
        "const root = document.querySelector('[id^=flipcost-]').shadowRoot;"
        "const said = getComputedStyle(root.querySelector('.headline'));"
        "const card = getComputedStyle(root.querySelector('.card'));"
        "const other = getComputedStyle(document.getElementById('other'));"
        "return [said.color, said.fontSize, card.backgroundColor, other.fontSize]"
    )
    assert (found[1], found[3]) == ("16px", "3px")
    assert contrast(luminance(found[0]), luminance(found[2])) > 7
    assert browser.execute_script("return document.querySelectorAll('script').length") == 1


def test_the_capacity_slider_moves_calls_and_what_they_save(browser, case):
    """To its end every row is called and every positive found; the words follow."""
    _, path = case
    open_page(browser, path)
    said = [
        browser.execute_script(
            "const slider = document.getElementById('capacity-slider');"
            f"slider.value = slider.{end};"
            "slider.dispatchEvent(new Event('input'));"
            "return [slider.getAttribute('aria-valuetext'),"
            "document.getElementById('capacity-said').textContent]"
        )
        for end in ("min", "max")
    ]
    assert said[0] != said[1]
    assert said[1][0].endswith("(100.0%)")
    assert "find 100%" in said[1][1]


@pytest.fixture(scope="module")
def by_row(tmp_path_factory):
    """Audit a table whose misses cost an amount of their own, and write the report."""
    amount = 20 * np.exp(0.6 * np.random.default_rng(1).normal(size=600))
    table = noisy_table(600, seed=4, amount=amount)
    costs = Costs(fn="0.8*amount + 2", fp=5)
    result = audit(table, "ill", costs, drop=["truth"], model="linear", by=None, capacity="10%")
    path = tmp_path_factory.mktemp("by_row") / "report.html"
    path.write_text(render_report(result), encoding="utf-8")
    return result, path, costs.by_row(table)


def spoken_ratio(browser):
    """Return what the price slider says as the ratio of a miss to a false alarm."""
    said = browser.execute_script(
        "return document.getElementById('slider-cost').getAttribute('aria-valuetext')"
    )
    miss, alarm = (float(part) for part in said.split(" : "))
    return miss / alarm


def test_keys_move_the_price(browser, by_row):
    """Arrows move one step, to the right dearer misses; home and end go to the ends; words follow.

    What is spoken is the price that figures are counted at, and the button goes back.
    """
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    result, path, _ = by_row
    open_page(browser, path)
    unfold(browser)
    slider = browser.find_element(By.ID, "slider-cost")
    ratios = (1 - result.costs) / result.costs
    k = result.cost_index
    start = figures(browser, "out-now")
    assert spoken_ratio(browser) == pytest.approx(ratios[k], rel=5e-3)
    slider.send_keys(Keys.ARROW_RIGHT)
    assert spoken_ratio(browser) == pytest.approx(ratios[k - 1], rel=5e-3)
    assert spoken_ratio(browser) > ratios[k]
    assert figures(browser, "out-now") != start
    slider.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert spoken_ratio(browser) == pytest.approx(ratios[k + 1], rel=5e-3)
    for key in (Keys.HOME, Keys.END):
        slider.send_keys(key)
        assert min(abs(spoken_ratio(browser) / r - 1) for r in (ratios[0], ratios[-1])) < 5e-3
    browser.find_element(By.ID, "reset").send_keys(Keys.ENTER)
    assert spoken_ratio(browser) == pytest.approx(ratios[k], rel=5e-3)
    np.testing.assert_allclose(figures(browser, "out-now"), start)


@pytest.mark.parametrize(("index", "part"), [(4, 0.0), (20, 0.5), (36, 0.9)])
def test_figures_at_prices_by_row_are_the_librarys(browser, by_row, index, part):
    """Moved to any price and rate, costs are those of the library's calls at each row's prices."""
    result, path, prices = by_row
    open_page(browser, path)
    move(browser, "cost", index)
    pair = move_rates(browser, make_payload(result)["rate"], part)
    known = RatePosterior(np.array([pair]), np.ones(1))
    labels = np.array(noisy_table(600, seed=4)["ill"].to_pylist()) == "yes"
    model = result.model[-1]
    ratios = (1 - result.costs) / result.costs
    scaled = prices.scaled(float(ratios[index] / ratios[result.cost_index]))
    eta = model.oof_probability_
    chosen = decide(labels, eta, scaled, model.rate_posterior_).chosen
    assert result.best.key == "flipcost"
    sums = cost_sums(labels, bayes_flags(eta, scaled, chosen), scaled)
    value, low, high = figures(browser, "out-now")
    assert value == pytest.approx(1000 * float(sums.by_rate(known)[0]), rel=1e-6, abs=1e-6)
    assert 0 <= low <= value <= high
    # The line in the picture stands at that price.
    place = make_price(result)["data"]["x"][index]
    line = "document.querySelector('#price-price .marker').getAttribute('x1')"
    assert float(browser.execute_script(f"return {line}")) == pytest.approx(place)


def test_keys_move_the_capacity(browser, by_row):
    """Arrows and ends move the number of calls, which is spoken, and figures are the library's."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    result, path, _ = by_row
    open_page(browser, path)
    unfold(browser)
    slider = browser.find_element(By.ID, "capacity-slider")
    curve = result.decisions.curve
    # It begins at what was asked for, and says of it what the answer does.
    assert slider.get_attribute("aria-valuetext") == "60 (10.0%)"
    profit = browser.find_element(By.ID, "capacity-said").get_attribute("data-profit")
    assert float(profit) == pytest.approx(result.decisions.flagged[0].profit.value, rel=1e-4)
    slider.send_keys(Keys.HOME)
    for k in (0, 1, 2):
        said = slider.get_attribute("aria-valuetext")
        assert said == f"{round(curve.depth[k] * 600):,} ({100 * curve.depth[k]:.1f}%)"
        profit = browser.find_element(By.ID, "capacity-said").get_attribute("data-profit")
        assert float(profit) == pytest.approx(600 * curve.clean["profit"][k, 0], rel=1e-4)
        slider.send_keys(Keys.ARROW_RIGHT)
    slider.send_keys(Keys.END)
    assert slider.get_attribute("aria-valuetext") == "600 (100.0%)"
