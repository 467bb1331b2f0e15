"""The paper's experiments: its 23 tables regenerated beside the printed figures.

`reproduce` runs problems, methods and measures, keeps every finished unit, and writes one tidy
table and the pages made of it. `TABLES` names the tables.
"""

from flipcost.paper.experiments.problems import TABLES
from flipcost.paper.experiments.run import Reproduction, reproduce

__all__ = ["TABLES", "Reproduction", "reproduce"]
