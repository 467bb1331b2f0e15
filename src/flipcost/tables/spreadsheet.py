"""Cells that a spreadsheet would take for formulas, written so that it does not, and read back.

Text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break is run as a formula when a
CSV file is opened in a spreadsheet, with the rights of the user. Files that we write for
people have an apostrophe before such text. Numbers, whose sign means what it says, are left alone.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow.compute as pc

_FORMULA = r"^'*[=+\-@\t\r\n]"
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_GUARDED = re.compile(r"'+[=+\-@\t\r\n]")


def guard_cell(text: str) -> str:
    """Return a cell of text for a file that may be opened in a spreadsheet.

    Parameters
    ----------
    text : str
        The cell.

    Returns
    -------
    str
        With an apostrophe in front if it could be taken for a formula.

    Examples
    --------
    >>> guard_cell("=1+1"), guard_cell("-1"), guard_cell("- none")
    ("'=1+1", '-1', "'- none")
    """
    is_formula = re.match(_FORMULA, text) and not re.fullmatch(_NUMBER, text)
    return f"'{text}" if is_formula else text


def unguard_cell(text: str) -> str:
    """Return a cell as it was before `guard_cell`.

    Parameters
    ----------
    text : str
        A cell of a file that we wrote.

    Returns
    -------
    str

    Examples
    --------
    >>> unguard_cell("'=1+1"), unguard_cell("'quoted'")
    ('=1+1', "'quoted'")
    """
    return text[1:] if _GUARDED.match(text) else text


def guard_column(column: Any) -> Any:
    """Return an Arrow array of strings, guarded as by `guard_cell`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> guard_column(pa.array(["=1+1", "-1", None])).to_pylist()
    ["'=1+1", '-1', None]
    """
    is_number = pc.match_substring_regex(column, f"^(?:{_NUMBER})$")
    is_formula = pc.and_not(pc.match_substring_regex(column, _FORMULA), is_number)
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", column, ""), column)
