"""Labels of several annotators are pooled, and audited with what their agreement tells."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import flipcost as fc
from flipcost.cli import main
from flipcost.exceptions import FlipCostError
from flipcost.report.sentences import annotators_sentence, title_sentence
from tests.audit.helpers import PRICES

N, WORKERS = 800, 8
WORDS = np.array(["no", "yes"], dtype=object)
ERRORS = np.linspace(0.05, 0.4, WORKERS)


def _items():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 2))
    return X, rng.random(N) < 1 / (1 + np.exp(1 - 3 * X[:, 0])), rng


@pytest.fixture(scope="module")
def long():
    """Return a row for each label, three of each item, in any order."""
    X, true, rng = _items()
    item = np.repeat(np.arange(N), 3)
    worker = np.concatenate([rng.choice(WORKERS, 3, replace=False) for _ in range(N)])
    label = true[item] ^ (rng.random(3 * N) < ERRORS[worker])
    order = rng.permutation(3 * N)
    columns = {
        "item": np.array([f"c{k}" for k in item]),
        "who": np.array([f"w{k}" for k in worker]),
        "a": X[item, 0],
        "b": X[item, 1],
        "truth": WORDS[true[item].astype(int)],
        "ill": WORDS[label.astype(int)],
    }
    return pa.table({name: values[order].tolist() for name, values in columns.items()})


@pytest.fixture(scope="module")
def found(long):
    options = {"worker": "who", "item": "item", "truth": "truth", "name": "t.csv"}
    return fc.audit(long, "ill", PRICES, **options)


def test_items_are_audited_with_their_pooled_labels(long, found):
    """How often these are wrong, and how many items are positive, is covered; each is one row."""
    pooled, truth = found.labels.pooled, dict(zip(long["item"], long["truth"], strict=True))
    truth = {item.as_py(): label.as_py() for item, label in truth.items()}
    right = np.array([truth[item] for item in pooled.ids])
    wrong = right != np.array(pooled.labels)
    assert found.n_rows == N
    assert found.wrong_share.low < wrong.mean() < found.wrong_share.high
    assert found.errors.prevalence.low < np.mean(right == "yes") < found.errors.prevalence.high
    assert found.candidate("flipcost").test.value < found.candidate("all_positive").test.value
    # Likely errors count the labels of the item too: 95% of a binomial of their probabilities.
    expected = np.sort(pooled.wrong)[::-1][:100]
    assert abs(wrong[np.argsort(-pooled.wrong)[:100]].sum() - expected.sum()) < 2.5 * np.sqrt(
        np.sum(expected * (1 - expected))
    )
    first = found.suspects[0]
    assert long["item"][first.row].as_py() == first.id
    assert [c["name"] for c in found.schema] == ["a", "b"]


def test_each_annotator_is_told(found):
    """By intervals, in the summary, the sentence and the report."""
    told = {one["worker"]: one for one in found.summary()["annotators"]}
    assert sum(one["n_labels"] for one in told.values()) == 3 * N
    held = [
        one[side]["low"] <= ERRORS[int(name[1:])] <= one[side]["high"]
        for name, one in told.items()
        for side in ("miss_rate", "false_alarm_rate")
    ]
    assert np.mean(held) >= 0.75
    assert title_sentence(found).startswith("t.csv: 2,400 labels of 800 items, 2 columns")
    assert annotators_sentence(found).startswith("8 annotators: best “w0” misses")
    assert "worst “w6”" in annotators_sentence(found)  # who errs in 35%, beside 40%
    assert ">Annotators</h" in found.to_html()


@pytest.mark.slow
def test_one_column_for_each_annotator_is_the_same(long):
    """Wide and long tables of the same labels give the same probabilities of errors."""
    X, true, _ = _items()
    rng = np.random.default_rng(5)
    labels = true[:, None] ^ (rng.random((N, 3)) < 0.2)
    text = WORDS[labels.astype(int)]
    wide = pa.table({"a": X[:, 0], "b": X[:, 1]} | {f"w{j}": text[:, j].tolist() for j in range(3)})
    one = fc.audit(wide, "ill", PRICES, annotators=["w0", "w1", "w2"])
    item = np.repeat(np.arange(N), 3)
    rows = {"item": item, "who": np.tile(["w0", "w1", "w2"], N), "a": X[item, 0], "b": X[item, 1]}
    table = pa.table(rows | {"ill": text.ravel().tolist()})
    other = fc.audit(table, "ill", PRICES, worker="who", item="item")
    np.testing.assert_allclose(one.labels.pooled.wrong, other.labels.pooled.wrong)
    assert one.best.cost_if_random == other.best.cost_if_random
    assert "“w1” misses" in annotators_sentence(one)
    assert abs(one.wrong_share.value - 0.104) < 0.03  # of three at 0.2, the majority


def test_two_annotators_are_told_apart_by_the_columns():
    """Where two disagree, columns tell who is right more often."""
    X, true, rng = _items()
    labels = true[:, None] ^ (rng.random((N, 2)) < [0.05, 0.3])
    rows = {f"w{j}": WORDS[labels[:, j].astype(int)].tolist() for j in range(2)}
    table = pa.table({"a": X[:, 0], "b": X[:, 1]} | rows)
    found = fc.audit(table, "ill", PRICES, annotators=["w0", "w1"])
    first, second = found.labels.pooled.workers
    assert first.miss_rate.high < second.miss_rate.low
    assert np.mean(np.array(found.labels.pooled.labels) == WORDS[true.astype(int)]) > 0.9


def test_annotators_who_always_agree_look_clean():
    """Their error rate is an estimate, not one that was given; where none agree, that is said."""
    X, true, rng = _items()
    columns = {"a": X[:, 0], "b": X[:, 1]}
    found = fc.audit(pa.table(columns | {"w": true, "v": true}), "ill", annotators=["w", "v"])
    assert found.state == "clean"
    assert not found.errors.is_given
    random = {f"w{j}": rng.random(N) < 0.3 for j in range(3)}
    with pytest.raises(FlipCostError, match="The annotators leave no item that is likelier"):
        fc.audit(pa.table(columns | random), "ill", annotators=list(random))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"worker": "who"}, "Give both `worker` and `item`"),
        ({"worker": "who", "item": "none"}, "has no column 'none'"),
        ({"worker": "who", "item": "item", "annotators": ["a", "b"]}, "rows are labels, or items"),
        ({"annotators": ["a"]}, "Give at least two columns as `annotators`"),
        ({"annotators": ["who", "truth"]}, "Column 'ill' is in the table already"),
        ({"worker": "who", "item": "item", "noise_rate": 0.1}, "Give one of `noise_rate`"),
        ({"worker": "who", "item": "item", "prevalence": 0.1}, "it has no effect"),
        ({"worker": "who", "item": "item", "drop": ["a", "b", "truth"]}, "has no columns of the"),
        ({"worker": "same", "item": "item"}, "'me' labels 'c"),
        ({"worker": "gaps", "item": "item"}, "Column 'gaps' must name every row"),
        ({"worker": "who", "item": "item", "time": "row"}, "'row' must be the same in all rows"),
    ],
)
def test_what_cannot_be_is_refused(long, options, said):
    """In one sentence."""
    rows = long.append_column("same", pa.array(["me"] * (3 * N)))
    rows = rows.append_column("row", pa.array(range(3 * N)))
    rows = rows.append_column("gaps", pa.array([None, *["w"] * (3 * N - 1)]))
    with pytest.raises(FlipCostError, match=said) as error:
        fc.audit(rows, "ill", PRICES, **options)
    assert "\n" not in str(error.value)


def test_columns_of_lists_are_refused_by_name(long):
    nested = long.append_column("boxes", pa.array([[0, 1]] * len(long)))
    with pytest.raises(FlipCostError, match="'boxes' holds values of type list"):
        fc.audit(nested, "ill", PRICES, worker="who", item="item")


def test_three_labels_are_refused(long):
    rows = long.drop_columns("ill").append_column("ill", pa.array(["x", "y", "z"] * N))
    with pytest.raises(FlipCostError, match="must hold two classes; it holds 3"):
        fc.audit(rows, "ill", PRICES, worker="who", item="item")


def test_from_the_command_line(long, tmp_path, capsys):
    """The files, a round of checks, and what is refused, which writes nothing."""
    path, out = tmp_path / "t.csv", tmp_path / "out"
    pyarrow.csv.write_csv(long.drop_columns("truth"), path)
    asked = ["audit", str(path), "--target", "ill", "--cost-fn", "4", "--cost-fp", "1"]
    twice = pa.concat_tables([long.slice(0, 1), long])
    pyarrow.csv.write_csv(twice, tmp_path / "twice.csv")
    again = ["audit", str(tmp_path / "twice.csv"), *asked[2:], "--worker", "who", "--item", "item"]
    assert main([*again, "--out", str(out)]) == 2
    assert "Each worker may label an item once" in capsys.readouterr().err
    assert not out.exists()
    asked += ["--worker", "who", "--item", "item"]
    assert main([*asked, "--memory-share", "0", "--out", str(out)]) == 2
    assert "pooled in memory" in capsys.readouterr().err
    assert main([*asked, "--out", str(out)]) == 0
    assert "8 annotators: best" in capsys.readouterr().out
    with (out / "labels.csv").open() as file:
        assert len(list(csv.DictReader(file))) == N
    truth = {i.as_py(): t.as_py() for i, t in zip(long["item"], long["truth"], strict=True)}
    with (out / "recheck.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["checked"] = truth[row["id"]]
    with (out / "recheck.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    checked = ["--checked", str(out / "recheck.csv"), "--out", str(tmp_path / "more"), "--json"]
    assert main([*asked, *checked]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["checked_rows"] == len(rows)
