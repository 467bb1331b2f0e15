"""Explain: how columns move the model, which labels look wrong and why, and what columns hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.special import chdtrc, expit, logit

from flipcost.core.arrays import largest_first
from flipcost.core.curves import confusions_at_costs, per_row_cost
from flipcost.estimators.flipcost.scores import GivenScores
from flipcost.tables.arrow import take_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from flipcost.audit._fit import AuditData
    from flipcost.core.arrays import Array, Indices
    from flipcost.tables.encoder import Column, Encoder

    RowScore: TypeAlias = Callable[[Array], Array]

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
_MOST_SUSPECTS = 1000
# Labels that are wrong with less probability than this are not suspicious.
_LEAST_WRONG = 0.01
# The table is compared with itself in this many parts, one after the other.
_PARTS = 5
# Values are compared in this many groups at most.
_GROUPS = 10
# A column changes along the table when chance would say so for one table in a thousand.
_SURE = 0.001


def moved(score: RowScore, rows: Array, changes: Sequence[tuple[Indices, Any]]) -> list[Array]:
    """Return the scores of rows with some cells changed, for each of many changes.

    A change says which cells, and their values: alike on all rows, or for each row.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 3.0]])
    >>> moved(lambda cells: cells @ [2.0, 1.0], rows, [(np.array([0]), 5.0)])
    [array([10., 13.])]
    """
    found: list[Array] = []
    at_once = max(1, _CELLS // max(rows.size, 1))
    for start in range(0, len(changes), at_once):
        part = changes[start : start + at_once]
        changed = np.repeat(rows[None], len(part), axis=0)
        for copy, (own, values) in zip(changed, part, strict=True):
            copy[:, own] = values
        found += [*score(np.concatenate(changed)).reshape(len(part), -1)]
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
    moved : ndarray of shape (K, 2, 2)
        By how much the shares of rows, by label and flag, change when its values are shuffled, at
        each of the costs that were asked about.
    """

    column: str
    change: float
    start: str
    end: str
    importance: float
    shape: tuple[tuple[str, float], ...]
    moved: Array


def row_score(data: AuditData, model: Any) -> RowScore:
    """Return what scores cells by log-odds of the positive label.

    The encoder of the classifier, if it has one, has learned from the same rows, so that its cells
    are those of the audit.
    """
    place = int(np.flatnonzero(model.classes_ == data.labels[1])[0])
    own = getattr(getattr(model, "scorer_", None), "encoder", None) is not None

    def score(cells: Array) -> Array:
        if isinstance(getattr(model, "scorer_", None), GivenScores):
            return log_odds(model.predict_proba(cells)[:, place])
        if own:
            return log_odds(model.probability_of_cells(cells)[:, place])
        return log_odds(model.predict_proba(data.maker.features.of_cells(cells))[:, place])

    return score


def explain_columns(data: AuditData, score: RowScore, costs: Array, index: int) -> list[Effect]:
    """Return how columns move the model, and what rows cost more without each."""
    model, rng = data.classifier, np.random.default_rng(data.options.random_state)
    typical = data.rows.typical(rng)
    labels = data.rows.positive[typical]
    # Where costs differ by row, figures are money, and a row is taken at mean costs here.
    unit = 1.0 if data.rows.costs.is_constant else model.cost_unit_
    price = unit * per_row_cost(model.cost_share_, model.noise_rate_)
    edges = log_odds(costs)

    def count(odds: Array, places: Indices) -> Array:
        return confusions_at_costs(labels[places], odds, edges).counts / len(places)

    def worth(moved: Array) -> float:
        return float(np.sum(price * moved[index]))

    return column_effects(data.maker.encoder, data.cells[typical], score, rng, count, worth)


