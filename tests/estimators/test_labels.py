"""Any two labels will do: every public method of every estimator on every kind of label."""

import inspect
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from flipcost import FlipCostClassifier
from flipcost.datasets import make_syn3d
from flipcost.tables.scan import scan_batches
from flipcost.words import label
from tests.estimators.instances import INSTANCES

DATA = make_syn3d(70, random_state=0)
POSITIVE = DATA.target > 0
KINDS = {
    "bools": POSITIVE,
    "ints": np.where(POSITIVE, 1, 0),
    "signs": np.where(POSITIVE, 1, -1),
    "floats": np.where(POSITIVE, 2.0, 1.0),
    "texts": np.where(POSITIVE, "yes", "no"),
    "objects": np.where(POSITIVE, "yes", "no").astype(object),
    "series": pd.Series(np.where(POSITIVE, "b", "a")),
    "pandas texts": pd.Series(np.where(POSITIVE, "b", "a"), dtype="string[python]"),
    "categories": pd.Series(pd.Categorical(np.where(POSITIVE, "b", "a"))),
}
ESTIMATORS = {type(instance).__name__: instance for instance in reversed(INSTANCES)}
# Two scores in place of fourteen: which labels they have does not matter to the others.
ESTIMATORS["FlipCostClassifier"] = FlipCostClassifier(features="linear", l2s=(0.1, 1.0))
# What is not called on rows: fitting, parameters, and what scikit-learn gives every estimator.
ELSEWHERE = {"fit", "partial_fit", "fit_moments", "fit_table", "fit_gathered", "score"}


def methods_of(estimator):
    """Return public methods that the package itself defines, with what they must be given."""
    for name, method in inspect.getmembers(estimator, callable):
        module = getattr(method, "__module__", "") or ""
        if not name.startswith("_") and module.startswith("flipcost") and name not in ELSEWHERE:
            required = [
                p.name
                for p in inspect.signature(method).parameters.values()
                if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
            ]
            if set(required) <= {"X"}:
                yield name, method, required


@pytest.mark.filterwarnings("ignore::flipcost.exceptions.DenoisingWarning")
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_every_method_takes_every_kind_of_label(name, kind):
    """Methods run, predictions are labels as they were given, and probabilities do not depend."""
    labels = KINDS[kind]
    model = clone_of(name).fit(DATA.data, labels)
    plain = plainly_fitted(name)
    found = {m: method(*[DATA.data] * len(args)) for m, method, args in methods_of(model)}
    assert "predict" in found
    assert set(found["predict"]) <= set(np.asarray(labels).tolist())
    second = found["predict"] == model.classes_[1]
    np.testing.assert_array_equal(second, plain.predict(DATA.data) == 1)
    np.testing.assert_array_equal(found["predict_proba"], plain.predict_proba(DATA.data))
    if "summary" in found:
        assert label(model.classes_.tolist()[1]) in found["summary"].splitlines()[0]


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_summary_of_a_fit_in_passes_names_every_kind_of_label(kind):
    """Labels that arrive in batches are named as those that arrive at once."""
    labels = np.asarray(KINDS[kind])
    fitted = clone_of("FlipCostClassifier").fit_table(scan_batches([(DATA.data, labels)]))
    assert label(labels[POSITIVE].tolist()[0]) in fitted.summary().splitlines()[0]


@cache
def plainly_fitted(name):
    """Return an estimator fitted to zeros and ones."""
    return clone_of(name).fit(DATA.data, KINDS["ints"])


def clone_of(name):
    """Return an estimator without a fit, whose chance is fixed."""
    model = clone(ESTIMATORS[name])
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model
