"""Help that waits for nothing, options in groups with examples, and prices that are assumed."""

import json
import re
import shlex
import subprocess
import sys

import pyarrow.csv as pc
import pytest

from flipcost.cli import app, main
from tests.audit.helpers import noisy_table

# What takes seconds to import; help needs none of it.
HEAVY = ("numpy", "scipy", "sklearn", "pyarrow", "pandas", "polars", "skops", "dask", "matplotlib")


def imported_by(code):
    """Return which heavy modules a fresh process has imported after some code."""
    script = f"{code}\nimport sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["audit", "--help"]])
def test_help_imports_nothing_that_takes_long(args):
    """Neither scikit-learn nor pyarrow nor numpy is imported to print help."""
    assert imported_by(f"from flipcost.cli import main\nmain({args!r})") == "[]"


def test_importing_flipcost_imports_nothing_that_takes_long():
    """Names come when they are asked for."""
    assert imported_by("import flipcost") == "[]"
    assert imported_by("import flipcost; flipcost.Costs(fn=4, fp=1)") == "['numpy', 'scipy']"


def test_the_public_names_are_there():
    """Every name can be had, is listed, and others are refused."""
    import flipcost

    assert set(flipcost.__all__) <= set(dir(flipcost))
    assert all(getattr(flipcost, name) is not None for name in flipcost.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = flipcost.nothing


@pytest.mark.parametrize("command", ["audit", "predict"])
def test_every_option_is_in_a_group_with_an_example(command, capsys):
    """Each group but that of --help ends with an example whose options exist."""
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    groups = re.split(r"^(\S[^\n]*):$", text, flags=re.MULTILINE)[1:]
    found = dict(zip(groups[::2], groups[1::2], strict=True))
    assert found.pop("Help").split()[0] == "--help"
    known = set(re.findall(r"^  (--[\w-]+)", text, re.MULTILINE))
    for group in found.values():
        example = shlex.split(re.search(r"Example: (.*)", group)[1])
        assert example[:2] == ["flipcost", command]
        assert {word for word in example if word.startswith("--")} <= known
        assert [word for word in example if word in re.findall(r"--[\w-]+", group)] or (
            "<path>" in group
        )


def test_commands_have_one_line_of_help():
    """Every command says what it does."""
    assert all((c.callback.__doc__ or "").strip() for c in app.registered_commands)


def test_without_prices_both_mistakes_cost_the_same(tmp_path, capsys):
    """Nothing is asked for, and the screen says what was taken and how to set it."""
    pc.write_csv(noisy_table(400).drop_columns("truth"), tmp_path / "a.csv")
    args = ["audit", str(tmp_path / "a.csv"), "--target", "ill", "--out", str(tmp_path / "out")]
    assert main(args) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert "No costs were given" in screen
    assert "(--cost-fn, --cost-fp)" in screen
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    costs = summary["costs"]
    assert (costs["false_negative"], costs["false_positive"], costs["share"]) == (1.0, 1.0, 0.5)
    assert costs["assumed"] is True
    page = (tmp_path / "out" / "report.html").read_text()
    assert "No costs were given" in page


def test_one_price_alone_is_asked_about(tmp_path, capsys):
    """Half of the prices says nothing: the other is asked for."""
    pc.write_csv(noisy_table(100), tmp_path / "a.csv")
    assert main(["audit", str(tmp_path / "a.csv"), "--target", "ill", "--cost-fn", "4"]) == 2
    assert "Give both --cost-fn" in capsys.readouterr().err
