r"""`reproduce`: run the units of tables, keep each that is finished, write results and pages.

Finished units are appended to a file, one a line, and flushed, so that a kill loses none. The first
line identifies the run; a line that a kill cut short is dropped when the run is resumed.

A unit is one method on one split of one problem. Its random numbers come from its own identity, so
that it gives the same values whichever process runs it, in whatever order, alone or after an
interruption.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from flipcost._staging import check_folder, staged_folder
from flipcost._version import __version__
from flipcost.datasets import load_paper_tables
from flipcost.exceptions import ExperimentError
from flipcost.paper.experiments.methods import (
    CLEAN_COSTS,
    CLEAN_MARGINS,
    KLIEPEstimate,
    LinkEstimate,
    LSPEstimate,
    run_bayes,
    run_clean,
    run_constants,
    run_etas,
    run_flipcost,
    run_natarajan,
    run_scheme1,
    run_scheme2,
)
from flipcost.paper.experiments.pages import to_html, to_markdown
from flipcost.paper.experiments.problems import (
    BUPA_MARGINS,
    CASE3_COSTS,
    PRIORS,
    PROBLEMS,
    TABLES,
    UCI,
    Trial,
    draw_trial,
    generator,
)
from flipcost.paper.experiments.results import SUMMARY_FIELDS, Row, summarize, tidy, write_csv
from flipcost.paper.resampling import margin_grid

_ETA_PROBLEMS = ("syn2d", "syn3d", "syn10d")
_ETA_COLUMNS = ("link", "lspc", "knn", "kliep")
_SCHEME2 = {
    "lkfun_sq": lambda trial, _rng: LinkEstimate(trial, "squared"),
    "lkfun_log": lambda trial, _rng: LinkEstimate(trial, "logistic"),
    "lspc": LSPEstimate,
    "kliep": KLIEPEstimate,
}
# The figures of these are quoted from their source, which has none without noise.
_NEED_NOISE = ("mub_log", "sw01_log")
_COMMON = ("usq_regerm", "flipcost")
# Which methods run on which problem under noise: the printed ones, and ours.
_NOISY_COLUMNS = {
    **dict.fromkeys(UCI, (*_SCHEME2, *_NEED_NOISE, *_COMMON)),
    "bupa": ("lkfun_sq", "lkfun_log", *_COMMON),
    "syn3d_imb": ("lkfun_log", "lspc", *_COMMON),
}
# The weighted costs printed for all-flags on Syn3D-imbalanced end the grid here, except
# for LSPC, whose grid is the whole one.
_SHORT_GRID = 8


@dataclass(frozen=True, order=True)
class Unit:
    """What to run: kind of experiment, problem, noise rate, share of positives, method, trial."""

    kind: str
    problem: str
    rho: float
    pi: float | None
    column: str
    trial: int

    @property
    def key(self) -> str:
        """Return the unit's identity as text."""
        return f"{self.kind}/{self.problem}/rho={self.rho}/pi={self.pi}/{self.column}/{self.trial}"


def all_units(trials: int) -> list[Unit]:
    """Return every unit, trial by trial: the first units are those of fewer trials."""
    return [unit for trial in range(trials) for unit in _units_of(trial)]


def _units_of(trial: int) -> list[Unit]:
    noisy = [
        Unit("noisy", name, rho, None, column, trial)
        for name, columns in _NOISY_COLUMNS.items()
        for rho in PROBLEMS[name].rates
        for column in columns
        if rho > 0 or column not in _NEED_NOISE
    ]
    bayes = Unit("noisy", "syn3d_imb", 0.0, None, "bayes", trial)
    case1 = [
        Unit("case1", name, 0.0, pi, "usq_regerm", trial)
        for name in ("syn1", "syn2")
        for pi in PRIORS
    ]
    case2 = Unit("case2", "bupa", 0.0, None, "usq_regerm", trial)
    case3 = [Unit("case3", "syn2", 0.0, pi, "usq_regerm", trial) for pi in PRIORS]
    etas = [
        Unit("eta", name, 0.0, None, column, trial)
        for name in _ETA_PROBLEMS
        for column in _ETA_COLUMNS
    ]
    return [*noisy, bayes, *case1, case2, *case3, *etas]


def run_unit(unit: Unit, seed: int) -> list[Row]:
    """Run a unit and return its records: dictionaries in the terms of the printed cells."""
    trial = draw_trial(seed, unit.problem, unit.trial, unit.rho, unit.pi)
    run = {"noisy": _noisy, "eta": _eta}.get(unit.kind, _clean)
    return [
        {
            "dataset": unit.problem,
            "rho": unit.rho,
            "pi": unit.pi,
            "cost": cost,
            "gamma": gamma,
            "method": method,
            "reading": reading,
            "measure": measure,
            "value": None if value != value else float(value),  # NaN is no JSON
        }
        for cost, gamma, method, reading, measure, value in run(
            unit, trial, generator(seed, unit.key)
        )
    ]


