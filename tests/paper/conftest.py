"""Random laws on which the statements are checked."""

import numpy as np
import pytest

from flipcost.theory import DiscreteLaw


def random_law(seed, n_points=6, n_features=2):
    rng = np.random.default_rng(seed)
    return DiscreteLaw(
        rng.normal(size=(n_points, n_features)),
        rng.dirichlet(np.ones(n_points)),
        rng.random(n_points),
    )


@pytest.fixture(params=range(5))
def law(request):
    return random_law(request.param)


@pytest.fixture
def make_law():
    return random_law
