"""Rows to check as tasks for Label Studio, and its annotations as answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

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


def from_label_studio(task: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the answers of an exported task, one for each annotation; None if it is no task.

    Annotations that were skipped count as no answer.

    Examples
    --------
    >>> result = [{"from_name": "checked", "type": "choices", "value": {"choices": ["yes"]}}]
    >>> task = {"data": {"row": 7, "label": "no"}, "annotations": [{"result": result}]}
    >>> from_label_studio(task)
    [{'row': 7, 'label': 'no', 'checked': 'yes'}]
    """
    data = task.get("data")
    if not isinstance(data, dict):
        return None
    answers: list[Any] = []
    for annotation in task.get("annotations") or task.get("completions") or ():
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            continue
        for region in annotation.get("result") or ():
            if region.get("from_name") == "checked":
                answers += region.get("value", {}).get("choices") or []
    return [data | {"checked": answer} for answer in answers or [None]]


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
