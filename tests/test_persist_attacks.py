"""Model files made by somebody who means harm: refused with a sentence, before anything is done."""

import io
import json
import subprocess
import sys
import textwrap
import zipfile
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from flipcost import _persist
from flipcost._persist import load, save
from flipcost.datasets import make_syn3d
from flipcost.estimators import UnevenMarginClassifier
from flipcost.estimators.flipcost import FlipCostClassifier
from flipcost.exceptions import ModelFileError

DATA = make_syn3d(120, random_state=0)
X, Y = DATA.data, DATA.target


def unpack(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def nodes_of(state, loader):
    """All descriptions by a loader, wherever in the schema."""
    found = []
    if isinstance(state, dict):
        if state.get("__loader__") == loader:
            found.append(state)
        state = list(state.values())
    if isinstance(state, list):
        found += [node for part in state for node in nodes_of(part, loader)]
    return found


def edit(path, change):
    """Let `change` alter the schema and the parts of a model file."""
    parts = unpack(path)
    schema = json.loads(parts["schema.json"])
    change(schema, parts)
    pack(path, {**parts, "schema.json": json.dumps(schema, indent=2)})


def write_schema(path, schema, **parts):
    about = json.dumps(_persist._about(UnevenMarginClassifier()))
    schema = {"protocol": 2, "_skops_version": "0", **schema}
    pack(path, {"flipcost.json": about, "schema.json": json.dumps(schema), **parts})


def run(code, *args):
    """Run a program of its own, which may be killed by what it does."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "m.skops"
    save(UnevenMarginClassifier().fit(X, Y), place)
    return place


@pytest.mark.parametrize("when", [3])
def test_a_file_that_is_swapped_while_it_is_loaded_does_no_harm(path, tmp_path, when):
    """What was checked is what is loaded: a swap between two readings finds no second reading."""
    evil = tmp_path / "evil.skops"
    call = {"__class__": "system", "__module__": "posix", "__loader__": "ConstructorFromReduceNode"}
    text = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    command = {**text, "content": json.dumps(f"touch {tmp_path / 'trace'}")}
    args = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    write_schema(evil, {**call, "content": {**args, "content": [command]}})
    done = run(
        """
        import os, sys
        from flipcost._persist import load
        path, evil, when = sys.argv[1], sys.argv[2], int(sys.argv[3])
        opened = 0
        def swap(event, args):
            global opened
            if event == "open" and str(args[0]) == path:
                opened += 1
                if opened == when:
                    os.replace(evil, path)
        sys.addaudithook(swap)
        print(type(load(path)).__name__, opened)
        """,
        path,
        evil,
        when,
    )
    assert done.stdout.split() == ["UnevenMarginClassifier", "1"], done.stderr
    assert not (tmp_path / "trace").exists()


def test_loading_opens_makes_and_starts_nothing(tmp_path):
    """Seen from outside, a load reads its file and does nothing else, whatever is in the file."""
    models = {
        "linear": UnevenMarginClassifier(),
        "flipcost": FlipCostClassifier(features="linear", random_state=np.random.RandomState(0)),
        "boosting": HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]),
        "forest": RandomForestClassifier(2, n_jobs=2),
    }
    for name, model in models.items():
        model.fit(np.round(X) % 5, Y)
        save(model, tmp_path / name)
    names = ("posix.system", "flipcost.paper.experiments.run.UnitStore", "pathlib.Path.touch")
    for k, name in enumerate(names):
        module, _, attribute = name.rpartition(".")
        for loader in ("ConstructorFromReduceNode", "ObjectNode", "TypeNode", "FunctionNode"):
            args = [{"__loader__": "JsonNode", "content": '"x"', "__class__": "", "__module__": ""}]
            content = {"__loader__": "TupleNode", "__class__": "tuple", "__module__": "builtins"}
            state = {"__loader__": loader, "__class__": attribute, "__module__": module}
            place = tmp_path / f"evil-{k}-{loader}"
            write_schema(place, {**state, "content": {**content, "content": args}})
    done = run(
        """
        import os, sys
        from pathlib import Path
        from flipcost._persist import load
        from flipcost.exceptions import ModelFileError
        folder = Path(sys.argv[1])
        files = sorted(folder.iterdir())
        for path in files:  # whatever must be imported is imported now
            if not path.name.startswith("evil"):
                load(path)
        os.chdir(folder)
        seen, quiet = [], ("object.", "compile", "exec", "code.", "builtins.id", "sys._")
        watching = True
        def watch(event, args):
            if watching and not event.startswith(quiet):
                if event == "open" and Path(str(args[0])) in files and args[1] in ("r", "rb"):
                    return
                seen.append((event, str(args)[:80]))
        sys.addaudithook(watch)
        refused = 0
        for path in files:
            try:
                load(path)
            except ModelFileError as error:
                refused += 1
        watching = False
        print(refused, seen, sorted(set(folder.iterdir()) - set(files)))
        """,
        tmp_path,
    )
    assert done.stdout.strip() == "12 [] []", done.stdout + done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "flipcost.paper.experiments.run.UnitStore",
        "sklearn.svm._classes.SVC",
        "sklearn.neighbors._kd_tree.NeighborsHeap64",
        "flipcost.estimators.base.LinearClassifier",
    ],
)
@pytest.mark.parametrize("loader", ["ConstructorFromReduceNode", "ObjectNode", "TypeNode"])
def test_classes_of_ours_and_of_scikit_learn_that_are_in_no_model_are_not_made(path, name, loader):
    """That a class is ours or scikit-learn's is no reason to make it."""
    module, _, attribute = name.rpartition(".")
    write_schema(path, {"__loader__": loader, "__class__": attribute, "__module__": module})
    with pytest.raises(ModelFileError, match=rf"asks for {name}.*`trusted`"):
        load(path)


def test_another_estimator_is_saved_and_loaded_when_it_is_trusted(tmp_path):
    """Whoever uses another estimator names it, in both directions; the messages say so."""
    place = tmp_path / "m.skops"
    model = FlipCostClassifier(estimator=SVC(), noise_rate=0.1, random_state=0).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"holds sklearn.svm._classes.SVC.*`trusted`"):
        save(model, place)
    save(model, place, trusted=[SVC])
    with pytest.raises(ModelFileError, match=r"asks for sklearn.svm._classes.SVC"):
        load(place)
    for trusted in ([SVC], "sklearn.svm._classes.SVC"):
        again = load(place, trusted=trusted)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_model_of_categories_can_be_saved(tmp_path):
    """Boosting with categories holds a function of scikit-learn's, which is known."""
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["d"] = np.where(X[:, 0] > 0, "u", "v")
    model = FlipCostClassifier(random_state=0).fit(frame, Y)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def forge_nodes(path, field, change):
    """Change a field of the nodes of every tree."""

    def apply(_, parts):
        for name, data in parts.items():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(data))
                if array.dtype.names and field in array.dtype.names:
                    array[field] = change(array)
                    parts[name] = npy(array)

    edit(path, apply)


