"""Scores of a model of the user's own in place of columns, and whether they are out of fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.audit._leaks import learned_by_others
from flipcost.core.curves import area_under_curve
from flipcost.estimators.flipcost.scores import GivenScores
from flipcost.exceptions import FlipCostError, TableError, shorten, unknown_column
from flipcost.tables.columns import unusable_columns
from flipcost.tables.encoder import Encoder, describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from flipcost.audit._options import AuditOptions

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# Out-of-fold scores of another model may be better than those of a quick one, but hardly ever by
# this share of what is left to a perfect order, and this many standard errors.
_MUCH_BETTER, _BEYOND_CHANCE = 1 / 3, 3.0


def score_columns(
    options: AuditOptions, columns: list[str], names: list[str], where: str
) -> list[str]:
    """Return the columns of scores; refuse those that are not there or are something else."""
    for name in options.scores:
        if name not in names:
            raise unknown_column(name, names, where)
        if name not in columns:
            msg = f"Column {name!r} was given two roles; give each column one."
            raise TableError(msg)
    return list(dict.fromkeys(options.scores))


def describe_scores(frame: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Describe columns of scores; refuse what is no number, or the same in all rows."""
    schema = describe(frame, names)
    for about in schema:
        if about["kind"] != "number":
            what = {"empty": "is empty", "constant": "is the same in every row"}
            msg = (
                f"Column {about['name']!r} {what.get(about['kind'], 'holds no numbers')}; scores "
                "must be numbers that differ between rows."
            )
            raise TableError(msg)
    return schema


def read_scores(cells: Array, options: AuditOptions) -> Array:
    """Return scores of rows, log-odds where they are probabilities; none may be missing."""
    missing = np.isnan(cells).sum(axis=0)
    for name, rows in zip(options.scores, missing.tolist(), strict=True):
        if rows:
            msg = f"Column {name!r} has no score in {rows:,} rows; score these, or leave them out."
            raise TableError(msg)
    try:
        return GivenScores(options.score_kind).read(cells)
    except FlipCostError as error:
        named = str(error).replace("`scores`", f"Column {shorten(options.scores)}")
        raise TableError(named.replace("kind='score'", "`score_kind='score'`")) from error


def in_sample_doubt(
    frame: Any, others: Sequence[str], cells: Array, positive: Flags, options: AuditOptions
) -> list[str]:
    """Warn of scores that order the labels better than the other columns can, out of fold."""
    areas = [area_under_curve(score, positive) for score in cells.T]
    best = int(np.argmax(areas))
    said = f"The scores in {options.scores[best]!r} order the labels"
    advice = (
        "Are they of rows that the model was fitted on? Then all figures here are too good: give "
        "out-of-fold scores."
    )
    if areas[best] == 1:
        return [f"{said} without an error. {advice}"]
    schema = describe(frame, others)
    left_out = unusable_columns(schema, len(positive))
    encoder = Encoder.of_described(frame, [one for one in schema if one["name"] not in left_out])
    is_category = encoder.is_category
    rows, learned = learned_by_others(encoder.cells(frame), is_category, positive)
    if not len(rows):
        return []
    theirs, ours = (area_under_curve(x, positive[rows]) for x in (learned, cells[rows, best]))
    # Each area's standard error is at most this, of Mann and Whitney.
    few = min(np.count_nonzero(positive[rows]), np.count_nonzero(~positive[rows]))
    error = np.sqrt(theirs * (1 - theirs) / few)
    if ours - theirs < max(_MUCH_BETTER * (1 - theirs), _BEYOND_CHANCE * error):
        return []
    beside = f"an area under the curve of {ours:.2f}, boosting on the other columns"
    return [f"{said} with {beside} with {theirs:.2f}. {advice}"]
