"""The public names of the core."""

import importlib
import pkgutil
import re
import subprocess
import sys

from flipcost import core
from flipcost.core.solve import normal_equations


def test_public_names_are_sorted_documented_and_ours():
    """What the core lists as public is there, sorted, documented, and ours."""
    assert core.__all__ == sorted(core.__all__)
    for name in core.__all__:
        value = getattr(core, name)
        assert value.__doc__, name
        assert getattr(value, "__module__", "").startswith(("flipcost.core", "flipcost.paper")), (
            name
        )


def test_the_function_named_like_its_module_does_not_hide_it_from_imports():
    """`solve` is a function in the core; its module can still be imported from."""
    assert callable(core.solve)
    assert importlib.import_module("flipcost.core.solve").normal_equations is normal_equations


def test_what_only_the_paper_needs_is_imported_when_asked_for():
    """Importing the core imports nothing of the paper; its names are there all the same."""
    script = (
        "import sys, flipcost.core as core\n"
        "assert not any(name.startswith(('flipcost.paper', 'sklearn')) for name in sys.modules)\n"
        "assert core.kliep.__module__ == 'flipcost.paper.kliep'\n"
        "assert core.logistic.inverse_link(0.0) == 0.5\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_module_stands_in_the_index():
    """The docstring of the core lists each public module once, in one of its groups."""
    listed = re.findall(r"^- `(\w+)`: ", core.__doc__, re.MULTILINE)
    public = [m.name for m in pkgutil.iter_modules(core.__path__) if not m.name.startswith("_")]
    assert sorted(listed) == sorted(public)
