"""Rows to check as records for Argilla, and its responses as answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flipcost.recheck._records import RowToCheck

# Of a record, what is shown and what is asked.
_FIELD, _QUESTION = "columns", "checked"
_UNFINISHED = {"draft", "discarded"}


def argilla_lines(rows: Sequence[RowToCheck], columns: Sequence[str]) -> str:
    """Return rows to check as records, one line of JSON each.

    The row is text in one field; what tells which row it is stands in the metadata.

    Examples
    --------
    >>> from flipcost.recheck import RowToCheck
    >>> row = RowToCheck(7, "a", "no", 0.25, "its label looks wrong", 0.8, {"age": "50"})
    >>> json.loads(argilla_lines([row], ["age"]))["metadata"]
    {'row': 7, 'label': 'no', 'row_id': 'a', 'probability': 0.25}
    """
    return "".join(json.dumps(_record(r, columns), ensure_ascii=False) + "\n" for r in rows)


def _record(row: RowToCheck, columns: Sequence[str]) -> dict[str, Any]:
    first = {name: row.cells.get(name, "") for name in columns}
    cells = first | {name: cell for name, cell in row.cells.items() if name not in first}
    shown = "\n".join(f"{name}: {cell}" for name, cell in cells.items())
    metadata: dict[str, Any] = {"row": row.row, "label": row.label}
    if row.id is not None:
        metadata["row_id"] = row.id
    if row.probability is not None:
        metadata["probability"] = float(f"{row.probability:.6g}")
    return {
        "id": str(row.row) if row.id is None else row.id,
        "fields": {_FIELD: shown, "label": row.label, "reason": row.reason},
        "metadata": metadata,
        "suggestions": {},
        "responses": {},
        "vectors": {},
    }


def from_argilla(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the answers of an exported record, one for each response; None if it is no record.

    Records may be nested, as `to_json` and `to_list` give them, flattened, or of Argilla 1.
    Drafts and discarded responses count as no answer.

    Examples
    --------
    >>> metadata = {"row": 7, "label": "no"}
    >>> responses = {"checked": [{"value": "yes", "user_id": "u"}]}
    >>> from_argilla({"id": "7", "fields": {}, "metadata": metadata, "responses": responses})
    [{'row': 7, 'label': 'no', 'checked': 'yes'}]
    """
    flat = f"{_QUESTION}.responses"
    if flat in record:
        values = record[flat] or []
        statuses = record.get(f"{flat}.status") or [None] * len(values)
        answers = [v for v, s in zip(values, statuses, strict=False) if s not in _UNFINISHED]
        facts = {name: record.get(name) for name in ("row", "row_id", "label", "probability")}
        return [facts | {"checked": answer} for answer in answers or [None]]
    if not isinstance(record.get("fields"), dict):
        return None
    metadata = record.get("metadata") or {}
    return [metadata | {"checked": answer} for answer in _responses(record) or [None]]


def _responses(record: dict[str, Any]) -> list[Any]:
    given = record.get("responses") or {}
    if isinstance(given, list):  # Argilla 1: one entry for each user, with all questions
        told = [
            (user.get("values") or {}).get(_QUESTION, {}) | {"status": user.get("status")}
            for user in given
        ]
    else:
        told = given.get(_QUESTION) or []
    return [one.get("value") for one in told if one.get("status") not in _UNFINISHED]
