"""A model as one SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flipcost.core.arrays import Array
from flipcost.exceptions import ExportError
from flipcost.export._dialects import TRANSPILED, Dialect, DialectName, dialect_of
from flipcost.export._formula import (
    WEEK_DAYS,
    YEAR_DAYS,
    Formula,
    Link,
    NumberTerm,
    Split,
    TableTerm,
    check_decision,
)
from flipcost.export._read_model import read_model
from flipcost.tables.columns import FALSE_WORDS, TRUE_WORDS
from flipcost.tables.plain import Column, NumberFeature


def to_sql(
    model: Any,
    dialect: DialectName = "duckdb",
    *,
    table: str = "rows",
    keep: Sequence[str] = (),
    decision: bool = True,
) -> str:
    """Write a model as one SELECT that scores the rows of a table where they are.

    Parameters
    ----------
    model : Pipeline, FlipCostClassifier, UnevenMarginClassifier or UnevenMarginClassifierCV
        Fitted; a pipeline as `flipcost audit` saves it.
    dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake"}, default="duckdb"
        The engine. The last two are transpiled by sqlglot, which is needed for them only.
    table : str, default="rows"
        The table with the rows; points separate the parts of its name.
    keep : sequence of str, default=()
        Columns of it to be given beside the results, such as a key.
    decision : bool, default=True
        Whether to give the decision beside the probability.

    Returns
    -------
    str
        A query with the columns ``keep``, ``probability_positive``, ``called_positive`` and
        ``prediction``.

    Notes
    -----
    A missing value is NULL, NaN in a column of numbers, or an empty text. A category that the model
    does not know counts as any other rare one, as in `predict_proba`. Where the library refuses
    a value (an infinite number, a text that is neither yes nor no), an engine may give NULL, or an
    error of its own; no more than that is checked. Points in time are read in UTC: in Spark, set
    ``spark.sql.session.timeZone`` to it.

    Examples
    --------
    >>> import numpy as np
    >>> from flipcost import UnevenMarginClassifier
    >>> X, y = np.arange(8.0)[:, None], np.arange(8) > 3
    >>> query = to_sql(UnevenMarginClassifier(cost=0.25).fit(X, y), table="calls", keep=["id"])
    >>> import duckdb
    >>> rows = duckdb.sql("CREATE TABLE calls AS SELECT 7 AS id, 5.0 AS x0")
    >>> duckdb.sql(query).fetchall()[0][2:]
    (True, 'True')
    """
    engine, formula = dialect_of(dialect), read_model(model)
    if decision:
        check_decision(formula)
    query = _Writer(formula, engine).query(table, keep, decision=decision)
    return _transpiled(query, dialect) if dialect in TRANSPILED else query


def _transpiled(query: str, dialect: str) -> str:
    try:
        import sqlglot  # noqa: PLC0415 - wanted for two engines only
    except ImportError as error:
        msg = f"SQL for {dialect} is made by sqlglot; install flipcost[sql]."
        raise ExportError(msg) from error
    return str(sqlglot.transpile(query, read="duckdb", write=dialect, pretty=True)[0]) + "\n"


class _Writer:
    """Write the parts of a query: columns read, encoded, scored, looked up."""

    def __init__(self, formula: Formula, dialect: Dialect) -> None:
        self.formula, self.dialect = formula, dialect
        self.features = _unique_numbers(formula)

    def query(self, table: str, keep: Sequence[str], *, decision: bool) -> str:
        kept = [self.dialect.name(name) for name in keep]
        source = ".".join(self.dialect.name(part) for part in table.split("."))
        stages = [
            ("fc_read", self.read()),
            ("fc_encoded", self.encoded()),
            ("fc_scored", self.scored()),
            ("fc_placed", self.placed()),
            ("fc_result", {"probability_positive": self.probability()} | self.score_kept()),
        ]
        parts = []
        for name, columns in stages:
            chosen = [
                *kept,
                *(_named(expression, column) for column, expression in columns.items()),
            ]
            body = ",\n    ".join(chosen)
            parts.append(
                f"{name} AS {self.dialect.fence}(\n  SELECT\n    {body}\n  FROM {source}\n)"
            )
            source = name
        chosen = [*kept, "probability_positive"]
        if decision:
            chosen += [_named(text, column) for column, text in self.decision().items()]
        body = ",\n  ".join(chosen)
        return "WITH " + ",\n".join(parts) + f"\nSELECT\n  {body}\nFROM {source}\n"

    def read(self) -> dict[str, str]:
        """Return the columns: numbers and days of double precision, texts; NULL is missing."""
        return {f"fc_c{k}": self._column(c) for k, c in enumerate(self.formula.columns)}

    def _column(self, column: Column) -> str:
        engine, name = self.dialect, self.dialect.name(column.name)
        if column.kind == "category":
            return f"NULLIF(CAST({name} AS {engine.text}), '')"
        if column.kind == "boolean":
            word = f"LOWER(CAST({name} AS {engine.text}))"
            yes, no = (", ".join(map(engine.string, w)) for w in (TRUE_WORDS, FALSE_WORDS))
            one, zero = engine.number(1.0), engine.number(0.0)
            return f"CASE WHEN {word} IN ({yes}) THEN {one} WHEN {word} IN ({no}) THEN {zero} END"
        if column.kind == "date":
            return engine.days(name, column.format)
        value = f"CAST({name} AS {engine.real})"
        return f"CASE WHEN {engine.is_nan.format(value)} THEN NULL ELSE {value} END"

    def encoded(self) -> dict[str, str]:
        """Return the columns again, and numbers filled and standardized."""
        own = {f"fc_c{k}": f"fc_c{k}" for k in range(len(self.formula.columns))}
        return own | {f"fc_z{j}": self._number(f) for j, f in enumerate(self.features)}

    def _number(self, feature: NumberFeature) -> str:
        number, value = self.dialect.number, f"fc_c{feature.column}"
        if feature.part:
            period = number(YEAR_DAYS if feature.part < 3 else WEEK_DAYS)
            turn = "SIN" if feature.part % 2 else "COS"
            if feature.part >= 3:
                value = f"({value} - {period} * FLOOR({value} / {period}))"
            value = f"{turn}({number(2 * np.pi)} * {value} / {period})"
        if feature.fill is not None:
            value = f"COALESCE({value}, {number(feature.fill)})"
        if feature.centre:
            value = f"({value} - {number(feature.centre)})"
        return value if feature.scale == 1 else f"{value} / {number(feature.scale)}"

    def scored(self) -> dict[str, str]:
        """Return the scores, without boosting, and boosting."""
        found = {f"fc_s{m}": self._score(m) for m in range(len(self.formula.bias))}
        if self.formula.trees:
            trees = [self.dialect.number(self.formula.baseline)]
            trees += [self._tree(tree) for tree in self.formula.trees]
            found["fc_boosting"] = "\n      + ".join(trees)
        return found

    def _score(self, m: int) -> str:
        parts = [self.dialect.number(float(self.formula.bias[m]))]
        for term in self.formula.numbers:
            parts += self._number_parts(term, m)
        parts += [self._table_part(term, m) for term in self.formula.tables]
        return "\n      + ".join(parts)

    def _number_parts(self, term: NumberTerm, m: int) -> list[str]:
        number, z = self.dialect.number, f"fc_z{self.features.index(term.feature)}"
        parts = [f"{number(float(term.slopes[m]))} * {z}"] if term.slopes[m] else []
        # A number that is refused when missing stays so: GREATEST would make something of it.
        above = f"GREATEST({{z}} - {{knot}}, {number(0.0)})"
        if term.feature.fill is None:
            above = "CASE WHEN {z} > {knot} THEN {z} - {knot} WHEN {z} <= {knot} "
            above += f"THEN {number(0.0)} END"
        for knot, bend in zip(term.knots.tolist(), term.bends[m].tolist(), strict=True):
            if bend:
                parts.append(f"{number(bend)} * {above.format(z=z, knot=number(knot))}")
        if not parts and term.feature.fill is None:
            parts = [f"{number(0.0)} * {z}"]
        return parts

    def _table_part(self, term: TableTerm, m: int) -> str:
        number, column = self.dialect.number, f"fc_c{term.column}"
        *values, other, missing = term.values[:, m].tolist()
        cases = [f"WHEN {column} IS NULL THEN {number(missing)}"]
        by_value: dict[float, list[str]] = {}
        for level, value in zip(self.formula.columns[term.column].levels, values, strict=False):
            if value != other:
                by_value.setdefault(value, []).append(self.dialect.string(level))
        for value, levels in by_value.items():
            cases.append(f"WHEN {column} IN ({', '.join(levels)}) THEN {number(value)}")
        return f"CASE {' '.join(cases)} ELSE {number(other)} END"

    def _tree(self, tree: Split | float) -> str:
        if not isinstance(tree, Split):
            return self.dialect.number(tree)
        left, right = self._tree(tree.left), self._tree(tree.right)
        return f"CASE WHEN {self._goes_left(tree)} THEN {left} ELSE {right} END"

    def _goes_left(self, split: Split) -> str:
        feature = self.formula.tree_features[split.feature]
        column = f"fc_c{feature.column}"
        if isinstance(feature, NumberFeature):
            z = f"fc_z{self.features.index(feature)}"
            below = f"{z} <= {self.dialect.number(split.threshold)}"
            if feature.fill is not None:
                return below
            return f"({column} IS NULL OR {below})" if split.missing_left else below
        goes = [value <= split.threshold for value in feature.values]
        levels = self.formula.columns[feature.column].levels
        return self._goes_by_level(column, levels, goes)

    def _goes_by_level(self, column: str, levels: tuple[str, ...], goes: list[bool]) -> str:
        """Return which texts go left, by what those do that stand in no list."""
        *known, other, missing = goes
        listed = [
            self.dialect.string(level)
            for level, left in zip(levels, known, strict=False)
            if left != other
        ]
        found = f"{column} IN ({', '.join(listed)})" if listed else ""
        if other:
            text = f"NOT {found}" if found else f"{column} IS NOT NULL"
            return f"({column} IS NULL OR {text})" if missing else f"({text})"
        if not found:
            return f"{column} IS NULL" if missing else "1 = 0"
        return f"({column} IS NULL OR {found})" if missing else found

    def placed(self) -> dict[str, str]:
        """Return the places in the tables of the curves, or the score of the closed form."""
        number, found = self.dialect.number, {}
        curves = self.formula.curves
        for m, share in enumerate(self.formula.share.tolist()):
            score = f"fc_s{m}"
            if self.formula.trees and share:
                score = f"fc_s{m} + {number(share)} * fc_boosting"
            if curves is not None:
                score = self._between(score, 0.0, curves.shape[1] - 1.0)
            found[f"fc_q{m}"] = score
        return found

    def _between(self, value: str, low: float, high: float) -> str:
        low_text, high_text = self.dialect.number(low), self.dialect.number(high)
        # Unlike GREATEST, which some engines make skip NULL, this leaves NULL what is NULL.
        return (
            f"CASE WHEN {value} <= {low_text} THEN {low_text} WHEN {value} >= {high_text} "
            f"THEN {high_text} ELSE {value} END"
        )

    def probability(self) -> str:
        """Return the sum of the curves, or the link of the closed form."""
        if self.formula.curves is None:
            return self._link()
        parts = [
            self._curve(f"fc_q{m}", curve, 0, len(curve) - 1)
            for m, curve in enumerate(self.formula.curves)
        ]
        return "\n      + ".join(parts)

    def _curve(self, q: str, values: Array, low: int, high: int) -> str:
        """Return a curve between two places: halves, until it is straight."""
        number = self.dialect.number
        first, last = float(values[low]), float(values[high])
        if first == last and not np.diff(values[low : high + 1]).any():
            return f"CASE WHEN {q} IS NOT NULL THEN {number(first)} END"
        if high == low + 1:
            return f"{number(first)} + {number(last - first)} * ({q} - {number(float(low))})"
        middle = (low + high) // 2
        left, right = self._curve(q, values, low, middle), self._curve(q, values, middle, high)
        return f"CASE WHEN {q} < {number(float(middle))} THEN {left} ELSE {right} END"

    def _link(self) -> str:
        number, link = self.dialect.number, self.formula.link or Link("logistic")
        if link.kind == "logistic":
            # Beyond, nothing changes but that some engines would overflow.
            s = self._between("fc_q0", -500.0, 500.0)
            return f"{number(1.0)} / ({number(1.0)} + EXP(-({s})))"
        s = f"({self._between('fc_q0', -1 / link.margin, 1.0)})"
        above = f"({number(link.cost)} * ({number(1.0)} + {number(link.margin)} * {s}))"
        return f"{above} / ({above} + {number(1 - link.cost)} * ({number(1.0)} - {s}))"

    def score_kept(self) -> dict[str, str]:
        """Return the score, where the decision is by it."""
        return {"fc_q0": "fc_q0"} if self.formula.by_score else {}

    def decision(self) -> dict[str, str]:
        formula, number = self.formula, self.dialect.number
        called = f"probability_positive > {number(formula.threshold or 0.0)}"
        if formula.by_score:
            called = f"fc_q0 > {number(0.0)}"
        if formula.constant is not None:
            called = "TRUE" if formula.constant else "FALSE"
        no, yes = map(self.dialect.string, formula.labels)
        prediction = f"CASE WHEN {called} THEN {yes} WHEN NOT ({called}) THEN {no} END"
        return {"called_positive": called, "prediction": prediction}


def _named(expression: str, name: str) -> str:
    return expression if expression == name else f"{expression} AS {name}"


def _unique_numbers(formula: Formula) -> list[NumberFeature]:
    features = [term.feature for term in formula.numbers]
    features += [f for f in formula.tree_features if isinstance(f, NumberFeature)]
    return list(dict.fromkeys(features))
