"""The audit of a table that is too large to hold: a look at it, and two passes."""

from __future__ import annotations

from contextlib import nullcontext
from time import perf_counter

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from flipcost.audit._checks import (
    check_counts,
    check_weights,
    leak_warnings,
    make_reader,
    price_warnings,
    without_counters,
)
from flipcost.audit._conclude import MOST_SUSPECTS, conclude, is_fitted
from flipcost.audit._maker import RowMaker, facts_of
from flipcost.audit._prepare import Prepared, Watched, prepare_test
from flipcost.audit._rates import checked_rate, rate_from_pairs
from flipcost.audit._run import make_classifier
from flipcost.audit._sources import open_source
from flipcost.core.costs import Costs, cost_share
from flipcost.core.moments import ClassMoments
from flipcost.data import (
    Roles,
    are_numbers,
    arrow,
    label_codes,
    make_features,
    read_numbers,
    take_column,
    two_classes,
)
from flipcost.estimators._flipcost_table import fit_gathered, gather
from flipcost.exceptions import TableError, shorten, unknown_column
from flipcost.scale import dask_client

# Rows that columns are learned from, before the passes.
_LOOK_ROWS = 100_000
# Rows of each label that candidates are judged on.
_JUDGED_ROWS, _FEWEST_ROWS = 20_000, 50
# Seconds between words on how far a pass has come.
_PAUSE = 10.0


