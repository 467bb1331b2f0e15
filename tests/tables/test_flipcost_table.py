"""FlipCostClassifier from tables: what memory gives, in two passes."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression

from flipcost import FlipCostClassifier
from flipcost.core.calibration import ScoreBins
from flipcost.core.folds import hash_folds
from flipcost.datasets import make_syn3d
from flipcost.estimators.flipcost.sample import Strata
from flipcost.estimators.flipcost.table import bins_of
from flipcost.exceptions import SourceError
from flipcost.noise import NoiseRate, flip_labels
from flipcost.tables.histogram import ScoreHistogram
from flipcost.tables.scan import scan_batches, scan_dask
from tests.tables.cluster import local_cluster
from tests.tables.conftest import NAMES, ROUTES

pytest.importorskip("pyarrow")


def splits(keys, n_folds):
    folds = hash_folds(np.asarray(keys).astype(np.uint64), n_folds)
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_folds)]


def noisy_rows(n, rate=0.25, seed=0):
    data = make_syn3d(n, random_state=seed)
    return data.data, flip_labels(data.target, rate, random_state=seed)


def batched(X, y, size=7_000):
    return scan_batches([(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)])


def assert_same(model, peer, X):
    """Compare all that is found; nothing but rounding lies between."""
    named = pd.DataFrame(X, columns=NAMES) if hasattr(model, "feature_names_in_") else X
    np.testing.assert_allclose(model.predict_proba(named), peer.predict_proba(X), atol=1e-8)
    assert (model.predict(named) == peer.predict(X)).all()
    for name in ("noise_rate_", "noise_rate_interval_", "cost_estimate_", "cost_interval_"):
        np.testing.assert_allclose(getattr(model, name), getattr(peer, name), atol=1e-8)
    for name, interval in peer.constant_costs_.items():
        found = model.constant_costs_[name]
        np.testing.assert_allclose(
            [found.value, found.low, found.high],
            [interval.value, interval.low, interval.high],
            atol=1e-8,
        )
    np.testing.assert_allclose(model.oof_probability_, peer.oof_probability_, atol=1e-8)
    assert model.chosen_ == peer.chosen_
    assert model.classes_.tolist() == peer.classes_.tolist()


@pytest.fixture(scope="module")
def memory(rows):
    """Return what `fit` gives for the rows of all routes, folds by position and by identifier."""
    found = {}
    for name, keys in (("position", np.arange(len(rows.y))), ("id", rows.id)):
        model = FlipCostClassifier(cost=0.3, features="splines", cv=splits(keys, 5))
        # Rows that a column puts into folds are groups, of which several count for fewer rows.
        grouped = name == "id"
        found[name] = model.fit(
            rows.X, rows.y, None if grouped else rows.w, groups=keys if grouped else None
        )
    return found


def test_every_route_gives_what_memory_gives(route, rows, memory):
    """A table that the sample covers gives the model of `fit` on the same folds, by any route.

    Groups with weights are left out: weights of drawn rows also say how many rows these stand for,
    and what groups count for is then the same to some percent only.
    """
    by, options = "position", {"sample_weight": "w"}
    if route.name == "dask_frame":
        by, options = "id", {"fold_by": "id"}
    model = FlipCostClassifier(cost=0.3).fit_table(route(**options), sample_rows=10_000)
    assert_same(model, memory[by], rows.X)


@pytest.mark.parametrize(
    "options",
    [
        {"features": "linear", "cost": 0.2},
        {"pos_label": "no", "cost": 0.7},
        {"noise_rate": 0.1},
        {"noise_rate": NoiseRate(0.1, 0.05, 0.15, "a guess")},
        {"noise_rate": "minimax"},
        {"noise_rate": "likelihood"},
        {"noise_rate": "range"},
        {"noise_model": "class_conditional", "level": 0.8},
    ],
    ids=str,
)
def test_every_option_gives_what_memory_gives(options, rows, tmp_path):
    """Options mean the same on a table; only where there are no weights for "range" to ignore."""
    table = ROUTES["parquet_file"](rows, tmp_path, columns=NAMES)
    model = FlipCostClassifier(**options, cv=4).fit_table(table)
    peer = FlipCostClassifier(
        **{"features": "splines"} | options, cv=splits(np.arange(len(rows.y)), 4)
    )
    assert_same(model, peer.fit(rows.X, rows.y), rows.X)
    assert model.value_of_rate_ == pytest.approx(peer.value_of_rate_, abs=1e-9)
    assert model.feature_names_in_.tolist() == NAMES


def test_more_rows_than_the_sample_agree_with_memory():
    """Rate and linear rule come from all rows, to rounding; the rule's cost is sampled.

    The part of the sampling error that the interval does not share with memory's is what makes it
    wider; four of these standard errors are allowed.
    """
    X, y = noisy_rows(60_000)
    # With the rate given, intervals are for sampling alone.
    options = {"cost": 0.2, "features": "linear", "noise_rate": 0.2}
    model = FlipCostClassifier(**options).fit_table(batched(X, y))
    peer = FlipCostClassifier(**options, cv=splits(np.arange(60_000), 5))
    peer.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)
    assert model.noise_rate_ == pytest.approx(peer.noise_rate_, abs=1e-8)
    for name, interval in peer.constant_costs_.items():
        assert model.constant_costs_[name].value == pytest.approx(interval.value, abs=1e-8)
        assert model.constant_costs_[name].high == pytest.approx(interval.high, abs=1e-8)
    ours, theirs = (m.rule_cost_.high - m.rule_cost_.low for m in (model, peer))
    assert theirs < ours < 1.5 * theirs
    error = np.sqrt(ours**2 - theirs**2) / (2 * 1.96)
    assert abs(model.rule_cost_.value - peer.rule_cost_.value) < 4 * error


def test_other_folds_make_little_difference():
    """With folds drawn at random, the rate moves by less than a quarter of its interval.

    Penalties that fit alike share the pool differently from one draw of folds to another, in
    memory too; the mean probability of a row hardly moves.
    """
    X, y = noisy_rows(60_000)
    model = FlipCostClassifier(cost=0.2, features="linear").fit_table(batched(X, y))
    peer = FlipCostClassifier(cost=0.2, features="linear", random_state=0).fit(X, y)
    for ours, theirs, (low, high) in zip(
        model.noise_rate_, peer.noise_rate_, model.noise_rate_interval_, strict=True
    ):
        assert abs(ours - theirs) < (high - low) / 4
    assert np.abs(model.predict_proba(X) - peer.predict_proba(X)).mean() < 0.02


def test_bends_are_learned_from_the_sample():
    """Where no linear score tells anything, the table's rule costs what memory's does.

    The allowance is a tenth of what memory saves on the better constant.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 3))
    clean = rng.random(50_000) < 1 / (1 + np.exp(-4 * (np.abs(X[:, 0]) - 0.8)))
    noisy = flip_labels(clean.astype(int), 0.2, random_state=0)
    train, test = slice(0, 40_000), slice(40_000, None)
    model = FlipCostClassifier(cost=0.3).fit_table(batched(X[train], noisy[train]))
    peer = FlipCostClassifier(cost=0.3, features="splines", random_state=0).fit(
        X[train], noisy[train]
    )

    def cost(calls):
        return np.mean(np.where(clean[test], 0.7, 0.3) * (calls != clean[test]))

    ours, memory = (cost(m.predict(X[test]) == 1) for m in (model, peer))
    constant = min(cost(np.zeros(10_000, bool)), cost(np.ones(10_000, bool)))
    assert memory < 0.8 * constant
    assert ours < memory + 0.1 * (constant - memory)
    linear = FlipCostClassifier(cost=0.3, features="linear").fit_table(
        batched(X[train], noisy[train])
    )
    assert cost(linear.predict(X[test]) == 1) > ours


