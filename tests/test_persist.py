"""Saving and loading models: faithful, and closed to anything foreign."""

import json
import shutil
import sys
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_array
from threadpoolctl import threadpool_limits

from flipcost import _persist
from flipcost._persist import _types, load, read_about, save
from flipcost._persist._order import in_order, packed
from flipcost._persist._write import archived
from flipcost.core.costs import Costs
from flipcost.datasets import make_syn3d
from flipcost.estimators import UnevenMarginClassifier, UnevenMarginClassifierCV
from flipcost.estimators.flipcost import FlipCostClassifier
from flipcost.exceptions import ModelFileError
from flipcost.paper.forward import ForwardLogisticClassifier

DATA = make_syn3d(400, random_state=0)
MODELS = [
    UnevenMarginClassifier(cost=Costs(fn=4, fp=1), noise_rate=0.1),
    UnevenMarginClassifierCV(l2s=[0.1, 1.0]),
    ForwardLogisticClassifier(cost=0.2, noise_rate=0.1),
    FlipCostClassifier(cost=0.2, random_state=0),
    FlipCostClassifier(
        estimator=HistGradientBoostingClassifier(max_iter=5), noise_rate=0.1, random_state=0
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_loaded_model_predicts_what_the_saved_one_did(model, tmp_path):
    """Scores survive the file to the last bit."""
    with threadpool_limits(limits=1):  # threads only get in each other's way on 400 rows
        model.fit(DATA.data, DATA.target)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    assert again.get_params().keys() == model.get_params().keys()
    np.testing.assert_array_equal(again.predict(DATA.data), model.predict(DATA.data))
    np.testing.assert_array_equal(again.predict_proba(DATA.data), model.predict_proba(DATA.data))


WITH_STEPS = make_pipeline(
    ColumnTransformer(
        [
            ("kinds", OneHotEncoder(sparse_output=False), slice(0, 1)),
            ("numbers", StandardScaler(), [1, 2]),
        ]
    ),
    FunctionTransformer(partial(check_array, dtype=np.float32)),
    LogisticRegression(random_state=np.random.RandomState(3)),
)
OTHERS = [
    RandomForestClassifier(3, random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0),
    WITH_STEPS,
]


@pytest.mark.parametrize("model", [*MODELS, *OTHERS], ids=lambda model: type(model).__name__)
def test_a_file_is_what_skops_writes(model, monkeypatch):
    """Known types are described in skops' words, to the last one, without importing it."""
    with threadpool_limits(limits=1):
        model.fit(np.round(DATA.data), DATA.target)
    theirs = in_order(skops.io.dumps(model))
    monkeypatch.setitem(sys.modules, "skops.io", None)  # an import of it fails
    monkeypatch.delattr(skops, "io")
    ours = in_order(packed(archived(model)))
    words = [json.loads(parts.pop("schema.json")) for parts in (ours, theirs)]
    assert ours == theirs
    if words[1]["protocol"] == 2:
        assert words[0] == words[1]


def test_skops_reads_what_is_written(tmp_path):
    """A file is a skops archive: skops makes the same model of it."""
    model = FlipCostClassifier(cost=0.2, random_state=0).fit(DATA.data, DATA.target)
    save(model, tmp_path / "m.skops")
    known = skops.io.get_untrusted_types(file=tmp_path / "m.skops")
    assert all(name.startswith(("flipcost.", "sklearn.", "numpy.dtype")) for name in known)
    again = skops.io.load(tmp_path / "m.skops", trusted=known)
    np.testing.assert_array_equal(again.predict_proba(DATA.data), model.predict_proba(DATA.data))


def test_other_types_are_left_to_skops(tmp_path):
    """A type that the caller names is written by skops, and read again."""
    model = SVC(random_state=0).fit(DATA.data, DATA.target)
    kinds = ["sklearn.svm._classes.SVC"]
    save(model, tmp_path / "m.skops", trusted=kinds)
    again = load(tmp_path / "m.skops", trusted=kinds)
    np.testing.assert_array_equal(again.predict(DATA.data), model.predict(DATA.data))


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "m.skops"
    save(UnevenMarginClassifier().fit(DATA.data, DATA.target), path)
    return path


def rewrite(path, name, change):
    """Change one entry of the archive."""
    aside = path.with_suffix(".new")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(aside, "w") as new:
        for entry in old.namelist():
            data = old.read(entry)
            new.writestr(entry, change(data) if entry == name else data)
    shutil.move(aside, path)


def test_a_file_from_before_types_moved_is_loaded(tmp_path):
    """What a file calls by its former name is made of the type that bears another now."""
    path = tmp_path / "m.skops"
    model = FlipCostClassifier(noise_rate=0.1, features="linear", random_state=0)
    save(model.fit(DATA.data, DATA.target), path)
    former = {new: old for old, new in _types.MOVED.items()}

    def rename(part):
        if isinstance(part, dict):
            part = {key: rename(value) for key, value in part.items()}
            old = former.get(f"{part.get('__module__')}.{part.get('__class__')}")
            return part if old is None else {**part, "__module__": old.rpartition(".")[0]}
        return [rename(value) for value in part] if isinstance(part, list) else part

    def change(data):
        renamed = json.dumps(rename(json.loads(data))).encode()
        assert all(old.rpartition(".")[0].encode() in renamed for old in former.values())
        return renamed

    rewrite(path, "schema.json", change)
    np.testing.assert_array_equal(load(path).predict(DATA.data), model.predict(DATA.data))


def test_a_file_names_its_versions(saved):
    """Versions and the kind of model can be read without loading."""
    about = read_about(saved)
    assert about["format"] == 1
    assert about["model"] == "UnevenMarginClassifier"
    assert {"flipcost", "scikit-learn", "numpy", "scipy"} <= set(about)


def test_a_file_of_a_later_format_is_refused(saved):
    """A later format is not guessed at: upgrade, says the message."""
    change = lambda data: json.dumps({**json.loads(data), "format": 2, "flipcost": "9.9"}).encode()  # noqa: E731
    rewrite(saved, "flipcost.json", change)
    with pytest.raises(ModelFileError, match=r"written by flipcost 9.9.*upgrade flipcost"):
        load(saved)


def test_another_scikit_learn_is_warned_of(saved):
    """A model of another minor version loads, with a warning."""
    change = lambda data: json.dumps({**json.loads(data), "scikit-learn": "1.2.0"}).encode()  # noqa: E731
    rewrite(saved, "flipcost.json", change)
    with pytest.warns(UserWarning, match=r"written with scikit-learn 1\.2\.0"):
        load(saved)


def test_a_model_that_no_longer_loads_says_which_versions_made_it(saved):
    """When the classes of another version are gone, the versions are named."""
    change = lambda data: json.dumps({**json.loads(data), "flipcost": "0.0.1"}).encode()  # noqa: E731
    rewrite(saved, "flipcost.json", change)
    rewrite(saved, "schema.json", lambda data: data.replace(b"ClassMoments", b"OldMoments"))
    with pytest.raises(ModelFileError, match=r"asks for|written by flipcost 0\.0\.1"):
        load(saved)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"flipcost.estimators._uneven_margin", b"posix"),
        (b'"UnevenMarginClassifier"', b'"warnings"'),
        (b'"UnevenMarginClassifier"', b'"positive_index"'),
    ],
)
def test_a_tampered_file_is_refused(saved, old, new):
    """Other modules, and things in our modules that are not our classes, are not made."""
    rewrite(saved, "schema.json", lambda data: data.replace(old, new))
    with pytest.raises(ModelFileError, match=r"asks for|damaged"):
        load(saved)


