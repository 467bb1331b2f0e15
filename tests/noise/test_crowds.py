"""`fc.CrowdLabels`: tables of labels in, either way round; one sentence about bad ones."""

import time

import numpy as np
import pandas as pd
import pytest

import flipcost as fc


@pytest.fixture
def drawn():
    """Return the truth, columns, and a long table of words."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    true = rng.random(600) < 1 / (1 + np.exp(2 - 3 * X[:, 0]))
    item = np.repeat(np.arange(600), 3)
    worker = np.concatenate([rng.choice(12, 3, replace=False) for _ in range(600)])
    wrong = rng.random(1800) < np.linspace(0.05, 0.45, 12)[worker]
    label = np.where(true[item] ^ wrong, "yes", "no")
    names = np.array([f"w{k:02d}" for k in range(12)])
    return true, X, pd.DataFrame({"item": item + 100, "worker": names[worker], "label": label})


def test_the_long_and_the_wide_table_are_the_same(drawn):
    """So are the orders of rows; who errs more is told."""
    true, _, long = drawn
    crowd = fc.CrowdLabels.from_long(long["item"], long["worker"], long["label"]).fit()
    wide = long.pivot_table(index="item", columns="worker", values="label", aggfunc="first")
    other = fc.CrowdLabels.from_wide(wide).fit()
    assert np.allclose(crowd.probability_, other.probability_, atol=0.1)
    assert crowd.classes_ == ("no", "yes")
    assert set(crowd.workers_) == set(other.workers_)
    rates = {rates.worker: rates.miss_rate.value for rates in crowd.rates_}
    assert np.corrcoef([rates[w] for w in sorted(rates)], np.linspace(0.05, 0.45, 12))[0, 1] > 0.7
    votes = long["label"].eq("yes").groupby(long["item"]).mean() > 0.5
    assert np.mean((crowd.probability_ > 0.5) == true) > np.mean(votes.to_numpy() == true)


@pytest.mark.slow
def test_columns_tell_more(drawn):
    """What a classifier says of items helps, and in turns with the labels still more."""
    true, X, long = drawn
    given = (long["item"], long["worker"], long["label"])
    alone = fc.CrowdLabels.from_long(*given).fit()
    both = fc.CrowdLabels.from_long(*given).fit(X=X, random_state=0)
    score = [np.mean((crowd.probability_ > 0.5) == true) for crowd in (alone, both)]
    assert score[1] > score[0] + 0.02
    assert both.share_.low < true.mean() < both.share_.high


def test_known_truths_are_kept_and_calibrate(drawn):
    """They stand as they are; with twenty of them probabilities are calibrated."""
    true, _, long = drawn
    words = np.where(true, "yes", "no")
    gold = {k + 100: words[k] for k in range(40)}
    crowd = fc.CrowdLabels.from_long(long["item"], long["worker"], long["label"]).fit(gold)
    assert np.array_equal(crowd.probability_[:40], true[:40])
    assert crowd.is_calibrated_
    few = fc.CrowdLabels.from_wide([["yes", "no"], ["no", "no"]]).fit(["yes", None])
    assert few.probability_[0] == 1
    assert not few.is_calibrated_


def test_doubled_rows_weigh_as_the_items_do(drawn):
    """Each item enters twice, with weights that add up to one."""
    crowd = fc.CrowdLabels.from_long(
        *(drawn[2][name] for name in ("item", "worker", "label"))
    ).fit()
    item, positive, weight = crowd.doubled()
    assert np.allclose(np.bincount(item, weight), 1, atol=1e-5)
    assert weight[positive].sum() == pytest.approx(crowd.probability_.sum(), abs=0.01)


def test_a_crowd_takes_no_time():
    """800 items with ten labels each of 164 annotators: a tenth of a second of one processor."""
    rng = np.random.default_rng(0)
    worker = np.concatenate([rng.choice(164, 10, replace=False) for _ in range(800)])
    item, label = np.repeat(np.arange(800), 10), rng.random(8000) < 0.5
    crowd = fc.CrowdLabels.from_long(item, worker, label)
    took = []
    for _ in range(3):
        started = time.process_time()
        crowd.fit()
        took.append(time.process_time() - started)
    # Ten times what it takes on an idle machine, where others share this one.
    assert min(took) < 1.0


@pytest.mark.parametrize(
    ("item", "worker", "label", "words"),
    [
        ([1, 1, 2], ["a", "a", "b"], [0, 1, 1], "'a' labels 1 2 times"),
        ([1, 1, 2], ["a", "b"], [0, 1, 1], "`worker` must have a value for each"),
        ([1, 1, None], ["a", "b", "c"], [0, 1, 1], "`item` must be known"),
        ([1, 1, 2], ["a", "b", "b"], [1, 1, 1], "two values; got one only"),
        ([1, 1, 2], ["a", "b", "b"], [1, 2, 3], "two values in all"),
    ],
)
def test_bad_labels_are_said_in_a_sentence(item, worker, label, words):
    with pytest.raises(ValueError, match=words):
        fc.CrowdLabels.from_long(item, worker, label)


@pytest.mark.parametrize(
    ("gold", "words"),
    [({7: 1}, "items that have no label"), ([1], "a place for each"), ([3, None], "got also 3")],
)
def test_bad_truths_are_said_in_a_sentence(gold, words):
    with pytest.raises(ValueError, match=words):
        fc.CrowdLabels.from_wide([[0, 1], [1, 1]]).fit(gold)


def test_columns_of_other_items_are_refused():
    with pytest.raises(ValueError, match="a row for each"):
        fc.CrowdLabels.from_wide([[0, 1], [1, 1]]).fit(X=np.zeros((3, 1)))


def test_the_rate_of_one_annotator_is_that_of_repeated_labels(drawn):
    """Of two annotators and of three; whose labels are learned from is asked by name."""
    true = drawn[0]
    labels = {f"a{k}": fc.noise.flip_labels(true, 0.1 * k, k) for k in (1, 2, 3)}
    two = {name: labels[name] for name in ("a1", "a2")}
    crowd = fc.CrowdLabels.from_wide(two)
    assert crowd.noise_rate("a1") == crowd.noise_rate("a2")
    assert crowd.noise_rate("a1") == fc.noise.rate_from_repeats(*two.values())
    crowd = fc.CrowdLabels.from_wide(labels)
    assert crowd.noise_rate("a1") == fc.noise.rate_from_repeats(*labels.values())
    found = crowd.noise_rate("a3")
    assert found.low < 0.3 < found.high
    with pytest.raises(ValueError, match=r"`worker` must be one of 'a1', 'a2', 'a3'; got 7"):
        crowd.noise_rate(7)
