"""Where the rows of an audit are, and how they are read: in memory, in files, in a database.

A source can be looked at, draws the rows to learn from and counts all others while it does, and has
every row scored for the most suspicious labels. Everything else is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flipcost.core.decision import bayes_flags
from flipcost.exceptions import SourceError, TableError, shorten
from flipcost.tables.arrow import as_arrow, as_text, take_column
from flipcost.tables.engine_table import MOST_LABELS, EngineTable, shares_of
from flipcost.tables.files import FileTable, Reading
from flipcost.tables.passes import Reporter, reduce_pieces, thread_count
from flipcost.tables.roles import (
    label_codes,
    plain_labels,
    read_labels,
    read_numbers,
    row_prices,
    two_classes,
)
from flipcost.tables.rows import Layout, Piece
from flipcost.tables.sample import Kept, LabelSample, Rows, draw_keys, name_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.audit._options import AuditOptions
    from flipcost.core.arrays import Array, Indices
    from flipcost.core.costs import Costs
    from flipcost.estimators import FlipCostClassifier
    from flipcost.recheck import CheckedAnswers
    from flipcost.tables.encoder import Encoder
    from flipcost.tables.engine import Engine
    from flipcost.tables.files import FileSet
    from flipcost.tables.passes import Progress
    from flipcost.tables.pipelines import TableEncoder
    from flipcost.tables.roles import Roles

    Say: TypeAlias = Callable[[str], object]

# Rows that are looked at, before the others are read.
_LOOK_ROWS = 20_000
# Most suspicious rows of each label that are kept, beside those of the sample.
_SUSPECTS = 1000
# Seconds between words on how far the reading has come.
_PAUSE = 10.0
# Keys of suspects are whole numbers.
_FINE = float(1 << 52)
# Columns of rows that hold what files say of them, and which file it was.
_CHECKED, _ROUND = "flipcost: checked", "flipcost: round"


@dataclass(frozen=True, eq=False)
class TableFacts:
    """What is counted in all rows while they are read; merges.

    Attributes
    ----------
    n_rows : int
        All rows, with a label or without.
    unlabelled : int
        Rows without a label, which are left out.
    rows, weight : dict of str
        Rows of each label, and what they weigh.
    pairs : Counter of tuples of str
        Rows with each label and other labels, "" where one is missing, of those that have a trusted
        or second one.
    found : Counter of int
        How often each answer of files of checked rows was found.
    """

    n_rows: int
    unlabelled: int
    rows: Counter[str] = field(default_factory=Counter)
    weight: dict[str, float] = field(default_factory=dict)
    pairs: Counter[tuple[str, ...]] = field(default_factory=Counter)
    found: Counter[int] = field(default_factory=Counter)

    def merge(self, other: TableFacts) -> TableFacts:
        """Return the facts of both sets of rows."""
        return TableFacts(
            self.n_rows + other.n_rows,
            self.unlabelled + other.unlabelled,
            self.rows + other.rows,
            self.weight | {k: w + self.weight.get(k, 0.0) for k, w in other.weight.items()},
            self.pairs + other.pairs,
            self.found + other.found,
        )


@contextmanager
def placed(piece: Piece, advice: str = "") -> Iterator[None]:
    """Say of what is wrong with a piece where that is, if it is a part of a table."""
    try:
        yield
    except SourceError:
        raise
    except TableError as error:
        if not piece.where:
            raise
        msg = f"{piece.where}: {error}{advice}"
        raise SourceError(msg) from error


@dataclass(frozen=True, eq=False)
class MadePiece:
    """The rows of a piece that have a label, and what was counted in it.

    `trusted` has the right label of the rows that were checked, and "" of the others.
    """

    frame: Any
    places: NDArray[Any]
    labels: NDArray[np.str_]
    weight: Array | None
    trusted: NDArray[np.str_] | None
    facts: TableFacts


@dataclass(frozen=True, eq=False)
class RowBuilder:
    """Turn a piece of columns into labels, weights and, once columns are learned, features.

    Parameters
    ----------
    roles : Roles
        What the columns are for.
    columns : list of str
        Those to learn from.
    numbers : bool
        Whether labels are numbers, as far as was seen.
    answers : CheckedAnswers or None
        What files say of checked rows.
    schema : list of dict
        What these hold, once the rows to learn from are there.
    features : TableEncoder
        From these to features, fitted likewise.
    """

    roles: Roles
    columns: list[str]
    numbers: bool = False
    answers: CheckedAnswers | None = None
    schema: list[dict[str, Any]] = field(default_factory=list)
    features: TableEncoder = None  # type: ignore[assignment]

    def read(self, piece: Piece) -> MadePiece:
        """Read labels and weights of a piece; what is wrong is said with its place."""
        with placed(piece):
            return self._read(piece)

    def _read(self, piece: Piece) -> MadePiece:
        frame, weight = piece.frame, None
        codes, names, labels = self._labels(frame, self.roles.target)
        kept = np.flatnonzero(codes >= 0)
        facts = TableFacts(piece.n_rows, piece.n_rows - len(kept))
        if len(kept) < piece.n_rows:
            frame = frame.take(pa.array(kept))
        frame = self._with_answers(frame, labels[kept], piece.positions[kept], facts)
        self._count_pairs(frame, labels[kept], facts)
        name = self.roles.sample_weight
        if name is not None:
            column = take_column(frame, name, piece.where)
            weight = read_numbers(column, name, what="weights")
        rows, weights = (np.bincount(codes[kept], w, minlength=len(names)) for w in (None, weight))
        for k, name in enumerate(names):
            facts.rows[name] += int(rows[k])
            facts.weight[name] = facts.weight.get(name, 0.0) + float(weights[k])
        trusted = self.trusted(frame)
        return MadePiece(frame, piece.positions[kept], labels[kept], weight, trusted, facts)

    @property
    def encoder(self) -> Encoder:
        """What reads the columns."""
        return self.features.encoder

    def make(self, frame: Any) -> Array:
        """Return the features of rows."""
        return self.features.transform(frame)

    def inputs(self, frame: Any, classifier: Any) -> Any:
        """Return rows as the classifier reads them: columns, or features for another model."""
        return self.encoder.frame(frame) if classifier.estimator is None else self.make(frame)

    def trusted(self, frame: Any) -> NDArray[np.str_] | None:
        """Return the right labels of the rows that were checked, "" of others; None without any."""
        if self.answers is not None:
            return np.array(frame[_CHECKED].to_pylist(), dtype=str)
        column = self.roles.trusted
        return None if column is None else self._labels(frame, column)[2]

    def rounds(self, frame: Any) -> Indices:
        """Return in which file rows were checked, -1 where in none."""
        if self.answers is None:
            return np.full(frame.num_rows, -1)
        return np.array(frame[_ROUND].to_pylist(), dtype=np.intp)

    @property
    def added(self) -> tuple[str, ...]:
        """Columns that are added to those of the table."""
        return () if self.answers is None else (_CHECKED, _ROUND)

    def _with_answers(
        self, frame: Any, labels: NDArray[np.str_], positions: NDArray[Any], facts: TableFacts
    ) -> Any:
        """Return the rows with columns added that hold what files of answers say."""
        if self.answers is None:
            return frame
        ids, given = self.roles.id, None
        if ids is not None:
            ids = as_text(take_column(frame, ids, "The table"), ids, "names")
        if self.roles.trusted is not None:
            given = self._labels(frame, self.roles.trusted)[2].tolist()
        found = self.answers.find(
            labels.tolist(), positions, ids, given, self.roles.trusted or "trusted"
        )
        facts.found.update(found.found)
        right = pa.array(["" if value is None else str(value) for value in found.right])
        columns = [*(frame[name] for name in frame.schema.names), right, pa.array(found.round)]
        return type(frame).from_arrays(columns, names=[*frame.schema.names, _CHECKED, _ROUND])

    def _labels(self, frame: Any, column: str) -> tuple[NDArray[Any], list[str], NDArray[Any]]:
        """Return the labels of a column as codes, the label of each code, and those of the rows."""
        codes, texts = label_codes(take_column(frame, column, "The table"), column)
        names = plain_labels(texts, numbers=self.numbers)
        return codes, names, np.array([*names, ""])[codes]

    def _count_pairs(self, frame: Any, labels: NDArray[np.str_], facts: TableFacts) -> None:
        """Count the pairs of each row's label and its second labels."""
        columns = (self.roles.trusted,) if self.roles.trusted else self.roles.second_label
        trusted = self.trusted(frame)
        if trusted is None and not columns:
            return
        told = [self._labels(frame, column)[2] for column in columns]
        others = np.stack(told if trusted is None else [trusted])
        some = (others != "").any(axis=0)
        kinds, counts = np.unique(
            np.concatenate([labels[None, some], others[:, some]]), axis=1, return_counts=True
        )
        for kind, n in zip(kinds.T.tolist(), counts.tolist(), strict=True):
            facts.pairs[tuple(kind)] += n