BOOSTING = {
    "a child beyond the last": ("left", lambda nodes: nodes["left"] + 1_000_000),
    "a circle": ("left", lambda nodes: 0),
    "a right child that is the left": ("right", lambda nodes: nodes["left"]),
    "a feature beyond the last": ("feature_idx", lambda nodes: 10_000_000),
    "a feature before the first": ("feature_idx", lambda nodes: -5),
    "no leaf": ("is_leaf", lambda nodes: 0),
    "a category of a number": ("is_categorical", lambda nodes: 1),
    "a value that is none": ("value", lambda nodes: np.nan),
}
TREES = {
    "a child beyond the last": (
        "left_child",
        lambda n: np.where(n["left_child"] < 0, -1, n["left_child"] + 1_000_000),
    ),
    "a circle": ("left_child", lambda n: np.where(n["left_child"] < 0, -1, 0)),
    "one child only": ("right_child", lambda nodes: -1),
    "a child before the first": ("left_child", lambda nodes: nodes["left_child"] - 3),
    "a feature beyond the last": ("feature", lambda nodes: 10_000_000),
    "a threshold that is none": ("threshold", lambda nodes: np.nan),
}


@pytest.fixture(scope="module")
def saved_trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    models = {
        "boosting": HistGradientBoostingClassifier(max_iter=2),
        "tree": DecisionTreeClassifier(max_depth=3),
        "forest": RandomForestClassifier(2),
        "gradient": GradientBoostingClassifier(n_estimators=2),
    }
    for name, model in models.items():
        save(model.fit(X, Y), folder / name)
    return folder


@pytest.mark.parametrize("attack", BOOSTING)
def test_forged_boosting_is_refused(saved_trees, tmp_path, attack):
    """Nodes that point nowhere, in circles or at no feature do not reach compiled code."""
    place = tmp_path / "m.skops"
    place.write_bytes((saved_trees / "boosting").read_bytes())
    forge_nodes(place, *BOOSTING[attack])
    with pytest.raises(ModelFileError, match=r"describes a HistGradientBoostingClassifier that"):
        load(place)


def _at(place, value):
    def change(array):
        changed = array.copy()
        changed[place] = value
        return changed

    return change


