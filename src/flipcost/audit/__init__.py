"""The computation behind `flipcost audit`: four questions about a table with noisy labels.

How noisy are the labels, what do mistakes cost really, which classifier should be used, and how
sure is all that. `audit` answers with an `AuditResult`; the command line and the report show it.
"""

from flipcost.audit._candidates import Candidate, cost_grid
from flipcost.audit._columns import check_width
from flipcost.audit._database import audit_sql
from flipcost.audit._decisions import Called, Decisions, RangeFound
from flipcost.audit._effects import Effect
from flipcost.audit._facts import ColumnFacts
from flipcost.audit._options import MODELS, AuditOptions
from flipcost.audit._recheck import Recheck
from flipcost.audit._result import AuditResult, Information, Suspect, price_words
from flipcost.audit._run import audit, audit_files
from flipcost.core.segments import Segment

__all__ = [
    "MODELS",
    "AuditOptions",
    "AuditResult",
    "Called",
    "Candidate",
    "ColumnFacts",
    "Decisions",
    "Effect",
    "Information",
    "RangeFound",
    "Recheck",
    "Segment",
    "Suspect",
    "audit",
    "audit_files",
    "audit_sql",
    "check_width",
    "cost_grid",
    "price_words",
]
