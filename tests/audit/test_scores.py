"""Scores of a model of the user's own: the same as `fit_scores`, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

import flipcost as fc
from flipcost.cli import main
from flipcost.exceptions import FlipCostError
from tests.audit.helpers import PRICES, noisy_table

PROBABILITY = {"score_kind": "probability"}


@pytest.fixture(scope="module")
def table():
    """Return noisy rows with probabilities by a forest, out of fold and not."""
    rows = noisy_table(1200, rate=0.2)
    X, y = np.column_stack([rows[f"x{j}"] for j in range(3)]), np.array(rows["ill"].to_pylist())
    forest = RandomForestClassifier(60, min_samples_leaf=10, random_state=0)
    honest = cross_val_predict(forest, X, y, cv=5, method="predict_proba")[:, 1]
    seen = forest.fit(X, y).predict_proba(X)[:, 1]
    rows = rows.append_column("seen", pa.array(seen)).append_column("p", pa.array(honest))
    return rows.append_column("word", pa.array(np.where(X[:, 0] > 0, "up", "down")))


@pytest.fixture(scope="module")
def found(table):
    rows = table.drop_columns(["truth", "seen"])
    return fc.audit(rows, "ill", PRICES, score="p", by="word", **PROBABILITY)


def test_an_audit_of_scores_is_fit_scores(table, found):
    """Probabilities, rates and costs are those of the classifier, which sees no other column."""
    y = np.array(table["ill"].to_pylist())
    model = fc.FlipCostClassifier(cost=PRICES, random_state=0)
    model.fit_scores(table["p"].to_numpy(), y, kind="probability")
    np.testing.assert_allclose(found.model[-1].oof_probability_, model.oof_probability_)
    assert found.wrong_share == model.wrong_share_
    assert [one.name for one in found.columns] == ["ill", "p"]
    keys = {candidate.key for candidate in found.candidates}
    assert keys == {"flipcost", "given", "logistic", "all_positive", "all_negative"}
    assert len(found.decisions.segments) == 2
    assert found.recheck.batch.rows
    assert not found.warnings


def test_the_given_probabilities_are_cut_at_the_threshold(table, found):
    """They are a rival as they are."""
    flagged = table["p"].to_numpy() > PRICES.alpha
    np.testing.assert_array_equal(found.candidate("given").flagged, flagged)


def test_the_model_file_reads_the_column_of_scores(found, tmp_path):
    """Log-odds are pieced together within 0.001, and so are probabilities within 0.0003."""
    fc.save(found, tmp_path / "model.json")
    p = np.linspace(1e-6, 1 - 1e-6, 2001)
    ours = fc.load(tmp_path / "model.json").predict_proba(pa.table({"p": p}))[:, 1]
    theirs = found.model[-1].predict_proba(p)[:, 1]
    np.testing.assert_allclose(ours, theirs, atol=3e-4)


def test_several_scores_are_pooled(table, tmp_path):
    """Raw scores of two models; the model file gives what the classifier does."""
    found = fc.audit(table, "ill", PRICES, score=["x0", "x1"], drop=["truth", "seen"])
    rows = table.select(["x0", "x1"])
    fc.save(found, tmp_path / "model.json")
    ours = fc.load(tmp_path / "model.json").predict_proba(rows)
    np.testing.assert_allclose(ours, found.model.predict_proba(rows), atol=1e-9)


def test_scores_that_were_fitted_on_their_rows_are_warned_of(table):
    """They order the labels better than boosting on the other columns, or without an error."""
    rows = table.drop_columns("truth")
    (said,) = fc.audit(rows, "ill", PRICES, score="seen", drop=["p"], **PROBABILITY).warnings
    assert "'seen'" in said
    assert "out-of-fold" in said
    copy = [float(label == "yes") for label in table["ill"].to_pylist()]
    rows = rows.append_column("copy", pa.array(copy))
    (said,) = fc.audit(rows, "ill", PRICES, score="copy", **PROBABILITY).warnings
    assert "without an error" in said


def test_checked_rows_go_with_scores(table):
    """Errors are counted on them as after any fit."""
    right = [t if k % 8 == 0 else None for k, t in enumerate(table["truth"].to_pylist())]
    rows = table.append_column("right", pa.array(right)).drop_columns(["truth", "seen"])
    found = fc.audit(rows, "ill", PRICES, score="p", trusted="right", **PROBABILITY)
    assert found.n_checked == 150
    wrong = np.mean(np.array(rows["ill"]) != np.array(table["truth"]))
    assert found.wrong_share.low < wrong < found.wrong_share.high


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"score": "none"}, "has no column 'none'"),
        ({"score": "ill"}, "Column 'ill' was given two roles"),
        ({"score": "word"}, "Column 'word' holds no numbers"),
        ({"score": "same"}, "Column 'same' is the same in every row"),
        ({"score": "gaps"}, "Column 'gaps' has no score in 2 rows"),
        ({"score": "x0", "score_kind": "probability"}, "Column 'x0' must lie in .0, 1. as"),
        ({"score": "x0", "score_kind": "rank"}, "`score_kind` must be score or probability"),
        ({"score": "x0", "model": "linear"}, "Give `score` or `model`, not both"),
    ],
)
def test_bad_scores_are_refused(table, options, said):
    """In one sentence that names the column."""
    n = table.num_rows
    rows = table.append_column("same", pa.array(np.ones(n)))
    rows = rows.append_column("gaps", pa.array([None, None, *range(n - 2)]))
    with pytest.raises(FlipCostError, match=said) as error:
        fc.audit(rows, "ill", PRICES, **options)
    assert "\n" not in str(error.value)


def test_from_the_command_line(table, tmp_path, capsys):
    """Scores of files read in passes too; what is bad ends with 2 and writes nothing."""
    path, out, new = tmp_path / "t.csv", tmp_path / "out", tmp_path / "new.csv"
    pyarrow.csv.write_csv(table.drop_columns(["truth", "seen"]), path)
    pyarrow.csv.write_csv(table.select(["p", "word"]), new)
    asked = ["audit", str(path), "--target", "ill", "--out", str(out)]
    assert main([*asked, "--score", "word"]) == 2
    assert "Column 'word' holds no numbers" in capsys.readouterr().err
    assert not out.exists()
    asked += ["--score", "p", "--score-kind", "probability"]
    assert main(asked) == 0
    assert "your probabilities" in capsys.readouterr().out
    assert main([*asked, "--memory-share", "0", "--overwrite", "--quiet"]) == 0
    predicted = ["predict", str(out / "model.json"), str(new), "--out", str(tmp_path / "p.csv")]
    assert main(predicted) == 0
