"""`flipcost audit`: its options. What they do is in `_audit_run`, imported when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flipcost.cli._groups import grouped
from flipcost.cli._options import MAX_BYTES
from flipcost.cli._output import Overwrite  # noqa: TC001 - read when the options are made
from flipcost.cli._recheck import Checked, CostCheck  # noqa: TC001 - the same

TABLE = "Table and labels"
PRICES = "Prices"
KNOWN = "What is known of the labels"
MODEL = "Model"
LARGE = "Large files"
TRY = "To try it out"
RESULTS = "Results"

AuditCommand = grouped(
    {
        TABLE: "flipcost audit claims.csv --target fraud --positive yes --id claim",
        PRICES: "flipcost audit claims.csv --target fraud --cost-fn 500 --cost-fp 20",
        KNOWN: "flipcost audit claims.csv --target fraud --trusted checked_by_expert",
        MODEL: "flipcost audit claims.csv --target fraud --model boosting",
        LARGE: "flipcost audit 'claims/*.parquet' --target fraud --memory-share 0",
        TRY: "flipcost audit --example pima --example-noise 0.3,0.1",
        RESULTS: "flipcost audit claims.csv --target fraud --out claims-audit --overwrite",
    }
)


def audit_command(
    data: Annotated[
        str | None,
        typer.Argument(
            help="CSV (any delimiter, compressed too) or Parquet file; or a folder or a pattern; "
            "or file.duckdb::table; or a postgresql:// address with --table.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    *,
    target: Annotated[
        str | None, typer.Option(help="Column of the labels.", rich_help_panel=TABLE)
    ] = None,
    cost_fn: Annotated[
        str | None,
        typer.Option(
            help="What a missed positive costs: a number, a column, arithmetic of columns such as "
            "0.8*amount+12, or a range such as 3..8.",
            show_default=False,
            rich_help_panel=PRICES,
        ),
    ] = None,
    cost_fp: Annotated[
        str | None,
        typer.Option(
            help="What a false alarm costs, likewise.", show_default=False, rich_help_panel=PRICES
        ),
    ] = None,
    learn_prices: Annotated[
        bool,
        typer.Option(
            "--learn-prices",
            help="Learn from the columns that prices are made of too; else they are left out.",
            rich_help_panel=PRICES,
        ),
    ] = False,
    capacity: Annotated[
        str | None,
        typer.Option(
            help="How many rows can be called: 500, 5%, or by group north=200,south=5%.",
            rich_help_panel=PRICES,
        ),
    ] = None,
    capacity_by: Annotated[
        str | None,
        typer.Option(help="Column of the groups of --capacity.", rich_help_panel=PRICES),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Column whose parts are looked at one by one.", rich_help_panel=PRICES),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="The label that is looked for; the second in order if not given.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    noise_rate: Annotated[
        str | None,
        typer.Option(
            help="Share of wrong labels, if known: R, or R+,R- for each class.",
            rich_help_panel=KNOWN,
        ),
    ] = None,
    trusted: Annotated[
        str | None,
        typer.Option(
            help="Column of labels known to be right, on some rows.", rich_help_panel=KNOWN
        ),
    ] = None,
    checked: Checked = None,
    cost_check: CostCheck = None,
    second_label: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of labels given again, independently; may be repeated.",
            rich_help_panel=KNOWN,
        ),
    ] = None,
    noise_model: Annotated[
        str,
        typer.Option(
            help="auto, symmetric, missed_positives, wrong_negatives or class_conditional.",
            rich_help_panel=KNOWN,
        ),
    ] = "auto",
    prevalence: Annotated[
        str | None,
        typer.Option(
            help="Share of rows that are truly positive, if known: 0.1, or a range as 0.08,0.15.",
            rich_help_panel=KNOWN,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Column to leave out; may be repeated.", rich_help_panel=TABLE),
    ] = None,
    drop_unusable: Annotated[
        bool,
        typer.Option(
            "--drop-unusable", help="Leave out columns that cannot be used.", rich_help_panel=TABLE
        ),
    ] = False,
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Column of categories that look like numbers.", rich_help_panel=TABLE),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of names of the rows.", rich_help_panel=TABLE)
    ] = None,
    sample_weight: Annotated[
        str | None, typer.Option(help="Column of weights of the rows.", rich_help_panel=TABLE)
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column of what rows belong to that depend on each other, as a patient.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column to order rows by, numbers or dates: judge by later rows.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="File of rows with clean labels.", rich_help_panel=KNOWN)
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="auto, linear, boosting, or a saved model to compare with.", rich_help_panel=MODEL
        ),
    ] = "auto",
    example: Annotated[
        str | None,
        typer.Option(
            help="Audit bundled data with noise added; see `flipcost datasets`.",
            rich_help_panel=TRY,
        ),
    ] = None,
    example_noise: Annotated[
        str, typer.Option(help="Noise added to the example: R, or R+,R-.", rich_help_panel=TRY)
    ] = "0.2",
    delimiter: Annotated[
        str | None, typer.Option(help="Between fields, if not found out.", rich_help_panel=TABLE)
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of text, if not UTF-8.", rich_help_panel=TABLE)
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            help="Sample a larger table; all rows are looked at when not given.",
            min=100,
            rich_help_panel=LARGE,
        ),
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(help=MAX_BYTES, min=0, rich_help_panel=LARGE)
    ] = None,
    memory_share: Annotated[
        float,
        typer.Option(
            help="Read a file that would take more than this share of memory in two passes, "
            "rather than hold it; 0 for every file.",
            min=0,
            rich_help_panel=LARGE,
        ),
    ] = 0.25,
    table: Annotated[
        str | None,
        typer.Option(help="Table of a database, or a SELECT.", rich_help_panel=TABLE),
    ] = None,
    connection: Annotated[
        str | None,
        typer.Option(
            help="Address of a database, postgresql://...; best from the environment.",
            envvar="FLIPCOST_CONNECTION",
            show_default=False,
            rich_help_panel=TABLE,
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Have a Dask cluster read the file: its scheduler, as tcp://host:port.",
            rich_help_panel=LARGE,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the folds.", min=0, rich_help_panel=MODEL)] = 0,
    out: Annotated[
        Path, typer.Option(help="Folder for the results.", rich_help_panel=RESULTS)
    ] = Path("flipcost-audit"),
    overwrite: Overwrite = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at warnings.", rich_help_panel=RESULTS)
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=RESULTS)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print nothing but warnings.", rich_help_panel=RESULTS)
    ] = False,
) -> None:
    """Say how noisy the labels of a table are, what mistakes cost, and which model to use.

    Without prices both mistakes are taken to cost the same.
    """
    options = dict(locals())
    from flipcost.cli._audit_run import run_audit

    run_audit(**options)
