"""Units of work: one method on one split of one problem, small enough to lose.

A unit's random numbers come from its own identity, so that it gives the same values whichever
process runs it, in whatever order, alone or after an interruption.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flipcost.paper.experiments.methods import (
    CLEAN_COSTS,
    CLEAN_MARGINS,
    KLIEPEstimate,
    LinkEstimate,
    LSPEstimate,
    as_weights,
    run_bayes,
    run_clean,
    run_constants,
    run_etas,
    run_flipcost,
    run_natarajan,
    run_scheme1,
    run_scheme2,
)
from flipcost.paper.experiments.problems import (
    BUPA_MARGINS,
    CASE3_COSTS,
    PRIORS,
    PROBLEMS,
    UCI,
    Trial,
    draw_trial,
    generator,
)
from flipcost.paper.experiments.results import Row
from flipcost.paper.resampling import margin_grid

_ETA_PROBLEMS = ("syn2d", "syn3d", "syn10d")
_ETA_COLUMNS = ("link", "lspc", "knn", "kliep")
_SCHEME2 = {
    "lkfun_sq": lambda trial, _rng: LinkEstimate(trial, "squared"),
    "lkfun_log": lambda trial, _rng: LinkEstimate(trial, "logistic"),
    "lspc": LSPEstimate,
    "kliep": KLIEPEstimate,
}
# The figures of these are quoted from their source, which has none without noise.
_NEED_NOISE = ("mub_log", "sw01_log")
_COMMON = ("usq_regerm", "flipcost")
# Which methods run on which problem under noise: the printed ones, and ours.
_NOISY_COLUMNS = {
    **dict.fromkeys(UCI, (*_SCHEME2, *_NEED_NOISE, *_COMMON)),
    "bupa": ("lkfun_sq", "lkfun_log", *_COMMON),
    "syn3d_imb": ("lkfun_log", "lspc", *_COMMON),
}
# The weighted costs printed for all-positive calls on Syn3D-imbalanced end the grid here, except
# for LSPC, whose grid is the whole one.
_SHORT_GRID = 8


@dataclass(frozen=True, order=True)
class Unit:
    """What to run: kind of experiment, problem, noise rate, share of positives, method, trial."""

    kind: str
    problem: str
    rho: float
    pi: float | None
    column: str
    trial: int

    @property
    def key(self) -> str:
        """Return the unit's identity as text.

        Examples
        --------
        >>> Unit("noisy", "pima", 0.2, None, "lspc", 3).key
        'noisy/pima/rho=0.2/pi=None/lspc/3'
        """
        return f"{self.kind}/{self.problem}/rho={self.rho}/pi={self.pi}/{self.column}/{self.trial}"


def all_units(trials: int) -> list[Unit]:
    """Return every unit of so many trials, trial by trial, so that a part is a smaller whole.

    Examples
    --------
    >>> len(all_units(1))
    167
    """
    return [unit for trial in range(trials) for unit in _units_of(trial)]


def _units_of(trial: int) -> list[Unit]:
    noisy = [
        Unit("noisy", name, rho, None, column, trial)
        for name, columns in _NOISY_COLUMNS.items()
        for rho in PROBLEMS[name].rates
        for column in columns
        if rho > 0 or column not in _NEED_NOISE
    ]
    bayes = Unit("noisy", "syn3d_imb", 0.0, None, "bayes", trial)
    case1 = [
        Unit("case1", name, 0.0, pi, "usq_regerm", trial)
        for name in ("syn1", "syn2")
        for pi in PRIORS
    ]
    case2 = Unit("case2", "bupa", 0.0, None, "usq_regerm", trial)
    case3 = [Unit("case3", "syn2", 0.0, pi, "usq_regerm", trial) for pi in PRIORS]
    etas = [
        Unit("eta", name, 0.0, None, column, trial)
        for name in _ETA_PROBLEMS
        for column in _ETA_COLUMNS
    ]
    return [*noisy, bayes, *case1, case2, *case3, *etas]


def run_unit(unit: Unit, seed: int) -> list[Row]:
    """Run a unit and return its records: dictionaries in the terms of the printed cells.

    Examples
    --------
    >>> records = run_unit(Unit("noisy", "thyroid", 0.0, None, "usq_regerm", 0), seed=0)
    >>> sorted({record["reading"] for record in records if record["method"] == "usq_regerm"})
    ['denoised', 'half', 'stated', 'weight']
    """
    trial = draw_trial(seed, unit.problem, unit.trial, unit.rho, unit.pi)
    rng = generator(seed, unit.key)
    runner = {"noisy": _noisy, "case1": _case1, "case2": _case2, "case3": _case3, "eta": _eta}
    return [
        {"dataset": unit.problem, "rho": unit.rho, "pi": unit.pi, **record}
        for record in runner[unit.kind](unit, trial, rng)
    ]


def _record(cost: Any, gamma: Any, method: str, reading: str, measure: str, value: float) -> Row:
    return {
        "cost": cost,
        "gamma": gamma,
        "method": method,
        "reading": reading,
        "measure": measure,
        "value": None if value != value else float(value),  # NaN is no JSON
    }


def _margins(unit: Unit) -> Any:
    if unit.problem == "bupa":
        return BUPA_MARGINS
    grid = margin_grid(PROBLEMS[unit.problem].cost)
    short = unit.problem == "syn3d_imb" and unit.column != "lspc"
    return grid[:_SHORT_GRID] if short else grid


def _noisy(unit: Unit, trial: Trial, rng: np.random.Generator) -> Any:
    cost, column, margins = PROBLEMS[unit.problem].cost, unit.column, _margins(unit)
    if column in _SCHEME2:
        fixed = (1.0,) if unit.problem == "bupa" else ()
        estimate = _SCHEME2[column](trial, rng)
        found = run_scheme2(trial, estimate, cost, margins, rng, fixed)
        if column == "kliep":
            best = run_scheme2(trial, KLIEPEstimate(trial, rng, "certified"), cost, margins, rng)
            found += [("certified", *rest) for reading, *rest in best if reading == "untouched"]
        return [
            _record(cost, gamma, column, reading, measure, value)
            for reading, gamma, measure, value in found
        ]
    if column == "usq_regerm":
        return [
            _record(cost, "tuned", column, reading, measure, value)
            for reading, measure, value in run_scheme1(trial, cost, margins, unit.rho, rng)
        ] + [
            _record(cost, "tuned", method, "constant", measure, value)
            for method, measure, value in run_constants(trial, cost)
        ]
    if column == "bayes":
        pairs, reading = run_bayes(trial, cost, margins), "exact"
    elif column == "flipcost":
        pairs, reading = run_flipcost(trial, cost, rng), "ours"
    else:
        pairs, reading = run_natarajan(trial, column, unit.rho, rng), "rate known"
    return [_record(cost, "tuned", column, reading, measure, value) for measure, value in pairs]


def _readings(pairs_by_name: dict[Any, Any]) -> Any:
    """Return the sets of candidates as the loss is printed, and with margins as weights."""
    return {
        **{(name, "stated"): pairs for name, pairs in pairs_by_name.items()},
        **{(name, "weight"): as_weights(pairs) for name, pairs in pairs_by_name.items()},
    }


def _clean_records(trial: Trial, pairs_by_name: dict[Any, Any], rng: np.random.Generator) -> Any:
    return [
        _record(cost, gamma, "usq_regerm", reading, measure, value)
        for ((cost, gamma), reading), measure, value in run_clean(
            trial, _readings(pairs_by_name), rng
        )
    ]


def _case1(_unit: Unit, trial: Trial, rng: np.random.Generator) -> Any:
    both = [(cost, margin) for cost in CLEAN_COSTS for margin in CLEAN_MARGINS]
    approaches = {
        ("tuned", 1.0): [(cost, 1.0) for cost in CLEAN_COSTS],
        (0.5, "tuned"): [(0.5, margin) for margin in CLEAN_MARGINS],
        ("tuned", "tuned"): both,
    }
    return _clean_records(trial, approaches, rng)


def _case2(unit: Unit, trial: Trial, rng: np.random.Generator) -> Any:
    cost = PROBLEMS[unit.problem].cost
    approaches = {
        (cost, "tuned"): [(cost, margin) for margin in margin_grid(cost)],
        (cost, 1.0): [(cost, 1.0)],
    }
    return _clean_records(trial, approaches, rng)


def _case3(unit: Unit, trial: Trial, rng: np.random.Generator) -> Any:
    cost = CASE3_COSTS[PRIORS.index(unit.pi)]
    return _clean_records(
        trial, {(cost, "tuned"): [(cost, margin) for margin in CLEAN_MARGINS]}, rng
    )


def _eta(unit: Unit, trial: Trial, rng: np.random.Generator) -> Any:
    return [
        _record(None, None, method, reading, measure, value)
        for method, reading, measure, value in run_etas(trial, unit.column, rng)
    ]