def column_effects(
    encoder: Encoder,
    cells: Array,
    score: RowScore,
    rng: np.random.Generator,
    count: Callable[[Array, Indices], Array],
    worth: Callable[[Array], float],
) -> list[Effect]:
    """Return the effects of the columns, the largest first; of very many, those of some.

    Parameters
    ----------
    encoder : Encoder
        What reads the columns.
    frame : pyarrow table of n rows
        What it read.
    cells : ndarray of shape (n, n_cells)
        What it made of it.
    score : callable
        From cells to log-odds of the positive class.
    rng : numpy.random.Generator
        Draws the rows over which effects are averaged.
    count : callable
        From log-odds of rows, and where these are, to their shares by label and flag at some costs,
        of shape (K, 2, 2).
    worth : callable
        From changes of such shares to what they cost.

    Returns
    -------
    list of Effect
    """
    rows = cells
    if len(cells) > _SAMPLE:
        rows = cells[rng.choice(len(cells), _SAMPLE, replace=False)]
    looked = columns_to_look_at(encoder, rows, score)
    all_moved = _shuffled(encoder, cells, score, rng, count, looked)
    places = column_places(encoder)
    settings = {j: _settings(encoder.columns[j], cells[:, places[j]]) for j in looked}
    settings = {j: found for j, found in settings.items() if len(found) > 1}
    changes = [(places[j], values) for j, own in settings.items() for _, values in own]
    all_odds = iter(moved(score, rows, changes))
    effects = []
    for j, own in settings.items():
        column, odds = encoder.columns[j], [next(all_odds) for _ in own]
        means = [float(found.mean()) for found in odds]
        likely = [float(expit(found).mean()) for found in odds]
        order = np.arange(len(own))
        if column.kind == "category":
            order = np.argsort(means, kind="stable")
        first, last = order[0], order[-1]
        shape = tuple((own[k][0], likely[k]) for k in order)
        shuffled = all_moved[column.name]
        change, ends = means[last] - means[first], (own[first][0], own[last][0])
        effects.append(Effect(column.name, change, *ends, worth(shuffled), shape, shuffled))
    return sorted(effects, key=lambda effect: -abs(effect.change))


def _shuffled(
    encoder: Encoder,
    cells: Array,
    score: RowScore,
    rng: np.random.Generator,
    count: Callable[[Array, Indices], Array],
    looked: Sequence[int],
) -> dict[str, Array]:
    """Return how shuffling each column changes the counts of flags."""
    places = np.arange(len(cells))
    if len(cells) > _SHUFFLED:
        places = np.sort(rng.choice(len(cells), _SHUFFLED, replace=False))
    rows, own = cells[places], column_places(encoder)
    mixed = [(own[j], rows[rng.permutation(len(rows))[:, None], own[j]]) for j in looked]
    before, odds = count(score(rows), places), moved(score, rows, mixed)
    return {
        encoder.names[j]: count(found, places) - before
        for j, found in zip(looked, odds, strict=True)
    }


def columns_to_look_at(encoder: Encoder, cells: Array, score: RowScore) -> list[int]:
    """Return the places of all columns; of very many, of those that go most with the score."""
    n_columns = len(encoder.columns)
    if n_columns <= _MOST_COLUMNS:
        return list(range(n_columns))
    rows = cells[:_SAMPLE]
    known = ~np.isnan(rows)
    mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    off = np.where(known, rows - mean, 0.0)
    base = score(rows)
    length = np.sqrt((off**2).sum(axis=0))
    together = np.abs((base - base.mean()) @ off) / np.where(length > 0, length, 1.0)
    largest = np.array([together[where].max(initial=0.0) for where in column_places(encoder)])
    return sorted(int(j) for j in np.argsort(-largest, kind="stable")[:_LOOKED_AT])


def row_evidence(
    encoder: Encoder,
    chosen: Array,
    typical: Array,
    score: RowScore,
    towards: Array,
    looked: Sequence[int],
) -> list[str]:
    """Return, for some rows, the columns that speak most for the other label, in words.

    Each column of a row is set to its typical value; what that takes away from the log-odds of the
    other label is what the column said for it.

    Parameters
    ----------
    encoder : Encoder
        What reads the columns.
    chosen : ndarray of shape (n, n_cells)
        The rows, as it read them.
    typical : ndarray of shape (n_cells,)
        By `typical_cells`.
    score : callable
        From cells to log-odds of the positive class.
    towards : ndarray of shape (n,)
        +1 where the other label is positive, -1 where it is negative.
    columns : sequence of int, optional
        Indices of the columns to look at; all when None.

    Returns
    -------
    list of str
    """
    if not len(chosen):
        return []
    places = column_places(encoder)
    usual = [(places[j], typical[places[j]]) for j in looked]
    base, odds = score(chosen), moved(score, chosen, usual)
    said = np.zeros((len(places), len(chosen)))
    for j, without in zip(looked, odds, strict=True):
        said[j] = towards * (base - without)
    found = []
    for i in range(len(chosen)):
        order = [j for j in np.argsort(-said[:, i])[:3] if said[j, i] > 0.05]
        said_by = [(encoder.columns[j], chosen[i, places[j]]) for j in order]
        found.append(", ".join(f"{c.name} = {word_of(c, values)}" for c, values in said_by))
    return found


