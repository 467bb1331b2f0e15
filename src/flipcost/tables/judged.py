"""Results of Label Studio and promptfoo as tables: what a judge says, and what people say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from flipcost.exceptions import TableError, shorten
from flipcost.tables.limits import check_regular
from flipcost.tables.reading import read_table

JUDGE, HUMAN, CONFIDENCE = "judge", "human", "confidence"
# What promptfoo calls an output that its provider failed to give.
_FAILED = 2


def read_judged(path: Any, *, delimiter: str | None = None, encoding: str | None = None) -> Any:
    """Read a table of judged rows: CSV, Parquet, or JSON of Label Studio or promptfoo.

    JSON becomes the columns ``judge``, ``human`` and ``confidence`` beside those of the data: of
    Label Studio the prediction, the annotation (that of the ground truth, or else the last) and the
    prediction's score; of promptfoo whether the output passed, how it was rated in the web
    viewer, and its score, with `` 2`` after the names for a second prompt or provider.
    """
    path = Path(path)
    if path.suffix.lower() != ".json":
        return read_table(path, delimiter=delimiter, encoding=encoding)
    found = read_json(path)
    rows = _promptfoo_rows(found) if isinstance(found, dict) else _label_studio_rows(found, path)
    if not rows:
        msg = f"{path.name} holds no results of promptfoo and no tasks of Label Studio."
        raise TableError(msg)
    return _as_table(rows)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        check_regular(path)
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        msg = f"{path} does not exist; check the path."
        raise TableError(msg) from error
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{path.name} cannot be read as JSON; export it again."
        raise TableError(msg) from error


def _as_table(rows: list[dict[str, Any]]) -> Any:
    """Make a table of text of rows, each with some of the columns."""
    names = dict.fromkeys(name for row in rows for name in row)
    text = {
        name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names
    }
    return pa.table({name: pa.array(values, pa.string()) for name, values in text.items()})


def _plain(data: Any) -> dict[str, Any]:
    """Return what can stand in a cell."""
    items = data.items() if isinstance(data, dict) else ()
    return {str(key): value for key, value in items if isinstance(value, str | int | float | bool)}


def _promptfoo_rows(found: dict[str, Any]) -> list[dict[str, Any]]:
    results = found.get("results")
    results = results.get("results") if isinstance(results, dict) else results
    rows: dict[Any, dict[str, Any]] = {}
    for number, result in enumerate(results if isinstance(results, list) else ()):
        if not isinstance(result, dict) or not isinstance(result.get("success"), bool):
            continue
        # Failures of a provider are not answers.
        if result.get("failureReason") == _FAILED:
            continue
        place = result.get("promptIdx") or 0
        after = f" {place + 1}" if isinstance(place, int) and place else ""
        row = rows.setdefault(result.get("testIdx", number), _plain(result.get("vars")))
        grading = result.get("gradingResult")
        parts = (grading.get("componentResults") if isinstance(grading, dict) else None) or []
        parts = [part for part in parts if isinstance(part, dict)]
        human = [part for part in parts if (part.get("assertion") or {}).get("type") == "human"]
        others = [bool(part.get("pass")) for part in parts if part not in human]
        # A rating in the viewer replaces the verdict; the judge's own is that of the assertions.
        passed = all(others) if others else result["success"]
        row[JUDGE + after] = None if human and not others else _verdict(passed)
        row[HUMAN + after] = _verdict(human[-1].get("pass")) if human else None
        if isinstance(result.get("score"), int | float) and not human:
            row["score" + after] = result["score"]
    return list(rows.values())


def _verdict(passed: Any) -> str:
    return "pass" if passed else "fail"


def _tasks(found: Any, path: Path) -> list[dict[str, Any]]:
    if not isinstance(found, list):
        msg = f"{path.name} must hold a list of Label Studio's tasks; export them as JSON."
        raise TableError(msg)
    return [task for task in found if isinstance(task, dict)]


def _label_studio_rows(found: Any, path: Path) -> list[dict[str, Any]]:
    rows = []
    for task in _tasks(found, path):
        answers = list(_annotations(task, path))
        truth = [label for worker, label in answers if worker == "ground truth"]
        human = (truth or [label for _, label in answers])[-1:]
        row = _plain(task.get("data")) | {HUMAN: human[0] if human else None}
        for prediction in task.get("predictions") or ():
            if isinstance(prediction, dict):
                row[JUDGE] = _choice(prediction, path)
                row[CONFIDENCE] = prediction.get("score")
        rows.append(row)
    return rows


def _annotations(task: dict[str, Any], path: Path) -> Iterator[tuple[str, str]]:
    """Yield annotator and label of each answer that was not skipped."""
    for answer in task.get("annotations") or task.get("completions") or ():
        if not isinstance(answer, dict) or answer.get("was_cancelled"):
            continue
        label = _choice(answer, path)
        if label is None:
            continue
        who = answer.get("completed_by")
        who = (who.get("email") or who.get("id")) if isinstance(who, dict) else who
        yield "ground truth" if answer.get("ground_truth") else str(who), label


def _choice(answer: dict[str, Any], path: Path) -> str | None:
    """Return the one choice of an annotation or a prediction."""
    chosen = {
        str(part.get("from_name")): part["value"]["choices"]
        for part in answer.get("result") or ()
        if isinstance(part, dict) and (part.get("value") or {}).get("choices")
    }
    if len(chosen) > 1:
        msg = f"{path.name} has several questions, {shorten(chosen)}; export one of them."
        raise TableError(msg)
    return str(next(iter(chosen.values()))[0]) if chosen else None
