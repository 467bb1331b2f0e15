"""Commands on bundled data: `flipcost demo`, `datasets` and `reproduce`."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flipcost._options import RESULTS, option, same_as
from flipcost._staging import check_folder, staged_folder
from flipcost.cli._command import Results, command, in_options
from flipcost.cli._terminal import as_json, echo, print_json, print_table, say
from flipcost.exceptions import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from flipcost.audit import Findings
    from flipcost.core.costs import Costs
    from flipcost.core.noise import NoiseRateLike

DEMO, TABLES = "Demo", "Tables"
_FILES = ("report.html", "checked.html", "summary.json")


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What is shown."""

    example: str = option("pima", "Which bundled data.", DEMO)
    rate: float = option(0.2, "Share of labels to flip.", DEMO, min=0.0, max=0.49)
    checks: int = option(100, "Rows to check.", DEMO, min=1)
    seed: int = option(0, "Seed of the flips and of the audit.", DEMO)
    out: Path = option(Path("flipcost-demo"), "Folder for both reports.", RESULTS)
    overwrite: bool = same_as(Results, "overwrite")


@command(
    "demo",
    Demo,
    examples={
        DEMO: "flipcost demo --example german_credit --checks 200",
        RESULTS: "flipcost demo --out shown --overwrite",
    },
)
def demo_command(asked: Demo) -> None:
    """Show the whole loop on bundled data: audit, check, audit.

    Labels are flipped, and the rows that the audit asks for are checked against the truth.
    """
    from flipcost.audit import audit
    from flipcost.recheck import CheckedRow
    from flipcost.report.headline import headline
    from flipcost.report.render import render_report
    from flipcost.report.sentences import price_sentence, title_sentence
    from flipcost.words import on_screen

    out, checks, seed = asked.out, asked.checks, asked.seed
    check_folder(out, _FILES, overwrite=asked.overwrite)
    table, positive, share = example_table(asked.example, asked.rate, seed)
    run = partial(
        audit, cost=default_costs(share), pos_label=positive, random_state=seed, n_next=checks
    )
    name = f"{asked.example} (demo, {asked.rate:.0%} of labels flipped)"
    first = run(table, "label", truth="true_label", name=name)
    truth = table["true_label"].to_pylist()
    answers = [
        CheckedRow(row.row, None, row.label, truth[row.row - 1], row.probability, name)
        for row in (first.recheck.batch.rows if first.recheck.batch else ())
    ]
    wrong = sum(row.checked != row.label for row in answers)
    second = run(table, "label", truth="true_label", name=f"{name}, checked", checked=[answers])
    # The same method on the right labels costs the least that can be hoped for.
    perfect = run(table.drop_columns("label"), "true_label", noise_rate=0.0)
    with staged_folder(out, _FILES, overwrite=asked.overwrite) as place:
        page = render_report(first, in_options, later="checked.html")
        (place / "report.html").write_text(page, encoding="utf-8")
        page = render_report(second, in_options)
        (place / "checked.html").write_text(page, encoding="utf-8")
        (place / "summary.json").write_text(as_json(second.summary()), encoding="utf-8")
    say(title_sentence(first))
    say(price_sentence(first))
    echo()
    for line in headline(replace(first, batch_file="the report")).lines:
        say(line)
    echo()
    say(f"The demo checked them against the truth: {wrong} of {len(answers)} were mislabelled.")
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
    from flipcost.report.headline import scale_of
    from flipcost.words import figure, percent, share_span, span

    known = first.labels.known_flips or {"wrong_labels": 0}
    both, scale = (first, second), scale_of(first)
    true = [figure(scale * r.best.test.value) if r.best.test else "" for r in both]
    wrong = percent(known["wrong_labels"] / first.table.n_rows)
    return [
        ["error rate", *(share_span(r.labels.errors.share) for r in both), wrong],
        ["expected cost", *(span(r.best.cost_if_random, scale) for r in both), ""],
        ["true cost", *true, ""],
    ]


def _verdict(first: Findings, second: Findings, perfect: Findings) -> str:
    """Say what label errors cost those who trust the labels, and how much of it comes back."""
    from flipcost.report.headline import name_in_sentence, rival_of, scale_of
    from flipcost.words import figure, percent

    scale, plain, ours = scale_of(first), first.candidate("logistic"), second.best.test
    least = min(c.observed.value for c in perfect.models.candidates)
    if plain.test is None or ours is None:
        return ""
    rival = rival_of(first)
    costs = f"{plain.label} on these labels costs {figure(scale * plain.test.value)}"
    if rival is not None and rival is not plain and rival.test is not None:
        costs += f" and {name_in_sentence(rival)} {figure(scale * rival.test.value)}"
    lost = plain.test.value - least
    back = (plain.test.value - ours.value) / lost if lost > 0 else 0.0
    dearer = first.best.test is not None and first.best.test.value < ours.value
    said = "Here the checks sharpened the estimate without lowering the cost. " if dearer else ""
    return (
        f"{said}In truth, {costs}; the best model on perfect labels costs "
        f"{figure(scale * least)}. flipcost gets back {percent(max(back, 0.0))} of what label "
        "errors cost logistic regression."
    )


