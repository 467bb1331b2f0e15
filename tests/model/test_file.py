"""Model files that anybody may have written: read, or refused, and nothing else."""

import copy
import json
import os
import socket
import time
import tracemalloc
import warnings
import zipfile

import msgspec
import numpy as np
import pyarrow as pa
import pytest

import flipcost as fc
from flipcost.exceptions import ModelFileError
from flipcost.export import to_onnx, to_sql
from flipcost.model import Formula
from flipcost.model.schema import (
    Column,
    Decision,
    Forest,
    LevelTerm,
    Link,
    Number,
    NumberTerm,
    TreeData,
)
from flipcost.model.storage import from_bytes

ROWS = pa.table(
    {
        "age": [1.0, None, 1e200, -3.0],
        "town": ["Lyon", "Oslo", None, "Nice"],
        "seen": pa.array([0, 40, None, 9000], pa.date32()),
        "sum": [1.0, 2.0, 3.0, 4.0],
    }
)
TREE = TreeData(
    (0, 3, 0, 0, 0),
    (0.5, 0.0, 0.0, 0.0, 0.0),
    (True, False, False, False, False),
    (1, 2, 0, 0, 0),
    (4, 3, 0, 0, 0),
    (0.0, 0.0, 1.0, -1.0, 2.0),
    {1: (True, False, False, True)},
)
PARTS = {
    "classes": ("no", "yes"),
    "positive": 1,
    "columns": (
        Column("age", "number", None, ()),
        Column("town", "category", None, ("Lyon", "Nice")),
        Column("seen", "date", "%Y-%m-%d", ()),
    ),
    "numbers": (
        Number(0, 0, None, None, None, 0.0, 1.0),
        Number(0, 0, 2.0, -5.0, 5.0, 1.0, 2.0),
        Number(2, 3, 0.0, None, None, 0.0, 1.0),
        Number(1, 0, None, None, None, 0.0, 1.0),
    ),
    "number_terms": (NumberTerm(1, (0.5, 1.0), (0.0, 1.0), ((1.0, 0.0), (0.0, -1.0))),),
    "level_terms": (LevelTerm(1, ((0.5, 0.0), (0.0, 0.5), (0.0, 0.0), (-0.5, 0.0))),),
    "bias": (1.0, 0.5),
    "forests": (Forest((TREE,), 0.1, (0.5, 0.0)),),
    "curves": ((0.0, 0.2, 0.6), (0.0, 0.1, 0.4)),
    "link": None,
    "decision": Decision("probability", None, "2 * sum + 1", 3.0, 0.0, 0.0),
    "leaks": (1,),
}
LINKED = PARTS | {
    "bias": (1.0,),
    "number_terms": (NumberTerm(2, (0.5,), (), ()),),
    "level_terms": (),
    "forests": (),
    "curves": None,
    "link": Link("uneven", 0.3, 1.0, 0.1, 0.9),
    "decision": Decision("score", 0.3, 7.0, 3.0, 0.0, 0.0),
    "leaks": (),
}
# What takes the place of each value: wrong types, numbers beyond all ranges, and plausible ones.
VALUES = [
    None, True, "x", [], {}, {"a": 1}, -1, 0.5, 4, 10**9, 2**64, 1e308, -1e308, "a" * 3000, "1..2",
]  # fmt: skip
LITERALS = ["NaN", "Infinity", "1e999", "-1e999", "[" * 90_000, '{"a":' * 90_000, "01"]


def formula(parts):
    return Formula("flipcost.formula", 1, "0.2", **parts)


def contents(parts, folder):
    path = folder / "good.json"
    fc.save(formula(parts), path)
    return json.loads(path.read_text())


def places(content):
    """Yield all places within nested lists and objects: what holds a value, and its key."""
    for key in range(len(content)) if isinstance(content, list) else list(content):
        yield content, key
        if isinstance(content[key], list | dict):
            yield from places(content[key])


def outcome(data):
    """Load the bytes of a file and predict: no other errors, no other probabilities."""
    try:
        model, said = from_bytes(data, "m.json"), ""
    except ModelFileError as error:
        model, said = None, str(error)
    assert len(said) < 600
    assert "\n" not in said
    if model is None:
        return "refused"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = model.predict_proba(ROWS)
            assert np.isfinite(found).all()
            assert found.min() >= 0
            assert found.max() <= 1
            model.predict(ROWS)
        except (ValueError, TypeError):  # rows or columns that do not fit
            pass
    return "taken"


