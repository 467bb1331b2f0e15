"""`flipcost audit`: where rows come from, and where results go; what is asked is `AuditOptions`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flipcost._options import (
    COSTS,
    KNOWN,
    LARGE,
    MODEL,
    RESULTS,
    TABLE,
    option,
    read_given,
    same_as,
)
from flipcost._staging import check_folder, staged_folder, stop_if_interrupted
from flipcost.audit import AuditOptions
from flipcost.cli._command import MAX_BYTES, Results, command, in_options
from flipcost.cli._terminal import as_json, echo, print_audit, print_json, readable_name
from flipcost.exceptions import FlipCostError, UserError

if TYPE_CHECKING:
    from flipcost.audit import Findings
    from flipcost.core.costs import Costs

TRY = "To try it out"
_POOL = "recheck-pool.parquet"
_FILES = ("report.html", "summary.json", "model.json", "suspects.csv", "labels.csv", _POOL)
_ADDRESSES = ("postgresql://", "postgres://")
_DATABASES = (".duckdb", ".ddb")


@dataclass(frozen=True, kw_only=True)
class AuditFiles:
    """Where rows come from, and where results go."""

    data: str | None = option(
        None,
        "CSV (any delimiter, compressed too) or Parquet file; or a folder or a pattern; or "
        "file.duckdb::table; or a postgresql:// address with --table.",
        TABLE,
        flag="",
    )
    table: str | None = option(None, "Table of a database, or a SELECT.", TABLE)
    connection: str | None = option(
        None,
        "Address of a database, postgresql://...; best from the environment.",
        TABLE,
        envvar="FLIPCOST_CONNECTION",
        show_default=False,
    )
    delimiter: str | None = option(None, "Field delimiter; detected by default.", TABLE)
    encoding: str | None = option(None, "Of text, if not UTF-8.", TABLE)
    cost_fn: str | None = option(
        None,
        "What a missed positive costs: a number, a column, arithmetic of columns such as "
        "0.8*amount+12, or a range such as 3..8.",
        COSTS,
    )
    cost_fp: str | None = option(None, "What a false alarm costs, likewise.", COSTS)
    max_bytes: int | None = option(None, MAX_BYTES, LARGE, min=0)
    memory_share: float = option(
        0.25,
        "Read a file that would take more than this share of memory in passes, rather than hold "
        "it; 0 for every file.",
        LARGE,
        min=0,
    )
    dask: str | None = option(
        None, "Have a Dask cluster read the file: its scheduler, as tcp://host:port.", LARGE
    )
    example: str | None = option(
        None, "Audit bundled data with label errors added; see `flipcost datasets`.", TRY
    )
    example_noise: str = option("0.2", "Error rate of the example: R, or R+,R-.", TRY)
    out: Path = option(Path("flipcost-audit"), "Folder for the results.", RESULTS)
    strict: bool = option(False, "Stop at warnings.", RESULTS)
    overwrite: bool = same_as(Results, "overwrite")
    as_json: bool = same_as(Results, "as_json")
    quiet: bool = same_as(Results, "quiet")

    @property
    def text(self) -> dict[str, Any]:
        """How text is read."""
        return {"delimiter": self.delimiter, "encoding": self.encoding}

    @property
    def costs(self) -> Costs | None:
        """What wrong decisions cost, if that was given."""
        from flipcost.core.costs import Costs

        fn, fp = self.cost_fn, self.cost_fp
        if fn is None and fp is None:
            return None
        if fn is None or fp is None:
            msg = "Give both --cost-fn (a missed positive) and --cost-fp (a false alarm)."
            raise UserError(msg)
        for name, price in (("--cost-fn", fn), ("--cost-fp", fp)):
            try:
                value = float(price)
            except ValueError:  # a column, arithmetic or a range
                continue
            if not 0 < value < float("inf"):
                msg = f"{name} must be a number above 0; got {value:g}."
                raise UserError(msg)
        try:
            return Costs(fn=fn, fp=fp)
        except ValueError as error:
            raise UserError(in_options(str(error))) from error


@command(
    "audit",
    AuditFiles,
    AuditOptions,
    examples={
        TABLE: "flipcost audit claims.csv --target fraud --positive yes --id claim",
        COSTS: "flipcost audit claims.csv --target fraud --cost-fn 500 --cost-fp 20",
        KNOWN: "flipcost audit claims.csv --target fraud --trusted checked_by_expert",
        MODEL: "flipcost audit claims.csv --target fraud --model boosting",
        LARGE: "flipcost audit 'claims/*.parquet' --target fraud --memory-share 0",
        TRY: "flipcost audit --example pima --example-noise 0.3,0.1",
        RESULTS: "flipcost audit claims.csv --target fraud --out claims-audit --overwrite",
    },
)
def audit_command(asked: AuditFiles, **given: Any) -> None:
    """Say how many labels are wrong, and which model to use.

    A report, the model, and the rows to check next go to a folder. Without costs a miss and a false
    alarm cost the same.
    """
    from flipcost.recheck import unused_batches
    from flipcost.tables.reading import read_table

    out, test, model = asked.out, given["test"], given["model"]
    database = None
    if asked.example is None:
        database = find_database(asked.data, asked.table, asked.connection)
    files = [] if asked.data is None else [Path(asked.data)]
    files = files if database is None else database.files
    inputs = [*files, *([test] if test else []), Path(model), *given["checked"]]
    check_folder(out, _FILES, overwrite=asked.overwrite, inputs=inputs)
    options = read_given(AuditOptions, given)
    run = _planned(asked, database, options)
    if test is not None:
        options["test"] = read_table(test, **asked.text, max_bytes=asked.max_bytes)
    options["model"] = _model(model)
    with staged_folder(out, _FILES, overwrite=asked.overwrite, inputs=inputs) as place:
        with _progress(silent=asked.quiet or asked.as_json) as progress, _elsewhere():
            result = run(progress=progress, **options)
        result = replace(result, warnings=[in_options(text) for text in result.warnings])
        if asked.strict and result.warnings:
            raise UserError(result.warnings[0])
        replaced = unused_batches(out, inputs) if asked.overwrite else []
        result = replace(result, batch_file=_write_batch(result, place, out, replaced))
        _write(result, place)
        written = {file.name for file in place.iterdir()}
    if asked.overwrite:
        _clear_earlier(out, written, inputs)
    for warning in result.warnings:
        echo(f"flipcost: warning: {warning}", err=True)
    if asked.as_json:
        print_json(result.summary())
    elif not asked.quiet:
        print_audit(result, out)


def _planned(
    asked: AuditFiles, database: Database | None, options: dict[str, Any]
) -> Callable[..., Findings]:
    """Return what audits the example, the database or the file; add to its options."""
    from flipcost.audit import audit, audit_files, audit_sql
    from flipcost.cli._demo import default_costs, example_table
    from flipcost.tables.files import check_sizes, exceeds_memory
    from flipcost.tables.paths import is_many

    target = options.pop("target", None)
    if target is None and options["annotators"]:
        target = "label"
    if asked.example is not None:
        if asked.data is not None or asked.dask is not None:
            msg = f"Give {'--dask' if asked.data is None else 'a file'} or --example, not both."
            raise UserError(msg)
        added = read_given(AuditOptions, {"noise_rate": asked.example_noise})["noise_rate"]
        said = f"{added:.0%}" if isinstance(added, float) else asked.example_noise
        table, positive, share = example_table(asked.example, added, options["random_state"])
        options["truth"] = "true_label"
        options["name"] = f"{asked.example} (demo, {said} of labels flipped)"
        options["pos_label"] = options.get("pos_label") or positive
        return partial(audit, table, "label", asked.costs or default_costs(share))
    if (asked.data is None and database is None) or target is None:
        msg = "Give a file and --target, or --example NAME to try it out."
        raise UserError(msg)
    if database is not None:
        options["name"] = database.table
        return partial(audit_sql, database.address, database.table, target, asked.costs)
    path = Path(str(asked.data))
    options["name"] = readable_name(path)
    large = path.is_file() and exceeds_memory(path, asked.memory_share)
    table = None
    if asked.dask is None and not is_many(path) and not large:
        table = _held_table(asked, path, target, options)
    if table is not None:
        return partial(audit, table, target, asked.costs)
    check_sizes(path, asked.max_bytes)
    return partial(audit_files, path, target, asked.costs, dask=asked.dask, **asked.text)


def _held_table(asked: AuditFiles, path: Path, target: str, options: dict[str, Any]) -> Any:
    """Return the rows of a file, or None of more than are learned from."""
    from flipcost.audit import check_width
    from flipcost.tables.files import expected_rows
    from flipcost.tables.reading import column_names, read_table
    from flipcost.tables.sample import SAMPLE_ROWS

    # Labels of several annotators are pooled in memory.
    pooled = bool(options.get("worker") or options["annotators"])
    if path.is_file() and expected_rows(path) > SAMPLE_ROWS and not pooled:
        return None
    # Of very many columns the header tells, without reading the rows.
    others = {target, *(options.get(name) for name in ("id", "trusted", "sample_weight", "worker"))}
    others |= {*options["second_label"], *options["drop"], *options["annotators"]}
    names = set(column_names(path, **asked.text)) - others
    check_width(len(names), readable_name(path))
    table = read_table(path, **asked.text, max_bytes=asked.max_bytes)
    return None if table.num_rows > SAMPLE_ROWS and not pooled else table


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Say what is wrong with files, a database, a cluster or a package: no fault of ours."""
    try:
        yield
    except (FlipCostError, BrokenPipeError):
        raise
    except (OSError, ImportError) as error:
        raise UserError(str(error)) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] == "distributed":
            msg = f"The Dask cluster failed ({type(error).__name__}: {error}); look at its logs."
            raise UserError(msg) from error
        raise


