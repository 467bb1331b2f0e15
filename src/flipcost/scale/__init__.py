"""More rows than memory, more than one machine: ways to open a table where it is.

A table is opened by a ``scan_`` function; `fit_table` of an estimator reads it in passes, and
``.moments()`` gives its class moments. How tables are read is in `flipcost.tables`.
"""

from flipcost.core.folds import engine_folds, hash_folds
from flipcost.tables.engine_table import EngineTable
from flipcost.tables.files import exceeds_memory
from flipcost.tables.passes import Progress
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.scan import (
    dask_client,
    scan_batches,
    scan_csv,
    scan_dask,
    scan_lazy,
    scan_parquet,
    scan_sql,
)
from flipcost.tables.source import Table

__all__ = [
    "EngineTable",
    "Progress",
    "Table",
    "TableEncoder",
    "dask_client",
    "engine_folds",
    "exceeds_memory",
    "hash_folds",
    "scan_batches",
    "scan_csv",
    "scan_dask",
    "scan_lazy",
    "scan_parquet",
    "scan_sql",
]