def test_foreign_objects_are_neither_saved_nor_loaded(tmp_path):
    """A function of another package is refused in both directions."""
    model = FunctionTransformer(shutil.rmtree)
    with pytest.raises(ModelFileError, match="rmtree"):
        save(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []
    skops.io.dump(model, tmp_path / "m.skops")
    with zipfile.ZipFile(tmp_path / "m.skops", "a") as archive:
        archive.writestr("flipcost.json", json.dumps(_persist._about(model)))
    with pytest.raises(ModelFileError, match="Do not load it"):
        load(tmp_path / "m.skops")


def test_a_damaged_file_is_refused(saved, tmp_path):
    """Half a file, a changed byte and another kind of file are refused with a sentence."""
    data = saved.read_bytes()
    (tmp_path / "half").write_bytes(data[: len(data) // 2])
    middle = data.find(b"schema.json") + 60
    changed = bytearray(data)
    changed[middle] ^= 0xFF
    (tmp_path / "changed").write_bytes(bytes(changed))
    (tmp_path / "text").write_text("hello")
    (tmp_path / "nothing").write_bytes(b"")
    for name in ("half", "changed", "text", "nothing", "absent"):
        with pytest.raises(ModelFileError) as caught:
            load(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_saving_replaces_a_file_only_when_it_is_whole(saved, monkeypatch):
    """A failure while writing leaves the old file, and nothing beside it."""
    before = saved.read_bytes()

    def fail(*args, **kwargs):
        msg = "No space left on device"
        raise OSError(28, msg)

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="No space"):
        save(UnevenMarginClassifier(), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["m.skops"]
