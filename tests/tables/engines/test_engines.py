"""Every engine finds what memory finds: moments, folds, rows, levels, fits."""

import decimal

import numpy as np
import pyarrow as pa
import pytest

from flipcost import (
    ClassMoments,
    FlipCostClassifier,
    UnevenMarginClassifier,
    UnevenMarginClassifierCV,
)
from flipcost.core.folds import engine_folds, engine_hash, hash_folds
from flipcost.core.moments import fold_moments
from flipcost.tables.scan import scan_batches
from tests.tables.conftest import NAMES
from tests.tables.test_routes import assert_same

EXACT = 1e-9


def test_moments_are_those_of_memory(engine, rows):
    """Moments of every fold are those of the rows in memory, weighted or not."""
    folds = engine_folds(rows.id, 3)
    table = rows.arrow()
    for column, weight in ((None, None), ("w", rows.w)):
        found = engine(table, "y", columns=NAMES, fold_by="id", sample_weight=column)
        parts = found.fold_moments(3).oriented("yes").parts
        expected = fold_moments(rows.X, rows.positive, folds, 3, weight)
        for part, wanted in zip(parts, expected, strict=True):
            assert_same(part, wanted, EXACT)
        assert_same(found.moments(), ClassMoments.from_rows(rows.X, rows.positive, weight), EXACT)


def test_the_first_pass_is_one_query_of_all_rows(engine, rows):
    """Two looks at first rows, then one query of all."""
    table = engine(rows.arrow(), "y", columns=NAMES, fold_by="id")
    table.fold_moments(5)
    assert table.n_queries == 3
    assert table.n_bytes < 8 * (10 * (3 + 4 + 10) + 30)


def test_rows_that_are_drawn_are_in_the_folds_of_the_moments(engine, rows):
    """Candidates are compared on rows that they have not seen: folds are those of memory."""
    folds = engine_folds(rows.id, 3)
    names = np.array([f"Zoë-{k}" for k in rows.id])
    data = rows.arrow().append_column("name", pa.array(names))
    for fold_by, weight in (("id", None), ("id", "w"), ("name", None)):
        table = engine(data, "y", columns=NAMES, fold_by=fold_by, sample_weight=weight)
        sample = table.sample(n_folds=3)
        assert sample.X.shape == rows.X.shape
        for k, part in enumerate(table.fold_moments(3).oriented("yes").parts):
            own = sample.folds == k
            drawn = ClassMoments.from_rows(
                sample.X[own], sample.y[own] == "yes", sample.weight[own]
            )
            np.testing.assert_allclose(drawn.mean, part.mean, rtol=EXACT)
            if fold_by == "id":
                assert own.sum() == np.sum(folds == k)


def mixed(n=600, seed=0):
    """Return columns of every kind, with missing values, and the same in numbers."""
    rng = np.random.default_rng(seed)
    price = rng.integers(0, 10_000, n)
    town = np.array(["Lyon", "Nice", "Paris l'Été"])[rng.integers(0, 3, n)]
    some = np.where(rng.random(n) < 0.2, None, rng.normal(size=n))
    empty = np.where(rng.random(n) < 0.1, "", town)
    return pa.table(
        {
            "price": pa.array([decimal.Decimal(int(p)) / 100 for p in price], pa.decimal128(12, 2)),
            "age": pa.array(rng.integers(18, 90, n), pa.int32()),
            "small": pa.array(rng.integers(-3, 3, n), pa.int16()),
            "single": pa.array(rng.normal(size=n).astype(np.float32)),
            "new": pa.array(rng.random(n) < 0.5),
            "some": pa.array(some.tolist(), pa.float64()),
            "town": pa.array(empty.tolist()),
            "kind": pa.array(town.tolist()).dictionary_encode(),
            "id": pa.array(np.arange(n) - 7, pa.int64()),
            "late": pa.array(rng.random(n) < 0.4),
        }
    )


def test_columns_of_every_kind_are_read(engine):
    """Decimals, integers, booleans, missing values and categories are those of memory."""
    table = mixed()
    names = [n for n in table.column_names if n not in ("id", "late")]
    found = engine(table, "late", columns=names, fold_by="id")
    memory = scan_batches([table], "late", names, fold_by="id")
    encoder = found.learn_encoder()
    assert encoder.feature_names == memory.learn_encoder().feature_names
    assert_same(
        found.with_encoder(encoder).moments(), memory.with_encoder(encoder).moments(), EXACT
    )


