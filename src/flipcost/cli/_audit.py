"""`flipcost audit`: where rows come from and results go; what is asked is in `AuditOptions`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flipcost._options import COSTS, KNOWN, LARGE, MODEL, TABLE, option
from flipcost.audit import AuditOptions
from flipcost.cli._options import MAX_BYTES, Shown, command

TRY, RESULTS = "To try it out", "Results"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where rows come from."""

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
        show_default=False,
    )
    cost_fp: str | None = option(
        None, "What a false alarm costs, likewise.", COSTS, show_default=False
    )
    max_bytes: int | None = option(None, MAX_BYTES, LARGE, kind=int, min=0)
    memory_share: float = option(
        0.25,
        "Read a file that would take more than this share of memory in passes, rather than hold "
        "it; 0 for every file.",
        LARGE,
        kind=float,
        min=0,
    )
    dask: str | None = option(
        None, "Have a Dask cluster read the file: its scheduler, as tcp://host:port.", LARGE
    )
    example: str | None = option(
        None, "Audit bundled data with label errors added; see `flipcost datasets`.", TRY
    )
    example_noise: str = option("0.2", "Error rate of the example: R, or R+,R-.", TRY)
    out: Path = option(Path("flipcost-audit"), "Folder for the results.", RESULTS, kind=Path)
    strict: bool = option(False, "Stop at warnings.", RESULTS, kind=bool)  # noqa: FBT003


@dataclass(frozen=True, kw_only=True)
class Overwriting:
    """Whether results that are there may go."""

    overwrite: bool = option(
        False,  # noqa: FBT003 - a default
        "Replace results that are there already.",
        RESULTS,
        kind=bool,
    )


audit_command, AuditCommand = command(
    "audit",
    "Say how many labels of a table are wrong, what decisions cost, and which model to use.\n\n"
    "Without costs a miss and a false alarm cost the same.",
    "flipcost.cli._audit_run:run_audit",
    [Source, AuditOptions, Overwriting, Shown],
    {
        TABLE: "flipcost audit claims.csv --target fraud --positive yes --id claim",
        COSTS: "flipcost audit claims.csv --target fraud --cost-fn 500 --cost-fp 20",
        KNOWN: "flipcost audit claims.csv --target fraud --trusted checked_by_expert",
        MODEL: "flipcost audit claims.csv --target fraud --model boosting",
        LARGE: "flipcost audit 'claims/*.parquet' --target fraud --memory-share 0",
        TRY: "flipcost audit --example pima --example-noise 0.3,0.1",
        RESULTS: "flipcost audit claims.csv --target fraud --out claims-audit --overwrite",
    },
)