SUMS = {
    "a child beyond the tree": ("left", _at(0, 10_000)),
    "a child before its parent": ("right", _at(1, 1)),
    "a child that is the root": ("left", _at(0, 0)),
    "a column beyond the last": ("feature", _at(0, 3)),
    "a column before the first": ("feature", _at(0, -1)),
    "a threshold that is none": ("threshold", _at(0, np.nan)),
    "a value without end": ("value", _at(-1, np.inf)),
    "too few values": ("value", lambda array: array[:-1]),
    "a tree without nodes": ("first", _at(1, 0)),
    "nodes of no tree": ("first", lambda array: array[:-1]),
    "children that are no whole numbers": ("left", lambda array: array + 0.0),
    "flags that are numbers": ("missing_left", lambda array: array.astype(int)),
    "codes of a leaf": ("codes", lambda _: {1_000_000: np.zeros(257, bool)}),
    "too few codes": ("codes", lambda _: {0: np.zeros(2, bool)}),
    "a baseline that is none": ("baseline", lambda _: float("nan")),
}


@pytest.fixture(scope="module")
def pooled_model():
    model = FlipCostClassifier(random_state=0).fit(X, Y)
    assert len(model.scorer_.boosting.trees) == 64
    return model


@pytest.mark.parametrize("attack", SUMS)
def test_forged_sums_of_trees_are_refused(pooled_model, tmp_path, attack):
    """Nodes that point nowhere, in circles or at no column are not followed."""
    name, change = SUMS[attack]
    scorer = pooled_model.scorer_
    forged = replace(scorer.boosting, **{name: change(getattr(scorer.boosting, name))})
    model = copy(pooled_model)
    model.scorer_ = replace(scorer, boosting=forged)
    # What would not be loaded is not saved either: both look at it in the same way.
    with pytest.raises(ModelFileError, match=r"describes a (TreeSum|PooledScores) that"):
        save(model, tmp_path / "m.skops")


def test_sums_of_trees_are_read_as_they_were(pooled_model, tmp_path):
    """To the last bit, and so is boosting of scikit-learn's, as older files hold it."""
    older = copy(pooled_model)
    plain = HistGradientBoostingClassifier(max_iter=9).fit(X, Y)
    older.scorer_ = replace(pooled_model.scorer_, boosting=plain)
    for model in (pooled_model, older):
        save(model, tmp_path / "m.skops")
        found = load(tmp_path / "m.skops").predict_proba(X)
        assert np.array_equal(found, model.predict_proba(X))


@pytest.mark.parametrize("attack", TREES)
@pytest.mark.parametrize("model", ["tree", "forest", "gradient"])
def test_forged_trees_are_refused(saved_trees, tmp_path, model, attack):
    """So do those of decision trees, before the tree is made."""
    place = tmp_path / "m.skops"
    place.write_bytes((saved_trees / model).read_bytes())
    forge_nodes(place, *TREES[attack])
    with pytest.raises(ModelFileError, match=r"describes a tree that cannot be"):
        load(place)


@pytest.mark.parametrize("model", ["boosting", "tree", "forest", "gradient"])
@pytest.mark.parametrize("width", ["1", "4", "10000000", "null", '"3"'])
def test_trees_are_as_wide_as_their_owners(saved_trees, tmp_path, model, width):
    """A model that admits narrower rows than its trees look at is refused."""
    place = tmp_path / "m.skops"
    place.write_bytes((saved_trees / model).read_bytes())

    def apply(schema, _):
        schema["content"]["content"]["n_features_in_"]["content"] = width
        schema["content"]["content"]["n_features_in_"]["__id__"] = 1

    edit(place, apply)
    with pytest.raises(ModelFileError, match=r"describes a \w+ that cannot be"):
        load(place)


@pytest.mark.parametrize(("key", "value"), [("node_count", "100000"), ("max_depth", "1")])
def test_a_tree_counts_its_nodes(saved_trees, tmp_path, key, value):
    """Numbers that compiled code takes for sizes agree with what there is."""
    place = tmp_path / "m.skops"
    place.write_bytes((saved_trees / "tree").read_bytes())

    def apply(schema, _):
        for tree in nodes_of(schema, "TreeNode"):
            tree["content"]["content"][key].update(content=value, __id__=1)

    edit(place, apply)
    with pytest.raises(ModelFileError, match=r"describes a tree that cannot be"):
        load(place)


def test_categories_fit_their_columns(tmp_path):
    """An encoder that would write beyond its columns is refused."""
    place = tmp_path / "m.skops"
    save(OneHotEncoder().fit(np.array([["a"], ["b"], ["c"]])), place)

    def apply(schema, _):
        outs = schema["content"]["content"]["_n_features_outs"]["content"]
        outs[0].update(content="1", __id__=1)

    edit(place, apply)
    with pytest.raises(ModelFileError, match=r"describes a OneHotEncoder that cannot be"):
        load(place)