@pytest.mark.parametrize("parts", [PARTS, LINKED], ids=["curves", "link"])
def test_each_value_of_a_file_may_be_anything(parts, tmp_path):
    """Every leaf and branch is replaced, removed and repeated: refused, or a model all the same."""
    good, counts = contents(parts, tmp_path), {"refused": 0, "taken": 0}
    assert outcome(json.dumps(good).encode()) == "taken"
    for k in range(len(list(places(good)))):
        changes = [("put", value) for value in VALUES]
        for change, value in [*changes, ("remove", 0), ("repeat", 0), ("add", 0)]:
            content = copy.deepcopy(good)
            holder, key = list(places(content))[k]
            if change == "put":
                holder[key] = value
            elif change == "remove":
                del holder[key]
            elif change == "repeat" and isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            elif isinstance(holder, dict):
                holder["more"] = holder[key]
            else:
                continue
            found = outcome(json.dumps(content).encode())
            counts[found] += 1
            if change == "remove" or (change == "add" and isinstance(holder, dict)):
                assert found == "refused" or isinstance(holder, list) or key in ("1", "more")
    assert counts["refused"] > 2 * counts["taken"] > 0


def test_text_that_is_no_json(tmp_path):
    """Numbers without end, deep nesting and cut files, anywhere in a file."""
    good = json.dumps(contents(PARTS, tmp_path))
    spots = [k for k, sign in enumerate(good) if sign in ":,"]
    for k in spots[:: max(1, len(spots) // 40)]:
        for literal in LITERALS:
            assert outcome((good[: k + 1] + literal + good[k + 1 :]).encode()) == "refused"
        assert outcome(good[:k].encode()) == "refused"
    assert outcome(good.encode().replace(b"Lyon", b"\xff\xfe")) == "refused"


FORGED = {
    "a child before its parent": ("left", [1, 1, 0, 0, 0]),
    "two parents": ("right", [4, 2, 0, 0, 0]),
    "a child that is not there": ("left", [1, 9, 0, 0, 0]),
    "a number that is not there": ("number", [9, 3, 0, 0, 0]),
    "a category by threshold": ("goes", {}),
    "a number by flags": ("goes", {"0": [True, False], "1": [True, False, False, True]}),
    "flags of other levels": ("goes", {"1": [True, False, True]}),
}


@pytest.mark.parametrize("name", FORGED)
def test_trees_that_are_none(name, tmp_path):
    """What would hang or crash whoever follows it is refused when it is read."""
    content = contents(PARTS, tmp_path)
    field, value = FORGED[name]
    content["forests"][0]["trees"][0][field] = value
    assert outcome(json.dumps(content).encode()) == "refused"


@pytest.mark.parametrize("filling", ["[],", "0,", '"",', '{"left":[]},', "9" * 30 + ","])
@pytest.mark.parametrize("field", ["trees", "bias", "columns", "curves", "classes"])
def test_time_and_memory_follow_the_size(field, filling, tmp_path):
    """Of a megabyte of anything, less than 40 MB and a second."""
    good = json.dumps(contents(PARTS, tmp_path))
    at = good.index("[", good.index(f'"{field}"')) + 1
    more = filling * (1_000_000 // len(filling))
    data = (good[:at] + more + good[at:]).encode()
    tracemalloc.start()
    begun = time.process_time()
    try:
        outcome(data)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()
    assert time.process_time() - begun < 10  # measured under tracing


def _fifo(path):
    os.mkfifo(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _sparse(path):
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


THINGS = {
    "pipe": _fifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "socket": _socket,
    "huge": _sparse,
    "empty": lambda path: path.touch(),
    "missing": lambda path: None,
    "dangling": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("read", [fc.load, fc.core.ClassMoments.load])
@pytest.mark.parametrize("name", THINGS)
@pytest.mark.skipif(os.name != "posix", reason="of POSIX")
def test_what_is_no_file_is_neither_read_nor_waited_for(name, read, tmp_path, monkeypatch):
    """Whatever stands in the place of a file: one sentence at once."""
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    path = tmp_path / "m"
    THINGS[name](path if name != "socket" else type(path)("m"))
    with pytest.raises((ValueError, OSError)) as caught:
        read(path)
    assert not isinstance(caught.value, MemoryError)


def test_files_of_other_kinds_and_times(tmp_path):
    """Archives of version 0.1, later versions, and what is no model: one sentence each."""
    path, good = tmp_path / "m.json", contents(PARTS, tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelFileError, match=r"saved by flipcost 0\.1"):
        fc.load(path)
    path.write_text(json.dumps(good | {"version": 2, "flipcost": "9.9", "new": 1}))
    with pytest.raises(ModelFileError, match=r"written by flipcost 9\.9.*upgrade flipcost"):
        fc.load(path)
    for other in ("{}", "[1]", "not a model", '{"format": "x", "version": 1}', "3"):
        path.write_text(other)
        with pytest.raises(ModelFileError, match="is not a model that flipcost saved"):
            fc.load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    """What cannot be written, or not be read again, changes nothing."""
    path = tmp_path / "m.json"
    fc.save(formula(PARTS), path)
    before = path.read_bytes()
    monkeypatch.setattr(type(path), "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        fc.save(formula(LINKED), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_other_forms_of_all_parts():
    """A formula made by hand, which no one fitted, is written too."""
    for parts in (PARTS, LINKED):
        assert to_sql(formula(parts))
        assert to_onnx(formula(parts))


def _amplified(name):
    """Return a file of some megabytes whose parts would take gigabytes once rows are scored."""
    number = {"column": 0, "part": 0, "fill": 0, "low": None, "high": None, "centre": 0, "scale": 1}
    term = {"number": 0, "slopes": [1], "knots": [], "bends": []}
    content = json.loads(msgspec.json.encode(formula(LINKED)))
    content |= {"numbers": [number], "number_terms": [term]}
    if name == "hinges":
        term |= {"knots": [0] * 1_000_000, "bends": [[1]] * 1_000_000}
    elif name == "terms":
        content["number_terms"] = [term] * 100_000
    elif name == "tables":
        content["level_terms"] = [{"column": 0, "values": [[0], [0]]}] * 100_000
    elif name == "forests":
        content["forests"] = [{"trees": [], "baseline": 0, "share": [1]}] * 100_000
    else:
        ones, curves = [0] * 300_000, [[0, 0]] * 300_000
        content |= {"link": None, "curves": curves, "bias": ones}
        content["decision"] = dict.fromkeys(("fn", "fp", "tp", "tn"), None)
        content["decision"] |= {"by": "always", "threshold": 0.5}
        term["slopes"] = ones
    return json.dumps(content).encode()


@pytest.mark.parametrize("name", ["hinges", "terms", "tables", "forests", "scores"])
def test_a_part_that_takes_more_memory_than_file_is_refused(name):
    """A block of rows takes memory for each score and hinge: there is a limit to either."""
    with pytest.raises(ModelFileError, match="damaged or was changed"):
        from_bytes(_amplified(name), "m.json")


def test_rows_are_scored_in_parts_that_fit():
    """However many numbers a file has for its trees, a thousand rows take 200 MB."""
    number = Number(0, 0, None, None, None, 0.0, 1.0)
    stump = TreeData(
        (0, 0, 0), (0.5, 0.0, 0.0), (True, False, False), (1, 0, 0), (2, 0, 0), (0.0, 1.0, -1.0), {}
    )
    model = formula(
        LINKED
        | {
            "columns": (Column("age", "number", None, ()),),
            "numbers": (number,) * 100_000,
            "number_terms": (),
            "forests": (Forest((stump,), 0.0, (1.0,)),),
        }
    )
    model.predict_proba([[0.0]])  # what is laid out once
    tracemalloc.start()
    try:
        found = model.predict_proba(np.tile([[0.0], [1.0]], (500, 1)))
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    assert len(np.unique(found[:, 1])) == 2


def test_curves_that_overflow_are_refused_without_a_warning(tmp_path):
    content = contents(PARTS, tmp_path)
    content["curves"] = [[0, 1e308, 1.7e308]] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcome(json.dumps(content).encode()) == "refused"
