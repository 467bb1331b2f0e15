"""`flipcost export`: a saved model as SQL, ONNX or JSON."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from flipcost.cli import main
from flipcost.model import load
from flipcost.tables.reading import read_table

GOOD = Path(__file__).parent / "corpus" / "good.csv"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    out = tmp_path_factory.mktemp("audit")
    args = ["audit", str(GOOD), "--target", "ill", "--cost-fn", "4", "--cost-fp", "1", "--quiet"]
    assert main([*args, "--out", str(out)]) == 0
    return out / "model.json"


def test_sql_that_duckdb_runs(model, tmp_path, capsys):
    """The file's query gives what the model gives for the table."""
    duckdb = pytest.importorskip("duckdb")
    out = tmp_path / "score.sql"
    args = ["export", str(model), "--to", "sql", "--table", "new_rows", "--keep", "age"]
    assert main([*args, "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    table, formula = read_table(GOOD), load(model)
    with duckdb.connect() as connection:
        connection.register("new_rows", table)
        found = connection.sql(out.read_text(encoding="utf-8")).fetchall()
    expected = sorted(formula.probability(table))
    np.testing.assert_allclose(sorted(row[1] for row in found), expected, atol=1e-9)


def test_files_lie_beside_the_model_by_default(model, tmp_path):
    """JSON and ONNX, named after the model."""
    onnx = pytest.importorskip("onnx")
    copy = str(shutil.copy(model, tmp_path / "ill.json"))
    assert main(["export", copy, "--to", "json", "--quiet"]) == 0
    assert main(["export", copy, "--to", "onnx", "--quiet"]) == 0
    content = json.loads((tmp_path / "ill-scorer.json").read_text(encoding="utf-8"))
    assert content["format"] == "flipcost.formula"
    names = {thing.name for thing in onnx.load(tmp_path / "ill.onnx").graph.input}
    assert names == {content["columns"][k]["name"] for k in content["used"]}


def test_mistakes_are_one_line_and_write_nothing(model, tmp_path, capsys):
    """Unknown forms and engines, files that are there, models of another kind: exit code 2."""
    there = tmp_path / "there.sql"
    there.write_text("kept", encoding="utf-8")
    (tmp_path / "bare.json").write_text("{}", encoding="utf-8")
    out = tmp_path / "out.sql"
    for args, word in (
        ([str(model), "--to", "pmml", "--out", str(out)], "--to must be sql, onnx or json"),
        ([str(model), "--to", "sql", "--dialect", "oracle", "--out", str(out)], "--dialect"),
        ([str(model), "--to", "sql", "--out", str(there)], "--overwrite"),
        ([str(tmp_path / "bare.json"), "--to", "sql", "--out", str(out)], "is not a model"),
        ([str(tmp_path / "none.json"), "--to", "sql", "--out", str(out)], "none.json"),
    ):
        assert main(["export", *args]) == 2
        said = capsys.readouterr().err
        assert word in said
        assert len(said.strip().splitlines()) == 1
    assert not out.exists()
    assert there.read_text(encoding="utf-8") == "kept"