def _margins(unit: Unit) -> Any:
    if unit.problem == "bupa":
        return BUPA_MARGINS
    grid = margin_grid(PROBLEMS[unit.problem].cost)
    short = unit.problem == "syn3d_imb" and unit.column != "lspc"
    return grid[:_SHORT_GRID] if short else grid


def _noisy(unit: Unit, trial: Trial, rng: np.random.Generator) -> Any:
    """Return the cost, margin, method, reading, measure and value of each record."""
    cost, column, margins = PROBLEMS[unit.problem].cost, unit.column, _margins(unit)
    if column in _SCHEME2:
        fixed = (1.0,) if unit.problem == "bupa" else ()
        found = run_scheme2(trial, _SCHEME2[column](trial, rng), cost, margins, rng, fixed)
        if column == "kliep":
            best = run_scheme2(trial, KLIEPEstimate(trial, rng, "certified"), cost, margins, rng)
            found += [("certified", *rest) for reading, *rest in best if reading == "untouched"]
        return [(cost, gamma, column, reading, *rest) for reading, gamma, *rest in found]
    if column == "usq_regerm":
        found = [(column, *row) for row in run_scheme1(trial, cost, margins, unit.rho, rng)]
        found += [(method, "constant", *pair) for method, *pair in run_constants(trial, cost)]
    elif column == "bayes":
        found = [(column, "exact", *pair) for pair in run_bayes(trial, cost, margins)]
    elif column == "flipcost":
        found = [(column, "ours", *pair) for pair in run_flipcost(trial, cost, rng)]
    else:
        pairs = run_natarajan(trial, column, unit.rho, rng)
        found = [(column, "rate known", *pair) for pair in pairs]
    return [(cost, "tuned", *row) for row in found]


def _clean(unit: Unit, trial: Trial, rng: np.random.Generator) -> Any:
    """Return the records of section D, where costs and margins are tuned without noise."""
    tuned: Any = [(0.5, margin) for margin in CLEAN_MARGINS]
    if unit.kind == "case1":
        approaches = {
            ("tuned", 1.0): [(cost, 1.0) for cost in CLEAN_COSTS],
            (0.5, "tuned"): tuned,
            ("tuned", "tuned"): [(cost, margin) for cost in CLEAN_COSTS for _, margin in tuned],
        }
    elif unit.kind == "case2":
        cost = PROBLEMS[unit.problem].cost
        approaches = {
            (cost, "tuned"): [(cost, margin) for margin in margin_grid(cost)],
            (cost, 1.0): [(cost, 1.0)],
        }
    else:
        cost = CASE3_COSTS[PRIORS.index(unit.pi)]
        approaches = {(cost, "tuned"): [(cost, margin) for _, margin in tuned]}
    return [(*head, "usq_regerm", *rest) for head, *rest in run_clean(trial, approaches, rng)]


def _eta(unit: Unit, trial: Trial, rng: np.random.Generator) -> Any:
    return [(None, None, *row) for row in run_etas(trial, unit.column, rng)]


def run_units(
    units: list[Unit],
    seed: int,
    *,
    jobs: int = 1,
    done: Callable[[Unit, list[Row]], None],
) -> None:
    """Run units, and pass each to ``done(unit, records)`` as it finishes.

    The linear algebra keeps to one thread: several would add in another order, and the units of
    this size gain nothing from them.
    """
    if jobs == 1 or len(units) < 2:
        for unit in units:
            done(unit, _guarded(unit, seed))
        return
    # Not forked: a fork copies locks that other threads may hold.
    context = get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (os.getpid(), stop))
    try:
        waiting = {pool.submit(_guarded, unit, seed): unit for unit in units}
        for future in as_completed(waiting):
            done(waiting.pop(future), future.result())
    finally:
        # A second interrupt must not break off the clean-up of the first.
        with _deaf():
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _deaf() -> Any:
    """Ignore interrupts for a while, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _guarded(unit: Unit, seed: int) -> Any:
    with threadpool_limits(1), warnings.catch_warnings():
        # Fits at the edge of the paper's grids warn; what matters is in the values.
        warnings.simplefilter("ignore")
        return run_unit(unit, seed)


def _start_worker(parent: int, stop: Any) -> None:
    """Leave interrupts to the parent, and end when it ends, even by a kill."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent and not stop.wait(0.5):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


FILE = "units.jsonl"
# Incremented whenever the same seed would give other values.
_FORMAT = 1


