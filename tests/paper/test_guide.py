"""The page on the paper runs what it says."""

import re
from pathlib import Path

import numpy as np

from flipcost import theory
from flipcost.paper.experiments import TABLES

DOCS = Path(__file__).parents[2] / "docs"
GUIDE, PAPER = DOCS / "guide" / "methods.md", DOCS / "paper.md"


def test_all_public_names_are_in_the_package():
    """What the package lists as public is there, sorted, and documented."""
    assert theory.__all__ == sorted(theory.__all__)
    assert all(getattr(theory, name).__doc__ for name in theory.__all__)


def test_every_line_of_the_page_on_the_paper_runs():
    """The opening block and then the last cell of each row; the names beside it exist."""
    page = PAPER.read_text(encoding="utf-8")
    names: dict = {}
    opening = re.search(r"```pycon\n(.*?)```", page, re.DOTALL)
    exec(opening[1].replace(">>> ", ""), names)
    rows = re.findall(r"^\| (.*) \| `([^`]+)` \|$", page, re.MULTILINE)
    lines = [line for _, line in rows if not line.startswith("flipcost ")]
    assert len(lines) > 50
    for line in lines:
        value = eval(line, names)
        assert np.size(value), line
    for name in re.findall(r"`((?:fc|theory|resampling|kernels)\.[\w.]+)`", page):
        assert eval(name, names) is not None


def test_the_page_on_the_paper_lists_every_table_and_erratum():
    """Each table by its command; errata that are named there exist."""
    page = PAPER.read_text(encoding="utf-8")
    assert re.findall(r"`flipcost reproduce (\S+)` \|", page) == list(TABLES)
    listed = re.findall(r"^### (E\d+)\b", (DOCS / "errata.md").read_text(), re.MULTILINE)
    assert set(re.findall(r"\bE\d+(?=[),;])", page)) <= set(listed)


def test_no_public_name_of_the_theory_is_for_nobody():
    """Everything that the theory exports is used on the page, in the guide or in the gallery."""
    files = [PAPER, GUIDE, DOCS / "errata.md", *(DOCS / "examples").glob("*.py")]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    functions = [name for name in theory.__all__ if not isinstance(getattr(theory, name), type)]
    assert [name for name in functions if not re.search(rf"\b{name}\b", text)] == []
