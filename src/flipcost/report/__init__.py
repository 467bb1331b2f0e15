"""The report of an audit: one HTML file, with nothing to fetch and nothing to install."""

from flipcost.report._headline import (
    Headline,
    headline,
    name_in_sentence,
    rival_of,
    scale_of,
)
from flipcost.report._render import render_markdown, render_report, render_snippet
from flipcost.report._sentences import (
    annotators_sentence,
    break_even,
    candidate_table,
    decision_answers,
    next_sentence,
    price_sentence,
    segment_table,
    suspects_sentence,
    title_sentence,
    truth_sentence,
    way_sentence,
    way_table,
)

__all__ = [
    "Headline",
    "annotators_sentence",
    "break_even",
    "candidate_table",
    "decision_answers",
    "headline",
    "name_in_sentence",
    "next_sentence",
    "price_sentence",
    "render_markdown",
    "render_report",
    "render_snippet",
    "rival_of",
    "scale_of",
    "segment_table",
    "suspects_sentence",
    "title_sentence",
    "truth_sentence",
    "way_sentence",
    "way_table",
]
