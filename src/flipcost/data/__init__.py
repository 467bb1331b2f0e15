"""Tables as people have them: files read, columns understood, and turned into numbers.

Reading needs pyarrow. Whatever is wrong with a file or a column is raised as `TableError`, whose
message is one line that says what was wrong, where, and what to do.
"""

from flipcost.data._checks import check_features, find_leaks
from flipcost.data._features import make_features
from flipcost.data._open import Layout, sniff
from flipcost.data._ranges import TextRange, read_places, split_text
from flipcost.data._read import read_batches, read_sample, read_table
from flipcost.data._reader import ColumnReader
from flipcost.data._roles import Roles, read_labels, read_numbers, take_column

__all__ = [
    "ColumnReader",
    "Layout",
    "Roles",
    "TextRange",
    "check_features",
    "find_leaks",
    "make_features",
    "read_batches",
    "read_labels",
    "read_numbers",
    "read_places",
    "read_sample",
    "read_table",
    "sniff",
    "split_text",
    "take_column",
]
