"""The columns of a query beside those that a sink declares."""

from collections.abc import Sequence

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.catalog import Sink
from cepsql.errors import ProgrammingError, suggestion
from cepsql.scalar.types import DOUBLE, FLOAT, INTEGERS, STRING, TIMESTAMP, UNKNOWN, Type, is_decimal, parse_type

_DIGITS = dict(zip(INTEGERS, (3, 5, 10, 19), strict=True))

Columns = Sequence[tuple[str, str]]
"""Names with Spark types."""

DATABASES = ("sqlite", "postgresql")
"""Formats of sinks whose rows can be updated and deleted by a key."""


def applies_changes(sink: Sink) -> bool:
    """Tell whether changes are applied to what a sink holds, by its key: in a database, or a topic of Kafka, unless it
    has a column of its own for what a row does."""
    kept = any(column.name.lower() == OPERATION for column in sink.columns)
    return sink.format.lower() in (*DATABASES, "kafka") and bool(sink.key) and not kept


def written_columns(sink: Sink, columns: Columns, changes: bool) -> Columns:
    """Return the columns of a query that are written.

    changes: its rows are changes, with a column OPERATION.
    Raises ProgrammingError if they are, and the sink can do nothing with them.
    """
    if changes and applies_changes(sink):
        return [(name, kind) for name, kind in columns if name != OPERATION]
    declared = [column.name.lower() for column in sink.columns]
    if changes and declared and OPERATION not in declared:
        raise ProgrammingError(
            f"sink {sink.name} takes no changes",
            hint=f"it needs a PRIMARY KEY in a database or Kafka, or a column {OPERATION} STRING to keep them as rows",
        )
    return columns


def fitted_columns(sink: Sink, columns: Columns) -> list[tuple[str, str, str]]:
    """Return what is written, in the order of the sink: the query's column, the name in the sink, and the type there.

    Columns are found by name, in any order. Without declared columns the sink takes what comes.
    Raises ProgrammingError if one is missing or too many, if a value might not fit, or if the key has another one.
    """
    fitted = _declared(sink, columns) if sink.columns else [(name, name, kind) for name, kind in columns]
    names = [name.lower() for _, name, _ in fitted]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ProgrammingError(f"two columns for sink {sink.name} are named {twice}", hint="AS gives another name")
    for name in sink.key:
        if name.lower() not in names:
            hint = suggestion(name, [name for _, name, _ in fitted], "columns")
            raise ProgrammingError(f"the key of sink {sink.name} has {name}, which the query does not give", hint=hint)
    return fitted


def check_names(sink: Sink, names: Sequence[str]) -> None:
    """Refuse columns of these names that are not those that a sink declares, whatever their types.

    Raises ProgrammingError if one is missing or too many.
    """
    if not sink.columns:
        return
    listed = ", ".join(f"{column.name} {column.type}" for column in sink.columns)
    given, wanted = {name.lower() for name in names}, {column.name.lower() for column in sink.columns}
    for column in sink.columns:
        if column.name.lower() not in given:
            hint = f"AS gives a column its name; {sink.name} takes {listed}"
            raise ProgrammingError(f"the query gives no column {column.name} for sink {sink.name}", hint=hint)
    for name in names:
        if name.lower() not in wanted:
            raise ProgrammingError(f"sink {sink.name} has no column {name}", hint=f"{sink.name} takes {listed}")


def key_columns(sink: Sink, fitted: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the names of the key as the columns are written."""
    written = {name.lower(): name for _, name, _ in fitted}
    return [written[name.lower()] for name in sink.key]


def _declared(sink: Sink, columns: Columns) -> list[tuple[str, str, str]]:
    check_names(sink, [name for name, _ in columns])
    given = {name.lower(): (name, kind) for name, kind in columns}
    fitted = []
    for column in sink.columns:
        name, kind = given[column.name.lower()]
        if not fits(kind, column.type):
            hint = f"CAST({name} AS {column.type}) AS {column.name} says that it is meant"
            raise ProgrammingError(f"{name} is {kind}, and sink {sink.name} takes {column.type}", hint=hint)
        fitted.append((name, column.name, column.type))
    return fitted


def fits(given: str, wanted: str) -> bool:
    """Tell whether every value of one type is one of the other."""
    left, right = parse_type(given), parse_type(wanted)
    if UNKNOWN in (left, right):
        return _spelled(given) == _spelled(wanted)
    return left == right or left.name == "void" or _widens(left, right)


def _widens(left: Type, right: Type) -> bool:
    if left in INTEGERS:
        if right in INTEGERS:
            return INTEGERS.index(left) <= INTEGERS.index(right)
        if is_decimal(right):
            return right.precision - right.scale >= _DIGITS[left]
        return right == DOUBLE and left != INTEGERS[-1]
    if is_decimal(left) and is_decimal(right):
        return right.scale >= left.scale and right.precision - right.scale >= left.precision - left.scale
    if left.name == "array" == right.name:
        return _widens(left.arguments[0], right.arguments[0]) or left == right
    return (left == FLOAT and right == DOUBLE) or (left.name == "date" and right in (TIMESTAMP, STRING))


def _spelled(kind: str) -> str:
    return "".join(kind.lower().split())