class RowSource(ABC):
    """Where the rows of an audit are, what is asked of them, and whom to tell how far it has come.

    `name` is what it is called in messages, `names` are its columns, `reading` says how it is read
    if not into memory, `notes` what to tell of it, and `has_places` whether rows have numbers.
    """

    has_places = True

    def __init__(
        self, options: AuditOptions, say: Say | None, names: list[str], reading: str = ""
    ) -> None:
        self.options, self.say = options, say or say_nothing
        self.name, self.names = options.name or "the table", names
        self.reading = reading
        self.notes: list[str] = []

    def columns_read(self, maker: RowBuilder) -> list[str]:
        """Return the columns that rows are needed with, the target first."""
        return self.options.columns_read(maker.columns, self.names, self.name)

    @abstractmethod
    def look(self, columns: list[str]) -> list[tuple[Any, NDArray[Any]]]:
        """Return rows to judge the columns by, in blocks, and the numbers of these rows."""

    @abstractmethod
    def draw(self, maker: RowBuilder, size: int) -> tuple[TableFacts, LabelSample]:
        """Count all rows, and draw those to learn from."""

    @abstractmethod
    def score(self, task: ScoreTask) -> Scored | None:
        """Have every row scored."""


def say_nothing(_: str) -> None:
    """Report no progress."""


