"""Tools of maintainers: change fragments, lowest versions, audited packages and walks."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FRAGMENTS = [path for path in (ROOT / "changes").glob("*.md") if path.name != "README.md"]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_change_fragments_are_named_and_say_something(path):
    """Towncrier passes over a fragment of an unknown type without a word."""
    types = {"api", "enh", "fix", "perf", "doc"}
    assert re.fullmatch(rf"[a-z0-9_-]+\.({'|'.join(types)})\.md", path.name)
    assert path.read_text(encoding="utf-8").strip()


def test_lowest_versions_follow_extras_of_the_project():
    """Every requirement of the project and of the extras that an extra names has its line."""
    project = {
        "name": "us",
        "dependencies": ["numpy>=1.26"],
        "optional-dependencies": {
            "test": ["us[dask]", "pytest>=8"],
            "dask": ["dask[array]>=2025.1"],
        },
    }
    assert load("lowest").lowest(project, ["test"]) == ["dask==2025.1", "numpy==1.26", "pytest==8"]


def test_a_requirement_without_a_lower_bound_is_refused():
    """What has no bound cannot be tested at its lowest."""
    project = {"name": "us", "dependencies": ["numpy"], "optional-dependencies": {}}
    with pytest.raises(ValueError, match="numpy"):
        load("lowest").lowest(project, [])


def test_this_project_has_bounds_throughout(capsys):
    """The constraints of this tree can be made."""
    assert load("lowest").main() == 0
    assert "numpy==" in capsys.readouterr().out


def test_what_was_not_audited_is_said(capsys):
    """A service that knows no package has found no hole, and nothing else either."""
    audit = load("audit_deps")
    unknown = {"name": "a", "skip_reason": "not found"}
    assert audit.report([unknown]) == 0
    assert capsys.readouterr().out.startswith("Not audited")
    hole = {"id": "X-1", "fix_versions": ["2.0"]}
    assert audit.report([unknown, {"name": "b", "version": "1.0", "vulns": [hole]}]) == 1
    assert "b 1.0: X-1, mended in 2.0" in capsys.readouterr().out


def test_walks_say_what_differs_and_by_how_much():
    """Figures within rounding are the same; others, words, and what is gone or new are named."""
    before = {"a": 1.0, "b": [0.1, 0.2], "c": {"d": "rule"}, "e": 2.0, "f": "0.5"}
    now = {"a": 1.0000001, "b": [0.1, 0.3], "c": {"d": "constant"}, "f": "0.75", "g": 1}
    assert load("walks").compare(before, now) == [
        "b: 1 of 2 differ, by 0.1 at most and 0.05 on average",
        "c.d: 'rule' -> 'constant'",
        "e: gone",
        "f: 0.5 -> 0.75 (+0.25)",
        "g: new",
    ]
