"""The paper's problems: where rows come from, what mistakes cost, which noise is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flipcost import datasets

if TYPE_CHECKING:
    import numpy as np

UCI_RATES = (0.0, 0.2, 0.4)
BUPA_RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
SYNTHETIC_RATES = (0.1, 0.2, 0.3, 0.4, 0.45, 0.49)
PRIORS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
# The costs of section D.3, in the order of the priors.
CASE3_COSTS = (0.25, 0.35, 0.45, 0.4, 0.55, 0.65, 0.75)
BUPA_MARGINS = (0.5, 0.8, 1.0, 1.2, 1.5)


@dataclass(frozen=True)
class Problem:
    """A set of rows, fixed or drawn anew for each trial.

    Parameters
    ----------
    name : str
        Its name in the table of printed cells.
    load : callable
        From a random generator and the share of positives (None for the set's own) to a Bunch.
    synthetic : bool
        Whether rows are drawn from a law, so that eta is known. Features are used as the loaders
        give them: standardised for German, in the units of the files for the other public sets.
        The paper is silent; the figures of the kernel methods fit this better than features
        standardised on the training part.
    cost : float
        The paper's cost, where it has one.
    rates : tuple of float
        Noise rates added to the training part.
    """

    name: str
    load: Callable[[np.random.Generator, float | None], Any]
    synthetic: bool = False
    cost: float = 0.5
    rates: tuple[float, ...] = (0.0,)


def _fixed(loader: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _rng, _pi: loader()


def _drawn(maker: Callable[..., Any], n_samples: int) -> Callable[..., Any]:
    def load(rng: np.random.Generator, pi: float | None) -> Any:
        return maker(n_samples, **({} if pi is None else {"pi": pi}), random_state=rng)

    return load


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            "breast_cancer",
            _fixed(datasets.load_breast_cancer_ljubljana),
            cost=0.2,
            rates=UCI_RATES,
        ),
        Problem("pima", _fixed(datasets.load_pima), cost=0.25, rates=UCI_RATES),
        Problem("german", _fixed(datasets.load_german_credit), cost=0.16, rates=UCI_RATES),
        Problem("thyroid", _fixed(datasets.load_thyroid), cost=0.3, rates=UCI_RATES),
        Problem("bupa", _fixed(datasets.load_bupa), cost=0.25, rates=BUPA_RATES),
        Problem(
            "syn3d_imb",
            _drawn(datasets.make_syn3d_imbalanced, 4000),
            synthetic=True,
            cost=0.3,
            rates=SYNTHETIC_RATES,
        ),
        Problem("syn1", _drawn(datasets.make_syn1, 1000), synthetic=True),
        Problem("syn2", _drawn(datasets.make_syn2, 1000), synthetic=True),
        Problem("syn2d", _drawn(datasets.make_syn2d, 1000), synthetic=True),
        Problem("syn3d", _drawn(datasets.make_syn3d, 1000), synthetic=True),
        Problem("syn10d", _drawn(datasets.make_syn10d, 1000), synthetic=True),
    )
}
UCI = ("breast_cancer", "pima", "german", "thyroid")
