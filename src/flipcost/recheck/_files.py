"""Files of rows to check: as text to write, and read back with what was filled in."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec

from flipcost.exceptions import TableError, clean_text, unknown_column
from flipcost.tables.judged import Task
from flipcost.tables.sniff import sniff
from flipcost.tables.spreadsheet import guard_cell, unguard_cell

_SPECIAL = re.compile('[",\r\n]')


@dataclass(frozen=True)
class RowToCheck:
    """A row that someone is asked to look at.

    Attributes
    ----------
    row : int
        Number in the table as files have it, the first being 1.
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
        Number in the table as files have it, the first being 1.
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
        """Name of the row in messages."""
        return f"row {self.row}" if self.id is None else f"row {self.id!r}"


FORMATS = {"csv": ".csv", "label-studio": ".json"}
# Columns of the file that are not the table's.
_OURS = ("row", "id", "label", "inclusion_probability", "reason", "checked")
# Others call their own tasks `id`: then the name of the row is in the first of these, and the
# second tells that it is so.
_THEIRS = ("row_id", "annotation_id")


def rows_as_text(
    rows: Sequence[RowToCheck],
    columns: Sequence[str],
    *,
    to: str = "csv",
) -> str:
    r"""Return the text of a file of rows to check.

    Parameters
    ----------
    rows : sequence of RowToCheck
        The rows.
    columns : sequence of str
        Columns of the table to show, in this order; where others can hold a whole row they do.
    to : {"csv", "label-studio"}
        A table for any spreadsheet, or tasks for Label Studio (JSON).

    Returns
    -------
    str

    Examples
    --------
    >>> row = RowToCheck(7, None, "no", 0.25, "likely label error", 0.8, {"age": "50"})
    >>> print(rows_as_text([row], ["age"]))
    row,age,label,inclusion_probability,reason,checked
    7,50,no,0.25,likely label error,
    <BLANKLINE>
    """
    if to == "csv":
        return _csv(rows, columns)
    if to == "label-studio":
        return json.dumps(label_studio_tasks(rows, columns), indent=1, ensure_ascii=False) + "\n"
    msg = f"`to` must be one of {', '.join(FORMATS)}; got {to!r}."
    raise TableError(msg)


def csv_header(columns: Sequence[str], *, with_id: bool) -> list[str]:
    """Return the names over the columns of a CSV file of rows to check.

    A column of the table named as one of ours is renamed: no name stands twice.

    Examples
    --------
    >>> csv_header(["age", "label"], with_id=False)
    ['row', 'age', 'label (in the table)', 'label', 'inclusion_probability', 'reason', 'checked']
    """
    shown: list[str] = []
    for name in columns:
        new = name
        while new in _OURS or new in shown:
            new += " (in the table)"
        shown.append(guard_cell(new))
    first = ["row", "id"] if with_id else ["row"]
    return [*first, *shown, "label", "inclusion_probability", "reason", "checked"]


def csv_cells(row: RowToCheck, columns: Sequence[str], *, with_id: bool) -> list[str]:
    """Return the cells of a row under `csv_header`, that of the answer empty.

    No cell is a formula to a spreadsheet, see `guard_cell`; what is read back is unguarded.

    Examples
    --------
    >>> csv_cells(RowToCheck(7, "a", "no", None, "suspicious"), [], with_id=True)
    ['7', 'a', 'no', '', 'suspicious', '']
    """
    first = [str(row.row), row.id or ""] if with_id else [str(row.row)]
    shown = [row.cells.get(name, "") for name in columns]
    probability = "" if row.probability is None else f"{row.probability:.6g}"
    cells = [*first, *shown, row.label, probability, row.reason, ""]
    return [guard_cell(cell) for cell in cells]


def _csv(rows: Sequence[RowToCheck], columns: Sequence[str]) -> str:
    with_id = any(row.id is not None for row in rows)
    cells = (csv_cells(row, columns, with_id=with_id) for row in rows)
    return _as_csv([csv_header(columns, with_id=with_id), *cells])


