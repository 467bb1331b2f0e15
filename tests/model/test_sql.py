"""A model as one SELECT gives what the model gives, on real engines."""

import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost.estimators import FlipCostClassifier
from flipcost.exceptions import ExportError
from flipcost.export import to_sql
from flipcost.model.convert import formula_of
from tests.tables.engines.servers import running_postgresql

duckdb = pytest.importorskip("duckdb")
sqlglot = pytest.importorskip("sqlglot")


def run(query, table):
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("new_rows", table)
        found = connection.sql(query).arrow()
        # Some releases give a table, others what reads one.
        return (found.read_all() if hasattr(found, "read_all") else found).sort_by("key")


def test_duckdb_gives_the_same_probabilities_and_decisions(model, fresh, expected_of):
    """To 1e-9, missing and unseen values included."""
    found = run(to_sql(model, table="new_rows", keep=["key"]), fresh)
    probability, labels = expected_of(model, fresh)
    np.testing.assert_allclose(found["probability_positive"].to_numpy(), probability, atol=1e-9)
    assert found["prediction"].to_pylist() == labels.tolist()
    positive = labels == formula_of(model).pos_label
    assert found["flagged"].to_pylist() == positive.tolist()


def test_boosting_has_a_share_in_the_tests(train):
    """The pooled model of these tests has trees, bends, tables and flags in it."""
    from tests.model.conftest import CLASSIFIERS, make_pipeline

    formula = formula_of(make_pipeline(*train, CLASSIFIERS["auto"]()))
    assert formula.forests
    assert {column.kind for column in formula.columns} == {"number", "boolean", "category", "date"}
    bends = formula_of(make_pipeline(*train, CLASSIFIERS["splines"]()))
    assert any(term.knots for term in bends.number_terms)


@pytest.mark.parametrize("unit", ["{:.2f}%", "${:,.2f}", "{:.2f} EUR", "{:,.2f}", "{:_.2f} €"])
def test_numbers_in_text_are_read_as_they_were_written(unit):
    """Negative amounts in brackets, points that part thousands and decimal commas among them."""
    rng = np.random.default_rng(0)
    signal = (2000 * rng.normal(size=200)).round(2)
    y = signal + 2000 * rng.normal(size=200) > 0
    text = [unit.format(v).replace("$-", "-$") for v in signal]
    text = [f"({t[1:]})" if unit == "{:,.2f}" and t[0] == "-" else t for t in text]
    if "_" in unit:
        text = [t.replace(".", ",").replace("_", ".") for t in text]
    table = pa.table({"key": np.arange(200), "a": text})
    model = FlipCostClassifier(random_state=0).fit(table.select(["a"]).to_pandas(), y)
    found = run(to_sql(model, table="new_rows", keep=["key"]), table)
    of_numbers = FlipCostClassifier(random_state=0).fit(pd.DataFrame({"a": signal}), y)
    probability = of_numbers.predict_proba(pd.DataFrame({"a": signal}))[:, 1]
    np.testing.assert_allclose(found["probability_positive"].to_numpy(), probability, atol=1e-9)


def test_names_and_texts_are_quoted(train):
    """Quotes, semicolons and comments in names and levels are text in every engine."""
    table, labels = train
    evil = 'x"; DROP TABLE new_rows; --'
    levels = np.where(table["ratio"].to_numpy() > 0, "'; DROP TABLE new_rows; --", "\\' OR 1=1")
    odd = pa.table({"key": table["key"], evil: table["ratio"], "level": pa.array(levels)})
    from tests.model.conftest import CLASSIFIERS, make_pipeline

    model = make_pipeline(odd, labels, CLASSIFIERS["closed form"]())
    found = run(to_sql(model, table="new_rows", keep=["key"]), odd)
    expected = model.predict_proba(odd)[:, list(model.classes_).index("bad")]
    np.testing.assert_allclose(found["probability_positive"].to_numpy(), expected, atol=1e-9)
    for dialect in ("bigquery", "snowflake", "spark", "postgres"):
        written = to_sql(model, dialect, table='a.b"c')
        read = sqlglot.parse(written, read=dialect)
        assert len(read) == 1
        texts = {x.this for x in read[0].find_all(sqlglot.exp.Literal) if x.is_string}
        assert {"'; DROP TABLE new_rows; --", "\\' OR 1=1"} <= texts


@pytest.fixture(scope="module")
def closed_form(train):
    from tests.model.conftest import CLASSIFIERS, make_pipeline

    return make_pipeline(*train, CLASSIFIERS["closed form"]())


def write_and_read(model, dialect):
    """Return a query for an engine, and what sqlglot reads it as, which is one statement."""
    written = to_sql(model, dialect, table="new_rows", keep=["key"])
    [read] = sqlglot.parse(written, read=dialect)
    return written, read


def check_brought_back(read, model, fresh, expected_of):
    """Bring a query for another engine back to DuckDB by sqlglot, and run it."""
    found = run(read.sql("duckdb"), fresh)
    probability, labels = expected_of(model, fresh)
    np.testing.assert_allclose(found["probability_positive"].to_numpy(), probability, atol=1e-9)
    assert found["prediction"].to_pylist() == labels.tolist()