def test_the_sample_stands_for_the_table():
    """A rare label is drawn whole, weights add up to all rows, and no fold is left out."""
    rng = np.random.default_rng(1)
    y = (rng.random(50_000) < 0.02).astype(int)
    X = rng.normal(size=(50_000, 2)) + 2 * y[:, None]
    model = FlipCostClassifier(cost=0.1, cv=4).fit_table(batched(X, y))
    sample = model.sample_
    assert sample.positive.sum() == y.sum()
    assert (~sample.positive).sum() == 10_000
    assert (y[sample.position] == sample.positive).all()
    assert (np.diff(sample.position) > 0).all()
    np.testing.assert_allclose(sample.weight[sample.positive], 1.0)
    assert sample.weight.sum() == pytest.approx(50_000)
    folds = np.bincount(hash_folds(sample.position.astype(np.uint64), 4), minlength=4)
    share = folds / folds.sum()
    assert np.abs(share - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / folds.sum())
    assert model.oof_probability_.shape == sample.position.shape


def test_the_sample_does_not_depend_on_the_batches():
    """Any chunking of the rows draws the same ones and gives the same model to rounding."""
    X, y = noisy_rows(30_000)
    a, b = (FlipCostClassifier().fit_table(batched(X, y, size)) for size in (30_000, 4_321))
    assert (a.sample_.position == b.sample_.position).all()
    np.testing.assert_allclose(a.oof_probability_, b.oof_probability_, atol=1e-8)


