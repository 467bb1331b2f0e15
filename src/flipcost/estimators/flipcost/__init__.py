"""The classifier that needs no noise rate, from rows in memory or from passes over a table.

`classifier` is what users see and ask, `fitted` what a fit keeps and answers, `summary` its words.

Rows in `memory`: `scores` learns scores out of fold, `boosting` one of them, whose trees
`core.trees` reads; `trusted` rows and `dependence` between rows are read there. Tables that are
never held: the `first_pass` gathers moments, and rows by a `drawing`; `moment_scores` learns from
these, the `second_pass` counts scores, `sample` stands for the rows, and `table` makes a fit of
all.

Both ways meet in `fit`, which takes `scored` rows and `options` to a `result`: `calibrate` says
what scores mean, and what to answer is decided by that. `predictor` scores new rows; `way` goes
back over rounds of checked rows.
"""

from flipcost.estimators.flipcost.classifier import FlipCostClassifier
from flipcost.estimators.flipcost.dependence import grouping_of
from flipcost.estimators.flipcost.first_pass import Gathered, gather
from flipcost.estimators.flipcost.sample import TableSample
from flipcost.estimators.flipcost.table import CheckedSample, TableFit
from flipcost.estimators.flipcost.trusted import check_not_swapped
from flipcost.estimators.flipcost.way import WayPoint, way_so_far

__all__ = [
    "CheckedSample",
    "FlipCostClassifier",
    "Gathered",
    "TableFit",
    "TableSample",
    "WayPoint",
    "check_not_swapped",
    "gather",
    "grouping_of",
    "way_so_far",
]
