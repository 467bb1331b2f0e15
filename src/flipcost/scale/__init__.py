"""More rows than memory, more than one machine: routes from rows to class moments.

A table is opened by a ``scan_`` function and read in passes; ``moments_from_`` functions do both.
Whatever the route, pieces of rows are turned into mergeable results by the same code.
"""

from flipcost.core.folds import engine_folds, hash_folds
from flipcost.data import LevelColumn, NumberColumn, TableEncoder
from flipcost.scale._files import FileSet, FileTable
from flipcost.scale._histogram import ScoreHistogram, score_limits, score_spread
from flipcost.scale._labels import LabeledMoments
from flipcost.scale._memory import exceeds_memory, expected_rows
from flipcost.scale._progress import Progress
from flipcost.scale._routes import (
    dask_client,
    moments_from_batches,
    moments_from_csv,
    moments_from_dask,
    moments_from_parquet,
    open_files,
    scan_batches,
    scan_csv,
    scan_dask,
    scan_parquet,
)
from flipcost.scale._rows import Layout, Piece
from flipcost.scale._sample import RowSample
from flipcost.scale._summary import TableSummary
from flipcost.scale._table import Table
from flipcost.scale._tasks import Together
from flipcost.scale.engines import (
    MOST_LABELS,
    AuditedSource,
    DrawingTable,
    EngineTable,
    HandedOut,
    LabelCount,
    SqlEngine,
    draw_rows,
    open_engine,
    scan_lazy,
    scan_sql,
    sql_engine,
)

__all__ = [
    "MOST_LABELS",
    "AuditedSource",
    "DrawingTable",
    "EngineTable",
    "FileSet",
    "FileTable",
    "HandedOut",
    "LabelCount",
    "LabeledMoments",
    "Layout",
    "LevelColumn",
    "NumberColumn",
    "Piece",
    "Progress",
    "RowSample",
    "ScoreHistogram",
    "SqlEngine",
    "Table",
    "TableEncoder",
    "TableSummary",
    "Together",
    "dask_client",
    "draw_rows",
    "engine_folds",
    "exceeds_memory",
    "expected_rows",
    "hash_folds",
    "moments_from_batches",
    "moments_from_csv",
    "moments_from_dask",
    "moments_from_parquet",
    "open_engine",
    "open_files",
    "scan_batches",
    "scan_csv",
    "scan_dask",
    "scan_lazy",
    "scan_parquet",
    "scan_sql",
    "score_limits",
    "score_spread",
    "sql_engine",
]
