"""Tables that stay where they are: warehouses, Spark, lazy frames."""

from flipcost.scale.engines._routes import draw_rows, open_engine, scan_lazy, scan_sql
from flipcost.scale.engines._table import EngineTable

__all__ = ["EngineTable", "draw_rows", "open_engine", "scan_lazy", "scan_sql"]
