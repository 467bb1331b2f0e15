"""Parameters that the library names become options of the command."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from flipcost._options import options_of, read_given
from flipcost.audit import AuditOptions
from flipcost.cli._app import app
from flipcost.cli._command import OPTIONS, in_options
from flipcost.exceptions import FlipCostError


def test_every_option_exists():
    """What a message is turned into can be typed."""
    commands = typer.main.get_command(app).commands.values()
    known = {option for command in commands for one in command.params for option in one.opts}
    assert set(OPTIONS.values()) <= known


def test_values_are_ready_for_the_shell():
    """Lists become repeated options, and names with blanks are quoted."""
    said = in_options("Give `drop=['a', 'b c']`, `drop_unusable=True` or `noise_model='auto'`.")
    assert said == "Give --drop a --drop 'b c', --drop-unusable or --noise-model auto."


def test_what_is_no_parameter_stays():
    """Other words in backticks, and names with backticks in them, are left alone."""
    for text in ("see `flipcost audit --help`", "`unheard_of` is 1", "`drop=['a`b']`"):
        assert in_options(text) == text


def test_rates_may_be_percentages():
    """`20%` is `0.2`, alone or as one of two, where shares are typed."""
    typed = {"noise_rate": "20%, 0.1", "prevalence": "8%,15%", "drop": ["a"], "target": None}
    found = read_given(AuditOptions, typed)
    assert found == {"noise_rate": (0.2, 0.1), "prevalence": (0.08, 0.15), "drop": ["a"]}
    with pytest.raises(FlipCostError, match="or 20%"):
        read_given(AuditOptions, {"noise_rate": "20"})
    with pytest.raises(FlipCostError, match=r"got '120%'\.$"):
        read_given(AuditOptions, {"noise_rate": "120%"})


def test_python_and_the_command_line_have_the_same_options():
    """Every option of an audit is documented, and typed unless only Python can give it."""
    command = typer.main.get_command(app).commands["audit"]
    typed = {one.name: one for one in command.params}
    for one in options_of(AuditOptions):
        assert f"{one.name} : {one.takes}" in AuditOptions.__doc__
        assert (one.name in typed) == bool(one.group)
        if one.group:
            assert typed[one.name].help == one.help


def test_a_full_disk_behind_standard_error_hides_nothing():
    """What is wrong cannot be said, and the exit code is that of a mistake all the same."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "flipcost", "audit", "no.csv"], stderr=full, check=False
        )
    assert done.returncode == 2
