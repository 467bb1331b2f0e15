"""Which rows to check next: of those a classifier was fitted on, or of what an audit keeps.

An audit keeps rows to choose from in its folder, so that no new audit is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.pipeline import Pipeline

from flipcost._validation import check_is_fitted, check_weights, encode_labels, positive_index
from flipcost.core.arrays import Array, Flags, Indices
from flipcost.core.checked_rows import CheckedRows
from flipcost.core.confusion import Interval
from flipcost.core.error_rates import RatePosterior
from flipcost.core.recheck import CellChoice, leading_directions, value_checks
from flipcost.estimators import FlipCostClassifier
from flipcost.estimators.flipcost.rows import read_trusted
from flipcost.exceptions import TableError
from flipcost.recheck._files import RowToCheck
from flipcost.recheck._match import CheckedAnswers

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
class NextRows:
    """Rows to check next.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Their positions, in the order to check them in: whoever stops early has checked rows that
        are spread as all of them are.
    probability : ndarray of shape (n,)
        Probability with which each was drawn, in (0, 1]. It depends on the label and the score of
        a row alone, and is positive for every row that was not checked.
    suspicion : ndarray of shape (n,)
        Probability that its label is wrong.
    reason : tuple of str
        Why it is among them.
    saving : float
        What decisions are expected to cost less for a row once these are checked, in the units of
        `FlipCostClassifier.cost_estimate_`. Times 1,000, for 1,000 rows. What learning from
        corrected labels saves comes on top.
    saving_interval : pair of floats
        Interval of that saving, at the `level` of the classifier, over what may be true.

    Examples
    --------
    >>> found = NextRows(np.array([4]), np.array([0.1]), np.array([0.8]), ("why",), 0.01, (0, 0.02))
    >>> found.to_frame().columns.tolist()
    ['row', 'inclusion_probability', 'probability_wrong', 'reason']
    """

    rows: Indices
    probability: Array
    suspicion: Array
    reason: tuple[str, ...]
    saving: float
    saving_interval: tuple[float, float]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def to_frame(self) -> Any:
        """Return a pandas frame, a row for each row to check."""
        import pandas as pd  # noqa: PLC0415 (optional dependency)

        return pd.DataFrame(
            {
                "row": self.rows,
                "inclusion_probability": self.probability,
                "probability_wrong": self.suspicion,
                "reason": list(self.reason),
            }
        )


def next_rows(
    model: Any,
    X: Any,
    y: Any,
    n: int = 50,
    *,
    trusted: Any = None,
    sample_weight: Any = None,
    random: bool = False,
    random_state: int = 0,
) -> NextRows:
    """Choose the rows that someone should check next.

    Those that are expected to save most once their right labels are known: they tell how many
    rows are truly positive where decisions turn, what mistakes cost, and which labels to correct
    before learning. They are drawn at random, by probabilities that depend on label and score
    alone, so that `fit(..., trusted=)` learns from them without leaning.

    Parameters
    ----------
    model : FlipCostClassifier, or Pipeline that ends in one
        Fitted on these rows and labels.
    X : array-like, sparse matrix or frame of shape (n_rows, d)
        The rows.
    y : array-like of shape (n_rows,)
        Their labels, as they are.
    n : int, default=50
        How many rows to choose; fewer are, if fewer are left.
    trusted : array-like of shape (n_rows,), optional
        The right label where a row was checked already, and missing elsewhere; these are not
        chosen again.
    sample_weight : array-like of shape (n_rows,), optional
        How many rows each represents.
    random : bool, default=False
        Whether to draw a plain sample, all rows alike.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    NextRows

    Examples
    --------
    >>> import flipcost as fc
    >>> data = fc.datasets.make_syn3d(2000, random_state=0)
    >>> noisy = fc.noise.flip_labels(data.target, (0.3, 0.05), random_state=0)
    >>> model = fc.FlipCostClassifier(0.2, features="linear", random_state=0).fit(data.data, noisy)
    >>> found = fc.recheck.next_rows(model, data.data, noisy, n=50)
    >>> len(found), len(set(found.rows)), bool(found.probability.min() > 0)
    (50, 50, True)

    Once they were checked, what they say goes into the next fit:

    >>> trusted = np.full(2000, np.nan)
    >>> trusted[found.rows] = data.target[found.rows]
    >>> model = model.fit(data.data, noisy, trusted=trusted)
    >>> more = fc.recheck.next_rows(model, data.data, noisy, n=50, trusted=trusted)
    >>> len(set(more.rows) & set(found.rows)), more.saving < found.saving
    (0, True)
    """
    classifier, X, names, choice = _choose(model, X, y, n, trusted, sample_weight, random=random)
    rows = choice.draw(_directions(classifier, X), random_state)
    saving = choice.saving.times(classifier.cost_unit_)
    return NextRows(
        rows=rows,
        probability=choice.chance[rows],
        suspicion=choice.suspicion[rows],
        reason=reasons(choice, rows, classifier.cost_share_, names, random=random),
        saving=saving.value,
        saving_interval=(saving.low, saving.high),
    )


def expected_saving(
    model: Any,
    X: Any,
    y: Any,
    n: int = 50,
    *,
    trusted: Any = None,
    sample_weight: Any = None,
    random: bool = False,
) -> Interval:
    """Return what the next `n` checks are expected to save a row, with an interval.

    Parameters
    ----------
    model, X, y, n, trusted, sample_weight, random
        As in `next_rows`.

    Returns
    -------
    Interval
        In the units of `FlipCostClassifier.cost_estimate_`; never negative, and never more than a
        row costs.

    Examples
    --------
    >>> import flipcost as fc
    >>> data = fc.datasets.make_syn3d(2000, random_state=0)
    >>> noisy = fc.noise.flip_labels(data.target, (0.3, 0.05), random_state=0)
    >>> model = fc.FlipCostClassifier(0.2, features="linear", random_state=0).fit(data.data, noisy)
    >>> few, many = (fc.recheck.expected_saving(model, data.data, noisy, n) for n in (10, 200))
    >>> bool(0 <= few.low <= few.value < many.value)
    True
    """
    classifier, *_, choice = _choose(model, X, y, n, trusted, sample_weight, random=random)
    return choice.saving.times(classifier.cost_unit_)


def _choose(
    model: Any, X: Any, y: Any, n: Any, trusted: Any, sample_weight: Any, *, random: bool
) -> tuple[FlipCostClassifier, Any, tuple[Any, Any], CellChoice]:
    """Check what is asked; return the classifier, its rows, both labels, and what checks bring."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        msg = f"`n` must be a whole number of rows, at least 1; got {n!r}."
        raise ValueError(msg)
    classifier = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(classifier, FlipCostClassifier):
        msg = (
            "`model` must be a FlipCostClassifier, or a pipeline that ends in one; got "
            f"{type(classifier).__name__}."
        )
        raise TypeError(msg)
    check_is_fitted(classifier)
    if isinstance(model, Pipeline) and len(model) > 1:
        X = model[:-1].transform(X)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    classes, second = encode_labels(classifier, y, n_rows, classifier.classes_)
    index = positive_index(classes, classifier.pos_label)
    checked = read_trusted(trusted, classes, n_rows, second_is_positive=index == 1)
    if checked is not None and len(checked.rows) == n_rows:
        msg = f"`trusted` holds the right labels of all {n_rows} rows: none is left to check."
        raise ValueError(msg)
    probability = classifier.oof_probability_
    if len(probability) != n_rows:
        probability = classifier.predict_proba(X)[:, index]
    probability = classifier.clean_probability(probability)
    weight = None if sample_weight is None else check_weights(sample_weight, np.empty((n_rows, 1)))
    choice = value_checks(
        second if index == 1 else ~second,
        probability,
        classifier.rate_posterior_,
        classifier.cost_share_,
        int(n),
        checked=checked,
        sample_weight=weight,
        level=classifier.level,
        random=random,
        paid=classifier.cost_estimate_ / classifier.cost_unit_,
    )
    names = classes.tolist()
    return classifier, X, (names[1 - index], names[index]), choice