def test_strata_estimate_without_bias_and_own_up_to_their_error():
    """Over draws, the mean is right, and the variance is at most what is claimed.

    Within four standard errors: of the mean, and of a variance from 300 draws. The claim counts
    half a row more than was seen in each range, so it is generous where ranges are pure.
    """
    rng = np.random.default_rng(0)
    n, drawn, draws = 20_000, 1_000, 300
    score = rng.normal(size=n)
    bins = np.clip((score + 4) * 8, 0, 63).astype(int)
    called = score + 0.1 * rng.normal(size=n) > 0.3
    full = np.bincount(bins, minlength=64).astype(float)
    found, claimed = [], []
    for _ in range(draws):
        rows = rng.choice(n, drawn, replace=False)
        strata = Strata.of(bins[rows], np.ones(drawn), full, full)
        found.append(strata.drawn @ called[rows])
        share = strata.drawn @ called[rows]
        claimed.append((strata.call_squares(called[rows])[1] - share) / 2)
        assert strata.drawn.sum() == pytest.approx(n)
    error = np.std(found, ddof=1)
    # A ratio estimate is biased by its variance over its value: a hundredth of a row here.
    assert abs(np.mean(found) - called.sum()) < 4 * error / np.sqrt(draws) + 1
    assert error**2 < np.mean(claimed) * (1 + 4 * np.sqrt(2 / draws))
    plain = np.sqrt(n**2 * called.mean() * (1 - called.mean()) / drawn)
    assert np.sqrt(np.mean(claimed)) < 0.6 * plain


def test_strata_of_all_rows_add_nothing():
    """When every row was drawn, squares are the counts of the cells and weights stay."""
    rng = np.random.default_rng(0)
    bins, called = rng.integers(5, 40, 500), rng.random(500) < 0.4
    full = np.bincount(bins, minlength=64).astype(float)
    strata = Strata.of(bins, np.ones(500), full, full)
    np.testing.assert_allclose(strata.drawn, 1.0)
    np.testing.assert_allclose(strata.call_squares(called), [(~called).sum(), called.sum()])


def test_bins_of_a_histogram_are_those_of_the_scores():
    """Bins from a histogram within four deviations are `ScoreBins` of the same scores."""
    rng = np.random.default_rng(0)
    X, positive, weight = rng.normal(size=(800, 1)), rng.random(800) < 0.4, rng.random(800)
    path = np.array([[[2.0, 1.0]]])
    expected = ScoreBins.from_scores(2 * X[:, 0] + 1, positive, weight)
    low, high = (expected.location + side * 4 * expected.scale for side in (-1, 1))
    histogram = ScoreHistogram.from_rows(
        X, positive, path, low, high, 64, np.zeros(800, int), weight
    )
    (found,) = bins_of(histogram)
    for name in ("location", "scale", "centre", "positive", "negative"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)


def test_two_passes(rows):
    """The rows are read twice, bends or not."""
    for features in ("auto", "linear"):
        passes = []

        def batches(passes=passes):
            passes.append(1)
            return [(rows.X, rows.y)]

        FlipCostClassifier(features=features).fit_table(scan_batches(batches))
        assert len(passes) == 2


def test_a_fitted_model_goes_on_as_any_other(rows):
    """It is pickled, sums itself up, and forgets the sample when fitted to rows in memory."""
    model = FlipCostClassifier(cost=0.3, cv=3).fit_table(batched(rows.X, rows.y, 400))
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(rows.X) == model.predict(rows.X)).all()
    assert model.summary().startswith("FlipCostClassifier on 997 rows, 4 features")
    assert not hasattr(model.fit(rows.X, rows.y), "sample_")