def _as_csv(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text; Python's own writer leaves a carriage return unquoted, a row's end."""
    quoted = (
        ['"' + cell.replace('"', '""') + '"' if _SPECIAL.search(cell) else cell for cell in row]
        for row in rows
    )
    return "".join(",".join(row) + "\n" for row in quoted)


def next_name(folder: Any, suffix: str = ".csv", without: Collection[Path] = ()) -> Path:
    """Return the first of ``recheck.csv``, ``recheck-2.csv``, ... that a folder does not have.

    Numbers go on whatever the suffix: a batch is known by its number. Files that are `without`
    count as not there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "recheck.csv").touch()
    ...     print(next_name(folder).name, next_name(folder, ".json").name)
    recheck-2.csv recheck-2.json
    """
    taken = {path.stem for path in batch_files(folder) if path not in without}
    number, stem = 1, "recheck"
    while stem in taken:
        number += 1
        stem = f"recheck-{number}"
    return Path(folder) / f"{stem}{suffix}"


def batch_files(folder: Any) -> list[Path]:
    """Return the files of rows to check in a folder, in the order of their numbers.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("recheck-10.csv", "recheck.csv", "recheck-2.json", "recheck-old.csv"):
    ...         Path(folder, name).touch()
    ...     print([path.name for path in batch_files(folder)])
    ['recheck.csv', 'recheck-2.json', 'recheck-10.csv']
    """
    found = []
    folder = Path(folder)
    for path in folder.iterdir() if folder.is_dir() else ():
        stem, _, number = path.stem.partition("-")
        known = stem == "recheck" and (number.isdigit() or path.stem == "recheck")
        if known and path.suffix in FORMATS.values():
            found.append((int(number or 1), path.name, path))
    return [path for *_, path in sorted(found)]


def unused_batches(folder: Any, inputs: Iterable[Path] = ()) -> list[Path]:
    r"""Return the CSV files of rows to check in a folder that are as they were written.

    Those have a name, columns and a layout that flipcost gives, and no answer. A spreadsheet that
    saves one, if only with other line ends, makes it a file of its user.

    Parameters
    ----------
    folder : path-like
        The folder of an audit.
    inputs : iterable of Path
        Files that are read, which are never among them.

    Examples
    --------
    >>> head = "row,age,label,inclusion_probability,reason,checked\n"
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, answer in (("recheck.csv", "yes"), ("recheck-2.csv", "")):
    ...         text = f"{head}7,50,no,0.25,likely label error,{answer}\n"
    ...         _ = Path(folder, name).write_bytes(text.encode())
    ...     print([path.name for path in unused_batches(folder)])
    ['recheck-2.csv']
    """
    given = {path.resolve() for path in inputs}
    return [
        path
        for path in batch_files(folder)
        if path.suffix == ".csv" and path.resolve() not in given and _is_as_written(path)
    ]


def write_batch(
    place: Path, folder: Path, rows: Sequence[RowToCheck], columns: Sequence[str], over: Any = ()
) -> str:
    """Write rows to check into a place that moves to a folder; return the name of the file.

    It is one that no file in the folder has, but those that may be written over.

    Examples
    --------
    >>> import tempfile
    >>> row = RowToCheck(7, None, "no", 0.25, "likely label error", 0.8, {"age": "50"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_batch(Path(folder), Path(folder), [row], ["age"])
    'recheck.csv'
    """
    name = next_name(folder, without=over).name
    (place / name).write_text(rows_as_text(rows, columns), encoding="utf-8", newline="")
    return name


def _is_as_written(path: Path) -> bool:
    """Tell whether a file is one of ours, untouched: to the byte what its cells are written as."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        text = path.read_bytes().decode("utf-8")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error):
        return False
    last = csv_header([], with_id=False)[1:]
    if not rows or rows[0][:1] != ["row"] or rows[0][-len(last) :] != last:
        return False
    if any(len(row) != len(rows[0]) or row[-1] or not row[0].isdigit() for row in rows[1:]):
        return False
    return _as_csv(rows) == text


def read_checked(path: Any, *, unanswered: bool = False) -> list[CheckedRow]:
    r"""Read the rows that someone checked.

    A file as `flipcost audit` and `flipcost recheck` write it, with the column ``checked`` filled
    in (CSV with any delimiter), or an export of Label Studio (JSON, JSON-MIN or CSV) of the tasks
    that `flipcost recheck` wrote; or the same rows in JSON or JSON lines.

    Parameters
    ----------
    path : path-like
        The file.
    unanswered : bool, default=False
        Whether to return rows too that no one checked yet.

    Returns
    -------
    list of CheckedRow

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "recheck.csv")
    ...     _ = path.write_text("row,age,label,checked\n7,50,no,yes\n9,31,no,\n")
    ...     (row,) = read_checked(path)
    >>> row.row, row.label, row.checked
    (7, 'no', 'yes')
    """
    path = Path(path)
    found = list(_from_json(path) if _is_json(path) else _from_csv(path))
    return [row for row in found if row.checked or unanswered]


def _is_json(path: Path) -> bool:
    if not path.is_file():
        return False  # which `sniff` says in full
    with path.open("rb") as file:
        start = file.read(4096)
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")


def _from_csv(path: Path) -> Iterator[CheckedRow]:
    form = sniff(path, may_be_empty=True)
    if form.kind != "csv" or form.compression:
        msg = f"{path} must be a CSV or JSON file of checked rows, not compressed."
        raise TableError(msg)
    for name in ("checked", "label"):
        if name not in form.names:
            raise unknown_column(name, form.names, str(path))
    if not {"row", "id"} & set(form.names):
        msg = f"{path} must say which rows were checked, in a column 'row' or 'id'; it has neither."
        raise TableError(msg)
    place = {name: form.names.index(name) for name in (*_OURS, *_THEIRS) if name in form.names}
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=form.delimiter)
        line = 1
        for cells in reader:
            where = f"{path}, line {line}"
            header, line = line == 1, reader.line_num + 1
            if header or not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(form.names):
                msg = f"{where} has {len(cells)} fields under {len(form.names)} column names."
                raise TableError(msg)
            read = {
                name: "" if cells[j].strip() in form.missing else unguard_cell(cells[j].strip())
                for name, j in place.items()
            }
            yield make_row(read, where)


def make_row(read: dict[str, Any], where: str) -> CheckedRow:
    """Return a row from what a file says of it, or say what is wrong there."""
    number = _number(read.get("row"), where)
    is_theirs = any(key in read for key in _THEIRS)
    name = _text(read.get("row_id" if is_theirs else "id")) or None
    answer = _text(read.get("checked"))
    if answer and number is None and name is None:
        msg = f"{where} says neither which 'row' it is nor its 'id'."
        raise TableError(msg)
    label = _text(read.get("label"))
    if answer and not label:
        msg = f"{where} does not say which 'label' the row had; give it as it was."
        raise TableError(msg)
    try:
        probability = float(read.get("inclusion_probability") or "nan")
    except (TypeError, ValueError):
        probability = float("nan")
    known = 0 < probability <= 1
    return CheckedRow(number, name, label, answer, probability if known else None, where)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _number(value: Any, where: str) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.5
    # Larger ones are no row of any table.
    if not (1 <= number <= 2**53 and number.is_integer()):
        msg = f"{where}: 'row' must be the number of a row, from 1; got {value!r}."
        raise TableError(msg)
    return int(number)


def _from_json(path: Path) -> Iterator[CheckedRow]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8; export it again."
        raise TableError(msg) from error
    for where, item in _items(path, text):
        if not isinstance(item, dict):
            msg = f"{where} is no task and no row; give an export of Label Studio."
            raise TableError(msg)
        yield from _rows_of(item, where)


def _items(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    """Return the objects of a JSON file, or of one of JSON lines, and where each is."""
    try:
        found = json.loads(text)
    except RecursionError as error:
        msg = f"{path} is nested too deeply; export it again."
        raise TableError(msg) from error
    except ValueError as whole:
        # Cells may hold what `splitlines` takes for ends of lines.
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                yield f"{path}, line {number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                at = getattr(whole, "lineno", number) if number == 1 else number
                msg = f"{path} is not JSON in line {at}; export it again."
                raise TableError(msg) from error
        return
    for number, item in enumerate(found if isinstance(found, list) else [found], start=1):
        yield f"{path}, item {number}", item


def _rows_of(item: dict[str, Any], where: str) -> Iterator[CheckedRow]:
    answers = from_label_studio(item, where)
    if answers is not None:
        yield from (make_row(answer, where) for answer in answers)
        return
    if "checked" not in item and "label" not in item:
        msg = f"{where} has no answer in 'checked'; give an export of what flipcost wrote."
        raise TableError(msg)
    answer = item.get("checked")
    if isinstance(answer, dict):  # several choices, as JSON-MIN has them
        answer = answer.get("choices")
    for one in answer if isinstance(answer, list) else [answer]:
        yield make_row(item | {"checked": one}, where)


def label_studio_tasks(rows: Sequence[RowToCheck], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows to check as tasks to import.

    ``columns`` of a task is the whole row, those that matter first, for the tag ``Table``.

    Examples
    --------
    >>> from flipcost.recheck import RowToCheck
    >>> row = RowToCheck(7, "a", "no", 0.25, "likely label error", 0.8, {"age": "50"})
    >>> label_studio_tasks([row], ["age"])[0]["data"]["columns"]
    {'age': '50'}
    """
    tasks = []
    for row in rows:
        data: dict[str, Any] = {"row": row.row, "label": row.label, "reason": row.reason}
        if row.id is not None:
            data["row_id"] = row.id
        if row.probability is not None:
            data["inclusion_probability"] = float(f"{row.probability:.6g}")
        first = {name: row.cells.get(name, "") for name in columns}
        tasks.append({"data": data | {"columns": first | dict(row.cells)}})
    return tasks


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
