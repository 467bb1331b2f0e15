"""Prices written as arithmetic: what is computed, and what cannot be written."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flipcost.core.costs import parse_expression

COLUMNS = {"a": np.array([1.0, -2.0, 3.5]), "b c": np.array([4.0, 5.0, 6.0])}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.8*a+12", 0.8 * COLUMNS["a"] + 12),
        ("-(a - 2) / 4", -(COLUMNS["a"] - 2) / 4),
        ("2 - 3 - a", -1 - COLUMNS["a"]),
        ("max(0, a, 1) * `b c`", np.maximum(COLUMNS["a"], 1) * COLUMNS["b c"]),
        ("abs(a) + min(a, 1e0)", np.abs(COLUMNS["a"]) + np.minimum(COLUMNS["a"], 1)),
        (" .5 ", np.array(0.5)),
        ("--a", COLUMNS["a"]),
    ],
)
def test_arithmetic_by_hand(text, value):
    """Signs, order of operations, brackets, functions and quoted columns mean what they say."""
    np.testing.assert_allclose(parse_expression(text).evaluate(COLUMNS.__getitem__), value)


numbers = st.floats(0.1, 1e3).map(lambda x: f"{x!r}")
sums = st.recursive(
    numbers | st.just("a"),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({''.join(t)})"),
    max_leaves=12,
)


@given(sums)
def test_arithmetic_agrees_with_python(text):
    """Any arithmetic of numbers and a column gives what Python gives."""
    a = 3.7
    try:
        expected = eval(text, {"__builtins__": {}}, {"a": a})
    except (ZeroDivisionError, OverflowError):
        return
    found = float(parse_expression(text).evaluate(lambda _: np.array(a)))
    assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    "text",
    [
        "", "a +", "a b", "(a", "a)", "a ** 2", "a; b", "a.b", "a[0]", "f(a)", "max()", "abs(a, a)",
        "__import__('os').system('true')", "lambda: 1", "a if a else 1", "`a", "1e9999",
        "(" * 60 + "a" + ")" * 60, "a+" * 600 + "a",
    ],
)  # fmt: skip
def test_what_is_no_arithmetic_is_refused(text):
    """Whatever is no arithmetic of columns is refused by one sentence, and never run."""
    with pytest.raises(ValueError, match=r"cost") as caught:
        parse_expression(text)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_no_text_does_anything_but_parse_or_be_refused(text):
    """Any text is read or refused by a ValueError; nothing else is raised."""
    with contextlib.suppress(ValueError):
        parse_expression(text)


def test_columns_are_listed_once_in_order():
    """The columns that are needed are named once each, quoted or not."""
    assert parse_expression("a*x + `b c`/a - max(x, 1)").columns == ("a", "x", "b c")