def audit_files(
    source,
    target,
    cost,
    *,
    positive=None,
    noise_rate=None,
    noise_model="symmetric",
    trusted=None,
    second_label=None,
    id=None,  # noqa: A002 - what the column is called on the command line
    sample_weight=None,
    drop=(),
    categorical=(),
    drop_unusable=False,
    model="linear",
    test=None,
    seed=0,
    level=0.95,
    max_rows=200_000,
    dask=None,
    delimiter=None,
    encoding=None,
    name=None,
    progress=None,
):
    """Audit files of any size in constant memory, or on a cluster.

    What the columns hold is learned from a look at rows of several places of the files. Then these
    are read twice: the first pass gathers the moments of every fold, draws rows of each label and
    counts trusted or second labels; the second counts labels in bins of every score and finds the
    most suspicious labels. The noise rate and the model come from all rows; candidates are compared
    on the drawn rows, which are weighted to stand for all.

    Parameters
    ----------
    source : path-like
        A CSV or Parquet file, or a folder or pattern of files of one kind. With `dask`, every
        worker must see it under the same path.
    target, cost, positive, noise_rate, noise_model, trusted, second_label, id, sample_weight
        As in `audit`.
    drop, categorical, drop_unusable, test, seed, level
        As in `audit`.
    model : {"linear"} or estimator, default="linear"
        A fitted model that reads tables is compared with the linear one. Others need their rows in
        memory; see `audit`.
    max_rows : int, default=200000
        Draw no more rows than these to compare candidates on; 20,000 of each label do.
    dask : str, default=None
        Address of a Dask scheduler, such as ``"tcp://host:8786"``, whose workers read the files.
    delimiter, encoding : str, default=None
        Of text, when they are not to be found out from the first lines.
    name : str, default=None
        What the table is called in messages; the name of the source when None.
    progress : callable, default=None
        Called with a word on each step.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from flipcost import Costs
    >>> from flipcost.audit import audit_files
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.noise import flip_labels
    >>> data = make_syn3d(4000, random_state=0)
    >>> noisy = flip_labels(data.target, 0.3, random_state=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.parquet")
    ...     pq.write_table(pa.table([*data.data.T, noisy], names=["a", "b", "c", "ill"]), path)
    ...     result = audit_files(path, "ill", Costs(fn=4, fp=1))
    >>> low, high = result.noise_interval
    >>> bool(low < 0.3 < high), result.chosen, result.n_rows
    (True, 'rule', 4000)
    """
    if model != "linear" and (isinstance(model, str) or not is_fitted(model)):
        msg = (
            "A table that is read in passes is learned from by the linear model; give "
            "model='linear', or audit a sample of it in memory."
        )
        raise TableError(msg)
    say = progress or (lambda _: None)
    prices = cost if isinstance(cost, Costs) else Costs(fn=1 - cost_share(cost), fp=cost)
    roles = Roles(target, id, trusted, second_label, sample_weight, tuple(drop))
    name = str(source) if name is None else name
    with dask_client(dask) if dask else nullcontext():
        files = open_source(source, dask=bool(dask), delimiter=delimiter, encoding=encoding)
        notes: list[str] = []
        maker = _learn_columns(files, roles, categorical, drop_unusable, name, notes, say)
        read = [*roles.used, *maker.reader.feature_names_in_]
        read += [n for n in _columns_of(model) if n in files.names and n not in read]
        table = files.table(read, seed, _reports(say)).map_pieces(maker)
        classifier = make_classifier(None, prices, None, noise_model, seed, level)
        say("first pass")
        drawn = min(_JUDGED_ROWS, max(_FEWEST_ROWS, max_rows // 2))
        first = gather(classifier, table, drawn, frames=True, beside=(facts_of,))
        facts = first.beside[0]
        both, total = _labels(first.found.moments, roles, positive)
        rate = _known_rate(noise_rate, noise_model, total, facts, roles, both, level, notes)
        classifier.set_params(pos_label=both[1])
        if rate is not None:
            classifier.set_params(noise_rate=rate)
        say("second pass")
        fit = fit_gathered(classifier, table, first, prices.alpha, n_watched=MOST_SUSPECTS)
    counts = tuple(int(n) for n in total.n_rows)
    notes += price_warnings(counts, prices, *both)
    notes += _fact_warnings(facts)
    data = _prepared(fit, maker, facts, counts, notes, name)
    notes += leak_warnings(maker.reader, data.numbers, data.positive, target)
    held_out = None if test is None else prepare_test(test, data)
    reading = f"read in two passes{' on a Dask cluster' if dask else ''}"
    with threadpool_limits(limits={"blas": 1, "openmp": 1}):
        return conclude(data, classifier, prices, model, held_out, seed, level, say, reading)


def _columns_of(model):
    """Return the columns that a saved model reads."""
    return [] if isinstance(model, str) else list(getattr(model, "feature_names_in_", []))


def _reports(say):
    """Return what a pass reports to: a word now and then."""
    last = perf_counter()

    def report(progress):
        nonlocal last
        now = perf_counter()
        if now - last > _PAUSE:
            last = now
            say(f"{progress.share:.0%} read")

    return report


def _learn_columns(files, roles, categorical, drop_unusable, name, notes, say):
    """Look at the files, and return what turns their pieces into rows."""
    columns = roles.features(files.names, name)
    for column in categorical:
        if column not in files.names:
            raise unknown_column(column, files.names, name)
    say("looking at the columns")
    blocks = files.look([*roles.used, *columns], _LOOK_ROWS)
    if not blocks:
        msg = f"{name} holds no rows; give at least a few dozen."
        raise TableError(msg)
    numbered = [(block, np.arange(block.num_rows)) for block in blocks]
    columns = without_counters(numbered, columns, categorical, notes)
    seen = arrow.concatenate(blocks)
    codes, texts = label_codes(take_column(seen, roles.target, name), roles.target)
    if texts:  # rows without a label are not learned from
        seen = seen.take(np.flatnonzero(codes >= 0))
    try:
        reader = make_reader(seen, columns, categorical, drop_unusable, notes)
    except TableError as error:
        if seen.num_rows < _LOOK_ROWS // 2:  # these were all
            raise
        msg = f"In the {seen.num_rows:,} rows looked at: {error}"
        raise TableError(msg) from error
    features = make_features(reader)
    X = features.fit_transform(reader.transform(seen))
    return RowMaker(reader, features, X.shape[1], roles, are_numbers(texts))


def _labels(found, roles, positive):
    """Return the negative and the positive label, and the moments of all rows in that order."""
    labels = np.array(found.labels, dtype=object)
    both = two_classes(labels, roles.target, positive)
    total = ClassMoments.merge_all(found.oriented(both[1]).parts)
    check_counts(total.n_rows.tolist(), roles.target, *both)
    if roles.weight is not None:
        check_weights(total.weight, roles.weight)
    return both, total


def _known_rate(noise_rate, noise_model, total, facts, roles, both, level, notes):
    """Return the rate that is given, or that trusted or second labels tell; else None."""
    if noise_rate is not None:
        share = float(total.weight[1] / total.weight.sum())
        return checked_rate(noise_rate, share, int(total.n_rows.sum()), both[1])
    if roles.trusted is None and roles.second is None:
        return None
    rate, more = rate_from_pairs(facts.pairs, roles, both, level, noise_model)
    notes += more
    return rate


def _fact_warnings(facts):
    found = []
    if facts.unlabelled:
        found.append(f"{facts.unlabelled} rows have no label and were left out.")
    if facts.unseen:
        shown = shorten([f"{column} ({n:,} rows)" for column, n in facts.unseen.most_common()])
        found.append(f"Categories that the first look missed count as rare ones: {shown}.")
    return found


def _prepared(fit, maker, facts, counts, notes, name):
    """Return the drawn rows as what an audit concludes from."""
    rows = fit.stand_ins
    negative_label, positive_label = fit.labels
    watched = fit.watched
    weight = rows.sample.weight
    stands_for = weight
    if maker.roles.weight is not None:
        given = read_numbers(
            take_column(rows.frame, maker.roles.weight, name), maker.roles.weight, what="weights"
        )
        stands_for = np.divide(weight, given, out=np.ones_like(weight), where=given > 0)
    return Prepared(
        name=name,
        table=rows.frame,
        rows=facts.row_numbers(rows.sample.position),
        n_rows_total=facts.n_rows,
        roles=maker.roles,
        positive_label=positive_label,
        negative_label=negative_label,
        labels=np.where(rows.sample.positive, positive_label, negative_label),
        positive=rows.sample.positive,
        weight=weight,
        ids=_ids(rows.frame, maker.roles),
        reader=maker.reader,
        numbers=maker.reader.transform(rows.frame),
        features=maker.features,
        X=rows.X,
        warnings=notes,
        folds=rows.folds,
        parts=fit.parts,
        watched=Watched(
            facts.row_numbers(watched.sample.position),
            watched.sample.positive,
            fit.probability(watched),
            maker.reader.transform(watched.frame),
            _ids(watched.frame, maker.roles),
        ),
        counts=counts,
        stands_for=stands_for * (sum(counts) / stands_for.sum()),
        call_squares=rows.squares,
    )


def _ids(frame, roles):
    if roles.id is None:
        return None
    return take_column(frame, roles.id, "The table").cast(pa.string()).to_pylist()
