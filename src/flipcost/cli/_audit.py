"""`flipcost audit`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from flipcost._persist import load, save
from flipcost.audit import MODELS, AuditResult, audit, audit_files
from flipcost.cli._echo import echo
from flipcost.cli._example import example_table
from flipcost.cli._interrupts import stop_if_interrupted
from flipcost.cli._options import in_options
from flipcost.cli._output import Overwrite, check_folder, staged_folder
from flipcost.cli._screen import print_audit
from flipcost.core.costs import Costs
from flipcost.core.noise import rate_pair
from flipcost.data import guard_cell, is_many, read_sample, read_table
from flipcost.exceptions import UserError
from flipcost.report import render_report
from flipcost.scale import exceeds_memory

# The files of an audit.
RESULTS = ("report.html", "summary.json", "model.skops", "suspects.csv")


def audit_command(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="CSV (any delimiter, compressed too) or Parquet file; or a folder or a pattern."
        ),
    ] = None,
    *,
    target: Annotated[str | None, typer.Option(help="Column of the labels.")] = None,
    cost_fn: Annotated[
        float | None, typer.Option(help="What a missed positive costs.", show_default=False)
    ] = None,
    cost_fp: Annotated[
        float | None, typer.Option(help="What a false alarm costs.", show_default=False)
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(help="The label that is looked for; the second in order if not given."),
    ] = None,
    noise_rate: Annotated[
        str | None,
        typer.Option(help="Share of wrong labels, if known: R, or R+,R- for each class."),
    ] = None,
    trusted: Annotated[
        str | None, typer.Option(help="Column of labels known to be right, on some rows.")
    ] = None,
    second_label: Annotated[
        list[str] | None,
        typer.Option(help="Column of labels given again, independently; may be repeated."),
    ] = None,
    noise_model: Annotated[
        str,
        typer.Option(
            help="auto, symmetric, missed_positives, wrong_negatives or class_conditional."
        ),
    ] = "auto",
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; may be repeated.")
    ] = None,
    drop_unusable: Annotated[
        bool, typer.Option("--drop-unusable", help="Leave out columns that cannot be used.")
    ] = False,
    categorical: Annotated[
        list[str] | None, typer.Option(help="Column of categories that look like numbers.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of names of the rows.")
    ] = None,
    sample_weight: Annotated[
        str | None, typer.Option(help="Column of weights of the rows.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="File of rows with clean labels.")] = None,
    model: Annotated[
        str, typer.Option(help="auto, linear, boosting, or a saved model to compare with.")
    ] = "auto",
    example: Annotated[
        str | None,
        typer.Option(help="Audit bundled data with noise added; see `flipcost datasets`."),
    ] = None,
    example_noise: Annotated[
        str, typer.Option(help="Noise added to the example: R, or R+,R-.")
    ] = "0.2",
    delimiter: Annotated[str | None, typer.Option(help="Between fields, if not found out.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Of text, if not UTF-8.")] = None,
    max_rows: Annotated[int, typer.Option(help="Sample a larger table.", min=100)] = 200_000,
    memory_share: Annotated[
        float,
        typer.Option(
            help="Read all rows of a file that would take more than this share of memory, in two "
            "passes, rather than sample it; 0 for every file.",
            min=0,
        ),
    ] = 0.25,
    dask: Annotated[
        str | None,
        typer.Option(help="Have a Dask cluster read the file: its scheduler, as tcp://host:port."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the folds.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("flipcost-audit"),
    overwrite: Overwrite = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at warnings.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but warnings.")] = False,
) -> None:
    """Say how noisy the labels of a table are, what mistakes cost, and which model to use."""
    inputs = [path for path in (data, test, Path(model)) if path is not None]
    check_folder(out, RESULTS, overwrite=overwrite, inputs=inputs)
    options = {
        "positive": positive,
        "noise_rate": None if noise_rate is None else _rate(noise_rate),
        "noise_model": noise_model,
        "trusted": trusted,
        "second_label": second_label or (),
        "id": id_column,
        "sample_weight": sample_weight,
        "drop": drop or (),
        "categorical": categorical or (),
        "drop_unusable": drop_unusable,
        "seed": seed,
        "max_rows": max_rows,
    }
    text = {"delimiter": delimiter, "encoding": encoding}
    run: Callable[..., AuditResult]
    if example is not None:
        if data is not None or dask is not None:
            msg = f"Give {'--dask' if data is None else 'a file'} or --example, not both."
            raise UserError(msg)
        table, looked_for, share = example_table(example, _rate(example_noise), seed)
        prices = _prices(cost_fn, cost_fp) if cost_fn or cost_fp else _default_prices(share)
        run = partial(audit, table, "label", prices)
        options |= {
            "truth": "true_label",
            "name": f"{example} with noise {example_noise} added",
            "positive": positive or looked_for,
        }
    else:
        if data is None or target is None:
            msg = "Give a file and --target, or --example NAME to try it out."
            raise UserError(msg)
        prices = _prices(cost_fn, cost_fp)
        options["name"] = data.name
        if dask is not None or is_many(data) or _too_large(data, memory_share, model):
            run = partial(_audit_files, data, target, prices, dask=dask, **text)
        else:
            table, rows, n_rows = read_sample(data, max_rows, seed=seed, **text)
            run = partial(audit, table, target, prices, rows=rows, n_rows=n_rows)
    if test is not None:
        options["test"] = read_table(test, **text)
    options["model"] = _model(model)

    with staged_folder(out, RESULTS, overwrite=overwrite, inputs=inputs) as place:
        with _progress(silent=quiet or as_json) as say:
            result = run(progress=say, **options)
        result = replace(result, warnings=[in_options(text) for text in result.warnings])
        if strict and result.warnings:
            raise UserError(result.warnings[0])
        _write(result, place)
    for warning in result.warnings:
        echo(f"flipcost: warning: {warning}", err=True)
    if as_json:
        typer.echo(json.dumps(result.summary(), indent=1))
    elif not quiet:
        print_audit(result, out)


def _too_large(data: Path, share: float, model: str) -> bool:
    """Tell whether to read a file in passes. Boosting needs its rows at hand: a sample of them."""
    return model != "boosting" and data.is_file() and exceeds_memory(data, share)


def _audit_files(*args: Any, **options: Any) -> AuditResult:
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


def _write(result: AuditResult, place: Path) -> None:
    """Write the four files of an audit."""
    (place / "report.html").write_text(render_report(result), encoding="utf-8")
    summary = json.dumps(result.summary(), indent=1, ensure_ascii=False)
    (place / "summary.json").write_text(summary + "\n", encoding="utf-8")
    save(result.model, place / "model.skops")
    heads = ["row", "id", "label", "suggested", "probability_wrong", "probability_positive"]
    with (place / "suspects.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*heads, "evidence"])
        for s in result.suspects:
            likely = (f"{s.wrong:.4f}", f"{s.probability:.4f}")
            named = [None if s.id is None else guard_cell(s.id)]
            named += [guard_cell(s.label), guard_cell(s.suggested)]
            writer.writerow([s.row, *named, *likely, guard_cell(s.evidence)])


def _prices(fn: float | None, fp: float | None) -> Costs:
    if fn is None or fp is None:
        msg = "Give both --cost-fn (a missed positive) and --cost-fp (a false alarm)."
        raise UserError(msg)
    for name, price in (("--cost-fn", fn), ("--cost-fp", fp)):
        if not 0 < price < float("inf"):
            msg = f"{name} must be a price above 0; got {price:g}."
            raise UserError(msg)
    return Costs(fn=fn, fp=fp)


def _default_prices(share: float | None) -> Costs:
    """Return prices with a false alarm at 1, for a cost share as the literature gives it."""
    share = 0.25 if share is None else share
    return Costs(fn=round((1 - share) / share, 6), fp=1.0)


def _rate(text: str) -> Any:
    """Return a rate as given on the command line."""
    try:
        parts = [float(part) for part in text.split(",")]
        rate: Any = parts[0] if len(parts) == 1 else tuple(parts)
        rate_pair(rate)
    except ValueError as error:
        msg = (
            "A noise rate must be a number from 0 to below 0.5, or two with a sum below 1, as in "
            f"0.3,0.1; got {text!r}."
        )
        raise UserError(msg) from error
    return rate


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