def log_odds(probability: Array) -> Array:
    """Return log-odds, finite also for probabilities of 0 and 1.

    Examples
    --------
    >>> log_odds(np.array([0.5, 1.0])).round(2)
    array([ 0.  , 13.82])
    """
    return np.asarray(logit(np.clip(probability, 1e-6, 1 - 1e-6)))


def column_places(encoder: Encoder) -> list[Indices]:
    """Return, for each column, which cells are of it.

    Examples
    --------
    >>> from flipcost.tables.encoder import Column, Encoder
    >>> encoder = Encoder((Column("on", "date"), Column("none", "empty"), Column("age", "number")))
    >>> [where.tolist() for where in column_places(encoder)]
    [[0, 1, 2, 3, 4], [], [5]]
    """
    ends = np.searchsorted(encoder.cell_columns, np.arange(1, len(encoder.columns)))
    return np.split(np.arange(len(encoder.cell_names)), ends)


def _settings(column: Column, values: Array) -> list[tuple[str, Any]]:
    """Return the values that a column is moved between, with their names."""
    known = values[~np.isnan(values).any(axis=1)]
    if not known.size:
        return []
    if column.kind in ("number", "date"):
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


def typical_cells(encoder: Encoder, cells: Array) -> Array:
    """Return the median of each column of numbers and the most frequent level of each category."""
    found = np.empty(cells.shape[1])
    for column, where in zip(encoder.columns, column_places(encoder), strict=True):
        known = cells[:, where][~np.isnan(cells[:, where]).any(axis=1)]
        if not known.size:
            found[where] = np.nan
        elif column.kind in ("number", "date"):
            (found[where],) = _ranked(known, [len(known) // 2])
        else:
            levels, counts = np.unique(known[:, 0], return_counts=True)
            found[where] = levels[np.argmax(counts)]
    return found


def word_of(column: Column, values: Array) -> str:
    """Return a value as the table writes it, or nearly so.

    Examples
    --------
    >>> from flipcost.tables.encoder import Column
    >>> word_of(Column("ill", "boolean"), np.array([1.0]))
    'yes'
    """
    value = float(values[0])
    if np.isnan(value):
        return "missing"
    if column.kind == "category":
        return column.levels[int(value)] if value < len(column.levels) else "another level"
    if column.kind == "boolean":
        return "yes" if value else "no"
    if column.kind == "date":
        return str(np.datetime64(int(np.floor(value)), "D"))
    return f"{value:.6g}"


@dataclass(frozen=True)
class Suspect:
    """A label that looks wrong.

    Attributes
    ----------
    row : int
        Place in the table, the first being 0; in ``suspects.csv`` the first is 1.
    id : str or None
        Its name, when a column of names was given.
    label : str
        The label that it has.
    suggested : str
        The other label.
    wrong : float
        Probability that the label is wrong.
    probability : float
        Out-of-fold probability that the clean label is positive.
    evidence : str
        The columns that speak most for the other label.
    """

    row: int
    id: str | None
    label: str
    suggested: str
    wrong: float
    probability: float
    evidence: str


def find_suspects(data: AuditData, wrong: Array, score: RowScore) -> list[Suspect]:
    """Return the likeliest label errors, given the probability of each label of the pool.

    None of hardly any probability; and where labels look clean, or nothing can be said of them,
    only those that are more likely wrong than not.
    """
    pool, encoder = data.pool, data.maker.encoder
    likely = int(np.sum(wrong > 0.5))
    order = largest_first(wrong, min(_MOST_SUSPECTS, max(100, likely)))
    certain = data.classifier.state_ in ("clean", "no_signal", "small")
    order = order[wrong[order] > (0.5 if certain else _LEAST_WRONG)]
    frame = pool.frame.take(order)
    towards = np.where(pool.positive[order], -1.0, 1.0)
    usual = data.cells[data.rows.typical(np.random.default_rng(0))]
    typical = typical_cells(encoder, usual)
    looked = columns_to_look_at(encoder, usual, score)
    evidence = row_evidence(encoder, encoder.cells(frame), typical, score, towards, looked)
    return [
        Suspect(
            row=int(pool.numbers[i]),
            id=name,
            label=data.labels[int(pool.positive[i])],
            suggested=data.labels[1 - int(pool.positive[i])],
            wrong=float(wrong[i]),
            probability=float(pool.probability[i]),
            evidence=words,
        )
        for i, name, words in zip(order, data.ids(frame), evidence, strict=True)
    ]


@dataclass(frozen=True)
class ColumnFacts:
    """What a column holds.

    Attributes
    ----------
    name, kind : str
        Its name, and what kind of values it has.
    missing : float
        Share of its values that are missing.
    distinct : int
        Number of its values, missing ones left out.
    values : str
        Least, middle and largest value of a number or a date; the most frequent levels else.
    drift : float
        How much it differs between fifths of the table in its order: Cramer's V, from 0 to 1.
    drifts : bool
        Whether that is more than chance.
    """

    name: str
    kind: str
    missing: float
    distinct: int
    values: str
    drift: float
    drifts: bool


def column_facts(
    encoder: Encoder, frame: Any, cells: Array, positive: NDArray[np.bool_], target: str
) -> list[ColumnFacts]:
    """Describe the labels and the columns of rows that are in the order of the table.

    Parameters
    ----------
    encoder : Encoder
        What reads the columns.
    cells : ndarray of shape (n, n_cells)
        What it read.
    positive : ndarray of bool, shape (n,)
        Which labels are positive.
    target : str
        Name of the column of labels.

    Returns
    -------
    list of ColumnFacts
        The labels first.
    """
    sure = _SURE / (len(encoder.columns) + 1)
    share = f"{100 * positive.mean():.1f}% positive"
    label = _facts(target, "label", positive.astype(float), share, sure)
    found = [label]
    for column, where in zip(encoder.columns, column_places(encoder), strict=True):
        values = cells[:, where[0]] if len(where) else np.full(len(cells), np.nan)
        facts = _facts(column.name, column.kind, values, _values(column, values), sure)
        if column.kind == "category":  # rare levels share a cell
            facts = replace(facts, distinct=column.n_levels)
        elif column.kind == "number" and column.format and facts.values:
            text = take_column(frame, column.name, "").drop_null()[0]
            facts = replace(facts, values=f"{facts.values}, read from text such as {text}")
        found.append(facts)
    return found


def _facts(name: str, kind: str, values: Array, said: str, sure: float) -> ColumnFacts:
    known = values[~np.isnan(values)]
    drift, chance = _drift(values)
    return ColumnFacts(
        name=name,
        kind=kind,
        missing=1 - len(known) / max(len(values), 1),
        distinct=len(np.unique(known)),
        values=said,
        drift=drift,
        drifts=chance < sure,
    )


def _values(column: Column, values: Array) -> str:
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return ""
    if column.kind in ("number", "date"):
        ends = known[[0, len(known) // 2, -1]]
        return " … ".join(word_of(column, np.array([end])) for end in ends)
    levels, counts = np.unique(known, return_counts=True)
    first = np.argsort(-counts, kind="stable")[:3]
    shown = [f"{word_of(column, levels[[k]])} {100 * counts[k] / len(known):.0f}%" for k in first]
    return ", ".join(shown) + (", …" if len(levels) > len(first) else "")


def _drift(values: Array) -> tuple[float, float]:
    """Return Cramer's V between parts of the table and groups of values, and its chance."""
    group = _groups(values)
    n, n_groups = len(group), int(group.max()) + 1 if len(group) else 0
    if n_groups < 2 or n < 10 * _PARTS:
        return 0.0, 1.0
    part = np.arange(n) * _PARTS // n
    table = np.bincount(part * n_groups + group, minlength=_PARTS * n_groups)
    table = table.reshape(_PARTS, n_groups).astype(float)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    # Rare groups count too little for the law of their sum to hold.
    common = expected.min(axis=0) >= 5
    if common.sum() < 2:
        return 0.0, 1.0
    statistic = float((((table - expected) ** 2 / expected)[:, common]).sum())
    freedom = (_PARTS - 1) * (int(common.sum()) - int(common.all()))
    drift = np.sqrt(statistic / (n * min(_PARTS - 1, int(common.sum()) - 1)))
    return float(min(drift, 1.0)), float(chdtrc(freedom, statistic))


def _groups(values: Array) -> NDArray[np.intp]:
    """Return groups of about as many rows, those with the same value together, missing ones too."""
    known = ~np.isnan(values)
    found, place = np.unique(values[known], return_inverse=True)
    group = np.zeros(len(values), dtype=np.intp)
    if len(found):
        mass = np.bincount(place)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        group[known] = 1 + np.minimum((middle * _GROUPS).astype(np.intp), _GROUPS - 1)[place]
    return np.unique(group, return_inverse=True)[1]
