"""From the rows that were drawn to a fitted classifier, and to the rows that tell what it is worth.

The same for every source.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost._threads import thread_limits
from flipcost.audit._checks import check_prices
from flipcost.audit._dependence import asked_ties, tied
from flipcost.audit._rows import JudgedRows, WatchedRows
from flipcost.audit._sources import ScoreTask
from flipcost.audit._trusted import check_checked
from flipcost.core.checked_rows import CheckedRows
from flipcost.estimators import flipcost
from flipcost.estimators.flipcost import TableSample
from flipcost.tables.arrow import concatenate
from flipcost.tables.roles import row_prices

if TYPE_CHECKING:
    from flipcost.audit._maker import RowMaker, TableFacts
    from flipcost.audit._options import AuditOptions
    from flipcost.audit._sources import RowSource
    from flipcost.estimators import FlipCostClassifier
    from flipcost.tables.sample import Drawn

_FEW_ROWS = 50_000


def fit_drawn(
    source: RowSource,
    drawn: Drawn,
    facts: TableFacts,
    maker: RowMaker,
    classifier: FlipCostClassifier,
    options: AuditOptions,
) -> tuple[JudgedRows, WatchedRows]:
    """Fit on the rows that were drawn; all of them are judged, and watched."""
    rows = drawn.rows
    frame, labels, weight = rows.rows, rows.beside["label"], rows.beside.get("weight")
    positive, given = labels == classifier.pos_label, rows.beside.get("trusted")
    rounds, stands_for = maker.rounds(frame), None if drawn.is_all else drawn.stands_for
    checked = trusted = sample = None
    if given is not None and np.any(given != ""):
        places = np.flatnonzero(given != "")
        own = None
        if stands_for is not None:
            own = np.ones(len(places)) if weight is None else weight[places]
        checked = CheckedRows(places, given[places] == classifier.pos_label, own)
        rounds = None if rounds is None else rounds[places]
        trusted = given.astype(object)
        trusted[given == ""] = None
    prices = row_prices(options.prices, frame, source.name)
    check_prices(prices, positive, options.target)
    if stands_for is not None:
        sample = TableSample(rows.position, positive, stands_for, drawn.n_rows)
    X = maker.make(frame)
    numbers = _row_numbers(rows.position, facts)
    judged = JudgedRows(
        frame,
        X,
        positive,
        stands_for if weight is None else weight if stands_for is None else weight * stands_for,
        stands_for=stands_for,
        checked=checked,
        prices=prices,
        rows=numbers,
        rounds=rounds,
    )
    check_checked(judged, options, source.name)
    with limited_threads(len(labels)):
        scored = flipcost.fit_drawn(
            classifier,
            maker.inputs(frame, classifier),
            labels,
            sample,
            sample_weight=weight,
            trusted=trusted,
            prices=prices,
            **asked_ties(frame, options, source.name),
        )
    judged = tied(judged, classifier, options)
    watched = WatchedRows(frame, numbers, positive, classifier.oof_probability_)
    if stands_for is not None:
        watched = _with_others(source, watched, rows.position, facts, maker, classifier, options)
    return replace(judged, scored=scored), watched


def _with_others(
    source: RowSource,
    watched: WatchedRows,
    position: Any,
    facts: TableFacts,
    maker: RowMaker,
    classifier: FlipCostClassifier,
    options: AuditOptions,
) -> WatchedRows:
    """Add the most suspicious rows of those that were not drawn, which the model has not seen."""
    known, name = np.sort(position), None
    if not getattr(source, "has_places", True):
        name = options.id
        known = np.array(watched.frame[name].cast("string").to_pylist(), dtype=object)
    task = ScoreTask(maker, _Score(classifier), classifier.pos_label, known, name)
    found = source.score(task)
    if found is None:
        return watched
    parts = [kept.sorted_out().parts[0] for kept in found.parts[0].kept.values()]
    return WatchedRows(
        concatenate([watched.frame, *(part.rows for part in parts)]),
        np.concatenate([watched.rows, *(_row_numbers(part.position, facts) for part in parts)]),
        np.concatenate([watched.positive, *(part.beside["positive"] for part in parts)]),
        np.concatenate([watched.probability, *(part.beside["probability"] for part in parts)]),
    )


class _Score:
    """The probability that rows are positive, as the classifier gives it."""

    def __init__(self, classifier: FlipCostClassifier):
        self._model = classifier

    def __call__(self, maker: RowMaker, frame: Any) -> Any:
        place = self._model.classes_.tolist().index(self._model.pos_label)
        return self._model.predict_proba(maker.inputs(frame, self._model))[:, place]


def _row_numbers(position: Any, facts: TableFacts) -> Any:
    """Return which rows of the table stand at these positions, the first being 0."""
    return position if len(facts.lengths) < 2 else facts.row_numbers(position)


def limited_threads(n_rows: int) -> Any:
    """Hold back threads that wait for each other.

    They cost more than they bring on matrices of this shape, and far more when other programs want
    the cores too: 280 s against 6 s for boosting on 800 rows, 16 s against 7 s for the linear model
    on 100,000. Only boosting on many rows is left its threads.
    """
    return thread_limits({"blas": 1, "openmp": 1 if n_rows < _FEW_ROWS else None})
