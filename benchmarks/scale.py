"""More rows than memory: time, peak memory and cost reached, against reading alone and peers.

Rows are made on the spot in a temporary folder: ten Parquet files of 20 float32 features with
pyarrow's default encoding and compression, row groups of a million rows, labels of which a fifth
are wrong. Each measurement is a process of its own, whose peak resident memory is what the system
reports for it; files have been read once before (they are in the page cache if it is large enough).
Times are best of several, taken in turns; processor seconds are given too, because they do not
depend on what else the machine is doing.

Run as ``python -m benchmarks.scale [--rows 100_000_000]``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.timing import verdict

N_FEATURES = 20
COST = 0.2
NOISE_RATE = 0.2
GROUP_ROWS = 1_000_000
N_FILES = 10
NAMES = [f"x{j}" for j in range(N_FEATURES)]


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features of shape (20, n), clean labels and noisy ones."""
    rng = np.random.default_rng(seed)
    clean = rng.random(n) < 0.3
    X = rng.standard_normal((N_FEATURES, n), dtype=np.float32)
    X[:5] += np.float32(0.5) * clean
    return X, clean, clean ^ (rng.random(n) < NOISE_RATE)


def write_files(folder: Path, n_rows: int) -> None:
    """Write ten files of noisy rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.float32()) for name in NAMES] + [("y", pa.int8())])
    each = n_rows // N_FILES
    for k in range(N_FILES):
        with pq.ParquetWriter(folder / f"part-{k}.parquet", schema) as writer:
            for start in range(0, each, GROUP_ROWS):
                n = min(GROUP_ROWS, each - start)
                X, _, noisy = draw(n, k * each + start)
                rows = pa.table([*X, noisy.astype(np.int8)], schema=schema)
                writer.write_table(rows, row_group_size=GROUP_ROWS)


def cost_on_clean_rows(weights: np.ndarray, bias: float) -> float:
    """Return the mean cost of a linear classifier on a million new rows with clean labels."""
    X, clean, _ = draw(1_000_000, 2**40)
    flagged = weights @ X + bias > 0
    return float(np.where(clean, (1 - COST) * ~flagged, COST * flagged).mean())


class Gauge:
    """Time, processor time and peak memory of the work, without imports and scoring."""

    def __enter__(self) -> Gauge:
        self._times, self._started = os.times(), perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self.seconds = perf_counter() - self._started
        times = os.times()
        self.processor = times.user + times.system - self._times.user - self._times.system
        unit = 1 if sys.platform == "darwin" else 1024
        self.rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def scan_and_sum(paths: list[str], gauge: Gauge) -> None:
    """Read all columns by pyarrow's scanner and add each up."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    with gauge:
        for batch in ds.dataset(paths).scanner(columns=[*NAMES, "y"]).to_batches():
            for column in batch.columns:
                pc.sum(column)


def fit_closed_form(paths: list[str], gauge: Gauge, n_threads: int | None = None) -> float:
    """Fit from the files in one pass, the noise rate known."""
    from flipcost import UnevenMarginClassifier
    from flipcost.tables.scan import scan_parquet

    model = UnevenMarginClassifier(cost=COST, l2=1e-3, noise_rate=NOISE_RATE)
    with gauge:
        model.fit_table(scan_parquet(paths, "y", NAMES, n_threads=n_threads))
    return cost_on_clean_rows(model.coef_[0], model.intercept_[0])


def search_closed_form(paths: list[str], gauge: Gauge) -> float:
    """Search 12 margins and 4 penalties in 5 folds, in two passes."""
    from flipcost import UnevenMarginClassifierCV
    from flipcost.tables.scan import scan_parquet

    search = UnevenMarginClassifierCV(
        costs=COST,
        margins=[0.25 + 0.25 * k for k in range(12)],
        l2s=[1e-4, 1e-3, 1e-2, 1e-1],
        noise_rates=NOISE_RATE,
        scoring="cost",
        denoised=True,
    )
    with gauge:
        search.fit_table(scan_parquet(paths, "y", NAMES))
    return cost_on_clean_rows(search.coef_[0], search.intercept_[0])


