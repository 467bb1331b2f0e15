"""What checked rows have brought, what the next ones would, and when to stop: in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flipcost.core.confusion import Interval
from flipcost.estimators.flipcost.summary import band
from flipcost.report._numbers import money, span

if TYPE_CHECKING:
    from flipcost.audit import AuditResult
    from flipcost.recheck import Batch


def next_sentence(batch: Batch | None, cost_check: float | None = None) -> str:
    """Say what the next checks are expected to save, and whether they are worth their price.

    Parameters
    ----------
    batch : Batch or None
        Rows to check next; None when none is left.
    cost_check : float or None
        What one check costs.

    Returns
    -------
    str

    Examples
    --------
    >>> from flipcost.recheck import Batch
    >>> batch = Batch([None] * 50, (), Interval(0.002, 0.0, 0.004), 3000, 100)
    >>> next_sentence(batch)
    '50 more would save about 2.0 (0 to 4.0) per 1,000 rows.'
    >>> print(next_sentence(batch, 0.5))
    50 more would save about 2.0 (0 to 4.0) per 1,000 rows, 6.0 on the 3,000 of this table; that is
    less than the 25 that you said 50 checks cost. Stop, unless the model will decide about more
    than 12,000 rows.
    """
    if batch is None:
        return "Every row was checked: none is left."
    n, more = len(batch.rows), "more " if batch.n_checked else ""
    rows = f"{n:,} {'row' if n == 1 else 'rows'} " if not batch.n_checked else f"{n:,} {more}"
    if not batch.n_checked:
        rows = f"Checking {rows}"
    said = f"{rows}would save {_saved(batch.saving)} per 1,000 rows"
    if cost_check is None:
        return f"{said}."
    return f"{said}, {_against(batch, cost_check)}"


def worth_of_checks(result: AuditResult) -> str:
    """Say what the next checks of an audit are worth, where that can be said.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(batch=None, cost_check=None)
    >>> worth_of_checks(SimpleNamespace(recheck=found, state="noisy"))
    'Every row was checked: none is left.'
    """
    if result.recheck is None:
        return ""
    if result.state == "no_signal" and result.recheck.batch is not None:
        return (
            "Checked rows would tell how many labels are wrong; a rule that saves something takes "
            "other columns first."
        )
    if result.state == "small" and not result.recheck.way[1:]:
        return "Label more rows first: what checks would save cannot be told from so few."
    return next_sentence(result.recheck.batch, result.recheck.cost_check)


def _saved(saving: Interval) -> str:
    """Return what 1,000 rows are expected to cost less, with its interval."""
    value, low, high = (1000 * x for x in (saving.value, saving.low, saving.high))
    about = "" if value < 0.1 else "about "
    return f"{about}{money(value)} ({'0' if low < 0.1 else money(low)} to {money(high)})"


def _against(batch: Batch, cost_check: float) -> str:
    """Compare what checks save on a table with what they cost."""
    n, saved = len(batch.rows), batch.saving.value * batch.n_rows
    price = n * cost_check
    checks = f"{n:,} checks cost" if n > 1 else "a check costs"
    said = f"{money(saved)} on the {batch.n_rows:,} of this table; that is"
    if saved >= price:
        return f"{said} more than the {money(price)} that you said {checks}. Go on."
    said = f"{said} less than the {money(price)} that you said {checks}. Stop"
    if batch.saving.value <= 0:
        return f"{said}."
    enough = float(f"{price / batch.saving.value:.2g}")
    return f"{said}, unless the model will decide about more than {enough:,.0f} rows."


def way_table(result: AuditResult) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the way so far; no rows if nobody has checked any.

    Parameters
    ----------
    result : AuditResult
        What the audit found.

    Returns
    -------
    heads : list of str
    rows : list of list of str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from flipcost.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.5
    >>> right = pa.array([bool(v) if k < 30 else None for k, v in enumerate(y)])
    >>> table = pa.table({"age": rng.normal(size=400) + 2 * y, "ill": y, "right": right})
    >>> heads, rows = way_table(audit(table, "ill", 0.2, trusted="right", model="linear"))
    >>> [row[0] for row in rows]
    ['0', '30']
    """
    heads = ["rows checked", "labels wrong", "cost of 1,000 rows on clean labels"]
    way = [] if result.recheck is None else result.recheck.way
    if len(way) < 2:
        return heads, []
    rows = [
        [
            f"{point.n_checked:,}",
            band(point.wrong_share.low, point.wrong_share.high),
            span(point.cost, 1000),
        ]
        for point in way
    ]
    return heads, rows
