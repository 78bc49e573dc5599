"""Spark SQL of values of one row becomes typed expressions that Arrow computes as Spark does, or a reason why not."""

from collections.abc import Mapping

from sqlglot import exp, parse_one

from cepsql.errors import NotSupportedError
from cepsql.language.tokens import DIALECT
from cepsql.scalar import coercion
from cepsql.scalar.arrow.arrow_expressions import arrow_obstacle
from cepsql.scalar.casts import cast_function
from cepsql.scalar.expressions import STANDARD_SESSION, Apply, Input, Node, Session
from cepsql.scalar.from_sql import expression
from cepsql.scalar.types import DATETIMES, STRING, Type, parse_type
from cepsql.scalar.typing import typed


class Unlike(Exception):
    """An expression is not known to mean the same in Arrow as in Spark; the text says which and why."""


def compile_expression(sql: str, columns: Mapping[str, Node], session: Session) -> Node:
    """Turn the Spark SQL of a value of one row into a typed expression over columns of the file.

    columns: what each column name, in lower case, stands for.
    Raises Unlike for all that is not known to be equal.
    """
    return compile_tree(parse_one(sql, read=DIALECT), columns, session)


def compile_tree(tree: exp.Expr, columns: Mapping[str, Node], session: Session) -> Node:
    """Do as `compile_expression` for a parsed expression."""

    def read(column: exp.Column) -> str:
        if column.name.lower() not in columns:
            raise Unlike(column.sql(dialect=DIALECT))
        return column.name.lower()

    _check_times(tree)
    try:
        node = typed(expression(_with_parts(tree), read), lambda name: columns[str(name)].type, session)
    except NotSupportedError as refusal:
        raise Unlike(refusal.message) from refusal
    return _substituted(_checked(node, session), columns)


_PARTS = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), exp.Year),
    **dict.fromkeys(("QUARTER", "QTR"), exp.Quarter),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), exp.Month),
    **dict.fromkeys(("WEEK", "W", "WEEKS"), exp.WeekOfYear),
    **dict.fromkeys(("DAY", "D", "DAYS"), exp.Day),
    **dict.fromkeys(("DAYOFWEEK", "DOW"), exp.DayOfWeek),
    **dict.fromkeys(("DOY",), exp.DayOfYear),
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), exp.Hour),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), exp.Minute),
}
"""The functions that EXTRACT stands for, by the words of Spark for its fields."""


def _with_parts(tree: exp.Expr) -> exp.Expr:
    """Return an expression with functions in place of EXTRACT."""

    def part(node: exp.Expr) -> exp.Expr:
        function = _PARTS.get(node.name.upper()) if isinstance(node, exp.Extract) else None
        return node if function is None else function(this=node.expression)

    return tree.transform(part) if tree.find(exp.Extract) else tree


def cast(node: Node, type: Type, session: Session) -> Node:
    """Return the value as another type.

    Raises Unlike if Arrow has no such cast.
    """
    try:
        converted = coercion.cast(node, type, session)
    except NotSupportedError as refusal:
        raise Unlike(refusal.message) from refusal
    return _checked(converted, session)


def _check_times(tree: exp.Expr) -> None:
    """Refuse TIMESTAMP 'noon', which is no SQL to Spark, and looks like a cast that gives NULL."""
    for node in tree.find_all(exp.Cast, exp.TryCast):
        read = isinstance(node.this, exp.Literal) and node.this.is_string and parse_type(node.to.sql(dialect=DIALECT))
        if read and read in DATETIMES and cast_function(STRING, read, STANDARD_SESSION)(node.this.this) is None:
            raise Unlike(f"{node.this.this!r} as {str(read).upper()}")


def _checked(node: Node, session: Session) -> Node:
    obstacle = arrow_obstacle(node, session)
    if obstacle:
        raise Unlike(obstacle)
    return node


def _substituted(node: Node, columns: Mapping[str, Node]) -> Node:
    """Put in what columns stand for, which are typed by themselves: a constant that has a name is none to Spark."""
    match node:
        case Input(leaf):
            return columns[leaf]
        case Apply(operation, arguments, type):
            return Apply(operation, tuple(_substituted(argument, columns) for argument in arguments), type)
    return node
