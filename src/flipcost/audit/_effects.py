"""What the model looks at: how each column moves it, on the whole and for single rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.tables.reader import ColumnReader

    Array: TypeAlias = NDArray[np.float64]
    Places: TypeAlias = NDArray[np.intp]

_SAMPLE = 400
_MOST_LEVELS = 12
# Where a number is looked at, from the first to the last of which its effect is counted.
_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
# Rows whose values are shuffled to see what a column is worth.
_SHUFFLED = 1_000
# Of more columns than the first, as many as the second are looked at, those that go most with the
# score: each takes six scorings of rows, which are wide then.
_MOST_COLUMNS, _LOOKED_AT = 100, 30
# Cells that are scored at once: what does not depend on the rows is done once for all of them.
_CELLS = 2**21


@dataclass(frozen=True)
class RowScore:
    """Log-odds of rows, by features of which each is made of one column.

    So the features of rows that differ in a column only are made once, and put in place of its own.

    Attributes
    ----------
    odds : callable
        From features of rows, shape (n, n_features), to log-odds of the positive class.
    features : callable
        From numbers, as a `ColumnReader` reads them, to features.
    columns : ndarray of int, shape (n_features,)
        Which column each feature is made of.

    Examples
    --------
    >>> score = RowScore(lambda X: X @ [2.0, 1.0], lambda numbers: numbers, np.array([0, 1]))
    >>> rows = np.array([[1.0, 0.0], [0.0, 3.0]])
    >>> score(rows)
    array([2., 3.])
    >>> score.moved(rows, [(np.array([0]), 5.0)])
    [array([10., 13.])]
    """

    odds: Callable[[Array], Array]
    features: Callable[[Array], Array]
    columns: Places

    def __call__(self, numbers: Array) -> Array:
        """Return the log-odds of rows."""
        return self.odds(self.features(numbers))

    def own(self, column: int) -> Places:
        """Return which features are of a column."""
        return np.flatnonzero(self.columns == column)

    def moved(self, features: Array, changes: Sequence[tuple[Places, Any]]) -> list[Array]:
        """Return the log-odds of rows with some features changed, for each of many changes.

        Parameters
        ----------
        features : ndarray of shape (n, n_features)
            Of the rows.
        changes : sequence of pairs
            Which features, and their values, alike on all rows or for each row.

        Returns
        -------
        list of ndarray of shape (n,)
        """
        found: list[Array] = []
        at_once = max(1, _CELLS // max(features.size, 1))
        for start in range(0, len(changes), at_once):
            part = changes[start : start + at_once]
            changed = np.repeat(features[None], len(part), axis=0)
            for rows, (own, values) in zip(changed, part, strict=True):
                rows[:, own] = values
            found += [*self.odds(np.concatenate(changed)).reshape(len(part), -1)]
        return found


@dataclass(frozen=True)
class Effect:
    """How a column moves the log-odds of the positive class.

    Attributes
    ----------
    column : str
        Its name.
    change : float
        Mean change of the log-odds from `start` to `end`, all else as it is.
    start, end : str
        The 10 % and 90 % quantiles of a number; the levels with the least and the largest
        log-odds of a category.
    importance : float
        What a row costs more when the values of the column are shuffled, denoised.
    shape : tuple of pairs
        Values along the column, and the mean probability of the positive label at each; levels of
        a category from the least probable to the most.
    moved : ndarray of shape (K, 2, 2), optional
        By how much the shares of rows, by label and call, change when its values are shuffled, at
        each of the costs that were asked about.
    """

    column: str
    change: float
    start: str
    end: str
    importance: float = 0.0
    shape: tuple[tuple[str, float], ...] = ()
    moved: Array | None = field(default=None, repr=False, compare=False)


def column_effects(
    reader: ColumnReader,
    numbers: Array,
    score: RowScore,
    rng: np.random.Generator,
    count: Callable[[Array, Places], Array] | None = None,
    worth: Callable[[Array], float] | None = None,
) -> list[Effect]:
    """Return the effects of the columns, the largest first; of very many, those of some.

    Parameters
    ----------
    reader : ColumnReader
        Fitted.
    numbers : ndarray of shape (n, n_numbers)
        What it read.
    score : RowScore
        Log-odds of the positive class.
    rng : numpy.random.Generator
        Draws the rows over which effects are averaged.
    count : callable, optional
        From log-odds of rows, and where these are, to their shares by label and call at some costs,
        of shape (K, 2, 2).
    worth : callable, optional
        From changes of such shares to what they cost; importance needs both.

    Returns
    -------
    list of Effect
    """
    rows = numbers
    if len(numbers) > _SAMPLE:
        rows = numbers[rng.choice(len(numbers), _SAMPLE, replace=False)]
    looked = columns_to_look_at(reader, rows, score)
    all_moved = _shuffled(reader, numbers, score, rng, count, looked)
    places = column_places(reader)
    settings = {j: _settings(reader.schema_[j], numbers[:, places[j]]) for j in looked}
    settings = {j: found for j, found in settings.items() if len(found) > 1}
    all_odds = _at_settings(rows, score, places, settings)
    effects = []
    for j, own in settings.items():
        column, odds = reader.schema_[j], all_odds[j]
        means = [float(found.mean()) for found in odds]
        likely = [float(expit(found).mean()) for found in odds]
        order = np.arange(len(own))
        if column["kind"] == "category":
            order = np.argsort(means, kind="stable")
        first, last = order[0], order[-1]
        shape = tuple((own[k][0], likely[k]) for k in order)
        shuffled = all_moved.get(column["name"])
        saved = 0.0 if shuffled is None or worth is None else worth(shuffled)
        change, ends = means[last] - means[first], (own[first][0], own[last][0])
        effects.append(Effect(column["name"], change, *ends, saved, shape, shuffled))
    return sorted(effects, key=lambda effect: -abs(effect.change))


def _at_settings(
    rows: Array,
    score: RowScore,
    places: list[Places],
    settings: dict[int, list[tuple[str, Any]]],
) -> dict[int, list[Array]]:
    """Return log-odds of the rows at each setting of each column."""
    if not settings:
        return {}
    # One row for the first setting of every column, one for the second, and so on.
    grid = np.repeat(rows[:1], max(len(own) for own in settings.values()), axis=0)
    for j, own in settings.items():
        for k, (_, values) in enumerate(own):
            grid[k, places[j]] = values
    set_to, features = score.features(grid), score.features(rows)
    changes = [
        (score.own(j), set_to[k, score.own(j)])
        for j, own in settings.items()
        for k in range(len(own))
    ]
    odds = iter(score.moved(features, changes))
    return {j: [next(odds) for _ in own] for j, own in settings.items()}


def _shuffled(
    reader: ColumnReader,
    numbers: Array,
    score: RowScore,
    rng: np.random.Generator,
    count: Callable[[Array, Places], Array] | None,
    looked: Sequence[int],
) -> dict[str, Array]:
    """Return how calls move with each column: counts with its values shuffled, less theirs."""
    if count is None:
        return {}
    places = np.arange(len(numbers))
    if len(numbers) > _SHUFFLED:
        places = np.sort(rng.choice(len(numbers), _SHUFFLED, replace=False))
    rows = numbers[places]
    mixed, all_places = rows.copy(), column_places(reader)
    for j in looked:
        mixed[:, all_places[j]] = rows[rng.permutation(len(rows))[:, None], all_places[j]]
    features, shuffled = score.features(rows), score.features(mixed)
    before = count(score.odds(features), places)
    odds = score.moved(features, [(score.own(j), shuffled[:, score.own(j)]) for j in looked])
    return {
        reader.schema_[j]["name"]: count(found, places) - before
        for j, found in zip(looked, odds, strict=True)
    }


def columns_to_look_at(reader: ColumnReader, numbers: Array, score: RowScore) -> list[int]:
    """Return the places of all columns; of very many, of those that go most with the score."""
    n_columns = len(reader.schema_)
    if n_columns <= _MOST_COLUMNS:
        return list(range(n_columns))
    rows = numbers[:_SAMPLE]
    off = rows - np.where(np.isnan(rows).all(axis=0), 0.0, _known_mean(rows))
    off = np.where(np.isnan(off), 0.0, off)
    base = score(rows)
    length = np.sqrt((off**2).sum(axis=0))
    together = np.abs((base - base.mean()) @ off) / np.where(length > 0, length, 1.0)
    largest = np.array([together[where].max() for where in column_places(reader)])
    return sorted(int(j) for j in np.argsort(-largest, kind="stable")[:_LOOKED_AT])


def _known_mean(rows: Array) -> Array:
    known = ~np.isnan(rows)
    total = np.where(known, rows, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(known.sum(axis=0), 1))


def row_evidence(
    reader: ColumnReader,
    chosen: Array,
    typical: Array,
    score: RowScore,
    towards: Array,
    columns: Sequence[int] | None = None,
) -> list[str]:
    """Return, for some rows, the columns that speak most for the other label, in words.

    Each column of a row is set to its typical value; what that takes away from the log-odds of the
    other label is what the column said for it.

    Parameters
    ----------
    reader : ColumnReader
        Fitted.
    chosen : ndarray of shape (n, n_numbers)
        The rows, as it read them.
    typical : ndarray of shape (n_numbers,)
        By `typical_numbers`.
    score : RowScore
        Log-odds of the positive class.
    towards : ndarray of shape (n,)
        +1 where the other label is positive, -1 where it is negative.
    columns : sequence of int, optional
        Places of the columns to look at; all when None.

    Returns
    -------
    list of str
    """
    if not len(chosen):
        return []
    places = column_places(reader)
    looked = range(len(places)) if columns is None else columns
    features, usual = score.features(chosen), score.features(typical[None])[0]
    base = score.odds(features)
    odds = score.moved(features, [(score.own(j), usual[score.own(j)]) for j in looked])
    said = np.zeros((len(places), len(chosen)))
    for j, moved in zip(looked, odds, strict=True):
        said[j] = towards * (base - moved)
    found = []
    for i in range(len(chosen)):
        order = [j for j in np.argsort(-said[:, i])[:3] if said[j, i] > 0.05]
        said_by = [(reader.schema_[j], chosen[i, places[j]]) for j in order]
        found.append(", ".join(f"{c['name']} = {word_of(c, values)}" for c, values in said_by))
    return found


def log_odds(probability: Array) -> Array:
    """Return log-odds, finite also for probabilities of 0 and 1.

    Examples
    --------
    >>> log_odds(np.array([0.5, 1.0])).round(2)
    array([ 0.  , 13.82])
    """
    return np.asarray(logit(np.clip(probability, 1e-6, 1 - 1e-6)))


def column_places(reader: ColumnReader) -> list[Places]:
    """Return, for each column, which numbers are of it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from flipcost.tables.reader import ColumnReader
    >>> reader = ColumnReader().fit(pa.table({"age": [50.5, 31.5], "town": ["Nice", "Lyon"]}))
    >>> [where.tolist() for where in column_places(reader)]
    [[0], [1]]
    """
    sources = np.array([place for _, place in reader.sources()], dtype=np.intp)
    # Numbers stand in the order of their columns, and each column has some.
    return np.split(np.arange(len(sources)), np.flatnonzero(np.diff(sources)) + 1)


def _settings(column: dict[str, Any], values: Array) -> list[tuple[str, Any]]:
    """Return the values that a column is moved between, with how to call them."""
    known = values[~np.isnan(values).any(axis=1)]
    if not len(known) or column["kind"] in ("empty", "constant"):
        return []
    if column["kind"] in ("number", "date"):
        ends = _ranked(known, [int(q * (len(known) - 1)) for q in _QUANTILES])
        if ends[0][0] == ends[-1][0]:  # nearly all rows are the same: go from end to end instead
            ends = _ranked(known, [0, len(known) - 1])
        steps = [end for k, end in enumerate(ends) if not k or end[0] != ends[k - 1][0]]
        return [(word_of(column, step), step) for step in steps]
    levels, counts = np.unique(known[:, 0], return_counts=True)
    frequent = np.sort(levels[np.argsort(-counts)[:_MOST_LEVELS]])
    return [(word_of(column, np.array([level])), level) for level in frequent]


def _ranked(values: Array, ranks: list[int]) -> list[Array]:
    """Return the rows of some ranks by their first number, on which the others depend."""
    order = np.argpartition(values[:, 0], ranks)
    return [values[order[rank]] for rank in ranks]


def typical_numbers(reader: ColumnReader, numbers: Array) -> Array:
    """Return the median of each column of numbers and the most frequent level of each category."""
    found = np.empty(numbers.shape[1])
    for column, where in zip(reader.schema_, column_places(reader), strict=True):
        known = numbers[:, where][~np.isnan(numbers[:, where]).any(axis=1)]
        if not len(known):
            found[where] = np.nan
        elif column["kind"] in ("number", "date"):
            (found[where],) = _ranked(known, [len(known) // 2])
        else:
            levels, counts = np.unique(known[:, 0], return_counts=True)
            found[where] = levels[np.argmax(counts)]
    return found


def word_of(column: dict[str, Any], values: Array) -> str:
    """Return a value as the table writes it, or nearly so.

    Examples
    --------
    >>> word_of({"kind": "boolean"}, np.array([1.0])), word_of({"kind": "number"}, np.array([0.5]))
    ('yes', '0.5')
    """
    value = float(values[0])
    if np.isnan(value):
        return "missing"
    if column["kind"] == "category":
        return str(column["levels"][int(value)]) if value >= 0 else "a new level"
    if column["kind"] == "boolean":
        return "yes" if value else "no"
    if column["kind"] == "date":
        return str(np.datetime64(int(np.floor(value)), "D"))
    return f"{value:.6g}"
