"""An audit in a notebook, and as Markdown: the answer, its figures, what was compared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jinja2 import Environment

from flipcost._shadow import in_shadow
from flipcost.report._headline import headline
from flipcost.report._plots import draw_range
from flipcost.report._sections import (
    candidate_table,
    cost_sentence,
    decision_answers,
    errors_sentences,
    method_words,
    price_sentence,
    suspects_sentence,
    title_sentence,
)

if TYPE_CHECKING:
    from flipcost.audit import Findings

_STYLE = """
h3 { font-size: 12px; font-weight: 600; margin: 0 0 4px; color: var(--soft); }
.headline { font-size: 16px; line-height: 1.4; margin: 0 0 4px; max-width: 72ch; }
.soft { color: var(--soft); font-size: 12.5px; margin: 8px 0 0; }
svg.state { display: block; width: 100%; max-width: 400px; height: auto; }
.state text { font-size: 12px; fill: var(--soft); }
.state .track, .state .unknown, .state .lack { fill: none; stroke: var(--rule); }
.state .clean { fill: var(--good); } .state .noisy, .state .undecided { fill: var(--c1); }
.state .given { fill: var(--best); } .state .have { fill: var(--c3); }
.state .pale { fill-opacity: 0.3; }
.state .dot { fill: var(--ground); stroke: var(--ink); stroke-width: 2.5; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 4px 12px 4px 0; border-top: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 600; border: 0; }
th:first-child, td:first-child { text-align: left; }
tr:first-child td { color: var(--best); font-weight: 650; }
"""
_BODY = """
<h3>Audit of {{ result.table.name }}</h3>
{% for line in lines %}
<p class="headline">{{ line }}</p>
{% endfor %}
{{ picture }}
<table><thead><tr>{% for head in heads %}<th>{{ head }}</th>{% endfor %}</tr></thead><tbody>
{% for row in rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table>
<p class="soft">The whole report: .to_html(); as data: .to_dict(), .suspects_frame(),
.candidates_frame(); as text: .to_markdown().</p>
"""


def render_snippet(result: Findings) -> str:
    """Return an audit for a notebook: isolated from its page, light and dark.

    Parameters
    ----------
    result : Findings
        What the audit found.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from flipcost.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(200) < 0.5
    >>> result = audit(pa.table({"age": rng.normal(size=200) + y, "ill": y}), "ill", 0.2)
    >>> "attachShadow" in render_snippet(result)
    True
    """
    heads, rows = candidate_table(result)
    template = Environment(autoescape=True, trim_blocks=True).from_string(_BODY)
    body = template.render(
        result=result,
        lines=headline(result).lines,
        picture=draw_range(result),
        heads=heads,
        rows=rows,
    )
    return in_shadow(body, render_markdown(result), _STYLE)


def render_markdown(result: Findings) -> str:
    """Return an audit as Markdown: the answer, the comparison, the user's questions.

    Parameters
    ----------
    result : Findings
        What the audit found.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from flipcost.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(200) < 0.5
    >>> result = audit(pa.table({"age": rng.normal(size=200) + y, "ill": y}), "ill", 0.2)
    >>> render_markdown(result).splitlines()[0]
    '# Audit of the table'
    """
    heads, rows = candidate_table(result)
    lines = [f"# Audit of {_plain(result.table.name)}", ""]
    lines += [f"**{_plain(line)}**  " for line in headline(result).lines]
    lines += ["", _plain(f"{title_sentence(result)} {price_sentence(result)}")]
    lines += ["", "## Cost by model", "", _row(heads), _row(["---"] + ["---:"] * (len(heads) - 1))]
    lines += [*(_row(row) for row in rows), "", _plain(cost_sentence(result))]
    said = [*errors_sentences(result), suspects_sentence(result)]
    lines += ["", "## Label errors", "", _plain(" ".join(said))]
    for question, answer in decision_answers(result):
        lines += ["", f"## {_plain(question)}", "", _plain(answer)]
    lines += ["", "## Method", ""]
    lines += [f"- {term}: {_plain(text)}" for term, text in method_words(result)]
    if result.warnings:
        lines += ["", "## Warnings", "", *(f"- {_plain(text)}" for text in result.warnings)]
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(_plain(c) if c.strip("-:") else c for c in cells) + " |"


def _plain(text: str) -> str:
    """Return text in which nothing is taken for markup."""
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", " ".join(text.split()))
