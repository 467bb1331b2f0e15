"""The findings of an audit as plain data: the content of ``summary.json``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost._version import __version__
from flipcost.core.costs import CostRange
from flipcost.core.noise import rate_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.audit._candidates import Candidate
    from flipcost.audit._effects import Effect
    from flipcost.core.checked_rows import RateBand
    from flipcost.core.confusion import Interval

SCHEMA_VERSION = 1


def summarize(found: Any) -> dict[str, Any]:
    """Return the findings as plain data, the content of ``summary.json``."""
    kinds = [column["kind"] for column in found.table.schema]
    return {
        "schema_version": SCHEMA_VERSION,
        "flipcost_version": __version__,
        "data": {
            "name": found.table.name,
            "rows": found.table.n_rows,
            "rows_in_table": found.table.n_rows_total,
            "rows_judged": found.table.n_judged,
            "rows_effective": found.table.n_effective,
            "reading": found.table.reading or "in memory",
            "target": found.table.target,
            "positive": found.table.positive,
            "negative": found.table.negative,
            "positive_labels": found.table.n_positive,
            "columns": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
            "test_rows": found.table.n_test,
            "checked_rows": found.n_checked,
        },
        "costs": {
            "false_negative": _plain_price(found.priced.prices.fn),
            "false_positive": _plain_price(found.priced.prices.fp),
            "share": found.priced.cost,
            "assumed": found.priced.prices_are_assumed,
            "by_row": found.priced.prices.is_by_row,
            "mean_false_negative": found.priced.mean_prices[0],
            "mean_false_positive": found.priced.mean_prices[1],
        },
        "level": found.level,
        "seed": found.seed,
        "state": found.state,
        "leaks": [vars(leak) for leak in found.labels.leaks],
        "wrong_share": _interval(*vars(found.labels.wrong_share).values()),
        "break_even": None if found.labels.break_even is None else vars(found.labels.break_even),
        "noise_rate": _rate(found),
        "noise_models": found.labels.noise_models,
        "noise_bounds": _bounds(found),
        "noise_by_score": [_band(part) for part in found.labels.noise_by_score],
        "chosen": found.models.chosen,
        "winner": found.best.key,
        "candidates": [_candidate(found, c) for c in found.models.candidates],
        "confusion": {
            "observed": _cells(found.cells(clean=False)),
            "denoised": _cells(found.cells(clean=True)),
        },
        "suspects": {
            "expected_wrong_labels": found.labels.information.wrong_labels,
            "listed": len(found.labels.suspects),
            "expected_wrong_in_first_100": found.labels.information.wrong_in_first_100,
        },
        "information": {
            "precision": found.labels.information.precision,
            "second_labels_needed": found.labels.information.second_labels,
            "trusted_labels_needed": found.labels.information.trusted_labels,
            "value_of_knowing_rate": found.labels.information.value_of_rate * found.unit,
        },
        "recheck": _recheck(found),
        "decisions": None
        if found.models.decisions is None
        else _decisions(found.models.decisions, found.unit),
        "ranking": _ranking(found),
        "effects": [_effect(found, effect) for effect in found.models.effects],
        "columns": [vars(column) for column in found.table.columns],
        "example": found.labels.known_flips,
        "warnings": found.warnings,
    }


def _rate(found: Any) -> dict[str, Any]:
    labels = found.labels
    rates, limits = labels.noise_rate, labels.noise_interval
    return {
        "symmetric": labels.posterior.is_symmetric,
        "of_positives": _interval(rates[0], *limits[0]),
        "of_negatives": _interval(rates[1], *limits[1]),
        "source": labels.noise_source,
    }


def _bounds(found: Any) -> dict[str, dict[str, float]]:
    bounds = found.labels.noise_bounds
    limits = zip(np.ravel(bounds.low), np.ravel(bounds.high), strict=True)
    sides = [{"low": float(low), "high": float(high)} for low, high in limits]
    return {"of_positives": sides[0], "of_negatives": sides[1]}


def _ranking(found: Any) -> dict[str, float]:
    rates = rate_pair(found.labels.noise_rate)
    return {
        "area_observed": found.labels.bins.area(),
        "area_denoised": found.labels.bins.area(rates),
    }


def _effect(found: Any, effect: Effect) -> dict[str, Any]:
    said = {name: value for name, value in vars(effect).items() if name != "moved"}
    said["importance"] = effect.importance * found.unit
    said["shape"] = [{"at": word, "probability": p} for word, p in effect.shape]
    return said


def _money(found: Interval, unit: float) -> dict[str, float]:
    return _interval(unit * found.value, unit * found.low, unit * found.high)


def _recheck(found: Any) -> dict[str, Any] | None:
    """Return the way so far, and what the next checks are worth."""
    if found.recheck is None:
        return None
    batch = found.recheck.batch
    way = [
        {
            "checked_rows": point.n_checked,
            "wrong_share": _interval(*vars(point.wrong_share).values()),
            "cost_clean": _interval(*vars(point.cost).values()),
        }
        for point in found.recheck.way
    ]
    return {
        "way": way,
        "next_rows": 0 if batch is None else len(batch.rows),
        "expected_saving": None if batch is None else _interval(*vars(batch.saving).values()),
        "cost_check": found.recheck.cost_check,
    }


def _candidate(found: Any, candidate: Candidate) -> dict[str, Any]:
    unit = found.unit
    return {
        "key": candidate.key,
        "label": candidate.label,
        "cost_observed": _money(candidate.observed, unit),
        "cost_clean": _money(candidate.clean, unit),
        "saving_of_chosen": _money(candidate.saving, unit),
        "cost_likely": _money(candidate.likely, unit),
        "saving_likely": _money(candidate.saving_likely, unit),
        "cost_test": None if candidate.test is None else _money(candidate.test, unit),
        "called_positive": candidate.share_called,
    }


def price_words(price: Any) -> str:
    """Return a price in words: a number, a range, a column or arithmetic of columns.

    Examples
    --------
    >>> from flipcost import CostRange
    >>> price_words(4.0), price_words("0.8*amount"), price_words(CostRange(3, 8))
    ('4', '0.8*amount', '3 to 8')
    """
    if isinstance(price, str):
        return price
    if isinstance(price, CostRange):
        return f"{price.low:,.10g} to {price.high:,.10g}"
    return f"{price:,.10g}" if isinstance(price, int | float) else "a price by row"


def _plain_price(price: Any) -> Any:
    """Return a price as plain data: a number, or the words that it was given in."""
    return price if isinstance(price, int | float | str) else price_words(price)


def _band(band: RateBand) -> dict[str, Any]:
    return {
        "low": band.low,
        "high": band.high,
        "share": band.share,
        "checked_rows": band.n_checked,
        "of_positives": _interval(*vars(band.positives).values()),
        "of_negatives": _interval(*vars(band.negatives).values()),
    }


def _interval(value: float, low: float, high: float) -> dict[str, float]:
    return {"value": float(value), "low": float(low), "high": float(high)}


def _cells(cells: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    names = (("true_negative", "false_positive"), ("false_negative", "true_positive"))
    return {names[i][j]: _interval(*cells[i, j]) for i in (0, 1) for j in (0, 1)}


def _decisions(found: Any, unit: float) -> dict[str, Any]:
    """Return what was found on decisions as plain data, money for each row."""
    curve = found.curve
    return {
        "curve": {
            "depth": curve.depth.tolist(),
            **{name: values.tolist() for name, values in curve.clean.items()},
            "observed": {name: values.tolist() for name, values in curve.observed.items()},
        },
        "capacity": found.capacity,
        "called": [asdict(one) for one in found.called],
        "by": found.by,
        "segments": [asdict(segment) for segment in found.segments],
        "ranges": [
            {
                "price": one.name,
                "low": one.low,
                "high": one.high,
                "cost_low": _money(one.cost[0], unit),
                "cost_middle": _money(one.cost[1], unit),
                "cost_high": _money(one.cost[2], unit),
                "regret_low": _money(one.regret[0], unit),
                "regret_high": _money(one.regret[1], unit),
                "calls_changed_low": one.changes[0],
                "calls_changed_high": one.changes[1],
                "switch": one.switch,
                "switch_to": one.switch_to,
                "turns": [{"low": low, "high": high, "to": to} for low, high, to in one.turns],
            }
            for one in found.ranges
        ],
    }
