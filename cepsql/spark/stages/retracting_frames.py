"""The rows of a table with window functions over their partitions as a Spark DataFrame of changes."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from sqlglot import exp

from cepsql.analysis.sql.constant_intervals import interval_micros, interval_months
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.base.calendar import DAY
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.tokens import quoted
from cepsql.operators.changing.change_rows import IDENTITY
from cepsql.operators.changing.retracting_frames import OF_ORDER, RetractingFramesOperator, WindowFunction
from cepsql.operators.framing.frame_bounds import Frame
from cepsql.ordered.row_layout import Column, RowLayout
from cepsql.ordered.sorted_run import run_sorted
from cepsql.plan.operators.retracting_frames import FrameEnd, FrameEnds, RetractingFrames
from cepsql.plan.tree.change_layout import HIDDEN, ordered_layout
from cepsql.plan.tree.nodes import takes_rows_away
from cepsql.spark.frames.arrow_rows import plain_types, refuse_months
from cepsql.spark.frames.operator_rows import column_type, layout_rows
from cepsql.spark.frames.session_conditions import is_ansi
from cepsql.spark.stages.match import sorted_rows
from cepsql.spark.stages.over import aggregate_type, is_compared, is_summed
from cepsql.spark.stages.ranked_rows import UNLIKE, check_ordered
from cepsql.spark.staging.change_stage import change_stage
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


def retracting_frames_stage(node: RetractingFrames, feeds: Sequence[Feed]) -> Staged:
    """Return what gives the changes of rows with window functions.

    Raises NotSupportedError for values that cannot be computed with, or compared, as Spark does.
    """
    operator, fields, named = _planned(node, feeds[0].frame)
    return change_stage(node, operator, feeds, fields, named, operator.retracting)


def frames_of_table(node: RetractingFrames, frame: DataFrame) -> DataFrame:
    """Return the rows of a bounded frame with window functions; raises what `retracting_frames_stage` raises."""
    operator, fields, named = _planned(node, frame)
    schema = StructType([*(StructField(f.name, f.dataType) for f in fields), StructField(IDENTITY, StringType())])
    refuse_months(schema, "OVER")
    rows = sorted_rows(frame, operator.layout, [sql_of(item) for item in node.order])
    return rows.mapInArrow(partial(run_sorted, operator), schema).selectExpr(*named)


_TIMES = (TimestampType, TimestampNTZType, DateType)
"""Types of which months are counted by the calendar."""


def _planned(node: RetractingFrames, frame: DataFrame) -> tuple[RetractingFramesOperator, list[StructField], list[str]]:
    """Return the operator over the rows of a frame, the columns that it gives out, and those of the node as SQL."""
    retracting = any(map(takes_rows_away, node.inputs))
    for name in (*node.keys, *(item.this.name for item in node.order)):
        check_ordered(name, column_type(frame, name))
    layout, places = ordered_layout(node, lambda name: not isinstance(column_type(frame, name), UNLIKE))
    calls, layout = _calls(node, frame, layout, places)
    rows = layout_rows(frame, layout)
    fields = {field.name: field for field in rows.schema.fields}
    types = [StructField(call.name, _type(call, rows)) for call in calls]
    carried = list(dict.fromkeys(places[name.lower()] for name in node.columns))
    keys = [column.name for column in layout.keys]
    shown = tuple(name for name in carried if name not in keys)
    operator = RetractingFramesOperator(
        layout, calls, shown, plain_types(types), not is_ansi(frame.sparkSession), retracting
    )
    named = [f"{places[name.lower()]} AS {quoted(name)}" for name in node.columns]
    named += [quoted(call.name) for call in calls]
    return operator, [*(fields[name] for name in (*keys, *shown)), *types], named


def _calls(
    node: RetractingFrames, frame: DataFrame, layout: RowLayout, places: dict[str, str]
) -> tuple[tuple[WindowFunction, ...], RowLayout]:
    """Return what the operator computes, and the layout with defaults in the types of their values."""
    rows = layout_rows(frame, layout)
    sql = {column.name: column.sql for column in (*layout.keys, *layout.order, *layout.values)}
    calls, defaults = [], list[Column]()
    edges: dict[str, Column] = {}
    for number, call in enumerate(node.calls):
        argument, default = (None if name is None else places[name.lower()] for name in (call.argument, call.default))
        if default is not None:
            kind = rows.selectExpr(f"lag({argument}, 1, {default}) OVER (ORDER BY o0) AS x").schema["x"].dataType
            defaults.append(Column(f"d{number}", f"CAST({sql[default]} AS {kind.simpleString()})"))
            default = f"d{number}"
        calls.append(WindowFunction(
            call.column.name, call.function, argument, _frame(call.frame, node, rows, edges), call.number, default,
            call.ignore_nulls, call.distinct, call.fraction,
        ))  # fmt: skip
    # IDENTITY and KIND stand at the end.
    plain = [column for column in layout.values if column not in HIDDEN]
    hidden = [column for column in layout.values if column in HIDDEN]
    return tuple(calls), replace(layout, values=(*plain, *defaults, *edges.values(), *hidden))


def _frame(ends: FrameEnds, node: RetractingFrames, rows: DataFrame, edges: dict[str, Column]) -> Frame:
    """Return a frame with distances in the units of the order column; ends that lie months away are new columns."""
    order = node.order[0] if node.order else None

    def place(end: FrameEnd | None) -> int | Decimal | str | None:
        if end is None or end[1] is None:
            return None if end is None else end[0]
        assert order is not None
        kind, length = rows.schema["o0"].dataType, end[1].unnest()
        if not isinstance(kind, _TIMES) or interval_months(length) is None:
            return end[0] * _distance(end[1], kind, order)
        later = (end[0] > 0) != bool(order.args.get("desc"))
        sql = f"{quoted(order.this.name)} {'+' if later else '-'} {sql_of(length)}"
        return edges.setdefault(sql, Column(f"e{len(edges)}", sql)).name

    return Frame(ends.unit, place(ends.first), place(ends.last), ends.excluded)


def _distance(value: exp.Expr, kind: DataType, order: exp.Ordered) -> int | Decimal:
    """Return the distance of a bound of RANGE: days of DATE, microseconds of TIMESTAMP, else a number."""
    plain, text = value.unnest(), f"RANGE {sql_of(value)}"
    if isinstance(plain, exp.Literal) and not plain.is_string and isinstance(kind, NumericType | DateType):
        return Decimal(plain.name)
    if isinstance(kind, _TIMES):
        micros = interval_micros(plain)
        if micros < 0:
            raise ProgrammingError("the distance of a frame's bound must not be negative")
        if not isinstance(kind, DateType):
            return micros
        if micros % DAY == 0:
            return micros // DAY
    raise ProgrammingError(
        f"{text} does not fit ORDER BY {sql_of(order)}, which is {kind.simpleString().upper()}",
        hint="a number for numbers, INTERVAL '1' DAY for times; ROWS and GROUPS take any order",
    )


def _type(call: WindowFunction, rows: DataFrame) -> DataType:
    """Return the type of what a call gives; raises NotSupportedError for values that it cannot compute with."""
    if call.function in OF_ORDER:
        return DoubleType() if call.function in ("percent_rank", "cume_dist") else IntegerType()
    if call.column is None:
        return LongType()
    kind = rows.schema[call.column].dataType
    result_type: DataType
    match call.function:
        case "neighbour":
            # A default has the type that fits both.
            return kind if call.default is None else rows.schema[call.default].dataType
        case "nth" | "first" | "last":
            return kind
        case "count":
            return LongType()
        case "list":
            fits = not call.distinct or is_compared(kind)
            result_type = ArrayType(kind, containsNull=False)
        case "min" | "max" | "mode":
            fits, result_type = is_compared(kind), kind
        case _:
            fits, result_type = is_summed(kind), DoubleType()
            if fits and call.function != "percentile":
                result_type = aggregate_type(rows.sparkSession, call.function, kind)
    if not fits:
        raise NotSupportedError(
            f"{call.function.upper()} of {kind.simpleString().upper()} OVER rows that change is not supported",
            hint="CAST it to a type that can be compared, or computed with",
        )
    return result_type
