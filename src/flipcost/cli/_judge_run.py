"""What `flipcost judge` does."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import typer

from flipcost.cli._echo import echo, readable_name
from flipcost.cli._output import check_folder, staged_folder
from flipcost.exceptions import FlipCostError, UserError, unknown_column
from flipcost.noise import JudgedRows, judge, judge_difference
from flipcost.recheck import RowToCheck, next_name, read_checked, rows_as_text, unused_batches
from flipcost.report.judge import JudgeFindings, judge_page, judge_sentences
from flipcost.tables.judged import CONFIDENCE, HUMAN, JUDGE, read_judged
from flipcost.tables.roles import read_labels, read_numbers, two_classes
from flipcost.words import on_screen

RESULTS = ("report.html", "summary.json")
_WIDTH = 100


def run_judge(
    *,
    data: Path,
    judge: str | None,
    human: str | None,
    positive: str | None,
    confidence: str | None,
    inclusion: str | None,
    compare: str | None,
    human2: str | None,
    checked: list[Path] | None,
    n: int,
    delimiter: str | None,
    encoding: str | None,
    out: Path,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Judge the judge as the options say, write the results, and print them."""
    if (compare is None) != (human2 is None):
        msg = "Give both --compare and --human2: the second system's columns."
        raise UserError(msg)
    inputs = [data, *(checked or ())]
    check_folder(out, RESULTS, overwrite=overwrite, inputs=inputs)
    table = read_judged(data, delimiter=delimiter, encoding=encoding)
    if data.suffix.lower() == ".json":
        judge, human = judge or JUDGE, human or HUMAN
        scored = CONFIDENCE in table.column_names and not table[CONFIDENCE].null_count
        confidence = confidence or (CONFIDENCE if scored else None)
    if judge is None or human is None:
        msg = "Give --judge and --human: the columns of the judge's labels and of human labels."
        raise UserError(msg)
    source = _Columns(table, readable_name(data))
    pairs = [(judge, human)] + ([(compare, human2)] if compare and human2 else [])
    texts = {name: source.labels(name) for pair in pairs for name in pair}
    for path in checked or ():
        _fill_in(texts[human], texts[judge], path)
    labels = two_classes(np.concatenate(list(texts.values())), f"{judge}, {human}", positive)
    try:
        first, *others = (
            _judged(texts[one], texts[two], source, confidence, inclusion, labels[1], (one, two))
            for one, two in pairs
        )
        gap = None
        if others:
            (a, b), (c, d) = pairs
            gap = judge_difference(texts[a], texts[c], texts[b], texts[d], pos_label=labels[1])
    except FlipCostError:
        raise
    except ValueError as error:
        raise UserError(str(error)) from error
    findings = JudgeFindings(
        source.name, labels, first, others[0] if others else None, gap, (judge, compare or "")
    )
    sentences = judge_sentences(findings)
    rows = first.next_rows(n).tolist()
    summary = _summary(findings, rows)
    name = None
    with staged_folder(out, RESULTS, overwrite=overwrite, inputs=inputs) as place:
        (place / "report.html").write_text(judge_page(findings, sentences), encoding="utf-8")
        text = json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False)
        (place / "summary.json").write_text(text + "\n", encoding="utf-8")
        if rows:
            own = {judge, human, confidence, inclusion, compare, human2}
            name = next_name(out, without=unused_batches(out, inputs) if overwrite else ()).name
            text = _rows_to_label(table, texts[judge], rows, own)
            (place / name).write_text(text, encoding="utf-8", newline="")
    if as_json:
        typer.echo(json.dumps(summary, indent=1, allow_nan=False))
    elif not quiet:
        _print(findings, sentences, (judge, human))
        if name:
            echo(
                f"Next: have a person fill in the {len(rows)} rows of {name}, and add "
                f"--checked {out}/{name}."
            )
        echo()
        echo(f"Report: {out}/report.html (also summary.json{f', {name}' if name else ''})")