@pytest.mark.parametrize("dialect", ["postgres", "spark"])
def test_other_engines_get_the_same_query(closed_form, fresh, expected_of, dialect):
    """Those that are also run for real, by `make test-engines`, with every model."""
    _, read = write_and_read(closed_form, dialect)
    check_brought_back(read, closed_form, fresh, expected_of)


@pytest.fixture(scope="module", params=["bigquery", "snowflake"])
def warehouse(request, model):
    """Return an engine that no one has at home, and the query of a model for it."""
    return request.param, *write_and_read(model, request.param)


def test_warehouses_get_the_same_query(warehouse, model, fresh, expected_of):
    """Of every model, missing and unseen values included."""
    check_brought_back(warehouse[2], model, fresh, expected_of)


COMMON = {"ABS", "CAST", "COALESCE", "COS", "EXP", "FLOOR", "LOWER", "NULLIF", "SIN"}
# What these have, as far as we know; sqlglot writes, and reads back, names that they have not.
DOCUMENTED = {
    "bigquery": COMMON | {"GREATEST", "IS_NAN", "PARSE_TIMESTAMP", "UNIX_SECONDS"},
    "snowflake": COMMON | {"EXTRACT", "GREATEST_IGNORE_NULLS", "TO_TIMESTAMP"},
}
TYPES = {"bigquery": {"FLOAT64", "STRING", "TIMESTAMP"}}
TYPES["snowflake"] = {"DOUBLE", "VARCHAR", "TIMESTAMP"}


def test_warehouses_are_asked_for_functions_that_they_have(warehouse):
    """Names of functions and types are those of a list; a query that reads well may not run."""
    dialect, written, read = warehouse
    bare = re.sub(r"'(?:[^'\\]|\\.|'')*'", "''", written)
    assert set(re.findall(r"\b([A-Z_0-9]+)\(", bare)) <= DOCUMENTED[dialect]
    kinds = read.find_all(sqlglot.exp.DataType)
    assert {kind.sql(dialect) for kind in kinds} <= TYPES[dialect]


def test_the_probability_may_come_alone(closed_form, train):
    """Without the decision, there is none."""
    query = to_sql(closed_form, table="new_rows", keep=["key"], decision=False)
    assert run(query, train[0]).column_names == ["key", "probability_positive"]


def test_unknown_dialects_are_refused(closed_form):
    """The engines that there are are named."""
    with pytest.raises(ExportError, match=r"one of duckdb, .*got 'oracle'"):
        to_sql(closed_form, "oracle")


@pytest.fixture(scope="module")
def postgres():
    with running_postgresql() as server:
        yield server.connection


@pytest.mark.engines
@pytest.mark.slow
def test_postgres_gives_the_same_probabilities_and_decisions(model, fresh, expected_of, postgres):
    """To 1e-9 on a real server, missing and unseen values included."""
    types = [
        "bigint",
        "float8",
        "float8",
        "float8",
        "bigint",
        "text",
        "text",
        "text",
        "date",
        "text",
    ]
    columns = ", ".join(f'"{n}" {t}' for n, t in zip(fresh.column_names, types, strict=True))
    with postgres.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS new_rows; CREATE TABLE new_rows ({columns})")
        marks = ", ".join(["%s"] * len(types))
        rows = [list(row.values()) for row in fresh.to_pylist()]
        cursor.executemany(f"INSERT INTO new_rows VALUES ({marks})", rows)
        cursor.execute(to_sql(model, "postgres", table="new_rows", keep=["key"]).replace("%", "%%"))
        found = sorted(cursor.fetchall())
    probability, labels = expected_of(model, fresh)
    np.testing.assert_allclose([row[1] for row in found], probability, atol=1e-9)
    assert [row[3] for row in found] == labels.tolist()
    positive = labels == formula_of(model).pos_label
    assert [row[2] for row in found] == positive.tolist()


@pytest.fixture(scope="module")
def spark():
    """Start Spark in this process's own machine, on one core."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    settings = {"spark.sql.session.timeZone": "UTC", "spark.ui.enabled": "false"}
    settings |= {"spark.sql.shuffle.partitions": "1", "spark.driver.host": "127.0.0.1"}
    builder = sql.SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_gives_the_same_probabilities_and_decisions(
    model, fresh, expected_of, spark, tmp_path
):
    """To 1e-9 in Spark itself, missing and unseen values included."""
    pq.write_table(fresh, tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).createOrReplaceTempView("new_rows")
    query = to_sql(model, "spark", table="new_rows", keep=["key"])
    found = sorted(tuple(row) for row in spark.sql(query).collect())
    probability, labels = expected_of(model, fresh)
    np.testing.assert_allclose([row[1] for row in found], probability, atol=1e-9)
    assert [row[3] for row in found] == labels.tolist()


def test_a_query_longer_than_engines_read_says_so(closed_form, monkeypatch):
    """Over the limit there is a warning."""
    from flipcost.exceptions import LargeQueryWarning
    from flipcost.model import sql

    query = to_sql(closed_form)
    monkeypatch.setattr(sql, "MOST_BYTES", len(query) - 1)
    with pytest.warns(LargeQueryWarning, match="some engines read no more than 1 MB"):
        assert to_sql(closed_form) == query
