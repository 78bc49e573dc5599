"""The BACKFILL clause of a stream's definition."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.catalog import Backfill, ColumnDefinition, Relation, Source
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.statements import CreateSource
from cepsql.scalar.casts import cast_function
from cepsql.scalar.tree import Session
from cepsql.scalar.types import STRING, parse_type


def defined_backfill(create: CreateSource, find: Callable[[str, Span], Relation]) -> Backfill | None:
    """Return the rows that come before those of a stream, None if its definition names none.

    find: the relation of a name.
    Raises ProgrammingError for a stream without event time, a history without its columns, or a time that is no
    constant; NotSupportedError for a history that is no table over a source.
    """
    clause = create.backfill
    if clause is None:
        return None
    place = clause.history.span
    if create.watermark is None:
        raise ProgrammingError("BACKFILL needs an event time, and the stream has none", place, "add WATERMARK FOR")
    history = find(clause.history.text, place)
    if not isinstance(history, Source) or history.streaming:
        raise NotSupportedError(
            f"BACKFILL FROM needs a table with its own source, and {clause.history.text} has none",
            place,
            "CREATE TABLE ... USING defines one",
        )
    for column in create.columns:
        _check_column(column, history, place)
    return Backfill(history, _constant(clause.until, place))


def _check_column(column: ColumnDefinition, history: Source, place: Span) -> None:
    # What a record carries beside its value is known of records only.
    if column.expression is not None:
        return
    found = next((c for c in history.columns if c.name.lower() == column.name.lower()), None)
    if found is None and column.metadata is None:
        known = suggestion(column.name, [c.name for c in history.columns], "columns")
        raise ProgrammingError(f"the history {history.name} has no column {column.name}", place, known)
    if found is not None and _type(found) != _type(column):
        raise ProgrammingError(
            f"the column {column.name} is {column.type} in the stream and {found.type} in its history {history.name}",
            place,
            "declare it with one type in both",
        )


def _type(column: ColumnDefinition) -> str:
    return "".join(column.type.lower().split()).replace("integer", "int")


def _constant(until: exp.Expr, default: Span) -> str:
    """Return the Spark SQL of a constant TIMESTAMP."""
    kind = until.to.sql(dialect="spark").upper() if isinstance(until, exp.Cast) else ""
    text = until.this if kind in ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE") else None
    if not isinstance(text, exp.Literal) or cast_function(STRING, parse_type(kind), Session())(text.name) is None:
        raise ProgrammingError(
            "UNTIL takes a constant time", span_of(until, default), "UNTIL TIMESTAMP '2026-03-02 09:00:00'"
        )
    return f"{kind} '{text.name}'"
