"""The demo: an audit, its questions answered by the truth, and what that changed."""

import json
from pathlib import Path

from flipcost.cli import main

README = Path(__file__).parents[2] / "README.md"


def test_the_demo_tells_the_story(tmp_path, capsys, monkeypatch):
    """One screen, which the README shows; two reports, the second linked from the first."""
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "flipcost-demo"
    assert main(["demo"]) == 0
    screen = capsys.readouterr().out
    assert len(screen.splitlines()) <= 25
    assert screen in README.read_text(encoding="utf-8")
    first, second = ((out / f"{name}.html").read_text() for name in ("report", "checked"))
    assert 'href="checked.html"' in first
    assert "From 100 checked rows" in second
    summary = json.loads((out / "summary.json").read_text())
    assert summary["data"]["checked_rows"] == 100
    assert main(["demo"]) == 2
    assert "--overwrite" in capsys.readouterr().err
