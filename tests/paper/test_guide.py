import doctest
import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "theory.md"


def test_the_guide_prints_what_it_says():
    """Every block of the chapter on theory, run in order, prints what is written under it."""
    blocks = re.findall(r"```pycon\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 15
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, GUIDE.name, str(GUIDE), 0)
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_all_public_names_are_in_the_package():
    """What the package lists as public is there, sorted, and documented."""
    from flipcost import theory

    assert theory.__all__ == sorted(theory.__all__)
    assert all(getattr(theory, name).__doc__ for name in theory.__all__)