def test_attributes_do_not_stand_in_for_methods(path):
    """What a file holds is data: it replaces no method."""

    def apply(schema, _):
        held = schema["content"]
        held["content"]["predict"] = held["content"]["cost"]
        held["key_types"]["content"].append(held["key_types"]["content"][0])

    edit(path, apply)
    with pytest.raises(ModelFileError, match=r"describes an object that cannot be"):
        load(path)


def swap_array(path, shape, make):
    """Replace the arrays of a shape."""
    swapped = 0

    def apply(_, parts):
        nonlocal swapped
        for name, data in parts.items():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(data))
                if array.shape == shape:
                    parts[name] = npy(make(array))
                    swapped += 1

    edit(path, apply)
    assert swapped


def test_numbers_that_cannot_be_are_refused(path):
    """Coefficients are finite and as many as features; scatters are scatters."""
    whole = path.read_bytes()
    for shape, make in (
        ((1, 3), lambda a: a * np.nan),
        ((1, 3), lambda a: np.ones((1, 4))),
        ((2, 3, 3), lambda a: -a),
        ((2, 3, 3), lambda a: np.ones((2, 4, 4))),
        ((2, 3), lambda a: a + np.inf),
    ):
        path.write_bytes(whole)
        swap_array(path, shape, make)
        with pytest.raises(ModelFileError, match=r"describes a \w+ that cannot be"):
            load(path)


def test_curves_are_probabilities(tmp_path):
    """A model that would state a probability of 1.5 is refused."""
    place = tmp_path / "m.skops"
    save(FlipCostClassifier(features="linear", random_state=0).fit(X, Y), place)
    model = load(place)
    swap_array(place, model._result.curves.curves.shape, lambda curves: curves + 0.5)
    with pytest.raises(ModelFileError, match=r"describes a ScoreCurves that cannot be"):
        load(place)


def too_large(path):
    import tracemalloc

    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=r"unpacks to far more|not as long as it says"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 40e6 + 30 * path.stat().st_size
    finally:
        tracemalloc.stop()


def test_a_small_file_does_not_fill_the_memory(path):
    """Zeros, empty lists, one array in many places, an array of a length that is not there."""
    parts = unpack(path)
    pack(path, {**parts, "zeros.npy": npy(np.zeros(4_000_000))})
    too_large(path)
    lists = b"[" + b"[]," * 2_000_000 + b"0]"
    pack(path, {**parts, "schema.json": lists})
    too_large(path)
    write_schema(path, {"__loader__": "JsonNode", "content": lists.decode()} | _plain("str"))
    too_large(path)
    array = {"__loader__": "NdArrayNode", "type": "numpy", "file": "a.npy", "__module__": "numpy"}
    many = [{**array, "__class__": "ndarray"}] * 200
    state = {"__loader__": "ListNode", **_plain("list"), "content": many}
    write_schema(path, state, **{"a.npy": npy(np.arange(30_000))})
    too_large(path)
    header = npy(np.zeros(1)).replace(b"(1,), }" + b" " * 12, b"(1000000000000,), }")
    write_schema(path, {**array, "__class__": "ndarray"}, **{"a.npy": header})
    too_large(path)


def _plain(name):
    return {"__class__": name, "__module__": "builtins"}


def test_a_deep_description_is_refused(path):
    """Lists in lists in lists end in a sentence, not in an overflow."""
    for depth in (150, 5_000):
        state = '{"__loader__": "JsonNode", "__class__": "", "__module__": "", "content": "1"}'
        start = '{"__loader__": "ListNode", "__class__": "list", "__module__": "builtins", '
        text = f'{start} "content": [' * depth + state + "]}" * depth
        text = text.replace("{", '{"protocol": 2, ', 1)
        about = json.dumps(_persist._about(UnevenMarginClassifier()))
        pack(path, {"flipcost.json": about, "schema.json": text})
        with pytest.raises(ModelFileError, match="damaged or was changed"):
            load(path)


def test_archives_of_other_kinds_are_refused(path, tmp_path):
    """Parts that occur twice or are locked, folders and pipes end in a sentence."""
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelFileError, match="a part twice"):
        load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("flipcost.json", "{}")
    with pytest.raises(ModelFileError, match="packed in a way"):
        load(path)
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)
    import os

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="no ordinary file"):
        load(tmp_path / "pipe")


def test_messages_bear_what_a_file_says(path):
    """Names in a file reach the screen short and without its control characters."""
    name = "\x1b[2J" + "x" * 5_000
    write_schema(path, {"__loader__": "ObjectNode", "__class__": name, "__module__": "m"})
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 300
