"""What is asked of an audit: each option once, for Python and for the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from flipcost._options import COSTS, KNOWN, LARGE, MODEL, TABLE, documented, option
from flipcost.exceptions import FlipCostError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flipcost.core.costs import Costs
    from flipcost.core.noise import NoiseRate
    from flipcost.recheck import CheckedRow
    from flipcost.tables.roles import Roles

MODELS = ("auto", "linear", "boosting")
SCORE_KINDS = ("score", "probability")
# A cost that is this many times the other leaves nothing to weigh up.
_MOST_UNEVEN = 1e9
# Attributes of a model that name columns it reads.
_READ = ("feature_names_in_", "cost_columns")


def read_rate(text: str) -> Any:
    """Return an error rate as it is typed: a share or a percentage, or two of them.

    Examples
    --------
    >>> read_rate("20%"), read_rate("0.3,0.1")
    (0.2, (0.3, 0.1))
    """
    from flipcost.core.noise import rate_pair  # noqa: PLC0415 - help waits for nothing

    try:
        parts = _shares(text)
        rate: Any = parts[0] if len(parts) == 1 else parts
        rate_pair(rate)
    except ValueError as error:
        hint = re.search(r"did you mean (.*?)\?", str(error))
        msg = (
            "An error rate must be a share from 0 to below 0.5 such as 0.2 or 20%, or two with a "
            f"sum below 1, as in 0.3,0.1; got {text!r}."
        )
        if hint is not None and "%" not in text:
            meant = hint[1].strip("()").replace(" ", "")
            msg += f" Did you mean {meant}, or {text.strip()}%?"
        raise FlipCostError(msg) from error
    return rate


def read_prevalence(text: str) -> Any:
    """Return a share of true positives as it is typed, or a range of it.

    Examples
    --------
    >>> read_prevalence("8%,0.15")
    (0.08, 0.15)
    """
    from flipcost.core.noise_posterior import PrevalencePrior  # noqa: PLC0415 - as above

    try:
        parts = _shares(text)
        PrevalencePrior.of(parts)
    except ValueError as error:
        msg = (
            "`prevalence` must be a share above 0 and below 1, or a range, as in 0.08,0.15; "
            f"got {text!r}."
        )
        raise FlipCostError(msg) from error
    return parts[0] if len(parts) == 1 else parts


def read_names(texts: Sequence[str]) -> list[str]:
    """Return names of columns as they are typed: one by one, or between commas.

    Examples
    --------
    >>> read_names(["a,b", "c"])
    ['a', 'b', 'c']
    """
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def _shares(text: str) -> tuple[float, ...]:
    """Return numbers between commas; those with a per cent sign are divided by 100."""
    parts = (part.strip() for part in text.split(","))
    return tuple(float(p[:-1]) / 100 if p.endswith("%") else float(p) for p in parts)


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditOptions:
    """What is asked of an audit, whichever way its rows arrive.

    `fc.audit` takes these as keywords.
    """

    target: str = option(..., "Column of the labels.", TABLE)
    cost: Costs | float | None = option(
        None,
        "What wrong decisions cost, or the share of it that a false positive bears; when None, a "
        "miss and a false alarm cost the same.",
    )
    pos_label: str | None = option(
        None, "The positive label; the second in order if not given.", TABLE, flag="--positive"
    )
    id: str | None = option(None, "Row identifier column.", TABLE)
    sample_weight: str | None = option(None, "Column of row weights.", TABLE)
    groups: str | None = option(
        None,
        "Column grouping related rows, such as patient: one group shares a fold, and intervals "
        "count groups.",
        TABLE,
        flag="--group",
    )
    time: str | None = option(
        None,
        "Column of dates or numbers: learn from earlier rows, evaluate on later ones, warn of "
        "drift.",
        TABLE,
    )
    drop: Sequence[str] = option((), "Column to leave out; may be repeated.", TABLE)
    drop_unusable: bool = option(
        False,
        "Leave out columns that are empty, constant or have too many categories.",
        TABLE,
    )
    categorical: Sequence[str] = option(
        (),
        "Column of categories that look like numbers; may be repeated.",
        TABLE,
    )
    learn_prices: bool = option(
        False,
        "Learn from the columns that costs are made of too; else they are left out, since costs "
        "are often known late.",
        COSTS,
    )
    capacity: str | None = option(
        None, "Most rows you can flag: 500, 5%, or by group north=200,south=5%.", COSTS
    )
    capacity_by: str | None = option(
        None, "Column of groups, each with a capacity of its own.", COSTS
    )
    by: str | None = option(
        None,
        "Report each value of this column separately; of a number, ranges of it.",
        COSTS,
    )
    noise_rate: float | tuple[float, float] | NoiseRate | None = option(
        None,
        "Share of wrong labels, if known: 0.2 or 20%, or two for true positives and negatives.",
        KNOWN,
        read=read_rate,
    )
    noise_model: str = option(
        "auto",
        "How labels go wrong: auto weighs symmetric, missed_positives, wrong_negatives and "
        "class_conditional.",
        KNOWN,
    )
    prevalence: float | tuple[float, float] | None = option(
        None,
        "Share of rows that are truly positive, if known: 0.1, or a range such as 0.08,0.15.",
        KNOWN,
        read=read_prevalence,
    )
    trusted: str | None = option(
        None, "Column with the right label of checked rows, empty elsewhere.", KNOWN
    )
    checked: Sequence[Path] | Path | str = option(
        (),
        "File of checked rows, found by their id or else by their number; may be repeated.",
        KNOWN,
        takes="path or sequence of paths",
    )
    second_label: Sequence[str] | str = option(
        (),
        "Column of labels given again, independently, which tell the error rate of the target; "
        "may be repeated.",
        KNOWN,
    )
    worker: str | None = option(
        None,
        "Column of annotators, where each row is one label of an item; these are pooled.",
        KNOWN,
    )
    item: str | None = option(None, "Column of the items that annotators labelled.", KNOWN)
    annotators: Sequence[str] | str = option(
        (),
        "Columns of several annotators, a,b,c, where each row is an item; the target then names "
        "the column of their pooled label.",
        KNOWN,
        read=read_names,
    )
    test: Any = option(
        None,
        "Rows with clean labels: evidence of label errors, and what models are evaluated on.",
        KNOWN,
        kind=Path,
        takes="pyarrow, pandas or polars table",
    )
    truth: str | None = option(
        None,
        "Column of the clean labels of the same rows, when these are known, as in a simulation. "
        "Not learned from: models are evaluated by it.",
    )
    cost_check: float | None = option(
        None, "What checking one row costs, to know when to stop.", COSTS
    )
    model: Any = option(
        "auto",
        "What scores the rows: linear (ridge regression with splines), boosting, or auto, which "
        "pools both; or a saved model to compare with.",
        MODEL,
        takes="str or estimator",
    )
    score: Sequence[str] | str = option(
        (),
        "Column of out-of-fold scores of your own model, larger for positives; nothing else is "
        "learned from. Scores of rows that it was fitted on make all figures too good. May be "
        "repeated.",
        MODEL,
    )
    score_kind: str = option(
        "score", "What scores are: score, or probability of the positive label.", MODEL
    )
    random_state: int = option(0, "Seed of the folds.", MODEL, flag="--seed", min=0)
    level: float = option(0.95, "Level of all intervals.")
    max_rows: int | None = option(
        None,
        "Rows to draw of a larger table, weighted to stand for it; if not given 200,000, or fewer "
        "where rows are wide.",
        LARGE,
        min=100,
    )
    name: str | None = option(None, "Name of the table in messages.")
    n_next: int = option(50, "How many rows to choose for checking next.")

    def __post_init__(self) -> None:
        """Refuse what cannot be asked, before any row is read."""
        for why in chain(_impossible(self), _contradictory(self)):
            raise FlipCostError(why)

    def columns_read(self, columns: list[str], names: list[str], where: str) -> list[str]:
        """Return the columns that rows are needed with, the target first."""
        from flipcost.tables.roles import price_columns  # noqa: PLC0415 - help waits for nothing

        read = [*self.roles.used, *columns]
        # A saved model may read other columns.
        more = [n for of in _READ for n in getattr(self.model, of, ())]
        priced = price_columns(self.prices, names, where)
        more += priced + self.grouping
        if self.scores:  # are they better than what the other columns tell?
            more += self.roles.features(names, where, priced)
        return read + [n for n in dict.fromkeys(more) if n in names and n not in read]

    @property
    def has_annotators(self) -> bool:
        """Whether several annotators labelled the items."""
        return bool(self.worker or self.item or self.annotators)

    @property
    def annotator_names(self) -> tuple[str, ...]:
        """The columns of annotators, if there is one for each."""
        return _names(self.annotators)

    @property
    def scores(self) -> tuple[str, ...]:
        """The columns of scores, if these are given."""
        return _names(self.score)

    @property
    def grouping(self) -> list[str]:
        """The columns that only group rows."""
        return [name for name in (self.capacity_by, self.by) if name is not None]

    @cached_property
    def rounds(self) -> list[list[CheckedRow]]:
        """Rows that were checked, by files, each a round, or as they were read from such."""
        from flipcost.recheck import read_checked  # noqa: PLC0415 - help waits for nothing

        files: Any = [self.checked] if isinstance(self.checked, str | Path) else self.checked
        rounds = []
        for file in files:
            is_file = isinstance(file, str | Path)
            rows = read_checked(file) if is_file else list(file)
            if is_file and not rows:
                msg = f"{file} holds no answers yet; fill in its column 'checked'."
                raise TableError(msg)
            rounds.append(rows)
        return rounds

    @property
    def has_checked(self) -> bool:
        """Whether right labels of some rows are given, in a column or in files."""
        return self.trusted is not None or bool(self.rounds)

    @cached_property
    def prices(self) -> Costs:
        """What wrong decisions cost."""
        from flipcost.core.costs import Costs, cost_share  # noqa: PLC0415 - as above

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
        from flipcost.tables.roles import Roles  # noqa: PLC0415 - as above

        return Roles(
            self.target,
            id=self.id,
            trusted=self.trusted,
            second_label=_names(self.second_label),
            sample_weight=self.sample_weight,
            drop=tuple(self.drop),
            truth=self.truth,
            group=self.groups,
            time=self.time,
        )


def _names(one_or_more: Sequence[str] | str) -> tuple[str, ...]:
    return (one_or_more,) if isinstance(one_or_more, str) else tuple(map(str, one_or_more))


def _impossible(options: AuditOptions) -> Iterator[str]:
    """Say what is wrong with single options."""
    from flipcost.core.gains import read_capacity  # noqa: PLC0415 - help waits for nothing
    from flipcost.core.noise_posterior import NoiseModel, PrevalencePrior  # noqa: PLC0415

    if options.noise_model not in get_args(NoiseModel):
        known = ", ".join(get_args(NoiseModel))
        yield f"`noise_model` must be one of {known}; got {options.noise_model!r}."
    if options.prevalence is not None:
        PrevalencePrior.of(options.prevalence)
    if isinstance(options.model, str) and options.model not in MODELS:
        yield f"`model` must be {', '.join(MODELS)} or an estimator; got {options.model!r}."
    most = (1 << 32) - 1
    if not 0 <= options.random_state <= most:
        seed = options.random_state
        yield f"`random_state` must be a whole number from 0 to {most}; got {seed}."
    if options.score_kind not in SCORE_KINDS:
        yield f"`score_kind` must be {' or '.join(SCORE_KINDS)}; got {options.score_kind!r}."
    read_capacity(options.capacity, options.capacity_by)
    share = 0.5 if options.prices.is_by_row else options.prices.alpha
    if not min(share, 1 - share) >= 1 / _MOST_UNEVEN:
        yield f"No cost may be more than {_MOST_UNEVEN:,.0f} times the other; got {options.prices}."
    price: Any = options.cost_check
    if price is not None and not (isinstance(price, Real) and 0 < float(price) < float("inf")):
        yield f"`cost_check` must be a number above 0; got {price!r}."


def _contradictory(options: AuditOptions) -> Iterator[str]:
    """Say what does not go together."""
    if options.score and not (isinstance(options.model, str) and options.model == "auto"):
        yield "Give `score` or `model`, not both: scores are those of a model of your own."
    if options.groups is not None and options.time is not None:
        yield "Give `groups` or `time`, not both: folds follow one of them."
    has_other = options.noise_rate is not None or options.second_label or options.has_annotators
    if options.prevalence is not None and has_other:
        yield (
            "`prevalence` counts only where the error rate is unknown; with `noise_rate` or other "
            "labels it has no effect. Leave it out."
        )
    sources = ("noise_rate", "trusted" if options.trusted else "checked", "second_label")
    given = [f"`{name}`" for name in sources if getattr(options, name) not in (None, (), [])]
    if options.has_annotators:
        names = options.annotator_names
        if (options.worker is None) != (options.item is None):
            yield "Give both `worker` and `item`: who labelled what."
        if options.worker is not None and names:
            yield "Give `worker` and `item`, or `annotators`: rows are labels, or items."
        if options.worker is None and len(set(names)) < max(len(names), 2):
            yield "Give at least two columns as `annotators`, each of them once."
        given = [name for name in given if name not in ("`trusted`", "`checked`")]
        given.append("`worker`" if options.worker else "`annotators`")
    if len(given) > 1:
        yield f"Give one of {' and '.join(given)}, not both: each sets the error rate."


AuditOptions.__doc__ = f"""What is asked of an audit, whichever way its rows arrive.

`fc.audit` takes these as keywords. A `model` that is not fitted yet scores the rows; a fitted one
that reads tables is compared with "auto".

Parameters
----------
{documented(AuditOptions)}

Examples
--------
>>> options = AuditOptions(target="ill", cost=0.2, id="patient")
>>> options.prices, options.roles.features(["patient", "age", "ill"], "a.csv")
(Costs(fn=0.8, fp=0.2, tp=0.0, tn=0.0), ['age'])
"""
