"""Where the data already is: what we ask of an engine, against what it takes by itself.

Moments by queries are set against products by hand and our Parquet route; drawing a sample and
scoring every row against the engine's own scan of the same columns.

Rows are made by DuckDB in a file of its own, in a temporary folder: 20 doubles, a label and a key;
and written to Parquet by it. Times are best of several, taken in turns in one process; processor
seconds are given too, because they do not depend on what else the machine is doing. PostgreSQL and
Spark are measured on a tenth of the rows, for the record, when asked for.

Then the same rows are learned from in files, on Dask and in each engine: their decisions on new
rows and their likeliest label errors are compared.

Run as ``python -m benchmarks.engines [--rows 2_000_000] [--postgresql ADDRESS] [--spark]``, or for
the comparison alone ``python -m benchmarks.engines --agree ...``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.timing import verdict

if TYPE_CHECKING:
    from collections.abc import Callable

N_FEATURES, N_FOLDS = 20, 5
NAMES = [f"x{j}" for j in range(N_FEATURES)]
# What a warehouse asks for reading a terabyte, on demand; those of 2025 lie about it.
DOLLARS_A_TERABYTE = 6.25
PAPER_ROWS = 1_000_000_000
# A look, counts, rows drawn, and all rows scored.
AUDIT_READS = 4


def make_rows(connection: Any, n_rows: int) -> None:
    """Make a table of rows, a fifth of whose labels are wrong."""
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    features = ", ".join(
        f"{normal} + CASE WHEN {j} < 5 AND clean THEN 0.5 ELSE 0 END AS x{j}"
        for j in range(N_FEATURES)
    )
    connection.execute("SELECT setseed(0.5)")
    connection.execute(
        f"CREATE TABLE rows AS SELECT id, CAST(clean <> (random() < 0.2) AS TINYINT) AS y, "
        f"{features} FROM (SELECT i AS id, random() < 0.3 AS clean FROM range({n_rows}) t(i))"
    )


def by_hand(keys: str) -> str:
    """Return the query that someone would write: sums of products by label."""
    products = ", ".join(f"sum({a} * {b})" for a, b in combinations_with_replacement(NAMES, 2))
    return f"SELECT {keys}, count(*), {products} FROM rows GROUP BY {keys}"


def timed(
    flags: dict[str, Callable[[], object]], repeats: int, server: int | None = None
) -> dict[str, tuple[float, float]]:
    """Return the best seconds and processor seconds of each call, taken in turns.

    Those of another process, by its number, count too.
    """
    best = {name: (float("inf"), float("inf")) for name in flags}
    for _ in range(repeats):
        for name, call in flags.items():
            before, started = processor_seconds(server), perf_counter()
            call()
            seconds = perf_counter() - started
            processor = processor_seconds(server) - before
            best[name] = min(best[name][0], seconds), min(best[name][1], processor)
    return best


def processor_seconds(server: int | None) -> float:
    """Return what this process has used, and another one on the same machine."""
    times = os.times()
    used = times.user + times.system
    stat = Path(f"/proc/{server}/stat")
    if server is not None and stat.exists():
        fields = stat.read_text().rpartition(")")[2].split()
        used += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def show(found: dict[str, tuple[float, float]]) -> None:
    """Print a line for each call."""
    for name, (seconds, processor) in found.items():
        print(f"  {name:<58} {seconds:8.2f} s {processor:9.2f} processor s")


def in_duckdb(folder: Path, n_rows: int, repeats: int) -> None:
    """Print the figures of DuckDB."""
    import duckdb

    from flipcost import FlipCostClassifier
    from flipcost.tables.scan import scan_parquet, scan_sql

    connection = duckdb.connect(str(folder / "rows.duckdb"))
    make_rows(connection, n_rows)
    files = folder / "parquet"
    files.mkdir()
    connection.execute(f"COPY rows TO '{files}/rows.parquet' (ROW_GROUP_SIZE 500000)")
    read = f"SELECT * FROM read_parquet('{files}/*.parquet')"

    def moments(source: str) -> object:
        return scan_sql(connection, source, "y", NAMES, fold_by="id").fold_moments(N_FOLDS)

    def fit(features: str) -> object:
        table = scan_sql(connection, "rows", "y", NAMES, fold_by="id")
        return FlipCostClassifier(cost=0.2, features=features).fit_table(table)

    hand, ours = "products by hand, by label", "moments by query, by label and fold"
    ours_parquet, ours_there = "scan_parquet, moments of folds", "moments by query on Parquet"
    flags = {
        hand: lambda: connection.execute(by_hand("y")).fetchall(),
        "products by hand, by label and id % 5": lambda: connection.execute(
            by_hand(f"y, id % {N_FOLDS}")
        ).fetchall(),
        ours: lambda: moments("rows"),
        ours_parquet: lambda: scan_parquet(files, "y", NAMES, fold_by="id").fold_moments(N_FOLDS),
        ours_there: lambda: moments(read),
    }
    fits = {
        "FlipCostClassifier.fit_table, linear": lambda: fit("linear"),
        "FlipCostClassifier.fit_table, with bends": lambda: fit("auto"),
    }
    print(f"\n{n_rows:,} rows x {N_FEATURES} doubles in DuckDB {duckdb.__version__}")
    found = timed(flags, repeats)
    show({**found, **timed(fits, 1)})
    for place, what in enumerate(("seconds", "processor")):
        ratio = found[ours][place] / found[hand][place]
        print(f"  by query / by hand, {what:<10} {ratio:6.2f}  {verdict(ratio, 1.5, at_most=True)}")
        ratio = found[ours][place] / found[ours_parquet][place]
        print(f"  by query / scan_parquet, {what:<10} {ratio:6.2f}")
        ratio = found[ours_there][place] / found[ours_parquet][place]
        print(f"  Parquet by DuckDB / scan_parquet, {what:<10} {ratio:6.2f}")

    def scan() -> None:
        for _ in connection.sql(f"SELECT {', '.join(NAMES)}, y FROM rows").to_arrow_reader(100_000):
            pass

    title = f"{n_rows:,} rows drawn and scored in DuckDB"
    sampled_and_scored(scan_sql(connection, "rows", "y", NAMES), scan, title, repeats)
    in_sql(connection, n_rows)
    answers(connection, n_rows)
    connection.close()
    in_polars(files, n_rows, repeats)


@dataclass(frozen=True)
class FlaggedCount:
    """Rows that a model flags, counted piece by piece; merges."""

    model: Any
    n_flagged: int = 0

    def __call__(self, piece: Any) -> FlaggedCount:
        """Count the rows of a piece."""
        return FlaggedCount(self.model, int(self.model.predict(piece.frame.select(NAMES)).sum()))

    def merge(self, other: FlaggedCount) -> FlaggedCount:
        """Return the count of both."""
        return FlaggedCount(self.model, self.n_flagged + other.n_flagged)


def sampled_and_scored(
    table: Any, scan: Callable[[], object], title: str, repeats: int, server: int | None = None
) -> None:
    """Print what drawing rows and scoring all takes, against reading the same columns.

    The model comes with splines, and with trees, as many as the labels bear out.
    """
    from flipcost import FlipCostClassifier
    from flipcost.tables.passes import Reporter, reduce_pieces, thread_count

    for features in ("splines", "auto"):
        model = FlipCostClassifier(cost=0.2, features=features).fit_table(table)

        def score(model: Any = model) -> object:
            counts, pieces = FlaggedCount(model), table.pieces([*NAMES, "y"])
            return reduce_pieces(pieces, counts, Reporter(None, None), thread_count(None))

        flags = {"its own scan": scan, "rows drawn": table.draw, "all rows scored": score}
        boosting = getattr(model.scorer_, "boosting", None)
        trees = 0 if boosting is None else len(boosting.trees)
        show_ratio(f"{title}, {trees} trees", flags, repeats, server)


def in_sql(connection: Any, n_rows: int) -> None:
    """Print what the SQL of a model takes, against the same model on rows that come by."""
    from flipcost import FlipCostClassifier
    from flipcost.export import to_sql
    from flipcost.model.convert import formula_of
    from flipcost.tables.scan import scan_sql

    table = scan_sql(connection, "rows", "y", NAMES)
    model = FlipCostClassifier(cost=0.2, features="splines").fit_table(table)
    query, formula = to_sql(model, decision=False), formula_of(model)

    def read() -> None:
        for piece in table.pieces(NAMES):
            formula.probability(piece.frame)

    flags = {
        "probabilities of rows that come by": read,
        "by the SQL of the model": lambda: connection.execute(
            f"SELECT sum(probability_positive) FROM ({query})"
        ).fetchall(),
    }
    print(f"\n{n_rows:,} rows scored with splines in DuckDB")
    show(timed(flags, 2))


def in_polars(files: Path, n_rows: int, repeats: int) -> None:
    """Print the figures of Polars on the same Parquet files."""
    import polars as pl

    from flipcost.tables.scan import scan_lazy

    frame = pl.scan_parquet(files)
    products = [
        (pl.col(a) * pl.col(b)).sum().alias(f"{a} {b}")
        for a, b in combinations_with_replacement(NAMES, 2)
    ]
    table = scan_lazy(frame, "y", NAMES, fold_by="id")
    hand, ours = "products by hand, by label", "moments by query, by label and fold"
    flags = {
        hand: lambda: frame.group_by("y").agg(products).collect(engine="streaming"),
        ours: lambda: table.fold_moments(N_FOLDS),
    }
    found = timed(flags, repeats)
    print(f"\n{n_rows:,} rows x {N_FEATURES} doubles in Polars {pl.__version__}, from Parquet")
    show(found)
    for place, what in enumerate(("seconds", "processor")):
        ratio = found[ours][place] / found[hand][place]
        print(f"  by query / by hand, {what:<10} {ratio:6.2f}  {verdict(ratio, 1.5, at_most=True)}")
    table = scan_lazy(frame, "y", NAMES)

    def scan() -> None:
        frame.select([*NAMES, "y"]).collect(engine="streaming")

    sampled_and_scored(table, scan, f"{n_rows:,} rows drawn and scored in Polars", repeats)


def show_ratio(
    title: str, flags: dict[str, Callable[[], object]], repeats: int, server: int | None = None
) -> None:
    """Print a line for each call, and what all but the first take of it together."""
    found = timed(flags, repeats, server)
    print(f"\n{title}")
    show(found)
    (scan, *_), names = flags, list(flags)
    for place, what in enumerate(("seconds", "processor")):
        ratio = sum(found[name][place] for name in names[1:]) / found[scan][place]
        print(f"  all else / scan, {what:<10} {ratio:6.2f}  {verdict(ratio, 3.0, at_most=True)}")


def answers(connection: Any, n_rows: int) -> None:
    """Print what leaves the engine, for all rows and for a hundredth of them."""
    from flipcost import FlipCostClassifier
    from flipcost.tables.scan import scan_sql

    sizes = []
    for n in (n_rows // 100, n_rows):
        table = scan_sql(connection, f"SELECT * FROM rows WHERE id < {n}", "y", NAMES, fold_by="id")
        table.fold_moments(N_FOLDS)
        first = table.n_bytes
        FlipCostClassifier(cost=0.2, features="linear").fit_table(table)
        sizes.append(first)
        print(
            f"  {n:>12,} rows: {first / 1e3:7.1f} kB of moments, "
            f"{(table.n_bytes - first) / 1e3:7.1f} kB of a linear fit ({table.n_queries} queries)"
        )
    print(f"  moments of all rows / of a hundredth, bytes {sizes[1] / sizes[0]:6.2f}  ", end="")
    print(verdict(sizes[1] / sizes[0], 1.0, at_most=True))


def in_postgresql(address: str, n_rows: int) -> None:
    """Print the figures of a PostgreSQL server, where tables are made and dropped."""
    import psycopg

    from flipcost.tables.scan import scan_sql

    with psycopg.connect(address, autocommit=True) as connection:
        # In one process, so that its processor seconds are all.
        connection.execute("SET max_parallel_workers_per_gather = 0")
        server = connection.info.backend_pid
        for name, n, width in (("rows", n_rows, N_FEATURES), ("wide", 20_000, 200)):
            columns = ", ".join(f"random() + {j} AS x{j}" for j in range(width))
            connection.execute(
                f"CREATE TEMP TABLE {name} AS SELECT i AS id, CAST(random() < 0.3 AS int) AS y, "
                f"{columns} FROM generate_series(1, {n}) i"
            )
            connection.execute(f"ANALYZE {name}")

        def moments(name: str, width: int) -> object:
            columns = [f"x{j}" for j in range(width)]
            return scan_sql(connection, name, "y", columns, fold_by="id").fold_moments(N_FOLDS)

        print(f"\n{n_rows:,} rows x {N_FEATURES} doubles in PostgreSQL, with its processor seconds")
        hand, ours = "products by hand, by label", "moments by query, by label and fold"
        flags = {
            hand: lambda: connection.execute(by_hand("y")).fetchall(),
            ours: lambda: moments("rows", N_FEATURES),
        }
        found = timed(flags, 2, server)
        show(found)
        print(f"  by query / by hand, processor {found[ours][1] / found[hand][1]:9.2f}")
        wide = {"20,000 rows x 200, moments in one statement": lambda: moments("wide", 200)}
        show(timed(wide, 1, server))

        def scan() -> None:
            columns = ", ".join([*NAMES, "y"])
            with (
                connection.cursor() as cursor,
                cursor.copy(f"COPY (SELECT {columns} FROM rows) TO STDOUT (FORMAT csv)") as rows,
            ):
                for _ in rows:
                    pass

        table = scan_sql(connection, "rows", "y", NAMES)
        title = f"{n_rows:,} rows drawn and scored in PostgreSQL"
        sampled_and_scored(table, scan, title, 2, server)


def spark_session() -> Any:
    """Start Spark in this machine, with two threads, whose workers have our packages."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "3g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def in_spark(n_rows: int) -> None:
    """Print the figures of Spark."""
    from flipcost.tables.scan import scan_lazy

    session = spark_session()
    columns = [f"randn({j}) AS x{j}" for j in range(N_FEATURES)]
    frame = session.range(n_rows).selectExpr("id", "CAST(rand(99) < 0.3 AS int) AS y", *columns)
    frame = frame.cache()
    frame.count()
    frame.createOrReplaceTempView("rows")
    print(f"\n{n_rows:,} rows x {N_FEATURES} doubles in Spark, cached, with its processor seconds")
    flags = {
        "products by hand, by label": lambda: session.sql(by_hand("y")).collect(),
        "moments by query, by label and fold": lambda: scan_lazy(
            frame, "y", NAMES, fold_by="id"
        ).fold_moments(N_FOLDS),
    }
    gateway = session.sparkContext._gateway  # noqa: SLF001 - who else knows Java's process
    server = gateway.proc.pid
    show(timed(flags, 3, server))
    table = scan_lazy(frame, "y", NAMES, fold_by="id")

    def scan() -> None:
        frame.select(*NAMES, "y").toArrow()

    sampled_and_scored(table, scan, f"{n_rows:,} rows drawn and scored in Spark", 2, server)
    session.stop()


