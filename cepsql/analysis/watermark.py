"""The WATERMARK FOR clause of a stream's definition."""

from sqlglot import exp

from cepsql.analysis.intervals import interval_micros
from cepsql.analysis.positions import span_of
from cepsql.catalog import Watermark
from cepsql.errors import ProgrammingError, Span, suggestion
from cepsql.language.statements import CreateSource

_SECOND = 1_000_000


def defined_watermark(create: CreateSource) -> Watermark | None:
    """Return the event-time column, delay and heartbeat that a definition gives, None if it has no watermark.

    Raises ProgrammingError if the column is unknown or no time, the expression not `column - constant interval`, or the
    heartbeat no interval of a second or more.
    """
    if create.watermark is None:
        return None
    name, expression, heartbeat = create.watermark
    column = next((c for c in create.columns if c.name.lower() == name.text.lower()), None)
    if column is None:
        known = suggestion(name.text, [c.name for c in create.columns], "columns")
        raise ProgrammingError(f"the stream has no column {name.text}", name.span, known)
    if not column.type.lower().startswith(("timestamp", "date")):
        raise ProgrammingError(
            f"the event time {column.name} is of type {column.type}, not TIMESTAMP",
            name.span,
            "compute one: ts TIMESTAMP AS to_timestamp(text)",
        )
    delayed = expression.unnest()
    if isinstance(delayed, exp.Sub):
        span = span_of(expression, name.span)
        delay = interval_micros(delayed.expression, span)
        delayed = delayed.this
        if delay < 0:
            raise ProgrammingError("a watermark lies behind the event time, not before it", span)
    else:
        delay = 0
    if not isinstance(delayed, exp.Column) or delayed.name.lower() != column.name.lower():
        raise ProgrammingError(
            "a watermark is the event time less a constant interval",
            span_of(expression, name.span),
            f"WATERMARK FOR {column.name} AS {column.name} - INTERVAL '10' SECONDS",
        )
    return Watermark(column.name, delay, None if heartbeat is None else _heartbeat(heartbeat, name.span))


def _heartbeat(expression: exp.Expr, default: Span) -> int:
    span = span_of(expression, default)
    micros = interval_micros(expression, span)
    if micros < _SECOND:
        raise ProgrammingError("a heartbeat is a second or more", span, "WITH HEARTBEAT INTERVAL '1' MINUTE")
    return micros
