"""The audit: one walk from a source of rows to what was found."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from flipcost.audit._columns import find_columns, learn_columns
from flipcost.audit._explain import column_facts, explain_columns, find_suspects, row_score
from flipcost.audit._findings import (
    Findings,
    Information,
    LabelsFound,
    ModelsFound,
    Priced,
    TableFound,
)
from flipcost.audit._fit import AuditData, CleanRows, fit, limited_threads
from flipcost.audit._labels import find_labels, known_rate, label_warnings, pool_labels
from flipcost.audit._leaks import find_leaks, in_sample_doubt
from flipcost.audit._models import compare, cost_grid, is_fitted
from flipcost.audit._options import AuditOptions
from flipcost.audit._questions import more_decisions
from flipcost.audit._recheck import plan_recheck
from flipcost.audit._sources import FilesInPasses, TableInEngine, TableInMemory, say_nothing
from flipcost.core.arrays import largest_first
from flipcost.core.curves import LabelBins
from flipcost.core.label_errors import probability_wrong
from flipcost.core.noise import PRECISION, labels_needed
from flipcost.estimators import FlipCostClassifier
from flipcost.estimators.flipcost.boosting import boosting_classifier
from flipcost.exceptions import (
    DenoisingWarning,
    DependenceWarning,
    FlipCostError,
    SourceError,
    TableError,
    shorten,
)
from flipcost.tables.arrow import as_arrow
from flipcost.tables.files import open_files
from flipcost.tables.paths import is_many
from flipcost.tables.pipelines import PlainColumns
from flipcost.tables.roles import Roles
from flipcost.tables.rows import Piece
from flipcost.tables.sample import SAMPLE_ROWS, sample_size
from flipcost.tables.scan import dask_client, sql_engine
from flipcost.tables.sniff import sniff

if TYPE_CHECKING:
    from collections.abc import Callable

    from flipcost.audit._labels import PooledLabels
    from flipcost.audit._models import Candidate
    from flipcost.audit._sources import RowBuilder, RowSource
    from flipcost.core.arrays import Array
    from flipcost.core.costs import CostLike


def audit(
    table: Any,
    target: str,
    cost: CostLike | None = None,
    *,
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
    asked = AuditOptions(target=target, cost=cost, **options)
    if not asked.has_annotators:
        return _walk(TableInMemory(table, asked, progress))
    (progress or say_nothing)("pooling the labels of the annotators")
    notes: list[str] = []
    pooled, items, asked = pool_labels(table, asked, notes)
    source = TableInMemory(items, asked, progress, pooled.rows)
    source.notes += notes
    return _walk(source, pooled)


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
    count labels. Rows of a sample are weighted to represent all. Only where not all rows were drawn
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
    options.setdefault("name", str(source))
    asked = AuditOptions(target=target, cost=cost, **options)
    _refuse_annotators(asked)
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
        return _walk(FilesInPasses(files, asked, progress, on_cluster=on_cluster))


def audit_sql(
    connection: Any,
    query_or_table: str,
    target: str,
    cost: CostLike | None = None,
    *,
    progress: Callable[[str], object] | None = None,
    **options: Any,
) -> Findings:
    """Audit a table of a database, or what a query gives.

    A table of at most `max_rows` rows, 200,000 if that is not given, is taken as it is. Of a larger
    one labels are counted by queries, and this many rows are drawn, all that were checked among
    them, which are weighted to represent all. Then all rows come by once, to find the most
    suspicious labels. Of a query without `id` only the drawn rows are audited, and the result says
    so.

    Parameters
    ----------
    connection : DuckDB connection, psycopg connection, SparkSession, or str
        As in `flipcost.scale.scan_sql`.
    query_or_table : str
        The name of a table, or one SELECT without a semicolon.
    target : str
        The column of labels.
    cost : Costs or float, default=None
        Prices of the mistakes, or the share that a false positive bears, as in `audit`.
    progress : callable, default=None
        Called with a word on each step.
    **options
        Whatever else `audit` takes; files of `checked` rows need `id`, because rows of a database
        have no numbers that stay.

    Returns
    -------
    Findings

    Examples
    --------
    >>> import duckdb
    >>> from flipcost import Costs
    >>> from flipcost.audit import audit_sql
    >>> connection = duckdb.connect()
    >>> _ = connection.execute(
    ...     "CREATE TABLE calls AS SELECT i AS id, sin(i) AS x, cos(i * 3.3) AS z, "
    ...     "(sin(i) > 0) <> (i * 7919 % 100 < 15) AS fraud FROM range(1000) t(i)"
    ... )
    >>> result = audit_sql(connection, "calls", "fraud", Costs(fn=4, fp=1), id="id", model="linear")
    >>> result.chosen, result.n_rows
    ('rule', 1000)
    """
    options.setdefault("name", query_or_table)
    asked = AuditOptions(target=target, cost=cost, **options)
    _refuse_annotators(asked)
    if asked.rounds and asked.id is None:
        msg = (
            "Rows of a database have no numbers that stay, so that checked ones are found by their "
            "names only; give `id`."
        )
        raise TableError(msg)
    say = progress or say_nothing
    engine = sql_engine(connection, query_or_table)
    try:
        say("counting the rows")
        n_rows = engine.count()
        if not n_rows:
            msg = f"{query_or_table.strip()!r} must hold rows to audit; got none."
            raise SourceError(msg)
        max_rows = asked.max_rows or SAMPLE_ROWS
        is_large = n_rows > max_rows
        if is_large:
            there = TableInEngine(engine, n_rows, asked, progress)
            if there.has_places or asked.id is not None:
                return _walk(there)
        say("taking rows")
        rows = engine.rows(max_rows if is_large else None, n_rows, asked.random_state)
    finally:
        engine.close()
    source = TableInMemory(rows, asked, progress, n_rows=n_rows)
    if is_large:
        source.notes.append(
            "Not all rows could be judged where they are: what a query gives has no numbers of "
            "rows; name them by `id`."
        )
    return _walk(source)


def _refuse_annotators(options: AuditOptions) -> None:
    if options.has_annotators:
        msg = (
            "Labels of several annotators are pooled in memory, not in passes or in a database; "
            "give all rows of some items as one file or frame."
        )
        raise FlipCostError(msg)


def _walk(source: RowSource, pooled: PooledLabels | None = None) -> Findings:
    """Go from a source to what was found: the one way, however the rows arrive."""
    options = source.options
    notes: list[str] = []
    options.rounds  # noqa: B018 - files of answers are read, and refused, before all rows are
    finder = find_columns(source, notes)
    size = options.max_rows or sample_size(len(finder.columns))
    facts, sample = source.draw(finder, size)
    labels, counts = find_labels(facts, options)
    rate, doubts = known_rate(options, facts, labels, finder)
    if pooled is not None and not options.has_checked:
        rate = pooled.rate
    drawn = sample.drawn(size)
    maker, cells = learn_columns(finder, drawn.rows.frame, options, notes)
    test = None if options.test is None else _clean_rows(options.test, maker, labels)
    source.say("estimating label errors and fitting the model")
    classifier = _classifier(options)
    classifier.set_params(pos_label=labels[1], noise_rate="integrate" if rate is None else rate)
    with warnings.catch_warnings():  # what it warns of is among the warnings of the result
        warnings.simplefilter("ignore", DenoisingWarning)
        warnings.simplefilter("ignore", DependenceWarning)
        rows, pool = fit(source, drawn, maker, classifier, test)
    encoder = maker.encoder
    leaks = []
    if options.scores:
        read = set(rows.frame.column_names).difference(options.scores)
        columns = options.roles.features(source.names, source.name)
        others = [name for name in columns if name in read]
        notes += in_sample_doubt(rows.frame, others, cells, rows.positive, options)
    else:
        names = [encoder.names[place] for place in encoder.cell_columns]
        leaks = find_leaks(names, encoder.is_category, cells, rows.positive)
    notes += label_warnings(facts, options, labels, counts) + doubts
    notes += [leak.sentence(options.target) for leak in leaks]
    if not drawn.is_all:
        notes.append(
            f"Learned from {len(drawn.codes):,} of {drawn.n_rows:,} rows, drawn at random and "
            "weighted to represent all; every row was scored for its label."
        )
    data = AuditData(
        source=source,
        maker=maker,
        facts=facts,
        labels=labels,
        counts=counts,
        classifier=classifier,
        rows=rows,
        cells=cells,
        pool=pool,
        test=test,
        leaks=leaks,
        pooled=pooled,
        warnings=source.notes + notes,
    )
    with limited_threads(len(rows.positive)):
        return _assemble(data)


def _classifier(options: AuditOptions) -> FlipCostClassifier:
    """Return the classifier that the audit fits; a model that is fitted is a rival, not a score."""
    named = options.model if isinstance(options.model, str) else None
    model: Any = None
    if named == "boosting":
        model = boosting_classifier(np.zeros(1, dtype=bool), options.random_state)
    elif named is None and not is_fitted(options.model):
        model = clone(options.model)
    return FlipCostClassifier(
        cost=options.prices,
        noise_model=options.noise_model,
        prevalence=options.prevalence,
        estimator=model,
        features="splines" if named == "linear" else "auto",
        level=options.level,
        random_state=options.random_state,
    )


def _clean_rows(table: Any, maker: RowBuilder, labels: tuple[str, str]) -> CleanRows:
    """Read a table with clean labels by the columns of the one that is audited."""
    target = maker.roles.target
    piece = Piece("The test table", 0, as_arrow(table))
    made = replace(maker, roles=Roles(target), answers=None).read(piece)
    strange = sorted(set(made.labels.tolist()) - set(labels))
    if strange or not len(made.labels):
        msg = (
            f"The test table must have the labels {labels[0]!r} and {labels[1]!r} in {target!r}; "
            f"it has {shorten(strange) if strange else 'no labels'}."
        )
        raise TableError(msg)
    return CleanRows(made.frame, maker.make(made.frame), made.labels == labels[1])


def _assemble(data: AuditData) -> Findings:
    """Compare the classifier with others, explain it, and choose the rows to check next."""
    options, rows, model, counts = data.options, data.rows, data.classifier, data.counts
    say = data.source.say
    say("fitting comparison models")
    costs, index = cost_grid(model.cost_share_)
    candidates = compare(data, costs, index)
    say("looking for likely errors")
    pipeline = _pipeline(data, candidates[0])
    score = row_score(data, pipeline[-1])
    wrong = _pool_wrong(data)
    suspects = find_suspects(data, wrong, score)
    effects = explain_columns(data, score, costs, index)
    say("choosing the rows to check next")
    table = TableFound(
        name=data.source.name,
        target=options.target,
        positive=data.labels[1],
        negative=data.labels[0],
        n_rows=sum(counts),
        n_rows_total=data.facts.n_rows,
        n_positive=counts[1],
        n_evaluated=len(rows.positive),
        n_effective=model.n_effective_,
        n_test=0 if data.test is None else len(data.test.positive),
        reading=data.source.reading,
        schema=data.maker.schema,
        columns=column_facts(
            data.maker.encoder, rows.frame, data.cells, rows.positive, options.target
        ),
    )
    priced = Priced(
        prices=options.prices,
        cost=model.cost_share_,
        mean_prices=data.money.mean(rows.weight),
        costs=costs,
        cost_index=index,
        prices_are_assumed=options.cost is None,
    )
    labels = LabelsFound(
        errors=rows.result.label_errors,
        noise_rate=model.noise_rate_,
        noise_interval=model.noise_rate_interval_,
        noise_source=model.noise_rate_source_,
        measured_on=rows.result.options.measured_on,
        wrong_share=model.wrong_share_,
        noise_models=model.noise_models_,
        noise_bounds=model.noise_bounds_,
        noise_by_score=model.noise_by_score_,
        break_even=model.break_even_,
        posterior=model.rate_posterior_,
        bins=LabelBins.from_rows(model.oof_probability_, rows.positive, rows.weight),
        suspects=suspects,
        information=_information(data, wrong),
        leaks=tuple(data.leaks),
        pooled=data.pooled,
        known_flips=_known_flips(data, wrong),
    )
    models = ModelsFound(
        candidates=candidates,
        chosen=model.chosen_,
        n_flagged=data.pool.n_flagged,
        model=pipeline,
        scores=model._score_parts(),  # noqa: SLF001 - its summary says them too
        effects=effects,
        decisions=more_decisions(data, candidates[0], costs),
    )
    return Findings(
        table=table,
        priced=priced,
        labels=labels,
        models=models,
        recheck=plan_recheck(data, effects, suspects),
        level=options.level,
        seed=options.random_state,
        warnings=data.warnings + _late_warnings(data),
    )


def _pipeline(data: AuditData, winner: Candidate) -> Pipeline:
    """Return the steps from a table to the predictions of the winner, to be saved."""
    model: Any = data.classifier
    first: Any = data.maker.features
    if winner.estimator is not None:
        labels = np.array(data.labels, dtype=object)[data.rows.positive.astype(int)]
        model = winner.estimator.set_params(pos_label=data.labels[1])
        given = {} if data.rows.costs.is_constant else {"prices": data.rows.costs}
        model.fit(data.rows.X, labels, sample_weight=data.rows.weight, **given)
    elif model.estimator is None:
        first = PlainColumns(data.maker.encoder)
    return Pipeline([("columns", first), ("model", model)])


def _pool_wrong(data: AuditData) -> Array:
    """Return the probability that each label of the pool is wrong; of checked rows 0."""
    pool, model = data.pool, data.classifier
    if data.pooled is None:
        wrong = probability_wrong(pool.positive, pool.probability, model.rate_posterior_)
    else:
        wrong = data.pooled.wrong[np.searchsorted(data.pooled.rows, pool.numbers)]
    given = data.maker.trusted(pool.frame)
    if given is not None:  # what was checked need not be looked at again
        wrong[given != ""] = 0.0
    return wrong


def _known_flips(data: AuditData, wrong: Array) -> dict[str, int] | None:
    """Return how many labels are wrong in truth, and how many of the likeliest errors."""
    if data.truth is None:
        return None
    first = largest_first(wrong, 100)
    pool = data.truth_of(data.pool.frame.take(first))
    return {
        "wrong_labels": round(data.rows.number_of(data.truth != data.rows.positive)),
        "wrong_in_first_100": int(np.sum(pool != data.pool.positive[first])),
    }


def _information(data: AuditData, wrong: Array) -> Information:
    """Return what more labels are worth, given the probability that those of the pool are wrong."""
    rows, model, level = data.rows, data.classifier, data.rows.level
    clean = model.clean_probability(model.oof_probability_)
    of_rows = probability_wrong(rows.positive, clean, model.rate_posterior_)
    given = data.maker.trusted(rows.frame)
    if given is not None:
        checked = given != ""
        of_rows[checked] = (given == data.labels[1])[checked] != rows.positive[checked]
    n_rows, rate = sum(data.counts), model.noise_rate_
    return Information(
        second_labels=min(labels_needed(rate, level=level), n_rows),
        trusted_labels=min(labels_needed(rate, trusted=True, level=level), n_rows),
        precision=PRECISION,
        value_of_rate=model.value_of_information_ / data.options.unit,
        wrong_labels=rows.number_of(of_rows),
        wrong_in_first_100=float(np.sort(wrong)[::-1][:100].sum()),
    )


def _late_warnings(data: AuditData) -> list[str]:
    """Return the warnings of the fit, and that a constant was chosen."""
    model = data.classifier
    # Where nothing can be said, that is said first.
    if model.chosen_ == "rule" or model.state_ in ("no_signal", "small"):
        return list(model.warnings_)
    what = "positive" if model.chosen_ == "all_positive" else "negative"
    warning = (
        f"No rule is estimated to beat calling every row {what}: the columns say too little, the "
        "labels are too noisy, or the prices are too uneven."
    )
    return [*model.warnings_, warning]
