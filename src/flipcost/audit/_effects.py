"""What the model looks at: how each column moves it, on the whole and for single rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

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


def column_effects(reader, numbers, score, rng):
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


def row_evidence(reader, chosen, typical, score, towards):
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
        found.append(", ".join(_show(reader.schema_[j], chosen[i, places[j]]) for j in order))
    return found


def log_odds(probability):
    """Return log-odds, finite also for probabilities of 0 and 1.

    Examples
    --------
    >>> log_odds(np.array([0.5, 1.0])).round(2)
    array([ 0.  , 13.82])
    """
    return logit(np.clip(probability, 1e-6, 1 - 1e-6))


def _places(reader):
    """Return, for each column, which numbers are of it."""
    sources = np.array([place for _, place in reader.sources()])
    return [np.flatnonzero(sources == place) for place in range(len(reader.schema_))]


def _settings(column, values):
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


def typical_numbers(reader, numbers):
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


def _show(column, values):
    return f"{column['name']} = {_word(column, values)}"


def _word(column, values):
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
