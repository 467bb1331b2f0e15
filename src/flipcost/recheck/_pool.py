"""Rows to choose from after an audit: what its folder keeps, so that no new audit is needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flipcost.core.arrays import Array, Flags
from flipcost.core.checked_rows import CheckedRows
from flipcost.core.confusion import Interval
from flipcost.core.rate_posterior import RatePosterior
from flipcost.core.recheck import draw_rows, spread_order, value_checks
from flipcost.exceptions import TableError
from flipcost.recheck._files import RowToCheck
from flipcost.recheck._match import CheckedAnswers
from flipcost.recheck._next import reasons

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.recheck._files import CheckedRow

POOL_FILE = "recheck-pool.parquet"
# Of a larger table this many rows can be chosen from.
POOL_ROWS = 5_000
# What the facts are called in the file: another form of them gets another name.
_KEY = b"flipcost pool 3"
# Any number of the file is smaller.
_LARGE = 1e100
_Between = Annotated[float, msgspec.Meta(gt=0, lt=1)]
_DIRECTION = "direction "
_CELL = "cell "


@dataclass(frozen=True, eq=False)
class PoolFacts:
    """What else must be known to choose rows.

    Attributes
    ----------
    labels : pair of str
        The negative label and the positive one.
    target : str
        Their column.
    posterior : RatePosterior
        Over the noise rates.
    cost : float
        Share of the cost that a false positive bears.
    unit : float
        What one unit of cost is in the user's prices.
    level : float
        Level of intervals.
    n_rows : int
        Rows of the table.
    columns : tuple of str
        Columns that matter, those first that move the model most.
    seed : int
        Of the first draw.
    paid : float or None
        What a row costs now, in units of `unit`.
    """

    labels: tuple[str, str]
    target: str
    posterior: RatePosterior
    cost: _Between
    unit: Annotated[float, msgspec.Meta(gt=0, lt=_LARGE)]
    level: _Between
    n_rows: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    columns: tuple[str, ...]
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    paid: Annotated[float, msgspec.Meta(ge=0, lt=_LARGE)] | None = None


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows that were chosen, and what they are worth.

    Attributes
    ----------
    rows : list of RowToCheck
        The rows, in the order to check them in.
    columns : tuple of str
        Columns that matter.
    saving : Interval
        What a row is expected to cost less once they are checked, in the user's prices.
    n_rows : int
        Rows of the table.
    n_checked : int
        Rows that were checked before.
    """

    rows: list[RowToCheck]
    columns: tuple[str, ...]
    saving: Interval
    n_rows: int
    n_checked: int = 0


