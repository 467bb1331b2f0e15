"""Intervals about a judge: they cover where rows were chosen as is said, however few are rare."""

import numpy as np
import pytest

from flipcost.core.annotators import count_judged, difference_interval, judge_strata

N, DRAWS = 3000, 150


def draw(rng, share, miss, alarm):
    """Draw true labels, the judge's, and its confidence, which is low where it errs."""
    true = rng.random(N) < share
    doubt = rng.random(N)
    wrong = rng.random(N) < np.minimum(2 * doubt * np.where(true, miss, alarm), 1)
    return true, true ^ wrong, 1 - doubt / 2


def chances(design, said, confidence, n_human):
    """Return the probability with which each row is looked at."""
    if design == "random":
        weight = np.ones(N)
    elif design == "label":
        weight = np.where(said, 1 / said.sum(), 1 / (~said).sum())
    else:
        weight = 1.25 - confidence
    return np.minimum(n_human * weight / weight.sum(), 1)


@pytest.mark.parametrize("design", ["random", "label", "confidence"])
@pytest.mark.parametrize(("share", "miss", "alarm"), [(0.03, 0.3, 0.05), (0.6, 0.1, 0.3)])
def test_intervals_cover(design, share, miss, alarm):
    """The share and both rates of the judge are covered, with probabilities of choice given."""
    rng = np.random.default_rng(1)
    inside = np.zeros(3)
    for _ in range(DRAWS):
        true, said, confidence = draw(rng, share, miss, alarm)
        chance = chances(design, said, confidence, 150)
        human = np.where(rng.random(N) < chance, true, np.nan)
        strata, says = judge_strata(said, None, 150)
        found = count_judged(strata, says, human, chance).intervals(0.95)
        inside += [x.low <= t <= x.high for x, t in zip(found, (share, miss, alarm), strict=True)]
    # Of 150 draws at 0.95 fewer than 0.89 cover once in a thousand times.
    assert np.all(inside / DRAWS >= 0.89), inside / DRAWS


def test_bands_of_confidence_correct_for_who_was_looked_at():
    """Without probabilities, a judge whose doubtful rows were looked at is not taken for worse."""
    rng = np.random.default_rng(2)
    inside = {True: 0.0, False: 0.0}
    for _ in range(DRAWS):
        true, said, confidence = draw(rng, 0.4, 0.3, 0.3)
        chance = chances("confidence", said, confidence, 400)
        human = np.where(rng.random(N) < chance, true, np.nan)
        for banded in inside:
            strata, says = judge_strata(said, confidence if banded else None, 400)
            _, miss, _ = count_judged(strata, says, human, None).intervals(0.95)
            inside[banded] += (miss.low <= 0.3 <= miss.high) / DRAWS
    assert inside[True] >= 0.85 > inside[False] + 0.2


@pytest.mark.parametrize("fault", [0.0, 0.3])
def test_a_difference_is_covered(fault):
    """Two systems that a judge sees alike, or one of which it is too kind to."""
    rng = np.random.default_rng(3)
    inside = 0.0
    for _ in range(DRAWS):
        first = rng.random(N) < 0.5
        second = np.where(rng.random(N) < 0.8, first, rng.random(N) < 0.8)
        said = [first ^ (rng.random(N) < 0.1), second | (rng.random(N) < fault)]
        judged = said[1].astype(int) - said[0].astype(int)
        human = second.astype(int) - first.astype(int)
        found = difference_interval(judged, human, rng.random(N) < 0.05, 0.95)
        inside += (found.low <= 0.06 <= found.high) / DRAWS
    assert inside >= 0.89


def test_a_judge_that_was_never_seen_to_err_may_be_perfect():
    """Where no error was seen, rates of nought are inside, and shares of nought and one."""
    said = np.arange(400) % 4 == 0
    human = np.where(np.arange(400) < 200, said, np.nan).astype(float)
    strata, says = judge_strata(said, None, 200)
    share, miss, alarm = count_judged(strata, says, human, None).intervals(0.95)
    assert miss.low == alarm.low == 0 < alarm.high < miss.high < 0.1
    assert share.low < 0.25 < share.high
    human = np.where(np.isnan(human), np.nan, 0.0)
    none = count_judged(strata, says, human, None).intervals(0.95)[0]
    assert none.low == 0 < none.value < none.high < 0.05


def test_the_next_rows_are_those_of_the_label_that_is_least_known():
    """Rows go where they narrow the share most, and only as many as there are."""
    said = np.arange(1000) < 900
    human = np.full(1000, np.nan)
    human[::20] = np.arange(50) % 2
    counts = count_judged(*judge_strata(said, None, 50), human, None)
    # With answers as uncertain in both, by their numbers of rows: 15 and 135 in the end.
    assert np.abs(counts.next_strata(100, np.array([95, 855])) - [10, 90]).max() <= 2
    assert counts.next_strata(100, np.array([95, 30])).tolist() == [70, 30]
