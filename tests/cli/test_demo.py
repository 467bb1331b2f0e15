"""The demo: an audit, its questions answered by the truth, and what that changed."""

import json
import re

from flipcost.cli import main


def test_the_demo_tells_the_story(tmp_path, capsys):
    """One screen with both audits and the truth; two reports, the second linked from the first."""
    out = tmp_path / "out"
    assert main(["demo", "--checks", "60", "--out", str(out)]) == 0
    screen = capsys.readouterr().out
    assert len(screen.splitlines()) <= 25
    rows = {line.split("  ")[0]: line for line in screen.splitlines()}
    assert re.search(r"\d+% \(.*\d+% \(.*\d+%$", rows["error rate"])
    assert "true cost" in rows
    assert "on perfect labels" in screen
    first, second = ((out / f"{name}.html").read_text() for name in ("report", "checked"))
    assert 'href="checked.html"' in first
    assert "From 60 checked rows" in second
    summary = json.loads((out / "summary.json").read_text())
    assert summary["data"]["checked_rows"] == 60
    assert main(["demo", "--out", str(out)]) == 2
    assert "--overwrite" in capsys.readouterr().err
