"""The same frame gives the same features, whoever reads it: fit, audits, tables, predict, SQL."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from flipcost import FlipCostClassifier
from flipcost.audit import audit, audit_files, audit_sql
from flipcost.export import to_sql
from flipcost.model.convert import formula_of
from tests.tables.test_flipcost_table import FEATURES, mixed_rows

duckdb = pytest.importorskip("duckdb")


def test_audits_decide_as_fit_does(tmp_path):
    """A category of 60 levels and missing values: 3,000 decisions are equal by every way."""
    table = mixed_rows()
    X = table.select(FEATURES).to_pandas()
    model = FlipCostClassifier(cost=0.2, random_state=0).fit(X, table["y"].to_pylist())
    expected = model.predict(X)
    pc.write_csv(table, tmp_path / "a.csv")
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=500)
    connection = duckdb.connect()
    connection.register("seen", table)
    held = audit(table, "y", 0.2, id="id")
    first = [suspect.row for suspect in held.suspects]
    for found in (
        held,
        audit_files(tmp_path / "a.csv", "y", 0.2, id="id"),
        audit_files(tmp_path / "a.parquet", "y", 0.2, id="id"),
        audit_sql(connection, "seen", "y", 0.2, id="id"),
    ):
        assert (found.model.predict(table) == expected).all()
        assert (np.asarray(formula_of(found.model).predict(table)) == expected).all()
        assert [suspect.row for suspect in found.suspects] == first
    query = to_sql(held, table="seen", keep=["id"])
    there = connection.execute(f"SELECT prediction FROM ({query}) ORDER BY id").fetchnumpy()
    assert (there["prediction"] == expected).all()


def test_a_saved_model_reads_words_for_yes_and_no():
    """A column of truth values is one in the model, in whatever words a later table has them."""
    table = mixed_rows(600)
    known = table["z"].to_numpy() > 0
    words = pa.array([None if k % 9 == 0 else ("yes", "No")[bool(v)] for k, v in enumerate(known)])
    found = audit(table.append_column("member", words), "y", 0.2, id="id")
    formula = formula_of(found.model)
    assert {column.name: column.kind for column in formula.columns}["member"] == "boolean"
    truth = pa.array([None if k % 9 == 0 else not bool(v) for k, v in enumerate(known)])
    for column in (words, truth):
        told = table.append_column("member", column)
        assert (np.asarray(formula.predict(told)) == found.model.predict(told)).all()
