"""Which rows to check next, what that is expected to save, and files of such rows."""

from flipcost.recheck._files import (
    FORMATS,
    CheckedRow,
    RowToCheck,
    batch_files,
    csv_cells,
    csv_header,
    label_studio_config,
    next_name,
    read_checked,
    rows_as_text,
    unused_batches,
    write_batch,
)
from flipcost.recheck._match import CheckedAnswers, FoundRows, match_checked
from flipcost.recheck._next import (
    POOL_FILE,
    POOL_ROWS,
    Batch,
    CheckPool,
    NextRows,
    PoolFacts,
    expected_saving,
    next_rows,
)

__all__ = [
    "FORMATS",
    "POOL_FILE",
    "POOL_ROWS",
    "Batch",
    "CheckPool",
    "CheckedAnswers",
    "CheckedRow",
    "FoundRows",
    "NextRows",
    "PoolFacts",
    "RowToCheck",
    "batch_files",
    "csv_cells",
    "csv_header",
    "expected_saving",
    "label_studio_config",
    "match_checked",
    "next_name",
    "next_rows",
    "read_checked",
    "rows_as_text",
    "unused_batches",
    "write_batch",
]
