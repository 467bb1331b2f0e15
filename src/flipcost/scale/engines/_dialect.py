"""Writing questions as SQL, in the words of each engine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from flipcost.exceptions import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flipcost.scale.engines._expression import Aggregate, Expression, Question, RowsWanted

_SIGNS = {
    "add": " + ",
    "subtract": " - ",
    "multiply": " * ",
    "divide": " / ",
    "remainder": " % ",
    "equals": " = ",
    "above": " > ",
    "either": " OR ",
}


class Dialect:
    """Standard SQL; what an engine says in another way its own class does.

    Examples
    --------
    >>> from flipcost.scale.engines._expression import column, number
    >>> Dialect().write(column("age") - number(40.0))
    '("age" - 4.0000000000000000e+01)'
    """

    double = "DOUBLE PRECISION"
    text = "VARCHAR"
    # Whether the answers travel as one array: some engines limit the columns of a result.
    packs = False
    # After a subquery, to have its expressions computed once and not where they are used.
    fence = ""
    # Whether the engine's own numbers of rows count them from the first.
    counts_rows = False
    # Most sums in one statement: 200 columns have so many products, and themselves.
    most_sums = 20_500

    def name(self, name: str) -> str:
        """Return a name in quotes."""
        return '"' + name.replace('"', '""') + '"'

    def write(self, expression: Expression) -> str:
        """Return an expression as SQL."""
        op, args = expression.op, expression.args
        if op in _SIGNS:
            return "(" + _SIGNS[op].join(self.write(part) for part in args) + ")"
        written: str = getattr(self, f"_{op}")(*args)
        return written

    def statement(self, source: str, question: Question) -> str:
        """Return a question as one statement on a table or a bracketed query."""
        inner = f"{source} AS source"
        if question.first_rows is not None:
            inner = f"(SELECT * FROM {inner} LIMIT {question.first_rows}) AS source"
        inner = self._layered(inner, question.layers)
        keys = [self.name(key) for key in question.keys]
        answers = [self._aggregate(answer) for answer in question.answers]
        if self.packs:
            inside = ", ".join(f"CAST({answer} AS {self.double})" for answer in answers)
            answers = [f"ARRAY[{inside}]"]
        parts = [f"SELECT {', '.join([*keys, *answers])} FROM {inner}"]
        if question.where is not None:
            parts.append(f"WHERE {self.write(question.where)}")
        if keys:
            parts.append(f"GROUP BY {self._groups(question)}")
        if question.most_groups is not None:
            parts.append(f"LIMIT {question.most_groups}")
        return " ".join(parts)

    def rows(self, source: str, wanted: RowsWanted) -> str:
        """Return a statement for some rows of a table or a bracketed query."""
        inner = self._layered(f"{source} AS source", wanted.layers)
        parts = [f"SELECT {', '.join(map(self.name, wanted.names))} FROM {inner}"]
        if wanted.where is not None:
            parts.append(f"WHERE {self.write(wanted.where)}")
        if wanted.order:
            parts.append(f"ORDER BY {', '.join(map(self.name, wanted.order))}")
        return " ".join([*parts, f"LIMIT {wanted.most}"])

    def derived(
        self, source: str, layers: Sequence[Mapping[str, Expression]], where: Expression
    ) -> str:
        """Return a bracketed query: layers on the rows of a source that a condition keeps."""
        first, *others = layers
        kept = self.write(where)
        inner = f"(SELECT {self._columns(first)} FROM {source} AS source WHERE {kept}{self.fence})"
        for number, layer in enumerate(others):
            inner = f"(SELECT {self._columns(layer)} FROM {inner} AS made_{number}{self.fence})"
        return inner

    def _layered(self, inner: str, layers: Sequence[Mapping[str, Expression]]) -> str:
        for number, layer in enumerate(layers):
            inner = f"(SELECT {self._columns(layer)} FROM {inner}{self.fence}) AS layer_{number}"
        return inner

    def _columns(self, layer: Mapping[str, Expression]) -> str:
        return ", ".join(
            f"{self.write(value)} AS {self.name(name)}" for name, value in layer.items()
        )

    def _groups(self, question: Question) -> str:
        sets = [", ".join(map(self.name, names)) for names in question.by]
        if len(sets) == 1:
            return sets[0]
        return f"GROUPING SETS ({', '.join(f'({names})' for names in sets)})"

    def _aggregate(self, answer: Aggregate) -> str:
        if answer.of is None:
            return "COUNT(*)"
        inside = self.write(answer.of)
        if answer.kind == "distinct":
            return f"COUNT(DISTINCT {inside})"
        if answer.kind == "median":
            return self._median(inside)
        if answer.kind.startswith("quantile"):
            return self._quantile(inside, answer.kind.split()[1])
        return f"{answer.kind.upper()}({inside})"

    def _median(self, inside: str) -> str:
        return f"PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {inside})"

    def _quantile(self, inside: str, level: str) -> str:
        return f"PERCENTILE_DISC({level}) WITHIN GROUP (ORDER BY {inside})"

    def _column(self, name: str) -> str:
        return self.name(name)

    def _number(self, value: float) -> str:
        if not math.isfinite(value):
            msg = f"A number in a query must be finite; got {value}."
            raise ValueError(msg)
        written = f"{value:.16e}"  # as many digits as tell doubles apart
        return f"({written})" if value < 0 else written

    def _literal(self, value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self._quoted(value)
        if isinstance(value, float):
            return self._number(value)
        return f"({value})" if value < 0 else str(value)

    def _quoted(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def _is_missing(self, of: Expression) -> str:
        return f"({self.write(of)} IS NULL)"

    def _is_nan(self, of: Expression) -> str:
        return f"isnan({self.write(of)})"

    def _double(self, of: Expression) -> str:
        return f"CAST({self.write(of)} AS {self.double})"

    def _integer(self, of: Expression) -> str:
        return f"CAST({self.write(of)} AS BIGINT)"

    def _text(self, of: Expression) -> str:
        return f"CAST({self.write(of)} AS {self.text})"

    def _floor(self, of: Expression) -> str:
        return f"CAST(FLOOR({self.write(of)}) AS BIGINT)"

    def _small(self, of: Expression, most: int) -> str:
        return f"CAST({self.write(of)} AS {'SMALLINT' if most < 1 << 15 else 'INTEGER'})"

    def _at_least(self, *of: Expression) -> str:
        return f"GREATEST({', '.join(map(self.write, of))})"

    def _at_most(self, *of: Expression) -> str:
        return f"LEAST({', '.join(map(self.write, of))})"

    def _case(
        self, branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression
    ) -> str:
        inside = " ".join(f"WHEN {self.write(c)} THEN {self.write(v)}" for c, v in branches)
        return f"CASE {inside} ELSE {self.write(otherwise)} END"

    def _among(self, of: Expression, values: tuple[Any, ...]) -> str:
        return f"({self.write(of)} IN ({', '.join(map(self._literal, values))}))"

    def _lower(self, of: Expression) -> str:
        return f"LOWER({self.write(of)})"

    def _sine(self, of: Expression) -> str:
        return f"SIN({self.write(of)})"

    def _cosine(self, of: Expression) -> str:
        return f"COS({self.write(of)})"

    def _days(self, of: Expression) -> str:
        return f"(FLOOR({self._seconds(self.write(of))}) / 86400.0)"

    def _seconds(self, value: str) -> str:
        return f"CAST(EXTRACT(EPOCH FROM {value}) AS {self.double})"

    def _row_number(self) -> str:
        msg = "Rows of this engine have no numbers."
        raise SourceError(msg)

    def _text_key(self, of: Expression) -> str:
        raise NotImplementedError


class DuckDBDialect(Dialect):
    """DuckDB."""

    double = "DOUBLE"
    counts_rows = True

    def _small(self, of: Expression, most: int) -> str:
        if most < 1 << 7:  # groups by a byte are found without hashing
            return f"CAST({self.write(of)} AS TINYINT)"
        return super()._small(of, most)

    def _median(self, inside: str) -> str:
        return f"quantile_cont({inside}, 0.5)"

    def _quantile(self, inside: str, level: str) -> str:
        return f"quantile_disc({inside}, {level})"

    def _row_number(self) -> str:
        return "rowid"

    def _text_key(self, of: Expression) -> str:
        return f"CAST('0x' || substr(md5({self.write(of)}), 1, 8) AS BIGINT)"


class PostgreSQLDialect(Dialect):
    """PostgreSQL: at most 1664 columns in a result, and subqueries are dissolved unless fenced."""

    text = "TEXT"
    packs = True
    fence = " OFFSET 0"

    def _number(self, value: float) -> str:
        return f"CAST({super()._number(value)} AS {self.double})"

    def _is_nan(self, of: Expression) -> str:
        return f"({self.write(of)} = 'NaN')"

    def _days(self, of: Expression) -> str:
        return f"CAST({super()._days(of)} AS {self.double})"

    def _row_number(self) -> str:
        # Where a row lies: a page, and a place on it, of which a page has far fewer than 65,536.
        place = "CAST(CAST(ctid AS TEXT) AS POINT)"
        return f"(CAST(({place})[0] AS BIGINT) * 65536 + CAST(({place})[1] AS BIGINT))"

    def _is_missing(self, of: Expression) -> str:
        return f"({self.write(of)} IS NULL)"

    def _text_key(self, of: Expression) -> str:
        return f"CAST(CAST('x' || substr(md5({self.write(of)}), 1, 8) AS bit(32)) AS BIGINT)"


class SparkDialect(Dialect):
    """Spark."""

    double = "DOUBLE"
    text = "STRING"
    # Code for more is too long for the Java machine, and is then interpreted.
    most_sums = 2_000

    def name(self, name: str) -> str:
        """Return a name in quotes."""
        return "`" + name.replace("`", "``") + "`"

    def _number(self, value: float) -> str:
        written = super()._number(value)
        return f"{written[:-1]}D)" if written.endswith(")") else f"{written}D"

    def _quoted(self, value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def _median(self, inside: str) -> str:
        return f"percentile({inside}, 0.5)"

    def _quantile(self, inside: str, level: str) -> str:
        return f"percentile_approx({inside}, {level})"

    def _text_key(self, of: Expression) -> str:
        return f"CAST(conv(substr(md5({self.write(of)}), 1, 8), 16, 10) AS BIGINT)"
