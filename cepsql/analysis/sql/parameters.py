"""Values for the parameters of statements: `:name`, or `?` in the order of the text."""

import datetime
import decimal
import enum
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.python_values import python_value
from cepsql.errors import InterfaceError, NotSupportedError, ProgrammingError, Span, at_place, suggestion
from cepsql.language.islands import PLACED
from cepsql.language.statements import ParsedQuery
from cepsql.language.stray import HALF_CHARACTER
from cepsql.scalar.decimals import exponent

_FORMS = 'values for ? are given as a list, those for :name as a mapping, such as {"limit": 5}'

_TYPES = "numbers, texts, bytes, True and False, dates, times, timedelta, None, and lists of these can be"


def named_values(statements: Sequence, args: Mapping[str, object] | Sequence) -> Mapping[str, object]:
    """Return the values of the parameters of a text's statements by name.

    args: values by name, or those of every `?` in order.
    Raises InterfaceError for anything else, and for another number of values than there are `?`.
    """
    if isinstance(args, Mapping):
        for name in args:
            if not isinstance(name, str):
                raise InterfaceError(f"the names of parameters are texts, not {name!r}", hint=_FORMS)
            if name.startswith(":"):
                raise InterfaceError(f"the name of a parameter is given without its colon, not {name!r}", hint=_FORMS)
        return args
    if not isinstance(args, Sequence) or isinstance(args, str | bytes):
        frame = "a DataFrame cannot be called args, which is the name of the values of parameters: give it another one"
        # Those of Spark, pandas and Polars, and Arrow tables, have columns.
        hint = frame if hasattr(args, "columns") else _FORMS
        raise InterfaceError(f"args are the values of parameters, not {type(args).__name__}", hint=hint)
    places = sorted({place for node in _expressions(statements) for place in _places(node)})
    if len(places) != len(args):
        raise InterfaceError(
            f"the text has {len(places)} parameters ?, and {len(args)} values were given",
            hint="values for parameters :name are given as a mapping",
        )
    return {f"{PLACED}{place}": value for place, value in zip(places, args, strict=True)}


def _places(expression: exp.Expr) -> Iterator[int]:
    """Yield the characters at which a `?` stands."""
    for node in expression.find_all(exp.Placeholder):
        if node.name.startswith(PLACED):
            yield int(node.name.removeprefix(PLACED))


def bind_parameters(statement, args: Mapping[str, object]):
    """Return the statement with a literal for every `:name`.

    Raises ProgrammingError for a parameter without value, InterfaceError for a value that no literal can hold.
    """
    places = {named.text: named.span for query in _queries(statement) for named in reversed(query.parameters)}
    used = {node.name for expression in _expressions(statement) for node in expression.find_all(exp.Placeholder)}
    if not used and not places:
        return statement
    literals = {
        name: _literal_at(value, places.get(name)) for name, value in args.items() if name in used or name in places
    }

    def bind(expression: exp.Expr) -> exp.Expr:
        def value(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Placeholder):
                return node
            name = node.name
            if name not in literals and name.startswith(PLACED):
                at = int(name.removeprefix(PLACED))
                raise ProgrammingError("no value was given for ?", Span(at, at + 1), _FORMS)
            if name not in literals:
                in_order = any(argument.startswith(PLACED) for argument in args)
                hint = _FORMS if in_order else suggestion(name, args, "given")
                raise ProgrammingError(f"no value was given for :{name}", places.get(name), hint)
            return literals[name].copy()

        return expression.transform(value) if expression.find(exp.Placeholder) else expression

    return _map(statement, bind, {name: sql_of(value) for name, value in literals.items()})


def refuse_parameters(statement, what: str, span: Span) -> None:
    """Refuse a statement whose text is kept, and that has named parameters.

    Raises NotSupportedError.
    """

    def refuse(expression: exp.Expr) -> exp.Expr:
        placeholder = expression.find(exp.Placeholder)
        if placeholder is not None:
            hint = "write the value, or build the text of the statement in your program"
            written = "?" if placeholder.name.startswith(PLACED) else f":{placeholder.name}"
            raise NotSupportedError(f"the parameter {written} in {what} is not supported", span, hint)
        return expression

    _map(statement, refuse, {})