@pytest.mark.parametrize("rate", ["integrate", "range", "minimax", 0.25])
def test_without_drawn_rows_the_rule_is_that_of_memory(rate):
    """Groups of all rows give the linear rule to rounding, and its cost but for one group.

    The group on the threshold is called whole or not at all. Its rows cost the same either way on
    average, there; what is left is their own sampling error, four of which are allowed.
    """
    X, y = noisy_rows(60_000)
    options = {"cost": 0.2, "features": "linear", "noise_rate": rate}
    model = FlipCostClassifier(**options).fit_table(batched(X, y), sample_rows=0)
    peer = FlipCostClassifier(**options, cv=splits(np.arange(60_000), 5)).fit(X, y)
    atol = 1e-8 if rate in ("integrate", 0.25) else 2e-3
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=atol)
    assert model.chosen_ == peer.chosen_
    assert model.sample_.position is None
    assert model.sample_.weight.sum() == pytest.approx(60_000)
    for name, memory in peer.constant_costs_.items():
        ours = model.constant_costs_[name]
        np.testing.assert_allclose(
            [ours.value, ours.low, ours.high], [memory.value, memory.low, memory.high], atol=atol
        )
    error = 0.8 * np.sqrt(model.sample_.weight.max()) / 60_000 / (1 - 2 * 0.25)
    for end in ("value", "low", "high"):
        assert abs(getattr(model.rule_cost_, end) - getattr(peer.rule_cost_, end)) < 4 * error
    assert model.value_of_rate_ == pytest.approx(peer.value_of_rate_, abs=2e-4)


def test_what_a_part_sends_does_not_grow_with_its_rows():
    """Without drawn rows a part gives moments, bins and groups; with them, no more than its share.

    Of 16 parts, each may send a quarter of the rows that are wanted of each label.
    """
    from flipcost.estimators.flipcost.drawing import plan_drawing
    from flipcost.estimators.flipcost.first_pass import FirstPass
    from flipcost.tables.rows import Layout, Piece

    class Sixteen:
        n_parts = 16

    X, y = noisy_rows(60_000)

    def sent(n, drawing):
        return FirstPass(Layout(), 5, drawing)(Piece("part", 0, arrays=(X[:n], y[:n], None)))

    assert plan_drawing(Sixteen, None, frames=False) is None
    sizes = [len(pickle.dumps(sent(n, None))) for n in (1_000, 60_000)]
    assert abs(sizes[1] - sizes[0]) < 100
    drawing = plan_drawing(Sixteen, 10_000, frames=False)
    pass_one = FirstPass(Layout(), 5, drawing)
    samples = pass_one.packed(sent(60_000, drawing)).samples
    assert [len(part.keys) for part in samples.values()] == [2_500, 2_500]