def _model(name: str) -> Any:
    from flipcost.audit import MODELS
    from flipcost.model import load

    if name in MODELS:
        return name
    if not Path(name).exists():
        msg = f"--model must be {', '.join(MODELS)} or a saved model; there is no file {name!r}."
        raise UserError(msg)
    return load(name)


def _write_batch(result: Findings, place: Path, folder: Path, replaced: list[Path]) -> str | None:
    """Write the rows to check next, and what further ones are chosen from; return the name."""
    from flipcost.recheck import write_batch

    batch, pool = result.recheck.batch, result.recheck.pool
    if batch is None or pool is None:
        return None
    pool.write(place / _POOL)
    return write_batch(place, folder, batch.rows, batch.columns, replaced)


def _write(result: Findings, place: Path) -> None:
    """Write the other files of an audit."""
    from flipcost.model import save
    from flipcost.report.render import render_report

    (place / "report.html").write_text(render_report(result, in_options), encoding="utf-8")
    (place / "summary.json").write_text(as_json(result.summary()), encoding="utf-8")
    save(result, place / "model.json")
    heads = "row,id,label,suggested,probability_wrong,probability_positive,evidence"
    suspects = (
        (
            s.row + 1,
            s.id,
            s.label,
            s.suggested,
            f"{s.wrong:.4f}",
            f"{s.probability:.4f}",
            s.evidence,
        )
        for s in result.labels.suspects
    )
    _write_csv(place / "suspects.csv", heads, suspects)
    pooled = result.labels.pooled
    if pooled is not None:
        rows, wrong = (pooled.rows + 1).tolist(), pooled.wrong.tolist()
        items = zip(rows, pooled.ids, pooled.labels, wrong, strict=True)
        _write_csv(place / "labels.csv", "row,id,label,probability_wrong", items)


