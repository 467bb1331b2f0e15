"""Reports of every state in a real browser: at three widths, light and dark."""

import pytest

from flipcost.report.render import render_report
from tests.report.cases import CASES, audited
from tests.report.test_browser import (  # noqa: F401 - a fixture among them
    broken_words,
    browser,
    collisions,
    open_page,
    serious_faults,
    unfold,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=CASES)
def page(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(audited(request.param)), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 800, 1300])
def test_every_state_reads_well(browser, page, width, scheme):  # noqa: F811 - a fixture
    """Nothing sticks out, lies on another or is broken, and axe finds nothing serious."""
    open_page(browser, page, width, scheme)
    unfold(browser)
    wide = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide[0] <= wide[1]
    assert collisions(browser) == []
    assert broken_words(browser) == []
    assert browser.get_log("browser") == []
    assert serious_faults(browser) == []