def test_rows_drawn_by_their_share_are_a_uniform_sample():
    """Parts that send their share give the rows with the smallest hashes, if fewer of them.

    Parts of equal size give all that were wanted; one part with half of all rows halves them.
    """
    from flipcost.core.folds import hash_keys
    from flipcost.tables.sample import RowSample

    n = 64_000
    keys = hash_keys(np.arange(n, dtype=np.uint64))
    X, y = np.arange(n, dtype=float)[:, None], np.zeros(n)

    def drawn(edges):
        total = None
        for a, b in itertools.pairwise(edges):
            part = RowSample.of(4_000, keys[a:b], X[a:b], y[a:b]).trimmed(1_000)
            total = part if total is None else total.merge(part)
        smallest = np.argsort(keys)[: len(total.keys)]
        assert (np.sort(total.X.ravel()) == np.sort(smallest)).all()
        return len(total.keys)

    assert drawn(np.linspace(0, n, 17).astype(int)) == 4_000
    assert 1_500 < drawn([0, *np.linspace(n // 2, n, 16).astype(int)]) < 2_500


def test_watched_rows_are_those_with_the_most_surprising_scores():
    """The second pass keeps rows whose score speaks most against their label, by any batches."""
    from flipcost.estimators.flipcost import gather

    X, y = noisy_rows(20_000)
    for size in (20_000, 1_234):
        table = batched(X, y, size)
        model = FlipCostClassifier(cost=0.2)
        fit = model.fit_gathered(table, gather(model, table, 20_000), n_watched=300)
        found = fit.probability(fit.watched)
        peer = FlipCostClassifier(
            cost=0.2, features="splines", cv=splits(np.arange(20_000), 5)
        ).fit(X, y)
        np.testing.assert_allclose(
            found, peer.oof_probability_[fit.watched.sample.position], atol=1e-3
        )
        for label in (False, True):
            mine = fit.watched.sample.position[fit.watched.sample.positive == label]
            chance = np.where(y == peer.classes_[int(label)], peer.oof_probability_, np.nan)
            order = np.argsort(chance if label else -chance)[:50]
            # One score leads, others pool with it: the order is nearly that of the pool.
            assert len(set(mine) & set(order)) >= 45


def test_dask_collections_can_be_fitted(rows):
    """`fit` takes Dask arrays and gives what memory gives with linear scores on the same folds."""
    dask = pytest.importorskip("dask")
    import dask.array as da

    X, y = da.from_array(rows.X, chunks=(200, 4)), da.from_array(rows.y, chunks=100)
    with dask.config.set(scheduler="synchronous"):
        model = FlipCostClassifier(cost=0.3).fit(X, y)
    peer = FlipCostClassifier(cost=0.3, features="linear", cv=splits(np.arange(len(rows.y)), 5))
    peer.fit(rows.X, rows.y)
    np.testing.assert_allclose(model.predict_proba(rows.X), peer.predict_proba(rows.X), atol=1e-8)
    np.testing.assert_allclose(model.noise_rate_interval_, peer.noise_rate_interval_, atol=1e-8)
    assert model.chosen_ == peer.chosen_


@pytest.mark.slow
def test_on_a_cluster(rows):
    """Tasks and results travel between real processes, and the model is that of one process."""
    distributed = pytest.importorskip("distributed")
    import dask.dataframe as dd

    table = scan_dask(
        dd.from_pandas(rows.frame(), npartitions=6, sort=False), "y", NAMES, fold_by="id"
    )
    with local_cluster() as cluster, distributed.Client(cluster):
        model = FlipCostClassifier(cost=0.3).fit_table(table, sample_rows=10_000)
    peer = FlipCostClassifier(cost=0.3, features="splines", cv=splits(rows.id, 5))
    # Rows of one fold by a key are rows of one group.
    assert_same(model, peer.fit(rows.X, rows.y, groups=rows.id), rows.X)


def test_what_cannot_be_fitted_is_refused(rows):
    """Other scorers, splitters, arrays, one label and rows that are not finite are refused."""
    table = batched(rows.X, rows.y, 300)
    with pytest.raises(TypeError, match="scan functions; got ndarray"):
        FlipCostClassifier().fit_table(rows.X)
    for options in ({"estimator": LogisticRegression()}, {"features": Nystroem()}):
        with pytest.raises(ValueError, match="only closed-form scores"):
            FlipCostClassifier(**options).fit_table(table)
    for cv in (1, splits(rows.id, 2)):
        with pytest.raises(ValueError, match="number of folds, at least 2"):
            FlipCostClassifier(cv=cv).fit_table(table)
    with pytest.raises(ValueError, match=r"`level` must lie in"):
        FlipCostClassifier(level=1.5).fit_table(table)
    with pytest.raises(ValueError, match="two labels"):
        FlipCostClassifier().fit_table(scan_batches([(rows.X, np.zeros(len(rows.X)))]))
    with pytest.raises(SourceError, match="must hold rows"):
        FlipCostClassifier().fit_table(scan_batches([(rows.X[:0], rows.y[:0])]))
    X = rows.X.copy()
    X[650, 2] = np.nan
    with pytest.raises(SourceError, match=r"batch 2: column 2 .* row 650 of the source"):
        FlipCostClassifier().fit_table(batched(X, rows.y, 300))


def test_rows_that_change_between_the_passes_are_refused(rows):
    """A value that is not finite in the second pass only is not counted in silence."""
    X = rows.X.copy()

    def batches():
        yield X, rows.y
        X[5, 1] = np.inf

    with pytest.raises(SourceError, match="column 1 must be finite"):
        FlipCostClassifier().fit_table(scan_batches(batches))
