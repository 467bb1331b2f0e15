"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import Any

from flipcost._version import __version__
from flipcost.experiments.registry._paper_tables import TABLES
from flipcost.experiments.tables._errata import WORDS
from flipcost.experiments.tables._pivot import DATA_WORDS, figure, method_words, pivot
from flipcost.experiments.tables._plots import Series, plot
from flipcost.experiments.tables._results import (
    DIFFERS,
    IMPOSSIBLE,
    NOT_GIVEN,
    WITHIN,
    Row,
    summarize,
)
from flipcost.experiments.tables._why import REASONS

_CLASSES = {WITHIN: "ok", DIFFERS: "off", IMPOSSIBLE: "odd", NOT_GIVEN: "na", "": "ours"}
_STYLE = """
:root{--ink:#1c2430;--soft:#5b6675;--rule:#d9dee5;--ok:#e3f4e6;--off:#fde4df;--odd:#fff2cc;
--na:#f1f3f6;--ours:#e6effb}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);max-width:76rem;margin:0 auto;
padding:1.5rem 1rem 4rem}
h1{font-size:1.7rem;margin:.2em 0}h2{font-size:1.25rem;margin:2.2em 0 .4em}
h3{font-size:1rem;margin:1.6em 0 .3em}
p.lead{font-size:1.1rem}small,.soft{color:var(--soft)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.83rem;margin:.4em 0}
th,td{border:1px solid var(--rule);padding:.25em .5em;text-align:left;vertical-align:top;
white-space:nowrap}th{background:#fafbfc;font-weight:600;white-space:normal}
td.ok{background:var(--ok)}td.off{background:var(--off)}td.odd{background:var(--odd)}
td.na{background:var(--na)}td.ours{background:var(--ours)}td .p{color:var(--soft);display:block}
.key span{padding:.1em .5em;margin-right:.6em;border:1px solid var(--rule)}
.plots{display:grid;grid-template-columns:repeat(3,1fr);gap:.6rem}
@media(max-width:40rem){.plots{grid-template-columns:1fr}}
svg{width:100%;height:auto;background:#fff}svg text{font:10px system-ui,sans-serif;fill:#5b6675}
svg .t{font-weight:600;font-size:11.5px;fill:#1c2430}svg .y{text-anchor:end}
svg .x{text-anchor:middle}svg .a{fill:none;stroke:#b8c0ca}
.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem}
.legend i{display:inline-block;width:1.4em;height:.25em;vertical-align:middle;margin-right:.4em}
@media print{body{max-width:none}h2{break-before:page}}
"""
# What is drawn: label, method, reading, colour. Readings of None are the ones compared with.
_LINES = (
    ("scheme 1 as stated", "usq_regerm", "stated", "#b42318"),
    ("scheme 1, cost 1/2", "usq_regerm", "half", "#e08600"),
    ("scheme 2, logistic", "lkfun_log", "untouched", "#7a3ff2"),
    ("scheme 2, LSPC", "lspc", "untouched", "#0f8a7e"),
    ("scheme 1 denoised, rate known", "usq_regerm", "denoised", "#175cd3"),
    ("FlipCost, rate unknown", "flipcost", "ours", "#111827"),
    ("all positive", "all_positive", "constant", "#9aa4b2"),
)
_PANELS = (("AM", "AM"), ("WC", "cost as printed"), ("WC1", "user's cost"))


def to_html(rows: list[Row], about: dict[str, Any]) -> str:
    """Return the page.

    Parameters
    ----------
    rows : list of dict
        The tidy results.
    about : dict
        With ``trials``, ``seed`` and ``seconds``.
    """
    summary = summarize(rows)
    names = list(dict.fromkeys(row["table"] for row in rows))
    body = [
        "<h1>The paper's tables, printed and reproduced</h1>",
        _lead(summary, about),
        _key(),
        *_pictures(rows),
        *_agreement(summary),
        "<h2>Why columns differ</h2>",
        *(f"<h3>{escape(head)}</h3><p>{escape(text)}</p>" for head, text in REASONS.items()),
        "<h2>The tables</h2>",
        *(_table(name, [row for row in rows if row["table"] == name]) for name in names),
        "<h2>Errata</h2><dl>",
        *(f"<dt><b>{key}</b></dt><dd>{escape(text)}</dd>" for key, text in WORDS.items()),
        "</dl>",
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>flipcost reproduce</title><style>{_STYLE}</style>\n"
        + "\n".join(body)
        + "\n</html>\n"
    )


def _lead(summary: list[Row], about: dict[str, Any]) -> str:
    agree = sum(entry["agree"] for entry in summary)
    cells = sum(entry["cells"] for entry in summary)
    touched = sum(entry["touched_agree"] for entry in summary)
    others = sum(entry["touched_cells"] for entry in summary)
    share = f"{agree} of {cells} cells ({agree / cells:.0%})" if cells else "no cells"
    return (
        f'<p class="lead">Of the printed cells that no erratum touches, <b>{share}</b> lie within '
        f"one standard deviation of ours. Of those that one does touch, {touched} of {others} do, "
        "under the reading that we take them to come from. Readings were chosen by how well they "
        "fit the print: this is agreement of the best reading found, not a blind test.</p>"
        f'<p class="soft">{about["trials"]} trials, seed {about["seed"]}, '
        f"flipcost {__version__}. Tripathi and Hemachandra, Cost sensitive learning in the "
        "presence of symmetric label noise, PAKDD 2019.</p>"
    )


