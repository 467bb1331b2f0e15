"""The classifier that needs no noise rate.

`classifier` is what users see and ask, `summary` its words. It learns from `rows` in memory: all of
a small table, or those that `tables.sample` draws of a large one, wherever that is. `scores` learns
scores out of fold and scores new rows; `boosting` is one of them, whose trees `core.trees` reads.
`dependence` between rows makes the folds. `fit`
takes scored rows and options to a `result`: what scores mean, and what to answer. `check_history`
goes back over rounds of checked rows.
"""

from flipcost.estimators.flipcost.check_history import CheckRound, check_history
from flipcost.estimators.flipcost.classifier import FlipCostClassifier, fit_drawn
from flipcost.estimators.flipcost.rows import check_not_swapped

__all__ = [
    "CheckRound",
    "FlipCostClassifier",
    "check_history",
    "check_not_swapped",
    "fit_drawn",
]
