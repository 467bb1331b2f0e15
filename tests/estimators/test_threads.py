"""Linear algebra is held to one thread while a fit is made, and let go of afterwards."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from flipcost import FlipCostClassifier
from flipcost.estimators.flipcost import memory, scores, threads


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.mark.parametrize("step", ["scores", "fit"])
def test_linear_algebra_has_one_thread_within_a_fit(step, monkeypatch):
    """Both the closed form and the calibration see one thread, and nobody does afterwards."""
    seen = []
    module, name = {"scores": (scores, "_moment_scores"), "fit": (memory, "fit_scores")}[step]
    original = getattr(module, name)

    def watched(*arguments, **options):
        seen.append(blas_threads())
        return original(*arguments, **options)

    monkeypatch.setattr(module, name, watched)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    with threads.linear_algebra_threads(2):
        before = blas_threads()
        FlipCostClassifier(0.3, features="linear").fit(X, X[:, 0] > 0)
        assert blas_threads() == before
    assert seen
    assert all(count == 1 for counts in seen for count in counts)
