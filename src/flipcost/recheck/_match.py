"""Checked rows found again in the table that they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flipcost.exceptions import TableError, shorten
from flipcost.tables.roles import are_numbers, plain_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.core.arrays import Indices
    from flipcost.recheck._files import CheckedRow


@dataclass(frozen=True, eq=False)
class FoundRows:
    """Which of some rows were checked.

    Attributes
    ----------
    right : ndarray of object, shape (n,)
        The right label of rows that were checked, None of others.
    round : ndarray of int, shape (n,)
        In which file, the first being 0, a row was checked first; -1 where no file has it.
    found : Counter of int
        How often each answer was found.
    """

    right: NDArray[Any]
    round: Indices
    found: Counter[int]


@dataclass(frozen=True, eq=False)
class CheckedAnswers:
    """What files say of checked rows, to be found in the pieces of a table.

    Made by `CheckedAnswers.of`. Rows are found by their names where the table has names, or else
    by where they are. A row must have the label that it had when it was handed out: otherwise the
    table has changed, and what was said of one row would be taken for another's.

    Attributes
    ----------
    rows : tuple of CheckedRow
        Rows with an answer, of all files; the answers are written as the labels are.
    round : tuple of int
        Which file each is from.
    classes : tuple of str
        The labels of the table.
    target : str
        The column of labels.
    by_id, by_row : mapping
        From names, and from places, to the answers.
    """

    rows: tuple[CheckedRow, ...]
    round: tuple[int, ...]
    classes: tuple[str, ...]
    target: str
    by_id: Mapping[str, list[int]]
    by_row: Mapping[int, list[int]]

    @classmethod
    def of(
        cls,
        rounds: Sequence[Iterable[CheckedRow]],
        classes: Iterable[str],
        target: str = "the labels",
        *,
        with_ids: bool = False,
    ) -> CheckedAnswers:
        """Gather the answers of files, or say which of them is none.

        Parameters
        ----------
        rounds : sequence of sequences of CheckedRow
            What `read_checked` returns, for each file.
        classes : iterable of str
            The labels of the table.
        target : str
            Name of their column.
        with_ids : bool, default=False
            Whether the table has names of rows.
        """
        known = tuple(sorted(set(classes)))
        rows: list[CheckedRow] = []
        numbers: list[int] = []
        by_id: dict[str, list[int]] = {}
        by_row: dict[int, list[int]] = {}
        for number, checked in enumerate(rounds):
            for row in checked:
                if not row.checked:
                    continue
                if with_ids and row.id is not None:
                    by_id.setdefault(row.id, []).append(len(rows))
                elif row.row is not None:
                    by_row.setdefault(row.row - 1, []).append(len(rows))
                else:
                    msg = f"{row.where}: {row.name} can be found by its name only; give `id`."
                    raise TableError(msg)
                rows.append(replace(row, checked=_answer(row, known, target)))
                numbers.append(number)
        return cls(tuple(rows), tuple(numbers), known, target, by_id, by_row)

    def find(
        self,
        labels: Sequence[str],
        positions: Any,
        ids: Any = None,
        given: Sequence[str] | None = None,
        given_name: str = "trusted",
    ) -> FoundRows:
        """Find the answers that are about some rows.

        Parameters
        ----------
        labels : sequence of str
            Their labels; empty where there is none.
        positions : array of int
            Where they are in the table, the first row being 0.
        ids : sequence of str, optional
            Their names.
        given : sequence of str, optional
            Right labels that the table itself has, empty where it has none.
        given_name : str
            Name of that column.
        """
        n = len(labels)
        right, first = np.full(n, None, dtype=object), np.full(n, -1, dtype=np.intp)
        told: dict[int, str] = {}
        for place, value in enumerate(given or ()):
            if value:
                right[place], told[place] = value, f"column {given_name!r}"
        found: Counter[int] = Counter()
        for place, k in self._places(np.asarray(positions), ids):
            row, answer = self.rows[k], self.rows[k].checked
            self._check_label(row, labels[place])
            if right[place] is not None and right[place] != answer:
                msg = (
                    f"{row.where}: {row.name} was checked more than once, as {answer!r} here and "
                    f"as {right[place]!r} in {told[place]}; settle which is right."
                )
                raise TableError(msg)
            if right[place] is None:
                right[place], first[place], told[place] = answer, self.round[k], row.where
            found[k] += 1
        return FoundRows(right, first, found)

    def check_found(self, found: Mapping[int, int], n_rows: int) -> None:
        """Refuse answers about rows that the table does not have.

        Parameters
        ----------
        found : mapping of int to int
            How often each answer was found.
        n_rows : int
            Rows in the table.
        """
        for k, row in enumerate(self.rows):
            if found.get(k, 0) == 1:
                continue
            if found.get(k, 0) > 1:
                msg = f"{row.where}: more than one row has the id {row.id!r}; give each its own."
                raise TableError(msg)
            by_name = row.id in self.by_id
            if not by_name and row.row is not None and row.row > n_rows:
                msg = f"{row.where}: there is no row {row.row}; the table has {n_rows:,}."
                raise TableError(msg)
            what = f"called {row.id!r}" if by_name else f"{row.row} with a label"
            msg = f"{row.where}: the table has no row {what}."
            raise TableError(msg)

    def _places(self, positions: NDArray[Any], ids: Any) -> list[tuple[int, int]]:
        """Return pairs of a place among the rows and an answer, in the order of the answers."""
        pairs = []
        if self.by_row:
            wanted = np.array(list(self.by_row), dtype=np.int64)
            for place in np.flatnonzero(np.isin(positions.astype(np.int64), wanted)).tolist():
                pairs += [(place, k) for k in self.by_row[int(positions[place])]]
        if self.by_id and ids is not None:
            names = pa.array(ids, pa.string()) if not hasattr(ids, "type") else ids
            within = pc.is_in(names, value_set=pa.array(list(self.by_id), pa.string()))
            for place in np.flatnonzero(within.to_numpy(zero_copy_only=False)).tolist():
                pairs += [(place, k) for k in self.by_id[names[place].as_py()]]
        pairs.sort(key=lambda pair: pair[1])
        often = Counter(k for _, k in pairs)
        # A name that several rows share: then where the row was tells which is meant.
        return [
            (place, k)
            for place, k in pairs
            if often[k] == 1 or int(positions[place]) + 1 == self.rows[k].row
        ]

    def _check_label(self, row: CheckedRow, now: str) -> None:
        if now and _same_label(row.label, self.classes) == now:
            return
        label = f"the label {now!r}" if now else "no label"
        msg = (
            f"{row.where}: {row.name} had the label {row.label!r} when it was handed out and has "
            f"{label} in {self.target!r} now: the table has changed, or it is another one."
        )
        raise TableError(msg)


def match_checked(
    rounds: Sequence[Iterable[CheckedRow]],
    labels: Sequence[str],
    *,
    ids: Sequence[str | None] | None = None,
    target: str = "the labels",
) -> NDArray[Any]:
    """Return the right labels of rows that someone checked, for `fit(..., trusted=)`.

    Parameters
    ----------
    rounds : sequence of sequences of CheckedRow
        What `read_checked` returns, for each file.
    labels : sequence of str
        The labels of all rows of the table.
    ids : sequence of str, optional
        Their names.
    target : str
        Name of the column of labels in messages.

    Returns
    -------
    ndarray of object
        The right label of each row that was checked, and None of the others.

    Raises
    ------
    TableError
        If a row is not in the table, has another label now, was checked twice with different
        answers, or if an answer is no label; the file and the line are named.

    Examples
    --------
    >>> from flipcost.recheck import CheckedRow
    >>> row = CheckedRow(2, None, "no", "yes", 0.5, "recheck.csv, line 2")
    >>> match_checked([[row]], ["no", "no", "yes"]).tolist()
    [None, 'yes', None]
    """
    texts = [str(label) for label in labels]
    answers = CheckedAnswers.of(rounds, texts, target, with_ids=ids is not None)
    found = answers.find(texts, np.arange(len(texts)), ids)
    answers.check_found(found.found, len(texts))
    return found.right


def _same_label(text: str, classes: Sequence[str]) -> str | None:
    """Return the label that a text represents; programs change case, and write 1 as 1.0."""
    if text in classes:
        return text
    if are_numbers(classes) and are_numbers([text]):
        (text,) = plain_labels([text], numbers=True)
    alike = [label for label in classes if label.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


def _answer(row: CheckedRow, classes: Sequence[str], target: str) -> str:
    found = _same_label(row.checked, classes)
    if found is None:
        msg = (
            f"{row.where}: 'checked' must be one of the labels of {target!r}, "
            f"{shorten(classes)}, or empty; got {row.checked!r}."
        )
        raise TableError(msg)
    return found
