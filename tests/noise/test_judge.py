"""`fc.judge` and `fc.judge_difference`: labels of any kind in, one sentence about bad ones."""

import numpy as np
import pytest

import flipcost as fc


@pytest.fixture
def judged():
    """Return labels of a judge and of people, as words."""
    rng = np.random.default_rng(0)
    true = rng.random(800) < 0.3
    said = true ^ (rng.random(800) < 0.15)
    words = np.array(["no", "yes"], dtype=object)
    return words[said.astype(int)], np.where(rng.random(800) < 0.25, words[true.astype(int)], None)


def test_labels_may_be_turned_round(judged):
    """With the other label as the positive one shares mirror, and misses become false alarms."""
    found, mirror = (fc.judge(*judged, pos_label=label) for label in ("yes", "no"))
    assert found.share_.value == pytest.approx(1 - mirror.share_.value, abs=0.005)
    assert found.miss_rate_.high == pytest.approx(mirror.false_alarm_rate_.high, abs=0.01)
    assert (
        found.confusion_.sum() == mirror.confusion_.sum() == sum(x is not None for x in judged[1])
    )


def test_equal_chances_are_no_chances(judged):
    """Rows that were all chosen with the same probability count as chosen at random."""
    assert fc.judge(*judged, inclusion=np.full(800, 0.25)).share_ == fc.judge(*judged).share_


def test_the_next_rows_have_no_label_yet_and_help(judged):
    """They are new, the fewer among the more within a label, and narrow the interval."""
    labels, human = judged
    found = fc.judge(labels, human, confidence=np.linspace(0.5, 1, 800))
    rows = found.next_rows(200)
    assert len(set(rows.tolist())) == 200
    assert all(human[row] is None for row in rows)
    more = human.copy()
    more[rows] = labels[rows]
    wide, slim = found.share_, fc.judge(labels, more, confidence=np.linspace(0.5, 1, 800)).share_
    assert slim.high - slim.low < wide.high - wide.low
    assert len(found.next_rows(10_000)) == sum(x is None for x in human)


def test_a_system_is_no_better_than_itself(judged):
    """The difference of a system to itself is about nought, and turns with the order."""
    labels, human = judged
    same = fc.judge_difference(labels, labels, human, human)
    assert same.low < 0 < same.high
    other = labels[::-1]
    there = fc.judge_difference(labels, other, human, human)
    back = fc.judge_difference(other, labels, human, human)
    assert there.value == pytest.approx(-back.value, abs=0.02)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"human": [None] * 800}, "none has"),
        ({"labels": ["yes", None] * 400}, "a label in every row"),
        ({"labels": ["yes", "no", "maybe", "no"] * 200}, "two values"),
        ({"confidence": np.full(800, np.nan)}, "`confidence` must hold a finite number"),
        ({"confidence": ["high"] * 800}, "must hold numbers"),
        ({"inclusion": np.zeros(800)}, "`inclusion` must lie above 0"),
        ({"level": 1.5}, "level"),
    ],
)
def test_what_cannot_be_judged_is_said_in_a_sentence(judged, change, words):
    given = dict(zip(("labels", "human"), judged, strict=True)) | change
    with pytest.raises(ValueError, match=words):
        fc.judge(**given)
