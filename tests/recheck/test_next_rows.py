"""The rows to check next."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from flipcost import FlipCostClassifier
from flipcost.datasets import make_syn3d
from flipcost.noise import flip_labels
from flipcost.recheck import expected_saving, next_rows

N_ROWS = 900


@pytest.fixture(scope="module")
def table():
    """Rows, noisy labels, right ones and a classifier."""
    data = make_syn3d(N_ROWS, random_state=0)
    noisy = flip_labels(data.target, (0.3, 0.05), random_state=0)
    model = FlipCostClassifier(0.25, features="linear", random_state=0).fit(data.data, noisy)
    return data.data, noisy, data.target, model


def test_rows_are_distinct_and_come_with_a_chance_and_a_reason(table):
    """As many rows as asked, each once, with all that is said of it."""
    X, noisy, _, model = table
    found = next_rows(model, X, noisy, 40)
    assert len(found) == len(set(found.rows.tolist())) == 40
    assert np.all((found.probability > 0) & (found.probability <= 1))
    assert np.all((found.suspicion >= 0) & (found.suspicion <= 1))
    assert len(found.reason) == 40
    assert all(found.reason)
    frame = found.to_frame()
    assert frame["row"].tolist() == found.rows.tolist()


def test_the_same_seed_gives_the_same_rows(table):
    """A draw depends on its seed alone."""
    X, noisy, _, model = table
    first, same, other = (next_rows(model, X, noisy, 20, random_state=k) for k in (0, 0, 1))
    np.testing.assert_array_equal(first.rows, same.rows)
    assert set(first.rows) != set(other.rows)


def test_a_frame_of_numbers_gives_what_its_array_gives(table):
    """Names of columns do not change which rows are asked for."""
    X, noisy, _, _ = table
    model = FlipCostClassifier(0.25, random_state=0)
    tables = (X, pd.DataFrame(X, columns=["a", "b", "c"]))
    asked = [next_rows(model.fit(rows, noisy), rows, noisy, 20).rows for rows in tables]
    np.testing.assert_array_equal(*asked)


def test_checked_rows_are_not_chosen_again(table):
    """What is known is not asked, and the last rows are asked if nothing else is left."""
    X, noisy, clean, model = table
    trusted = clean.astype(float).copy()
    trusted[-7:] = np.nan
    found = next_rows(model, X, noisy, 20, trusted=trusted)
    assert sorted(found.rows) == list(range(N_ROWS - 7, N_ROWS))
    np.testing.assert_allclose(found.probability, 1.0)


def test_a_plain_sample_treats_all_rows_alike(table):
    """With `random`, every row has the same chance and the same reason."""
    X, noisy, _, model = table
    found = next_rows(model, X, noisy, 45, random=True)
    np.testing.assert_allclose(found.probability, 45 / N_ROWS)
    assert set(found.reason) == {"drawn at random"}


def test_the_saving_lies_between_nothing_and_all(table):
    """The saving is never negative, grows with the checks, and is never more than the cost."""
    X, noisy, _, model = table
    savings = [expected_saving(model, X, noisy, n) for n in (1, 10, 100, 800)]
    values = [s.value for s in savings]
    assert values == sorted(values)
    assert all(0 <= s.low <= s.value <= s.high for s in savings)
    assert values[-1] <= model.cost_interval_[1]
    assert next_rows(model, X, noisy, 10).saving == values[1]


def test_labels_of_any_kind_and_either_class_positive(table):
    """Swapping which class is positive, and its cost, changes no row."""
    X, noisy, _, _ = table
    words = np.where(noisy == np.max(noisy), "yes", "no")
    chosen = []
    for positive, cost in (("yes", 0.25), ("no", 0.75)):
        model = FlipCostClassifier(cost, features="linear", pos_label=positive, random_state=0)
        found = next_rows(model.fit(X, words), X, words, 30)
        assert any('"yes"' in reason for reason in found.reason)
        chosen.append(found)
    np.testing.assert_allclose(chosen[0].saving, chosen[1].saving, rtol=0.2)


def test_a_pipeline_and_other_rows_than_those_of_the_fit(table):
    """A pipeline is asked like its last step; rows that were not fitted are scored first."""
    X, noisy, _, _ = table
    model = make_pipeline(StandardScaler(), FlipCostClassifier(0.25, features="linear"))
    model.fit(X, noisy)
    assert len(next_rows(model, X, noisy, 5)) == 5
    assert len(next_rows(model, X[:300], noisy[:300], 5)) == 5


@pytest.mark.parametrize("n", [0, -3, 2.5, True, "ten"])
def test_a_number_of_rows_that_is_none(table, n):
    """`n` is a whole number, at least 1."""
    X, noisy, _, model = table
    with pytest.raises(ValueError, match="`n` must be a whole number of rows, at least 1"):
        next_rows(model, X, noisy, n)


def test_bad_input_is_named(table):
    """What is wrong is said, with its parameter."""
    X, noisy, clean, model = table
    with pytest.raises(NotFittedError):
        next_rows(FlipCostClassifier(), X, noisy)
    with pytest.raises(TypeError, match="`model` must be a FlipCostClassifier"):
        next_rows(LogisticRegression().fit(X, noisy), X, noisy)
    with pytest.raises(ValueError, match="`X` and `y` must have the same number of rows"):
        next_rows(model, X, noisy[:-1])
    with pytest.raises(ValueError, match="none is left to check"):
        next_rows(model, X, noisy, trusted=clean)
    with pytest.raises(ValueError, match="`trusted` must have a value for each"):
        next_rows(model, X, noisy, trusted=clean[:5])
    strange = np.full(N_ROWS, np.nan)
    strange[3] = 7
    with pytest.raises(ValueError, match=r"`trusted` must hold the labels .* in row 3"):
        next_rows(model, X, noisy, trusted=strange)
    with pytest.raises(ValueError, match="`y` must hold the classes"):
        next_rows(model, X, np.arange(N_ROWS) % 3 + 5)


def test_a_frame_of_numbers_is_read_as_it_was_learned():
    """Rows of a frame are spread over its columns, whatever they are called."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["age", "income", "days"])
    labels = rng.random(400) < expit(frame["age"].to_numpy())
    model = FlipCostClassifier(0.3, features="linear", random_state=0).fit(frame, labels)
    named = next_rows(model, frame, labels, 20)
    plain = next_rows(model.fit(frame.to_numpy(), labels), frame.to_numpy(), labels, 20)
    assert named.rows.tolist() == plain.rows.tolist()


def test_savings_are_promised_within_reason(table):
    """Never above the cost, not fewer with more checks, and none where the rate was given."""
    X, labels, _, model = table
    saved = [expected_saving(model, X, labels, n).value for n in (5, 20, 80, 320)]
    assert np.all(np.diff(saved) > -1e-3 * saved[-1])
    assert 0 < saved[0] <= saved[-1] <= model.cost_estimate_
    given = FlipCostClassifier(0.25, noise_rate=0, features="linear", random_state=0)
    assert vars(expected_saving(given.fit(X, labels), X, labels)) == dict.fromkeys(
        ("value", "low", "high"), 0.0
    )
