"""`reproduce`: from the names of tables to results and pages in a folder."""

from __future__ import annotations

import difflib
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flipcost._staging import check_folder, staged_folder
from flipcost.datasets import load_paper_tables
from flipcost.exceptions import ExperimentError
from flipcost.experiments.registry._paper_tables import TABLES
from flipcost.experiments.run._store import FILE, UnitStore
from flipcost.experiments.run._units import Unit, all_units
from flipcost.experiments.run._workers import run_units
from flipcost.experiments.tables._page import to_html
from flipcost.experiments.tables._results import Row, summarize, tidy, write_csv
from flipcost.experiments.tables._texts import to_latex, to_markdown

# What is written, beside the units.
PAGES = ("results.csv", "summary.csv", "tables.md", "tables.tex", "report.html")
_ALWAYS = ("usq_regerm", "flipcost")
_ETA_COLUMN = {"lspc": "lspc", "knn": "knn"}
_LINES = 20
_BAR = 30


@dataclass(frozen=True)
class Reproduction:
    """What came out.

    Attributes
    ----------
    rows : list of dict
        The tidy results, as in ``results.csv``.
    summary : list of dict
        Agreement by table and method, see `flipcost.experiments.summarize`.
    folder : Path
        Where the files are.
    seconds : float
        Time taken, units that were there already not counted.
    """

    rows: list
    summary: list
    folder: Path
    seconds: float

    @property
    def agreement(self) -> tuple[int, int]:
        """Return how many cells that no erratum touches agree, and how many there are."""
        return (
            sum(entry["agree"] for entry in self.summary),
            sum(entry["cells"] for entry in self.summary),
        )


def reproduce(
    tables: Iterable[str] | None = None,
    *,
    trials: int = 10,
    jobs: int = 1,
    seed: int = 0,
    out: str | Path = "reproduction",
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = True,
) -> Reproduction:
    """Regenerate the paper's tables beside the printed ones.

    Parameters
    ----------
    tables : sequence of str, default=None
        Names of tables, see `flipcost.experiments.TABLES`; all of them when None or empty.
    trials : int, default=10
        Splits of each problem.
    jobs : int, default=1
        Processes. The results do not depend on it.
    seed : int, default=0
        Seed of everything.
    out : path, default="reproduction"
        Folder for ``results.csv``, ``summary.csv``, ``report.html``, ``tables.md`` and
        ``tables.tex``. Finished units are kept there too, in ``units.jsonl``.
    resume : bool, default=False
        Whether to go on with the finished units of the folder. The results are those of a run
        that was not interrupted; a run can also be resumed with more trials or tables.
    overwrite : bool, default=False
        Whether to throw away the results and finished units of an earlier run in the folder.
    progress : bool, default=True
        Whether to show progress on standard error.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = reproduce(["cost_clean_all_case2_BUPA"], trials=2, out=folder, progress=False)
    >>> len(found.rows), found.rows[0]["paper_mean"]
    (12, 0.971)
    """
    names = _checked_tables(tables)
    for name, value, least in (("trials", trials, 1), ("jobs", jobs, 1), ("seed", seed, 0)):
        if value < least:
            msg = f"`{name}` must be {least} or more; got {value}."
            raise ExperimentError(msg)
    if resume and overwrite:
        msg = (
            "Give `resume` or `overwrite`, not both: one keeps the earlier run, the other does not."
        )
        raise ExperimentError(msg)
    folder = Path(out)
    if not resume:
        _refuse_earlier(folder, overwrite=overwrite)
    started = time.perf_counter()
    units = needed_units(names, trials)
    try:
        records = _run(units, folder, seed, jobs=jobs, resume=resume, progress=progress)
        rows = tidy(records, names, seed)
        seconds = time.perf_counter() - started
        write_pages(rows, folder, {"trials": trials, "seed": seed})
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        msg = (
            f"{folder} must be a folder that can be written to; got: {reason}. Make room, or "
            "choose another one; units finished so far are kept."
        )
        raise ExperimentError(msg) from error
    return Reproduction(rows, summarize(rows), folder, seconds)


