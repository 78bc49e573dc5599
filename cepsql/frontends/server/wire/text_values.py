"""Values that arrive as text, with the types of the columns that they are compared with."""

import datetime
import decimal
from collections.abc import Iterable, Mapping

from sqlglot import exp

from cepsql.catalog import MaterializedView
from cepsql.errors import DataError
from cepsql.language.statements import ParsedQuery
from cepsql.scalar.types import FRACTIONS, INTEGERS, is_decimal, parse_type

_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.NullSafeEQ)


def text_value(text: str, kind: str, name: str) -> object:
    """Return the value of a Spark type that a text stands for; raises DataError for an invalid text.

    name: the name of the column or parameter, for the message.

    >>> text_value("4", "bigint", "n"), text_value("4", "string", "city")
    (4, '4')
    """
    wanted = parse_type(kind)
    try:
        if wanted in INTEGERS:
            return int(text)
        if wanted in FRACTIONS:
            return float(text)
        if is_decimal(wanted):
            return decimal.Decimal(text)
        if wanted.name == "boolean":
            return {"true": True, "false": False}[text.lower()]
        if wanted.name == "date":
            return datetime.date.fromisoformat(text)
        if wanted.name in ("timestamp", "timestamp_ntz"):
            return datetime.datetime.fromisoformat(text)
    except (ValueError, KeyError, ArithmeticError):
        raise DataError(f"{name} is of type {kind.upper()}, which {text!r} is not") from None
    return text


def compared_values(
    query: ParsedQuery, arguments: Mapping[str, str], views: Iterable[MaterializedView]
) -> dict[str, object]:
    """Return the values of the parameters of a query from texts; one that is not compared with a column stays a text.

    Raises DataError for a text that is not a value of the type of the column.
    """
    read = {table.name.lower() for table in query.expression.find_all(exp.Table)}
    types: dict[str, str] = {}
    for view in views:
        if view.name.lower() in read:
            types |= {column.name.lower(): column.type for column in view.columns}
    values: dict[str, object] = dict(arguments)
    for comparison in query.expression.find_all(*_COMPARED):
        columns = [node for node in comparison.iter_expressions() if isinstance(node, exp.Column)]
        kind = next((types[column.name.lower()] for column in columns if column.name.lower() in types), None)
        for node in comparison.iter_expressions():
            if kind is not None and isinstance(node, exp.Placeholder) and node.name in arguments:
                values[node.name] = text_value(arguments[node.name], kind, node.name)
    return values
