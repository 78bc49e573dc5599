"""The names that Spark gives to what a SELECT computes without an alias."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.plain_sql import without_tables
from cepsql.analysis.resolve import SPOKEN
from cepsql.analysis.window_calls import is_window_call
from cepsql.language.spark_sql import SparkSql
from cepsql.language.tokens import DIALECT


def spark_name(expression: exp.Expr) -> str:
    """Return the name of a column as Spark makes it of the expression: count(1), (sum(n) / 2).

    That of a window function, of which Spark names the frame as well, is its text.
    """
    plain = without_tables(expression)
    if plain.find(exp.Window) is not None:
        return plain.sql(dialect=DIALECT)
    return _Names(dialect=DIALECT, normalize_functions="lower").generate(plain)


class _Names(SparkSql.Generator):
    """Writes expressions with all their parentheses, and nothing quoted."""

    TRANSFORMS: dict[type[exp.Expr], Callable[..., str]] = {  # noqa: RUF012
        **SparkSql.Generator.TRANSFORMS,
        exp.Anonymous: lambda self, e: self.anonymous_name(e),
        exp.DPipe: lambda self, e: self.func("concat", e.this, e.expression),
        exp.Between: lambda self, e: self.func("between", e.this, e.args["low"], e.args["high"]),
        exp.If: lambda self, e: self.if_name(e),
        exp.Mod: lambda self, e: self.binary(e, "%"),
        exp.NEQ: lambda self, e: f"(NOT {self.binary(e, '=')})",
        exp.NullSafeEQ: lambda self, e: self.binary(e, "<=>"),
        exp.Pow: lambda self, e: self.func("pow", e.this, e.expression),
        exp.IgnoreNulls: lambda self, e: self.sql(e, "this"),
        exp.Like: lambda self, e: f"{self.sql(e, 'this')} LIKE {self.sql(e, 'expression')}",
    }

    def anonymous_name(self, expression: exp.Anonymous) -> str:
        name = expression.name.lower()
        return name if is_window_call(expression) else self.func(name, *expression.expressions)

    def binary(self, expression: exp.Binary, op: str) -> str:
        return f"({self.sql(expression, 'this')} {op} {self.sql(expression, 'expression')})"

    def connector_sql(self, expression, op, stack=None) -> str:
        return self.binary(expression, op)

    def if_name(self, expression: exp.If) -> str:
        parts = (expression.this, expression.args["true"], expression.args.get("false") or exp.null())
        return f"(IF({', '.join(map(self.sql, parts))}))"

    def in_sql(self, expression: exp.In) -> str:
        return f"({super().in_sql(expression)})"

    def filter_sql(self, expression: exp.Filter) -> str:
        condition = self.sql(expression.expression, "this")
        return f"{self.sql(expression, 'this')} FILTER (WHERE {condition})"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        named = isinstance(expression.this, exp.Column)
        return self.sql(expression, "this") if named else super().cast_sql(expression, safe_prefix)

    def dot_sql(self, expression: exp.Dot) -> str:
        return f"{self.sql(expression, 'this')}.{expression.name}"

    def boolean_sql(self, expression: exp.Boolean) -> str:
        return super().boolean_sql(expression).lower()

    def paren_sql(self, expression: exp.Paren) -> str:
        return self.sql(expression, "this")

    def neg_sql(self, expression: exp.Neg) -> str:
        return f"(- {self.sql(expression, 'this')})"

    def not_sql(self, expression: exp.Not) -> str:
        negated = expression.this
        if isinstance(negated, exp.Is):
            return f"({self.sql(negated, 'this')} IS NOT {self.sql(negated, 'expression')})"
        return f"(NOT {self.sql(negated)})"

    def literal_sql(self, expression: exp.Literal) -> str:
        return expression.name

    def column_sql(self, expression: exp.Column) -> str:
        return ".".join(map(self.sql, expression.parts))

    def identifier_sql(self, expression: exp.Identifier) -> str:
        return expression.meta.get(SPOKEN, expression.name)

    def star_sql(self, expression: exp.Star) -> str:
        return "1"