def _refuse_earlier(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder with results or units of an earlier run, unless these may be replaced."""
    if (folder / FILE).exists() and not overwrite:
        msg = (
            f"{folder} holds the units of an earlier run; resume it (`resume=True`), replace it "
            "(`overwrite=True`), or choose another `out`."
        )
        raise ExperimentError(msg)
    check_folder(folder, PAGES, overwrite=overwrite)


def _run(
    units: list[Unit], folder: Path, seed: int, *, jobs: int, resume: bool, progress: bool
) -> dict[str, list[Row]]:
    """Run the units that the folder lacks, and return the records of all."""
    store = UnitStore(folder, seed, resume=resume)
    try:
        missing = [unit for unit in units if unit.key not in store.records]
        meter = _Meter(len(units), len(units) - len(missing), show=progress)

        def done(unit: Unit, records: list[Row]) -> None:
            store.add(unit.key, records)
            meter.step()

        run_units(missing, seed, jobs=jobs, done=done)
        meter.end()
    finally:
        store.close()
    # Only what was asked for: a folder may hold units of more trials or other tables.
    return {unit.key: store.records[unit.key] for unit in units}


def needed_units(names: list[str], trials: int) -> list[Unit]:
    """Return the units behind tables.

    Examples
    --------
    >>> [unit.column for unit in needed_units(["syn_cost_bayes"], 1)]
    ['bayes']
    """
    wanted = set()
    for cell in load_paper_tables():
        if cell["table"] not in names:
            continue
        kind = TABLES[cell["table"]].kind
        pi = cell["pi"] if kind in ("case1", "case3") else None
        columns = [_column(kind, cell["method"])]
        if kind == "noisy" and cell["method"] != "bayes":
            columns += _ALWAYS
        wanted |= {(kind, cell["dataset"], cell["rho"], pi, column) for column in columns}
    return [
        unit
        for unit in all_units(trials)
        if (unit.kind, unit.problem, unit.rho, unit.pi, unit.column) in wanted
    ]


def _column(kind: str, method: str) -> Any:
    if kind != "eta":
        return method
    if method.startswith("kliep"):
        return "kliep"
    return _ETA_COLUMN.get(method, "link")


def _checked_tables(tables: Iterable[str] | None) -> list[str]:
    names = list(dict.fromkeys(tables or TABLES))
    for name in names:
        if name not in TABLES:
            begun = [known for known in TABLES if known.lower().startswith(name.lower())]
            near = begun or difflib.get_close_matches(name, TABLES, n=1, cutoff=0.3)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            msg = f"No table is called {name!r}.{hint} There are: {', '.join(TABLES)}."
            raise ExperimentError(msg)
    return [name for name in TABLES if name in names]


def write_pages(rows: list[Row], folder: Path, about: dict[str, Any]) -> None:
    """Write results and pages, which replace those of the folder together."""
    with staged_folder(folder, PAGES, overwrite=True) as place:
        write_csv(rows, place / "results.csv")
        _write_summary(rows, place / "summary.csv")
        (place / "tables.md").write_text(to_markdown(rows), encoding="utf-8")
        (place / "tables.tex").write_text(to_latex(rows), encoding="utf-8")
        (place / "report.html").write_text(to_html(rows, about), encoding="utf-8")


def _write_summary(rows: list[Row], path: Path) -> None:
    entries = summarize(rows)
    fields = ("table", "method", "agree", "cells", "touched_agree", "touched_cells")
    lines = [",".join(fields), *(",".join(str(e[f]) for f in fields) for e in entries)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class _Meter:
    """Progress on standard error: a bar on a terminal, some twenty lines elsewhere."""

    def __init__(self, total: int, before: int, *, show: bool) -> None:
        self._total, self._before, self._count = total, before, before
        self._show, self._started = show and total > before, time.monotonic()
        self._next = before

    def step(self) -> None:
        self._count += 1
        if not self._show:
            return
        spent = time.monotonic() - self._started
        left = spent / (self._count - self._before) * (self._total - self._count)
        text = f"{self._count}/{self._total} units, {_duration(left)} left"
        if sys.stderr.isatty():
            filled = _BAR * self._count // self._total
            bar = "#" * filled + "." * (_BAR - filled)
            sys.stderr.write(f"\r[{bar}] {text}   ")
        elif self._count >= self._next:
            self._next = self._count + max(1, self._total // _LINES)
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self._show and sys.stderr.isatty():
            sys.stderr.write("\n")


def _duration(seconds: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> _duration(42.4), _duration(200)
    ('42 s', '3 min 20 s')
    """
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