@dataclass(frozen=True, eq=False)
class CountedSample:
    """What was counted in some rows, and those of them that were drawn; merges."""

    facts: TableFacts
    sample: LabelSample

    def merge(self, other: CountedSample) -> CountedSample:
        """Return the same of both sets of rows."""
        return CountedSample(self.facts.merge(other.facts), self.sample.merge(other.sample))


@dataclass(frozen=True)
class DrawTask:
    """Count the rows of a piece, and draw some of them."""

    maker: RowBuilder
    size: int
    seed: int
    n_parts: int = 1
    id: str | None = None

    def __call__(self, piece: Piece) -> CountedSample:
        """Count and draw."""
        made = self.maker.read(piece)
        return CountedSample(made.facts, sample_of(made, self.size, self.seed, self.id))

    def packed(self, found: CountedSample) -> CountedSample:
        """Return what a part on another machine sends."""
        return replace(found, sample=found.sample.packed(self.n_parts))


def sample_of(made: MadePiece, size: int, seed: int, name: str | None = None) -> LabelSample:
    """Return the rows of a piece that may be in the sample: all that were checked among them.

    Rows are drawn by their names in the column `name`, the same rows wherever they are, or by their
    places.
    """
    places = made.places.astype(np.int64)
    named = places if name is None else name_keys(take_column(made.frame, name, "The table"))
    beside: dict[str, Any] = {"label": made.labels}
    if made.weight is not None:
        beside["weight"] = made.weight
    checked = None
    if made.trusted is not None:
        beside["trusted"], checked = made.trusted, made.trusted != ""
    rows = Rows(made.frame, places, draw_keys(named, seed), beside)
    return LabelSample.of(rows, made.labels, size, checked)


@dataclass(frozen=True, eq=False)
class Scored:
    """How many rows the model flags, and those with the most suspicious labels; merges."""

    n_flagged: int
    suspects: LabelSample

    def merge(self, other: Scored) -> Scored:
        """Return the same of both sets of rows."""
        return Scored(self.n_flagged + other.n_flagged, self.suspects.merge(other.suspects))


@dataclass(frozen=True)
class ScoreTask:
    """Count flagged rows and find the most suspicious labels of a piece, but for the sample's rows.

    `known` are the places of the sample, or the names of its rows in the column `id` where rows
    have no places, as an Arrow array.
    """

    maker: RowBuilder
    model: FlipCostClassifier
    prices: Costs
    known: Any
    id: str | None = None

    def __call__(self, piece: Piece) -> Scored | None:
        """Score the rows of a piece."""
        made = self.maker.read(piece)
        names = pa.array(made.places.astype(np.int64))
        if self.id is not None:
            names = take_column(made.frame, self.id, "The table")
        drawn = pc.is_in(names, value_set=self.known.cast(names.type))
        others = np.flatnonzero(~drawn.to_numpy(zero_copy_only=False))
        if not len(others):
            return None
        # Rows are scored before some are left out: copying them takes longer than scoring them.
        model = self.model
        with placed(piece, " If the rows that were drawn misled, give `categorical`."):
            found = model.predict_proba(self.maker.inputs(made.frame, model))
            costs = row_prices(self.prices, made.frame, "The table")
        found = found[:, model.classes_.tolist().index(model.pos_label)]
        flagged = bayes_flags(found, self.prices if costs is None else costs, model.chosen_)
        probability = model.clean_probability(found)
        positive = made.labels == model.pos_label
        keys = (np.where(positive, probability, 1 - probability) * _FINE).astype(np.int64)
        beside = {"positive": positive, "probability": probability}
        rows = Rows(made.frame, made.places.astype(np.int64), keys, beside)
        codes = positive.astype(int)
        kept = {
            (code, False): Kept.of(_SUSPECTS, rows, others[codes[others] == code])
            for code in np.flatnonzero(np.bincount(codes[others])).tolist()
        }
        return Scored(int(np.count_nonzero(flagged[others])), LabelSample(kept))


