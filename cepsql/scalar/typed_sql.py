"""Typed expressions as Spark SQL, in which every cast is written out."""

from collections.abc import Callable
from decimal import Decimal

from cepsql.base.calendar import time_text
from cepsql.scalar.decimals import decimal_of_literal
from cepsql.scalar.expressions import Apply, Constant, Input, Node, Parameter
from cepsql.scalar.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    is_decimal,
)


def spark_sql(node: Node, read: Callable[[Input], str] = lambda node: str(node.leaf)) -> str:
    """Return the Spark SQL of a typed expression, which has the same type and value there.

    read: writes an input.
    """
    match node:
        case Constant():
            return _constant(node)
        case Input(Parameter(name)):
            return name
        case Apply(operation, arguments):
            texts = [spark_sql(argument, read) for argument in arguments]
            writer = _WRITERS.get(operation)
            if writer is not None:
                return writer(node, texts)
            template = _TEMPLATES.get(operation)
            return f"{operation}({', '.join(texts)})" if template is None else template.format(*texts)
    return read(node)


def _constant(node: Constant) -> str:
    value, type = node.value, node.type
    if value is None:
        return "NULL" if type == VOID else f"CAST(NULL AS {type})"
    if type == BOOLEAN:
        return "TRUE" if value else "FALSE"
    if type in (INT, BIGINT):
        text = f"{value}{'L' if type == BIGINT else ''}"
        return f"({text})" if value < 0 else text
    if type == STRING:
        return _quoted(value)
    if type == DATE:
        return f"date_from_unix_date({value})"
    if type == TIMESTAMP:
        return f"timestamp_micros({value})"
    if type == TIMESTAMP_NTZ:
        return f"CAST({_quoted(time_text(value))} AS timestamp_ntz)"
    if type.name == "interval":
        seconds = Decimal(value).scaleb(-6)
        return f"CAST(INTERVAL '{seconds:f}' SECOND AS {type})"
    if is_decimal(type) and decimal_of_literal(value) == type:
        return f"({value:f}BD)" if value < 0 else f"{value:f}BD"
    text = str(value) if type in INTEGERS or is_decimal(type) else repr(value)
    return f"CAST({_quoted(text)} AS {type})"


def _quoted(text: str) -> str:
    """Return a text as a literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _case(node: Apply, texts: list[str]) -> str:
    branches = zip(texts[:-1:2], texts[1::2], strict=False)
    return f"CASE {' '.join(f'WHEN {a} THEN {b}' for a, b in branches)} ELSE {texts[-1]} END"


def _cast(node: Apply, texts: list[str]) -> str:
    return f"{node.operation.upper()}({texts[0]} AS {node.type})"


def _connected(node: Apply, texts: list[str]) -> str:
    return f"({f' {node.operation.upper()} '.join(texts)})"


def _sum(node: Apply, texts: list[str]) -> str:
    """+ and -, which have other names for dates and days."""
    sign = "+" if node.operation == "add" else "-"
    days = [argument.type for argument in node.arguments].count(DATE)
    name = {1: f"date_{node.operation}", 2: "datediff"}.get(days)
    return f"({texts[0]} {sign} {texts[1]})" if name is None else f"{name}({texts[0]}, {texts[1]})"


def _in(node: Apply, texts: list[str]) -> str:
    return f"({texts[0]} IN ({', '.join(texts[1:])}))"


def _trim(node: Apply, texts: list[str]) -> str:
    side = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[node.operation]
    return f"trim({side} {texts[1]} FROM {texts[0]})" if len(texts) == 2 else f"{node.operation}({texts[0]})"


def _like(node: Apply, texts: list[str]) -> str:
    escape = f" ESCAPE {texts[2]}" if len(texts) == 3 else ""
    return f"({texts[0]} {node.operation.upper()} {texts[1]}{escape})"


def _locate(node: Apply, texts: list[str]) -> str:
    return f"locate({', '.join([texts[1], texts[0], *texts[2:]])})"


def _of_elements(node: Apply, texts: list[str]) -> str:
    names = ", ".join(texts[1:-1])
    # Spark takes brackets round several names only.
    return f"{node.operation}({texts[0]}, {f'({names})' if len(texts) > 3 else names} -> {texts[-1]})"


_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
_TEMPLATES = {
    "not": "(NOT {0})", "isnull": "({0} IS NULL)", "eq": "({0} = {1})", "ne": "({0} <> {1})", "lt": "({0} < {1})",
    "le": "({0} <= {1})", "gt": "({0} > {1})", "ge": "({0} >= {1})", "nseq": "({0} <=> {1})", "mul": "({0} * {1})",
    "div": "({0} / {1})", "mod": "({0} % {1})", "intdiv": "({0} DIV {1})", "neg": "(- {0})", "bitand": "({0} & {1})",
    "bitor": "({0} | {1})", "bitxor": "({0} ^ {1})", "bitnot": "(~ {0})", "subscript": "{0}[{1}]",
    "array_equal": "({0} = {1})",
    "lookup": "try_element_at({0}, {1})", "array_reverse": "reverse({0})",
    "add interval": "({0} + {1})", "sub interval": "({0} - {1})", "mul interval": "({0} * {1})",
    "div interval": "({0} / {1})", "between days": "({0} - {1})", "days": "CAST(extract(DAY FROM {0}) AS int)",
    "shiftleft": "shiftleft({0}, {1})", "shiftright": "shiftright({0}, {1})",
    **{f"{unit}s_between": f"timestampdiff({unit.upper()}, {{1}}, {{0}})" for unit in _UNITS},
}  # fmt: skip
"""Operations that are no calls of their own name."""

_WRITERS: dict[str, Callable[[Apply, list[str]], str]] = {
    "case": _case,
    "cast": _cast,
    "try_cast": _cast,
    **dict.fromkeys(("transform", "filter", "exists", "forall"), _of_elements),
    **dict.fromkeys(("and", "or"), _connected),
    **dict.fromkeys(("add", "sub"), _sum),
    "in": _in,
    **dict.fromkeys(("trim", "ltrim", "rtrim"), _trim),
    **dict.fromkeys(("like", "ilike"), _like),
    "locate": _locate,
    "array_concat": lambda node, texts: f"concat({', '.join(texts)})",
}
