"""Numbers where a time is asked for: Spark computes with some of them, and refuses others in its own terms."""

from sqlglot import exp

from cepsql.analysis.sql.epoch_times import OTHER_UNITS, made_time
from cepsql.analysis.sql.plain_sql import spoken_type, sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.window_calls import is_window_call
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.plan.rows.window_functions import with_own_window
from cepsql.plan.tree.nodes import Sql

_TIMES = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ)


def refuse_number_times(root: Sql, place: Span) -> None:
    """Raise NotSupportedError for windows by a number, and ProgrammingError for RANGE with an interval in the order of
    one, or with a number in the order of a time.
    """
    if root.query.find(exp.Window, exp.Anonymous) is None:
        return
    for call in root.resolved.qualified.find_all(exp.Window, exp.Anonymous):
        if isinstance(call, exp.Window):
            _check_range(call, place)
        elif is_window_call(call) and len(call.expressions) > 1 and _is_number(call.expressions[0]):
            time = call.expressions[0]
            made = _made_time(time)
            others = f"; {OTHER_UNITS}" if made.startswith("timestamp_millis") else ""
            raise NotSupportedError(
                f"windows by {spoken_type(time).upper()} are not supported",
                span_of(time, place),
                f"{call.name.lower()}({made}, ...){others}",
            )


def _check_range(call: exp.Window, place: Span) -> None:
    """Refuse a frame whose distance is no difference of two values of the order."""
    select = call.parent_select
    # A window of the WINDOW clause is looked at where a call names it.
    if isinstance(call.this, exp.Identifier) or not isinstance(select, exp.Select):
        return
    if call.args.get("spec") is None and call.args.get("alias") is None:
        return
    own = with_own_window(call, select)
    spec, order = own.args.get("spec"), own.args.get("order")
    if spec is None or order is None or str(spec.args.get("kind")).upper() != "RANGE":
        return
    value, ends = order.expressions[0].this, [spec.args.get("start"), spec.args.get("end")]
    distances = [end for end in ends if isinstance(end, exp.Expr)]
    interval = next((end for end in distances if _is_interval(end)), None)
    if interval is not None and _is_number(value):
        raise ProgrammingError(
            f"RANGE with an interval needs a time in ORDER BY, not {spoken_type(value).upper()}",
            span_of(value, span_of(interval, place)),
            f"ORDER BY {_made_time(value)}; or RANGE with a number, which counts in the unit of the column",
        )
    number = next((end for end in distances if _is_number(end)), None)
    if number is not None and value.is_type(*_TIMES):
        raise ProgrammingError(
            "RANGE over a time needs an interval",
            span_of(number, place),
            f"INTERVAL '{sql_of(number)}' MINUTES, say; ROWS counts rows",
        )


def _is_number(value: exp.Expr) -> bool:
    return value.is_type(*exp.DataType.NUMERIC_TYPES)


def _is_interval(value: exp.Expr) -> bool:
    return value.find(exp.Interval) is not None or value.is_type(exp.DType.INTERVAL)


def _made_time(value: exp.Expr) -> str:
    written = value.name if isinstance(value, exp.Column) else sql_of(without_tables(value))
    return made_time(written, spoken_type(value))
