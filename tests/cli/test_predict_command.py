"""`flipcost predict`: new rows, checked and streamed."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flipcost import UnevenMarginClassifier
from flipcost.cli import main
from flipcost.model import load, save
from flipcost.tables.reading import read_table

CORPUS = Path(__file__).parent / "corpus"
GOOD = CORPUS / "good.csv"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    out = tmp_path_factory.mktemp("audit")
    args = ["audit", str(GOOD), "--target", "ill", "--cost-fn", "4", "--cost-fp", "1", "--quiet"]
    assert main([*args, "--out", str(out)]) == 0
    return out / "model.json"


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_predictions_are_those_of_the_model(model, tmp_path, capsys):
    """The file holds what the loaded pipeline predicts for the table."""
    assert (
        main(["predict", str(model), str(GOOD), "--out", str(tmp_path / "p.csv"), "--id", "town"])
        == 0
    )
    assert "60 rows" in capsys.readouterr().out
    rows = read(tmp_path / "p.csv")
    pipeline, table = load(model), read_table(GOOD)
    assert [row["prediction"] for row in rows] == pipeline.predict(table).tolist()
    found = [float(row["probability_positive"]) for row in rows]
    np.testing.assert_allclose(found, pipeline.predict_proba(table)[:, 1], rtol=1e-12)
    assert [row["id"] for row in rows] == table["town"].to_pylist()
    assert [int(row["row"]) for row in rows] == list(range(1, 61))


def test_columns_may_be_in_any_order_with_others_between(model, tmp_path):
    """Columns are found by name, the target is not needed, and Parquet works both ways."""
    table = read_table(GOOD)
    other = pa.table(
        {
            "new": pa.array(range(60)),
            "town": table["town"],
            "dose": table["dose"].cast(pa.float64()),
            "age": table["age"].cast(pa.float32()),
        }
    )
    pq.write_table(other, tmp_path / "new.parquet")
    args = ["predict", str(model), str(tmp_path / "new.parquet"), "--quiet"]
    assert main([*args, "--out", str(tmp_path / "p.parquet")]) == 0
    found = pq.read_table(tmp_path / "p.parquet")
    expected = load(model).predict_proba(table)[:, 1]
    # The ages were rounded to single precision.
    np.testing.assert_allclose(found["probability_positive"], expected, atol=1e-6)


def test_large_files_are_streamed(model, tmp_path):
    """A file of many batches is scored row by row as a small one is."""
    lines = GOOD.read_text().splitlines()
    path = tmp_path / "large.csv"
    path.write_text("\n".join([lines[0], *(lines[1:] * 5000)]) + "\n")
    assert path.stat().st_size > 4_500_000  # more than one block of the reader
    assert (
        main(["predict", str(model), str(path), "--quiet", "--out", str(tmp_path / "p.csv")]) == 0
    )
    assert (
        main(["predict", str(model), str(GOOD), "--quiet", "--out", str(tmp_path / "q.csv")]) == 0
    )
    large, small = (read(tmp_path / name) for name in ("p.csv", "q.csv"))
    assert len(large) == 300_000
    assert [row["probability_positive"] for row in large[-60:]] == [
        row["probability_positive"] for row in small
    ]
    assert int(large[-1]["row"]) == 300_000


def test_new_levels_and_missing_values_are_scored(model, tmp_path):
    """A town that was never seen, and empty fields, get a probability."""
    path = tmp_path / "new.csv"
    path.write_text("age,dose,town\n50,3.5,Oslo\n,,\n")
    assert (
        main(["predict", str(model), str(path), "--quiet", "--out", str(tmp_path / "p.csv")]) == 0
    )
    for row in read(tmp_path / "p.csv"):
        assert 0 < float(row["probability_positive"]) < 1


MISTAKES = [
    ("age,dose\n1,2\n3,4\n", [], "no column 'town'"),
    ("age,doses,town\n1,2,Lyon\n", [], "did you mean 'doses'?"),
    ("a,b\n1,2\n", [], "lacks 3 columns"),
    ("age,dose,town\n1,much,Lyon\n", [], "'dose' held numbers when the model was made"),
    ("age,dose,town\n", [], "no rows"),
    ("age,dose,town\n1,2,Lyon\n", ["--out", "p.xlsx"], ".csv or .parquet"),
    ("age,dose,town\n1,2,Lyon\n", ["--id", "key"], "no column 'key'"),
]


@pytest.mark.parametrize(("content", "options", "words"), MISTAKES)
def test_mistakes_are_answered_in_one_line(model, content, options, words, tmp_path, capsys):
    """Columns that are missing or of another kind are named; nothing is written."""
    path = tmp_path / "new.csv"
    path.write_text(content)
    args = ["predict", str(model), str(path), "--out", str(tmp_path / "p.csv"), *options]
    assert main(args) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["new.csv"]


def test_only_models_are_taken(tmp_path, capsys):
    """What is no model, and a model of columns that are not there, are refused with a sentence."""
    save(UnevenMarginClassifier().fit([[0.0], [1.0]], [0, 1]), tmp_path / "bare.json")
    (tmp_path / "text.json").write_text("not a model")
    for name, words in (
        ("bare.json", "no column 'x0'"),
        ("text.json", "is not a model"),
        ("none.json", "does not exist"),
    ):
        assert main(["predict", str(tmp_path / name), str(GOOD)]) == 2
        assert words in capsys.readouterr().err


def test_what_is_there_is_replaced_only_when_asked(model, tmp_path, capsys):
    """An earlier file stays; --overwrite replaces it."""
    out = tmp_path / "p.csv"
    out.write_text("mine")
    args = ["predict", str(model), str(GOOD), "--quiet", "--out", str(out)]
    assert main(args) == 2
    assert "exists already; give --overwrite to replace it" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main([*args, "--overwrite"]) == 0
    assert len(read(out)) == 60


@pytest.mark.parametrize("link", [False, True])
def test_neither_input_nor_model_is_overwritten(model, link, tmp_path, capsys):
    """Not by name, not by a link, and not when asked to overwrite."""
    data, kept = tmp_path / "new.csv", tmp_path / "model.csv"
    data.write_bytes(GOOD.read_bytes())
    kept.write_bytes(model.read_bytes())
    for victim in (data, kept):
        out = victim
        if link:
            out = tmp_path / f"link-{victim.name}"
            out.symlink_to(victim)
        before = victim.read_bytes()
        args = ["predict", str(kept), str(data), "--overwrite", "--out", str(out)]
        assert main(args) == 2
        assert "is read and cannot be written" in capsys.readouterr().err
        assert victim.read_bytes() == before


def test_predicting_needs_no_scikit_learn(model, tmp_path):
    """A model is data: applying it imports nothing that learns, which takes half of the start."""
    args = ["predict", str(model), str(GOOD), "--out", str(tmp_path / "p.csv"), "--quiet"]
    script = (
        "import sys\nfrom flipcost.cli import main\n"
        f"assert main({args!r}) == 0\nassert 'sklearn' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert len(read(tmp_path / "p.csv")) == 60