def fit_dask(paths: list[str], gauge: Gauge, n_workers: int, *, frame: bool = False) -> float:
    """Fit on a local cluster of processes, which read the files as we do or by Dask's frames."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from flipcost import UnevenMarginClassifier
    from flipcost.tables.scan import scan_dask

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(importlib.import_module, "flipcost.scale")
        source = dd.read_parquet(paths, split_row_groups=True) if frame else paths
        model = UnevenMarginClassifier(cost=COST, l2=1e-3, noise_rate=NOISE_RATE)
        with gauge:
            model.fit_table(scan_dask(source, "y", NAMES))
    return cost_on_clean_rows(model.coef_[0], model.intercept_[0])


def search_rate(paths: list[str], gauge: Gauge) -> float:
    """Fit the classifier that is not given the rate, linear and bent scores, in two passes."""
    from flipcost import FlipCostClassifier
    from flipcost.tables.scan import scan_parquet

    model = FlipCostClassifier(cost=COST)
    with gauge:
        model.fit_table(scan_parquet(paths, "y", NAMES))
    X, clean, _ = draw(1_000_000, 2**40)
    model.__dict__.pop("feature_names_in_")  # rows without names, without a warning
    flagged = model.predict(X.T) == 1
    return float(np.where(clean, (1 - COST) * ~flagged, COST * flagged).mean())


def audit_all(paths: list[str], gauge: Gauge) -> float:
    """Audit the files: everything but writing the report. Returns the cost it predicts."""
    from flipcost.audit import audit_files

    with gauge:
        result = audit_files(Path(paths[0]).parent, "y", COST)
    return result.best.clean.value


def fit_sgd(paths: list[str], gauge: Gauge) -> float:
    """Fit scikit-learn's SGDClassifier batch by batch, one epoch.

    It is given the noise rate too: the weights a* = rho + (1 - 2 rho) cost of Natarajan et al.
    """
    import pyarrow.dataset as ds
    from sklearn.linear_model import SGDClassifier

    share = NOISE_RATE + (1 - 2 * NOISE_RATE) * COST
    model = SGDClassifier(loss="log_loss", average=True, random_state=0)
    with gauge:
        for batch in ds.dataset(paths).scanner(columns=[*NAMES, "y"]).to_batches():
            X = np.column_stack([column.to_numpy() for column in batch.columns[:-1]])
            y = batch.columns[-1].to_numpy()
            if len(y):
                weight = np.where(y == 1, 1 - share, share)
                model.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    return cost_on_clean_rows(model.coef_[0], model.intercept_[0])


def fit_dask_ml(paths: list[str], gauge: Gauge) -> float:
    """Fit dask-ml's logistic regression by ADMM, on Dask's threads.

    It takes neither weights nor a noise rate; what it needs of them is put into the threshold.
    """
    import dask.dataframe as dd
    import pyarrow.parquet as pq
    from dask_ml.linear_model import LogisticRegression

    with gauge:
        footers = [pq.read_metadata(path) for path in paths]
        lengths = [f.row_group(k).num_rows for f in footers for k in range(f.num_row_groups)]
        frame = dd.read_parquet(paths, split_row_groups=True)
        rows = frame.to_dask_array(lengths=lengths)
        X = rows[:, :N_FEATURES]
        model = LogisticRegression(max_iter=10).fit(X, rows[:, N_FEATURES])
    share = NOISE_RATE + (1 - 2 * NOISE_RATE) * COST
    threshold = np.log(share / (1 - share))
    return cost_on_clean_rows(
        np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]) - threshold
    )


CHILDREN = {
    "pyarrow: scan and sum": scan_and_sum,
    "UnevenMarginClassifier.fit_table": fit_closed_form,
    "UnevenMarginClassifierCV.fit_table": search_closed_form,
    "fit_table, one thread": partial(fit_closed_form, n_threads=1),
    "FlipCostClassifier.fit_table": search_rate,
    "audit_files, cost predicted": audit_all,
    "Dask, one worker": partial(fit_dask, n_workers=1),
    "Dask, two workers": partial(fit_dask, n_workers=2),
    "Dask DataFrame, two workers": partial(fit_dask, n_workers=2, frame=True),
    "SGDClassifier.partial_fit": fit_sgd,
    "dask-ml LogisticRegression": fit_dask_ml,
}


_OF_A_TENTH = ", a tenth"
_TENTH = "UnevenMarginClassifier.fit_table" + _OF_A_TENTH
# A hundred times slower than the others: it gets one file.
_SLOW = "dask-ml LogisticRegression"


def child(name: str, paths: list[str]) -> None:
    """Run one measurement and print it as JSON."""
    importlib.import_module("pyarrow.parquet")  # otherwise imported when first needed, and timed
    gauge = Gauge()
    reached = CHILDREN[name](paths, gauge)
    result = {"seconds": gauge.seconds, "processor": gauge.processor, "rss": gauge.rss}
    print(json.dumps({**result, "cost": reached}))


def measure(name: str, paths: list[Path]) -> dict[str, float] | None:
    """Run a measurement in a process of its own; None if it cannot run."""
    command = [sys.executable, "-m", "benchmarks.scale", "--child", name, *map(str, paths)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1]
    )
    if done.returncode:
        print(f"  {name}: not measured ({done.stderr.strip().splitlines()[-1]})")
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def show(name: str, found: dict[str, float]) -> None:
    """Print one line."""
    reached = "" if found["cost"] is None else f"   cost {found['cost']:.5f}"
    print(
        f"  {name:<42} {found['seconds']:8.2f} s {found['processor']:9.2f} processor s "
        f"{found['rss'] / 1e6:7.0f} MB{reached}"
    )


def compare(folder: Path, n_rows: int, repeats: int, *, peers: bool) -> None:
    """Print all figures of one folder of files."""
    paths = sorted(folder.glob("*.parquet"))
    size = sum(path.stat().st_size for path in paths)
    print(f"\n{n_rows:,} rows x {N_FEATURES} float32 in Parquet, {size / 1e9:.2f} GB")
    measure("pyarrow: scan and sum", paths)  # brings the files into the page cache
    found: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for name, files in (
            ("pyarrow: scan and sum", paths),
            ("UnevenMarginClassifier.fit_table", paths),
            (_TENTH, paths[:1]),
        ):
            one = measure(name.removesuffix(_OF_A_TENTH), files)
            if one and (name not in found or one["seconds"] < found[name]["seconds"]):
                found[name] = one
    for name in list(CHILDREN)[2:] if peers else []:
        one = measure(name, paths[:1] if name == _SLOW else paths)
        if one:
            found[name + _OF_A_TENTH if name == _SLOW else name] = one
    for name, one in found.items():
        show(name, one)
    always = cost_on_clean_rows(np.zeros(N_FEATURES), 1.0)
    print(f"  {'calling every row positive':<42} {'cost':>45} {always:.5f}")
    scan, fit = found["pyarrow: scan and sum"], found["UnevenMarginClassifier.fit_table"]
    for what in ("seconds", "processor"):
        ratio = fit[what] / scan[what]
        print(f"  fit / scan and sum, {what:<10} {ratio:6.2f}  {verdict(ratio, 1.4, at_most=True)}")
    print(f"  peak memory of the fit {fit['rss'] / 1e9:6.2f} GB  ", end="")
    print(verdict(fit["rss"] / 1e9, 1.0, at_most=True))
    for what in ("seconds", "processor"):
        growth = fit[what] / (10 * found[_TENTH][what])
        print(f"  ten times the rows / ten times the {what:<10} {growth:6.3f}  ", end="")
        print(verdict(abs(growth - 1), 0.1, at_most=True))
    both = found.get("Dask, two workers")
    for name in ("Dask, one worker", "fit_table, one thread", "UnevenMarginClassifier.fit_table"):
        if both and name in found:
            gain = found[name]["seconds"] / both["seconds"]
            print(f"  {name} / Dask, two workers, seconds {gain:6.2f}")


def main(arguments: list[str] | None = None) -> None:
    """Make the files, measure and remove them."""
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows to make")
    parser.add_argument("--repeats", type=int, default=3, help="repetitions of the main figures")
    parser.add_argument("--no-peers", action="store_true", help="reading and fitting only")
    parser.add_argument("--folder", type=Path, default=None, help="where there is room")
    parser.add_argument("--child", nargs="+", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args([] if arguments is None else arguments)
    if options.child:
        child(options.child[0], options.child[1:])
        return
    print("More rows than memory")
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="flipcost-scale-") as folder:
        write_files(Path(folder), options.rows)
        compare(Path(folder), options.rows, options.repeats, peers=not options.no_peers)


if __name__ == "__main__":
    main(sys.argv[1:])
