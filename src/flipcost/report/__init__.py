"""The report of an audit: one HTML file, with nothing to fetch and nothing to install."""

from flipcost.report._decisions import segment_table
from flipcost.report._notebook import render_markdown, render_snippet
from flipcost.report._recheck import next_sentence, way_table, worth_of_checks
from flipcost.report._render import render_report
from flipcost.report._state import headline
from flipcost.report._words import (
    answers,
    candidate_table,
    columns_words,
    found_words,
    reading_words,
)

__all__ = [
    "answers",
    "candidate_table",
    "columns_words",
    "found_words",
    "headline",
    "next_sentence",
    "reading_words",
    "render_markdown",
    "render_report",
    "render_snippet",
    "segment_table",
    "way_table",
    "worth_of_checks",
]
