"""`flipcost judge`: the truth about rows that a judge labelled, from human labels of some."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flipcost._options import RESULTS, option, same_as
from flipcost.cli._options import Results, command
from flipcost.cli._output import check_folder, print_json, staged_folder, write_json
from flipcost.cli._terminal import WIDTH, echo, readable_name
from flipcost.exceptions import FlipCostError, UserError, unknown_column

if TYPE_CHECKING:
    from flipcost.noise import JudgedRows
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
    """Estimate the truth about rows that a judge labelled, from human labels of some of them.

    The judge may be a language model or a rule; no other columns are needed.
    """
    from flipcost.recheck import next_name, unused_batches
    from flipcost.report.judge import judge_page, judge_sentences
    from flipcost.tables.judged import CONFIDENCE, HUMAN, JUDGE, read_judged

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
    source = _Columns(table, readable_name(asked.data))
    pairs = [(judge, human)]
    if asked.compare and asked.human2:
        pairs.append((asked.compare, asked.human2))
    texts = {name: source.labels(name) for pair in pairs for name in pair}
    for path in asked.checked:
        _fill_in(texts[human], texts[judge], path)
    findings = _found(asked, source, texts, pairs, confidence)
    sentences = judge_sentences(findings)
    rows = findings.found.next_rows(asked.n).tolist()
    summary, name = _summary(findings, rows), None
    with staged_folder(out, _FILES, overwrite=asked.overwrite, inputs=inputs) as place:
        (place / "report.html").write_text(judge_page(findings, sentences), encoding="utf-8")
        write_json(place / "summary.json", summary)
        if rows:
            replaced = unused_batches(out, inputs) if asked.overwrite else ()
            name = next_name(out, without=replaced).name
            own = {judge, human, confidence, asked.inclusion, asked.compare, asked.human2}
            text = _rows_to_label(table, texts[judge], rows, own)
            (place / name).write_text(text, encoding="utf-8", newline="")
    if asked.as_json:
        print_json(summary)
    elif not asked.quiet:
        _print(findings, sentences, (judge, human))
        if name:
            echo(
                f"Next: have a person fill in the {len(rows)} rows of {name}, and add "
                f"--checked {out}/{name}."
            )
        echo()
        echo(f"Report: {out}/report.html (also summary.json{f', {name}' if name else ''})")


def _found(
    asked: Judge,
    source: _Columns,
    texts: dict[str, Any],
    pairs: list[tuple[str, str]],
    confidence: str | None,
) -> JudgeFindings:
    """Return what the labels of one judge say, or those of two, and the difference."""
    import numpy as np

    from flipcost.noise import judge_difference
    from flipcost.report.judge import JudgeFindings
    from flipcost.tables.roles import two_classes

    (judge, human), *second = pairs
    labels = two_classes(np.concatenate(list(texts.values())), f"{judge}, {human}", asked.positive)
    other = gap = None
    try:
        first = _judged(texts, pairs[0], source, confidence, asked.inclusion, labels[1])
        for pair in second:
            other = _judged(texts, pair, source, confidence, asked.inclusion, labels[1])
            ours, theirs = (texts[judge], texts[pair[0]]), (texts[human], texts[pair[1]])
            gap = judge_difference(*ours, *theirs, pos_label=labels[1])
    except FlipCostError:
        raise
    except ValueError as error:
        raise UserError(str(error)) from error
    return JudgeFindings(source.name, labels, first, other, gap, (judge, asked.compare or ""))


def _print(findings: JudgeFindings, sentences: list[str], names: tuple[str, str]) -> None:
    from flipcost.words import on_screen

    found = findings.found
    echo(
        f'{findings.name}: {found.n_rows_:,} rows judged in "{names[0]}", '
        f'{int(found.confusion_.sum()):,} of them labelled by people in "{names[1]}".'
    )
    echo()
    for number, sentence in enumerate(sentences):
        for line in textwrap.wrap(on_screen(sentence), WIDTH - 2):
            echo(line if number == 0 else f"  {line}")


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


def _rows_to_label(table: Any, labels: Any, rows: list[int], own: set[str | None]) -> str:
    from flipcost.recheck import RowToCheck, rows_as_text

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


@dataclass(frozen=True)
class _Columns:
    """Columns of a table, or one sentence about what is wrong with them."""

    table: Any
    name: str

    def column(self, name: str) -> Any:
        if name not in self.table.column_names:
            raise unknown_column(name, self.table.column_names, self.name)
        return self.table[name].combine_chunks()

    def labels(self, name: str) -> Any:
        from flipcost.tables.roles import read_labels

        return read_labels(self.column(name), name)

    def numbers(self, name: str | None, what: str, seen: Any) -> Any:
        """Return numbers, which only rows that are seen need to have; None without a column."""
        import numpy as np

        from flipcost.tables.roles import read_numbers

        if name is None:
            return None
        column = self.column(name)
        values = np.full(len(column), np.nan)
        values[seen] = read_numbers(column.filter(seen), name, what=what)
        return values


def _judged(
    texts: dict[str, Any],
    names: tuple[str, str],
    source: _Columns,
    confidence: str | None,
    inclusion: str | None,
    positive: str,
) -> JudgedRows:
    """Return what a judge's labels say, given human ones."""
    import numpy as np

    from flipcost.noise import judge

    labels, human = (texts[name] for name in names)
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
    sure = source.numbers(confidence, "the judge's confidence", np.ones(len(seen), dtype=bool))
    chance = source.numbers(inclusion, "probabilities of choice", seen)
    return judge(labels, human, sure, chance, pos_label=positive)


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
