"""Linear algebra is held to one thread while a fit is made, and let go of afterwards."""

import sys
from types import ModuleType

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from flipcost import (
    FlipCostClassifier,
    UnevenMarginClassifier,
    UnevenMarginClassifierCV,
    _threads,
)
from flipcost.estimators import _uneven_margin
from flipcost.estimators.flipcost import classifier, scores


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.mark.parametrize("step", ["scores", "fit"])
def test_linear_algebra_has_one_thread_within_a_fit(step, monkeypatch):
    """Both ridge regression and the calibration see one thread, and no one does afterwards."""
    seen = []
    module, name = {"scores": (scores, "ridge_scores"), "fit": (classifier, "fit_scores")}[step]
    original = getattr(module, name)

    def watched(*arguments, **options):
        seen.append(blas_threads())
        return original(*arguments, **options)

    monkeypatch.setattr(module, name, watched)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    with _threads.thread_limits(2, "blas"):
        before = blas_threads()
        FlipCostClassifier(0.3, features="linear").fit(X, X[:, 0] > 0)
        assert blas_threads() == before
    assert seen
    assert all(count == 1 for counts in seen for count in counts)


@pytest.mark.parametrize("model", [UnevenMarginClassifier(0.3), UnevenMarginClassifierCV(0.3)])
def test_moments_of_few_columns_have_one_thread(model, monkeypatch):
    """The closed form gathers them in one thread, which waits for no other."""
    seen, rng = [], np.random.default_rng(0)

    def watch(owner, name):
        original = getattr(owner, name)

        def watched(*arguments, **options):
            seen.append(blas_threads())
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, watched)

    watch(_uneven_margin, "row_moments")
    X = rng.normal(size=(200, 3))
    with _threads.thread_limits(2, "blas"):
        model.fit(X, X[:, 0] > 0)
    assert seen
    assert all(count == 1 for counts in seen for count in counts)


def test_libraries_are_looked_for_when_something_was_imported(monkeypatch):
    """Limits one after the other find them once; a module that is new may have brought one."""
    found = []
    made = ThreadpoolController()
    monkeypatch.setattr(_threads, "ThreadpoolController", lambda: found.append(1) or made)
    _threads._controller.cache_clear()
    for _ in range(3):
        with _threads.thread_limits({"blas": 1, "openmp": None}):
            assert all(count == 1 for count in blas_threads())
    assert len(found) == 1
    monkeypatch.setitem(sys.modules, "flipcost_brings_threads", ModuleType("new"))
    with _threads.thread_limits(1, "openmp"):
        assert all(lib["num_threads"] == 1 for lib in threadpool_info() if "omp" in lib["prefix"])
    assert len(found) == 2
    _threads._controller.cache_clear()
