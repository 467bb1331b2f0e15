"""What an audit found: one record, which screen, report, notebook and ``summary.json`` render."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from flipcost.audit._shown import ShownResult
from flipcost.audit._summary import summarize
from flipcost.core.curves import confusion_cells
from flipcost.core.noise import rate_pair

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from flipcost.audit._candidates import Candidate
    from flipcost.audit._decisions import Decisions
    from flipcost.audit._effects import Effect
    from flipcost.audit._facts import ColumnFacts
    from flipcost.audit._leaks import Leak
    from flipcost.audit._recheck import Recheck
    from flipcost.audit._suspects import Suspect
    from flipcost.core.checked_rows import RateBand
    from flipcost.core.confusion import Interval
    from flipcost.core.costs import Costs
    from flipcost.core.curves import LabelBins
    from flipcost.core.label_errors import BreakEven, LabelErrors, State
    from flipcost.core.noise_posterior import RatePosterior
    from flipcost.core.rates import NoiseRate


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
    n_judged : int
        Rows on which models were compared: all that were audited, or a sample that stands for
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
    n_judged: int
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
    costs: NDArray[np.float64]
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
    known_flips : dict or None
        For an example with errors added: how many there are, and how many suspects are among them.
    """

    errors: LabelErrors
    noise_rate: Any
    noise_interval: Any
    noise_source: str
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
    model : Pipeline
        From tables to predictions.
    effects : list of Effect
        How columns move the model, the largest first.
    decisions : Decisions or None
        What was asked beyond one cost for all rows.
    """

    candidates: list[Candidate]
    chosen: str
    model: Any
    effects: list[Effect]
    decisions: Decisions | None


@dataclass(frozen=True, eq=False, repr=False)
class Findings(ShownResult):
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
    recheck : Recheck or None
        What checked rows have brought, and which to check next.
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
    recheck: Recheck | None
    level: float
    seed: int
    warnings: list[str]
    batch_file: str | None = None

    if not TYPE_CHECKING:  # our own code names the group

        def __getattr__(self, name: str) -> Any:
            """Return what a group has under this name."""
            for part in (TableFound, Priced, LabelsFound, ModelsFound):
                if name in (field.name for field in fields(part)):
                    return getattr(getattr(self, _GROUPS[part]), name)
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)

    @property
    def state(self) -> State:
        """What can be said of the labels; decides what is said first."""
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

    def cells(self, key: str = "flipcost", *, clean: bool) -> NDArray[np.float64]:
        """Return the four shares of a candidate with intervals, as observed or as denoised."""
        rate = rate_pair(self.labels.noise_rate) if clean else None
        return confusion_cells(self.candidate(key).table(self.priced.cost_index), rate, self.level)

    def summary(self) -> dict[str, Any]:
        """Return the findings as plain data, the content of ``summary.json``."""
        return summarize(self)


_GROUPS = {TableFound: "table", Priced: "priced", LabelsFound: "labels", ModelsFound: "models"}