def _literal_at(value: object, place: Span | None) -> exp.Expr:
    with at_place(place):
        return literal(value)


def literal(value: object) -> exp.Expr:
    """Return a Python value, or a scalar of NumPy or pandas, as an SQL literal.

    Raises InterfaceError for a value that no literal can hold.

    >>> literal(decimal.Decimal("1.5")).sql(dialect="spark"), literal("it's").sql(dialect="spark")
    ("CAST('1.5' AS DECIMAL(2, 1))", "'it\\\\'s'")
    """
    if isinstance(value, exp.Expr):
        # A constant of EXECUTE is one already.
        return value
    plain = python_value(value)
    match plain:
        case None:
            return exp.null()
        case bool():
            return exp.true() if plain else exp.false()
        case str() if (half := HALF_CHARACTER.search(plain)) is not None:
            raise InterfaceError(
                f"a parameter cannot have {ascii(half[0])[1:-1]}, which is half a character",
                hint="decode bytes as the text that they are, or give them as bytes",
            )
        case int() | str():
            return exp.convert(plain)
        case bytes() | bytearray() | memoryview():
            return exp.HexString(this=plain.hex().upper())
        case float():
            return exp.cast(exp.Literal.string(repr(plain)), "double")
        case decimal.Decimal() if plain.is_finite():
            power = exponent(plain)
            scale = max(0, -power)
            precision = max(len(plain.as_tuple().digits) + max(0, power), scale)
            return exp.cast(exp.Literal.string(format(plain, "f")), f"decimal({precision}, {scale})")
        case datetime.datetime():
            kind = "timestamp_ntz" if plain.tzinfo is None else "timestamp"
            return exp.cast(exp.Literal.string(plain.isoformat(" ")), exp.DataType.build(kind, dialect="spark"))
        case datetime.date():
            return exp.cast(exp.Literal.string(plain.isoformat()), "date")
        case datetime.timedelta():
            micros = plain // datetime.timedelta(microseconds=1)
            return exp.Interval(this=exp.Literal.string(str(micros)), unit=exp.var("MICROSECONDS"))
        case list() | tuple():
            return exp.Array(expressions=[literal(item) for item in plain])
        case decimal.Decimal():
            raise InterfaceError(f"a parameter cannot be Decimal('{plain}')", hint="a float can be")
        case enum.Enum():
            raise InterfaceError(f"a parameter cannot be {plain}", hint=f"{plain}.value may be one")
        case uuid.UUID():
            raise InterfaceError("a parameter cannot be a UUID", hint="str() of it can be")
    frame = "register() of the engine gives a DataFrame a name, which FROM takes"
    raise InterfaceError(
        f"a parameter cannot be a {type(value).__name__}", hint=frame if hasattr(value, "columns") else _TYPES
    )


def _expressions(node) -> Iterator[exp.Expr]:
    """Yield the sqlglot expressions in a tree of dataclasses and sequences."""
    if isinstance(node, exp.Expr):
        yield node
    elif isinstance(node, tuple | list):
        for item in node:
            yield from _expressions(item)
    elif is_dataclass(node) and not isinstance(node, type):
        for part in fields(node):
            yield from _expressions(getattr(node, part.name))


def _queries(node) -> Iterator[ParsedQuery]:
    """Yield the queries in a statement."""
    if isinstance(node, ParsedQuery):
        yield node
    elif is_dataclass(node) and not isinstance(node, type):
        for part in fields(node):
            yield from _queries(getattr(node, part.name))


def _map(node, change, values: Mapping[str, str]):
    """Apply `change` to every sqlglot expression in a tree of dataclasses and tuples, and note the values' SQL."""
    if isinstance(node, exp.Expr):
        return change(node)
    if isinstance(node, tuple):
        return tuple(_map(item, change, values) for item in node)
    if is_dataclass(node) and not isinstance(node, type):
        changed = {f.name: _map(getattr(node, f.name), change, values) for f in fields(node)}
        if isinstance(node, ParsedQuery) and node.parameters:
            changed["values"] = values
        different = {name: value for name, value in changed.items() if value is not getattr(node, name)}
        return replace(node, **different) if different else node
    return node
