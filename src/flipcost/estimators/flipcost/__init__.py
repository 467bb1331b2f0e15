"""The classifier that needs no noise rate.

`classifier` is what users see and ask, `fitted` what a fit keeps and answers, `summary` its words.

It learns from rows in `memory`: all of a small table, or those that `tables.sample` draws of a
large one, wherever that is. `scores` learns scores out of fold, `boosting` one of them, whose trees
`core.trees` reads; `trusted` rows and `dependence` between rows are read there. `fit` takes
`scored` rows and `options` to a `result`: `calibrate` says what scores mean, and what to answer is
decided by that. `predictor` scores new rows; `way` goes
back over rounds of checked rows.
"""

from flipcost.estimators.flipcost.classifier import FlipCostClassifier, fit_drawn
from flipcost.estimators.flipcost.memory import TableSample
from flipcost.estimators.flipcost.trusted import check_not_swapped
from flipcost.estimators.flipcost.way import WayPoint, way_so_far

__all__ = [
    "FlipCostClassifier",
    "TableSample",
    "WayPoint",
    "check_not_swapped",
    "fit_drawn",
    "way_so_far",
]
