"""Tables that are too large to hold: passes over their rows, whatever the route."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from flipcost.core.folds import hash_folds
from flipcost.core.moments import ClassMoments
from flipcost.exceptions import SourceError
from flipcost.tables import arrow
from flipcost.tables.encoder import Encoder
from flipcost.tables.passes import (
    DrawTask,
    MomentsTask,
    Progress,
    Reporter,
    Task,
    reduce_pieces,
)
from flipcost.tables.pipelines import TableEncoder
from flipcost.tables.rows import Layout, Piece
from flipcost.tables.sample import FEWEST, Drawn, RowSample, sample_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.tables.rows import LabeledMoments
    from flipcost.tables.sample import LabelSample


class Table(ABC):
    """Rows that are read in passes and never held all at once.

    Made by `scan_parquet`, `scan_csv`, `scan_batches` and `scan_dask`. `FlipCostClassifier`
    learns from rows that are drawn in one pass. The closed form gathers the moments of every fold;
    a search among its candidates compares them on rows that are drawn.

    Parameters
    ----------
    layout : Layout
        Roles of the columns.
    positive : label, optional
        The positive label; the larger one when None.

    Examples
    --------
    >>> from flipcost.scale import scan_batches
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> table = scan_batches([(X[:3], y[:3]), (X[3:], y[3:])])
    >>> table.moments().mean.ravel()
    array([0.5, 3.5])
    """

    def __init__(self, layout: Layout, positive: Any = None):
        self._positive = positive
        self._lay_out(layout)

    @property
    def layout(self) -> Layout:
        """Roles of the columns."""
        return self._layout

    @property
    def positive(self) -> Any:
        """The positive label that was given, or None."""
        return self._positive

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, once the columns are known."""
        return self._layout.feature_names

    @property
    def encoder(self) -> TableEncoder | None:
        """How columns become features, or None when numbers are taken as they are."""
        return self._layout.encoder

    @abstractmethod
    def reduce(self, task: Task) -> Any:
        """Run a task on every piece of the table and return the merge of its results.

        Parameters
        ----------
        task : callable
            A function of a `Piece` whose results have ``merge``. Routes through other processes
            send it there.

        Returns
        -------
        The merged result, or None when there are no rows.
        """

    @property
    def n_parts(self) -> int | None:
        """Number of parts whose results travel from one machine to another; None if none do."""
        return None

    def _with_layout(self, layout: Layout) -> Self:
        """Return the same rows, read in another way."""
        found = copy(self)
        found._lay_out(layout)  # noqa: SLF001 - a copy of us
        return found

    def _lay_out(self, layout: Layout) -> None:
        self._layout = layout

    def with_encoder(self, encoder: TableEncoder | None = None) -> Self:
        """Return the same table with its columns encoded.

        Parameters
        ----------
        encoder : TableEncoder, optional
            Its columns become the features; learned by `learn_encoder` when None.
        """
        encoder = self.learn_encoder() if encoder is None else encoder
        return self._with_layout(replace(self._layout, columns=None, encoder=encoder))

    def learn_encoder(
        self, categorical: Sequence[str] = (), sample_rows: int | None = None
    ) -> TableEncoder:
        """Learn what the columns hold from rows that are drawn in one pass.

        Parameters
        ----------
        categorical : sequence of str
            Columns of numbers that are codes of a category.
        sample_rows : int, optional
            Rows to draw, as in `draw`.

        Returns
        -------
        TableEncoder

        Examples
        --------
        >>> import pyarrow as pa
        >>> from flipcost.scale import scan_batches
        >>> frame = pa.record_batch({"age": [20, 40], "town": ["Nice", "Lyon"], "y": [0, 1]})
        >>> table = scan_batches([frame], "y")
        >>> table.with_encoder(table.learn_encoder()).fold_moments(1).names
        ('age', 'town = Lyon', 'town = Nice')
        """
        plain = self._with_layout(replace(self._layout, encoder=None))
        drawn = plain.draw(sample_rows)
        rows = drawn.rows.frame
        if not hasattr(rows, "schema"):
            msg = "An encoder is learned of named columns; rows of arrays are numbers already."
            raise SourceError(msg)
        weight = None if drawn.is_all else drawn.stands_for
        encoder = Encoder.learn(rows, categorical=categorical, sample_weight=weight)
        return TableEncoder(encoder).fit(rows, sample_weight=weight)

    def fold_moments(self, n_folds: int) -> LabeledMoments:
        """Gather the moments of every fold in one pass.

        Parameters
        ----------
        n_folds : int
            Number of folds. A row's fold is a hash of its position in the table, or of its
            identifier when the table was made with ``fold_by``.

        Returns
        -------
        LabeledMoments
            Labels in sorted order; see its `oriented`.
        """
        found: LabeledMoments = self.required(self.reduce(MomentsTask(self._layout, n_folds)))
        return found

    def moments(self) -> ClassMoments:
        """Gather the moments of all rows in one pass, the positive label at 1."""
        return self.fold_moments(1).oriented(self._positive).parts[0]

    def draw(self, size: int | None = None) -> Drawn:
        """Draw a sample of the rows, in one pass.

        Parameters
        ----------
        size : int, optional
            Rows to draw: all of the rarer label, up to half of them. As many as a fit learns from
            when None; all when there are fewer.

        Returns
        -------
        Drawn
        """
        task = DrawTask(self._layout, self._draw_size(size), self.n_parts or 1)
        found: LabelSample = self.required(self.reduce(task))
        return self._encoded(found.drawn(task.size))

    def _encoded(self, drawn: Drawn) -> Drawn:
        if self.encoder is None:
            return drawn
        X = self.encoder.transform(drawn.rows.frame)
        return replace(drawn, rows=replace(drawn.rows, frame=X))

    def _draw_size(self, size: int | None) -> int:
        if size is None:
            columns = self._layout.columns
            return sample_size(0 if columns is None else len(columns))
        if size < FEWEST or size != int(size):
            msg = f"`sample_rows` must be a whole number of at least {FEWEST}; got {size!r}."
            raise ValueError(msg)
        return int(size)

    def sample(self, n_rows: int | None = None, n_folds: int = 1) -> RowSample:
        """Draw rows as `draw` does, to be held in memory as features, labels and weights.

        Parameters
        ----------
        n_rows : int, optional
            Rows to draw, as in `draw`.
        n_folds : int, default=1
            Number of folds, as in `fold_moments`.

        Returns
        -------
        RowSample
            With attributes X, y, weight and folds; the weights sum to the rows of the table.

        Examples
        --------
        >>> from flipcost.scale import scan_batches
        >>> X, y = np.arange(100.0)[:, None], np.arange(100) % 5 == 0
        >>> sample = scan_batches([(X[:50], y[:50]), (X[50:], y[50:])]).sample(60)
        >>> sample.X.shape, sample.weight.sum()
        ((60, 1), np.float64(100.0))
        """
        drawn = self.draw(n_rows)
        rows, weight = drawn.rows, drawn.stands_for
        X = rows.frame
        if hasattr(X, "schema"):
            X = self._layout.numbers(X, X.schema.names, self._name())
        X = X.toarray() if sparse.issparse(X) else X
        given = rows.beside.get("weight")
        y = np.array(drawn.labels)[drawn.codes]
        folds = np.zeros(len(y), np.int16) if n_folds == 1 else self._folds(drawn, n_folds)
        return RowSample(X, y, weight if given is None else weight * given, folds)

    def _folds(self, drawn: Drawn, n_folds: int) -> NDArray[np.int16]:
        """Return the folds of rows that were drawn, as `fold_moments` has them."""
        keys = drawn.rows.beside.get("group", drawn.rows.position.astype(np.uint64))
        return hash_folds(keys, n_folds, self._layout.fold_seed)

    def required(self, result: Any) -> Any:
        """Return the result of a pass; refuse a source without rows."""
        if result is None:
            msg = f"{self._name()} must hold rows to learn from; got none."
            raise SourceError(msg)
        return result

    def _name(self) -> str:
        return "The source"