def _print(findings: JudgeFindings, sentences: list[str], names: tuple[str, str]) -> None:
    found = findings.found
    echo(
        f'{findings.name}: {found.n_rows_:,} rows judged in "{names[0]}", '
        f'{int(found.confusion_.sum()):,} of them labelled by people in "{names[1]}".'
    )
    echo()
    for number, sentence in enumerate(sentences):
        for line in textwrap.wrap(on_screen(sentence), _WIDTH - 2):
            echo(line if number == 0 else f"  {line}")


def _fill_in(human: Any, labels: Any, path: Path) -> None:
    """Take what people answered in a file of rows to label."""
    for row in read_checked(path):
        if row.row is None or not 1 <= row.row <= len(human):
            msg = f"{row.where}: the table has no {row.name}."
            raise UserError(msg)
        if row.label != labels[row.row - 1]:
            msg = (
                f"{row.where}: {row.name} is {labels[row.row - 1]!r} to the judge, not "
                f"{row.label!r}; give the file that was made of this table."
            )
            raise UserError(msg)
        human[row.row - 1] = row.checked


def _rows_to_label(table: Any, labels: Any, rows: list[int], own: set[str | None]) -> str:
    names = [name for name in table.column_names if name not in own]
    cells = table.select(names).take(rows).to_pylist()
    chosen = [
        RowToCheck(
            row + 1,
            None,
            labels[row],
            None,
            "narrows the interval",
            cells={k: "" if v is None else str(v) for k, v in found.items()},
        )
        for row, found in zip(rows, cells, strict=True)
    ]
    return rows_as_text(chosen, names)


class _Columns:
    """Columns of a table, or one sentence about what is wrong with them."""

    def __init__(self, table: Any, name: str) -> None:
        self.table, self.name = table, name

    def column(self, name: str) -> Any:
        if name not in self.table.column_names:
            raise unknown_column(name, self.table.column_names, self.name)
        return self.table[name].combine_chunks()

    def labels(self, name: str) -> Any:
        return read_labels(self.column(name), name)

    def numbers(self, name: str, what: str, seen: Any) -> Any:
        """Return numbers, which only rows that are seen need to have."""
        column = self.column(name)
        values = np.full(len(column), np.nan)
        values[seen] = read_numbers(column.filter(seen), name, what=what)
        return values


def _judged(
    labels: Any,
    human: Any,
    source: _Columns,
    confidence: str | None,
    inclusion: str | None,
    positive: str,
    names: tuple[str, str],
) -> JudgedRows:
    seen = np.array([label is not None for label in human])
    silent = np.array([label is None for label in labels])
    if silent.any():
        both = int((silent & seen).sum())
        what = f"{both:,} of them with a human label" if both else "none with a human label"
        msg = (
            f"Column {names[0]!r} must have a label of the judge in every row; {silent.sum():,} "
            f"have none ({what}). Leave these rows out, or have them judged."
        )
        raise UserError(msg)
    if not seen.any():
        msg = (
            f"Column {names[1]!r} has no human label; have a person label some rows, drawn at "
            "random."
        )
        raise UserError(msg)
    everywhere = np.ones(len(seen), dtype=bool)
    sure = confidence and source.numbers(confidence, "the judge's confidence", everywhere)
    chance = inclusion and source.numbers(inclusion, "probabilities of choice", seen)
    return judge(
        labels,
        human,
        None if confidence is None else sure,
        None if inclusion is None else chance,
        pos_label=positive,
    )


def _summary(findings: JudgeFindings, rows: list[int]) -> dict[str, Any]:
    found = findings.found
    told: dict[str, Any] = {
        "name": findings.name,
        "positive": findings.labels[1],
        "level": found.level_,
        "share": asdict(found.share_),
        "judged_share": found.judged_share_,
        "miss_rate": asdict(found.miss_rate_),
        "false_alarm_rate": asdict(found.false_alarm_rate_),
        "human_labels": found.confusion_.tolist(),
        "next_rows": [row + 1 for row in rows],
    }
    if findings.other is not None and findings.difference is not None:
        told["second_share"] = asdict(findings.other.share_)
        told["difference"] = asdict(findings.difference)
    return told
