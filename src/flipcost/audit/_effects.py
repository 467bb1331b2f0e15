"""What the model looks at: how each column moves it, on the whole and for single rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.special import logit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from flipcost.data import ColumnReader

    Array: TypeAlias = NDArray[np.float64]
    Score: TypeAlias = Callable[[Array], Array]

_SAMPLE = 400
_MOST_LEVELS = 12


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
    """

    column: str
    change: float
    start: str
    end: str


def column_effects(
    reader: ColumnReader, numbers: Array, score: Score, rng: np.random.Generator
) -> list[Effect]:
    """Return the effects of all columns, the largest first.

    Parameters
    ----------
    reader : ColumnReader
        Fitted.
    numbers : ndarray of shape (n, n_numbers)
        What it read.
    score : callable
        Numbers to log-odds of the positive class.
    rng : numpy.random.Generator
        Draws the rows over which effects are averaged.

    Returns
    -------
    list of Effect
    """
    rows = numbers
    if len(numbers) > _SAMPLE:
        rows = numbers[rng.choice(len(numbers), _SAMPLE, replace=False)]
    places = _places(reader)
    effects = []
    for column, where in zip(reader.schema_, places, strict=True):
        settings = _settings(column, numbers[:, where])
        if len(settings) < 2:
            continue
        means = []
        for _, values in settings:
            moved = rows.copy()
            moved[:, where] = values
            means.append(float(score(moved).mean()))
        first, last = (0, -1)
        if column["kind"] == "category":
            first, last = int(np.argmin(means)), int(np.argmax(means))
        change = means[last] - means[first]
        effects.append(Effect(column["name"], change, settings[first][0], settings[last][0]))
    return sorted(effects, key=lambda effect: -abs(effect.change))


def row_evidence(
    reader: ColumnReader, chosen: Array, typical: Array, score: Score, towards: Array
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
    score : callable
        Numbers to log-odds of the positive class.
    towards : ndarray of shape (n,)
        +1 where the other label is positive, -1 where it is negative.

    Returns
    -------
    list of str
    """
    if not len(chosen):
        return []
    base = score(chosen)
    places = _places(reader)
    said = np.empty((len(places), len(chosen)))
    for j, where in enumerate(places):
        moved = chosen.copy()
        moved[:, where] = typical[where]
        said[j] = towards * (base - score(moved))
    found = []
    for i in range(len(chosen)):
        order = [j for j in np.argsort(-said[:, i])[:3] if said[j, i] > 0.05]
        said_by = [(reader.schema_[j], chosen[i, places[j]]) for j in order]
        found.append(", ".join(f"{c['name']} = {_word(c, values)}" for c, values in said_by))
    return found


def log_odds(probability: Array) -> Array:
    """Return log-odds, finite also for probabilities of 0 and 1.

    Examples
    --------
    >>> log_odds(np.array([0.5, 1.0])).round(2)
    array([ 0.  , 13.82])
    """
    return np.asarray(logit(np.clip(probability, 1e-6, 1 - 1e-6)))


def _places(reader: ColumnReader) -> list[NDArray[np.intp]]:
    """Return, for each column, which numbers are of it."""
    sources = np.array([place for _, place in reader.sources()])
    return [np.flatnonzero(sources == place) for place in range(len(reader.schema_))]


def _settings(column: dict[str, Any], values: Array) -> list[tuple[str, Any]]:
    """Return the values that a column is moved between, with how to call them."""
    known = values[~np.isnan(values).any(axis=1)]
    if not len(known) or column["kind"] in ("empty", "constant"):
        return []
    if column["kind"] in ("number", "date"):
        order = np.argsort(known[:, 0], kind="stable")
        ends = [known[order[int(q * (len(known) - 1))]] for q in (0.1, 0.9)]
        if ends[0][0] == ends[1][0]:  # nearly all rows are the same: go from end to end instead
            ends = [known[order[0]], known[order[-1]]]
        return [(_word(column, end), end) for end in ends]
    levels, counts = np.unique(known[:, 0], return_counts=True)
    frequent = np.sort(levels[np.argsort(-counts)[:_MOST_LEVELS]])
    return [(_word(column, np.array([level])), level) for level in frequent]


def typical_numbers(reader: ColumnReader, numbers: Array) -> Array:
    """Return the median of each column of numbers and the most frequent level of each category."""
    found = np.empty(numbers.shape[1])
    for column, where in zip(reader.schema_, _places(reader), strict=True):
        known = numbers[:, where][~np.isnan(numbers[:, where]).any(axis=1)]
        if not len(known):
            found[where] = np.nan
        elif column["kind"] in ("number", "date"):
            order = np.argsort(known[:, 0], kind="stable")
            found[where] = known[order[len(known) // 2]]
        else:
            levels, counts = np.unique(known[:, 0], return_counts=True)
            found[where] = levels[np.argmax(counts)]
    return found


def _word(column: dict[str, Any], values: Array) -> str:
    """Return a value as the table writes it, or nearly so."""
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
