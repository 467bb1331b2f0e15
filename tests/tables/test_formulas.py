"""Cells that a spreadsheet would run are written as text, and read back as they were."""

import csv

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flipcost.recheck import RowToCheck, read_checked, rows_as_text
from flipcost.tables.spreadsheet import guard_cell, guard_column, unguard_cell

ODD = st.text(alphabet="=+-@\t\r\n'1.e a", max_size=8) | st.text(max_size=8)


@given(ODD)
def test_what_is_guarded_is_read_back(text):
    """Every text comes back, also one that looks guarded already."""
    assert unguard_cell(guard_cell(text)) == text
    assert guard_column(pa.array([text])).to_pylist() == [guard_cell(text)]


@pytest.mark.parametrize(
    "text", ["=1", "@x", "-x", "+x", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0"]
)
def test_formulas_are_guarded(text):
    """A cell begins with an apostrophe instead."""
    assert guard_cell(text)[0] == "'"


@pytest.mark.parametrize("text", ["-1", "+1.5e3", "-.5", "", "a=1", "1-2"])
def test_numbers_and_other_text_stay(text):
    """A sign before a number means what it says."""
    assert guard_cell(text) == text


def test_rows_to_check_come_back_unguarded(tmp_path):
    """Labels, names and answers are those of the table; the header is guarded too."""
    row = RowToCheck(7, "=id", "-no", None, "likely label error", 0.8, {"@age": "+a"})
    path = tmp_path / "recheck.csv"
    path.write_text(rows_as_text([row], ["@age"]))
    with path.open(newline="") as file:
        header, cells = list(csv.reader(file))
    assert header[2] == "'@age"
    assert cells[1:4] == ["'=id", "'+a", "'-no"]
    path.write_text(path.read_text().rstrip("\n") + "'-yes\n")
    (found,) = read_checked(path)
    assert (found.id, found.label, found.checked) == ("=id", "-no", "-yes")
