"""Values for the named parameters of a statement."""

import datetime
import decimal
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

from sqlglot import exp

from cepsql.errors import InterfaceError, ProgrammingError, suggestion
from cepsql.scalar.decimals import exponent


def bind_parameters(statement, args: Mapping[str, object]):
    """Return the statement with a literal for every `:name`.

    Raises ProgrammingError for a parameter without value, InterfaceError for a value that no literal can hold.
    """
    literals = {name: literal(value) for name, value in args.items()}

    def bind(expression: exp.Expr) -> exp.Expr:
        def value(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Placeholder):
                return node
            name = node.name
            if name in ("", "?"):
                raise ProgrammingError("a parameter has a name, like :limit")
            if name not in literals:
                raise ProgrammingError(f"no value was given for :{name}", hint=suggestion(name, literals, "given"))
            return literals[name].copy()

        return expression.transform(value) if expression.find(exp.Placeholder) else expression

    return _map(statement, bind)


def literal(value: object) -> exp.Expr:
    """Return a Python value as an SQL literal.

    >>> literal(decimal.Decimal("1.5")).sql(dialect="spark"), literal("it's").sql(dialect="spark")
    ("CAST('1.5' AS DECIMAL(2, 1))", "'it\\\\'s'")
    """
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | str():
            return exp.convert(value)
        case float():
            return exp.cast(exp.Literal.string(repr(value)), "double")
        case decimal.Decimal() if value.is_finite():
            power = exponent(value)
            scale = max(0, -power)
            precision = max(len(value.as_tuple().digits) + max(0, power), scale)
            return exp.cast(exp.Literal.string(format(value, "f")), f"decimal({precision}, {scale})")
        case datetime.datetime():
            kind = "timestamp_ntz" if value.tzinfo is None else "timestamp"
            return exp.cast(exp.Literal.string(value.isoformat(" ")), exp.DataType.build(kind, dialect="spark"))
        case datetime.date():
            return exp.cast(exp.Literal.string(value.isoformat()), "date")
        case datetime.timedelta():
            micros = value // datetime.timedelta(microseconds=1)
            return exp.Interval(this=exp.Literal.string(str(micros)), unit=exp.var("MICROSECONDS"))
        case list() | tuple():
            return exp.Array(expressions=[literal(item) for item in value])
        case decimal.Decimal():
            raise InterfaceError(f"a parameter cannot be Decimal('{value}')", hint="a float can be")
    raise InterfaceError(f"a parameter cannot be a {type(value).__name__}")


def _map(node, change):
    """Apply `change` to every sqlglot expression in a tree of dataclasses and tuples."""
    if isinstance(node, exp.Expr):
        return change(node)
    if isinstance(node, tuple):
        return tuple(_map(item, change) for item in node)
    if is_dataclass(node) and not isinstance(node, type):
        changed = {f.name: _map(getattr(node, f.name), change) for f in fields(node)}
        different = {name: value for name, value in changed.items() if value is not getattr(node, name)}
        return replace(node, **different) if different else node
    return node
