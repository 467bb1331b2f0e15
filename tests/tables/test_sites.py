"""Incremental and federated: only moments and summaries leave a site."""

import numpy as np
import pandas as pd
import pytest

from flipcost import ClassMoments, UnevenMarginClassifier
from flipcost.tables.encoder import Encoder
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.scan import scan_batches


@pytest.fixture(scope="module")
def sites():
    """Return the tables of three hospitals that differ in size, case mix and wards."""
    rng = np.random.default_rng(0)
    tables = []
    for k, (n, wards) in enumerate([(400, ["A", "B"]), (150, ["B", "C"]), (900, ["A", "C"])]):
        sick = rng.random(n) < 0.2 + 0.1 * k
        age = rng.normal(50 + 5 * sick + k, 12, n)
        age[rng.random(n) < 0.05] = np.nan
        ward = rng.choice(wards, n)
        tables.append(pd.DataFrame({"age": age, "ward": ward, "sick": np.where(sick, "y", "n")}))
    return tables


def test_three_sites_learn_what_one_would(sites, tmp_path):
    """Encoders, then moments, saved by three sites and merged give the classifier of all rows."""
    for k, table in enumerate(sites):
        own = scan_batches([table], "sick").learn_encoder()
        (tmp_path / f"encoder-{k}.json").write_text(own.to_json())

    texts = [path.read_text() for path in sorted(tmp_path.glob("encoder-*.json"))]
    common = TableEncoder.merge_all(map(TableEncoder.from_json, texts))
    (tmp_path / "encoder.json").write_text(common.to_json())

    for k, table in enumerate(sites):
        own = TableEncoder.from_json((tmp_path / "encoder.json").read_text())
        moments = scan_batches([table], "sick", encoder=own, positive="y").moments()
        moments.save(tmp_path / f"moments-{k}.npz")

    paths = sorted(tmp_path.glob("moments-*.npz"))
    merged = ClassMoments.merge_all(ClassMoments.load(path) for path in paths)
    model = UnevenMarginClassifier(cost=0.2, l2=0.01).fit_moments(merged, classes=["n", "y"])

    everyone = pd.concat(sites, ignore_index=True)
    assert {"ward = A", "ward = B", "ward = C"} <= set(common.feature_names)
    rows = common.transform(everyone)
    peer = UnevenMarginClassifier(cost=0.2, l2=0.01).fit(rows, everyone["sick"])
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
    assert (model.predict(rows) == peer.predict(rows)).all()


def learned(sites):
    rows = pd.concat(sites)[["age", "ward"]]
    return TableEncoder(Encoder.learn(rows)).fit(rows)


def test_what_leaves_a_site_does_not_grow_with_its_rows(sites, tmp_path):
    """The file of moments is as large for one patient more or a thousand."""
    encoder = learned(sites)
    sizes = set()
    for k, table in enumerate(sites):
        moments = scan_batches([table], "sick", encoder=encoder, positive="y").moments()
        moments.save(tmp_path / f"{k}.npz")
        sizes.add((tmp_path / f"{k}.npz").stat().st_size)
    assert len(sizes) == 1


def test_days_add_up_in_any_order(sites):
    """Yesterday's moments and today's, and `partial_fit` on both days, give one classifier."""
    encoder = learned(sites)
    days = [scan_batches([t], "sick", encoder=encoder).moments() for t in sites]
    forward, backward = ClassMoments.merge_all(days), ClassMoments.merge_all(days[::-1])
    np.testing.assert_allclose(forward.scatter, backward.scatter, rtol=1e-12, atol=1e-9)
    streamed = UnevenMarginClassifier(cost=0.2)
    for table in sites:
        streamed.partial_fit(encoder.transform(table), table["sick"])
    merged = UnevenMarginClassifier(cost=0.2).fit_moments(forward, classes=["n", "y"])
    np.testing.assert_allclose(streamed.coef_, merged.coef_, rtol=1e-9)
