"""Imports point down only: the layers of the package, read from its source."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import flipcost

ROOT = Path(flipcost.__file__).parent
# From the bottom up: a file imports from its own layer and from those below. Every package and
# module of flipcost stands here; a new one fails the tests until someone decides where it belongs.
LAYERS = [
    {"exceptions", "_options", "_version", "_staging", "_shadow", "_threads"},
    {"core"},
    {"words"},
    {"tables"},
    {"scale"},
    {"_validation", "metrics", "datasets", "estimators", "plot"},
    {"model"},
    {"paper"},
    {"noise"},
    {"recheck"},
    {"audit", "export"},
    {"report"},
    {"cli"},
    {
        "__init__",
        "__main__",
        "theory",
    },  # the public names, and the way in, are gathered from everywhere
]
FILES = sorted(ROOT.rglob("*.py"))


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported(path):
    """Return modules, or things in modules, that a file imports, wherever in it; read once."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            names += [f"{prefix}.{alias.name}" for alias in node.names]
    return names


def top(name):
    """Return the package or module of flipcost that a dotted name belongs to."""
    return [*name.split("."), "__init__"][1]


def layer(package):
    found = [number for number, packages in enumerate(LAYERS) if package in packages]
    assert found, f"{package} stands in no layer: decide where it belongs"
    return found[0]


def is_of(name, package):
    return name == package or name.startswith(f"{package}.")


@pytest.fixture(params=FILES, ids=lambda path: str(path.relative_to(ROOT)))
def path(request):
    return request.param


def test_no_relative_imports(path):
    """Every import names its module in full."""
    assert not [name for name in imported(path) if name.startswith(".")]


def test_every_package_stands_in_one_layer():
    """No package is left out, none stands twice, and none is listed that does not exist."""
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    modules = {path.stem for path in ROOT.glob("*.py")}
    listed = sorted(name for packages in LAYERS for name in packages)
    assert listed == sorted(packages | modules)


def test_imports_point_down(path):
    """A file imports from its own layer of the package and from those below it."""
    here = layer(top(module_name(path)))
    for name in imported(path):
        if is_of(name, "flipcost"):
            assert layer(top(name)) <= here, f"{path} imports {name}, which lies above it"


def test_private_modules_stay_within_their_package(path):
    """What another package needs has a public name; its files may then move without asking."""
    here = top(module_name(path))
    for name in imported(path):
        parts = name.split(".")
        if is_of(name, "flipcost") and top(name) != here:
            private = [part for part in parts[2:] if re.match("_(?!_)", part)]
            assert not private, f"{path} imports {name}"


def test_the_paper_is_known_to_few(path):
    """The paper uses the product; only `noise`, the command line and the root know the paper."""
    if top(module_name(path)) in ("paper", "noise", "cli", "theory", "__init__"):
        return
    assert not [name for name in imported(path) if is_of(name, "flipcost.paper")]


def test_the_core_needs_numpy_and_scipy_only(path):
    """The core imports numpy, scipy, the standard library, itself and the names of errors."""
    if top(module_name(path)) != "core":
        return
    import sys

    for name in imported(path):
        package = name.split(".")[0]
        allowed = package in {"numpy", "scipy"} or package in sys.stdlib_module_names
        allowed = allowed or is_of(name, "flipcost.core") or is_of(name, "flipcost.exceptions")
        assert allowed, f"{path} imports {name}"


def test_errors_need_the_standard_library_only():
    """The names of errors may be imported from anywhere: they import nothing of ours."""
    path = ROOT / "exceptions.py"
    assert not [name for name in imported(path) if name.split(".")[0] in ("flipcost", "numpy")]


def test_private_parts_of_scikit_learn_are_imported_in_two_files(path):
    """Only the input checks and the trees know scikit-learn's private modules and names."""
    private = [
        name
        for name in imported(path)
        if is_of(name, "sklearn") and any(part.startswith("_") for part in name.split("."))
    ]
    known = (ROOT / "_validation.py", ROOT / "estimators" / "flipcost" / "boosting.py")
    assert not private or path in known, f"{path} imports {private}"


def test_dask_is_imported_in_one_file():
    """At most one file, a route to moments, knows dask."""
    users = [
        path
        for path in FILES
        if any(is_of(name, "dask") or is_of(name, "distributed") for name in imported(path))
    ]
    assert len(users) <= 1, users
    assert all(top(module_name(path)) == "tables" for path in users)


@pytest.mark.parametrize("package", ["duckdb", "psycopg", "pyspark", "polars", "ibis"])
def test_every_engine_is_imported_in_one_file(package):
    """The package of an engine is known to at most one file, of `tables`."""
    users = [path for path in FILES if any(is_of(name, package) for name in imported(path))]
    assert len(users) <= 1, users
    assert all(path.parent == ROOT / "tables" for path in users)


def test_tests_do_not_import_the_experiments():
    """Shared needs belong in the library, not in the experiments."""
    for path in Path(__file__).parent.rglob("*.py"):
        if not {"paper", "cli"} & set(path.relative_to(Path(__file__).parent).parts):
            assert not [n for n in imported(path) if is_of(n, "flipcost.paper.experiments")]


def test_no_file_of_an_audit_needs_itself():
    """In `audit` imports go one way, those for type checking included."""
    names = {module_name(path): path for path in FILES if top(module_name(path)) == "audit"}
    needs = {
        name: {other for other in names if any(is_of(n, other) for n in imported(path))} - {name}
        for name, path in names.items()
    }
    needs.pop("flipcost.audit")
    while free := [name for name, others in needs.items() if not others & set(needs)]:
        for name in free:
            del needs[name]
    assert needs == {}


def test_the_architecture_page_names_what_is_there():
    page = (ROOT.parents[1] / "docs" / "architecture.md").read_text()
    named = re.findall(r"`([\w/]+(?:\.py|/))`", page) + re.findall(r"`(tests/[\w/.]+)`", page)
    assert len(named) > 20
    lost = [n for n in named if not ((ROOT / n).exists() or (ROOT.parents[1] / n).exists())]
    assert not lost
