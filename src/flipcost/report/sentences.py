"""Sentences and tables below the headline, which the screen, the report and notebooks share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flipcost.audit import price_words
from flipcost.core.checked_rows import furthest_apart
from flipcost.estimators.flipcost.result import SOURCES
from flipcost.estimators.flipcost.summary import models_phrase, scores_sentence
from flipcost.report.headline import measured_on, name_in_sentence, one_rate_given, scale_of
from flipcost.words import (
    CONSTANT_WORDS,
    break_even_sentence,
    capital,
    count,
    figure,
    label,
    percent,
    share_span,
    shares,
    span,
)

if TYPE_CHECKING:
    from flipcost.audit import Candidate, Findings, RangeFound
    from flipcost.recheck import Batch

_ERROR = {"fn": "a miss", "fp": "a false alarm", "tp": "a right flag", "tn": "a right pass"}
_DEFINED = (
    "Errors are random if every true positive is equally likely to be mislabelled, and every true "
    "negative. Otherwise they are systematic, and only checked rows can show that."
)
_COSTS = (
    "counted on rows that a model was not trained on, corrected for label errors and averaged over "
    "the possible error rates by their weight"
)
# Annotators that are named one by one.
_FEW_ANNOTATORS = 3
# How many of the likely errors the sentence about them counts.
_FIRST = 100


def title_sentence(result: Findings) -> str:
    """Say what was audited."""
    table = result.table
    share = percent(table.n_positive / table.n_rows)
    columns = count(len(table.schema), "column")
    rows = count(table.n_rows, "row")
    if result.labels.pooled is not None:
        n_labels = sum(worker.n_labels for worker in result.labels.pooled.workers)
        rows = f"{count(n_labels, 'label')} of {count(table.n_rows, 'item')}"
    said = f"{table.name}: {rows}, {columns}, {share} labelled {label(table.positive)}"
    truly, recorded = result.labels.errors.prevalence, table.n_positive / table.n_rows
    ends = () if truly is None else tuple(percent(x) for x in (truly.low, truly.high))
    if truly is not None and not result.labels.leaks and share not in ends:
        outside = not truly.low <= recorded <= truly.high
        said += f", truly about {share_span(truly)}" if outside else ""
    if table.n_effective and table.n_effective < 0.95 * table.n_evaluated:
        said += f"; effective sample size {table.n_effective:,.0f} (related rows)"
    if table.reading:
        said += f"; {table.reading}, models compared on {count(table.n_evaluated, 'row')}"
    return f"{said}."


def price_sentence(result: Findings) -> str:
    """Say what errors of the decision cost, and in what unit figures are."""
    units = f"Figures are costs per 1,000 rows, with {percent(result.level)} intervals."
    if result.priced.prices_are_assumed:
        return f"No costs were given: a miss and a false alarm cost 1 each (`fn`, `fp`). {units}"
    prices, means = result.priced.prices, result.priced.mean_prices
    fn, fp = (_price(*one) for one in zip((prices.fn, prices.fp), means, strict=True))
    own = "; each row is decided at its own costs" if prices.is_by_row else ""
    return f"A miss costs {fn}, a false alarm {fp}{own}. {units}"


def _price(price: object, mean: float) -> str:
    if isinstance(price, str):
        return f"the value of {label(price)} ({figure(mean)} on average)"
    return price_words(price)


def supposed(result: Findings) -> str:
    """Say what expected costs suppose, as the beginning of a sentence in small letters."""
    if result.labels.errors.is_given:
        return "at the rate you set" if one_rate_given(result) else "at the rates you set"
    if result.n_checked:
        return f"from {count(result.n_checked, 'checked row')}"
    if result.state in ("no_signal", "small"):
        return "by recorded labels"
    if measured_on(result):
        return "at the measured rates"
    return "if errors are random"


def candidate_table(
    result: Findings, *, recorded: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the comparison: the chosen model, then the others by cost."""
    scale, best = scale_of(result), result.best
    heads = [capital(supposed(result)), "expected cost", "saving"]
    recorded = recorded and supposed(result) != "by recorded labels"  # which the next column is
    if recorded:
        heads.insert(1, "recorded labels")
    if best.test is not None:
        heads.append("true cost" if result.labels.known_flips else "cost on test rows")
    rows = []
    for c in sorted(
        result.models.candidates, key=lambda c: (c is not best, c.cost_if_random.value)
    ):
        same = bool(np.all(c.flagged == best.flagged))
        saved = "same decisions" if same else span(c.saving_if_random, scale)
        row = [candidate_name(c, result), span(c.cost_if_random, scale), "" if c is best else saved]
        if recorded:
            row.insert(1, figure(scale * c.observed.value))
        if c.test is not None:
            row.append(figure(scale * c.test.value))
        rows.append(row)
    return heads, rows


