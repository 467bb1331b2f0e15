"""On a real cluster of two processes."""

import os
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from flipcost import ClassMoments, FlipCostClassifier
from flipcost.core.folds import hash_folds
from flipcost.core.moments import fold_moments
from flipcost.exceptions import SourceError
from flipcost.tables import dask as cluster_dask
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.rows import Layout
from flipcost.tables.scan import dask_client, scan_dask, scan_parquet
from tests.tables.cluster import local_cluster
from tests.tables.conftest import NAMES, Rows

distributed = pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

D = 5
PARTS = 12
N = 2_000


@pytest.fixture(scope="module")
def client():
    with local_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


def maker(delay=0.0, folder=None, poison=None, error=None):
    """Return a function that makes partition k on a worker."""

    def make(block_info=None):
        k = block_info[None]["chunk-location"][0]
        if folder is not None:
            Path(folder, f"{k}-{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(delay)
        if k == error:
            msg = "the disk of this partition is broken"
            raise OSError(msg)
        rng = np.random.default_rng(k)
        block = rng.normal(size=(N, D)) + 100
        if k == poison:
            block[7, 2] = np.nan
        return block

    return make


def array(**options):
    """Return rows made on the workers, and labels that follow from their positions."""
    X = da.map_blocks(
        maker(**options), chunks=((N,) * PARTS, (D,)), dtype=float, meta=np.empty((0, 0))
    )
    labels = (np.arange(N * PARTS) % 3 == 0).astype(int)
    return X, da.from_array(labels, chunks=N)


@pytest.fixture(scope="module")
def in_memory():
    rows = [np.random.default_rng(k).normal(size=(N, D)) + 100 for k in range(PARTS)]
    return np.concatenate(rows), np.arange(N * PARTS) % 3 == 0


def assert_close(found: ClassMoments, expected: ClassMoments):
    """Moments agree to 1e-9."""
    assert found.n_rows.tolist() == expected.n_rows.tolist()
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-9)
    # Off-diagonal sums may be near zero: their rounding is relative to the diagonal.
    spread = np.sqrt(np.diagonal(expected.scatter, axis1=1, axis2=2))
    size = spread[:, :, None] * spread[:, None, :]
    np.testing.assert_allclose(found.scatter / size, expected.scatter / size, atol=1e-9)


@pytest.mark.slow
def test_an_array_gives_the_moments_of_memory(client, in_memory):
    """A Dask array on two processes gives the moments of all rows."""
    assert_close(scan_dask(*array()).moments(), ClassMoments.from_rows(*in_memory))


def test_a_frame_of_files_gives_the_moments_of_memory(client, tmp_path):
    """A Dask DataFrame of Parquet files gives the moments of all rows, weights and folds too."""
    rows = Rows(3000, seed=3)
    for k in range(6):
        pq.write_table(rows.arrow(slice(k * 500, (k + 1) * 500)), tmp_path / f"{k}.parquet")
    frame = dd.read_parquet(tmp_path)
    found = scan_dask(frame, "y", NAMES, sample_weight="w").moments()
    assert_close(found, ClassMoments.from_rows(rows.X, rows.positive, rows.w))
    folds = hash_folds(rows.id.astype(np.uint64), 3)
    parts = scan_dask(frame, "y", NAMES, fold_by="id").fold_moments(3).oriented().parts
    for part, other in zip(parts, fold_moments(rows.X, rows.positive, folds, 3), strict=True):
        assert_close(part, other)


def test_two_passes_give_the_folds_of_memory(client, in_memory):
    """Fold moments, and the rows on which candidates are compared, are those of memory."""
    X, positive = in_memory
    table = scan_dask(*array())
    labelled = table.fold_moments(4)
    folds = hash_folds(np.arange(len(X), dtype=np.uint64), 4)
    for part, other in zip(labelled.parts, fold_moments(X, positive, folds, 4), strict=True):
        assert_close(part, other)
    sample = table.sample(n_folds=4)
    np.testing.assert_array_equal(sample.X, X)
    np.testing.assert_array_equal(sample.folds, folds)


def test_frames_are_encoded_where_they_are(client):
    """Levels and means learned on the workers give the moments of encoded rows."""
    rows = Rows(1000, seed=5)
    frame = rows.frame().assign(town=np.where(rows.id % 3 == 0, "Lyon", "Nice"))
    frame.loc[::10, "a"] = np.nan
    columns = ["a", "town"]
    table = scan_dask(dd.from_pandas(frame, npartitions=5), "y", columns)
    encoder = table.learn_encoder()
    assert isinstance(encoder, TableEncoder)
    found = table.with_encoder(encoder).moments()
    expected = ClassMoments.from_rows(encoder.transform(frame), rows.positive)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-9)


