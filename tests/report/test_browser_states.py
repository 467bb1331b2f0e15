"""Reports of every state in a real browser: at three widths, light and dark."""

import numpy as np
import pyarrow as pa
import pytest

from flipcost.audit import audit
from flipcost.core.costs import Costs
from flipcost.report import render_report
from tests.audit.helpers import PRICES
from tests.audit.test_states import TABLES
from tests.report.test_browser import (  # noqa: F401 - a fixture among them
    broken_words,
    browser,
    collisions,
    open_page,
    serious_faults,
)

pytestmark = pytest.mark.slow

LONG = "a column with a very long name that somebody exported from a warehouse_v2_final"


def _prices():
    """Return a table with dear mistakes by row, text, missing values and a long name."""
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


CASES = {
    **{name: (make, PRICES, options) for name, (make, options) in TABLES.items()},
    "prices": (_prices, Costs(fn="loss", fp=40_000.0), {"by": LONG, "capacity": "10%"}),
    "given": (TABLES["undecided"][0], PRICES, {"noise_rate": 0.0}),
}


@pytest.fixture(scope="module", params=CASES)
def page(request, tmp_path_factory):
    make, prices, options = CASES[request.param]
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(audit(make(), "ill", prices, **options)), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 800, 1300])
def test_every_state_reads_well(browser, page, width, scheme):  # noqa: F811 - a fixture
    """Nothing sticks out, lies on another or is broken, and axe finds nothing serious."""
    open_page(browser, page, width, scheme)
    wide = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide[0] <= wide[1]
    assert collisions(browser) == []
    assert broken_words(browser) == []
    assert browser.get_log("browser") == []
    assert serious_faults(browser) == []
