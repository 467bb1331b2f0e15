"""The steps from a cell to a decision, in whatever a target computes with: arrays, SQL, ONNX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np

from flipcost.model.schema import WEEK_DAYS, YEAR_DAYS, FormulaData, Number

Value = TypeVar("Value")
# Beyond these log-odds no probability changes, and some engines overflow.
_LARGEST_ODDS = 500.0


class Steps(ABC, Generic[Value]):
    """Write a formula's numbers, probability by link, and decision as operations of a target."""

    def __init__(self, formula: FormulaData) -> None:
        self.formula = formula

    @abstractmethod
    def constant(self, value: float) -> Value:
        """Return a number."""

    @abstractmethod
    def apply(self, step: str, *values: Value) -> Value:
        """Return an operation: + - * / > min max abs negate floor sin cos exp."""

    @abstractmethod
    def filled(self, value: Value, fill: float) -> Value:
        """Return a value, and a number where it is missing."""

    @abstractmethod
    def between(self, value: Value, low: float | None, high: float | None) -> Value:
        """Return a value kept within limits; missing ones stay missing."""

    def number(self, number: Number, cell: Value) -> Value:
        """Return the number that is made of a cell: turned, filled, clipped, standardized."""
        value = self._turned(cell, number.part) if number.part else cell
        if number.fill is not None:
            value = self.filled(value, number.fill)
        value = self.between(value, number.low, number.high)
        if np.any(number.centre):
            value = self.apply("-", value, self.constant(number.centre))
        is_scaled = np.any(np.not_equal(number.scale, 1))
        return self.apply("/", value, self.constant(number.scale)) if is_scaled else value

    def _turned(self, days: Value, part: int) -> Value:
        """Return sine or cosine of where in the year or in the week a day is."""
        period = self.constant(YEAR_DAYS if part < 3 else WEEK_DAYS)
        if part >= 3:
            turns = self.apply("floor", self.apply("/", days, period))
            days = self.apply("-", days, self.apply("*", period, turns))
        angle = self.apply("/", self.apply("*", self.constant(2 * np.pi), days), period)
        return self.apply("sin" if part % 2 else "cos", angle)

    def link(self, score: Value) -> Value:
        """Return the probability that a score stands for, where there are no curves."""
        link, one = self.formula.link, self.constant(1.0)
        assert link is not None  # noqa: S101 - there are curves otherwise
        if link.kind == "logistic":
            s = self.between(score, -_LARGEST_ODDS, _LARGEST_ODDS)
            rest = self.apply("exp", self.apply("negate", s))
            found = self.apply("/", one, self.apply("+", one, rest))
        else:
            s = self.between(score, -1 / link.margin, 1.0)
            above = self.apply("+", one, self.apply("*", self.constant(link.margin), s))
            above = self.apply("*", self.constant(link.cost), above)
            below = self.apply("*", self.constant(1 - link.cost), self.apply("-", one, s))
            found = self.apply("/", above, self.apply("+", above, below))
        if (link.low, link.high) == (0, 1):
            return found
        clean = self.apply("-", found, self.constant(link.low))
        clean = self.apply("/", clean, self.constant(link.high - link.low))
        return self.between(clean, 0.0, 1.0)

    def flagged(self, probability: Value, score: Value, costs: tuple[Value, Value] | None) -> Value:
        """Return whether a row is flagged, unless all rows are, or none.

        By what a miss and a false alarm cost more than right decisions, where these differ by row.
        """
        decision = self.formula.decision
        if decision.by == "score":
            return self.apply(">", score, self.constant(0.0))
        if costs is None:
            return self.apply(">", probability, self.constant(decision.threshold or 0.0))
        miss, alarm = costs
        saved = self.apply("*", miss, probability)
        lost = self.apply("*", alarm, self.apply("-", self.constant(1.0), probability))
        return self.apply(">", self.apply("-", saved, lost), self.constant(0.0))
