"""What is too good to be true: columns that give the label away, and scores in sample.

A column is judged by the share of the label's log loss that it explains alone, each row by the
others of its bin, beside what a model of the other columns explains. On 23 public tables no honest
column explained half of it and 0.15 more than the others together (the nearest: 0.66 beside 0.76
in breast cancer measurements); copies with 3 % of errors, dates that only one class has, and
amounts paid afterwards explained 0.53 to 0.93.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from flipcost._threads import thread_limits
from flipcost.audit._columns import usable_encoder
from flipcost.core.curves import area_under_curve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flipcost.audit._options import AuditOptions
    from flipcost.core.arrays import Array, Flags, Indices


# Shares of the log loss: explained alone, by a column with a telling name, and beyond the others.
_ALONE, _NAMED_ALONE = 0.5, 0.2
_BEYOND, _NAMED_BEYOND = 0.15, 0.1
# Rows of each class that prove something, bins of numbers, and rows that a bin counts of the base
# rate, which keep a row from being sure.
_FEW_ROWS, _BINS, _BASE_ROWS = 5, 32, 2.0
# The other columns are learned from at most this number of rows.
_MODEL_ROWS = 5_000
# Names of what happens when the label is known or after.
_AFTERWARDS = re.compile(
    r"(^|[_\W])(outcome|resol(ved|ution)|closed|closing|end|ended|exit|cancel\w*|terminat\w*|recover\w*"
    r"|charge_?offs?|charge_?backs?|refund\w*|settle\w*|collections?|death|died|discharge\w*"
    r"|after|post|final|recid\w*|days_to|time_to|until)($|[_\W])",
    re.IGNORECASE,
)
# A number of a row tells the label when it orders rows this well, beyond chance; it is whole,
# hardly ever twice, and dense or in the order of the rows.
_ORDERED, _BEYOND_CHANCE = 0.6, 5.0
_DIFFERENT, _DENSE = 0.99, 3.0
# Days between two dates are looked at for this number of dates.
_MOST_DATES = 8
# Out-of-fold scores of another model may be better than those of a quick one, but hardly ever by
# this share of what is left to a perfect order, and this many standard errors.
_MUCH_BETTER, _BEYOND_ERROR = 1 / 3, 3.0


@dataclass(frozen=True)
class Leak:
    """A column that gives the label away, and how: `explained` is its share of the log loss."""

    column: str
    kind: Literal["label", "nearly", "afterwards", "date", "row number"]
    explained: float

    def sentence(self, target: str) -> str:
        """Say what to look at."""
        share = f"{100 * min(self.explained, 0.99):.0f}%"
        said = {
            "label": f"{self.column!r} gives {target!r} without a single error: is it a copy, or "
            "known only afterwards?",
            "nearly": f"{self.column!r} alone explains {share} of {target!r}: is it known when "
            "the decision is made?",
            "afterwards": f"{self.column!r}, by its name known only afterwards, explains {share} "
            f"of {target!r}: is it known when the decision is made?",
            "date": f"{self.column!r}, by how long it is after another date, explains {share} of "
            f"{target!r}: is it known when the decision is made?",
            "row number": f"{self.column!r} numbers the rows and yet predicts {target!r}: are rows "
            "in the order of the label?",
        }
        end = {"label": "If so, leave it out", "row number": "Leave it out"}
        return (
            f"{said[self.kind]} {end.get(self.kind, 'If not, leave it out')}: "
            f"`drop={[self.column]}`."
        )


def find_leaks(
    names: Sequence[str], is_category: Flags, cells: Array, positive: Flags
) -> list[Leak]:
    """Return the columns that give the label away, the surest first.

    `names` and `is_category` speak of the columns of `cells`, of which a date has several.
    """
    told: dict[str, tuple[float, bool, bool]] = {}
    for j, name in enumerate(names):
        share, exact = _explained(cells[:, j], positive, category=bool(is_category[j]))
        number = not is_category[j] and _numbers_rows(cells[:, j], positive)
        before = told.get(name, (0.0, False, False))
        told[name] = max(before[0], share), before[1] or exact, before[2] or number
    ends = _ends(names, cells, positive)
    for name, share in ends.items():
        told[name] = max(told[name][0], share), *told[name][1:]
    asked = {
        name: bool(_AFTERWARDS.search(name))
        for name, (share, _, _) in told.items()
        if share >= _ALONE or (share >= _NAMED_ALONE and _AFTERWARDS.search(name))
    }
    others = [j for j, name in enumerate(names) if name not in asked]
    rest = 0.0
    if asked:
        rows, learned = learned_by_others(cells[:, others], is_category[others], positive)
        rest = _share_of_log_loss(learned, positive[rows]) if len(rows) else 0.0
    found = []
    for name, (share, exact, number) in told.items():
        if exact:
            found.append(Leak(name, "label", share))
        elif number:
            found.append(Leak(name, "row number", share))
        elif name in asked and asked[name] and share > rest + _NAMED_BEYOND:
            found.append(Leak(name, "afterwards", share))
        elif name in asked and share >= _ALONE and share > rest + _BEYOND:
            found.append(Leak(name, "date" if ends.get(name) == share else "nearly", share))
    return sorted(found, key=lambda leak: (leak.kind != "label", -leak.explained))


def _ends(names: Sequence[str], cells: Array, positive: Flags) -> dict[str, float]:
    """Return dates that follow another, and the share that the days between explain."""
    # Of the cells of a date the first is the day.
    days = [names.index(name) for name, n in Counter(names).items() if n > 1][:_MOST_DATES]
    found: dict[str, float] = {}
    for first, last in itertools.permutations(days, 2):
        between = cells[:, last] - cells[:, first]
        known = between[~np.isnan(between)]
        if len(known) and np.mean(known >= 0) > _DIFFERENT and known.any():
            share, _ = _explained(between, positive, category=False)
            found[names[last]] = max(found.get(names[last], 0.0), share)
    return found


def _explained(values: Array, positive: Flags, *, category: bool) -> tuple[float, bool]:
    """Return the share of the log loss that a column explains, and whether it tells all labels."""
    missing = np.isnan(values)
    known = values[~missing]
    distinct = np.unique(known)
    enough = len(known) >= 2 * _FEW_ROWS and (_FEW_ROWS * len(distinct) <= len(known))
    if not category and len(distinct) > _BINS:
        cuts = np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]))
        codes = np.searchsorted(cuts, values) + 1
        above, below = known[positive[~missing]], known[~positive[~missing]]
        few = min(len(above), len(below)) < _FEW_ROWS
        exact = not (few or missing.any()) and (
            above.min() > below.max() or above.max() < below.min()
        )
    else:
        codes = np.searchsorted(distinct, values) + 1
        exact = enough
    codes = np.where(missing, 0, codes)
    rows, hits = np.bincount(codes), np.bincount(codes, positive)
    if exact and (category or len(distinct) <= _BINS):
        exact = bool(np.all((hits == 0) | (hits == rows)))
    base = positive.mean()
    others = (hits[codes] - positive + _BASE_ROWS * base) / (rows[codes] - 1 + _BASE_ROWS)
    return _share_of_log_loss(others, positive), bool(exact)


def _share_of_log_loss(probability: Array, positive: Flags) -> float:
    base = positive.mean()
    sure = np.clip(np.where(positive, probability, 1 - probability), 1e-4, 1.0)
    entropy = -(base * np.log(base) + (1 - base) * np.log(1 - base))
    return float(1 + np.log(sure).mean() / entropy)


def learned_by_others(cells: Array, is_category: Flags, positive: Flags) -> tuple[Indices, Array]:
    """Return some rows, and what a model of some columns gives their labels, out of fold."""
    rows = np.random.default_rng(0).permutation(len(positive))[:_MODEL_ROWS]
    known = positive[rows]
    if not cells.shape[1] or min(np.count_nonzero(known), np.count_nonzero(~known)) < _FEW_ROWS:
        return np.empty(0, dtype=np.intp), np.empty(0)
    # Boosting takes codes of up to 255 levels.
    some = np.where(is_category, np.minimum(cells[rows], 250.0), cells[rows])
    model: Any = HistGradientBoostingClassifier(
        max_iter=20,
        learning_rate=0.15,
        max_leaf_nodes=15,
        l2_regularization=5.0,
        early_stopping=False,
        categorical_features=is_category if is_category.any() else None,
    )
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    with thread_limits(1, "openmp"):
        found = cross_val_predict(model, some, known, cv=folds, method="predict_proba")
    return rows, found[:, 1]


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
    encoder = usable_encoder(frame, others)
    rows, learned = learned_by_others(encoder.cells(frame), encoder.is_category, positive)
    if not len(rows):
        return []
    theirs, ours = (area_under_curve(x, positive[rows]) for x in (learned, cells[rows, best]))
    # Each area's standard error is at most this, of Mann and Whitney.
    few = min(np.count_nonzero(positive[rows]), np.count_nonzero(~positive[rows]))
    error = np.sqrt(theirs * (1 - theirs) / few)
    if ours - theirs < max(_MUCH_BETTER * (1 - theirs), _BEYOND_ERROR * error):
        return []
    beside = f"an area under the curve of {ours:.2f}, boosting on the other columns"
    return [f"{said} with {beside} with {theirs:.2f}. {advice}"]


def _numbers_rows(values: Array, positive: Flags) -> bool:
    """Tell whether a column numbers the rows and yet orders the labels."""
    known = ~np.isnan(values)
    numbers = values[known]
    if len(numbers) < len(values) / 2 or not np.all(numbers == np.round(numbers)):
        return False
    if len(np.unique(numbers)) < _DIFFERENT * len(numbers):
        return False
    in_order = abs(np.mean(np.sign(np.diff(numbers)))) > _DIFFERENT
    if not (in_order or numbers.max() - numbers.min() < _DENSE * len(numbers)):
        return False
    above = positive[known]
    pairs = np.count_nonzero(above) * np.count_nonzero(~above)
    if not pairs:
        return False
    area = area_under_curve(numbers, above)
    area = max(area, 1 - area)
    error = np.sqrt((len(numbers) + 1) / (12 * pairs))
    return bool(area > _ORDERED and area - 0.5 > _BEYOND_CHANCE * error)
