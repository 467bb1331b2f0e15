"""Tables that stay where they are: warehouses, Spark, lazy frames."""

from flipcost.scale.engines._routes import open_engine, scan_lazy, scan_sql
from flipcost.scale.engines._table import EngineTable

__all__ = ["EngineTable", "open_engine", "scan_lazy", "scan_sql"]
