"""Tables that stay where they are: warehouses, Spark, lazy frames."""

from flipcost.scale.engines._drawing import DrawingTable, HandedOut
from flipcost.scale.engines._engine import SqlEngine
from flipcost.scale.engines._routes import draw_rows, open_engine, scan_lazy, scan_sql, sql_engine
from flipcost.scale.engines._source import MOST_LABELS, AuditedSource, LabelCount
from flipcost.scale.engines._table import EngineTable

__all__ = [
    "MOST_LABELS",
    "AuditedSource",
    "DrawingTable",
    "EngineTable",
    "HandedOut",
    "LabelCount",
    "SqlEngine",
    "draw_rows",
    "open_engine",
    "scan_lazy",
    "scan_sql",
    "sql_engine",
]
