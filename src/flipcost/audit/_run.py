"""The audit itself: one walk from a source of rows to what was found."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from flipcost.audit._candidates import is_fitted
from flipcost.audit._checks import (
    check_counts,
    check_weights,
    fact_warnings,
    leaks_of,
    price_warnings,
)
from flipcost.audit._columns import find_columns, learn_columns
from flipcost.audit._conclude import conclude
from flipcost.audit._fit import fit_drawn, limited_threads
from flipcost.audit._options import AuditOptions, renamed
from flipcost.audit._rates import known_rate
from flipcost.audit._rows import Audited, clean_rows
from flipcost.audit._sources import FilesInPasses, TableInMemory
from flipcost.audit._trusted import check_answers
from flipcost.estimators import FlipCostClassifier
from flipcost.exceptions import (
    DenoisingWarning,
    DependenceWarning,
    TableError,
    positive_doubt,
)
from flipcost.tables.paths import is_many
from flipcost.tables.roles import two_classes
from flipcost.tables.sample import sample_size
from flipcost.tables.scan import dask_client, open_files
from flipcost.tables.sniff import sniff

if TYPE_CHECKING:
    from collections.abc import Callable

    from flipcost.audit._findings import Findings
    from flipcost.audit._sources import RowSource
    from flipcost.core.costs import CostLike


def audit(
    table: Any,
    target: str,
    cost: CostLike | None = None,
    *,
    rows: Any = None,
    n_rows: int | None = None,
    progress: Callable[[str], object] | None = None,
    **options: Any,
) -> Findings:
    """Audit a table whose labels are partly wrong.

    Parameters
    ----------
    table : pyarrow, pandas or polars table
        Rows with their labels.
    target : str
        The column of labels.
    cost : Costs, float or None, default=None
        Prices of the mistakes, or the share that a false positive bears; when None, both mistakes
        are taken to cost the same.
    rows, n_rows : array of int and int, default=None
        Which rows of a larger table these are, and how many it has, when it was sampled already.
    progress : callable, default=None
        Called with a word on each step.
    **options
        Whatever else `AuditOptions` has: what is known of the noise, what columns are for, what
        scores the rows and what it is compared with.

    Returns
    -------
    Findings

    Examples
    --------
    >>> import polars
    >>> from flipcost import Costs
    >>> from flipcost.audit import audit
    >>> from flipcost.datasets import make_syn3d
    >>> from flipcost.noise import flip_labels
    >>> data = make_syn3d(4000, random_state=0)
    >>> frame = polars.DataFrame(data.data, schema=["a", "b", "c"])
    >>> noisy = flip_labels(data.target, 0.3, random_state=1)
    >>> frame = frame.with_columns(ill=polars.Series(noisy))
    >>> result = audit(frame, "ill", Costs(fn=4, fp=1))
    >>> wrong = result.wrong_share
    >>> bool(wrong.low < 0.3 < wrong.high), result.chosen
    (True, 'rule')
    >>> bool(result.candidate("ignoring").saving.value > 0)
    True
    """
    asked = AuditOptions(target=target, cost=cost, **renamed(options))
    return walk(TableInMemory(table, asked, rows, n_rows), asked, progress or say_nothing)


def audit_files(
    source: Any,
    target: str,
    cost: CostLike | None = None,
    *,
    dask: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: Callable[[str], object] | None = None,
    **options: Any,
) -> Findings:
    """Audit files of any size in constant memory, or on a cluster.

    The files are read once to draw the rows to learn from, all that were checked among them, and to
    count labels. Rows of a sample are weighted to stand for all. Only where not all rows were drawn
    the files are read again, to find the most suspicious labels of all rows.

    Parameters
    ----------
    source : path-like
        A CSV or Parquet file, or a folder or pattern of files of one kind. With `dask`, every
        worker must see it under the same path.
    target : str
        The column of labels.
    cost : Costs, float or None, default=None
        Prices of the mistakes, or the share that a false positive bears; when None, both mistakes
        are taken to cost the same.
    dask : str, default=None
        Address of a Dask scheduler, such as ``"tcp://host:8786"``, whose workers read the files.
    delimiter, encoding : str, default=None
        Of text, when they are not to be found out from the first lines.
    progress : callable, default=None
        Called with a word on each step.
    **options
        Whatever else `AuditOptions` has.

    Returns
    -------
    Findings

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
    >>> wrong = result.wrong_share
    >>> bool(wrong.low < 0.3 < wrong.high), result.chosen, result.n_rows
    (True, 'rule', 4000)
    """
    asked = AuditOptions(target=target, cost=cost, **renamed(options))
    say = progress or say_nothing
    on_cluster = dask is not None
    with dask_client(dask) if dask is not None else nullcontext():
        if not is_many(source):
            # Says why one file is not a table.
            sniff(source, delimiter=delimiter, encoding=encoding)
        try:
            files = open_files(
                source,
                on_cluster=on_cluster,
                as_text=True,
                delimiter=delimiter,
                encoding=encoding,
            )
        except FileNotFoundError as error:
            msg = f"There is no file at {source}; check the folder or the pattern."
            raise TableError(msg) from error
        name = asked.name or str(source)
        return walk(FilesInPasses(files, name, asked, say, on_cluster=on_cluster), asked, say)


def walk(source: RowSource, options: AuditOptions, say: Callable[[str], object]) -> Findings:
    """Go from a source to what was found: the one way, however the rows arrive."""
    notes: list[str] = []
    options.rounds  # noqa: B018 - files of answers are read, and refused, before all rows are
    finder = find_columns(source, options, notes)
    size = options.max_rows or sample_size(len(finder.columns))
    facts, sample = source.draw(finder, size)
    labels = two_classes(np.array(list(facts.rows), dtype=object), options.target, options.positive)
    doubt = positive_doubt(*labels) if options.pos_label is None else None
    notes += [] if doubt is None else [doubt]
    counts = facts.rows[labels[0]], facts.rows[labels[1]]
    check_counts(counts, options.target, *labels)
    if options.sample_weight is not None:
        check_weights([facts.weight[label] for label in labels], options.sample_weight)
    outside = check_answers(finder, facts)
    rate, doubts = known_rate(options, facts, labels)
    doubts += outside
    drawn = sample.drawn(size)
    maker, cells = learn_columns(finder, drawn.rows.rows, options, notes)
    classifier = _classifier(options)
    classifier.set_params(pos_label=labels[1], noise_rate="integrate" if rate is None else rate)
    clean = None if options.test is None else clean_rows(options.test, maker, labels)
    say("estimating label errors and fitting the model")
    with warnings.catch_warnings():  # what it warns of is among the warnings of the result
        warnings.simplefilter("ignore", DenoisingWarning)
        warnings.simplefilter("ignore", DependenceWarning)
        judged, watched = fit_drawn(source, drawn, facts, maker, classifier, options)
    notes += fact_warnings(facts) + price_warnings(counts, options.prices, *labels) + doubts
    leaks = leaks_of(maker.encoder, cells, judged.positive)
    notes += [leak.sentence(options.target) for leak in leaks]
    if not drawn.is_all:
        notes.append(
            f"Learned from {len(drawn.codes):,} of {drawn.n_rows:,} rows, drawn at random and "
            "weighted to stand for all; every row was scored for its label."
        )
    rows = Audited(
        options=options,
        name=source.name,
        reading=source.reading,
        maker=maker,
        labels=labels,
        counts=counts,
        n_rows_total=facts.n_rows,
        judged=judged,
        cells=cells,
        watched=watched,
        clean=clean,
        warnings=source.notes + notes,
        leaks=leaks,
    )
    with limited_threads(len(judged.positive)):
        return conclude(rows, classifier, say)


def _classifier(options: AuditOptions) -> FlipCostClassifier:
    """Return the classifier that the audit fits."""
    return FlipCostClassifier(
        cost=options.prices,
        noise_model=options.noise_model,
        prevalence=options.prevalence,
        estimator=_scored_by(options.model, options.seed),
        features="splines"
        if isinstance(options.model, str) and options.model == "linear"
        else "auto",
        level=options.level,
        random_state=options.seed,
    )


def _scored_by(model: Any, seed: int) -> Any:
    """Return what scores the rows in place of the closed form, or None."""
    if is_fitted(model) or (isinstance(model, str) and model != "boosting"):
        return None
    if not isinstance(model, str):
        return clone(model)
    return HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.05, min_samples_leaf=20, random_state=seed
    )


def say_nothing(_: str) -> None:
    """Report to nobody."""
