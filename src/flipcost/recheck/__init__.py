"""Which rows somebody should check next, and what that is expected to save."""

from flipcost.recheck._next import NextRows, expected_saving, next_rows

__all__ = ["NextRows", "expected_saving", "next_rows"]
