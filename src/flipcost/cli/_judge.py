"""`flipcost judge`: the truth about rows that a judge labelled, from human labels of some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flipcost._options import RESULTS, option, same_as
from flipcost._staging import check_folder, staged_folder
from flipcost.cli._command import Results, command
from flipcost.cli._terminal import as_json, echo, print_json, readable_name, say
from flipcost.exceptions import UserError, unknown_column

if TYPE_CHECKING:
    from flipcost.recheck import RowToCheck
    from flipcost.report.judge import JudgeFindings

LABELS, CHOICE, COMPARE = "Labels", "How rows were chosen", "Comparison"
_FILES = ("report.html", "summary.json")


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Where labels are, how rows were chosen, and where results go."""

    data: Path = option(
        ...,
        "Table (CSV, Parquet), or JSON results of Label Studio or promptfoo.",
        LABELS,
        flag="",
    )
    judge: str | None = option(
        None, "Column of the judge's labels; in JSON results 'judge'.", LABELS
    )
    human: str | None = option(
        None, "Column of human labels, empty elsewhere; in JSON results 'human'.", LABELS
    )
    positive: str | None = option(None, "The positive label.", LABELS)
    checked: Sequence[Path] = option(
        (), "File of rows that a person labelled since; may be repeated.", LABELS
    )
    delimiter: str | None = option(None, "Field delimiter; detected by default.", LABELS)
    encoding: str | None = option(None, "Encoding of text; UTF-8 by default.", LABELS)
    confidence: str | None = option(None, "Column of the judge's confidence.", CHOICE)
    inclusion: str | None = option(
        None, "Column of the probability with which a row was chosen for a person.", CHOICE
    )
    compare: str | None = option(None, "Column of the judge's labels of a second system.", COMPARE)
    human2: str | None = option(None, "Column of human labels of that system.", COMPARE)
    n: int = option(50, "Rows to label next.", RESULTS, min=0)
    out: Path = option(Path("flipcost-judge"), "Folder to write to.", RESULTS)
    overwrite: bool = same_as(Results, "overwrite")
    as_json: bool = same_as(Results, "as_json")
    quiet: bool = same_as(Results, "quiet")


@command(
    "judge",
    Judge,
    examples={
        LABELS: "flipcost judge answers.csv --judge model --human me",
        CHOICE: "flipcost judge answers.csv --judge model --human me --confidence p",
        COMPARE: "flipcost judge ab.csv --judge ja --human ha --compare jb --human2 hb",
        RESULTS: "flipcost judge answers.csv --judge model --human me --out judged",
    },
)
def judge_command(asked: Judge) -> None:
    """Correct a judge's labels with human labels of some rows.

    The judge may be a language model or a rule; no other columns are needed.
    """
    import numpy as np

    from flipcost.noise import judge as fc_judge
    from flipcost.noise import judge_difference
    from flipcost.recheck import unused_batches, write_batch
    from flipcost.report.judge import JudgeFindings, judge_page, judge_sentences
    from flipcost.tables.judged import CONFIDENCE, HUMAN, JUDGE, read_judged
    from flipcost.tables.roles import read_labels, two_classes

    judge, human, confidence, out = asked.judge, asked.human, asked.confidence, asked.out
    if (asked.compare is None) != (asked.human2 is None):
        msg = "Give both --compare and --human2: the second system's columns."
        raise UserError(msg)
    inputs = [asked.data, *asked.checked]
    check_folder(out, _FILES, overwrite=asked.overwrite, inputs=inputs)
    table = read_judged(asked.data, delimiter=asked.delimiter, encoding=asked.encoding)
    if asked.data.suffix.lower() == ".json":
        judge, human = judge or JUDGE, human or HUMAN
        scored = CONFIDENCE in table.column_names and not table[CONFIDENCE].null_count
        confidence = confidence or (CONFIDENCE if scored else None)
    if judge is None or human is None:
        msg = "Give --judge and --human: the columns of the judge's labels and of human labels."
        raise UserError(msg)
    systems = [(judge, human)]
    if asked.compare and asked.human2:
        systems.append((asked.compare, asked.human2))
    name = readable_name(asked.data)
    texts = {
        column: read_labels(_column(table, column, name), column)
        for system in systems
        for column in system
    }
    for path in asked.checked:
        _fill_in(texts[human], texts[judge], path)
    labels = two_classes(np.concatenate(list(texts.values())), f"{judge}, {human}", asked.positive)
    found, other, difference = [], None, None
    for system in systems:
        said, right = (texts[column] for column in system)
        seen = _seen(said, right, system)
        sure = _numbers(table, confidence, name, "the judge's confidence", np.ones(len(seen), bool))
        chance = _numbers(table, asked.inclusion, name, "probabilities of choice", seen)
        found.append(fc_judge(said, right, sure, chance, pos_label=labels[1]))
    if systems[1:]:
        other = found[1]
        columns = zip(*systems, strict=True)  # of the judge, then of people
        pairs: Any = [texts[column] for pair in columns for column in pair]
        difference = judge_difference(*pairs, pos_label=labels[1])
    both = (judge, asked.compare or "")
    findings = JudgeFindings(name, labels, found[0], other, difference, both)
    sentences = judge_sentences(findings)
    rows = found[0].next_rows(asked.n).tolist()
    summary, batch = _summary(findings, rows), None
    with staged_folder(out, _FILES, overwrite=asked.overwrite, inputs=inputs) as place:
        (place / "report.html").write_text(judge_page(findings, sentences), encoding="utf-8")
        (place / "summary.json").write_text(as_json(summary), encoding="utf-8")
        if rows:
            replaced = unused_batches(out, inputs) if asked.overwrite else ()
            own = {judge, human, confidence, asked.inclusion, asked.compare, asked.human2}
            names = [column for column in table.column_names if column not in own]
            chosen = _rows_to_label(table.take(rows), names, texts[judge], rows)
            batch = write_batch(place, out, chosen, names, replaced)
    if asked.as_json:
        print_json(summary)
    elif not asked.quiet:
        _print(findings, sentences, human, len(rows), None if batch is None else out / batch)
        echo()
        echo(f"Report: {out}/report.html (also summary.json{f', {batch}' if batch else ''})")


