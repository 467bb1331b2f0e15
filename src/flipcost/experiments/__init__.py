"""The paper's experiments: its 23 tables regenerated beside the printed figures.

`reproduce` runs problems, methods and measures, keeps every finished unit, and writes one tidy
table and the pages made of it.
"""

from flipcost.experiments.registry._paper_tables import TABLES, Table
from flipcost.experiments.run._reproduce import Reproduction, needed_units, reproduce
from flipcost.experiments.run._units import Unit, all_units, run_unit
from flipcost.experiments.tables._results import summarize, tidy, verdict

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
