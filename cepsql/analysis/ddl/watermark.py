"""The WATERMARK FOR clause of a stream's definition."""

from sqlglot import exp

from cepsql.analysis.sql.epoch_times import OTHER_UNITS, is_number, made_time
from cepsql.analysis.sql.intervals import interval_micros, interval_of_seconds
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.statements import CreateSource, Name, WatermarkClause

_MAKING = ("TIMESTAMP_SECONDS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS")


def defined_watermark(create: CreateSource) -> Watermark | None:
    """Return the watermark that a definition gives, None if it has none.

    Raises ProgrammingError if a column is unknown or no time, the expression is not `column - constant interval`, a
    clause needs another one or a longer interval; and NotSupportedError for what is computed from several rows.
    """
    clause = create.watermark
    if clause is None:
        return None
    place = clause.column.span
    column = _column(clause.column, create)
    _check_time(clause, column)
    if clause.idle is not None and clause.producer is None:
        raise ProgrammingError(
            "WITH IDLE TIMEOUT needs BY, which names the producers of rows",
            span_of(clause.idle, place),
            "BY device WITH IDLE TIMEOUT INTERVAL '1' MINUTE; WITH HEARTBEAT is for a stream that falls silent",
        )
    beat, idle = "WITH HEARTBEAT INTERVAL '1' MINUTE", "WITH IDLE TIMEOUT INTERVAL '1' MINUTE"
    return Watermark(
        column.name,
        _delay(clause, column),
        heartbeat=interval_of_seconds(clause.heartbeat, place, "a heartbeat must be at least one second", beat),
        ahead=_ahead(clause),
        reference=_row_expression(clause.reference, create, "AHEAD AT MOST ... OF", "OF received_at"),
        producer=None if clause.producer is None else _column(clause.producer, create).name,
        idle=interval_of_seconds(clause.idle, place, "an idle timeout must be at least one second", idle),
        punctuation=_row_expression(clause.punctuation, create, "WITH PUNCTUATION WHEN", "WHEN kind = 'end of minute'"),
        late_alert=_share(clause.late_alert, place),
    )


def _column(name: Name, create: CreateSource) -> ColumnDefinition:
    found = next((c for c in create.columns if c.name.lower() == name.text.lower()), None)
    if found is None:
        known = suggestion(name.text, [c.name for c in create.columns], "columns")
        raise ProgrammingError(f"the stream has no column {name.text}", name.span, known)
    return found


def _check_time(clause: WatermarkClause, column: ColumnDefinition) -> None:
    if column.type.lower().startswith(("timestamp", "date")):
        return
    numeric = is_number(column.type)
    computed = made_time(column.name, column.type) if numeric else f"to_timestamp({column.name})"
    calls = clause.expression.find_all(exp.Anonymous, exp.Func)
    written = next((call for call in calls if sql_of(call).upper().startswith(_MAKING)), None)
    others = f" ({OTHER_UNITS})" if written is None and computed == f"timestamp_millis({column.name})" else ""
    if written is not None:
        computed = sql_of(written).lower()
    name = "at" if column.name.lower() != "at" else "ts"
    raise ProgrammingError(
        f"the event time {column.name} is of type {column.type}, not TIMESTAMP",
        clause.column.span,
        f"compute one: {name} TIMESTAMP AS {computed}, WATERMARK FOR {name} AS {name} - INTERVAL '10' SECONDS{others}",
    )


def _delay(clause: WatermarkClause, column: ColumnDefinition) -> int:
    delayed, delay = clause.expression.unnest(), 0
    span = span_of(clause.expression, clause.column.span)
    if isinstance(delayed, exp.Sub):
        delay = interval_micros(delayed.expression, span)
        delayed = delayed.this
        if delay < 0:
            raise ProgrammingError("a watermark lies behind the event time, not before it", span)
    if not isinstance(delayed, exp.Column) or delayed.name.lower() != column.name.lower():
        raise ProgrammingError(
            "a watermark is the event time less a constant interval",
            span,
            f"WATERMARK FOR {column.name} AS {column.name} - INTERVAL '10' SECONDS",
        )
    return delay


def _ahead(clause: WatermarkClause) -> int | None:
    if clause.ahead is None:
        return None
    span = span_of(clause.ahead, clause.column.span)
    micros = interval_micros(clause.ahead, span)
    if micros < 0:
        raise ProgrammingError("AHEAD AT MOST takes no negative interval", span, "AHEAD AT MOST INTERVAL '1' HOUR")
    return micros


def _share(percent: exp.Expr | None, default: Span) -> float | None:
    if percent is None:
        return None
    try:
        share = float(percent.name) / 100 if isinstance(percent, exp.Literal) and not percent.is_string else -1.0
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise ProgrammingError(
            "WITH LATE ALERT ABOVE takes a number from 0 to below 100",
            span_of(percent, default),
            "WITH LATE ALERT ABOVE 5 PERCENT",
        )
    return share


def _row_expression(expression: exp.Expr | None, create: CreateSource, clause: str, example: str) -> str | None:
    """Return the Spark SQL of an expression that reads a single row of the stream."""
    if expression is None:
        return None
    assert create.watermark is not None
    place = create.watermark.column.span
    for column in expression.find_all(exp.Column):
        parts = [part.name.lower() for part in column.parts]
        if not any(c.name.lower() == parts[0] for c in create.columns):
            hint = suggestion(column.name, [c.name for c in create.columns], "columns")
            raise ProgrammingError(f"the stream has no column {column.name}", span_of(column, place), hint)
    wrong = expression.find(exp.AggFunc, exp.Window, exp.Query)
    if wrong is not None:
        raise NotSupportedError(f"{clause} reads a single row", span_of(wrong, place), f"such as {example}")
    return sql_of(expression)
