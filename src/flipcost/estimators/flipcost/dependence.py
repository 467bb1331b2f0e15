"""Rows that depend on each other: folds that keep them together, and what they count for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import logit

from flipcost._validation import value_codes
from flipcost.core.calibration import calibrate
from flipcost.core.clean_means import unbiased_costs
from flipcost.core.dependence import (
    design_effect,
    drift,
    grouped_squares,
    mean_design,
    repeated_rows,
    time_spans,
)
from flipcost.core.folds import group_folds, usual_folds
from flipcost.estimators.base import fold_numbers
from flipcost.exceptions import FlipCostError
from flipcost.tables.encoder import Encoder, is_mixed

if TYPE_CHECKING:
    from flipcost.core.arrays import Array, Flags, Indices
    from flipcost.core.error_rates import RatePosterior
    from flipcost.estimators.flipcost.rows import ScoredRows

# Forward folds when no one says, and rows of each label that the first one is learned from.
_FORWARD_FOLDS, _FIRST_ROWS = 5, 5
_SUREST = 1e-6


@dataclass(frozen=True, eq=False)
class Dependence:
    """Which rows depend on each other, and the folds that follow from it.

    Attributes
    ----------
    folds : ndarray of int, shape (n,)
        Fold of each row.
    groups : ndarray of int, shape (n,), or None
        Group of each row; None when all are independent.
    kind : {"none", "groups", "time", "copies"}
        Where the groups come from: spans of time, or rows that repeat each other.
    """

    folds: Indices
    groups: Indices | None = None
    kind: str = "none"

    @property
    def forward(self) -> bool:
        """Whether folds are scored by earlier ones only."""
        return self.kind == "time"

    def evaluation_weight(self, weight: Array | None, positive: Flags) -> Array | None:
        """Return the weights to judge by: the first of forward folds has nothing before it."""
        evaluated = weight
        if self.forward:
            evaluated = np.where(self.folds > 0, 1.0 if weight is None else weight, 0.0)
        if evaluated is not None and not min(evaluated @ positive, evaluated @ ~positive) > 0:
            msg = (
                "Both classes must have rows of some weight to judge by; got none of one of them"
                f"{' after the first span of `time`' if self.forward else ''}. Gather more."
            )
            raise FlipCostError(msg)
        return evaluated

    def thin(self, rows: ScoredRows, level: float) -> ScoredRows:
        """Return rows that count for as many as their dependence leaves."""
        groups, positive, weight = self.groups, rows.positive, rows.weight
        costs: Any = rows.prices
        if groups is None:
            return rows
        # What each row adds to a curve of recorded labels along the score: its three terms.
        noisy = calibrate(rows.bins, [(0.0, 0.0)]).probability(rows.scores)
        line = logit(np.clip(noisy, _SUREST, 1 - _SUREST))
        line = (line - line.mean()) / max(float(line.std()), 1e-12)
        off = positive - noisy
        terms = np.column_stack([off, off * line, off * line**2])
        used = slice(None) if weight is None else weight > 0
        own = terms if weight is None else weight[:, None] * terms
        design = design_effect(own[used], groups[used], level)

        checked, of_checked = rows.checked, 1.0
        if checked is not None:
            # Of many rows of a group few may have been checked: those count that were.
            seen = checked.rows
            given, wrong = positive[seen].astype(np.intp), positive[seen] != checked.right
            usual = np.bincount(given, wrong, 2) / np.maximum(np.bincount(given, minlength=2), 1)
            of_checked = design_effect(wrong - usual[given], groups[seen], level)
            checked = replace(checked, design=of_checked)

        def cost_design(flagged: Flags, posterior: RatePosterior) -> float:
            values = unbiased_costs(positive, flagged, costs, tuple(posterior.mean))
            return mean_design(values, groups, weight, level)

        return replace(
            rows,
            bins=tuple(bins.thinned(design, of_checked) for bins in rows.bins),
            checked=checked,
            design=design,
            flag_squares=grouped_squares(positive, groups, weight, level),
            flag_design=None if costs is None else cost_design,
        )

    def note(self, n_effective: float, score: Array, positive: Flags) -> str | None:
        """Return what to warn of, given how many rows these count for; None if nothing."""
        n_rows = len(self.folds)
        counted = f"they count for {n_effective:,.0f} in all intervals"
        if self.groups is None:
            return None
        if self.kind == "copies":
            copies = n_rows - len(np.unique(self.groups))
            return (
                f"{copies:,} of {n_rows:,} rows repeat others, exactly or nearly. They are kept "
                f"together in folds, and {counted}. If they are separate cases, give "
                "`groups` with a different value for each row."
            )
        if self.kind == "time":
            later = self.folds > 0
            found = drift(score[later], positive[later], self.folds[later] - 1)
            if found is None:
                return None
            return (
                "The labels drift with time: scored by what was learned from the rows before them, "
                f"rows are ordered with an area under the curve of {found[1]:.2f} in one span and "
                f"of {found[0]:.2f} in another, so {n_rows:,} rows count for {n_effective:,.0f} "
                "and no rate is sure. Learn from rows of one time, or leave out what changed."
            )
        return None


def read_dependence(
    X: Any, learned: Flags, groups: Any, time: Any, cv: Any, rng: np.random.Generator
) -> Dependence:
    """Return which rows depend on each other: by groups, by time, or because they are copies."""
    if groups is not None and time is not None:
        msg = "Give `groups` or `time`, not both: folds follow one of them."
        raise FlipCostError(msg)
    if time is not None:
        return _by_time(learned, value_codes(time, len(learned), "time"), cv)
    kind, codes = "copies", _copies(X) if groups is None else None
    if groups is not None:
        kind, codes = "groups", value_codes(groups, len(learned), "groups")
        codes = None if len(np.unique(codes)) == len(codes) else codes  # all of their own
    classes = learned.astype(np.int8)
    n_folds = usual_folds(len(learned)) if cv is None else cv
    if codes is None:
        return Dependence(fold_numbers(n_folds, classes, rng))
    if not isinstance(n_folds, Integral):
        given = codes if kind == "groups" else None
        return Dependence(fold_numbers(n_folds, classes, rng, given), codes, kind)
    fold_numbers(n_folds, classes, rng)  # says what is wrong with the number
    return Dependence(group_folds(codes, learned, int(n_folds), rng), codes, kind)


def _by_time(learned: Flags, order: Indices, cv: Any) -> Dependence:
    """Return forward folds, whose first has enough rows of both labels to learn from."""
    if cv is not None and not isinstance(cv, Integral):
        msg = "`cv` must be the number of folds, or None, with `time`: folds go forward in it."
        raise FlipCostError(msg)
    folds = time_spans(order, (_FORWARD_FOLDS if cv is None else int(cv)) + 1)
    for first in range(int(folds.max())):
        rows = folds <= first
        if min(learned[rows].sum(), (~learned[rows]).sum()) >= _FIRST_ROWS:
            return Dependence(np.maximum(folds - first, 0), time_spans(order), "time")
    msg = (
        "Each label must be found in rows that are earlier than others to learn forward in "
        f"`time`; got fewer than {_FIRST_ROWS} of one of them before the last span of time."
    )
    raise FlipCostError(msg)


def _copies(X: Any) -> Indices | None:
    """Return a number for each row, the same for copies; None if X cannot be read as numbers."""
    if sparse.issparse(X):
        return repeated_rows(X)
    if is_mixed(X):
        encoder = Encoder.learn(X)
        X = encoder.numbers(encoder.cells(X))
    try:
        table = np.asarray(X, dtype=float)
    except (TypeError, ValueError):  # rows that only the estimator understands
        return None
    return repeated_rows(table) if table.ndim == 2 else None
