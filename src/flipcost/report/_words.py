"""Sentences that the screen and the report share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flipcost.audit import price_words
from flipcost.estimators.flipcost.options import SOURCES
from flipcost.estimators.flipcost.summary import percent
from flipcost.report._decisions import decision_answers
from flipcost.report._numbers import amounts, money, saving_words, scale_of, span
from flipcost.report._state import (
    assumed_sentence,
    checks_pay,
    rate_sentence,
    rows_to_check,
    supposed,
    wrong_rows,
)

if TYPE_CHECKING:
    from flipcost.audit import AuditResult


def candidate_table(result: AuditResult) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the comparison, in the user's prices for 1,000 rows.

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
    >>> y = rng.random(200) < 0.5
    >>> result = audit(pa.table({"age": rng.normal(size=200) + y, "ill": y}), "ill", 0.2)
    >>> heads, rows = candidate_table(result)
    >>> [row[0] for row in rows][:3]
    ['flipcost', 'ignoring the noise', 'logistic regression']
    """
    scale = scale_of(result)
    best = result.best
    heads = ["per 1,000 rows", "as labelled", "on clean labels", f"{best.label} saves"]
    # Where nothing can be said of mistakes there is but one cost.
    one_cost = supposed(result).startswith("by")
    if one_cost:
        heads.remove("on clean labels")
    if best.test is not None:
        heads.append("on the true labels" if result.known_flips else "on the test rows")
    rows = []
    for c in result.candidates:
        row = [c.label, span(c.likely, scale)]
        if not one_cost:
            row.insert(1, amounts(scale * c.observed.value, 1000)[0])
        same = bool(np.all(c.called == best.called))
        row.append("" if c is best else "the same" if same else span(c.saving_likely, scale))
        if c.test is not None:
            row.append(span(c.test, scale))
        rows.append(row)
    return heads, rows


def answers(result: AuditResult) -> list[tuple[str, str]]:
    """Return the four questions with their answers.

    Parameters
    ----------
    result : AuditResult
        What the audit found.

    Returns
    -------
    list of tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from flipcost.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(200) < 0.5
    >>> result = audit(pa.table({"age": rng.normal(size=200) + y, "ill": y}), "ill", 0.2)
    >>> [question for question, answer in answers(result)][0]
    'How noisy are the labels?'
    """
    return [
        ("How noisy are the labels?", rate_sentence(result)),
        ("What do mistakes cost?", f"{price_sentence(result)} {cost_sentence(result)}"),
        ("Which labels look wrong?", suspects_sentence(result)),
        ("What would help most?", help_sentence(result)),
        *decision_answers(result),
    ]


def columns_words(result: AuditResult) -> str:
    """Say how many columns were learned from.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> [columns_words(SimpleNamespace(schema=range(n))) for n in (1, 2)]
    ['1 column', '2 columns']
    """
    n = len(result.schema)
    return f"{n:,} column{'' if n == 1 else 's'}"


def reading_words(result: AuditResult) -> str:
    """Say what rows count for, and how a table was read that was not held; else nothing.

    Parameters
    ----------
    result : AuditResult
        What the audit found.

    Returns
    -------
    str

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> reading_words(SimpleNamespace(reading="read in two passes", n_judged=40_000))
    '; read in two passes, candidates compared on 40,000 rows that stand for all'
    """
    counted = getattr(result, "n_effective", 0.0)
    tied = counted and counted < 0.95 * result.n_rows
    words = f"; they depend on each other and count for {counted:,.0f}" if tied else ""
    if not result.reading:
        return words
    return (
        words
        + f"; {result.reading}, candidates compared on {result.n_judged:,} rows that stand for all"
    )


def found_words(result: AuditResult) -> list[tuple[str, str]]:
    """Return how it was found, term by term: what a reader of the answers need not know.

    Parameters
    ----------
    result : AuditResult
        What the audit found.

    Returns
    -------
    list of tuple of str

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from flipcost.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(200) < 0.5
    >>> result = audit(pa.table({"age": rng.normal(size=200) + y, "ill": y}), "ill", 0.2)
    >>> [term for term, text in found_words(result)]
    ['Noise rate', 'Noise models', 'Costs', 'Choice', 'Seed']
    """
    costs = (
        "counted on rows that a model was not trained on (out of fold), then denoised: the flips "
        "are inverted on the counts, at every rate that is possible, by its weight"
    )
    choice = (
        "the flipcost model, unless another candidate is clearly cheaper on the same rows: the "
        f"{percent(result.level)} interval of the difference lies above nothing"
    )
    return [
        ("Noise rate", result.noise_source),
        ("Noise models", assumed_sentence(result)),
        ("Costs", costs),
        ("Choice", choice),
        ("Seed", str(result.seed)),
    ]


