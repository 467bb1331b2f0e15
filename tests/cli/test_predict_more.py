"""`flipcost predict`: columns kept, levels that are new, rows of errors, folders of files."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import flipcost as fc
from flipcost.audit import audit
from flipcost.cli import main

WORDS = np.array(["no", "yes"], dtype=object)


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    towns = rng.choice(["Lyon", "Nice"], n)
    return pa.table({"age": rng.normal(size=n) + ill, "town": towns, "ill": WORDS[ill.astype(int)]})


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.json"
    fc.save(audit(make_rows(300), "ill", 0.3, model="linear").model, path)
    return path


def predict(model, data, out, *more):
    return main(["predict", str(model), str(data), "--out", str(out), *more])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_are_kept(model, tmp_path, kind):
    """The rows stand before their predictions, as they were."""
    rows = make_rows(40, seed=1).append_column("prediction", [["old"] * 40])
    pc.write_csv(rows, tmp_path / "new.csv")
    out = tmp_path / f"out.{kind}"
    assert predict(model, tmp_path / "new.csv", out, "--keep-columns") == 0
    found = pc.read_csv(out) if kind == "csv" else pq.read_table(out)
    assert found.column_names[:4] == ["age", "town", "ill", "prediction"]
    assert found["prediction"].to_pylist() == ["old"] * 40
    assert set(found["prediction_"].to_pylist()) <= {"no", "yes"}
    np.testing.assert_allclose(np.array(found["age"], float), rows["age"])


def test_kept_columns_are_not_taken_for_predictions(model, tmp_path, capsys):
    """Also where they have their names, and rows are called within a capacity."""
    own = {"row": ["x"] * 40, "row_": [7] * 40, "flagged": ["?"] * 40}
    own["expected_saving"] = list(range(40))
    rows = make_rows(40, seed=1)
    for name, values in own.items():
        rows = rows.append_column(name, [values])
    pq.write_table(rows, tmp_path / "new.parquet")
    out = tmp_path / "out.parquet"
    more = ["--keep-columns", "--capacity", "5"]
    assert predict(model, tmp_path / "new.parquet", out, *more) == 0
    assert "40 rows, 5 of them flagged" in capsys.readouterr().out
    found = pq.read_table(out)
    assert {name: found[name].to_pylist() for name in own} == own
    assert found["row__"].to_pylist() == list(range(1, 41))
    assert sum(found["flagged_"].to_pylist()) == 5
    assert {path.name for path in tmp_path.iterdir()} == {"new.parquet", "out.parquet"}


def test_no_kept_text_is_a_formula_in_a_spreadsheet(model, tmp_path):
    """Neither cells of any type of text nor headers; numbers keep their signs."""
    text = pa.array(["=1+1", "-5"] * 20)
    kinds = {"a": text.cast(pa.large_string()), "b": text.cast(pa.binary())}
    kinds |= {"c": text.dictionary_encode(), "d": text, "@head": text}
    kinds["bytes"] = pa.array([b"=1", b"-5"] * 20, pa.binary(2))
    rows = make_rows(40, seed=1)
    for name, column in kinds.items():
        rows = rows.append_column(name, column)
    pq.write_table(rows, tmp_path / "new.parquet")
    out = tmp_path / "out.csv"
    assert predict(model, tmp_path / "new.parquet", out, "--keep-columns") == 0
    found = pc.read_csv(out)
    for name in ("a", "b", "c", "d", "'@head"):
        assert found[name].to_pylist() == ["'=1+1", "-5"] * 20
    assert found["bytes"].to_pylist() == ["'=1", "-5"] * 20


@pytest.mark.parametrize("kind", ["nested", "bytes"])
def test_columns_that_cannot_be_kept(model, tmp_path, capsys, kind):
    """One sentence, and nothing is written."""
    broken = pa.Array.from_buffers(pa.binary(), 40, pa.array([b"\xff"] * 40).buffers())
    more = pa.array([[1.0]] * 40) if kind == "nested" else broken.view(pa.string())
    pq.write_table(make_rows(40).append_column("more", more), tmp_path / "new.parquet")
    assert predict(model, tmp_path / "new.parquet", tmp_path / "out.csv", "--keep-columns") == 2
    said = capsys.readouterr().err
    assert {"nested": "leave --keep-columns out", "bytes": "is not UTF-8"}[kind] in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_levels_that_are_new_are_counted(model, tmp_path, capsys):
    """The screen says how many rows hold a level that the model has not seen."""
    rows = make_rows(30, seed=2).set_column(1, "town", [["Brest"] * 7 + ["Lyon"] * 23])
    pc.write_csv(rows, tmp_path / "new.csv")
    assert predict(model, tmp_path / "new.csv", tmp_path / "out.csv") == 0
    assert "that the model has not seen, by column: town (7)" in capsys.readouterr().out
    pc.write_csv(make_rows(30), tmp_path / "old.csv")
    assert predict(model, tmp_path / "old.csv", tmp_path / "out2.csv") == 0
    assert "has not seen" not in capsys.readouterr().out


def test_an_error_names_its_row(model, tmp_path, capsys):
    """Where numbers turn to text, the first such row of the file is named."""
    ages = [*map(str, range(25)), "old", "older", *map(str, range(13))]
    pc.write_csv(pa.table({"age": ages, "town": ["Lyon"] * 40}), tmp_path / "new.csv")
    assert predict(model, tmp_path / "new.csv", tmp_path / "out.csv") == 2
    said = capsys.readouterr().err
    assert "Column 'age' held numbers" in said
    assert "It is in row 26." in said
    assert not (tmp_path / "out.csv").exists()


def test_a_folder_is_read_as_one_table(model, tmp_path, capsys):
    """Files in order of their names, rows numbered through, as audit takes them."""
    folder = tmp_path / "new"
    folder.mkdir()
    for k in (0, 1):
        pc.write_csv(make_rows(20 + k, seed=k), folder / f"part-{k}.csv")
    assert predict(model, folder, tmp_path / "out.parquet") == 0
    assert "41 rows" in capsys.readouterr().out
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["row"].to_pylist() == list(range(1, 42))
    assert predict(model, folder / "*.csv", tmp_path / "again.parquet") == 0
    assert pq.read_table(tmp_path / "again.parquet").equals(found)


def test_an_empty_folder_is_named(model, tmp_path, capsys):
    """A folder without files ends in one sentence."""
    (tmp_path / "none").mkdir()
    assert predict(model, tmp_path / "none", tmp_path / "out.csv") == 2
    assert "none" in capsys.readouterr().err


def test_a_model_that_was_too_good_to_be_true_says_so(tmp_path, capsys):
    """One line each time, after an audit found that a column gives the label away."""
    rng = np.random.default_rng(0)
    x, paid = rng.normal(size=(2, 300))
    paid[x + rng.logistic(size=300) < 0.5] = np.nan
    table = pa.table({"x": x, "paid": paid, "label": np.where(np.isnan(paid), "no", "yes")})
    for name, columns in (("leaky", table), ("honest", table.drop_columns(["paid"]))):
        data, out, model = (tmp_path / f"{name}{end}" for end in (".parquet", "", ".csv"))
        pq.write_table(columns, data)
        args = ["--target", "label", "--model", "linear", "--out", str(out), "--quiet"]
        assert main(["audit", str(data), *args]) == 0
        capsys.readouterr()
        assert main(["predict", str(out / "model.json"), str(data), "--out", str(model)]) == 0
        said = capsys.readouterr().err
        assert said.count("\n") == (name == "leaky")
        assert ("too good to be true: it learned from 'paid'" in said) == (name == "leaky")
        assert fc.load(out / "model.json").leaks == ((1,) if name == "leaky" else ())
