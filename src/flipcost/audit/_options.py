"""What is asked of an audit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from flipcost.audit._recheck import check_price, read_rounds
from flipcost.core.capacity import read_capacities
from flipcost.core.costs import Costs, cost_share
from flipcost.core.noise_posterior import NoiseModel, PrevalencePrior
from flipcost.exceptions import FlipCostError
from flipcost.tables.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flipcost.core.rates import NoiseRate
    from flipcost.recheck import CheckedRow

MODELS = ("auto", "linear", "boosting")
# A price that is so many times the other leaves nothing to weigh up.
_MOST_UNEVEN = 1e9


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditOptions:
    """What is asked of an audit, whichever way its rows arrive.

    `audit` and `audit_files` take these as keywords.

    Parameters
    ----------
    target : str
        The column of labels.
    cost : Costs, float or None, default=None
        Prices of the mistakes, or the share that a false positive bears; when None, both mistakes
        are taken to cost the same.
    positive : str, default=None
        The positive label; the second in order when None.
    noise_rate : float, pair of floats, NoiseRate or None, default=None
        The rate, when it is known.
    noise_model : {"auto", "symmetric", "missed_positives", "wrong_negatives", \
            "class_conditional"}, default="auto"
        How labels may have gone wrong; "auto" weighs all of these. See `FlipCostClassifier`.
    prevalence : float or pair of floats, default=None
        What is known of the share of rows that are truly positive, or a range of it.
    trusted : str, default=None
        Column with the right label of rows that somebody checked, empty elsewhere. They are learned
        from, and mistakes are counted on them.
    checked : path, or sequence of paths, default=()
        Files of rows that somebody checked, each a round (`flipcost.recheck.read_checked`), used as
        `trusted` is. Rows are found by `id` if it is given, or else by their number, and must have
        the label that they had.
    second_label : str or sequence of str, default=()
        Columns of labels that were given independently; the rate is estimated from these. One is
        taken to be as noisy as the target; of two or more each has rates of its own.
    id, sample_weight : str, default=None
        Columns with names and weights of the rows.
    group : str, default=None
        Column that says which rows depend on each other: a patient, a customer, a document. Rows of
        one group share a fold, and intervals count groups. Not a feature.
    time : str, default=None
        Column of numbers or dates to order rows by: candidates are then judged on rows that are
        later than those they learned from, and drift is warned of. Not a feature; rows in memory.
    drop, categorical : sequence of str
        Columns to leave out, and columns that hold categories although they look like numbers.
    learn_prices : bool, default=False
        Whether columns that `cost` names are learned from as well. They are prices and nothing
        else when False: what a mistake costs is often known late, or set by people who saw more.
    drop_unusable : bool, default=False
        Whether to leave out columns that are empty, constant or have too many categories, rather
        than to refuse them.
    model : {"auto", "linear", "boosting"} or estimator, default="auto"
        What scores the rows: the closed form pooled with gradient boosting where rows are in memory
        and allow it, the closed form alone, boosting alone, or a classifier that is not fitted yet.
        A fitted model that reads tables is compared with "auto".
    test : pyarrow, pandas or polars table, default=None
        Rows with clean labels.
    truth : str, default=None
        Column of the clean labels of the same rows, when these are known, as in an example. Not
        learned from: candidates are judged by it.
    seed : int, default=0
        Seed of the folds.
    level : float, default=0.95
        Level of all intervals.
    capacity : str, default=None
        How many rows can be called: ``"500"``, ``"5%"``, or by group ``"north=200,south=5%"``.
    capacity_by : str, default=None
        Column of the groups of `capacity`; one capacity is then that of each.
    by : str, default=None
        Column whose parts are looked at one by one: noise, cost, precision and recall of each.
    max_rows : int, default=None
        A larger table in memory is sampled; of files no more rows than these are drawn to compare
        candidates on. All rows of a table in memory are audited when None.
    name : str, default=None
        What the table is called in messages.
    n_next : int, default=50
        How many rows to choose for checking next.
    cost_check : float, default=None
        What checking one row costs, in the unit of `cost`: then it is said when to stop.

    Examples
    --------
    >>> options = AuditOptions(target="ill", cost=0.2, id="patient")
    >>> options.prices, options.roles.features(["patient", "age", "ill"], "a.csv")
    (Costs(fn=0.8, fp=0.2, tp=0.0, tn=0.0), ['age'])
    """

    target: str
    cost: Costs | float | None = None
    positive: str | None = None
    noise_rate: float | tuple[float, float] | NoiseRate | None = None
    noise_model: str = "auto"
    prevalence: float | tuple[float, float] | None = None
    trusted: str | None = None
    checked: Any = ()
    second_label: str | Sequence[str] = ()
    id: str | None = None
    sample_weight: str | None = None
    group: str | None = None
    time: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    learn_prices: bool = False
    drop_unusable: bool = False
    model: Any = "auto"
    test: Any = None
    truth: str | None = None
    seed: int = 0
    level: float = 0.95
    capacity: str | None = None
    capacity_by: str | None = None
    by: str | None = None
    max_rows: int | None = None
    name: str | None = None
    n_next: int = 50
    cost_check: float | None = None

    def drawn(self, fewest: int, most: int) -> int:
        """Return how many rows of each label to draw, where rows are not held."""
        return most if self.max_rows is None else min(most, max(fewest, self.max_rows // 2))

    def __post_init__(self) -> None:
        """Refuse what cannot be asked, before any row is read."""
        if self.noise_model not in get_args(NoiseModel):
            known = ", ".join(get_args(NoiseModel))
            msg = f"`noise_model` must be one of {known}; got {self.noise_model!r}."
            raise FlipCostError(msg)
        if self.prevalence is not None:
            _check_share(self)
        if isinstance(self.model, str) and self.model not in MODELS:
            msg = f"`model` must be {', '.join(MODELS)} or an estimator; got {self.model!r}."
            raise FlipCostError(msg)
        if not 0 <= self.seed < 1 << 32:
            msg = f"`seed` must be a whole number from 0 to {(1 << 32) - 1}; got {self.seed}."
            raise FlipCostError(msg)
        check_decisions(self.capacity, self.capacity_by)
        share = 0.5 if self.prices.is_by_row else self.prices.alpha
        if not min(share, 1 - share) >= 1 / _MOST_UNEVEN:
            msg = (
                f"No price may be more than {_MOST_UNEVEN:,.0f} times the other; got {self.prices}."
            )
            raise FlipCostError(msg)
        if self.group is not None and self.time is not None:
            msg = "Give `group` or `time`, not both: folds follow one of them."
            raise FlipCostError(msg)
        check_price(self.cost_check)
        sources = ("noise_rate", "trusted" if self.trusted else "checked", "second_label")
        given = [f"`{name}`" for name in sources if getattr(self, name) not in (None, (), [])]
        if len(given) > 1:
            msg = f"Give one of {' and '.join(given)}, not both: each tells the noise rate."
            raise FlipCostError(msg)

    @property
    def grouping(self) -> list[str]:
        """The columns that only group rows."""
        return [name for name in (self.capacity_by, self.by) if name is not None]

    @cached_property
    def rounds(self) -> list[list[CheckedRow]]:
        """Rows that files say were checked, a list for each file."""
        return read_rounds(self.checked)

    @property
    def has_checked(self) -> bool:
        """Whether right labels of some rows are given, in a column or in files."""
        return self.trusted is not None or bool(self.rounds)

    @cached_property
    def prices(self) -> Costs:
        """What mistakes cost."""
        if self.cost is None:
            return Costs(fn=1.0, fp=1.0)
        if isinstance(self.cost, Costs):
            return self.cost
        return Costs(fn=1 - cost_share(self.cost), fp=self.cost)

    @property
    def unit(self) -> float:
        """What a unit of the costs of the result is in the user's prices."""
        return 1.0 if self.prices.is_by_row else self.prices.unit

    @cached_property
    def roles(self) -> Roles:
        """What the columns are for."""
        known = {field.name: getattr(self, field.name) for field in fields(Roles)}
        again = (self.second_label,) if isinstance(self.second_label, str) else self.second_label
        return Roles(**known | {"drop": tuple(self.drop), "second_label": tuple(again)})


def check_decisions(capacity: str | None, capacity_by: str | None) -> None:
    """Refuse a capacity that cannot be, before any row is read."""
    if capacity is None and capacity_by is not None:
        msg = "`capacity_by` names groups, but no `capacity` of theirs is given; give both."
        raise FlipCostError(msg)
    if capacity is None:
        return
    try:
        found = read_capacities(capacity)
    except ValueError as error:
        raise FlipCostError(str(error)) from error
    if isinstance(found, dict) and capacity_by is None:
        msg = "`capacity` by group needs the groups: name their column as `capacity_by`."
        raise FlipCostError(msg)


def _check_share(options: AuditOptions) -> None:
    """Refuse a share of positives that is none, or that would play no part."""
    try:
        PrevalencePrior.of(options.prevalence)
    except ValueError as error:
        raise FlipCostError(str(error)) from None
    if options.noise_rate is not None or options.second_label:
        msg = (
            "`prevalence` counts where the noise rate is open; with `noise_rate` or "
            "`second_label` it would play no part. Leave it out."
        )
        raise FlipCostError(msg)