def _write_csv(path: Path, heads: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows whose cells no spreadsheet takes for formulas."""
    from flipcost.tables.spreadsheet import guard_cell

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(heads.split(","))
        for row in rows:
            cells = (f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row)
            writer.writerow([guard_cell(c) if isinstance(c, str) else c for c in cells])


def _clear_earlier(folder: Path, written: set[str], inputs: list[Path]) -> None:
    """Remove what an earlier audit left that is not of this one: rows that no one checked."""
    from flipcost.recheck import CheckPool, unused_batches

    earlier = unused_batches(folder, inputs)
    with suppress(FlipCostError):  # not a pool, and so not of an audit
        if _POOL not in written:
            CheckPool.read(folder)
            earlier.append(folder / _POOL)
    for path in earlier:
        if path.name not in written:
            with suppress(OSError):  # the results are there, and this is in no one's way
                path.unlink()


@contextmanager
def _progress(*, silent: bool) -> Iterator[Callable[[str], object]]:
    """Yield what steps are reported to: a spinner on a terminal, lines elsewhere."""
    from rich.console import Console

    with ExitStack() as stack:
        spinner = None
        if not silent and sys.stderr.isatty():
            spinner = stack.enter_context(Console(stderr=True).status("reading"))

        def step(words: str) -> None:
            stop_if_interrupted()
            if spinner is not None:
                spinner.update(words)
            elif not silent:
                echo(f"flipcost: {words}", err=True)

        yield step


@dataclass(frozen=True)
class Database:
    """A table and where it is; the address may hold a password, and is not shown.

    Examples
    --------
    >>> Database("postgresql://me:secret@host/db", "calls")
    Database(table='calls')
    """

    address: str = field(repr=False)
    table: str

    @property
    def files(self) -> list[Path]:
        """The file of the database, if it is one."""
        return [] if "://" in self.address else [Path(self.address)]


def find_database(data: str | None, table: str | None, connection: str | None) -> Database | None:
    """Return the database that is meant, or None for files.

    Parameters
    ----------
    data : str or None
        What is to be audited: an address, ``file.duckdb::table``, a DuckDB file, or another file.
    table : str or None
        The table, or a query.
    connection : str or None
        An address, when `data` is none.

    Examples
    --------
    >>> find_database("calls.duckdb::calls", None, None)
    Database(table='calls')
    >>> find_database("calls.csv", None, None)
    """
    if data is None:
        if table is None:
            return None
        if connection is None:
            msg = "Give --connection, or set FLIPCOST_CONNECTION: --table says only which table."
            raise UserError(msg)
        return find_database(connection, table, None)
    is_address = data.startswith(_ADDRESSES)
    path, mark, named = data.rpartition("::")
    if mark and not is_address and not Path(data).exists():
        if table is not None:
            msg = f"Name the table once: {named!r} after ::, or --table {table}."
            raise UserError(msg)
        data, table = path, named
    if "://" not in data and not (mark and path == data) and not data.lower().endswith(_DATABASES):
        if table is not None:
            msg = "--table goes with a database: an address, or a DuckDB file."
            raise UserError(msg)
        return None
    if not table:
        shown = "the address" if "://" in data else data
        msg = f"Give --table, the table or the SELECT of {shown} to audit."
        raise UserError(msg)
    return Database(data, table)