def _directions(classifier: FlipCostClassifier, X: Any) -> Array | None:
    """Return what rows should be spread over, or None where features are no numbers."""
    if hasattr(classifier.scorer_, "cells"):
        rows = classifier._validated(X, reset=False)  # noqa: SLF001 - as they were learned from
        X = classifier.scorer_.numbers(classifier.scorer_.cells(rows))
    if sparse.issparse(X):
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(X.shape[1], 3))
        return np.asarray(X @ signs)
    try:
        numbers = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return None
    return leading_directions(np.nan_to_num(numbers))


# A label that is wrong with at least this probability is a reason of its own.
_LIKELY_WRONG = 0.4


def reasons(
    choice: CellChoice,
    rows: Indices,
    cost: float,
    names: tuple[Any, Any],
    *,
    random: bool = False,
    n_rows: int | None = None,
) -> tuple[str, ...]:
    """Return a reason for each row, the first that holds.

    Parameters
    ----------
    choice : CellChoice
        What checks are worth.
    rows : ndarray of int
        Which rows were drawn.
    cost : float
        Where decisions turn.
    names : pair
        The negative and the positive label.
    random : bool, default=False
        Whether all rows were as likely.
    n_rows : int, optional
        Rows of the table, where these represent more.

    Examples
    --------
    >>> from flipcost.core.error_rates import RatePosterior
    >>> from flipcost.core.recheck import value_checks
    >>> known = RatePosterior(np.array([[0.2, 0.2]]), np.ones(1))
    >>> choice = value_checks([True, False] * 50, [0.05, 0.1] * 50, known, 0.3, 10)
    >>> reasons(choice, np.array([0]), 0.3, ("no", "yes"))
    ('label "yes" is probably wrong (83%)',)
    """
    if random:
        return ("drawn at random",) * len(rows)
    return tuple(_reason(choice, int(row), cost, names, n_rows) for row in rows)