def price_sentence(result: AuditResult) -> str:
    """Say what mistakes cost, and how to set that where nothing was given."""
    if result.prices_are_assumed:
        return (
            f"No prices were given, so that a missed {result.positive!r} and a false alarm are "
            "taken to cost 1 each; set yours by `fn` and `fp`."
        )
    fn, fp = (price_words(price) for price in (result.prices.fn, result.prices.fp))
    said = f"A missed {result.positive!r} costs {fn}, a false alarm {fp}"
    if not result.prices.is_by_row:
        return f"{said}."
    means = " and ".join(amounts(*result.mean_prices))
    return f"{said}: {means} on average, and each row is decided at its own prices."


def cost_sentence(result: AuditResult) -> str:
    """Say what is chosen, and whether that is sure."""
    said = []
    best, scale = result.best, scale_of(result)
    rivals = [c for c in result.candidates[1:] if np.any(c.called != best.called)]
    if result.chosen != "rule" and best.key == "flipcost":
        label = result.positive if result.chosen == "all_positive" else result.negative
        said.append(f"No rule beats calling every row {label!r}, so that is what is chosen.")
    elif rivals:
        rival = min(rivals, key=lambda c: c.likely.value)
        compared = saving_words(rival.saving_likely, scale, rival.label)
        name = "The flipcost model" if best.key == "flipcost" else best.label.capitalize()
        said.append(f"{name} {compared}, the best of the others.")
    if supposed(result).startswith("if"):
        said.append(
            f"Intervals hold {supposed(result)}. No table can rule out mistakes that do, such as "
            "one kind of row that is always labelled wrong: the worst that these labels allow "
            f"would make it {amounts(scale * best.clean.high)[0]}. A few checked rows settle that."
        )
    elif supposed(result):
        said.append(
            f"All this is counted {supposed(result)}: of mistakes in them nothing can be said."
        )
    return " ".join(said)


def suspects_sentence(result: AuditResult) -> str:
    """Say how many labels are expected to be wrong, and where to look first."""
    if result.state == "no_signal":
        return "Nobody can tell: the columns say nothing about the labels."
    if not result.suspects:
        return "None stands out." if not result.rate_is_known else "None: the noise rate is zero."
    first = result.suspects[0]
    where = f"row {first.row}" if first.id is None else f"row {first.id!r}"
    listed = min(100, len(result.suspects))
    found = result.information.wrong_in_first_100
    if result.state in ("clean", "small"):
        text = f"{len(result.suspects):,} of {result.n_rows:,} stand out."
    else:
        text = (
            f"{wrong_rows(result)} of {result.n_rows:,}; of the {listed} most suspicious about "
            f"{min(found, listed):.0f}."
        )
    text += f" First {where}, labelled {first.label!r}, wrong with probability {first.wrong:.2f}"
    text += f" ({first.evidence})." if first.evidence else "."
    if result.known_flips:
        known = result.known_flips
        text += (
            f" In truth {known['wrong_labels']} are wrong, {known['wrong_in_first_100']} of them "
            "among the first 100."
        )
    return text


def help_sentence(result: AuditResult) -> str:
    """Say what would help most: never more rows than there are."""
    facts = result.information
    if result.rate_is_known:
        return (
            "The rate was given and taken as exact. If it is a guess, check it: "
            f"{facts.second_labels:,} rows labelled a second time pin it to "
            f"±{facts.precision:g}, or {facts.trusted_labels:,} checked by an expert."
        )
    if result.state == "no_signal":
        return "Other columns: these cannot tell the two labels apart."
    if result.state == "small":
        return "More labelled rows, of the rarer label above all."
    checks = facts.checks
    if checks is None or not rows_to_check(result):
        return "Other columns, or more rows: all rows were checked."
    scale, more = scale_of(result), "more " if result.n_checked else ""
    cost = money(scale * result.best.likely.value)
    saved = [money(scale * found.value) for found in (checks.picked, checks.random)]
    compared = (
        f"Checking {checks.n_rows:,} {more}rows where decisions turn is expected to save "
        f"{saved[0]} per 1,000 rows of the {cost} that they cost; {checks.n_rows:,} rows at random "
        f"would save {saved[1]}"
    )
    if result.suspects:
        compared += (
            f", the {checks.n_rows:,} most suspicious {money(scale * checks.suspects.value)}"
        )
    if result.state == "clean":
        return f"{compared}. Only they rule out mistakes that follow the columns."
    if not checks_pay(result):
        first = "mending the suspicious labels, " if result.suspects else ""
        return f"{compared}. That is little: {first}other columns, or more rows, help more."
    nothing_told = result.noise_source == SOURCES["integrate"] and not result.n_checked
    if result.state == "undecided" and nothing_told:
        return (
            f"{compared}. Their right labels (`checked`, `trusted`) tell what the table cannot, "
            f"and so does the true share of {result.positive!r}, if it is known (`prevalence`)."
        )
    return (
        f"{compared}. Their right labels, given back as `checked` or in a column of `trusted` "
        "labels, tell what the table cannot."
    )