def test_a_killed_worker_changes_nothing(client, in_memory, tmp_path):
    """A worker killed by SIGKILL in the middle of a pass does not change the result."""
    X, y = array(delay=0.1, folder=str(tmp_path))
    killed = []

    def kill():
        while len(list(tmp_path.iterdir())) < 4:
            time.sleep(0.01)
        victim = int(max(tmp_path.iterdir(), key=lambda p: p.stat().st_mtime_ns).name.split("-")[1])
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    thread = threading.Thread(target=kill)
    thread.start()
    found = scan_dask(X, y).moments()
    thread.join()
    started = [path.name.split("-")[:2] for path in tmp_path.iterdir()]
    assert len({pid for _, pid in started} - {str(killed[0])}) >= 1
    assert len(started) > PARTS  # what the dead worker had was made again
    expected = scan_dask(*array()).moments()
    assert found.scatter.tobytes() == expected.scatter.tobytes()
    assert_close(found, ClassMoments.from_rows(*in_memory))


def test_a_poisoned_partition_is_named(client):
    """A NaN in one partition names the partition and the column."""
    with pytest.raises(SourceError, match=r"partition 7 of 12: column 2 must be finite; got nan"):
        scan_dask(*array(poison=7)).moments()


def test_a_partition_that_cannot_be_made_is_named(client):
    """An error in the task that makes a partition names the partition too."""
    with pytest.raises(SourceError, match=r"partition 5 of 12.*OSError.*disk.*broken"):
        scan_dask(*array(error=5)).moments()


def test_a_third_label_in_a_partition_is_refused(client):
    """Labels that do not fit together are refused, within and across partitions."""
    X, _ = array()
    odd = np.zeros(N * PARTS, int)
    odd[5 * N : 5 * N + 2] = 1, 2
    with pytest.raises(SourceError, match="partition 5 of 12: the target must hold two labels"):
        scan_dask(X, da.from_array(odd, chunks=N)).moments()
    across = np.repeat(np.arange(PARTS) % 3, N)
    with pytest.raises(SourceError, match="two labels; got more"):
        scan_dask(X, da.from_array(across, chunks=N)).moments()


def test_rows_do_not_travel(client):
    """What workers receive from each other is moments, far smaller than the rows."""

    def make(k):
        rng = np.random.default_rng(k)
        frame = pd.DataFrame(rng.normal(size=(N, D)), columns=list("abcde"))
        return frame.assign(y=(frame["a"] > 0).astype(int))

    frame = dd.from_map(make, range(PARTS), meta=make(0))
    client.run(lambda dask_worker: dask_worker.transfer_incoming_log.clear())
    found = scan_dask(frame, "y").fold_moments(1)
    received = client.run(
        lambda dask_worker: sum(entry["total"] for entry in dask_worker.transfer_incoming_log)
    )
    assert found.parts[0].n_rows.sum() == PARTS * N
    assert sum(received.values()) <= PARTS * len(pickle.dumps(found)) < 0.05 * PARTS * N * D * 8


@pytest.mark.slow
def test_rows_stay_when_the_noise_rate_is_unknown(client):
    """`FlipCostClassifier` moves moments, histograms and groups; ten times the rows, no more."""

    def received(n):
        def make(k):
            rng = np.random.default_rng(k)
            frame = pd.DataFrame(rng.normal(size=(n, D)), columns=list("abcde"))
            return frame.assign(y=(frame["a"] + rng.normal(size=n) > 0).astype(int))

        frame = dd.from_map(make, range(PARTS), meta=make(0))
        client.run(lambda dask_worker: dask_worker.transfer_incoming_log.clear())
        model = FlipCostClassifier(cost=0.2).fit(frame[list("abcde")], frame["y"])
        assert model.chosen_ == "rule"
        found = client.run(
            lambda dask_worker: sum(entry["total"] for entry in dask_worker.transfer_incoming_log)
        )
        return sum(found.values())

    few, many = received(10 * N), received(100 * N)
    largest = PARTS * 200_000  # two passes of some 100 kB a partition
    assert max(few, many) <= largest < 0.05 * PARTS * 100 * N * D * 8


def test_the_tree_merges_eight_at_a_time():
    """No task takes more than eight results, and the order of the partitions is kept."""

    class Text(str):
        def merge(self, other):
            return Text(self + other)

    one = cluster_dask.delayed(lambda k: Text(f"{k},"))
    root = cluster_dask._tree([one(k) for k in range(100)])
    assert root.compute(scheduler="synchronous") == "".join(f"{k}," for k in range(100))
    merges = [key for key in dict(root.dask) if str(key).startswith("_merge")]
    assert len(merges) == 13 + 2 + 1


@pytest.fixture
def synchronous():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def test_empty_partitions_are_nothing(synchronous):
    """Partitions without rows are passed over; none with rows is an error."""
    frame = dd.from_pandas(Rows(100).frame(), npartitions=4)
    some = frame[frame["b"] > 1000]
    none = frame[frame["b"] > 1e9]
    assert scan_dask(some, "y", NAMES).moments().n_rows.sum() == len(some)
    with pytest.raises(SourceError, match="must hold rows"):
        scan_dask(none, "y", NAMES).moments()