# Rows of the comparison, of which half are drawn, and the new ones that are decided on.
AGREE_ROWS, NEW_ROWS = 400_000, 20_000
AGREE_NAMES = ["amount", "age", "hour", "town", "score"]
SUSPECTS = 500


def agree_rows(n: int, seed: int) -> Any:
    """Return a table of numbers, a category and missing values, a tenth of the labels wrong."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    amount, age = rng.lognormal(3, 1, n), rng.integers(18, 90, n)
    hour, town = rng.uniform(0, 24, n), rng.integers(0, 12, n)
    score = rng.normal(size=n)
    odds = 0.8 * np.log(amount) - 4 + np.cos(hour / 3.8) + 0.9 * score + 0.4 * (town % 4 == 1)
    clean = rng.random(n) < 1 / (1 + np.exp(-2 * odds))
    noisy = clean ^ (rng.random(n) < np.where(clean, 0.2, 0.05))
    columns = {
        "id": np.arange(n),
        "amount": amount,
        "age": pa.array(age, mask=rng.random(n) < 0.05),
        "hour": hour,
        "town": [f"town {k}" for k in town.tolist()],
        "score": pa.array(score, mask=rng.random(n) < 0.1),
        "y": noisy.astype(int),
    }
    return pa.table(columns)


def agreement(folder: Path, postgresql: str | None, *, spark: bool) -> None:
    """Print how far the routes agree on decisions, and on the likeliest label errors."""
    import duckdb
    import numpy as np
    import polars as pl
    import pyarrow.parquet as pq
    from distributed import Client, LocalCluster

    from flipcost import Costs, FlipCostClassifier
    from flipcost.audit import audit_files, audit_sql
    from flipcost.scale import scan_dask, scan_lazy, scan_parquet, scan_sql

    path, new = folder / "agree.parquet", agree_rows(NEW_ROWS, 1)
    pq.write_table(agree_rows(AGREE_ROWS, 0), path, row_group_size=50_000)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE agree AS SELECT * FROM '{path}'")
    named: dict[str, Any] = {"fold_by": "id"}
    asked: tuple[Any, ...] = ("y", Costs(fn=4, fp=1))
    columns = ("y", AGREE_NAMES)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    client = Client(cluster)
    routes: dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]] = {
        "file": (
            lambda: scan_parquet(path, *columns, **named),
            lambda: audit_files(path, *asked, id="id"),
        ),
        "Dask": (
            lambda: scan_dask(path, *columns, **named),
            lambda: audit_files(path, *asked, id="id", dask=cluster.scheduler_address),
        ),
        "DuckDB": (
            lambda: scan_sql(connection, "agree", *columns, **named),
            lambda: audit_sql(connection, "agree", *asked, id="id"),
        ),
        "Polars": (lambda: scan_lazy(pl.scan_parquet(path), *columns, **named), None),
    }
    if postgresql is not None:
        import psycopg

        server = psycopg.connect(postgresql, autocommit=True)
        to_postgresql(server, path)
        routes["PostgreSQL"] = (
            lambda: scan_sql(server, "agree", *columns, **named),
            lambda: audit_sql(server, "agree", *asked, id="id"),
        )
        routes["PostgreSQL, its own row numbers"] = (
            lambda: scan_sql(server, "agree", *columns),
            None,
        )
    if spark:
        session = spark_session()
        session.read.parquet(str(path)).createOrReplaceTempView("agree")
        routes["Spark"] = (
            lambda: scan_sql(session, "agree", *columns, **named),
            lambda: audit_sql(session, "agree", *asked, id="id"),
        )
    print(f"\n{AGREE_ROWS:,} rows on every route, against the file")
    decided, suspects = {}, {}
    for name, (table, audited) in routes.items():
        model = FlipCostClassifier(cost=0.2, random_state=0).fit_table(table())
        decided[name] = model.predict(new.select(AGREE_NAMES))
        differ = float(np.mean(decided[name] != decided["file"]))
        line = f"  {name:<34} other decisions {differ:7.2%} {verdict(differ, 0.01, at_most=True)}"
        if audited is not None:
            first = audited().labels.suspects[:SUSPECTS]
            suspects[name] = {suspect.id for suspect in first}
            same = len(suspects[name] & suspects["file"])
            line += f"   {same} of {SUSPECTS} suspects {verdict(same, 400, at_most=False)}"
        print(line, flush=True)
    client.close()
    cluster.close()


def to_postgresql(server: Any, path: Path) -> None:
    """Copy the rows of the comparison to a server."""
    import io

    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    server.execute(
        "CREATE TEMP TABLE agree (id bigint, amount float8, age bigint, hour float8, town text, "
        "score float8, y bigint)"
    )
    lines = io.BytesIO()
    pc.write_csv(pq.read_table(path), lines, pc.WriteOptions(include_header=False))
    with server.cursor() as cursor, cursor.copy("COPY agree FROM STDIN (FORMAT csv)") as copied:
        copied.write(lines.getvalue())
    server.execute("ANALYZE agree")


def on_paper() -> None:
    """Print what the query reads of a billion rows in a warehouse, and what that costs."""
    width = 8 * (N_FEATURES + 1) + 1
    read = width * PAPER_ROWS
    products = N_FEATURES * (N_FEATURES + 1) // 2
    print(f"\nOn paper: {PAPER_ROWS:,} rows x {N_FEATURES} doubles in a warehouse")
    print(f"  one query reads {read / 1e9:,.0f} GB ({width} bytes a row)")
    print(
        f"  at {DOLLARS_A_TERABYTE:g} dollars a terabyte: {read / 1e12 * DOLLARS_A_TERABYTE:.2f} "
        "dollars, before compression, which most count after"
    )
    whole = AUDIT_READS * width * PAPER_ROWS
    print(
        f"  an audit reads them {AUDIT_READS} times: {whole / 1e9:,.0f} GB, "
        f"{whole / 1e12 * DOLLARS_A_TERABYTE:.2f} dollars"
    )
    print(
        f"  it adds up {products * PAPER_ROWS:.1e} products; what leaves is what leaves of "
        "any other number of rows"
    )


def main(arguments: list[str] | None = None) -> None:
    """Make the rows, measure and remove them."""
    parser = argparse.ArgumentParser(prog="benchmarks.engines", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows to make")
    parser.add_argument("--repeats", type=int, default=3, help="repetitions")
    parser.add_argument("--postgresql", default=None, help="address of a server to use too")
    parser.add_argument("--spark", action="store_true", help="measure Spark too")
    parser.add_argument("--folder", type=Path, default=None, help="where there is room")
    parser.add_argument("--agree", action="store_true", help="compare routes, measure no time")
    options = parser.parse_args([] if arguments is None else arguments)
    print("Where the data already is")
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="flipcost-engines-") as folder:
        agreement(Path(folder), options.postgresql, spark=options.spark)
        if options.agree:
            return
        in_duckdb(Path(folder), options.rows, options.repeats)
    if options.postgresql:
        in_postgresql(options.postgresql, options.rows // 10)
    if options.spark:
        in_spark(options.rows // 10)
    on_paper()


if __name__ == "__main__":
    main(sys.argv[1:])