class TableInMemory(RowSource):
    """A table that is held: a source of one piece.

    `rows` and `n_rows` say which rows of a larger table these are, and how many it has, when it was
    sampled already.
    """

    def __init__(
        self,
        table: Any,
        options: AuditOptions,
        say: Say | None,
        rows: Any = None,
        n_rows: Any = None,
    ):
        self._table = as_arrow(table)
        super().__init__(options, say, self._table.column_names)
        self._n_rows = self._table.num_rows if n_rows is None else n_rows
        self._rows = np.arange(self._table.num_rows) if rows is None else np.asarray(rows)
        if self._n_rows > len(self._rows):
            self.notes.append(
                f"A random sample of {len(self._rows):,} of {self._n_rows:,} rows was audited."
            )

    def look(self, columns: list[str]) -> list[tuple[Any, NDArray[Any]]]:
        """Return all rows with a label."""
        options = self.options
        labels = read_labels(take_column(self._table, options.target, self.name), options.target)
        # All labels are at hand: what is wrong with them is said before what is with columns.
        two_classes(labels, options.target, options.pos_label)
        kept = np.flatnonzero([label is not None for label in labels])
        self._unlabelled = len(labels) - len(kept)
        self._table, self._rows = self._table.take(pa.array(kept)), self._rows[kept]
        return [(self._table.select(columns), self._rows)]

    def draw(self, maker: RowBuilder, size: int) -> tuple[TableFacts, LabelSample]:
        """Read the one piece, and draw from it."""
        made = maker.read(self._piece())
        facts = replace(made.facts, n_rows=self._n_rows, unlabelled=self._unlabelled)
        seed, names = self.options.random_state, self.options.id
        sample = sample_of(made, size, seed, None if len(made.labels) <= size else names)
        return facts, sample if sample.tells_apart else sample_of(made, size, seed)

    def score(self, task: ScoreTask) -> Scored | None:
        """Score the one piece."""
        return task(self._piece())

    def _piece(self) -> Piece:
        return Piece("", 0, self._table, places=self._rows)


class FilesInPasses(RowSource):
    """Files of any size, their text read as text, here or on a cluster: a source of many pieces."""

    def __init__(self, files: FileSet, options: AuditOptions, say: Say | None, *, on_cluster: bool):
        where = " on a Dask cluster" if on_cluster else ""
        super().__init__(options, say, files.names, f"read piece by piece{where}")
        self._files, self._on_cluster = files, on_cluster

    def look(self, columns: list[str]) -> list[tuple[Any, NDArray[Any]]]:
        """Return consecutive rows of several places."""
        self.say("looking at the columns")
        self._files.check_columns(columns)
        blocks = self._files.look(columns, _LOOK_ROWS)
        return [(block, np.arange(block.num_rows)) for block in blocks]

    def draw(self, maker: RowBuilder, size: int) -> tuple[TableFacts, LabelSample]:
        """Read all rows once."""
        self.say("drawing rows")
        table = self._table(maker)
        task = DrawTask(maker, size, self.options.random_state, table.n_parts or 1, self.options.id)
        found = table.required(table.reduce(task))
        if task.id is not None and not found.sample.tells_apart:  # many rows share a name
            found = table.required(table.reduce(replace(task, id=None)))
        return found.facts, found.sample

    def score(self, task: ScoreTask) -> Scored | None:
        """Read all rows again."""
        self.say("scoring all rows")
        found: Scored | None = self._table(task.maker).reduce(task)
        return found

    def _table(self, maker: RowBuilder) -> FileTable:
        read = self.columns_read(maker)
        layout = Layout(self.options.target, tuple(read[1:]))
        reading = Reading(layout, on_cluster=self._on_cluster)
        return FileTable(self._files, reading, progress=_reports(self.say))