def test_labels_beside_a_frame(synchronous):
    """A frame of features and a series of labels go together as arrays do."""
    rows = Rows(500)
    frame = dd.from_pandas(rows.frame(), npartitions=3)
    found = scan_dask(frame[NAMES], frame["y"], sample_weight=frame["w"]).fold_moments(1)
    assert found.names == tuple(NAMES)
    expected = ClassMoments.from_rows(rows.X, rows.positive, rows.w)
    np.testing.assert_allclose(found.parts[0].mean, expected.mean, rtol=1e-12)


def test_arrays_of_unknown_lengths(synchronous):
    """Blocks whose lengths Dask does not know are matched block by block, lengths checked."""
    rows = Rows(500)
    frame = dd.from_pandas(rows.frame(), npartitions=3)
    found = scan_dask(frame[NAMES].to_dask_array(), (frame["a"] > 0).to_dask_array()).moments()
    expected = ClassMoments.from_rows(rows.X, rows.X[:, 0] > 0)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)


# Dask's reader calls pandas in a way that recent releases of pandas deprecate.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_files_by_way_of_dask(synchronous, tmp_path, monkeypatch):
    """Paths of Parquet and CSV files are opened on the cluster, only wanted columns read."""
    seen = []
    layout_rows = Layout.rows
    monkeypatch.setattr(
        Layout,
        "rows",
        lambda self, piece: seen.append(piece.frame.schema.names) or layout_rows(self, piece),
    )
    rows = Rows(300)
    expected = ClassMoments.from_rows(rows.X, rows.positive)
    pq.write_table(rows.arrow(), tmp_path / "a.parquet")
    rows.frame().to_csv(tmp_path / "a.csv", index=False)
    for name in ("a.parquet", "a.csv"):
        found = scan_dask(tmp_path / name, "y", NAMES).moments()
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    assert [set(names) for names in seen] == [{*NAMES, "y"}] * 2


def test_files_on_a_cluster_are_numbered_as_here(client, tmp_path):
    """Folds, encoders and samples of Parquet files are those of one process; files are named."""
    whole = Rows(5_000)
    for k in range(3):
        part = whole.arrow(slice(2_000 * k, 2_000 * (k + 1)))
        pq.write_table(part, tmp_path / f"{k}.parquet", row_group_size=300)
    here = scan_parquet(tmp_path, "y", NAMES, sample_weight="w")
    there = scan_dask(tmp_path, "y", NAMES, sample_weight="w")
    assert there.n_parts == 3
    for a, b in zip(there.fold_moments(4).parts, here.fold_moments(4).parts, strict=True):
        assert_close(a, b)
    np.testing.assert_array_equal(there.sample(50).X, here.sample(50).X)
    encoder = here.learn_encoder()
    encoded = there.with_encoder(encoder)
    assert encoded.n_parts == 3
    assert_close(encoded.moments(), here.with_encoder(encoder).moments())
    content = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"1\.parquet' changed"):
        there.moments()
    with pytest.raises(SourceError, match=r"1\.parquet' cannot be read"):
        scan_dask(tmp_path, "y", NAMES)
    broken = whole.frame(slice(0, 100))
    broken.loc[7, "a"] = np.inf
    broken.to_parquet(tmp_path / "0.parquet")
    there = scan_dask([tmp_path / "0.parquet"], "y", NAMES)
    with pytest.raises(SourceError, match=r"0\.parquet': column 'a' must be finite"):
        there.moments()


def test_a_client_for_a_block(client):
    """`dask_client` connects to a scheduler by its address and leaves it running."""
    with dask_client(client.scheduler.address):
        found = scan_dask(*array()).moments()
    assert found.n_rows.sum() == N * PARTS
    assert client.status == "running"


def test_what_does_not_fit_is_refused(synchronous):
    """Lengths, partitions, columns and kinds that do not fit are refused before any work."""
    rows = Rows(100)
    X, y = da.from_array(rows.X, chunks=(30, 4)), da.from_array(rows.y, chunks=50)
    frame = dd.from_pandas(rows.frame(), npartitions=4)
    with pytest.raises(SourceError, match="as many; got 100 and 60"):
        scan_dask(X, y[:60]).moments()
    with pytest.raises(SourceError, match="2 partitions for 4"):
        scan_dask(frame[NAMES], y).moments()
    with pytest.raises(SourceError, match=r"no columns \['zzz'\]"):
        scan_dask(frame, "y", ["a", "zzz"]).moments()
    with pytest.raises(TypeError, match="no named columns"):
        scan_dask(X, "y").moments()
    with pytest.raises(TypeError, match="Dask Array or DataFrame; got ndarray"):
        scan_dask(rows.X, y).moments()
    with pytest.raises(TypeError, match="Dask collections; got ndarray"):
        scan_dask(X, rows.y).moments()
