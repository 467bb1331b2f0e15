"""Errors of the package: one base, one line each, and no words of the command line."""

import ast
import inspect
import pickle
import re
from pathlib import Path

import pytest

from flipcost import exceptions

CLASSES = [
    thing
    for _, thing in inspect.getmembers(exceptions, inspect.isclass)
    if issubclass(thing, Exception) and not issubclass(thing, Warning)
]


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_are_value_errors_under_one_base(kind):
    """Callers catch all of them at once, or as bad values."""
    assert issubclass(kind, exceptions.FlipCostError)
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize("kind", CLASSES)
def test_messages_are_one_line_and_travel(kind):
    """Line breaks in names become blanks, and other processes may raise the error."""
    error = pickle.loads(pickle.dumps(kind("a\n  b")))
    assert type(error) is kind
    assert str(error) == "a b"


def test_the_row_of_a_cell_travels():
    """A worker's error names the row that it was read from."""
    error = pickle.loads(pickle.dumps(exceptions.CellError("no number", 4)))
    assert (str(error), error.row) == ("no number", 4)


def test_no_other_file_defines_an_error():
    """Every error and warning of the package has its home in `exceptions.py`."""
    home = Path(exceptions.__file__)
    definition = re.compile(r"^class \w+\(.*(Error|Exception|Warning)\):", re.MULTILINE)
    files = [path for path in home.parent.rglob("*.py") if path != home]
    assert not [path for path in files if definition.search(path.read_text(encoding="utf-8"))]


def strings(path):
    """Yield the string constants of a file, docstrings and parts of f-strings among them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_the_library_names_no_option_of_the_command_line():
    """Who calls from Python never typed ``--drop``; the command says it in its own options."""
    root = Path(exceptions.__file__).parent
    option = re.compile(r"(?:^|[\s\"'`(])--[a-z]")
    found = [
        f"{path.relative_to(root)}: {text}"
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0] not in ("cli", "__main__.py")
        and path != root / "audit" / "_options.py"  # where options and their flags are declared
        for text in strings(path)
        if option.search(text.replace("var(--", ""))
        and not re.search(r"\{--|:host \{", text)  # not a style sheet
    ]
    assert not found


def test_words_between_two_quotations_are_not_cut():
    """Only what stands in quotes is shortened: the end of one quotation begins no other."""
    words = "is the cheaper mistake at these prices; are the two of them swapped, or is the label"
    message = f"Missing 'yes', {words} 'yes' wrong? " + "'" + "x" * 200 + "'"
    shown = exceptions.clean_text(message)
    assert words in shown
    assert "x" * 100 not in shown