def test_offsets_do_not_cost_digits(engine):
    """Features at 1e8 keep their scatter to 1e-6, also where the first rows mislead."""
    rng = np.random.default_rng(2)
    n = 4_000
    X = rng.normal(size=(n, 3))
    y = rng.random(n) < 0.5
    X[:, 0] += 1e8
    X[:, 1] += np.where(y, 1e8, -1e8)  # no shift is near both labels
    X[:, 2] += np.where(np.arange(n) < 1_500, 0.0, 1e8)
    order = np.arange(n)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "late": X[:, 2], "y": y, "id": order})
    expected = ClassMoments.from_rows(X - np.round(X.mean(axis=0)), y)
    found = engine(table, "y", columns=["a", "b", "late"]).moments()
    spread = np.sqrt(np.einsum("cii->ci", expected.scatter))
    product = spread[:, :, None] * spread[:, None, :]
    np.testing.assert_allclose(found.scatter / product, expected.scatter / product, atol=1e-6)


def test_folds_are_the_same_in_every_engine(engine):
    """Whole numbers of either sign, large ones and text are hashed to the same folds."""
    rng = np.random.default_rng(3)
    n = 500
    keys = np.concatenate([np.arange(-100, 200), rng.integers(-(2**62), 2**62, 200)])
    names = [f"Zoë-{k}" for k in rng.integers(0, 50, n)]
    import hashlib

    coded = np.array([int(hashlib.md5(t.encode()).hexdigest()[:8], 16) for t in names])
    x, y = rng.normal(size=n), rng.random(n) < 0.5
    table = pa.table({"x": x, "y": y, "key": keys, "name": names})
    # Of these seeds one has a small multiplier, which saves engines a step, and one a large one.
    for fold_by, rule, seed, expected in (
        ("key", "hash", 0, engine_folds(keys, 4, 0)),
        ("key", "hash", 1, engine_folds(keys, 4, 1)),
        ("key", "modulus", 0, engine_folds(keys, 4, rule="modulus")),
        ("name", "hash", 1, engine_folds(coded, 4, 1)),
    ):
        found = engine(
            table, "y", columns=["x"], fold_by=fold_by, fold_rule=rule, fold_seed=seed
        ).fold_moments(4)
        for part, wanted in zip(found.parts, fold_moments(x[:, None], y, expected, 4), strict=True):
            assert_same(part, wanted, EXACT)


def test_the_hash_is_even_and_its_seeds_are_independent():
    """Sequential keys fill folds evenly, next to each other and from seed to seed."""
    keys = np.arange(200_000)
    folds = engine_folds(keys, 5)
    other = engine_folds(keys, 5, seed=1)
    pairs = [(folds, other), (folds[1:], folds[:-1]), (folds, keys % 5), (folds, keys % 7)]
    for a, b in pairs:
        shape = (5, int(b.max()) + 1)
        counts = np.bincount(a * shape[1] + b, minlength=shape[0] * shape[1])
        expected = len(a) / counts.size
        # Chi-square with about 24 to 34 degrees of freedom: far beyond 75 once in 10,000 times.
        assert ((counts - expected) ** 2 / expected).sum() < 75
    assert len(np.unique(engine_hash(keys))) == len(keys)


@pytest.fixture(scope="module")
def noisy():
    """Rows with label noise, and their folds as files put them."""
    from flipcost.datasets import make_syn3d
    from flipcost.noise import flip_labels

    data = make_syn3d(3_000, random_state=0)
    y = flip_labels(data.target, 0.2, random_state=1)
    id_ = np.arange(len(y))
    fold = hash_folds(id_.astype(np.uint64), 5)
    columns = {name: data.data[:, j] for j, name in enumerate("abc")}
    return pa.table({**columns, "y": y, "id": id_, "fold": fold.astype(np.int64)})


def test_the_classifiers_fit_as_from_files(engine, noisy):
    """With the folds of files, every classifier is the one that files give."""
    names = ["a", "b", "c"]
    there = engine(noisy, "y", columns=names, fold_by="fold", fold_rule="modulus")
    here = scan_batches([noisy], "y", names, fold_by="id")
    X = noisy.select(names).to_pandas()[:200]
    for model in (UnevenMarginClassifier(cost=0.3), UnevenMarginClassifierCV(costs=[0.3])):
        found = model.fit_table(there).decision_function(X)
        expected = model.fit_table(here).decision_function(X)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_the_flagship_learns_from_rows_that_are_drawn(engine, noisy):
    """All rows of a small table: the model of memory; some of a larger one: its band holds."""
    names = ["a", "b", "c"]
    table = engine(noisy, "y", columns=names, fold_by="id")
    X, y = noisy.select(names).to_pandas(), noisy["y"].to_numpy()
    model = FlipCostClassifier(cost=0.3, random_state=0).fit_table(table)
    assert list(model.feature_names_in_) == names
    peer = FlipCostClassifier(cost=0.3, random_state=0).fit(X, y)
    assert np.mean(model.predict(X) != peer.predict(X)) < 0.01
    some = FlipCostClassifier(cost=0.3, random_state=0).fit_table(table, sample_rows=1_000)
    assert len(some.sample_.position) == 1_000
    assert some.sample_.weight.sum() == pytest.approx(len(y))
    assert some.wrong_share_.low < 0.2 < some.wrong_share_.high
