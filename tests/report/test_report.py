"""The report as a file: whole, escaped, small, and drawn from the library's figures."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from flipcost.audit import audit
from flipcost.report.charts import axis_limits
from flipcost.report.headline import headline
from flipcost.report.payload import make_payload
from flipcost.report.render import render_report
from tests.audit.helpers import PRICES, noisy_table
from tests.report.cases import audited

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def result():
    table = noisy_table(600, seed=4, **{NASTY: np.random.default_rng(0).normal(size=600)})
    return audit(table, "ill", PRICES, drop=["truth"], id=None, name=f"{NASTY}.csv")


@pytest.fixture(scope="module")
def html(result):
    return render_report(result).replace("\u00a0", " ")


class Collector(HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.links = [], [], []
        self.feed_errors = 0

    def handle_starttag(self, tag, attrs):
        """Note a tag, its addresses, and that it is open."""
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "action", "data", "srcset")]
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Note a tag that closes itself."""
        self.tags.append(tag)

    def handle_endtag(self, tag):
        """Check that the tag that was opened last is closed first."""
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_asks_for_nothing(html):
    """Tags are closed in order, and no address but an empty icon is named."""
    page = Collector()
    page.feed(html)
    assert page.open == []
    assert page.links == ["data:,", "#part-check"]
    assert "http" not in re.sub(r'http-equiv="', "", html)
    assert "@import" not in html
    assert "url(" not in html.replace("url(#box)", "")
    assert "default-src 'none'" in html


def test_text_from_the_data_is_escaped(html):
    """A column and a file named like a script are text wherever they appear."""
    assert NASTY not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert html.count("<script") == 2  # the data and the code


def test_the_report_is_small(html):
    """Far below two megabytes."""
    assert len(html.encode()) < 300_000


def test_the_payload_is_the_tables(result, html):
    """The page carries the tables of counts of every candidate at every cost."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    payload = json.loads(found[1])
    expected = json.loads(json.dumps(make_payload(result)))
    assert {key: payload[key] for key in expected} == expected
    for candidate, kept in zip(result.candidates, payload["candidates"], strict=True):
        np.testing.assert_allclose(
            np.reshape(kept["counts"], (-1, 2, 2)), candidate.tables.counts, rtol=1e-9
        )
    assert payload["costs"][payload["index"]] == pytest.approx(result.cost)


def test_the_page_has_few_sections(html):
    """Four of one level, and a fifth where questions were asked; all else is folded."""
    assert re.findall(r"<h2 id=[^>]*>([^<]*)</h2>", html) == [
        "Cost by model",
        "Label errors",
        "Rows to check",
        "Details",
    ]
    assert html.count("<details") == 9


@pytest.mark.parametrize("value", [1e-3, 0.4, 1.0, 3.99, 8.0, 730.0, 12_345.0])
def test_axes_end_above_the_data(value):
    """An axis of four steps holds its value, and is not much longer."""
    low, high = axis_limits(0.0, value)
    assert low == 0.0
    assert value <= high * (1 + 1e-12)
    assert high <= 2.5 * value


@pytest.mark.parametrize("rate", [0.0, 0.2, (0.3, 0.05)])
def test_known_rates_are_reported_too(rate):
    """A report can be drawn when the rate is known, zero, or one for each class."""
    html = render_report(audit(noisy_table(300), "ill", PRICES, noise_rate=rate, drop=["truth"]))
    assert "Error rate set by you" in html
    assert "nan" not in html.lower().replace("nancy", "")


@pytest.mark.parametrize(
    ("name", "badge"),
    [
        ("noisy", "Labels are noisy"),  # counted on checked rows
        ("scores", "Labels are noisy"),  # 16 to 23% if errors are random
        ("tie", "Some labels may be wrong"),  # up to 6%, perhaps none
    ],
)
def test_labels_that_may_be_clean_are_not_said_to_be_noisy(name, badge):
    """The badge does not contradict an estimate that reaches down to no error."""
    assert headline(audited(name)).badge == badge


def test_pictures_of_decisions_are_drawn_and_told(result):
    """Depth, prices and what was asked have parts of their own, with data for their sliders."""
    html = render_report(result).replace("\u00a0", " ")
    for name in ("capacity-profit", "price-price"):
        assert f'id="{name}"' in html
    assert 'id="capacity-slider"' in html
    assert 'id="part-asked"' not in html  # nothing was asked