def candidate_name(candidate: Candidate, result: Findings) -> str:
    """Return the name of a candidate, and that our model flags all or none where it does."""
    constant = result.models.chosen != "rule" and candidate.key == "flipcost"
    flags = {"all_positive": " (flags all)", "all_negative": " (flags none)"}
    return candidate.label + (flags[result.models.chosen] if constant else "")


def cost_sentence(result: Findings) -> str:
    """Say how the table of costs is read, and what systematic errors could make of it."""
    best = name_in_sentence(result.best)
    said = f"Saving: what {best} saves over the model in that row, on the same data."
    if supposed(result) != "if errors are random":
        return said
    worst = figure(scale_of(result) * result.best.clean.high)
    return f"{said} If some errors are systematic, {best} may cost up to {worst}."


def errors_sentences(result: Findings) -> list[str]:
    """Say how many labels of each class are wrong, and how that is known."""
    if result.labels.errors.is_given or result.state in ("no_signal", "small"):
        return []
    names = {"positives": label(result.table.positive), "negatives": label(result.table.negative)}
    by_class = zip(result.labels.errors.rates, names.values(), strict=True)
    first = " and ".join(f"{share_span(rate)} of true {name} rows" for rate, name in by_class)
    said = [capital(f"{first} are mislabelled.")]
    truly = result.labels.errors.prevalence
    if truly is not None:
        said[0] += f" About {share_span(truly)} of all rows are truly {names['positives']}."
    apart = furthest_apart(result.labels.noise_by_score) if result.n_checked else None
    if apart is not None:
        side, *bands = apart
        hard, easy = (
            f"{shares(getattr(part, side).low, getattr(part, side).high)} where the model gives "
            f"{shares(part.low, part.high)}"
            for part in bands
        )
        said.append(f"Errors are systematic: among true {names[side]} rows, {hard}, and {easy}.")
    else:
        said.append(break_even(result))
    if not result.n_checked:
        high = [percent(float(x)) for x in np.ravel(result.labels.noise_bounds.high)]
        most = f"these shares are at most {high[0]} and {high[1]}, whatever the error model"
        said[1:1] = [f"If errors are random, {most}."]
        said.append(_DEFINED)
    return [text for text in said if text]


def break_even(result: Findings) -> str:
    """Say how many systematic errors it takes to change the decision; else nothing."""
    unknown = result.labels.errors.is_given or result.state in ("no_signal", "small")
    left = result.table.n_rows - result.n_checked
    if unknown or result.labels.leaks or result.best.key != "flipcost" or not left:
        return ""
    names = (label(result.table.negative), label(result.table.positive))
    return break_even_sentence(result.labels.break_even, result.models.chosen, names, left)


def rate_words(result: Findings) -> str:
    """Say where the error rate comes from: given, or averaged over models of the errors."""
    source, names = result.labels.noise_source, (result.table.negative, result.table.positive)
    shown = models_phrase(result.labels.noise_models, *map(label, names))
    if not shown or result.labels.errors.is_given:
        return source
    evidence = "" if source == SOURCES["integrate"] else f" ({source})"
    return f"averaged over these models of the errors, by posterior weight: {shown}{evidence}"


def annotators_table(result: Findings) -> tuple[list[str], list[list[str]]]:
    """Return how often each annotator errs, those with fewest errors first; no rows for one."""
    pooled, table = result.labels.pooled, result.table
    heads = ["annotator", "labels", f"misses of true {label(table.positive)} rows"]
    heads.append(f"false alarms on true {label(table.negative)} rows")
    found = [] if pooled is None else pooled.workers
    return heads, [
        [str(w.worker), f"{w.n_labels:,}", share_span(w.miss_rate), share_span(w.false_alarm_rate)]
        for w in sorted(found, key=lambda w: w.miss_rate.value + w.false_alarm_rate.value)
    ]


def annotators_sentence(result: Findings) -> str:
    """Say how often annotators err: all of a few, of others the best one and the worst."""
    rows = annotators_table(result)[1]
    if not rows:
        return ""
    few = len(rows) <= _FEW_ANNOTATORS
    shown = [("", row) for row in rows] if few else [("best ", rows[0]), ("worst ", rows[-1])]
    said = "; ".join(
        f"{which}{label(name)} misses {missed} of true {label(result.table.positive)} rows, with "
        f"{wrong} false alarms"
        for which, (name, _, missed, wrong) in shown
    )
    return f"{count(len(rows), 'annotator')}: {said}."


