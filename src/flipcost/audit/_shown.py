"""How a result shows itself: in a notebook, as text, as data, as frames."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from flipcost.exceptions import FlipCostError

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
# The report stands above this package. A result shows itself by it, looked up by its name when it
# is asked for: the one thing that is known here of what stands above.
_REPORT = "flipcost.report"


class ShownResult:
    """What `Findings` has for people and notebooks."""

    def __repr__(self) -> str:
        """Return what was found in one line, and where there is more."""
        found: Any = self
        leaks = [leak.column for leak in found.labels.leaks]
        state = f"too good to be true: {', '.join(leaks)}" if leaks else f"labels {found.state}"
        # Three figures, and never as a power of ten.
        cost = float(f"{1000 * found.unit * found.best.likely.value:.3g}")
        return (
            f"<Findings of {found.name!r}: {found.n_rows:,} rows, {state}; "
            f"{found.best.label} costs {cost:,.10g} per 1,000 rows; see .to_markdown(), .to_html()>"
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

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, the content of ``summary.json``."""
        found: Any = self
        return dict(found.summary())

    def suspects_frame(self, backend: Backend | None = None) -> Any:
        """Return likely label errors as a frame, the likeliest first; `row` counts from 0.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            What kind of frame; the first of these that is installed when None.
        """
        suspects: Any = self.suspects  # type: ignore[attr-defined]
        columns = {
            "row": pa.array([s.row - 1 for s in suspects], pa.int64()),
            **{
                name: pa.array([getattr(s, name) for s in suspects], pa.string())
                for name in ("id", "label", "suggested")
            },
            "probability_wrong": pa.array([s.wrong for s in suspects], pa.float64()),
            "probability_positive": pa.array([s.probability for s in suspects], pa.float64()),
            "evidence": pa.array([s.evidence for s in suspects], pa.string()),
        }
        return _frame(pa.table(columns), backend)

    def candidates_frame(self, backend: Backend | None = None) -> Any:
        """Return the candidates with what 1,000 rows cost as a frame, the winner first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            What kind of frame; the first of these that is installed when None.
        """
        found: Any = self
        columns: dict[str, list[Any]] = {"key": [], "label": [], "called_positive": []}
        for c in found.candidates:
            columns["key"].append(c.key)
            columns["label"].append(c.label)
            columns["called_positive"].append(c.share_called)
            for name, what in (("cost", c.likely), ("saved", c.saving_likely)):
                for end in ("value", "low", "high"):
                    priced = 1000 * found.unit * getattr(what, end)
                    key = name if end == "value" else f"{name}_{end}"
                    columns.setdefault(key, []).append(priced)
        return _frame(pa.table(columns), backend)


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
