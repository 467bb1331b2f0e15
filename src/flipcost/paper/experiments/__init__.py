"""The paper's experiments: its 23 tables regenerated beside the printed figures.

`reproduce` runs problems, methods and measures, keeps every finished unit, and writes one tidy
table and the pages made of it.
"""

from flipcost.paper.experiments.problems import TABLES, Table
from flipcost.paper.experiments.results import summarize, tidy, verdict
from flipcost.paper.experiments.run import (
    Reproduction,
    Unit,
    all_units,
    needed_units,
    reproduce,
    run_unit,
)

__all__ = [
    "TABLES",
    "Reproduction",
    "Table",
    "Unit",
    "all_units",
    "needed_units",
    "reproduce",
    "run_unit",
    "summarize",
    "tidy",
    "verdict",
]
