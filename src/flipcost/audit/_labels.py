"""What is known of the labels before anything is learned: classes, counts, and the error rate.

Labels of several annotators are pooled first, to one column whose error rates their agreement
tells. The pooled label of an item follows from its labels alone, weighed by what is known of who
gave them, so that its errors do not follow the columns beyond the truth: the columns only help to
tell how often each annotator errs. In `benchmarks.crowds` models of such labels decide new rows as
well as models of items that enter twice by their probability, and the true cost lay in 16 of 16
intervals, not 12.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flipcost._validation import check_total_weight
from flipcost.audit._columns import usable_encoder
from flipcost.core import priors
from flipcost.core.confusion import agreement
from flipcost.core.noise import NoiseRate, rate_pair
from flipcost.estimators.flipcost.fit import check_possible
from flipcost.exceptions import TableError, positive_doubt, shorten, unknown_column
from flipcost.noise import CrowdLabels, rate_of_patterns
from flipcost.tables.arrow import as_arrow, as_text, take_column
from flipcost.tables.roles import price_columns, read_labels, two_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from flipcost.audit._options import AuditOptions
    from flipcost.audit._sources import RowBuilder, TableFacts
    from flipcost.core.arrays import Array, Indices
    from flipcost.noise import WorkerRates

    Pairs = Mapping[tuple[str, ...], int]
    Labels = tuple[str, str]

_LEAST_OF_CLASS = 10
# Standard errors from chance: below the one second labels tell nothing, below the other, negative,
# they say the opposite.
_RELATED, _BEYOND_CHANCE = 2.0, 3.0


def find_labels(facts: TableFacts, options: AuditOptions) -> tuple[Labels, tuple[int, int]]:
    """Return the negative label and the positive one, and how many rows have each.

    Too few rows of one, or weights that leave nothing of one, are refused.
    """
    labels = two_classes(
        np.array(list(facts.rows), dtype=object), options.target, options.pos_label
    )
    counts = facts.rows[labels[0]], facts.rows[labels[1]]
    for label, rows in zip(labels, counts, strict=True):
        if rows < _LEAST_OF_CLASS:
            msg = (
                f"Column {options.target!r} has {rows} rows labelled {label!r}; at least "
                f"{_LEAST_OF_CLASS} of each label are needed to learn from. Gather more."
            )
            raise TableError(msg)
    name = options.sample_weight
    if name is not None:
        totals = [facts.weight[label] for label in labels]
        if not min(totals) > 0:
            msg = f"Column {name!r} gives one class no weight; correct it."
            raise TableError(msg)
        check_total_weight(sum(totals), f"The weights of column {name!r}")
    return labels, counts


def label_warnings(
    facts: TableFacts, options: AuditOptions, labels: Labels, counts: tuple[int, int]
) -> list[str]:
    """Warn of a positive class that looks wrong, rows left out, and costs that look swapped."""
    doubt = None if options.pos_label is not None else positive_doubt(*labels)
    found = [] if doubt is None else [doubt]
    if facts.unlabelled:
        found.append(f"{facts.unlabelled} rows have no label and were left out.")
    if options.prices.is_by_row:
        return found
    share, (miss, alarm) = counts[1] / sum(counts), options.prices.extra
    # Near one half neither class is the rarer one, and errors pull shares towards one half.
    if (share < 0.45 and miss < alarm) or (share > 0.55 and miss > alarm):
        rare = labels[int(share < 0.5)]
        found.append(
            f"Misclassifying {rare!r}, the rarer label, is the cheaper error at these costs; are "
            f"`fn` and `fp` swapped, or is {labels[1]!r} not the positive label (`pos_label`)?"
        )
    return found


def known_rate(
    options: AuditOptions, facts: TableFacts, labels: Labels, maker: RowBuilder
) -> tuple[Any, list[str]]:
    """Return the rate that is given, or that second labels tell, and what to warn of.

    None when nothing is known, or rows were checked: these are learned from themselves.
    """
    if maker.answers is not None:
        maker.answers.check_found(facts.found, facts.n_rows)
    rate, notes = None, []
    if options.noise_rate is not None:
        rate = options.noise_rate
        share = facts.weight[labels[1]] / sum(facts.weight.values())
        check_possible(rate_pair(rate), share, sum(facts.rows.values()))
    elif options.has_checked:
        notes = check_trusted(facts.pairs, options, labels, sum(facts.rows.values()))
    elif options.roles.second_label:
        rate, notes = rate_from_pairs(facts.pairs, options, labels)
    return rate, notes


def check_trusted(pairs: Pairs, options: AuditOptions, labels: Labels, n_rows: int) -> list[str]:
    """Refuse trusted labels that cannot be used; return what to say of others.

    Examples
    --------
    >>> from flipcost.audit import AuditOptions
    >>> options = AuditOptions(target="ill", cost=0.2, trusted="checked")
    >>> check_trusted({("yes", "no"): 3, ("no", "no"): 9}, options, ("no", "yes"), 50)
    ["All 12 checked rows are truly 'no': they say nothing of how often 'yes' is labelled wrong."]
    """
    rows = sum(pairs.values())
    _check_others(pairs, (options.trusted or "checked",), options.target, labels)
    found = {right for _, right in pairs}
    notes = []
    if len(found) == 1:
        (only,) = found
        other = labels[1 - labels.index(only)]
        notes.append(
            f"All {rows:,} checked rows are truly {only!r}: they say nothing of how "
            f"often {other!r} is labelled wrong."
        )
    if rows == n_rows and not options.rounds:
        notes.append(
            f"Every row has a right label in {options.trusted!r}, so this is ordinary learning: "
            f"`target` could be {options.trusted!r} itself, and {options.target!r} be left out."
        )
    return notes


def _check_others(pairs: Pairs, names: tuple[str, ...], target: str, labels: Labels) -> None:
    """Refuse columns of other labels that are empty, or hold what is no label of the target."""
    for k, name in enumerate(names, start=1):
        found = {kind[k] for kind in pairs} - {""}
        if not found:
            msg = f"Column {name!r} is empty; fill in some rows, or leave it out."
            raise TableError(msg)
        strange = sorted(found - set(labels))
        if strange:
            msg = (
                f"Column {name!r} must hold the labels of {target!r} ({shorten(sorted(labels))}); "
                f"it also holds {shorten(strange)}."
            )
            raise TableError(msg)


def rate_from_pairs(
    pairs: Pairs, options: AuditOptions, labels: Labels
) -> tuple[NoiseRate | None, list[str]]:
    """Return the noise rate that counts of labels and second labels tell, and what to warn of.

    None when the columns agree no more than chance does: it is not identified then.

    Examples
    --------
    >>> from flipcost.audit import AuditOptions
    >>> options = AuditOptions(target="ill", cost=0.2, second_label="again")
    >>> pairs = {("yes", "yes"): 40, ("yes", "no"): 18, ("no", "no"): 42}
    >>> rate, _ = rate_from_pairs(pairs, options, ("no", "yes"))
    >>> print(rate)
    0.100, 95% interval 0.059 to 0.160 (disagreement of two labels on 100 rows)
    """
    names = options.roles.second_label
    _check_others(pairs, names, options.target, labels)
    notes = []
    if len(names) == 1 and options.noise_model not in ("auto", "symmetric"):
        notes.append(
            f"Column {names[0]!r} gives one error rate for both classes; "
            f"`noise_model={options.noise_model!r}` had no effect."
        )
    seen = np.array(list(pairs))
    counts = np.array(list(pairs.values()), dtype=float)
    untold = _unrelated(seen, counts, names, options.target, labels)
    if untold is not None:
        return None, [*notes, untold]
    patterns = np.select([seen == labels[1], seen == labels[0]], [1, 0], -1)
    two = len(names) > 1 and options.noise_model != "symmetric"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rate = rate_of_patterns(patterns, counts, class_conditional=two, level=options.level)
    return rate, notes + [" ".join(str(w.message).split()) for w in caught]


def _unrelated(
    seen: NDArray[np.str_],
    counts: NDArray[np.float64],
    names: Sequence[str],
    target: str,
    labels: Labels,
) -> str | None:
    """Return a warning of second labels that tell nothing; refuse those that say the opposite."""
    found = []
    for k, name in enumerate(names, start=1):
        cells = [
            [counts[(seen[:, 0] == label) & (seen[:, k] == other)].sum() for other in labels]
            for label in labels
        ]
        found.append(agreement(cells))
        if found[-1] < -_BEYOND_CHANCE:
            msg = (
                f"Columns {target!r} and {name!r} contradict each other: a row labelled "
                f"{labels[1]!r} in the one is less likely so in the other. Are the two labels of "
                f"{name!r} swapped, or do they belong to other rows?"
            )
            raise TableError(msg)
    if max(found) > _RELATED:
        return None
    return (
        f"The labels of {shorten(names)} and {target!r} agree no more than chance does, so the "
        f"noise rate is not identified by them: they played no part."
    )


@dataclass(frozen=True, eq=False)
class PooledLabels:
    """Items with one label each, made of those of several annotators.

    Attributes
    ----------
    rows : ndarray of int, shape (n_items,)
        The first row of each item in the table of labels, rising.
    ids, labels : list of str or None
        Names of the items, if they have some, and their pooled labels.
    wrong : ndarray of shape (n_items,)
        Probability that the pooled label is wrong, given the labels and the columns.
    rate : NoiseRate
        How often pooled labels are wrong.
    workers : tuple of WorkerRates
        How often each annotator errs.
    """

    rows: Indices
    ids: list[str | None]
    labels: list[str]
    wrong: Array
    rate: NoiseRate
    workers: tuple[WorkerRates, ...]


def pool_labels(
    table: Any, options: AuditOptions, notes: list[str]
) -> tuple[PooledLabels, Any, AuditOptions]:
    """Return how labels were pooled, the items with these, and what is then asked of them.

    `notes` gets what to say of it.
    """
    arrow, where = as_arrow(table), options.name or "the table"
    used = [options.item, options.worker, *options.annotator_names]
    for name in used:
        if name is not None and name not in arrow.column_names:
            raise unknown_column(name, arrow.column_names, where)
    if options.worker is None:
        items, first, crowd, classes = _wide(arrow, options)
    else:
        items, first, crowd, classes = _long(arrow, options, notes, where)
    own = replace(
        options,
        worker=None,
        item=None,
        annotators=(),
        id=options.id or options.item,
        pos_label=classes[1],
    )
    items = items.drop_columns([name for name in used if name not in (None, own.id)])
    X = _features(items, own, where)
    crowd.fit(X=X, level=options.level, random_state=options.random_state)
    vote = np.array(classes, dtype=object)[crowd.vote_.astype(int)].tolist()
    if len(set(vote)) == 1:
        msg = (
            f"The annotators leave no item that is likelier {classes[int(not crowd.vote_[0])]!r} "
            "than not; gather more labels."
        )
        raise TableError(msg)
    ids: list[str | None] = [None] * len(vote)
    if own.id is not None:
        ids = as_text(take_column(items, own.id, where), own.id, "names").to_pylist()
    wrong = np.where(crowd.vote_, 1 - crowd.probability_, crowd.probability_)
    pooled = PooledLabels(first, ids, vote, wrong, _rate(crowd, options.level), crowd.rates_)
    return pooled, items.append_column(own.target, pa.array(vote)), own


def _long(
    table: Any, options: AuditOptions, notes: list[str], where: str
) -> tuple[Any, Indices, CrowdLabels, tuple[str, str]]:
    """Read a row for each label: the items, the first row of each, and the labels."""
    named = {}
    for name in (options.item, options.worker):
        assert name is not None  # noqa: S101 - checked with the options
        names = as_text(take_column(table, name, where), name, "names")
        if names.null_count:
            msg = f"Column {name!r} must name every row; {names.null_count:,} rows have none."
            raise TableError(msg)
        named[name] = names.to_numpy(zero_copy_only=False)
    labels = read_labels(take_column(table, options.target, where), options.target)
    classes = two_classes(labels, options.target, options.pos_label)
    places = np.flatnonzero([label is not None for label in labels])
    of_item, of_worker = (names[places] for names in named.values())
    crowd = CrowdLabels.from_long(of_item, of_worker, labels[places], pos_label=classes[1])
    _, first, code = np.unique(of_item, return_index=True, return_inverse=True)
    labelled = table.take(pa.array(places))
    varying = _varying(labelled, first[code], {options.target, *named})
    used = set(varying).intersection(options.roles.used)
    if used:
        msg = f"Column {used.pop()!r} must be the same in all rows of an item, and is not."
        raise TableError(msg)
    if varying:
        notes.append(
            f"Columns that differ between the rows of one item were left out: {shorten(varying)}."
        )
    first = np.sort(first)
    items = labelled.take(pa.array(first)).drop_columns([options.target, *varying])
    return items, places[first], crowd, classes


def _varying(table: Any, first: Indices, known: set[str]) -> list[str]:
    """Return columns that are not the same in all rows of an item, given the first row of each."""
    found = []
    for name in table.column_names:
        column = take_column(table, name, "")
        if name in known or pa.types.is_nested(column.type):  # these are refused with the columns
            continue
        codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if not np.array_equal(values, values[first]):
            found.append(name)
    return found


def _wide(table: Any, options: AuditOptions) -> tuple[Any, Indices, CrowdLabels, tuple[str, str]]:
    """Read a row for each item and a column for each annotator."""
    names = options.annotator_names
    if options.target in table.column_names:
        msg = (
            f"Column {options.target!r} is in the table already; `target` names the new column of "
            "labels pooled from `annotators`."
        )
        raise TableError(msg)
    columns = {name: read_labels(take_column(table, name, ""), name) for name in names}
    classes = two_classes(
        np.concatenate(list(columns.values())), ", ".join(names), options.pos_label
    )
    known = [[label is not None for label in labels] for labels in columns.values()]
    some = np.flatnonzero(np.any(known, axis=0))
    given = {name: labels[some] for name, labels in columns.items()}
    crowd = CrowdLabels.from_wide(given, pos_label=classes[1])
    return table.take(pa.array(some)), some, crowd, classes


def _features(items: Any, options: AuditOptions, where: str) -> Array:
    """Return the columns of the items as numbers, to tell the annotators' rates by."""
    other = {*options.roles.used, *options.drop}
    if not options.learn_prices:
        other |= set(price_columns(options.prices, items.column_names, where))
    names = options.scores or [name for name in items.column_names if name not in other]
    encoder = usable_encoder(items, names, options.categorical)
    if not encoder.columns:
        msg = (
            f"{where} has no columns of the items to learn from; `fc.CrowdLabels` pools labels "
            "without."
        )
        raise TableError(msg)
    return encoder.numbers(encoder.cells(items))


def _rate(crowd: CrowdLabels, level: float) -> NoiseRate:
    """Return how often votes are wrong, as what is known before the columns are learned from."""
    found, spread = crowd.vote_rates_, priors.CROWD_SPREAD
    value = found[0].value, found[1].value
    low = [max(one.value - spread * (one.value - one.low), 0.0) for one in found]
    least = 1 / len(crowd.items_)  # annotators who always agree may be wrong together
    high = [min(one.value + max(spread * (one.high - one.value), least), 1.0) for one in found]
    source = f"agreement of {len(crowd.workers_):,} annotators"
    return NoiseRate(value, (low[0], low[1]), (high[0], high[1]), source, level)
