"""The computation behind `flipcost audit`: four questions about a table with noisy labels.

How many labels are wrong, what do errors of the decision cost, which model should be used, and how
sure is all that? `audit` answers with `Findings`; the command line and the report show it.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flipcost.audit._columns import check_width
    from flipcost.audit._explain import Effect
    from flipcost.audit._findings import Findings, price_words
    from flipcost.audit._models import Candidate, cost_grid
    from flipcost.audit._options import MODELS, AuditOptions
    from flipcost.audit._questions import RangeFound
    from flipcost.audit._run import audit, audit_files, audit_sql

__all__ = [
    "MODELS",
    "AuditOptions",
    "Candidate",
    "Effect",
    "Findings",
    "RangeFound",
    "audit",
    "audit_files",
    "audit_sql",
    "check_width",
    "cost_grid",
    "price_words",
]

# Where these are: help is printed without what takes long to import.
_WHERE = {
    "_columns": ("check_width",),
    "_questions": ("RangeFound",),
    "_explain": ("Effect",),
    "_findings": ("Findings", "price_words"),
    "_models": ("Candidate", "cost_grid"),
    "_options": ("MODELS", "AuditOptions"),
    "_run": ("audit", "audit_files", "audit_sql"),
}


def __getattr__(name: str) -> Any:
    """Import what is asked for (PEP 562)."""
    for module, names in _WHERE.items():
        if name in names:
            value = getattr(import_module(f"flipcost.audit.{module}"), name)
            globals()[name] = value
            return value
    msg = f"module 'flipcost.audit' has no attribute {name!r}"
    raise AttributeError(msg)


class _Callable(ModuleType):
    """The package itself audits: ``fc.audit(table, "fraud", cost)``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Audit a table; see `flipcost.audit.audit`."""
        return self.audit(*args, **options)


sys.modules[__name__].__class__ = _Callable
