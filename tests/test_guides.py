"""The chapters of the guide print what they say they print."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = [*sorted((DOCS / "guide").glob("*.md")), DOCS / "reproduce.md"]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_the_guide_prints_what_it_says(guide):
    """Every block of the chapter, run in order, prints what is written under it."""
    blocks = re.findall(r"```pycon\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, guide.name, str(guide), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_chapters_were_found():
    """The guide is where these tests look for it."""
    assert len(GUIDES) >= 10