class UnitStore:
    """The finished units of a run in a folder.

    Parameters
    ----------
    folder : Path
        Where the file of units is or will be.
    seed : int
        The run's seed.
    resume : bool
        Whether to keep the units that are there; otherwise they are deleted.
    """

    def __init__(self, folder: Path, seed: int, *, resume: bool = False) -> None:
        path = Path(folder) / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        head = {"format": _FORMAT, "seed": int(seed), "version": __version__}
        content = path.read_bytes() if resume and path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]  # a kill may have cut the last line short
        lines = [json.loads(line) for line in whole.splitlines()]
        if lines and lines[0] != head:
            msg = (
                f"{path} must come from the same seed and version to be resumed; it has "
                f"{lines[0]}, this run {head}. Choose another folder, or leave `resume` out."
            )
            raise ExperimentError(msg)
        self.records: dict[str, list[Row]] = {line["unit"]: line["records"] for line in lines[1:]}
        self._file = path.open("r+b" if whole else "wb")
        self._file.seek(len(whole))
        self._file.truncate()
        if not lines:
            self._write(head)

    def add(self, key: str, records: list[Row]) -> None:
        """Store the records of a finished unit."""
        self.records[key] = records
        self._write({"unit": key, "records": records})

    def _write(self, line: Row) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


# What is written, beside the units.
PAGES = ("results.csv", "summary.csv", "tables.md", "report.html")
_ETA_COLUMN = {"lspc": "lspc", "knn": "knn"}
_LINES = 20


@dataclass(frozen=True)
class Reproduction:
    """The results of a run.

    Attributes
    ----------
    rows : list of dict
        The tidy results, as in ``results.csv``.
    summary : list of dict
        Agreement by table and method, as in ``summary.csv``.
    folder : Path
        Where the files are.
    seconds : float
        Time taken, without units that were finished before.
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
        Names of tables, see `flipcost.paper.experiments.TABLES`; all of them when None or empty.
    trials : int, default=10
        Splits of each problem.
    jobs : int, default=1
        Processes. The results do not depend on it.
    seed : int, default=0
        Seed of everything.
    out : path, default="reproduction"
        Folder for ``results.csv``, ``summary.csv``, ``report.html`` and ``tables.md``. Finished
        units are kept there too, in ``units.jsonl``.
    resume : bool, default=False
        Whether to go on with the finished units of the folder. The results are those of a run
        that was not interrupted; a run can also be resumed with more trials or tables.
    overwrite : bool, default=False
        Whether to delete the results and finished units of an earlier run in the folder.
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
    """Run the missing units, and return the records of all."""
    store = UnitStore(folder, seed, resume=resume)
    try:
        missing = [unit for unit in units if unit.key not in store.records]
        step = _meter(len(units), len(units) - len(missing), show=progress)

        def done(unit: Unit, records: list[Row]) -> None:
            store.add(unit.key, records)
            step()

        run_units(missing, seed, jobs=jobs, done=done)
    finally:
        store.close()
    # Only what was asked for: a folder may hold units of more trials or other tables.
    return {unit.key: store.records[unit.key] for unit in units}


def needed_units(names: list[str], trials: int) -> list[Unit]:
    """Return the units behind tables."""
    wanted = set()
    for cell in load_paper_tables():
        if cell["table"] not in names:
            continue
        kind = TABLES[cell["table"]].kind
        pi = cell["pi"] if kind in ("case1", "case3") else None
        columns = [_column(kind, cell["method"])]
        if kind == "noisy" and cell["method"] != "bayes":
            columns += _COMMON
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
            msg = f"There is no table {name!r}.{hint} There are: {', '.join(TABLES)}."
            raise ExperimentError(msg)
    return [name for name in TABLES if name in names]


def write_pages(rows: list[Row], folder: Path, about: dict[str, Any]) -> None:
    """Write results and pages, which replace those of the folder together."""
    with staged_folder(folder, PAGES, overwrite=True) as place:
        write_csv(rows, place / "results.csv")
        write_csv(summarize(rows), place / "summary.csv", SUMMARY_FIELDS)
        (place / "tables.md").write_text(to_markdown(rows), encoding="utf-8")
        (place / "report.html").write_text(to_html(rows, about), encoding="utf-8")


def _meter(total: int, before: int, *, show: bool) -> Callable[[], None]:
    """Return what to call for each finished unit.

    On a terminal it keeps one line on standard error up to date; elsewhere it writes some twenty.
    """
    count, started, terminal = before, time.monotonic(), sys.stderr.isatty()

    def step() -> None:
        nonlocal count
        count += 1
        if show and (terminal or count == total or count % max(1, total // _LINES) == 0):
            left = (time.monotonic() - started) / (count - before) * (total - count)
            text = f"{count}/{total} units, {timedelta(seconds=round(left))} left"
            end = "\r" if terminal and count < total else "\n"
            sys.stderr.write(text.ljust(40) + end if terminal else text + end)
            sys.stderr.flush()

    return step
