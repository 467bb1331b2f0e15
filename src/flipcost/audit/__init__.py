"""The computation behind `flipcost audit`: four questions about a table with noisy labels.

How noisy are the labels, what do mistakes cost really, which classifier should be used, and how
sure is all that. `audit` answers with an `AuditResult`; the command line and the report show it.
"""

from flipcost.audit._candidates import Candidate, cost_grid
from flipcost.audit._information import (
    Information,
    labels_needed,
    probability_wrong,
    value_of_knowing_rate,
)
from flipcost.audit._passes import audit_files
from flipcost.audit._result import AuditResult, Suspect
from flipcost.audit._run import audit
from flipcost.audit._saving import paired_saving
from flipcost.plot._curves import confusion_cells, confusions_at_costs, costs_at_rates

__all__ = [
    "AuditResult",
    "Candidate",
    "Information",
    "Suspect",
    "audit",
    "audit_files",
    "confusion_cells",
    "confusions_at_costs",
    "cost_grid",
    "costs_at_rates",
    "labels_needed",
    "paired_saving",
    "probability_wrong",
    "value_of_knowing_rate",
]
