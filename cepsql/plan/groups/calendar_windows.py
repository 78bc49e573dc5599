"""window(ts, '1 day'), in Spark's own spelling: days, weeks, months and years are those of the session's time zone."""

from dataclasses import replace

from sqlglot import exp, parse_one

from cepsql.analysis.clauses.assigned_window_calls import HOPPING, TUMBLING, AssignedWindows, check_lengths
from cepsql.analysis.clauses.window_sql import window_structs
from cepsql.analysis.sql.lengths import DAYS, WEEKS, Length, window_length
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.base.calendar import DAY
from cepsql.errors import Span
from cepsql.language.tokens import DIALECT
from cepsql.plan.tree.nodes import Sql

_WINDOW = "window"


def calendar_windows(
    call: exp.Expr, time: str, time_type: str, place: Span, fixed: bool = False
) -> AssignedWindows | None:
    """Return the windows of a call of window(...) by a column, None if no calendar measures them.

    time:  the column; of its type only TIMESTAMP has days of different lengths, months have them always.
    fixed: those of a fixed length, too.
    Raises ProgrammingError for lengths that are none.
    """
    arguments = call.expressions[1:]
    if call.name.upper() != "WINDOW" or not 1 <= len(arguments) <= 3:
        return None
    lengths = [_length(argument, place) for argument in arguments]
    if None in lengths:
        return None
    constants = [length for length in lengths if length is not None]
    if time_type == "timestamp_ntz":
        constants = [_of_days(length) for length in constants]
    if not fixed and all(length.fixed for length in constants):
        return None
    size, step, offset = [*constants, *(constants[:1] if len(constants) == 1 else []), Length(0)][:3]
    kind = TUMBLING if step == size else HOPPING
    windows = AssignedWindows(kind, time, time_type, size, step, offset, None, False, place)
    check_lengths(windows, *[*arguments, None, None][:3])
    return windows


def with_calendar_windows(root: Sql) -> Sql:
    """Return a query in which windows that a calendar measures are columns."""
    calls = [call for call in root.query.find_all(exp.Anonymous) if _is_of_calendar(root, call)]
    if not calls:
        return root
    query = root.query.copy()
    for select in query.find_all(exp.Select):
        own = [call for call in select.find_all(exp.Anonymous) if call.find_ancestor(exp.Select) is select]
        calendar_calls = [call for call in own if _is_of_calendar(root, call)]
        if calendar_calls:
            _as_column(root, select, calendar_calls)
    return replace(root, query=query)


def _as_column(root: Sql, select: exp.Select, calls: list[exp.Anonymous]) -> None:
    """Let a SELECT read its windows from a column by the name that Spark gives them."""
    windows, (call, *_) = _windows(root, calls[0]), calls
    assert windows is not None
    array = parse_one(window_structs(windows, sql_of(call.expressions[0])), dialect=DIALECT)
    alias = exp.TableAlias(this=exp.to_identifier("__windows"), columns=[exp.to_identifier(_WINDOW, quoted=True)])
    for one in calls:
        if one == call:
            one.replace(exp.column(exp.to_identifier(_WINDOW, quoted=True)))
    select.append("laterals", exp.Lateral(this=exp.Explode(this=array), view=True, alias=alias))


def _is_of_calendar(root: Sql, call: exp.Anonymous) -> bool:
    return _windows(root, call) is not None


def _windows(root: Sql, call: exp.Anonymous) -> AssignedWindows | None:
    if call.name.upper() != "WINDOW" or not call.expressions:
        return None
    place = span_of(call, span_of(root.query)) or Span(0, 0)
    return calendar_windows(call, "", _type(root, call.expressions[0]), place)


def _type(root: Sql, time: exp.Expr) -> str:
    """Return the type of the time of windows, as far as a column's name tells."""
    columns = [column for node in root.inputs.values() for column in node.properties.columns]
    named = time.name.lower() if isinstance(time, exp.Column) else ""
    kind = next((c.type.lower() for c in columns if c.name.lower() == named), "timestamp")
    return "timestamp_ntz" if kind == "timestamp_ntz" else "timestamp"


def _length(argument: exp.Expr, place: Span) -> Length | None:
    """Return a constant length, None for another expression; a week is seven days, as in Spark."""
    if isinstance(argument, exp.Literal) and argument.is_string:
        text = argument.name.strip()
        interval: exp.Expr = exp.Interval(
            this=exp.Literal.string(text.removeprefix("interval ").removeprefix("INTERVAL "))
        )
    elif isinstance(argument, exp.Interval):
        interval = argument
    else:
        return None
    length = window_length(interval, span_of(argument, place))
    return Length(length.count * 7, DAYS) if length.unit == WEEKS else length


def _of_days(length: Length) -> Length:
    return Length(length.count * DAY) if length.unit == DAYS else length
