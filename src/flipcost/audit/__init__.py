"""The computation behind `flipcost audit`: four questions about a table with noisy labels.

How noisy are the labels, what do mistakes cost really, which classifier should be used, and how
sure is all that. `audit` answers with `Findings`; the command line and the report show it.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flipcost.audit._candidates import Candidate, cost_grid
    from flipcost.audit._columns import check_width
    from flipcost.audit._database import audit_sql
    from flipcost.audit._decisions import Called, Decisions, RangeFound
    from flipcost.audit._effects import Effect
    from flipcost.audit._facts import ColumnFacts
    from flipcost.audit._findings import Findings, Information
    from flipcost.audit._options import MODELS, AuditOptions
    from flipcost.audit._recheck import Recheck
    from flipcost.audit._run import audit, audit_files
    from flipcost.audit._summary import price_words
    from flipcost.audit._suspects import Suspect
    from flipcost.core.segments import Segment

__all__ = [
    "MODELS",
    "AuditOptions",
    "Called",
    "Candidate",
    "ColumnFacts",
    "Decisions",
    "Effect",
    "Findings",
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

# Where each of these is: help is printed without what takes long to import.
_WHERE = {
    "AuditOptions": "flipcost.audit._options",
    "Findings": "flipcost.audit._findings",
    "Called": "flipcost.audit._decisions",
    "Candidate": "flipcost.audit._candidates",
    "ColumnFacts": "flipcost.audit._facts",
    "Decisions": "flipcost.audit._decisions",
    "Effect": "flipcost.audit._effects",
    "Information": "flipcost.audit._findings",
    "MODELS": "flipcost.audit._options",
    "RangeFound": "flipcost.audit._decisions",
    "Recheck": "flipcost.audit._recheck",
    "Segment": "flipcost.core.segments",
    "Suspect": "flipcost.audit._suspects",
    "audit": "flipcost.audit._run",
    "audit_files": "flipcost.audit._run",
    "audit_sql": "flipcost.audit._database",
    "check_width": "flipcost.audit._columns",
    "cost_grid": "flipcost.audit._candidates",
    "price_words": "flipcost.audit._summary",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    if name not in _WHERE:
        msg = f"module 'flipcost.audit' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


class _Callable(ModuleType):
    """The package itself audits: ``fc.audit(table, "fraud", cost)``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Audit a table; see `flipcost.audit.audit`."""
        return self.audit(*args, **options)


sys.modules[__name__].__class__ = _Callable