def suspects_sentence(result: Findings) -> str:
    """Say how many of the likeliest errors are expected to be errors."""
    if result.state in ("no_signal", "small"):
        return ""
    if result.n_checked >= result.table.n_rows:
        return "All rows are checked."
    n = min(_FIRST, len(result.labels.suspects))
    if not n:
        return "No likely errors found."
    expected = round(sum(one.wrong for one in result.labels.suspects[:n]))
    known = result.labels.known_flips
    truth = f" ({known['wrong_in_first_100']} are really wrong)" if known and n == _FIRST else ""
    if n == 1:
        return "One likely error found."
    among = f"top {n}" if n == _FIRST else f"{n} listed"
    return f"Likely errors: {expected} expected among the {among}{truth}."


def truth_sentence(result: Findings) -> str:
    """Say what is known to be true of an example; else nothing."""
    if result.labels.known_flips is None:
        return ""
    wrong = percent(result.labels.known_flips["wrong_labels"] / result.table.n_rows)
    said = f"The truth, known in this demo: {wrong} of the labels are wrong"
    plain = next((c for c in result.models.candidates if c.key == "logistic"), None)
    best = result.best
    if plain is None or plain is best or plain.test is None or best.test is None:
        return f"{said}."
    less = 1 - best.test.value / plain.test.value if plain.test.value else 0.0
    word = "less" if less >= 0 else "more"
    return f"{said}; {name_in_sentence(best)} costs {percent(abs(less))} {word} than {plain.label}."


def next_sentence(batch: Batch | None, cost_check: float | None = None) -> str:
    """Say what the next rows to check are for, and whether they are worth their price.

    Examples
    --------
    >>> from flipcost.core.confusion import Interval
    >>> from flipcost.recheck import Batch
    >>> batch = Batch([None] * 50, (), Interval(0.002, 0.0, 0.004), 3000, 100)
    >>> next_sentence(batch)
    '50 more rows to check, drawn to narrow the range of the error rate.'
    >>> print(next_sentence(batch, 0.5))
    50 checks cost 25 and are expected to save about 6 on the 3,000 rows of this table. They pay
    only if the model will decide about more than 12,000 rows.
    """
    if batch is None:
        return "All rows are checked."
    n, more = len(batch.rows), "more " if batch.n_checked else ""
    if cost_check is None:
        return f"{count(n, f'{more}row')} to check, drawn to narrow the range of the error rate."
    saved, price = batch.saving.value * batch.n_rows, n * cost_check
    if not batch.n_checked and price <= batch.saving.high * batch.n_rows:
        return (
            f"{count(n, 'check costs', 'checks cost')} {figure(price)} and narrow the error rate; "
            "what they save is known only afterwards."
        )
    said = (
        f"{count(n, 'check costs', 'checks cost')} {figure(price)} and "
        f"{'is' if n == 1 else 'are'} expected to save about {figure(saved)} on the "
        f"{count(batch.n_rows, 'row')} of this table."
    )
    if saved >= price:
        return f"{said} They pay."
    if batch.saving.value <= 0:
        return f"{said} They do not pay."
    enough = figure(price / batch.saving.value)
    return f"{said} They pay only if the model will decide about more than {enough} rows."


def checks_sentence(result: Findings) -> str:
    """Say what the rows to check next are for; nothing where other steps come first."""
    if result.state in ("no_signal", "small"):
        return ""
    return next_sentence(result.recheck.batch, result.recheck.cost_check)


def history_table(result: Findings) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the checking progress; no rows before anything was checked."""
    heads = ["rows checked", "error rate", "expected cost"]
    rows = [
        [f"{p.n_checked:,}", shares(p.wrong_share.low, p.wrong_share.high), span(p.cost, 1000)]
        for p in result.recheck.history
    ]
    return heads, rows if len(rows) > 1 else []


def history_sentence(result: Findings) -> str:
    """Say how checks have narrowed the error rate; nothing before anything was checked."""
    rows = history_table(result)[1]
    steps = ", ".join(f"{rate} after {n}" if n != "0" else f"{rate} before" for n, rate, _ in rows)
    return f"Error rate by rows checked: {steps}." if steps else ""


def decision_answers(result: Findings) -> list[tuple[str, str]]:
    """Return the user's own questions, with their answers."""
    found, said = result.models.decisions, []
    if found.capacity is not None:
        said.append((f"What if you can flag only {found.capacity}?", _flagged_sentence(result)))
    for one in found.ranges:
        question = f"What if {_ERROR[one.name]} costs {one.low:.4g} to {one.high:.4g}?"
        said.append((question, _range_sentence(one, result)))
    if found.segments:
        question = f"Which {label(found.by)} has the most label errors?"
        said.append((question, _segments_sentence(result)))
    return said


