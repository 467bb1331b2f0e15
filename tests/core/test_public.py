"""The public names of the core."""

import importlib
import pkgutil
import re

from flipcost import core
from flipcost.core import losses
from flipcost.core.kliep import components
from flipcost.core.solve import normal_equations


def test_public_names_are_sorted_documented_and_at_home_in_the_core():
    """What the core lists as public is there, sorted, documented and defined in the core."""
    assert core.__all__ == sorted(core.__all__)
    for name in core.__all__:
        value = getattr(core, name)
        assert value.__doc__, name
        assert getattr(value, "__module__", "").startswith("flipcost.core"), name


def test_functions_named_like_their_module_do_not_hide_it_from_imports():
    """`solve` and `kliep` are functions in the core; their modules can still be imported from."""
    assert callable(core.solve)
    assert callable(core.kliep)
    assert importlib.import_module("flipcost.core.solve").normal_equations is normal_equations
    assert importlib.import_module("flipcost.core.kliep").components is components
    assert losses.logistic is core.logistic


def test_every_module_stands_in_the_index():
    """The docstring of the core lists each public module once, in one of its groups."""
    listed = re.findall(r"^- `(\w+)`: ", core.__doc__, re.MULTILINE)
    public = [m.name for m in pkgutil.iter_modules(core.__path__) if not m.name.startswith("_")]
    assert sorted(listed) == sorted(public)
