"""What an audit found: one record, which screen, report, notebook and ``summary.json`` render."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from flipcost._version import __version__
from flipcost.core.confusion import Interval
from flipcost.core.costs import CostRange
from flipcost.core.curves import confusion_cells
from flipcost.core.noise import rate_pair
from flipcost.exceptions import FlipCostError

if TYPE_CHECKING:
    from flipcost.audit._explain import ColumnFacts, Effect, Suspect
    from flipcost.audit._labels import PooledLabels
    from flipcost.audit._leaks import Leak
    from flipcost.audit._models import Candidate
    from flipcost.audit._questions import Decisions
    from flipcost.audit._recheck import Recheck
    from flipcost.core.arrays import Array
    from flipcost.core.checked_rows import RateBand
    from flipcost.core.costs import Costs
    from flipcost.core.curves import LabelBins
    from flipcost.core.error_rates import RatePosterior
    from flipcost.core.label_errors import BreakEven, LabelErrors, State
    from flipcost.core.noise import NoiseRate
    from flipcost.estimators.flipcost.scores import ScoreParts

SCHEMA_VERSION = 2
Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
# The report is above this package; findings look it up when they are asked to show themselves.
_REPORT = "flipcost.report.render"


@dataclass(frozen=True)
class Information:
    """What further information would be worth.

    Attributes
    ----------
    second_labels : int
        Rows to have labelled again, independently, to know the rate within `precision`.
    trusted_labels : int
        Rows to have labelled by someone who does not err, for the same.
    precision : float
        Half the width of the interval that these give.
    value_of_rate : float
        What a row would cost less if the rate were known exactly.
    wrong_labels : float
        Expected number of wrong labels in the table.
    wrong_in_first_100 : float
        Expected number of wrong labels among the hundred most suspicious.
    """

    second_labels: int
    trusted_labels: int
    precision: float
    value_of_rate: float
    wrong_labels: float
    wrong_in_first_100: float


@dataclass(frozen=True, eq=False)
class TableFound:
    """The table that was audited.

    Attributes
    ----------
    name : str
        What was audited.
    target, positive, negative : str
        Name of the column of labels, and its two labels.
    n_rows, n_rows_total, n_positive : int
        Rows audited, rows in the table, and positive labels among the former.
    n_evaluated : int
        Rows on which models were compared: all that were audited, or a sample that represents
        them.
    n_effective : float
        Rows that intervals count for: fewer than there are where these depend on each other.
    n_test : int
        Rows of the test table.
    reading : str
        How the rows were read, if not into memory.
    schema, columns : list
        What kind of values the columns have, and what they hold.
    """

    name: str
    target: str
    positive: str
    negative: str
    n_rows: int
    n_rows_total: int
    n_positive: int
    n_evaluated: int
    n_effective: float
    n_test: int
    reading: str
    schema: list[dict[str, Any]]
    columns: list[ColumnFacts]


@dataclass(frozen=True, eq=False)
class Priced:
    """What errors of the decision cost.

    Attributes
    ----------
    prices : Costs
        As they were given.
    cost : float
        Share that a false alarm bears; of mean costs where they differ by row.
    mean_prices : pair of floats
        What a miss and a false alarm cost, on average.
    costs : ndarray
        Shares of the grid of the models' tables.
    cost_index : int
        Where the user's share is among them.
    prices_are_assumed : bool
        Whether no costs were given, so that both errors are taken to cost the same.
    """

    prices: Costs
    cost: float
    mean_prices: tuple[float, float]
    costs: Array
    cost_index: int
    prices_are_assumed: bool


@dataclass(frozen=True, eq=False)
class LabelsFound:
    """How many labels are wrong, which, and how that is known.

    Attributes
    ----------
    errors : LabelErrors
        How many labels are wrong, at each level of supposition.
    noise_rate : pair of floats
        The estimated rates, of the true positives and of the true negatives.
    noise_interval : pair of pairs of floats
        Their intervals.
    noise_source : str
        Where it comes from.
    measured_on : str
        What rates with intervals were measured on, such as second labels; "" if on none.
    wrong_share : Interval
        Share of all labels that are wrong, systematic errors counted in.
    noise_models : dict
        Posterior weight of each model of the errors.
    noise_bounds : NoiseRate
        What holds whatever the curve, if errors are random.
    noise_by_score : tuple of RateBand
        How the rates change along the score, with checked rows.
    break_even : BreakEven or None
        How many systematic errors it takes to change the decision.
    posterior : RatePosterior
        Over the rates.
    bins : LabelBins
        Labels in bins of the flipcost model's probability, out of fold.
    suspects : list of Suspect
        The likeliest errors first.
    information : Information
        What more labels would be worth.
    leaks : tuple of Leak
        Columns that give the label away, the surest first.
    pooled : PooledLabels or None
        How labels were pooled, and how often each annotator errs, where there are several.
    known_flips : dict or None
        For an example with errors added: how many there are, and how many suspects are among them.
    """

    errors: LabelErrors
    noise_rate: Any
    noise_interval: Any
    noise_source: str
    measured_on: str
    wrong_share: Interval
    noise_models: dict[str, float]
    noise_bounds: NoiseRate
    noise_by_score: tuple[RateBand, ...]
    break_even: BreakEven | None
    posterior: RatePosterior
    bins: LabelBins
    suspects: list[Suspect]
    information: Information
    leaks: tuple[Leak, ...]
    pooled: PooledLabels | None
    known_flips: dict[str, Any] | None


@dataclass(frozen=True, eq=False)
class ModelsFound:
    """The models that were compared, and the one that was chosen.

    Attributes
    ----------
    candidates : list of Candidate
        The chosen model first: the flipcost model, unless another one is clearly cheaper.
    chosen : str
        What the flipcost model answers by: "rule", "all_positive" or "all_negative".
    n_flagged : int
        Rows that the flipcost model flags, counted in all, whatever it learned from.
    model : Pipeline
        From tables to predictions.
    scores : ScoreParts or None
        What the scores of the flipcost model are made of; None where they were given.
    effects : list of Effect
        How columns move the model, the largest first.
    decisions : Decisions
        What was asked beyond one cost for all rows.
    """

    candidates: list[Candidate]
    chosen: str
    n_flagged: int
    model: Any
    scores: ScoreParts | None
    effects: list[Effect]
    decisions: Decisions


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """What an audit found; made by `audit`.

    A name that one of the first four has can be asked of the findings themselves: ``found.n_rows``
    is ``found.table.n_rows``.

    Attributes
    ----------
    table : TableFound
        The table that was audited.
    priced : Priced
        What errors of the decision cost.
    labels : LabelsFound
        How many labels are wrong, which, and how that is known.
    models : ModelsFound
        The models that were compared.
    recheck : Recheck
        Checking progress, and the rows to check next.
    level : float
        Level of all intervals.
    seed : int
        Seed of the folds.
    warnings : list of str
        What the user should look at, one line each.
    batch_file : str or None
        The file of rows to check next, where one was written.
    """

    table: TableFound
    priced: Priced
    labels: LabelsFound
    models: ModelsFound
    recheck: Recheck
    level: float
    seed: int
    warnings: list[str]
    batch_file: str | None = None

    if not TYPE_CHECKING:  # our own code names the group

        def __getattr__(self, name: str) -> Any:
            """Return what a group has under this name."""
            for part in vars(self).values():
                if isinstance(part, _GROUPS) and name in vars(part):
                    return vars(part)[name]
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)

    @property
    def state(self) -> State:
        """What is known about the labels; decides what is said first."""
        return self.labels.errors.state

    @property
    def n_checked(self) -> int:
        """Rows whose right label is known."""
        return self.labels.errors.n_checked

    @property
    def unit(self) -> float:
        """What one unit of the library's cost is worth in the user's prices."""
        return 1.0 if self.priced.prices.is_by_row else self.priced.prices.unit

    @property
    def best(self) -> Candidate:
        """The chosen model."""
        return self.models.candidates[0]

    def candidate(self, key: str) -> Candidate:
        """Return a candidate by its short name."""
        return next(c for c in self.models.candidates if c.key == key)

    def cells(self, key: str = "flipcost", *, clean: bool) -> Array:
        """Return the four shares of a candidate with intervals, as observed or as denoised."""
        rate = rate_pair(self.labels.noise_rate) if clean else None
        return confusion_cells(self.candidate(key).table(self.priced.cost_index), rate, self.level)

    def summary(self) -> dict[str, Any]:
        """Return the findings as plain data, the content of ``summary.json``."""
        found: dict[str, Any] = _plain(_summary(self))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, the content of ``summary.json``."""
        return self.summary()

    def __repr__(self) -> str:
        """Return what was found in one line, and where there is more."""
        leaks = [leak.column for leak in self.labels.leaks]
        state = f"too good to be true: {', '.join(leaks)}" if leaks else f"labels {self.state}"
        # Three figures, and never as a power of ten.
        cost = float(f"{1000 * self.unit * self.best.cost_if_random.value:.3g}")
        return (
            f"<Findings of {self.table.name!r}: {self.table.n_rows:,} rows, {state}; "
            f"{self.best.label} costs {cost:,.10g} per 1,000 rows; see .to_markdown(), .to_html()>"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(import_module(_REPORT).render_snippet(self))

    def to_html(self) -> str:
        """Return the whole report as one HTML page."""
        return str(import_module(_REPORT).render_report(self))

    def to_markdown(self) -> str:
        """Return the answers as Markdown."""
        return str(import_module(_REPORT).render_markdown(self))

    def suspects_frame(self, backend: Backend | None = None) -> Any:
        """Return likely label errors as a frame, the likeliest first; `row` counts from 0.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            What kind of frame; the first of these that is installed when None.
        """
        found, text, number = self.labels.suspects, pa.string(), pa.float64()
        columns = {
            "row": pa.array([s.row for s in found], pa.int64()),
            "id": pa.array([s.id for s in found], text),
            "label": pa.array([s.label for s in found], text),
            "suggested": pa.array([s.suggested for s in found], text),
            "probability_wrong": pa.array([s.wrong for s in found], number),
            "probability_positive": pa.array([s.probability for s in found], number),
            "evidence": pa.array([s.evidence for s in found], text),
        }
        return _frame(pa.table(columns), backend)

    def candidates_frame(self, backend: Backend | None = None) -> Any:
        """Return the models with what 1,000 rows cost as a frame, the winner first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            What kind of frame; the first of these that is installed when None.
        """
        rows = []
        for one in self.models.candidates:
            row = {"key": one.key, "label": one.label, "share_flagged": one.share_flagged}
            for name, what in (("cost", one.cost_if_random), ("saved", one.saving_if_random)):
                money = what.times(1000 * self.unit)
                row |= {name: money.value, f"{name}_low": money.low, f"{name}_high": money.high}
            rows.append(row)
        return _frame(pa.Table.from_pylist(rows), backend)


_GROUPS = (TableFound, Priced, LabelsFound, ModelsFound)


def _summary(found: Findings) -> dict[str, Any]:
    """Return the content of ``summary.json``, with records in it that are not plain yet."""
    table, priced, labels, models = found.table, found.priced, found.labels, found.models
    kinds, information = [column["kind"] for column in table.schema], labels.information
    rates, limits, bounds = labels.noise_rate, labels.noise_interval, labels.noise_bounds
    sides = ("of_positives", "of_negatives")
    return {
        "schema_version": SCHEMA_VERSION,
        "flipcost_version": __version__,
        "data": {
            "name": table.name,
            "rows": table.n_rows,
            "rows_in_table": table.n_rows_total,
            "rows_evaluated": table.n_evaluated,
            "rows_effective": table.n_effective,
            "reading": table.reading or "in memory",
            "target": table.target,
            "positive": table.positive,
            "negative": table.negative,
            "positive_labels": table.n_positive,
            "columns": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
            "test_rows": table.n_test,
            "checked_rows": found.n_checked,
        },
        "costs": {
            "false_negative": _number_or_words(priced.prices.fn),
            "false_positive": _number_or_words(priced.prices.fp),
            "share": priced.cost,
            "assumed": priced.prices_are_assumed,
            "by_row": priced.prices.is_by_row,
            "mean_false_negative": priced.mean_prices[0],
            "mean_false_positive": priced.mean_prices[1],
        },
        "level": found.level,
        "seed": found.seed,
        "state": found.state,
        "leaks": labels.leaks,
        "annotators": None if labels.pooled is None else labels.pooled.workers,
        "wrong_share": labels.wrong_share,
        "prevalence": labels.errors.prevalence,
        "break_even": labels.break_even,
        "noise_rate": {
            "symmetric": labels.posterior.is_symmetric,
            **{side: Interval(rates[k], *limits[k]) for k, side in enumerate(sides)},
            "source": labels.noise_source,
        },
        "noise_models": labels.noise_models,
        "noise_bounds": {
            side: {"low": np.ravel(bounds.low)[k], "high": np.ravel(bounds.high)[k]}
            for k, side in enumerate(sides)
        },
        "noise_by_score": [
            {
                "low": band.low,
                "high": band.high,
                "share": band.share,
                "checked_rows": band.n_checked,
                "of_positives": band.positives,
                "of_negatives": band.negatives,
            }
            for band in labels.noise_by_score
        ],
        "chosen": models.chosen,
        "flagged_rows": models.n_flagged,
        "winner": found.best.key,
        "scores": models.scores,
        "candidates": [_candidate(one, found.unit) for one in models.candidates],
        "confusion": {
            "observed": _cells(found.cells(clean=False)),
            "denoised": _cells(found.cells(clean=True)),
        },
        "suspects": {
            "expected_wrong_labels": information.wrong_labels,
            "listed": len(labels.suspects),
            "expected_wrong_in_first_100": information.wrong_in_first_100,
        },
        "information": {
            "precision": information.precision,
            "second_labels_needed": information.second_labels,
            "trusted_labels_needed": information.trusted_labels,
            "value_of_knowing_rate": information.value_of_rate * found.unit,
        },
        "recheck": _recheck(found.recheck),
        "decisions": _decisions(models.decisions, found.unit),
        "ranking": {
            "area_observed": labels.bins.area(),
            "area_denoised": labels.bins.area(rate_pair(rates)),
        },
        "effects": [
            {
                **{name: value for name, value in vars(effect).items() if name != "moved"},
                "importance": effect.importance * found.unit,
                "shape": [{"at": word, "probability": p} for word, p in effect.shape],
            }
            for effect in models.effects
        ],
        "columns": table.columns,
        "example": labels.known_flips,
        "warnings": found.warnings,
    }


def _plain(value: Any) -> Any:
    """Return records, arrays and their numbers as what JSON has."""
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _recheck(recheck: Recheck) -> dict[str, Any]:
    """Return what each round of checks brought, and what the next checks are worth."""
    batch = recheck.batch
    return {
        "history": [
            {
                "checked_rows": point.n_checked,
                "wrong_share": point.wrong_share,
                "cost_clean": point.cost,
            }
            for point in recheck.history
        ],
        "next_rows": 0 if batch is None else len(batch.rows),
        "expected_saving": None if batch is None else batch.saving,
        "cost_check": recheck.cost_check,
    }


def _candidate(candidate: Candidate, unit: float) -> dict[str, Any]:
    return {
        "key": candidate.key,
        "label": candidate.label,
        "cost_observed": candidate.observed.times(unit),
        "cost_clean": candidate.clean.times(unit),
        "saving_of_chosen": candidate.saving.times(unit),
        "cost_if_random": candidate.cost_if_random.times(unit),
        "saving_if_random": candidate.saving_if_random.times(unit),
        "cost_test": None if candidate.test is None else candidate.test.times(unit),
        "share_flagged": candidate.share_flagged,
    }


def _cells(cells: Array) -> dict[str, Interval]:
    names = (("true_negative", "false_positive"), ("false_negative", "true_positive"))
    return {names[i][j]: Interval(*cells[i, j]) for i in (0, 1) for j in (0, 1)}


def _decisions(found: Decisions, unit: float) -> dict[str, Any]:
    """Return what was found on decisions, money for each row."""
    return {
        "curve": {
            "depth": found.curve.depth,
            **found.curve.clean,
            "observed": dict(found.curve.observed),
        },
        "capacity": found.capacity,
        "flagged": found.flagged,
        "by": found.by,
        "segments": found.segments,
        "ranges": [
            {
                "price": one.name,
                "low": one.low,
                "high": one.high,
                "cost_low": one.cost[0].times(unit),
                "cost_middle": one.cost[1].times(unit),
                "cost_high": one.cost[2].times(unit),
                "regret_low": one.regret[0].times(unit),
                "regret_high": one.regret[1].times(unit),
                "decisions_changed_low": one.changes[0],
                "decisions_changed_high": one.changes[1],
                "switch": one.switch,
                "switch_to": one.switch_to,
                "turns": [{"low": low, "high": high, "to": to} for low, high, to in one.turns],
            }
            for one in found.ranges
        ],
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
    if isinstance(price, int | float):
        return f"{round(price, 2) if abs(price) >= 1 else price:,.10g}"
    return "a price by row"


def _number_or_words(price: Any) -> Any:
    """Return a price as a number, or in the words that it was given in."""
    return price if isinstance(price, int | float | str) else price_words(price)


def _frame(table: Any, backend: Backend | None) -> Any:
    known = get_args(Backend)
    if backend is None:
        backend = next(name for name in known if find_spec(name) is not None)
    if backend is None or backend not in known:
        msg = f"`backend` must be one of {', '.join(known)}; got {backend!r}."
        raise FlipCostError(msg)
    if backend == "pyarrow":
        return table
    if find_spec(backend) is None:
        msg = f"{backend} is not installed; give another `backend`, or install it."
        raise FlipCostError(msg)
    return table.to_pandas() if backend == "pandas" else import_module("polars").from_arrow(table)
