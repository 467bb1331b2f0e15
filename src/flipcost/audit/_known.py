"""What is known of the labels before anything is learned: classes, counts, and the error rate."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost._validation import check_total_weight
from flipcost.core.confusion import agreement
from flipcost.core.noise import rate_pair
from flipcost.estimators.flipcost.fit import check_possible
from flipcost.exceptions import TableError, positive_doubt, shorten
from flipcost.noise import rate_of_patterns
from flipcost.tables.roles import two_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from flipcost.audit._maker import RowMaker, TableFacts
    from flipcost.audit._options import AuditOptions
    from flipcost.core.noise import NoiseRate

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
        try:
            check_total_weight(sum(totals), f"The weights of column {name!r}")
        except ValueError as error:
            raise TableError(str(error)) from error
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
    options: AuditOptions, facts: TableFacts, labels: Labels, maker: RowMaker
) -> tuple[Any, list[str]]:
    """Return the rate that is given, or that second labels tell, and what to warn of.

    None when nothing is known, or rows were checked: these are learned from themselves.
    """
    outside = _check_answers(maker, facts)
    rate, notes = None, []
    if options.noise_rate is not None:
        rate = options.noise_rate
        share = facts.weight[labels[1]] / sum(facts.weight.values())
        check_possible(rate_pair(rate), share, sum(facts.rows.values()))
    elif options.has_checked:
        notes = check_trusted(facts.pairs, options, labels, sum(facts.rows.values()))
    elif options.roles.second_label:
        rate, notes = rate_from_pairs(facts.pairs, options, labels)
    return rate, notes + outside


def _check_answers(maker: RowMaker, facts: TableFacts) -> list[str]:
    """Refuse answers about rows that the table does not have; say if some are not in the sample."""
    if maker.answers is None:
        return []
    is_sample = sum(facts.rows.values()) + facts.unlabelled < facts.n_rows
    outside = maker.answers.check_found(facts.found, facts.n_rows, is_sample=is_sample)
    if not outside:
        return []
    return [f"{outside:,} checked rows are not in the sample that was audited, and play no part."]


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
    if not rows and options.rounds:  # none of them is in the sample
        return []
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
                f"Column {name!r} must hold the labels of {target!r}, {shorten(sorted(labels))}; "
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
            f"Column {names[0]!r} gives one noise rate for both classes; "
            f"`noise_model={options.noise_model!r}` played no part."
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
