"""What people read of an audit, whole: one transcript for each state, meant to be read.

After a change that is meant, write them anew, read them, and commit what reads well::

    python -m tests.report.test_transcripts
"""

import contextlib
import io
import re
from pathlib import Path

import pytest

from flipcost.cli._terminal import print_audit
from flipcost.report.headline import headline
from flipcost.report.render import render_markdown
from tests.report.cases import CASES, audited

FOLDER = Path(__file__).parent / "transcripts"


def screen(name):
    """Return what the command prints of a case."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print_audit(audited(name), Path("flipcost-audit"))
    return printed.getvalue()


def transcript(name):
    """Return the screen, and the same audit as Markdown."""
    return f"{screen(name)}\n{'=' * 100}\n\n{render_markdown(audited(name))}"


@pytest.mark.parametrize("name", CASES)
def test_every_state_reads_as_its_transcript(name):
    """Screen and Markdown are those of the file, letter by letter."""
    expected = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert transcript(name) == expected, "see the head of this file"


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_one_screen_that_keeps_its_promises(name):
    """At most 25 lines, no impossible figure, and as many rows as the file has."""
    result, text = audited(name), screen(name)
    assert len(text.splitlines()) <= 25
    assert "nan" not in text
    assert not re.search(r"\d %|mistake|denois", text)
    asked = re.search(r"check the ([\d,]+) (?:more )?rows in recheck.csv", headline(result).next)
    if asked:
        assert int(asked[1].replace(",", "")) == len(result.recheck.batch.rows)
    dearest = max(c.cost_if_random.high for c in result.candidates)
    for c in result.candidates:
        assert (
            0 <= c.cost_if_random.low <= c.cost_if_random.value <= c.cost_if_random.high <= dearest
        )
        assert c.saving_if_random.value <= c.cost_if_random.value + 1e-12
    share = result.errors.share
    assert 0 <= share.low <= share.value <= share.high <= result.errors.most <= 1


if __name__ == "__main__":
    for case in CASES:
        (FOLDER / f"{case}.txt").write_text(transcript(case), encoding="utf-8")
