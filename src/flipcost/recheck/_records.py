"""Rows on their way: to someone who checks them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RowToCheck:
    """A row that someone is asked to look at.

    Attributes
    ----------
    row : int
        Row of the table, the first being 1.
    id : str or None
        Its name, when a column of names was given.
    label : str
        The label that it has.
    probability : float or None
        With which it was chosen; None if it was not drawn but picked, as suspects are.
    reason : str
        Why it was chosen.
    suspicion : float
        Probability that its label is wrong.
    cells : mapping of str to str
        The row as it is in the table, as text; missing cells are empty.
    """

    row: int
    id: str | None
    label: str
    probability: float | None
    reason: str
    suspicion: float = 0.0
    cells: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckedRow:
    """A row that someone looked at, as a file tells it.

    Attributes
    ----------
    row : int or None
        Row of the table, the first being 1.
    id : str or None
        Its name.
    label : str
        The label that it had when it was handed out.
    checked : str
        The right label; empty if no one checked the row yet.
    probability : float or None
        With which it was chosen, if that is known.
    where : str
        File and line, or file and task, for messages.
    """

    row: int | None
    id: str | None
    label: str
    checked: str
    probability: float | None
    where: str

    @property
    def name(self) -> str:
        """What the row is called in messages."""
        return f"row {self.row}" if self.id is None else f"row {self.id!r}"