@dataclass(frozen=True, eq=False)
class CheckPool:
    """Rows that may be asked for, and all that choosing among them needs.

    Attributes
    ----------
    row : ndarray of int, shape (n,)
        Rows of the table, the first being 1.
    positive : ndarray of bool, shape (n,)
        Which labels are positive.
    probability : ndarray of shape (n,)
        Out-of-fold probability that the clean label is.
    weight : ndarray of shape (n,)
        How many rows each represents.
    chance : ndarray of shape (n,)
        With which each came into the pool; it depends on label and score alone.
    directions : ndarray of shape (n, k)
        What draws are spread over.
    checked : ndarray of int, shape (n,)
        1 for rows known to be positive, 0 for those known to be negative, -1 for others.
    cells : Arrow table
        The rows as text.
    ids : list of str or None
        Their names.
    facts : PoolFacts
        The rest.
    """

    row: NDArray[np.int64]
    positive: NDArray[np.bool_]
    probability: Array
    weight: Array
    chance: Array
    directions: Array
    checked: NDArray[np.int8]
    cells: Any
    ids: list[str | None] | None
    facts: PoolFacts

    def choose(
        self,
        n: int = 50,
        *,
        answers: Sequence[Iterable[CheckedRow]] = (),
        handed_out: Iterable[CheckedRow] = (),
        random: bool = False,
    ) -> Batch:
        """Choose the rows to check next.

        Parameters
        ----------
        n : int, default=50
            How many; fewer if fewer are left.
        answers : sequence of sequences of CheckedRow
            What files say that came after the audit.
        handed_out : iterable of CheckedRow
            Rows that someone has already, answered or not.
        random : bool, default=False
            Whether to draw a plain sample.

        Returns
        -------
        Batch
        """
        known = self._known(answers)
        closed = self._places(handed_out) | (known >= 0)
        if closed.all():
            msg = "No row is left to choose: all were handed out; audit the table again for more."
            raise TableError(msg)
        facts, n = self.facts, min(n, int((~closed).sum()))
        some = np.flatnonzero(known >= 0)
        choice = value_checks(
            self.positive,
            self.probability,
            facts.posterior,
            facts.cost,
            n,
            checked=CheckedRows(some, known[some] > 0) if len(some) else None,
            sample_weight=self.weight,
            level=facts.level,
            random=random,
            skip=closed,
            paid=np.inf if facts.paid is None else facts.paid,
        )
        # Batches differ: the seed of each follows from how many rows were handed out before.
        seed = facts.seed + int(closed.sum())
        rows = draw_rows(
            choice.chance, spread_order(choice.cells.cell, self.directions, seed), seed
        )
        words = reasons(choice, rows, facts.cost, facts.labels, random=random, n_rows=facts.n_rows)
        found = [
            self._row(int(k), float(choice.chance[k]), why, float(choice.suspicion[k]))
            for k, why in zip(rows, words, strict=True)
        ]
        priced = choice.saving.times(facts.unit)
        return Batch(found, facts.columns, priced, facts.n_rows, len(some))

    def _row(self, place: int, chance: float, reason: str, suspicion: float) -> RowToCheck:
        cells = {name: self.cells[name][place].as_py() or "" for name in self.cells.column_names}
        return RowToCheck(
            row=int(self.row[place]),
            id=None if self.ids is None else self.ids[place],
            label=self.facts.labels[int(self.positive[place])],
            probability=float(self.chance[place]) * chance,
            reason=reason,
            suspicion=suspicion,
            cells=cells,
        )

    def _known(self, answers: Sequence[Iterable[CheckedRow]]) -> NDArray[np.int8]:
        """Return what is known of each row: by the audit, and by answers since."""
        labels = np.asarray(self.facts.labels)[self.positive.astype(int)].tolist()
        found = CheckedAnswers.of(
            answers, self.facts.labels, self.facts.target, with_ids=self.ids is not None
        ).find(labels, self.row - 1, self.ids)
        known = self.checked.copy()
        for place, right in enumerate(found.right):
            if right is not None:
                known[place] = right == self.facts.labels[1]
        return known

    def _places(self, rows: Iterable[CheckedRow]) -> NDArray[np.bool_]:
        """Tell which rows of the pool are among some."""
        rows = list(rows)
        numbers = [row.row for row in rows if row.row is not None]
        found = np.isin(self.row, numbers)
        if self.ids is not None:
            names = {row.id for row in rows if row.id is not None}
            found = found | np.array([name in names for name in self.ids])
        return np.asarray(found)

    def write(self, path: Any) -> None:
        """Write the pool to a Parquet file."""
        ours: dict[str, Any] = {
            "row": self.row,
            "positive": self.positive,
            "probability": self.probability,
            "weight": self.weight,
            "chance": self.chance,
            "checked": self.checked,
        }
        if self.ids is not None:
            ours["id"] = pa.array(self.ids, pa.string())
        ours |= {f"{_DIRECTION}{j}": column for j, column in enumerate(self.directions.T)}
        cells = {f"{_CELL}{name}": self.cells[name] for name in self.cells.column_names}
        table = pa.table(ours | cells)
        pq.write_table(
            table.replace_schema_metadata({_KEY: _as_json(self.facts)}),
            path,
            compression="zstd",
        )

    @classmethod
    def read(cls, folder: Any) -> CheckPool:
        """Read the pool of an audit's folder."""
        path = Path(folder) / POOL_FILE
        if not path.is_file():
            msg = (
                f"{folder} has no {POOL_FILE}: give a folder that `flipcost audit` wrote, or audit "
                "the table again."
            )
            raise TableError(msg)
        try:
            return cls._of(pq.read_table(path))
        # Columns of odd types fail in many ways.
        except (
            OSError,
            KeyError,
            ValueError,
            TypeError,
            OverflowError,
            pa.ArrowException,
        ) as error:
            msg = f"{path} is damaged, or of another version; audit the table again."
            raise TableError(msg) from error

    @classmethod
    def _of(cls, table: Any) -> CheckPool:
        """Return the pool in a table, or raise whatever is wrong with it."""
        column = {name: table[name].combine_chunks() for name in table.column_names}
        facts = _from_json(table.schema.metadata[_KEY])
        row, checked = _numbers(column["row"], 1, facts.n_rows), _numbers(column["checked"], -1, 1)
        directions = [_numbers(column[name]) for name in column if name.startswith(_DIRECTION)]
        return cls(
            row=row.astype(np.int64),
            positive=_numbers(column["positive"], 0, 1).astype(bool),
            probability=_numbers(column["probability"], 0, 1),
            weight=_numbers(column["weight"], 0),
            chance=_numbers(column["chance"], 0, 1),
            directions=np.column_stack([np.empty((table.num_rows, 0)), *directions]),
            checked=checked.astype(np.int8),
            cells=pa.table(
                {
                    name.removeprefix(_CELL): column[name].cast(pa.string())
                    for name in column
                    if name.startswith(_CELL)
                }
            ),
            ids=column["id"].cast(pa.string()).to_pylist() if "id" in column else None,
            facts=facts,
        )


def _numbers(column: Any, least: float = -_LARGE, most: float = _LARGE) -> Array:
    """Return the numbers of a column, all of which must be known and within limits."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    if not np.all((values >= least) & (values <= most)):
        msg = "numbers that cannot be"
        raise ValueError(msg)
    return np.asarray(values, dtype=float)


def _as_json(facts: PoolFacts) -> bytes:
    return msgspec.json.encode(facts, enc_hook=lambda array: array.tolist())


def _from_json(data: bytes) -> PoolFacts:
    facts = msgspec.json.decode(data, type=PoolFacts, dec_hook=_shares)
    found = facts.posterior
    wide = (found.wide_rates, found.wide_weight, found.anything)
    given = [array for array in wide if array is not None]
    lengths = {len(array) for array in given}
    if found.rates.shape != (len(found.weight), 2) or len(lengths) > 1 or len(given) not in (0, 3):
        msg = "rates and weights differ in number"
        raise ValueError(msg)
    return facts


def _shares(kind: Any, values: Any) -> Any:
    """Return an array of shares, or of truths."""
    found = np.array(values, dtype=bool if kind == Flags else float)
    if not np.all((found >= 0) & (found <= 1)):
        msg = "shares that cannot be"
        raise ValueError(msg)
    return found
