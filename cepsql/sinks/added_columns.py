"""The columns of a query compared with those that a sink declares."""

from collections.abc import Sequence

from cepsql.analysis.clauses.emit_clause import OPERATION
from cepsql.catalog import Sink
from cepsql.errors import ProgrammingError, suggestion
from cepsql.scalar.types import DOUBLE, FLOAT, INTEGERS, STRING, TIMESTAMP, UNKNOWN, Type, is_decimal, parse_type

_DIGITS = dict(zip(INTEGERS, (3, 5, 10, 19), strict=True))

Columns = Sequence[tuple[str, str]]
"""Names with Spark types."""

DATABASES = ("sqlite", "postgresql")
"""Formats of sinks that can update and delete rows by a key."""


def applies_changes(sink: Sink) -> bool:
    """Tell whether a sink applies changes by its key: a database or a topic of Kafka does, unless it declares a column
    OPERATION."""
    has_operation_column = any(column.name.lower() == OPERATION for column in sink.columns)
    return sink.format.lower() in (*DATABASES, "kafka") and bool(sink.key) and not has_operation_column


def written_columns(sink: Sink, columns: Columns, changes: bool) -> Columns:
    """Return the columns of a query that a sink writes.

    changes: whether the rows are changes, with a column OPERATION.
    Raises ProgrammingError if they are, and the sink supports no changes.
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
    """Return for each column of the sink, in order: the query's column, the name in the sink, and the type there.

    Columns are matched by name. Without declared columns the sink takes all columns of the query.
    Raises ProgrammingError for a missing column, an unknown one, or one whose values might not fit, and for a key
    column that the query lacks.
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
    """Check that these names are those of the columns that a sink declares.

    Raises ProgrammingError for a missing column or an unknown one.
    """
    if not sink.columns:
        return
    listed = ", ".join(f"{column.name} {column.type}" for column in sink.columns)
    query_names, wanted = {name.lower() for name in names}, {column.name.lower() for column in sink.columns}
    for column in sink.columns:
        if column.name.lower() not in query_names:
            hint = f"AS gives a column its name; {sink.name} takes {listed}"
            raise ProgrammingError(f"the query gives no column {column.name} for sink {sink.name}", hint=hint)
    for name in names:
        if name.lower() not in wanted:
            raise ProgrammingError(f"sink {sink.name} has no column {name}", hint=f"{sink.name} takes {listed}")


def key_columns(sink: Sink, fitted: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the names of the key columns in the case of the written columns."""
    written = {name.lower(): name for _, name, _ in fitted}
    return [written[name.lower()] for name in sink.key]


def _declared(sink: Sink, columns: Columns) -> list[tuple[str, str, str]]:
    check_names(sink, [name for name, _ in columns])
    columns_by_name = {name.lower(): (name, kind) for name, kind in columns}
    fitted = []
    for column in sink.columns:
        name, kind = columns_by_name[column.name.lower()]
        if not fits(kind, column.type):
            hint = f"CAST({name} AS {column.type}) AS {column.name} says that it is meant"
            raise ProgrammingError(f"{name} is {kind}, and sink {sink.name} takes {column.type}", hint=hint)
        fitted.append((name, column.name, column.type))
    return fitted


def fits(kind: str, wanted: str) -> bool:
    """Tell whether every value of a type is a value of the wanted type."""
    left, right = parse_type(kind), parse_type(wanted)
    if UNKNOWN in (left, right):
        return _spelled(kind) == _spelled(wanted)
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
