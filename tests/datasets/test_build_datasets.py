"""The script that builds the bundled data, on wheels made up for the purpose."""

import hashlib
import importlib.util
import json
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "build_datasets.py"
if not SCRIPT.exists():
    pytest.skip("the tools are not part of this distribution", allow_module_level=True)

BUNDLED = files("flipcost.datasets") / "data"


@pytest.fixture(scope="module")
def tool():
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("build_datasets", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def home(tool, tmp_path, monkeypatch):
    """Lay out a configuration of one table, a wheel that holds it, and a data folder."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "paper_tables.csv").write_bytes(b"table\nA\n")
    wheel = tmp_path / "made_up-1.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            "made_up/t.dat", "@relation t\r\n@data\r\n1, 2, 1\r\n3, 4, 2\r\n1, 2, 1\r\n"
        )
    sha = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (tmp_path / "datasets.toml").write_text(
        f"""
        [wheels.made-up]
        version = "1"
        filename = "made_up-1.whl"
        sha256 = "{sha}"
        [tables.thyroid]
        package = "made-up"
        path = "made_up/t.dat"
        columns = ["a", "b", "class"]
        [tables.thyroid.counts.all]
        rows = 3
        positives = 1
        negatives = 2
        [tables.thyroid.counts.distinct]
        rows = 2
        positives = 1
        negatives = 1
        """,
        encoding="utf-8",
    )
    monkeypatch.setattr(tool, "TOOLS", tmp_path)
    return tmp_path


def run(tool, home, *flags):
    """Run the script on the made-up layout."""
    return tool.main(["--wheels", str(home), "--data", str(home / "data"), *flags])


def test_build_then_check(tool, home):
    """What is written passes the check, and building again changes no byte."""
    assert run(tool, home) == 0
    data = home / "data"
    written = {path.name: path.read_bytes() for path in data.iterdir()}
    assert written["thyroid.csv"] == b"a,b,class\n1,2,1\n3,4,2\n1,2,1\n"
    entry = json.loads(written["index.json"])["tables"]["thyroid"]
    assert entry["sha256"] == hashlib.sha256(written["thyroid.csv"]).hexdigest()
    assert entry["source"]["path"] == "made_up/t.dat"
    assert run(tool, home, "--check") == 0
    assert run(tool, home) == 0
    assert written == {path.name: path.read_bytes() for path in data.iterdir()}


def test_check_finds_a_difference_and_leaves_it(tool, home):
    """The check fails on a changed file and writes nothing."""
    run(tool, home)
    path = home / "data" / "thyroid.csv"
    path.write_bytes(b"changed")
    assert run(tool, home, "--check") == 1
    assert path.read_bytes() == b"changed"


def test_another_wheel_is_refused(tool, home):
    """A wheel whose bytes are not the pinned ones stops the build."""
    with (home / "made_up-1.whl").open("ab") as stream:
        stream.write(b" ")
    with pytest.raises(SystemExit, match="must have SHA-256"):
        run(tool, home)


def test_other_counts_are_refused(tool, home):
    """A table without the expected counts stops the build."""
    config = home / "datasets.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("rows = 3", "rows = 4"))
    with pytest.raises(SystemExit, match=r"thyroid \(all\): the counts must be"):
        run(tool, home)


def test_cells_separated_by_blanks(tool):
    """A table without commas is split at blanks; empty lines are skipped."""
    assert tool.read_rows("A11 6  A34\n\nA12 48 A32\n") == [
        ("A11", "6", "A34"),
        ("A12", "48", "A32"),
    ]


def test_index_is_what_the_configuration_says(tool):
    """The bundled index repeats the configuration of the script, word for word."""
    config = tool.tomllib.loads((SCRIPT.parent / "datasets.toml").read_text(encoding="utf-8"))
    tables = json.loads((BUNDLED / "index.json").read_bytes())["tables"]
    assert list(tables) == list(config["tables"])
    for name, spec in config["tables"].items():
        assert tables[name]["source"]["package"] == spec.pop("package")
        assert tables[name]["source"]["path"] == spec.pop("path")
        assert spec.items() <= tables[name].items()


def test_bundled_tables_have_the_counts_by_the_script_itself(tool):
    """The script's own count of each bundled table agrees with the index."""
    tables = json.loads((BUNDLED / "index.json").read_bytes())["tables"]
    for name, entry in tables.items():
        text = (BUNDLED / entry["file"]).read_text(encoding="ascii")
        header, *rows = tool.read_rows(text)
        assert list(header) == entry["columns"]
        tool.check_rows(name, entry, rows)
