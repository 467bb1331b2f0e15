"""Parameters that the library names become options of the command."""

import typer

from flipcost.cli._app import app
from flipcost.cli._options import OPTIONS, in_options


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
