"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost._version import __version__
from flipcost.audit._decision_summary import decisions_summary
from flipcost.audit._shown import ShownResult
from flipcost.core.cost_curves import confusion_cells
from flipcost.core.costs import CostRange
from flipcost.core.noise import rate_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flipcost.audit._candidates import Candidate
    from flipcost.audit._decisions import Decisions
    from flipcost.audit._effects import Effect
    from flipcost.audit._facts import ColumnFacts
    from flipcost.audit._leaks import Leak
    from flipcost.audit._recheck import Recheck
    from flipcost.core.confusion import Interval
    from flipcost.core.costs import Costs
    from flipcost.core.label_errors import LabelErrors, State
    from flipcost.core.noise_by_score import RateBand
    from flipcost.core.noise_posterior import RatePosterior
    from flipcost.core.quality import LabelBins
    from flipcost.core.rates import NoiseRate

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Suspect:
    """A label that looks wrong.

    Attributes
    ----------
    row : int
        Row of the table, the first being 1.
    id : str or None
        Its name, when a column of names was given.
    label : str
        The label that it has.
    suggested : str
        The other label.
    wrong : float
        Probability that the label is wrong.
    probability : float
        Out-of-fold probability that the clean label is positive.
    evidence : str
        The columns that speak most for the other label.
    """

    row: int
    id: str | None
    label: str
    suggested: str
    wrong: float
    probability: float
    evidence: str


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


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult(ShownResult):
    """What an audit found; made by `audit`.

    Attributes
    ----------
    name : str
        What was audited.
    target, positive, negative : str
        Name of the column of labels, and its two labels.
    prices : Costs
        What mistakes cost.
    cost : float
        Share of it that a false positive bears; of mean prices where they differ by row.
    mean_prices : pair of floats
        What a miss and a false alarm cost, on average.
    n_rows, n_rows_total, n_positive : int
        Rows audited, rows in the table, and positive labels among the former.
    schema : list of dict
        What the columns hold.
    noise_rate : pair of floats
        The estimated rate.
    noise_interval : pair of pairs of floats
        Its interval.
    noise_source : str
        Where it comes from.
    errors : LabelErrors
        How many labels are wrong, at each level of supposition.
    wrong_share : Interval
        Share of all labels that are wrong.
    noise_models : dict
        Posterior weight of each model of the noise.
    noise_bounds : NoiseRate
        What holds whatever the curve, if mistakes do not follow the features.
    n_checked : int
        Rows whose right label is known.
    posterior : RatePosterior
        Over the rates.
    level : float
        Level of all intervals.
    costs : ndarray
        Costs of the grid of the candidates' tables.
    cost_index : int
        Where the user's cost is among them.
    candidates : list of Candidate
        The chosen model first: the flipcost model, unless another one is clearly cheaper.
    chosen : str
        What the flipcost model answers by: "rule", "all_positive" or "all_negative".
    suspects : list of Suspect
        The most suspicious labels first.
    effects : list of Effect
        How columns move the model, the largest first.
    columns : list of ColumnFacts
        What the labels and the columns hold.
    bins : LabelBins
        Labels in bins of the flipcost model's probability, out of fold.
    information : Information
        What would help most.
    warnings : list of str
        What the user should look at, one line each.
    seed : int
        Seed of the folds.
    model : Pipeline
        From tables to predictions.
    n_test : int
        Rows of the test table.
    known_flips : dict or None
        For an example with noise added: the true rate, and how many suspects were flipped.
    reading : str
        How the rows were read, if not into memory.
    prices_are_assumed : bool
        Whether no prices were given, so that both mistakes are taken to cost the same.
    n_effective : float
        Rows that intervals count for: fewer than there are where these depend on each other.
    n_judged : int
        Rows on which candidates were judged: all that were audited, or a sample that stands for
        them.
    recheck : Recheck or None
        What checked rows have brought, and which to check next.
    noise_by_score : tuple of RateBand
        How the noise rates change along the score, with checked rows.
    leaks : tuple of Leak
        Columns that give the label away, the surest first.
    batch_file : str or None
        The file of rows to check next, where one was written.
    """

    name: str
    target: str
    positive: str
    negative: str
    prices: Costs
    cost: float
    mean_prices: tuple[float, float]
    n_rows: int
    n_rows_total: int
    n_positive: int
    schema: list[dict[str, Any]]
    noise_rate: Any
    noise_interval: Any
    noise_source: str
    errors: LabelErrors
    wrong_share: Interval
    noise_models: dict[str, float]
    noise_bounds: NoiseRate
    n_checked: int
    posterior: RatePosterior
    level: float
    costs: NDArray[np.float64]
    cost_index: int
    candidates: list[Candidate]
    chosen: str
    suspects: list[Suspect]
    effects: list[Effect]
    columns: list[ColumnFacts]
    bins: LabelBins
    information: Information
    warnings: list[str]
    seed: int
    model: Any
    n_test: int = 0
    known_flips: dict[str, Any] | None = None
    reading: str = ""
    n_judged: int = 0
    n_effective: float = 0.0
    prices_are_assumed: bool = False
    recheck: Recheck | None = None
    decisions: Decisions | None = None
    noise_by_score: tuple[RateBand, ...] = ()
    leaks: tuple[Leak, ...] = ()
    batch_file: str | None = None

    @property
    def state(self) -> State:
        """What can be said of the labels; decides what is said first."""
        return self.errors.state

    @property
    def unit(self) -> float:
        """What one unit of the library's cost is worth in the user's prices."""
        return 1.0 if self.prices.is_by_row else self.prices.unit

    @property
    def best(self) -> Candidate:
        """The chosen model."""
        return self.candidates[0]

    @property
    def rate_is_known(self) -> bool:
        """Whether the rate was given: nothing was inferred."""
        return len(self.posterior.weight) == 1

    def candidate(self, key: str) -> Candidate:
        """Return a candidate by its short name."""
        return next(c for c in self.candidates if c.key == key)

    def cells(self, key: str = "flipcost", *, clean: bool) -> NDArray[np.float64]:
        """Return the four shares of a candidate with intervals, as observed or as denoised."""
        rate = rate_pair(self.noise_rate) if clean else None
        return confusion_cells(self.candidate(key).table(self.cost_index), rate, self.level)

    def summary(self) -> dict[str, Any]:
        """Return the findings as plain data, the content of ``summary.json``."""
        kinds = [column["kind"] for column in self.schema]
        return {
            "schema_version": SCHEMA_VERSION,
            "flipcost_version": __version__,
            "data": {
                "name": self.name,
                "rows": self.n_rows,
                "rows_in_table": self.n_rows_total,
                "rows_judged": self.n_judged,
                "rows_effective": self.n_effective,
                "reading": self.reading or "in memory",
                "target": self.target,
                "positive": self.positive,
                "negative": self.negative,
                "positive_labels": self.n_positive,
                "columns": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
                "test_rows": self.n_test,
                "checked_rows": self.n_checked,
            },
            "costs": {
                "false_negative": _plain_price(self.prices.fn),
                "false_positive": _plain_price(self.prices.fp),
                "share": self.cost,
                "assumed": self.prices_are_assumed,
                "by_row": self.prices.is_by_row,
                "mean_false_negative": self.mean_prices[0],
                "mean_false_positive": self.mean_prices[1],
            },
            "level": self.level,
            "seed": self.seed,
            "state": self.state,
            "wrong_share": _interval(*vars(self.wrong_share).values()),
            "noise_rate": self._rate(),
            "noise_models": self.noise_models,
            "noise_bounds": self._bounds(),
            "noise_by_score": [_band(part) for part in self.noise_by_score],
            "chosen": self.chosen,
            "winner": self.best.key,
            "candidates": [self._candidate(c) for c in self.candidates],
            "confusion": {
                "observed": _cells(self.cells(clean=False)),
                "denoised": _cells(self.cells(clean=True)),
            },
            "suspects": {
                "expected_wrong_labels": self.information.wrong_labels,
                "listed": len(self.suspects),
                "expected_wrong_in_first_100": self.information.wrong_in_first_100,
            },
            "information": {
                "precision": self.information.precision,
                "second_labels_needed": self.information.second_labels,
                "trusted_labels_needed": self.information.trusted_labels,
                "value_of_knowing_rate": self.information.value_of_rate * self.unit,
            },
            "recheck": self._recheck(),
            "decisions": None if self.decisions is None else decisions_summary(self),
            "ranking": self._ranking(),
            "effects": [self._effect(effect) for effect in self.effects],
            "columns": [vars(column) for column in self.columns],
            "example": self.known_flips,
            "warnings": self.warnings,
        }

    def _rate(self) -> dict[str, Any]:
        rates, limits = self.noise_rate, self.noise_interval
        return {
            "symmetric": self.posterior.is_symmetric,
            "of_positives": _interval(rates[0], *limits[0]),
            "of_negatives": _interval(rates[1], *limits[1]),
            "source": self.noise_source,
        }

    def _bounds(self) -> dict[str, dict[str, float]]:
        limits = zip(np.ravel(self.noise_bounds.low), np.ravel(self.noise_bounds.high), strict=True)
        found = [{"low": float(low), "high": float(high)} for low, high in limits]
        return {"of_positives": found[0], "of_negatives": found[1]}

    def _ranking(self) -> dict[str, float]:
        rates = rate_pair(self.noise_rate)
        return {"area_observed": self.bins.area(), "area_denoised": self.bins.area(rates)}

    def _effect(self, effect: Effect) -> dict[str, Any]:
        found = {name: value for name, value in vars(effect).items() if name != "moved"}
        found["importance"] = effect.importance * self.unit
        found["shape"] = [{"at": word, "probability": p} for word, p in effect.shape]
        return found

    def _priced(self, found: Interval) -> dict[str, float]:
        return _interval(*(self.unit * x for x in (found.value, found.low, found.high)))

    def _recheck(self) -> dict[str, Any] | None:
        """Return the way so far, and what the next checks are worth."""
        if self.recheck is None:
            return None
        batch = self.recheck.batch
        way = [
            {
                "checked_rows": point.n_checked,
                "wrong_share": _interval(*vars(point.wrong_share).values()),
                "cost_clean": _interval(*vars(point.cost).values()),
            }
            for point in self.recheck.way
        ]
        return {
            "way": way,
            "next_rows": 0 if batch is None else len(batch.rows),
            "expected_saving": None if batch is None else _interval(*vars(batch.saving).values()),
            "cost_check": self.recheck.cost_check,
        }

    def _candidate(self, candidate: Candidate) -> dict[str, Any]:
        priced = self._priced
        return {
            "key": candidate.key,
            "label": candidate.label,
            "cost_observed": priced(candidate.observed),
            "cost_clean": priced(candidate.clean),
            "saving_of_chosen": priced(candidate.saving),
            "cost_likely": priced(candidate.likely),
            "saving_likely": priced(candidate.saving_likely),
            "cost_test": None if candidate.test is None else priced(candidate.test),
            "called_positive": candidate.share_called,
        }


def _plain_price(price: Any) -> Any:
    """Return a price as plain data: a number, or the words that it was given in."""
    return price if isinstance(price, int | float | str) else price_words(price)


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
