"""Tables that are too large to hold: passes over their rows, whatever the route."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from flipcost.core.confusion import ConfusionCounts
from flipcost.core.moments import ClassMoments
from flipcost.exceptions import SourceError
from flipcost.tables.passes import (
    ConfusionsTask,
    DrawTask,
    MomentsTask,
    SummaryTask,
    Task,
)
from flipcost.tables.sample import FEWEST, Drawn, RowSample, sample_size

if TYPE_CHECKING:
    from flipcost.tables.rows import LabeledMoments, Layout
    from flipcost.tables.sample import LabelSample
    from flipcost.tables.summary import TableSummary
    from flipcost.tables.table_encoder import TableEncoder


class Table(ABC):
    """Rows that are read in passes and never held all at once.

    Made by `scan_parquet`, `scan_csv`, `scan_batches` and `scan_dask`. `FlipCostClassifier`
    learns from rows that are drawn in one pass. The closed form gathers the moments of every fold
    in a first pass, and counts the calls of classifiers that have not seen the fold in a second.

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
        self._layout = layout
        self._positive = positive

    @property
    def layout(self) -> Layout:
        """Roles of the columns."""
        return self._layout

    @property
    def positive(self) -> Any:
        """The positive label that was given, or None."""
        return self._positive

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

    @abstractmethod
    def _with_layout(self, layout: Layout) -> Self:
        """Return the same rows, read in another way."""

    def with_encoder(self, encoder: TableEncoder) -> Self:
        """Return the same table with its columns encoded.

        Parameters
        ----------
        encoder : TableEncoder
            Learned by `summary` in a first pass, or given; its columns become the features.
        """
        return self._with_layout(replace(self._layout, columns=None, encoder=encoder))

    def summary(self, categorical: Sequence[str] = ()) -> TableSummary:
        """Learn means, scales and levels of the columns in one pass.

        Parameters
        ----------
        categorical : sequence of str
            Columns of numbers that are codes of a category.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from flipcost.scale import scan_batches
        >>> frame = pa.record_batch({"age": [20, 40], "town": ["Nice", "Lyon"], "y": [0, 1]})
        >>> table = scan_batches([frame], "y")
        >>> encoder = table.summary().encoder(standardize=True)
        >>> table.with_encoder(encoder).fold_moments(1).names
        ('age', 'town=Lyon', 'town=Nice')
        """
        task = SummaryTask(self._layout, tuple(categorical))
        found: TableSummary = self.required(self.reduce(task))
        return found

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

    def confusions(self, coefficients: ArrayLike, labels: tuple[Any, ...]) -> ConfusionCounts:
        """Count labels against calls for each fold's own classifiers, in one pass.

        Parameters
        ----------
        coefficients : array-like of shape (n_folds, n_classifiers, d + 1)
            Coefficients with the bias last. Rows of fold k, by the same hash as in
            `fold_moments`, are scored by ``coefficients[k]``.
        labels : tuple of two labels
            The negative label and the positive one, as in ``LabeledMoments.labels``.

        Returns
        -------
        ConfusionCounts
            Of shape (n_folds, n_classifiers, 2, 2).
        """
        path = check_coefficients(coefficients)
        counts: ConfusionCounts = self.required(
            self.reduce(ConfusionsTask(self._layout, path, check_labels(labels)))
        )
        return counts

    def draw(self, size: int | None = None) -> Drawn:
        """Draw the rows that stand for the table, in one pass.

        Parameters
        ----------
        size : int, optional
            Rows to draw: all of the rarer label, up to half of them. As many as a fit learns from
            when None; all when there are fewer.

        Returns
        -------
        Drawn
        """
        task = DrawTask(self._layout, self._draw_size(size), n_parts=self.n_parts or 1)
        found: LabelSample = self.required(self.reduce(task))
        return found.drawn(task.size)

    def _draw_size(self, size: int | None) -> int:
        if size is None:
            columns = self._layout.columns
            return sample_size(0 if columns is None else len(columns))
        if size < FEWEST or size != int(size):
            msg = f"`sample_rows` must be a whole number of at least {FEWEST}; got {size!r}."
            raise ValueError(msg)
        return int(size)

    def sample(self, n_rows: int, seed: int = 0) -> RowSample:
        """Draw rows uniformly without replacement in one pass, to be held in memory.

        Parameters
        ----------
        n_rows : int
            Rows to draw; all when there are fewer.
        seed : int, default=0
            Another seed draws other rows. The draw does not depend on how the rows arrive, where
            they are numbered through.

        Returns
        -------
        RowSample
            With attributes X, y and weight.

        Examples
        --------
        >>> from flipcost.scale import scan_batches
        >>> X, y = np.arange(100.0)[:, None], np.arange(100) % 2
        >>> scan_batches([(X[:50], y[:50]), (X[50:], y[50:])]).sample(10).X.shape
        (10, 1)
        """
        if n_rows < 1:
            msg = f"`n_rows` must be at least 1; got {n_rows}."
            raise ValueError(msg)
        task = DrawTask(self._layout, n_rows, by_label=False, seed=seed)
        found: LabelSample = self.required(self.reduce(task))
        rows = found.drawn(n_rows).rows
        return RowSample(rows.rows, rows.beside["y"], rows.beside.get("weight"))

    def required(self, result: Any) -> Any:
        """Return the result of a pass, or say that there were no rows."""
        if result is None:
            msg = f"{self._name()} must hold rows to learn from; got none."
            raise SourceError(msg)
        return result

    def _name(self) -> str:
        return "The source"


def check_coefficients(coefficients: ArrayLike) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return coefficients by fold and classifier; refuse others."""
    path = np.asarray(coefficients, dtype=float)
    if path.ndim != 3:
        msg = (
            "`coefficients` must have shape (n_folds, n_classifiers, d + 1), the bias last; got "
            f"{path.shape}."
        )
        raise ValueError(msg)
    return path


def check_labels(labels: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the two labels; refuse others."""
    if len(labels) != 2 or labels[0] == labels[1]:
        msg = f"`labels` must be two, the negative and the positive one; got {labels!r}."
        raise ValueError(msg)
    return tuple(labels)