def example_table(
    name: str, noise_rate: NoiseRateLike, seed: int
) -> tuple[pa.Table, str, float | None]:
    """Return bundled data with label errors, its positive label, and its cost in the literature.

    The table has noisy labels in ``label`` and clean ones in ``true_label``.

    Examples
    --------
    >>> table, positive, cost = example_table("german_credit", 0.2, 0)
    >>> table.num_rows, positive, cost
    (1000, 'bad', 0.16)
    """
    import pyarrow as pa

    from flipcost import datasets
    from flipcost.noise import flip_labels

    known = {row["name"]: row for row in datasets.list_datasets()}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        advice = f"did you mean {close[0]!r}?" if close else "see `flipcost datasets`."
        msg = f"There is no example {name!r}; {advice}"
        raise UserError(msg)
    loader = getattr(datasets, known[name]["loader"])
    parameters = inspect.signature(loader).parameters
    options: dict[str, Any] = {"coding": "raw"} if "coding" in parameters else {}
    if "random_state" in parameters:
        options["random_state"] = seed
    data = loader(**options)
    names = data.get("feature_names") or [f"x{j + 1}" for j in range(data.data.shape[1])]
    columns = {
        feature: pa.array([str(value) for value in data.data[:, j]])
        for j, feature in enumerate(names)
    }
    clean = (data.target > 0).astype(int)
    words = data.get("target_names") or ["negative", "positive"]
    noisy = flip_labels(clean, noise_rate, random_state=seed)
    columns["true_label"] = pa.array([str(words[k]) for k in clean])
    columns["label"] = pa.array([str(words[k]) for k in noisy])
    return pa.table(columns), str(words[1]), known[name]["cost"]


def default_costs(share: float | None) -> Costs:
    """Return costs with a false alarm at 1, for a cost share as the literature gives it."""
    from flipcost.core.costs import Costs

    share = 0.25 if share is None else share
    return Costs(fn=round((1 - share) / share, 6), fp=1.0)


@dataclass(frozen=True, kw_only=True)
class Datasets:
    """What is printed."""

    as_json: bool = same_as(Results, "as_json")


@command("datasets", Datasets, examples={RESULTS: "flipcost datasets --json"})
def datasets_command(asked: Datasets) -> None:
    """List the bundled data with counts, source and licence."""
    from flipcost.datasets import list_datasets

    found = list_datasets()
    if asked.as_json:
        print_json(found)
        return
    heads = ["name", "rows", "features", "positive", "cost", "source", "licence"]
    keys = ["name", "rows", "features", "positives", "cost", "source", "licence"]
    rows = [["" if row[key] is None else str(row[key]) for key in keys] for row in found]
    print_table(heads, rows, right={1, 2, 3, 4})


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Which tables, and how."""

    tables: Sequence[str] = option((), "Tables; all if none.", TABLES, flag="", metavar="TABLE")
    trials: int = option(10, "Splits of each problem.", TABLES, min=1)
    jobs: int = option(1, "Processes; results do not depend on it.", TABLES, min=1)
    seed: int = option(0, "Seed of everything.", TABLES, min=0)
    list_tables: bool = option(False, "List the tables.", TABLES, flag="--list")
    out: Path = option(Path("reproduction"), "Folder for results and pages.", RESULTS)
    resume: bool = option(False, "Go on with that folder.", RESULTS)
    overwrite: bool = same_as(Results, "overwrite")
    as_json: bool = same_as(Results, "as_json")
    quiet: bool = option(False, "Show no progress.", RESULTS)


@command(
    "reproduce",
    Reproduce,
    examples={
        TABLES: "flipcost reproduce eta_syn2D_KLIEP_123 --trials 2",
        RESULTS: "flipcost reproduce --out reproduction --resume",
    },
)
def reproduce_command(asked: Reproduce) -> None:
    """Regenerate the paper's tables beside the printed ones."""
    from flipcost.paper.experiments import TABLES, reproduce

    if asked.list_tables:
        for table in TABLES.values():
            echo(f"{table.name:28}{table.title}")
        return
    try:
        found = reproduce(
            list(asked.tables) or None,
            trials=asked.trials,
            jobs=asked.jobs,
            seed=asked.seed,
            out=asked.out,
            resume=asked.resume,
            overwrite=asked.overwrite,
            progress=not (asked.quiet or asked.as_json),
        )
    except KeyboardInterrupt:
        echo(
            f"\nflipcost: interrupted; finished units are kept in {asked.out}, and --resume goes "
            "on with them.",
            err=True,
        )
        raise typer.Exit(2) from None
    agree, cells = found.agreement
    if asked.as_json:
        print_json({"agree": agree, "cells": cells, "summary": found.summary})
        return
    share = f" ({agree / cells:.0%})" if cells else ""
    echo(
        f"{agree} of {cells} printed cells that no erratum touches{share} lie within one standard "
        f"deviation of ours. Written in {found.seconds:.0f} s: {found.folder}/report.html, "
        "results.csv, summary.csv, tables.md"
    )
