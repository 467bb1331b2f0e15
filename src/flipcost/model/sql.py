"""A model as one SELECT."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flipcost.core.arrays import Array
from flipcost.core.costs import Expression
from flipcost.exceptions import ExportError, LargeQueryWarning
from flipcost.model.convert import formula_to_write
from flipcost.model.dialects import TRANSPILED, Dialect, DialectName, dialect_of
from flipcost.model.steps import Steps
from flipcost.tables.columns import FALSE_WORDS, TRUE_WORDS

if TYPE_CHECKING:
    from flipcost.model.formula import Formula
    from flipcost.model.schema import (
        Column,
        LevelTerm,
        NumberTerm,
        TreeData,
    )

# The longest query that BigQuery reads; other engines read more.
MOST_BYTES = 1_000_000


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
    model : estimator, Findings or Formula
        A model that `flipcost.save` can save, or one that `flipcost.load` returned.
    dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake"}, default="duckdb"
        The engine. The last two need sqlglot, which transpiles the query.
    table : str, default="rows"
        The table with the rows; dots separate the parts of its name.
    keep : sequence of str, default=()
        Columns of the table to return beside the results, such as a key.
    decision : bool, default=True
        Whether to return the decision beside the probability.

    Warns
    -----
    LargeQueryWarning
        If the query is longer than 1 MB, the most that BigQuery reads.

    Returns
    -------
    str
        A query with the columns ``keep``, ``probability_positive``, ``flagged`` and
        ``prediction``.

    Notes
    -----
    A missing value is NULL, NaN in a column of numbers, or an empty text. A category that the model
    does not know counts as rare, as in `predict_proba`. Where `predict_proba` refuses a value (an
    infinite number, a text that is neither yes nor no), an engine returns NULL or raises its own
    error. Times are read as UTC: in Spark, set ``spark.sql.session.timeZone``.

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
    engine, formula = dialect_of(dialect), formula_to_write(model, decision=decision)
    query = _Writer(formula, engine).query(table, keep, decision=decision)
    query = _transpiled(query, dialect) if dialect in TRANSPILED else query
    doubt = size_doubt(query)
    if doubt is not None:
        warnings.warn(doubt, LargeQueryWarning, stacklevel=2)
    return query


def size_doubt(query: str) -> str | None:
    """Return a warning for a query that some engines refuse to read; None for a shorter one.

    Examples
    --------
    >>> size_doubt("SELECT 1")
    """
    size = len(query.encode())
    if size <= MOST_BYTES:
        return None
    return (
        f"The query takes {size / 1e6:.1f} MB, and some engines read no more than 1 MB: score rows "
        'by ONNX or `flipcost predict`, or fit with `features="splines"`, which has no trees.'
    )


def _transpiled(query: str, dialect: str) -> str:
    try:
        import sqlglot  # noqa: PLC0415 - needed for two engines only
    except ImportError as error:
        msg = f"SQL for {dialect} needs sqlglot; install flipcost[sql]."
        raise ExportError(msg) from error
    return str(sqlglot.transpile(query, read="duckdb", write=dialect, pretty=True)[0]) + "\n"


# Names of steps that are functions, where they differ.
_FUNCTIONS = {"min": "LEAST", "max": "GREATEST", "negate": "-"}


class _Writer(Steps[str]):
    """Write the stages of a query: columns read, encoded, scored, looked up."""

    def __init__(self, formula: Formula, dialect: Dialect) -> None:
        super().__init__(formula)
        self.dialect = dialect

    def constant(self, value: float) -> str:
        return self.dialect.number(value)

    def apply(self, step: str, *values: str) -> str:
        if len(values) == 2 and step not in _FUNCTIONS:
            return f"({values[0]} {step} {values[1]})"
        found = f"{_FUNCTIONS.get(step, step.upper())}({', '.join(values)})"
        return f"({found})" if step == "negate" else found

    def filled(self, value: str, fill: float) -> str:
        return f"COALESCE({value}, {self.constant(fill)})"

    def between(self, value: str, low: float | None, high: float | None) -> str:
        # Unlike GREATEST, which some engines make skip NULL, this leaves NULL what is NULL.
        cases = ""
        for sign, end in (("<=", low), (">=", high)):
            if end is not None:
                cases += f" WHEN {value} {sign} {self.constant(end)} THEN {self.constant(end)}"
        return f"CASE{cases} ELSE {value} END" if cases else value

    def query(self, table: str, keep: Sequence[str], *, decision: bool) -> str:
        kept = [self.dialect.name(name) for name in keep]
        priced = decision and self.formula.decides_by_costs
        source = ".".join(self.dialect.name(part) for part in table.split("."))
        stages = [
            ("fc_read", self.read() | (self.price_columns() if priced else {})),
            ("fc_encoded", self.encoded() | (self.priced() if priced else {})),
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
            if priced and name == "fc_encoded":
                kept = [*kept, "fc_miss", "fc_alarm"]
        chosen = [*kept[: len(keep)], "probability_positive"]
        if decision:
            chosen += [_named(text, column) for column, text in self.decision().items()]
        body = ",\n  ".join(chosen)
        return "WITH " + ",\n".join(parts) + f"\nSELECT\n  {body}\nFROM {source}\n"

    def read(self) -> dict[str, str]:
        """Return the columns: numbers and days in double precision, texts; NULL if missing."""
        return {f"fc_c{k}": self._column(self.formula.columns[k]) for k in self.formula.used}

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
        return self._real(column.name, column.format)

    def _real(self, name: str, style: str | None = None) -> str:
        value = self.dialect.name(name)
        if style is not None:
            value = self.dialect.plain_number(value, style)
        value = f"CAST({value} AS {self.dialect.real})"
        return f"CASE WHEN {self.dialect.is_nan.format(value)} THEN NULL ELSE {value} END"

    def price_columns(self) -> dict[str, str]:
        """Return the columns that costs are computed from."""
        return {f"fc_p{k}": self._real(name) for k, name in enumerate(self.formula.cost_columns)}

    def priced(self) -> dict[str, str]:
        """Return the extra cost of a miss and of a false alarm over the right decision."""
        fn, fp, tp, tn = map(self._arithmetic, self.formula.decision.expressions)
        zero = self.dialect.number(0.0)
        valid = " AND ".join(
            [
                *(f"fc_p{k} IS NOT NULL" for k in range(len(self.formula.cost_columns))),
                *(f"{price} >= {zero}" for price in (fn, fp)),
            ]
        )
        return {
            "fc_miss": f"CASE WHEN {valid} THEN {fn} - {tp} END",
            "fc_alarm": f"CASE WHEN {valid} THEN {fp} - {tn} END",
        }

    def _arithmetic(self, expression: Expression) -> str:
        names = {name: f"fc_p{k}" for k, name in enumerate(self.formula.cost_columns)}

        def apply(name: str, values: list[str]) -> str:
            if name == "/":  # by nothing: no cost, rather than an error of some engines
                values = [values[0], f"NULLIF({values[1]}, 0)"]
            return self.apply(name, *values)

        return expression.fold(self.constant, names.__getitem__, apply)

    def encoded(self) -> dict[str, str]:
        """Return the columns again, and numbers filled, clipped and standardized."""
        own = {f"fc_c{k}": f"fc_c{k}" for k in self.formula.used}
        numbers = {
            f"fc_z{j}": self.number(number, f"fc_c{number.column}")
            for j, number in enumerate(self.formula.numbers)
            if number.column in self.formula.used
            and self.formula.columns[number.column].kind != "category"
        }
        return own | numbers

    def scored(self) -> dict[str, str]:
        """Return the scores without trees, and the sums of trees."""
        found = {f"fc_s{m}": self._score(m) for m in range(len(self.formula.bias))}
        for k, forest in enumerate(self.formula.forests):
            trees = [self.dialect.number(forest.baseline)]
            trees += [self._tree(tree) for tree in forest.trees]
            found[f"fc_forest{k}"] = "\n      + ".join(trees)
        return found

    def _score(self, m: int) -> str:
        parts = [self.dialect.number(self.formula.bias[m])]
        for term in self.formula.number_terms:
            parts += self._number_parts(term, m)
        parts += [self._level_part(term, m) for term in self.formula.level_terms]
        return "\n      + ".join(parts)

    def _number_parts(self, term: NumberTerm, m: int) -> list[str]:
        number, z = self.dialect.number, f"fc_z{term.number}"
        # GREATEST ignores NULL in some engines: the slope, though it be 0, keeps a number that must
        # not be missing NULL.
        is_filled = self.formula.numbers[term.number].fill is not None
        parts = [f"{number(term.slopes[m])} * {z}"] if term.slopes[m] or not is_filled else []
        for knot, bend in zip(term.knots, term.bends, strict=True):
            if bend[m]:
                parts.append(f"{number(bend[m])} * GREATEST({z} - {number(knot)}, {number(0.0)})")
        return parts

    def _level_part(self, term: LevelTerm, m: int) -> str:
        number, column = self.dialect.number, f"fc_c{term.column}"
        *values, other, missing = (own[m] for own in term.values)
        cases = [f"WHEN {column} IS NULL THEN {number(missing)}"]
        by_value: dict[float, list[str]] = {}
        for level, value in zip(self.formula.columns[term.column].levels, values, strict=True):
            if value != other:
                by_value.setdefault(value, []).append(self.dialect.string(level))
        for value, levels in by_value.items():
            cases.append(f"WHEN {column} IN ({', '.join(levels)}) THEN {number(value)}")
        return f"CASE {' '.join(cases)} ELSE {number(other)} END"

    def _tree(self, tree: TreeData, node: int = 0) -> str:
        if not tree.left[node]:
            return self.dialect.number(tree.value[node])
        left, right = self._tree(tree, tree.left[node]), self._tree(tree, tree.right[node])
        return f"CASE WHEN {self._goes_left(tree, node)} THEN {left} ELSE {right} END"

    def _goes_left(self, tree: TreeData, node: int) -> str:
        k = tree.number[node]
        column = f"fc_c{self.formula.numbers[k].column}"
        if node in tree.goes:
            levels = self.formula.columns[self.formula.numbers[k].column].levels
            return self._goes_by_level(column, levels, tree.goes[node])
        below = f"fc_z{k} <= {self.dialect.number(tree.threshold[node])}"
        if self.formula.numbers[k].fill is not None or not tree.missing_left[node]:
            return below
        return f"({column} IS NULL OR {below})"

    def _goes_by_level(self, column: str, levels: Sequence[str], goes: Sequence[bool]) -> str:
        """Return which texts go left: those listed, or all but those listed."""
        *known, other, missing = goes
        listed = [
            self.dialect.string(level)
            for level, left in zip(levels, known, strict=True)
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
        """Return the positions in the tables of the curves, or the score of a link."""
        number, found = self.dialect.number, {}
        for m in range(len(self.formula.bias)):
            score = f"fc_s{m}"
            for k, forest in enumerate(self.formula.forests):
                if forest.share[m]:
                    score += f" + {number(forest.share[m])} * fc_forest{k}"
            if self.formula.curves is not None:
                score = self.between(score, 0.0, len(self.formula.curves[m]) - 1.0)
            found[f"fc_q{m}"] = score
        return found

    def probability(self) -> str:
        """Return the sum of the curves, or the link of the score."""
        if self.formula.curves is None:
            return self.link("fc_q0")
        parts = [
            self._curve(f"fc_q{m}", np.array(curve), 0, len(curve) - 1)
            for m, curve in enumerate(self.formula.curves)
        ]
        return "\n      + ".join(parts)

    def _curve(self, q: str, values: Array, low: int, high: int) -> str:
        """Return a curve between two positions: in halves, until it is straight."""
        number = self.dialect.number
        first, last = float(values[low]), float(values[high])
        if first == last and not np.diff(values[low : high + 1]).any():
            return f"CASE WHEN {q} IS NOT NULL THEN {number(first)} END"
        if high == low + 1:
            return f"{number(first)} + {number(last - first)} * ({q} - {number(float(low))})"
        middle = (low + high) // 2
        left, right = self._curve(q, values, low, middle), self._curve(q, values, middle, high)
        return f"CASE WHEN {q} < {number(float(middle))} THEN {left} ELSE {right} END"

    def score_kept(self) -> dict[str, str]:
        """Return the score, where the decision is by it."""
        return {"fc_q0": "fc_q0"} if self.formula.decision.by == "score" else {}

    def decision(self) -> dict[str, str]:
        """Return whether a row is flagged, and its label."""
        by, priced = self.formula.decision.by, ("fc_miss", "fc_alarm")
        costs = priced if self.formula.decision.is_by_row else None
        flagged = {"always": "TRUE", "never": "FALSE"}.get(by)
        flagged = flagged or self.flagged("probability_positive", "fc_q0", costs)
        no, yes = map(self.dialect.string, self.formula.labels)
        prediction = f"CASE WHEN {flagged} THEN {yes} WHEN NOT ({flagged}) THEN {no} END"
        return {"flagged": flagged, "prediction": prediction}


def _named(expression: str, name: str) -> str:
    return expression if expression == name else f"{expression} AS {name}"
