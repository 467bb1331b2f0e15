"""Every public object is documented, with an example that runs (doctests are run on their own)."""

import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import pytest

import flipcost

# The modules that the reference lists: the public names, and the pages that the site is built from.
_PAGES = (Path(__file__).parents[1] / "docs" / "_ext" / "reference.py").read_text()
_NAMES = re.findall(r'^    "(\w+)": "', _PAGES, re.MULTILINE)
REFERENCE = {"flipcost", "flipcost.core", *(f"flipcost.{name}" for name in _NAMES)}


def public_modules():
    """Names of modules without a private part, the packages among them."""
    yield "flipcost"
    for module in pkgutil.walk_packages(flipcost.__path__, "flipcost."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            yield module.name


def public_names(module):
    """Names in `__all__`; what a module without it defines is internal."""
    return [name for name in getattr(module, "__all__", ()) if not name.startswith("_")]


def collect(*, listed=False):
    """Public functions and classes by their first public name, each once."""
    found = {}
    for module_name in public_modules():
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            continue  # `test_modules_are_documented` fails on it, and on it alone
        if listed and module_name not in REFERENCE:
            continue
        for name in public_names(module):
            thing = getattr(module, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                found.setdefault(thing, f"{module_name}.{name}")
    return {name: thing for thing, name in found.items()}


OBJECTS = collect()
# What the reference shows; the rest is internal, and a plain sentence will do.
LISTED = collect(listed=True)


def needs_example(thing):
    """Tell whether an object is called by users, and not only handed to them.

    Protocols describe what others implement; exceptions and warnings are raised, not made; a
    dataclass that is a mere record, or lists `Attributes` only, is a result whose maker has the
    example.
    """
    if inspect.isfunction(thing):
        return True
    if getattr(thing, "_is_protocol", False) or issubclass(thing, BaseException):
        return False
    fields = getattr(thing, "__dataclass_fields__", None)
    if fields is None:
        return True
    is_record = not any(n for n in vars(thing) if not n.startswith("_") and n not in fields)
    return not is_record and "Parameters\n" in thing.__doc__


@pytest.mark.parametrize("name", list(public_modules()))
def test_modules_are_documented(name):
    """Every public module says what it is for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (importlib.import_module(name).__doc__ or "").strip()


@pytest.mark.parametrize("name", list(OBJECTS))
def test_objects_are_documented(name):
    """Every public function and class has a docstring whose first line is a sentence."""
    docstring = inspect.getdoc(OBJECTS[name])
    assert docstring
    assert docstring.splitlines()[0].rstrip().endswith(".")


@pytest.mark.parametrize("name", [name for name, thing in LISTED.items() if needs_example(thing)])
def test_objects_have_an_example(name):
    """Every listed function, and every class that users make, shows how it is used."""
    docstring = inspect.getdoc(LISTED[name])
    assert re.search(r"Examples\n\s*--------\n", docstring)
    assert ">>> " in docstring


@pytest.mark.parametrize(
    "name", [name for name, thing in OBJECTS.items() if inspect.isclass(thing)]
)
def test_public_methods_are_documented(name):
    """Every public method and property that a class defines itself has a docstring."""
    for attribute, thing in vars(OBJECTS[name]).items():
        method = getattr(thing, "__func__", getattr(thing, "fget", thing))
        own = (
            inspect.isfunction(method)
            and method.__qualname__ == f"{OBJECTS[name].__name__}.{attribute}"
        )
        if own and not attribute.startswith("_"):
            assert inspect.getdoc(method), f"{name}.{attribute}"
