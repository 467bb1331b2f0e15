"""The figures printed in the paper's tables."""

from __future__ import annotations

from typing import Any

from flipcost.datasets._bunch import import_pandas
from flipcost.datasets._files import check_counts, read_index, read_table

_NUMBERS = ("rho", "pi", "mean", "std")
_NUMBER_OR_TUNED = ("cost", "gamma")


def load_paper_tables(*, as_frame: bool = False) -> Any:
    """Load the 931 cells printed in the tables of the paper.

    The cells are as printed, mistakes included.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether to return a pandas DataFrame in place of a list of dictionaries.

    Returns
    -------
    list of dict, or DataFrame
        One row per cell, in the order of the paper, with the keys

        - ``table``, ``dataset``, ``method``, ``measure``: strings;
        - ``cost``, ``gamma``: a number, ``"tuned"``, or None where it does not apply;
        - ``rho``, ``pi``: the noise rate and the share of the positive class, NaN where it does
          not apply;
        - ``mean``, ``std``: the printed figures, NaN where the paper prints NA or nothing.

    References
    ----------
    Tripathi, S. and Hemachandra, N. (2019). Cost sensitive learning in the presence of symmetric
    label noise. PAKDD 2019, 15-28. doi:10.1007/978-3-030-16148-4_2.

    Examples
    --------
    >>> from flipcost.datasets import load_paper_tables
    >>> cells = load_paper_tables()
    >>> len(cells), len({cell["table"] for cell in cells})
    (931, 23)
    >>> cells[0]["dataset"], cells[0]["method"], cells[0]["measure"], cells[0]["mean"]
    ('breast_cancer', 'lkfun_sq', 'Acc', 0.7)
    """
    entry = read_index()["paper_tables"]
    rows = [_parse(row) for row in read_table(entry)]
    check_counts("paper_tables", {"rows": len(rows)}, {"rows": entry["rows"]})
    return import_pandas().DataFrame(rows) if as_frame else rows


def _parse(row: dict[str, str]) -> dict[str, Any]:
    """Return a row with numbers in place of their text."""
    parsed: dict[str, Any] = dict(row)
    for key in _NUMBERS:
        parsed[key] = float("nan") if row[key] in ("", "NA") else float(row[key])
    for key in _NUMBER_OR_TUNED:
        if row[key] != "tuned":
            parsed[key] = float(row[key]) if row[key] else None
    return parsed
