"""`flipcost demo`: an audit of bundled data, its questions answered by the truth, and again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flipcost.cli._output import Overwrite  # noqa: TC001 - read when the options are made

if TYPE_CHECKING:
    from flipcost.audit import Findings

_NAMES = ("report.html", "checked.html", "summary.json")


def demo_command(
    *,
    example: Annotated[str, typer.Option(help="Which bundled data.")] = "pima",
    rate: Annotated[float, typer.Option(help="Share of labels to flip.")] = 0.2,
    checks: Annotated[int, typer.Option(help="Rows to check.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the flips and of the audit.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for both reports.")] = Path("flipcost-demo"),
    overwrite: Overwrite = False,
) -> None:
    """Flip labels of bundled data, audit, check the rows it asks for by the truth, audit again."""
    from dataclasses import replace
    from functools import partial

    from flipcost.audit import audit
    from flipcost.cli._audit_run import default_prices, write_summary
    from flipcost.cli._echo import echo
    from flipcost.cli._example import example_table
    from flipcost.cli._options import in_options
    from flipcost.cli._output import check_folder, staged_folder
    from flipcost.cli._screen import say
    from flipcost.cli._table import print_table
    from flipcost.recheck import CheckedRow
    from flipcost.report import headline, price_sentence, render_report, title_sentence
    from flipcost.words import count, on_screen

    check_folder(out, _NAMES, overwrite=overwrite)
    table, positive, share = example_table(example, rate, seed)
    costs = default_prices(share)
    run = partial(audit, cost=costs, pos_label=positive, random_state=seed, n_next=checks)
    name = f"{example} (demo, {rate:.0%} of labels flipped)"
    first = run(table, "label", truth="true_label", name=name)
    truth = table["true_label"].to_pylist()
    rows = [] if first.recheck is None or first.recheck.batch is None else first.recheck.batch.rows
    answers = [
        CheckedRow(row.row, None, row.label, truth[row.row - 1], row.probability, name)
        for row in rows
    ]
    wrong = sum(row.checked != row.label for row in answers)
    second = run(table, "label", truth="true_label", name=f"{name}, checked", checked=[answers])
    # What the same method costs where no label is wrong: a bound on what anybody can save.
    perfect = run(table.drop_columns("label"), "true_label", noise_rate=0.0)
    with staged_folder(out, _NAMES, overwrite=overwrite) as place:
        page = render_report(first, in_options, later="checked.html")
        (place / "report.html").write_text(page, encoding="utf-8")
        page = render_report(second, in_options)
        (place / "checked.html").write_text(page, encoding="utf-8")
        write_summary(second, place)
    say(title_sentence(first))
    say(price_sentence(first))
    echo()
    for line in headline(replace(first, batch_file="the report")).lines:
        say(line)
    echo()
    say(
        f"The demo checked them by the truth: {count(wrong, 'label')} of {len(answers)} were wrong."
    )
    for line in headline(second).lines[:2]:
        say(line)
    echo()
    heads = ["", "before", f"after {len(answers)} checks", "truth"]
    print_table(
        heads, [[on_screen(c) for c in row] for row in _changes(first, second)], right={1, 2, 3}
    )
    echo()
    say(_verdict(first, second, perfect))
    say(f"Reports: {out / 'report.html'}, which links to {out / 'checked.html'}")


def _changes(first: Findings, second: Findings) -> list[list[str]]:
    """Return what two audits said, and what is true."""
    from flipcost.report import scale_of
    from flipcost.words import figure, percent, share_span, span

    known = first.labels.known_flips or {"wrong_labels": 0}
    both, scale = (first, second), scale_of(first)
    true = [figure(scale * r.best.test.value) if r.best.test else "" for r in both]
    wrong = percent(known["wrong_labels"] / first.table.n_rows)
    return [
        ["error rate", *(share_span(r.labels.errors.share) for r in both), wrong],
        ["expected cost", *(span(r.best.likely, scale) for r in both), ""],
        ["true cost", *true, ""],
    ]


def _verdict(first: Findings, second: Findings, perfect: Findings) -> str:
    """Say what label errors cost those who trust the labels, and how much of it comes back."""
    from flipcost.report import scale_of
    from flipcost.words import figure, percent

    scale = scale_of(first)
    plain, ours = first.candidate("logistic").test, second.best.test
    least = min(c.observed.value for c in perfect.models.candidates)
    if plain is None or ours is None:
        return ""
    lost = plain.value - least
    back = (plain.value - ours.value) / lost if lost > 0 else 0.0
    before = first.best.test
    dearer = before is not None and before.value < ours.value
    said = "Here the checks sharpened the estimate without lowering the cost. " if dearer else ""
    return (
        f"{said}Logistic regression on these labels costs {figure(scale * plain.value)}, the best "
        f"model on perfect labels {figure(scale * least)}. flipcost gets back "
        f"{percent(max(back, 0.0))} of that difference."
    )
