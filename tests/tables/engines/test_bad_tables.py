"""What is wrong with a table in an engine is said in one sentence that names it."""

import numpy as np
import pyarrow as pa
import pytest

from flipcost import UnevenMarginClassifierCV
from flipcost.exceptions import FlipCostError, SourceError, TableError
from flipcost.tables.encoder import Encoder
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.scan import scan_lazy, scan_sql


def rows(n=50, **more):
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=n), "y": np.arange(n) % 2, "id": np.arange(n)}
    return pa.table({**columns, **more})


def known_encoder(name):
    """Return the encoder of a column of some numbers."""
    known = pa.table({name: np.arange(100.0) ** 2})
    return TableEncoder(Encoder.learn(known)).fit(known)


def test_columns_that_cannot_be_used_are_named(engine):
    """Text among the features, names that are not there, keys of the wrong kind."""
    table = rows(town=["Lyon"] * 50, z=np.linspace(0, 1, 50))
    with pytest.raises(SourceError, match=r"column 'town' must hold numbers; got .*`with_encoder`"):
        engine(table, "y", columns=["x", "town"]).moments()
    with pytest.raises(TableError, match="has no column 'xx'; did you mean 'x'"):
        engine(table, "y", columns=["xx"])
    with pytest.raises(TableError, match="has no column 'yy'"):
        engine(table, "yy", columns=["x"])
    with pytest.raises(SourceError, match=r"`fold_by` must name the column"):
        engine(table, "y", columns=["x"]).fold_moments(3)
    with pytest.raises(SourceError, match="'z' must hold integers or text to make folds"):
        engine(table, "y", columns=["x"], fold_by="z").fold_moments(3)
    with pytest.raises(SourceError, match="'town' must hold integers to make folds by its modulus"):
        engine(table, "y", columns=["x"], fold_by="town", fold_rule="modulus").fold_moments(3)
    with pytest.raises(ValueError, match="`fold_rule` must be 'hash' or 'modulus'; got 'random'"):
        engine(table, "y", columns=["x"], fold_rule="random")


def test_values_that_cannot_be_used_are_counted(engine):
    """Missing values, infinite ones, negative weights, missing and third labels and keys."""
    some = [None, None, *np.arange(48.0)]
    huge = np.where(np.arange(50) == 7, np.inf, 1.0 * np.arange(50))
    nan = np.where(np.arange(50) == 7, np.nan, 1.0 * np.arange(50))
    table = rows(
        some=pa.array(some),
        huge=huge,
        nan=nan,
        w=np.where(np.arange(50) == 3, -1.0, 1.0),
        key=pa.array([None, *range(49)]),
        three=np.arange(50) % 3,
        hole=pa.array([None, *(np.arange(49) % 2)]),
        rare=pa.array(["a", "b"] * 24 + ["a", "c"]),
        town=pa.array(["Lyon", "Nice"] * 25),
    )
    cases = [
        ({"columns": ["x", "some"]}, r"'some' must not have missing values; got 2"),
        ({"columns": ["x", "huge"]}, r"'huge' must be finite"),
        ({"columns": ["x", "nan"]}, r"'nan' must be finite"),
        ({"columns": ["x"], "sample_weight": "w"}, r"weights must not be negative; got -1"),
        ({"columns": ["x"], "fold_by": "key"}, r"'key' makes the folds .* missing values; got 1"),
        ({"columns": ["x"], "target": "three"}, r"two labels; got more: 0, 1, 2"),
        ({"columns": ["x"], "target": "hole"}, r"labels must not be missing; got 1 missing"),
        ({"columns": ["x"], "target": "huge"}, r"two labels; got more"),
    ]
    for options, said in cases:
        target = options.pop("target", "y")
        options.setdefault("fold_by", "id")
        with pytest.raises(SourceError, match=said):
            engine(table, target, **options).fold_moments(2)
    encoded = engine(table, "y", columns=["huge"]).with_encoder(known_encoder("huge"))
    with pytest.raises(SourceError, match="'huge' must be finite"):
        encoded.moments()


def test_a_third_label_far_down_is_found(duck):
    """A label that the first rows do not have is counted and shown."""
    duck.execute(
        "CREATE OR REPLACE TABLE far AS SELECT i AS x, "
        "CASE WHEN i < 20000 THEN i % 2 ELSE 7 END AS y FROM range(20003) t(i)"
    )
    with pytest.raises(SourceError, match=r"as \[0, 1\]; got 3 rows with others, as 7"):
        scan_sql(duck, "far", "y").moments()
    duck.execute(
        "CREATE OR REPLACE TABLE far AS SELECT i AS x, i > 20000 AS y FROM range(20003) t(i)"
    )
    assert scan_sql(duck, "far", "y").moments().n_rows.tolist() == [20001, 2]