class BatchTable(Table):
    """A table whose rows come from an iterable of batches, one at a time.

    Batches are never held: an iterable that fills the same buffer again for each is welcome.
    """

    def __init__(
        self,
        batches: Iterable[Any] | Callable[[], Iterable[Any]],
        layout: Layout,
        positive: Any = None,
        progress: Callable[[Progress], None] | str | None = None,
    ):
        super().__init__(layout, positive)
        self._batches = batches
        self._progress = progress
        self._spent = False

    def reduce(self, task: Task) -> Any:
        return reduce_pieces(self._pieces(), task, Reporter(self._progress, None))

    def _pieces(self) -> Iterator[Piece]:
        start = 0
        columns: list[str] | None = None
        for number, batch in enumerate(self._iterate()):
            where = f"batch {number}"
            if isinstance(batch, (tuple, list)):
                piece = Piece(where, start, arrays=_triple(batch, where))
            else:
                frame = _frame(batch, where)
                columns = columns or list(frame.schema.names)
                piece = Piece(where, start, _in_order(frame, columns, self._layout, where))
            yield piece
            start += piece.n_rows

    def _iterate(self) -> Iterable[Any]:
        if callable(self._batches):
            return self._batches()
        if iter(self._batches) is self._batches:
            if self._spent:
                msg = (
                    "An iterator can be read once only, and this takes another pass. Give a list, "
                    "or a function that returns the batches anew."
                )
                raise ValueError(msg)
            self._spent = True
        return self._batches


def _frame(batch: Any, where: str) -> Any:
    try:
        return arrow.as_arrow(batch, where)
    except TypeError as error:
        msg = (
            f"{where}: a batch must be a pair (X, y), a triple (X, y, weight), an Arrow record "
            f"batch or table, or a pandas or polars DataFrame; got {type(batch).__name__}."
        )
        raise SourceError(msg) from error


def _triple(batch: Any, where: str) -> tuple[Any, Any, Any]:
    if len(batch) not in (2, 3):
        msg = (
            f"{where}: a batch of arrays must be (X, y) or (X, y, weight); got {len(batch)} parts."
        )
        raise SourceError(msg)
    X, y, *weight = batch
    rows = X if sparse.issparse(X) else np.asarray(X)
    return rows, np.asarray(y), weight[0] if weight else None


def _in_order(frame: Any, columns: list[str], layout: Layout, where: str) -> Any:
    """Put the columns in the order of the first batch, of which none may be missing."""
    if layout.columns is not None or frame.schema.names == columns:
        return frame
    if set(frame.schema.names) != set(columns):
        odd = sorted(set(frame.schema.names) ^ set(columns))
        msg = (
            f"{where}: columns must be those of the first batch; {odd} are in one of them only. "
            "Name the features in `columns`."
        )
        raise SourceError(msg)
    return frame.select(columns)
