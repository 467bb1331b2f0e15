"""Rows to check as tasks for Label Studio, and its annotations as answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import msgspec

from flipcost.exceptions import TableError, clean_text
from flipcost.tables.judged import Task

if TYPE_CHECKING:
    from flipcost.recheck._records import RowToCheck


def label_studio_tasks(rows: Sequence[RowToCheck], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows to check as tasks to import.

    ``columns`` of a task is the whole row, those that matter first, for the tag ``Table``.

    Examples
    --------
    >>> from flipcost.recheck import RowToCheck
    >>> row = RowToCheck(7, "a", "no", 0.25, "its label looks wrong", 0.8, {"age": "50"})
    >>> label_studio_tasks([row], ["age"])[0]["data"]["columns"]
    {'age': '50'}
    """
    return [{"data": _facts(row) | {"columns": _ordered(row, columns)}} for row in rows]


def label_studio_config(labels: tuple[str, str]) -> str:
    """Return the labeling interface that the tasks are made for.

    Examples
    --------
    >>> print(label_studio_config(("no", "yes")).splitlines()[3])
      <Choices name="checked" toName="row" choice="single" showInLine="true">
    """
    choices = "\n".join(f"    <Choice value={quoteattr(label)}/>" for label in labels)
    return (
        "<View>\n"
        '  <Header value="Labelled $label: what is right?"/>\n'
        '  <Table name="row" value="$columns"/>\n'
        '  <Choices name="checked" toName="row" choice="single" showInLine="true">\n'
        f"{choices}\n"
        "  </Choices>\n"
        "</View>\n"
    )


def from_label_studio(task: dict[str, Any], where: str = "the task") -> list[dict[str, Any]] | None:
    """Return the answers of an exported task, one for each annotation; None if it is no task.

    Annotations that were skipped count as no answer.

    Examples
    --------
    >>> result = [{"from_name": "checked", "type": "choices", "value": {"choices": ["yes"]}}]
    >>> task = {"data": {"row": 7, "label": "no"}, "annotations": [{"result": result}]}
    >>> from_label_studio(task)
    [{'row': 7, 'label': 'no', 'checked': 'yes'}]
    """
    if not isinstance(task.get("data"), dict):
        return None
    try:
        found = msgspec.convert(task, Task)
    except (ValueError, RecursionError) as error:
        msg = f"{where} is not as Label Studio exports it ({clean_text(str(error), 200)})."
        raise TableError(msg) from error
    answers: list[str | None] = []
    for given in found.answers:
        answers += given.choices().get("checked", [])
    return [found.data | {"checked": answer} for answer in answers or [None]]


def _facts(row: RowToCheck) -> dict[str, Any]:
    facts: dict[str, Any] = {"row": row.row, "label": row.label, "reason": row.reason}
    if row.id is not None:
        facts["row_id"] = row.id
    if row.probability is not None:
        facts["inclusion_probability"] = float(f"{row.probability:.6g}")
    return facts


def _ordered(row: RowToCheck, columns: Sequence[str]) -> dict[str, str]:
    first = {name: row.cells.get(name, "") for name in columns}
    return first | {name: cell for name, cell in row.cells.items() if name not in first}
