"""What `flipcost audit` does."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from flipcost._options import read_given
from flipcost.audit import (
    MODELS,
    AuditOptions,
    Findings,
    audit,
    audit_files,
    audit_sql,
    check_width,
)
from flipcost.cli._database import Database, find_database
from flipcost.cli._echo import echo, readable_name
from flipcost.cli._example import example_table
from flipcost.cli._interrupts import stop_if_interrupted
from flipcost.cli._options import in_options
from flipcost.cli._output import check_folder, staged_folder
from flipcost.cli._recheck_run import write_batch
from flipcost.cli._screen import print_audit
from flipcost.core.costs import Costs
from flipcost.core.feasible import finite_only
from flipcost.exceptions import FlipCostError, UserError
from flipcost.model import load, save
from flipcost.recheck import POOL_FILE, CheckPool, unused_batches
from flipcost.report import render_report
from flipcost.tables.files import exceeds_memory, expected_rows
from flipcost.tables.limits import check_sizes
from flipcost.tables.paths import is_many
from flipcost.tables.reading import column_names, read_table
from flipcost.tables.spreadsheet import guard_cell

# Rows of a file that are held; where there are more, all are read in passes.
_HELD_ROWS = 200_000
# The files of an audit.
RESULTS = ("report.html", "summary.json", "model.json", "suspects.csv", POOL_FILE)


def run_audit(
    *,
    data: str | None,
    table: str | None,
    connection: str | None,
    target: str | None,
    cost_fn: str | None,
    cost_fp: str | None,
    delimiter: str | None,
    encoding: str | None,
    max_bytes: int | None,
    memory_share: float,
    dask: str | None,
    example: str | None,
    example_noise: str,
    out: Path,
    overwrite: bool,
    strict: bool,
    as_json: bool,
    quiet: bool,
    model: str,
    test: Path | None,
    **asked: Any,
) -> None:
    """Audit a table as the options say, write the results, and print them."""
    database = None if example is not None else find_database(data, table, connection)
    files = [] if data is None else [Path(data)]
    files = files if database is None else database.files
    given = [*files, test, Path(model), *(asked["checked"] or ())]
    inputs = [path for path in given if path is not None]
    check_folder(out, RESULTS, overwrite=overwrite, inputs=inputs)
    options = read_given(AuditOptions, asked)
    seed = asked["random_state"]
    text = {"delimiter": delimiter, "encoding": encoding}
    run: Callable[..., Findings]
    prices: Costs | None
    if example is not None:
        if data is not None or dask is not None:
            msg = f"Give {'--dask' if data is None else 'a file'} or --example, not both."
            raise UserError(msg)
        added = read_given(AuditOptions, {"noise_rate": example_noise})["noise_rate"]
        said = f"{added:.0%}" if isinstance(added, float) else example_noise
        rows_of, looked_for, share = example_table(example, added, seed)
        prices = _prices(cost_fn, cost_fp) if cost_fn or cost_fp else default_prices(share)
        run = partial(audit, rows_of, "label", prices)
        options |= {
            "truth": "true_label",
            "name": f"{example} (demo, {said} of labels flipped)",
            "pos_label": asked["pos_label"] or looked_for,
        }
    else:
        if (data is None and database is None) or target is None:
            msg = "Give a file and --target, or --example NAME to try it out."
            raise UserError(msg)
        prices = None if cost_fn is None and cost_fp is None else _prices(cost_fn, cost_fp)
        if database is not None:
            options["name"] = database.table
            run = partial(_audit_database, database, target, prices)
        else:
            path = files[0]
            options["name"] = readable_name(path)
            others = {target, *(asked[name] for name in ("id", "trusted", "sample_weight"))}
            others |= {*(asked["second_label"] or ()), *(asked["drop"] or ())}
            run = _reading(
                path,
                partial(_audit_files, path, target, prices, dask=dask, **text),
                partial(audit, target=target, cost=prices),
                {"max_bytes": max_bytes, **text},
                others,
                always=dask is not None or is_many(path) or _too_large(path, memory_share),
            )
    if test is not None:
        options["test"] = read_table(test, **text, max_bytes=max_bytes)
    options["model"] = _model(model)

    written: set[str] = set()
    clear = partial(_clear_earlier, out, written, inputs) if overwrite else None
    with staged_folder(out, RESULTS, overwrite=overwrite, inputs=inputs, clear=clear) as place:
        with _progress(silent=quiet or as_json) as say:
            result = run(progress=say, **options)
        result = replace(result, warnings=[in_options(text) for text in result.warnings])
        if strict and result.warnings:
            raise UserError(result.warnings[0])
        batch = write_batch(result, place, out, unused_batches(out, inputs) if overwrite else ())
        result = replace(result, batch_file=batch)
        _write(result, place)
        written.update(file.name for file in place.iterdir())
    for warning in result.warnings:
        echo(f"flipcost: warning: {warning}", err=True)
    if as_json:
        typer.echo(json.dumps(finite_only(result.summary()), indent=1, allow_nan=False))
    elif not quiet:
        print_audit(result, out)


def _reading(
    path: Path,
    in_passes: Callable[..., Findings],
    held: Callable[..., Findings],
    bounded: dict[str, Any],
    others: set[str | None],
    *,
    always: bool,
) -> Callable[..., Findings]:
    """Return what audits a file: of more rows than are held, piece by piece."""
    if always or (path.is_file() and expected_rows(path) > _HELD_ROWS):
        check_sizes(path, bounded["max_bytes"])
        return in_passes
    # Of very many columns the header tells, without reading the rows.
    text = {name: bounded[name] for name in ("delimiter", "encoding")}
    names = set(column_names(path, **text)) - others
    check_width(len(names), readable_name(path))
    table = read_table(path, **bounded)
    return in_passes if table.num_rows > _HELD_ROWS else partial(held, table)


def _too_large(data: Path, share: float) -> bool:
    """Tell whether to read a file piece by piece."""
    return data.is_file() and exceeds_memory(data, share)


def _audit_files(*args: Any, **options: Any) -> Findings:
    """Audit in passes; what is wrong with files or the cluster is not a fault of ours."""
    try:
        return audit_files(*args, **options)
    except (OSError, ImportError) as error:
        raise UserError(str(error)) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] == "distributed":
            msg = f"The Dask cluster failed ({type(error).__name__}: {error}); look at its logs."
            raise UserError(msg) from error
        raise


def _audit_database(database: Database, *args: Any, **options: Any) -> Findings:
    """Audit rows of a database; a package that is not installed is not a fault of ours."""
    try:
        return audit_sql(database.address, database.table, *args, **options)
    except ImportError as error:
        raise UserError(str(error)) from error


def write_summary(result: Findings, place: Path) -> None:
    """Write summary.json."""
    summary = json.dumps(
        finite_only(result.summary()), indent=1, ensure_ascii=False, allow_nan=False
    )
    (place / "summary.json").write_text(summary + "\n", encoding="utf-8")


def _write(result: Findings, place: Path) -> None:
    """Write the four files of an audit."""
    (place / "report.html").write_text(render_report(result, in_options), encoding="utf-8")
    write_summary(result, place)
    save(result.models.model, place / "model.json")
    heads = ["row", "id", "label", "suggested", "probability_wrong", "probability_positive"]
    with (place / "suspects.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*heads, "evidence"])
        for s in result.labels.suspects:
            likely = (f"{s.wrong:.4f}", f"{s.probability:.4f}")
            named = [None if s.id is None else guard_cell(s.id)]
            named += [guard_cell(s.label), guard_cell(s.suggested)]
            writer.writerow([s.row, *named, *likely, guard_cell(s.evidence)])


def _clear_earlier(folder: Path, written: set[str], inputs: list[Path]) -> None:
    """Remove what an earlier audit left that is not of this one: rows that no one checked."""
    earlier = unused_batches(folder, inputs)
    if POOL_FILE not in written:
        with suppress(FlipCostError):  # not a pool, and so not of an audit
            CheckPool.read(folder)
            earlier.append(folder / POOL_FILE)
    for path in earlier:
        if path.name not in written:
            with suppress(OSError):  # the results are there, and this is in no one's way
                path.unlink()


def _prices(fn: str | None, fp: str | None) -> Costs:
    if fn is None or fp is None:
        msg = "Give both --cost-fn (a missed positive) and --cost-fp (a false alarm)."
        raise UserError(msg)
    try:
        costs = Costs(fn=fn, fp=fp)
    except ValueError as error:
        price = _not_above_nothing(fn, fp)
        raise UserError(price or in_options(str(error))) from error
    price = _not_above_nothing(costs.fn, costs.fp)
    if price:
        raise UserError(price)
    return costs


def _not_above_nothing(fn: Any, fp: Any) -> str | None:
    """Say which price is a number that is none."""
    for name, price in (("--cost-fn", fn), ("--cost-fp", fp)):
        try:
            value = float(price)
        except (TypeError, ValueError):
            continue
        if not 0 < value < float("inf"):
            return f"{name} must be a price above 0; got {value:g}."
    return None


def default_prices(share: float | None) -> Costs:
    """Return prices with a false alarm at 1, for a cost share as the literature gives it."""
    share = 0.25 if share is None else share
    return Costs(fn=round((1 - share) / share, 6), fp=1.0)


def _model(name: str) -> Any:
    if name in MODELS:
        return name
    if not Path(name).exists():
        msg = f"--model must be {', '.join(MODELS)} or a saved model; there is no file {name!r}."
        raise UserError(msg)
    return load(name)


@contextmanager
def _progress(*, silent: bool) -> Iterator[Callable[[str], object]]:
    """Yield what steps are reported to: a spinner on a terminal, lines elsewhere."""
    with ExitStack() as stack:
        show: Callable[[str], object] = _print_step
        if silent:
            show = _no_step
        elif sys.stderr.isatty():
            show = stack.enter_context(Console(stderr=True).status("reading")).update

        def step(words: str) -> None:
            stop_if_interrupted()
            show(words)

        yield step


def _print_step(words: str) -> None:
    echo(f"flipcost: {words}", err=True)


def _no_step(_: str) -> None:
    """Say nothing."""
