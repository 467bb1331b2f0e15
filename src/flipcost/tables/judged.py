"""Results of Label Studio and promptfoo as tables: what a judge says, and what people say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from flipcost.exceptions import TableError, clean_text, shorten
from flipcost.tables.reading import read_table
from flipcost.tables.sniff import check_regular

JUDGE, HUMAN, CONFIDENCE = "judge", "human", "confidence"
# What promptfoo calls an output that its provider failed to give.
_FAILED = 2


class _Value(msgspec.Struct):
    """What was chosen in a region."""

    choices: list[str] | None = None


class _Region(msgspec.Struct):
    """One answer within an annotation."""

    from_name: str = ""
    value: _Value | None = None


class _Annotation(msgspec.Struct):
    """An annotation, or a prediction."""

    result: list[_Region] | None = None
    was_cancelled: bool | None = False
    skipped: bool | None = False
    ground_truth: bool | None = False
    score: float | None = None

    def choices(self) -> dict[str, list[str]]:
        """Return what was chosen, by the name of the question; nothing where it was skipped."""
        found: dict[str, list[str]] = {}
        if not (self.was_cancelled or self.skipped):
            for region in self.result or ():
                if region.value is not None and region.value.choices:
                    found.setdefault(region.from_name, []).extend(region.value.choices)
        return found


class Task(msgspec.Struct):
    """A task of Label Studio as it is exported."""

    data: dict[str, Any]
    annotations: list[_Annotation] | None = None
    completions: list[_Annotation] | None = None
    # Some exports name predictions by numbers alone.
    predictions: list[_Annotation | int] | None = None

    @property
    def answers(self) -> list[_Annotation]:
        """Return the annotations, as versions of Label Studio call them."""
        return self.annotations or self.completions or []


class _Assertion(msgspec.Struct):
    type: str | None = None


class _Component(msgspec.Struct, rename={"passed": "pass"}):
    passed: bool | None = None
    assertion: _Assertion | None = None

    @property
    def is_human(self) -> bool:
        return self.assertion is not None and self.assertion.type == "human"


class _Grading(msgspec.Struct):
    components: list[_Component | None] | None = msgspec.field(
        name="componentResults", default=None
    )


class _Result(msgspec.Struct, rename="camel"):
    """A result of promptfoo: one test, one prompt, one provider."""

    success: bool
    failure_reason: int | str | None = None
    prompt_idx: int | None = None
    test_idx: int | None = None
    vars: dict[str, Any] | None = None
    grading_result: _Grading | None = None
    score: float | None = None


class _Results(msgspec.Struct):
    results: list[_Result]


class _Evaluation(msgspec.Struct):
    """A file of promptfoo: older versions have the results one level higher."""

    results: _Results | list[_Result]


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
    data = _content(path)
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        rows = _promptfoo_rows(decode(data, _Evaluation, path.name, "promptfoo's results"))
    else:
        tasks = decode(data, list[Task], path.name, "Label Studio's tasks")
        rows = _label_studio_rows(tasks, path.name)
    if not rows:
        msg = f"{path.name} holds no results of promptfoo and no tasks of Label Studio."
        raise TableError(msg)
    return _as_table(rows)


def _content(path: Path) -> bytes:
    try:
        check_regular(path)
        return path.read_bytes()
    except FileNotFoundError as error:
        msg = f"{path} does not exist; check the path."
        raise TableError(msg) from error
    except OSError as error:
        msg = f"{path.name} cannot be read ({error.strerror}); check the path."
        raise TableError(msg) from error


def decode(data: bytes, kind: Any, name: str, what: str) -> Any:
    """Return what a JSON file holds, each part of its type, or refuse the file."""
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=kind)
    except msgspec.ValidationError as error:
        msg = f"{name} does not hold {what} as they are exported: {clean_text(str(error), 200)}."
        raise TableError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{name} cannot be read as JSON; export it again."
        raise TableError(msg) from error


def _as_table(rows: list[dict[str, Any]]) -> Any:
    """Make a table of text of rows, each with some of the columns."""
    names = dict.fromkeys(name for row in rows for name in row)
    text = {
        name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names
    }
    return pa.table({name: pa.array(values, pa.string()) for name, values in text.items()})


def _plain(data: dict[str, Any] | None) -> dict[str, Any]:
    """Return what can stand in a cell."""
    items = (data or {}).items()
    return {key: value for key, value in items if isinstance(value, str | int | float | bool)}


def _promptfoo_rows(found: _Evaluation) -> list[dict[str, Any]]:
    results = found.results.results if isinstance(found.results, _Results) else found.results
    rows: dict[int, dict[str, Any]] = {}
    for number, result in enumerate(results):
        # Failures of a provider are not answers.
        if result.failure_reason == _FAILED:
            continue
        after = f" {result.prompt_idx + 1}" if result.prompt_idx else ""
        test = number if result.test_idx is None else result.test_idx
        row = rows.setdefault(test, _plain(result.vars))
        grading = result.grading_result
        parts = [part for part in (grading and grading.components) or () if part is not None]
        human = [part for part in parts if part.is_human]
        others = [bool(part.passed) for part in parts if not part.is_human]
        # A rating in the viewer replaces the verdict; the judge's own is that of the assertions.
        passed = all(others) if others else result.success
        row[JUDGE + after] = None if human and not others else _verdict(passed)
        row[HUMAN + after] = _verdict(human[-1].passed) if human else None
        if result.score is not None and not human:
            row["score" + after] = result.score
    return list(rows.values())


def _verdict(passed: Any) -> str:
    return "pass" if passed else "fail"


def _label_studio_rows(tasks: list[Task], name: str) -> list[dict[str, Any]]:
    rows = []
    for task in tasks:
        answers = [(answer.ground_truth, _choice(answer, name)) for answer in task.answers]
        labels = [label for _, label in answers if label is not None]
        truth = [label for is_true, label in answers if is_true and label is not None]
        row = _plain(task.data) | {HUMAN: next(reversed(truth or labels), None)}
        for prediction in task.predictions or ():
            if isinstance(prediction, _Annotation):
                row[JUDGE] = _choice(prediction, name)
                row[CONFIDENCE] = prediction.score
        rows.append(row)
    return rows


def _choice(answer: _Annotation, name: str) -> str | None:
    """Return the one choice of an annotation or a prediction; None of one that was skipped."""
    chosen = answer.choices()
    if len(chosen) > 1:
        msg = f"{name} has several questions, {shorten(chosen)}; export one of them."
        raise TableError(msg)
    return next(iter(chosen.values()))[0] if chosen else None