def _reason(
    choice: CellChoice, row: int, cost: float, names: tuple[Any, Any], n_rows: int | None
) -> str:
    cell = int(choice.cells.cell[row])
    label = f'"{names[int(choice.cells.label[cell])]}"'
    wrong = float(choice.suspicion[row])
    if wrong >= _LIKELY_WRONG:
        sure = "is probably" if wrong >= 0.5 else "may be"
        return f"label {label} {sure} wrong ({100 * wrong:.0f}%)"
    low, high = float(choice.low[row]), float(choice.high[row])
    if low < cost < high:
        return (
            f"decision in doubt: {100 * low:.0f} to {100 * high:.0f}% of similar rows may be "
            f'"{names[1]}"; threshold {100 * cost:.0f}%'
        )
    alike = int(np.count_nonzero(choice.cells.cell == cell))
    if n_rows is not None:
        alike = max(1, round(n_rows * float(choice.cells.share[cell])))
    seen = int(choice.posterior.positives[cell] + choice.posterior.negatives[cell])
    checked = f"{seen:,} of them checked" if seen else "none of them checked"
    return f"represents {alike:,} rows labelled {label} with similar scores, {checked}"


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
        rows = choice.draw(self.directions, seed)
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
    wide = (found.robust_rates, found.robust_weight, found.anything)
    given = [array for array in wide if array is not None]
    lengths = {len(array) for array in given}
    if found.rates.shape != (len(found.weight), 2) or len(lengths) > 1 or len(given) not in (0, 3):
        msg = "rates and weights differ in number"
        raise ValueError(msg)
    of_classes = [found.rates]
    if found.robust_rates is not None:
        of_classes.append(found.robust_rates[~np.asarray(found.anything)])
    if any(np.any(rates.sum(axis=1) >= 1) for rates in of_classes):
        msg = "labels that would say the opposite"
        raise ValueError(msg)
    return facts


def _shares(kind: Any, values: Any) -> Any:
    """Return an array of shares, or of truths."""
    found = np.array(values, dtype=bool if kind == Flags else float)
    if not np.all((found >= 0) & (found <= 1)):
        msg = "shares that cannot be"
        raise ValueError(msg)
    return found