class TableInEngine(RowSource):
    """A table that stays in its engine: counted there by queries, from which rows are drawn."""

    def __init__(self, engine: Engine, n_rows: int, options: AuditOptions, say: Say | None):
        layout = Layout(
            options.target,
            weight=options.sample_weight,
            fold_by=options.id,
            fold_seed=options.random_state,
        )
        self._table = EngineTable(engine, layout)
        reading = f"drawn and scored by queries in {engine.title}"
        super().__init__(options, say, self._table.names, reading)
        # Numbers that do not stay are used where there are no names.
        stay = engine.counts_rows or options.id is None
        self.has_places, self._n_rows = self._table.has_numbers and stay, n_rows
        if options.id is None and not engine.counts_rows:
            self.notes.append(
                f"Rows of {engine.title} have no permanent numbers, and are named by their "
                "place; give `id` to name them."
            )

    def look(self, columns: list[str]) -> list[tuple[Any, NDArray[Any]]]:
        """Return rows of the table, drawn."""
        self.say("looking at the columns")
        frame, rows = self._table.look(columns, _LOOK_ROWS, self._n_rows)
        return [(frame, rows)] if frame.num_rows else []

    def draw(self, maker: RowBuilder, size: int) -> tuple[TableFacts, LabelSample]:
        """Count labels by a query, and draw rows by another."""
        options = self.options
        self.say("counting")
        counts = self._table.count(options.groups)
        if len(counts) >= MOST_LABELS:
            some = shorten(list(counts)[:3])
            msg = (
                f"Column {options.target!r} must hold two classes; it holds {MOST_LABELS:,} or "
                f"more, as {some}. Is it the column of labels?"
            )
            raise TableError(msg)
        values = [label for label in counts if label is not None]
        names = dict(zip(values, self._called(maker, values), strict=True))
        total = sum(n for n, _ in counts.values())
        facts = TableFacts(total, counts.pop(None, (0, 0.0))[0])
        for label, (n, weight) in counts.items():
            name = names[label]
            facts.rows[name] += n
            facts.weight[name] = facts.weight.get(name, 0.0) + weight
        others = [options.trusted] if options.trusted else list(options.roles.second_label)
        if others:
            facts.pairs.update(self._pairs(maker, others, names))
        if len(facts.rows) != 2:  # which is said by who asked
            return facts, LabelSample({})
        answers = maker.answers
        if answers is not None and answers.by_row:
            row = answers.rows[next(iter(answers.by_row.values()))[0]]
            msg = f"{row.where}: rows of a database are found by their names only; give `id`."
            raise TableError(msg)
        self.say("drawing rows")
        shares, expected = shares_of(facts.rows, size)
        read = self.columns_read(maker)
        piece = self._table.draw_piece(
            read,
            {value: shares[name] for value, name in names.items()},
            expected,
            trusted=options.trusted,
            ids=() if answers is None or options.id is None else tuple(answers.by_id),
            by_key=options.id is not None,
        )
        if not self.has_places:  # in the order of their names
            order = np.argsort(name_keys(piece.frame[options.id]), kind="stable")
            places = np.arange(piece.n_rows, dtype=np.uint64)
            piece = replace(piece, frame=piece.frame.take(order), places=places)
        made = maker.read(piece)
        facts.found.update(made.facts.found)
        if answers is not None and options.trusted is None:
            facts.pairs.update(made.facts.pairs)
        sample = sample_of(made, len(made.labels), options.random_state, options.id)
        return facts, sample.standing_for(facts.rows, self.name)

    def score(self, task: ScoreTask) -> Scored | None:
        """Have all rows come by, some at a time."""
        self.say("scoring all rows")
        pieces = self._table.pieces(self.columns_read(task.maker))
        found: Scored | None = reduce_pieces(
            pieces, task, Reporter(_reports(self.say), None), thread_count(None)
        )
        return found

    def _called(self, maker: RowBuilder, values: Sequence[Any]) -> list[str]:
        codes, texts = label_codes(pa.array(values), self.options.target)
        names = plain_labels(texts, numbers=maker.numbers)
        return [names[code] for code in codes]

    def _pairs(
        self, maker: RowBuilder, others: Sequence[str], names: dict[Any, str]
    ) -> Counter[tuple[str, ...]]:
        pairs: Counter[tuple[str, ...]] = Counter()
        for (label, *told), n in self._table.patterns(others):
            said = [value for value in told if value is not None]
            flagged = iter(self._called(maker, said))
            kinds = ("" if value is None else next(flagged) for value in told)
            if label in names:
                pairs[names[label], *kinds] += n
        return pairs


def _reports(say: Say) -> Callable[[Progress], None]:
    """Return what reading reports to: a word now and then."""
    last = perf_counter()

    def report(progress: Progress) -> None:
        nonlocal last
        now = perf_counter()
        if now - last > _PAUSE:
            last = now
            say(f"{progress.rows:,} rows read")

    return report