def _print(
    findings: JudgeFindings, sentences: list[str], human: str, n_next: int, batch: Path | None
) -> None:
    from flipcost.words import label

    found = findings.found
    say(
        f"{findings.name}: {found.n_rows_:,} rows judged in {label(findings.systems[0])}, "
        f"{int(found.confusion_.sum()):,} of them labelled by people in {label(human)}."
    )
    echo()
    for number, sentence in enumerate(sentences):
        say(f"{'  ' if number else ''}{sentence}")
    if batch is not None:
        say(
            f"Next: have a person fill in the {n_next} rows of {batch.name}, then rerun with "
            f"--checked {batch}."
        )


def _column(table: Any, column: str, name: str) -> Any:
    if column not in table.column_names:
        raise unknown_column(column, table.column_names, name)
    return table[column].combine_chunks()


def _numbers(table: Any, column: str | None, name: str, what: str, seen: Any) -> Any:
    """Return numbers, which only rows that are seen need to have; None without a column."""
    import numpy as np

    from flipcost.tables.roles import read_numbers

    if column is None:
        return None
    values = np.full(len(seen), np.nan)
    values[seen] = read_numbers(_column(table, column, name).filter(seen), column, what=what)
    return values


def _seen(labels: Any, human: Any, system: tuple[str, str]) -> Any:
    """Return which rows have a human label; the judge must have one in every row."""
    import numpy as np

    seen = np.array([label is not None for label in human])
    silent = np.array([label is None for label in labels])
    if silent.any():
        both = int((silent & seen).sum())
        what = f"{both:,} of them with a human label" if both else "none with a human label"
        msg = (
            f"Column {system[0]!r} must have a label of the judge in every row; {silent.sum():,} "
            f"have none ({what}). Leave these rows out, or have them judged."
        )
        raise UserError(msg)
    if not seen.any():
        msg = (
            f"Column {system[1]!r} has no human label; have a person label some rows, drawn at "
            "random."
        )
        raise UserError(msg)
    return seen


def _fill_in(human: Any, labels: Any, path: Path) -> None:
    """Take what people answered in a file of rows to label."""
    from flipcost.recheck import read_checked

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


def _rows_to_label(table: Any, names: list[str], labels: Any, rows: list[int]) -> list[RowToCheck]:
    from flipcost.recheck import RowToCheck

    return [
        RowToCheck(
            row + 1,
            None,
            labels[row],
            None,
            "narrows the interval",
            cells={name: "" if found[name] is None else str(found[name]) for name in names},
        )
        for row, found in zip(rows, table.to_pylist(), strict=True)
    ]


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
