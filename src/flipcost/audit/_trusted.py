"""Right labels of some rows: whether they can be used, and what is to be said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.linear_model import LogisticRegression

from flipcost.estimators.flipcost import check_not_swapped
from flipcost.exceptions import FlipCostError, TableError, shorten
from flipcost.tables.arrow import as_text, take_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from flipcost.audit._maker import RowMaker, TableFacts
    from flipcost.audit._options import AuditOptions
    from flipcost.audit._rows import JudgedRows


def check_trusted(
    pairs: Mapping[tuple[str, ...], int],
    options: AuditOptions,
    labels: tuple[str, str],
    n_rows: int,
) -> list[str]:
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
    check_others(pairs, (options.trusted or "checked",), options.target, labels)
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


def check_answers(maker: RowMaker, facts: TableFacts) -> list[str]:
    """Refuse answers of files about rows that the table does not have; say if some were left out.

    Parameters
    ----------
    maker : RowMaker
        With the answers.
    facts : TableFacts
        What was counted in all rows.
    """
    if maker.answers is None:
        return []
    is_sample = sum(facts.rows.values()) + facts.unlabelled < facts.n_rows
    outside = maker.answers.check_found(facts.found, facts.n_rows, is_sample=is_sample)
    if not outside:
        return []
    return [f"{outside:,} checked rows are not in the sample that was audited, and play no part."]


def check_others(
    pairs: Mapping[tuple[str, ...], int],
    names: tuple[str, ...],
    target: str,
    labels: tuple[str, str],
) -> None:
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


def check_checked(judged: JudgedRows, options: AuditOptions, name: str) -> None:
    """Refuse checked rows that contradict each other, or nearly all that is known.

    Parameters
    ----------
    judged : JudgedRows
        Rows, with those that were checked.
    options : AuditOptions
        What was asked.
    name : str
        What the table is called.
    """
    checked = judged.checked
    if checked is None:
        return
    if options.id is not None:
        frame = judged.frame.take(checked.rows)
        ids = as_text(take_column(frame, options.id, name), options.id, "names").to_pylist()
        right: dict[str, bool] = {}
        for row, answer in zip(ids, checked.right.tolist(), strict=True):
            if row is not None and right.setdefault(row, answer) != answer:
                msg = (
                    f"Row {row!r} was checked more than once, with different right labels in "
                    f"{_given_in(options)}; settle which is right, or leave it empty."
                )
                raise TableError(msg)
    try:
        check_not_swapped(judged.X, judged.positive, checked, _learn)
    except FlipCostError as error:
        names = str(error).replace("`trusted`", _given_in(options))
        raise TableError(names.replace("`y`", repr(options.target))) from error


def _given_in(options: AuditOptions) -> str:
    return "what was checked" if options.trusted is None else repr(options.trusted)


def _learn(X: NDArray[np.float64], positive: NDArray[np.bool_]) -> Any:
    return LogisticRegression(max_iter=1000).fit(X, positive).decision_function