def _key() -> str:
    return (
        '<p class="key"><span style="background:var(--ok)">within one standard deviation, the '
        'larger of the two</span><span style="background:var(--off)">differs</span>'
        '<span style="background:var(--odd)">impossible as printed</span>'
        '<span style="background:var(--na)">not given</span>'
        '<span style="background:var(--ours)">not in the paper</span>'
        "<small>Printed figure in grey, ours below; rest the pointer on a cell for other "
        "readings.</small></p>"
    )


def _pictures(rows: list[Row]) -> list[str]:
    legend = "".join(
        f'<li><i style="background:{colour}"></i>{escape(label)}</li>'
        for label, _, _, colour in _LINES
    )
    found = []
    for dataset, name in DATA_WORDS.items():
        own = [row for row in rows if row["dataset"] == dataset and row["gamma"] == "tuned"]
        own = [row for row in own if TABLES[row["table"]].kind == "noisy"]
        for measure, words in _PANELS:
            if len({row["rho"] for row in own if row["measure"] == measure}) > 1:
                found.append(plot(f"{name}: {words}", _series(own, measure)))
    if not found:
        return []
    return [
        "<h2>Against the noise rate</h2>",
        f'<ul class="legend">{legend}<li>circles: printed</li></ul>',
        f'<div class="plots">{"".join(found)}</div>',
    ]


def _series(rows: list[Row], measure: str) -> list[Series]:
    series = []
    for label, method, reading, colour in _LINES:
        if measure == "WC" and reading in ("denoised", "ours"):
            continue  # counted at margin 1: not comparable with the printed form
        own = [
            r
            for r in rows
            if (r["measure"], r["method"], r["reading"]) == (measure, method, reading)
        ]
        ours = sorted({(r["rho"], r["mean"]) for r in own})
        # The printed figures of scheme 1 are drawn once, beside the line that they fit.
        drawn = reading != "stated"
        paper = sorted({(r["rho"], r["paper_mean"]) for r in own if drawn and r["verdict"]})
        series.append(Series(label, colour, ours, paper))
    return series


def _agreement(summary: list[Row]) -> list[str]:
    rows = []
    for entry in summary:
        share = entry["agree"] / entry["cells"] if entry["cells"] else float("nan")
        mark = "" if share != share else ("ok" if share >= 0.85 else "off")
        text = f"{entry['agree']} of {entry['cells']}" if entry["cells"] else ""
        touched = (
            f"{entry['touched_agree']} of {entry['touched_cells']}"
            if entry["touched_cells"]
            else ""
        )
        rows.append(
            f"<tr><td>{escape(TABLES[entry['table']].title)}</td>"
            f"<td>{escape(method_words(entry['method']))}</td>"
            f'<td class="{mark}">{text}</td><td>{touched}</td></tr>'
        )
    heads = (
        "<tr><th>table</th><th>method</th><th>agree, of cells that no erratum touches</th>"
        "<th>agree, of the others</th></tr>"
    )
    return [
        "<h2>Agreement by table and method</h2>",
        f'<div class="scroll"><table>{heads}{"".join(rows)}</table></div>',
    ]


def _table(name: str, rows: list[Row]) -> str:
    table, digit = pivot(name, rows), TABLES[name].digit
    heads = "".join(f"<th>{escape(head)}</th>" for head in (*table.row_fields, *table.column_heads))
    body = []
    for head in table.row_heads:
        cells = [f"<th>{escape(part)}</th>" for part in head]
        for column in table.column_heads:
            cell = table.cells.get((head, column))
            cells.append(_cell(cell, digit) if cell else "<td></td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    title = f"<h3>{escape(TABLES[name].title)} <small>{escape(name)}</small></h3>"
    return f'{title}<div class="scroll"><table><tr>{heads}</tr>{"".join(body)}</table></div>'


def _cell(cell: Any, digit: float) -> str:
    row = cell.row
    ours = figure(row["mean"], row["std"], digit)
    notes = [f"reading: {row['reading']}"]
    notes += [
        f"{other['reading']}: {figure(other['mean'], other['std'], digit)}" for other in cell.others
    ]
    if row["errata"]:
        notes.append(row["errata"])
    paper = figure(row["paper_mean"], row["paper_std"], digit) if row["verdict"] else ""
    shown = f'<span class="p">{paper}</span>' if paper else ""
    kind, hint = _CLASSES[row["verdict"]], escape("; ".join(notes))
    return f'<td class="{kind}" title="{hint}">{shown}{ours}</td>'
