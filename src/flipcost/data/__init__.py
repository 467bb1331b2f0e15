"""What a file or a column means: files read, columns understood, and turned into numbers.

Whatever way a file arrives, whole, in passes, on a cluster or to be predicted for, it is read by
the code here, so that a cell, a missing value, a category, a date and a label mean the same.
Whatever is wrong with a file or a column is raised as `flipcost.exceptions.TableError`, whose
message is one line that says what was wrong, where, and what to do.
"""

from flipcost.data._checks import check_features, unusable_columns
from flipcost.data._encoder import LevelColumn, NumberColumn, TableEncoder, stack_columns
from flipcost.data._features import make_features
from flipcost.data._formulas import guard_cell, guard_column, unguard_cell
from flipcost.data._infer import (
    FALSE_WORDS,
    ISO_FORMAT,
    TRUE_WORDS,
    describe_column,
    read_cells,
    text_type,
)
from flipcost.data._leaks import find_leaks
from flipcost.data._limits import check_cells, check_sizes, parquet_batches
from flipcost.data._listing import Paths, check_stamp, file_stamp, folder_keys, is_many, list_files
from flipcost.data._open import FileFormat, check_names, sniff
from flipcost.data._plain import (
    Column,
    Feature,
    NumberFeature,
    TableFeature,
    plain_features,
    read_columns,
)
from flipcost.data._prices import price_columns, row_prices
from flipcost.data._ranges import TextRange, read_places, split_text
from flipcost.data._read import column_names, read_batches, read_sample, read_table
from flipcost.data._reader import ColumnReader
from flipcost.data._roles import (
    Roles,
    are_numbers,
    label_codes,
    plain_labels,
    read_labels,
    read_numbers,
    two_classes,
)
from flipcost.data.arrow import as_arrow, as_text, concatenate, take_column

__all__ = [
    "FALSE_WORDS",
    "ISO_FORMAT",
    "TRUE_WORDS",
    "Column",
    "ColumnReader",
    "Feature",
    "FileFormat",
    "LevelColumn",
    "NumberColumn",
    "NumberFeature",
    "Paths",
    "Roles",
    "TableEncoder",
    "TableFeature",
    "TextRange",
    "are_numbers",
    "as_arrow",
    "as_text",
    "check_cells",
    "check_features",
    "check_names",
    "check_sizes",
    "check_stamp",
    "column_names",
    "concatenate",
    "describe_column",
    "file_stamp",
    "find_leaks",
    "folder_keys",
    "guard_cell",
    "guard_column",
    "is_many",
    "label_codes",
    "list_files",
    "make_features",
    "parquet_batches",
    "plain_features",
    "plain_labels",
    "price_columns",
    "read_batches",
    "read_cells",
    "read_columns",
    "read_labels",
    "read_numbers",
    "read_places",
    "read_sample",
    "read_table",
    "row_prices",
    "sniff",
    "split_text",
    "stack_columns",
    "take_column",
    "text_type",
    "two_classes",
    "unguard_cell",
    "unusable_columns",
]