def test_one_label_or_no_rows(engine):
    """As in memory: a table must hold two labels, and rows."""
    with pytest.raises(ValueError, match=r"The target must hold two labels; got \[1\] only"):
        engine(rows(one=np.ones(50, int)), "one", columns=["x"]).moments()
    with pytest.raises(SourceError, match=r"must hold rows to learn from; got none"):
        engine(rows().slice(0, 0), "y", columns=["x"]).moments()


@pytest.mark.parametrize(
    "query",
    ["SELECT * FROM t; DROP TABLE t", "SELECT 1;", "t; --", "SELECT 1 /* ; */ ; SELECT 2"],
)
def test_semicolons_are_refused(duck, query):
    """One statement only; a semicolon in text or a comment is none."""
    with pytest.raises(TableError, match="without a semicolon"):
        scan_sql(duck, query, "y")
    harmless = "SELECT i AS x, i % 2 AS y, ';' AS mark /* ; */ FROM range(9) t(i) -- ;"
    assert scan_sql(duck, harmless, "y", ["x"]).moments().n_rows.tolist() == [5, 4]


def test_what_is_no_table_is_refused(duck):
    """No such table, no such file, no query, a query with a mistake, other connections."""
    with pytest.raises(SourceError, match="DuckDB has no table 'nowhere'"):
        scan_sql(duck, "nowhere", "y")
    with pytest.raises(TableError, match="got nothing"):
        scan_sql(duck, " ", "y")
    with pytest.raises(SourceError, match="the query: DuckDB could not answer"):
        scan_sql(duck, "SELECT a b c FROM", "y")
    with pytest.raises(TypeError, match="`connection` must be of DuckDB"):
        scan_sql(object(), "t", "y")
    with pytest.raises(TableError, match="There is no DuckDB file at"):
        scan_sql("nowhere.duckdb", "t", "y")
    with pytest.raises(TableError, match="got one of 'mysql'"):
        scan_sql("mysql://me:secret@host/db", "t", "y")
    with pytest.raises(TypeError, match="`frame` must be lazy"):
        scan_lazy(rows().to_pandas(), "y")


def test_a_file_that_is_not_of_duckdb_is_refused(tmp_path):
    """Any other file is named."""
    path = tmp_path / "a.duckdb"
    path.write_text("not a database, whatever its name says; " * 20)
    with pytest.raises(TableError, match="cannot be opened as a DuckDB file"):
        scan_sql(str(path), "t", "y")


def test_a_closed_connection_is_lost():
    """A connection that is gone is said to be lost."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i AS x, i % 2 AS y FROM range(9) t(i)")
    table = scan_sql(connection, "t", "y")
    connection.close()
    with pytest.raises(SourceError, match="DuckDB: the connection was lost while table 't'"):
        table.moments()


def test_a_table_that_changes_between_statements_is_noticed(duck, monkeypatch):
    """Sums of a wide table take several statements, each of which counts the rows again."""
    duck.execute(
        "CREATE OR REPLACE TABLE moving AS SELECT i AS id, sin(i) AS x, cos(i) AS z, "
        "i % 3 = 0 AS y FROM range(300) t(i)"
    )
    table = scan_sql(duck, "moving", "y", ["x", "z"], fold_by="id")
    table._engine.most_sums = 8
    asked, ask = [], table._engine.ask

    def ask_and_write(*args):
        found = ask(*args)
        asked.append(args)
        if len(asked) == 3:
            duck.execute("INSERT INTO moving VALUES (1000, 0.5, 0.5, true)")
        return found

    monkeypatch.setattr(table._engine, "ask", ask_and_write)
    with pytest.raises(SourceError, match="changed between the queries: 53 rows"):
        table.fold_moments(2)


def test_rows_are_drawn_and_folded_by_what_tells_them_apart(engine):
    """A sample leaves the engine; folds need a column, as rows have no order."""
    found = engine(rows(200), "y", columns=["x"], fold_by="id").sample(60)
    assert found.X.shape == (60, 1)
    assert found.weight.sum() == pytest.approx(200)
    with pytest.raises(SourceError, match=r"`fold_by` must name"):
        UnevenMarginClassifierCV().fit_table(engine(rows(200), "y", columns=["x"]))
    assert issubclass(SourceError, FlipCostError)
