"""Fit the classifier on the rows that were drawn: on them models are evaluated and explained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost._threads import thread_limits
from flipcost.audit._columns import read_scores
from flipcost.audit._sources import ScoreTask
from flipcost.core.checked_rows import CheckedRows
from flipcost.core.clean_means import unbiased_costs
from flipcost.core.costs import RowCosts
from flipcost.core.curves import area_under_curve
from flipcost.core.decision import bayes_flags, count_flags
from flipcost.core.dependence import cell_design, grouped_squares, mean_design
from flipcost.core.error_rates import RatePosterior
from flipcost.estimators import flipcost
from flipcost.estimators.flipcost.scores import GivenScores
from flipcost.exceptions import FlipCostError, TableError
from flipcost.tables.arrow import as_text, concatenate, take_column
from flipcost.tables.columns import describe_column
from flipcost.tables.encoder import Column
from flipcost.tables.roles import read_labels, row_prices

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.audit._labels import PooledLabels
    from flipcost.audit._leaks import Leak
    from flipcost.audit._options import AuditOptions
    from flipcost.audit._sources import RowBuilder, RowSource, TableFacts
    from flipcost.core.arrays import Array, Flags, Indices
    from flipcost.core.confusion import ConfusionCounts
    from flipcost.estimators import FlipCostClassifier
    from flipcost.estimators.flipcost.result import FitResult
    from flipcost.estimators.flipcost.rows import ScoredRows
    from flipcost.tables.sample import Drawn


AS_RECORDED = RatePosterior(np.zeros((1, 2)), np.ones(1))
_FEW_ROWS = 50_000
# A price that orders the labels better than this is known from them.
_PRICE_TELLS = 0.99


@dataclass(frozen=True, eq=False)
class EvaluationRows:
    """Rows that models are evaluated on: all that were audited, or a sample that represents them.

    Attributes
    ----------
    frame : pyarrow.Table
        As they were in the source.
    numbers : ndarray of int, shape (n,)
        Where they are in the table, the first being 0.
    X : ndarray of shape (n, d)
        Features.
    positive : ndarray of bool, shape (n,)
        Which labels are positive.
    level : float
        Level of the intervals.
    weight : ndarray of shape (n,) or None
        Their weights.
    stands_for : ndarray of shape (n,)
        Of how many rows of the table each is one: more than 1 where these are a sample.
    costs : RowCosts
        In money where they differ by row, else as shares of a miss and a false alarm together.
    rounds : ndarray of int, shape (n_checked,)
        In which file each of the checked ones was; -1 if in none.
    scored : ScoredRows
        The same with their scores.
    result : FitResult
        What was found in them.
    groups, folds : ndarray of int, shape (n,), or None
        Where rows depend on each other: the group of each, and the folds that keep groups together.
    learned_by : ndarray of shape (n,) or None
        Weights to learn by, if not `weight`.
    forward : bool
        Whether folds follow each other in time, so that each is scored by earlier ones only.
    """

    frame: Any
    numbers: NDArray[np.int64]
    X: Array
    positive: Flags
    level: float
    weight: Array | None
    stands_for: Array
    costs: RowCosts
    rounds: Indices
    scored: ScoredRows
    result: FitResult
    groups: Indices | None = None
    folds: Indices | None = None
    learned_by: Array | None = None
    forward: bool = False

    @property
    def checked(self) -> CheckedRows | None:
        """The rows whose right label is known."""
        return self.scored.checked

    @cached_property
    def flag_squares(self) -> Callable[[Flags], Array] | None:
        """From flags to the squared weights of their table, where rows depend on each other."""
        if self.groups is None:
            return None
        return grouped_squares(self.positive, self.groups, self.weight, self.level)

    def table(self, flagged: Flags) -> ConfusionCounts:
        """Return the table of labels against flags."""
        return count_flags(self.positive, flagged, self.weight, self.flag_squares)

    def design(
        self,
        flagged: Flags,
        costs: RowCosts,
        posterior: RatePosterior = AS_RECORDED,
        rival: Flags | None = None,
        labels: Flags | None = None,
    ) -> float:
        """Return the design effect of what flags cost, or save over those of a rival."""
        if self.groups is None:
            return 1.0
        labels = self.positive if labels is None else labels
        values = unbiased_costs(labels, flagged, costs, tuple(posterior.mean), rival)
        return mean_design(values, self.groups, self.weight, self.level)

    def cell_design(self, cells: Indices) -> float:
        """Return the design effect of the shares of rows in cells."""
        if self.groups is None:
            return 1.0
        return cell_design(cells, self.groups, self.weight, self.level)

    def number_of(self, probability: NDArray[Any]) -> float:
        """Return the expected number of rows of the table, given a probability for each row."""
        return float(self.stands_for @ probability)

    def typical(self, rng: np.random.Generator) -> Indices:
        """Return places of rows as common as in the table: weighted rows are drawn again."""
        everywhere = np.arange(len(self.positive))
        if np.all(self.stands_for == 1.0):
            return everywhere
        return rng.choice(everywhere, len(everywhere), p=self.stands_for / self.stands_for.sum())


@dataclass(frozen=True, eq=False)
class SuspectPool:
    """Rows among which the likeliest label errors are sought.

    `numbers` are their places in the table, the first being 0; `probability` is out of fold, of the
    clean label. `n_flagged` rows of the whole table are flagged: out of fold in the sample, by the
    model that has not seen them elsewhere.
    """

    frame: Any
    numbers: NDArray[np.int64]
    positive: Flags
    probability: Array
    n_flagged: int


@dataclass(frozen=True, eq=False)
class CleanRows:
    """Rows with clean labels, to test on."""

    frame: Any
    X: Array
    positive: Flags


@dataclass(frozen=True, eq=False)
class AuditData:
    """All that findings are made from: what was asked, read and fitted.

    Attributes
    ----------
    source : RowSource
        Where the rows came from.
    maker : RowBuilder
        How its columns become features.
    facts : TableFacts
        What was counted in all rows.
    labels, counts : pairs
        The negative label and the positive one, and rows of each.
    classifier : FlipCostClassifier
        Fitted on `rows`.
    rows : EvaluationRows
        Rows that models are evaluated on.
    cells : ndarray of shape (n, n_cells)
        The same as the encoder reads them.
    pool : SuspectPool
        Rows among which likely errors are sought.
    test : CleanRows or None
        Rows to test on.
    leaks : list of Leak
        Columns that give the label away.
    pooled : PooledLabels or None
        How labels were pooled, if several annotators gave them.
    warnings : list of str
        What the user should look at.
    """

    source: RowSource
    maker: RowBuilder
    facts: TableFacts
    labels: tuple[str, str]
    counts: tuple[int, int]
    classifier: FlipCostClassifier
    rows: EvaluationRows
    cells: Array
    pool: SuspectPool
    test: CleanRows | None
    leaks: list[Leak]
    pooled: PooledLabels | None
    warnings: list[str]

    @property
    def options(self) -> AuditOptions:
        """What was asked."""
        return self.source.options

    @cached_property
    def truth(self) -> Flags | None:
        """Which right labels of the rows are positive, if there is a column of them."""
        return self.truth_of(self.rows.frame)

    def truth_of(self, frame: Any) -> Flags | None:
        """Return which right labels of some rows are positive, if there is a column of them."""
        name = self.options.truth
        if name is None:
            return None
        labels = read_labels(take_column(frame, name, self.source.name), name)
        return np.asarray(labels == self.labels[1])

    def ids(self, frame: Any) -> list[str | None]:
        """Return the names of some rows, where there is a column of them."""
        name = self.options.id
        if name is None:
            return [None] * frame.num_rows
        column = take_column(frame, name, self.source.name)
        found: list[str | None] = as_text(column, name, "names").to_pylist()
        return found

    @cached_property
    def money(self) -> RowCosts:
        """What wrong decisions on the rows cost in money."""
        own = self.rows.costs
        return RowCosts(*self.options.prices.extra) if own.is_constant else own

    @cached_property
    def if_random(self) -> RatePosterior:
        """Error rates that expected costs suppose: of random errors, or what checked rows leave.

        Where nothing can be said of label errors: none, so that recorded labels are counted.
        """
        posterior = self.classifier.rate_posterior_
        if self.rows.checked is not None or posterior.is_known:
            return posterior
        if self.classifier.state_ in ("no_signal", "small"):
            return replace(AS_RECORDED, models=posterior.models)
        return posterior.if_random

    @cached_property
    def design(self) -> float:
        """Design effect of the error rates, or of what the rule costs if that is larger."""
        rows, model = self.rows, self.classifier
        flagged = bayes_flags(model.oof_probability_, self.money)
        in_costs = rows.design(flagged, self.money, self.if_random)
        return max(1.0, len(rows.positive) / model.n_effective_, in_costs)


def fit(
    source: RowSource,
    drawn: Drawn,
    maker: RowBuilder,
    classifier: FlipCostClassifier,
    test: CleanRows | None = None,
) -> tuple[EvaluationRows, SuspectPool]:
    """Fit on the rows that were drawn; return them with what the fit says of each."""
    options = source.options
    found, weight = drawn.rows, drawn.rows.beside.get("weight")
    frame, labels, given = found.frame, found.beside["label"], found.beside.get("trusted")
    positive, trusted, sample = labels == classifier.pos_label, None, None
    given_in = "what was checked" if options.trusted is None else repr(options.trusted)
    if given is not None and np.any(given != ""):
        trusted = given.astype(object)
        trusted[given == ""] = None
        _check_once(frame, trusted, options, source.name, given_in)
    prices = row_prices(options.prices, frame, source.name)
    _check_prices(prices, positive, options.target)
    total = weight
    if not drawn.is_all:
        sample = drawn.sample(positive)
        total = drawn.stands_for if weight is None else weight * drawn.stands_for
    dependence, given_scores = _dependence(frame, options, source.name), None

    def read(frame: Any) -> Any:
        if options.scores:
            return read_scores(maker.encoder.cells(frame), options)
        return maker.inputs(frame, classifier)

    if options.scores:
        given_scores = GivenScores(options.score_kind)
        # Rows with the same scores are not taken for copies.
        dependence = dependence or {"groups": np.arange(len(labels))}
    try:
        with limited_threads(len(labels)):
            scored, result = flipcost.fit_drawn(
                classifier,
                read(frame),
                labels,
                sample,
                sample_weight=weight,
                trusted=trusted,
                prices=prices,
                given=given_scores,
                clean=None if test is None else (read(test.frame), test.positive),
                **dependence,
            )
    except FlipCostError as error:
        named = str(error).replace("`trusted`", given_in).replace("`y`", repr(options.target))
        raise TableError(named) from error
    seen: Any = [] if scored.checked is None else scored.checked.rows
    evaluated, groups = total, classifier.groups_
    if options.time is not None:  # nothing comes before the first fold: it is learned from only
        evaluated = np.where(classifier.folds_ > 0, 1.0 if total is None else total, 0.0)
    rows = EvaluationRows(
        frame=frame,
        numbers=found.position,
        X=maker.make(frame),
        positive=positive,
        level=options.level,
        weight=evaluated,
        stands_for=drawn.stands_for,
        costs=RowCosts.of(options.prices) if prices is None else prices,
        rounds=maker.rounds(frame)[seen],
        scored=scored,
        result=result,
        groups=groups,
        folds=None if groups is None else classifier.folds_,
        learned_by=total,
        forward=options.time is not None,
    )
    probability = classifier.oof_probability_
    clean = classifier.clean_probability(probability)
    flagged = bayes_flags(probability, rows.costs, classifier.chosen_)
    pool = SuspectPool(frame, rows.numbers, positive, clean, int(np.count_nonzero(flagged)))
    if not drawn.is_all:
        pool = _with_others(source, pool, maker, classifier)
    return rows, pool


def _with_others(
    source: RowSource, pool: SuspectPool, maker: RowBuilder, classifier: FlipCostClassifier
) -> SuspectPool:
    """Add the most suspicious rows of those that were not drawn, which the model has not seen."""
    known, name = pa.array(pool.numbers), None
    if not source.has_places:
        name = source.options.id
        known = take_column(pool.frame, str(name), source.name)
    found = source.score(ScoreTask(maker, classifier, source.options.prices, known, name))
    if found is None:
        return pool
    parts = [kept.sorted_out().parts[0] for kept in found.suspects.kept.values()]
    return SuspectPool(
        concatenate([pool.frame, *(part.frame for part in parts)]),
        np.concatenate([pool.numbers, *(part.position for part in parts)]),
        np.concatenate([pool.positive, *(part.beside["positive"] for part in parts)]),
        np.concatenate([pool.probability, *(part.beside["probability"] for part in parts)]),
        pool.n_flagged + found.n_flagged,
    )


def limited_threads(n_rows: int) -> Any:
    """Hold back threads that wait for each other.

    They cost more than they bring on matrices of this shape, and far more when other programs want
    the cores too: 280 s against 6 s for boosting on 800 rows, 16 s against 7 s for the linear model
    on 100,000. Only boosting on many rows is left its threads.
    """
    return thread_limits({"blas": 1, "openmp": 1 if n_rows < _FEW_ROWS else None})


def _dependence(frame: Any, options: AuditOptions, where: str) -> dict[str, Any]:
    """Return the groups or times of rows, as `FlipCostClassifier.fit` takes them."""
    name = options.groups or options.time
    if name is None:
        return {}
    column = take_column(frame, name, where)
    if options.groups is not None:
        column = as_text(column, name, "groups")
    about = describe_column(name, column)
    if options.time is not None and about["kind"] not in ("number", "date"):
        msg = (
            f"Column {name!r} must hold numbers or dates to order rows by; it holds a "
            f"{about['kind']}."
        )
        raise TableError(msg)
    if column.null_count:
        what = "which group it is of" if options.groups else "when it is from"
        msg = f"Column {name!r} must say of every row {what}; {column.null_count:,} rows do not."
        raise TableError(msg)
    if options.groups is not None:
        codes = column.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        return {"groups": np.asarray(codes, dtype=np.intp)}
    return {"time": Column(name, about["kind"], about.get("format")).read(column)[:, 0]}


def _check_prices(prices: RowCosts | None, positive: Flags, target: str) -> None:
    """Refuse a price that gives the label away: it would not be known when the decision is made.

    Examples
    --------
    >>> _check_prices(RowCosts(np.array([0.0, 9.0]), np.ones(2)), np.array([False, True]), "fraud")
    Traceback (most recent call last):
        ...
    flipcost.exceptions.TableError: The cost `fn` predicts 'fraud' almost without an error, \
so it is probably known only after the label; give a cost that is known before.
    """
    if prices is None or positive.all() or not positive.any():
        return
    try:
        prices.relative()
    except ValueError as error:  # one kind of error is free on all rows
        raise TableError(str(error)) from error
    for name in ("fn", "fp"):
        area = area_under_curve(getattr(prices, name), positive)
        if max(area, 1 - area) > _PRICE_TELLS:
            msg = (
                f"The cost `{name}` predicts {target!r} almost without an error, so it is probably "
                "known only after the label; give a cost that is known before."
            )
            raise TableError(msg)


def _check_once(frame: Any, trusted: Any, options: AuditOptions, name: str, given_in: str) -> None:
    """Refuse rows that were checked more than once and contradict each other."""
    if options.id is None:
        return
    ids = as_text(take_column(frame, options.id, name), options.id, "names").to_pylist()
    right: dict[str, str] = {}
    for row, answer in zip(ids, trusted.tolist(), strict=True):
        if None not in (row, answer) and right.setdefault(row, answer) != answer:
            msg = (
                f"Row {row!r} was checked more than once, with different right labels in "
                f"{given_in}; settle which is right, or leave it empty."
            )
            raise TableError(msg)