def _flagged_sentence(result: Findings) -> str:
    flagged = result.models.decisions.flagged
    positive, (first, *more) = label(result.table.positive), flagged
    if not any(one.n_flagged for one in flagged):
        return "No row is worth flagging."
    if not more and first.group is None:
        return capital(
            f"{supposed(result)}, the {count(first.n_flagged, 'row')} that save most hold "
            f"{share_span(first.recall)} of true {positive} rows, with precision "
            f"{share_span(first.precision)}; flagging them saves "
            f"{span(first.profit, 1000 / first.n_rows)}."
        )
    shown = [f"in {label(one.group)} {share_span(one.recall)}" for one in flagged]
    return capital(
        f"{supposed(result)}, the rows that save most hold these shares of true {positive} rows: "
        f"{', '.join(shown)}."
    )


def capacity_table(result: Findings) -> tuple[list[str], list[list[str]]]:
    """Return a table of what flagging within the capacity of each group finds and saves."""
    found = result.models.decisions
    if found.capacity is None or found.flagged[0].group is None:
        return [], []
    heads = ["group", "flagged", "recall", "precision", "saving per 1,000 rows"]
    rows = [
        [
            str(one.group),
            f"{one.n_flagged:,}",
            share_span(one.recall),
            share_span(one.precision),
            span(one.profit, 1000 / one.n_rows),
        ]
        for one in found.flagged
    ]
    return heads, rows


def _range_sentence(found: RangeFound, result: Findings) -> str:
    scale, error = scale_of(result), _ERROR[found.name]
    low, middle, high = (figure(scale * cost.value) for cost in found.cost)
    said = (
        f"Deciding at the middle, {found.middle:.4g}, costs {middle} per 1,000 rows: {low} if "
        f"{error} costs {found.low:.4g}, {high} if it costs {found.high:.4g}. Knowing the exact "
        f"cost would save at most {figure(scale * max(one.value for one in found.regret))} and "
        f"change at most {percent(max(found.changes))} of decisions."
    )
    for first, last, answer in found.turns:
        constant = CONSTANT_WORDS.get(answer)
        what = f"flag {constant} row" if constant else "use the model"
        near = f"{first:.3g}" if first == last else f"{first:.3g} to {last:.3g}"
        said += f" Above about {near}, {what}."
    return said


def _segments_sentence(result: Findings) -> str:
    found = result.models.decisions
    if result.state == "no_signal":
        return "Cannot be estimated: no column predicts the label."
    worst = max(found.segments, key=lambda s: s.chance_worst)
    sure = worst.chance_worst >= 0.5
    shown = worst if sure else found.segments[0]
    wrong, chance = share_span(shown.wrong_share), percent(shown.chance_worst)
    said = f"{label(shown.name)} has {wrong}; it is the worst with probability {chance}."
    said = said if sure else f"none stands out: {said}"
    return capital(f"{supposed(result)}, {said}")


def segment_table(result: Findings) -> tuple[list[str], list[list[str]]]:
    """Return a table of the segments, those with most label errors first."""
    found = result.models.decisions
    if not found.segments:
        return [], []
    heads = [str(found.by), "rows", "error rate", "expected cost", "precision", "recall"]
    rows = [
        [
            s.name,
            f"{s.n_rows:,.0f}",
            share_span(s.wrong_share),
            span(s.cost, 1000),
            share_span(s.precision),
            share_span(s.recall),
        ]
        for s in found.segments
    ]
    if result.state == "no_signal":  # error rates are unknown; the rest is by recorded labels
        return [*heads[:2], *heads[3:]], [[*row[:2], *row[3:]] for row in rows]
    return heads, rows


def method_words(result: Findings) -> list[tuple[str, str]]:
    """Return how it was found, term by term."""
    choice = (
        "the flipcost model, unless another one is clearly cheaper on the same rows (the "
        f"{percent(result.level)} interval of the difference lies above 0)"
    )
    table, parts = result.table, result.models.scores
    pooled = "" if result.labels.pooled is None else "those of annotators, pooled as "
    scores = [] if parts is None else [("Scores", scores_sentence(parts, result.n_checked))]
    return [
        (
            "Labels",
            f"{pooled}column {label(table.target)}; {label(table.positive)} is positive",
        ),
        ("Error rate", rate_words(result)),
        *scores,
        ("Costs", _COSTS),
        ("Choice", choice),
        ("Seed", str(result.seed)),
    ]
