"""Windows of event time over a stream: an ordered stage closes them.

Aggregates that go on from row to row are the stage's own. For others all rows of a group come out of the stage in one
micro-batch. An aggregation of Spark's would keep state for them all the same; the aggregates are computed as window
functions over the rows of the group, one of which is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, ByteType, LongType, StructField, StructType
from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import ON_CLOSE, OPERATION, OPERATIONS
from cepsql.analysis.clauses.grouped_windows import FixedWindow, GivenWindow, Instants, SessionWindow, WindowGroups
from cepsql.analysis.clauses.total_calls import Totals, joins_rows, totals
from cepsql.analysis.row_pattern.aggregate_calls import aggregate_call, spread_distinct
from cepsql.analysis.sql.canonical import digest
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.language.tokens import quoted
from cepsql.operators.windowing.changing_windows import CHANGE, ChangingWindows
from cepsql.operators.windowing.partial_totals import PartialTotals
from cepsql.operators.windowing.window_kinds import Fixed, Gaps, Given, Windows
from cepsql.operators.windowing.window_totals import WindowTotals
from cepsql.operators.windowing.windows import END, FIRST, PLACE, START, TIME, FixedWindows, GivenWindows, Sessions
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.operators.window_aggregate import describe_window_groups
from cepsql.spark.frames.nullable_types import with_nulls_inside
from cepsql.spark.frames.operator_rows import column_type, layout_fields, layout_rows, time_of
from cepsql.spark.frames.session_conditions import is_ansi
from cepsql.spark.stages.over import running_fields
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged

STATE_VERSION = 1
"""Of the rows that are kept for windows; to be raised when the columns that travel change."""

TOTALS_VERSION = 3
"""The same where no rows are kept."""

_FIRST, _PLACE, _CHANGE = "__first", "__place", "__change"


def window_stage(feeds: Sequence[Feed], groups: WindowGroups) -> Staged:
    """Return what gives a row for each group of streams, merged in the order of event time, as soon as its window is
    over; or its rows.

    feeds: streams of the same columns and types.
    """
    summed = totals(groups)
    if summed is not None:
        return _totaled(feeds, groups, summed)
    frame, emission = feeds[0].frame, groups.emission
    columns = [
        f"v{i} AS {quoted(column.name)}"
        for i, column in enumerate(groups.columns)
        if column.name not in (START, END, TIME)
    ]
    columns += _bounds(frame, groups)
    staged = partial(Staged, _operator(groups), feeds, _identity(groups), _schema(frame, groups), hold=_hold(groups))
    if emission != ON_CLOSE:
        staged = partial(staged, lateness=emission.lateness)
    if groups.aggregates is None:
        return staged(output=tuple(columns))
    columns += [f"{FIRST} AS {_FIRST}", f"{PLACE} AS {_PLACE}", *([f"{CHANGE} AS {_CHANGE}"] * emission.changing)]

    def gathered(rows_of_windows: DataFrame, marks: list[str]) -> DataFrame:
        return _aggregated(rows_of_windows.selectExpr(*columns, *marks), groups, marks)

    names = [c.name for c in groups.output if not (emission.changing and c.name == OPERATION)]
    operation = [f"{operation_of(_CHANGE)} AS {OPERATION}"] * emission.changing
    return staged(output=(*map(quoted, names), *operation), gathered=gathered)


def _totaled(feeds: Sequence[Feed], groups: WindowGroups, summed: Totals) -> Staged:
    """Return the groups with the aggregates of an operator that keeps no rows of theirs."""
    frame, calls = feeds[0].frame, summed.calls
    rows = layout_rows(frame, summed.layout)
    result_fields, types = running_fields(calls, rows)
    windows = _windows(groups, {name: f"k{i}" for i, name in enumerate(groups.spread)})
    layout = _until_over(summed.layout, windows)
    lateness = None
    if isinstance(windows, Fixed | Given) and joins_rows(groups, summed):
        lateness = 0
        summary = PartialTotals(windows, calls, tuple(column.name for column in layout.values))
        layout = replace(layout, reduction=summary, joins=True)
    operator = WindowTotals(layout, windows, calls, types, not is_ansi(frame.sparkSession))
    keys = [StructField(f.name, f.dataType) for f in rows.schema.fields if f.name.startswith("k")]
    schema = StructType([*keys, StructField(START, LongType()), StructField(END, LongType()), *result_fields])
    named = [f"k{i} AS {quoted(key)}" for i, key in enumerate(groups.keys)]
    output = (*named, *_bounds(frame, groups), *(quoted(call.name) for call in calls))
    identity = digest([TOTALS_VERSION, describe_window_groups(groups)])[:16]
    return Staged(operator, feeds, identity, schema, output, _hold(groups), lateness=lateness)


def _until_over(layout: RowLayout, windows: Windows) -> RowLayout:
    """Return a layout whose rows count until their windows are over, where these do not hang on other rows."""
    return replace(layout, until=windows.until) if isinstance(windows, Fixed | Given) else layout


def _identity(groups: WindowGroups) -> str:
    return digest([STATE_VERSION, describe_window_groups(groups)])[:16]


def _hold(groups: WindowGroups) -> int:
    return groups.watermark.delay if groups.watermark is not None else 0


def _bounds(frame: DataFrame, groups: WindowGroups) -> list[str]:
    """Return the SQL of the bounds of windows, of which START and END are microseconds."""
    kind = column_type(frame, groups.time)
    micros = {START: START, END: END, TIME: f"{END} - 1000"}
    return [f"{time_of(sql, kind)} AS {name}" for name, sql in micros.items()]


def operation_of(change: str) -> str:
    """Return the SQL of the value of OPERATION for a column with a `Change`."""
    cases = " ".join(f"WHEN {kind:d} THEN '{said}'" for kind, said in OPERATIONS.items())
    return f"CASE {change} {cases} END"


def _operator(groups: WindowGroups) -> FixedWindows | Sessions | GivenWindows | ChangingWindows:
    window, emission = groups.window, groups.emission
    windows = _windows(groups, {column.name: f"v{i}" for i, column in enumerate(groups.columns)})
    layout = _until_over(groups.layout, windows)
    if emission != ON_CLOSE:
        return ChangingWindows(layout, windows, emission.lateness, emission.every, not emission.changing)
    match window:
        case FixedWindow(size, slide, offset):
            return FixedWindows(layout, size, slide, offset)
        case SessionWindow(gap):
            return Sessions(layout, gap)
        case Instants():
            return FixedWindows(layout, 1, 1)
        case GivenWindow():
            assert isinstance(windows, Given)
            return GivenWindows(layout, windows.bounds)


def _windows(groups: WindowGroups, names: Mapping[str, str]) -> Windows:
    """Return the windows of groups; `names` are those of the rows' columns in the stage."""
    match groups.window:
        case FixedWindow(size, slide, offset):
            return Fixed(size, slide, offset)
        case SessionWindow(gap):
            return Gaps(gap)
        case Instants():
            return Fixed(1, 1)
        case GivenWindow(start, end):
            return Given((names[start], names[end]))


def _aggregated(rows: DataFrame, groups: WindowGroups, marks: list[str]) -> DataFrame:
    """Return the first row of each group with the aggregates; markers are groups of their own."""
    changing = groups.emission.changing
    whole = list(map(quoted, [*groups.keys, START, END, TIME, *marks]))
    # What a group was and what it is stand side by side, in this order.
    keys = [*whole, _CHANGE] if changing else whole
    placed = rows.repartition(*whole).sortWithinPartitions(*keys, _PLACE)
    over = f"OVER (PARTITION BY {', '.join(keys)})"
    calls: list[str] = []
    distinct: dict[str, list[str]] = {}
    for column, call in groups.aggregates or ():
        plain, values = _without_distinct(call, len(distinct))
        distinct |= values
        calls.append(f"{sql_of(plain)} {over} AS {quoted(column.name)}")
    if distinct:
        # A value counts where it comes first in its group.
        flags = [
            f"row_number() OVER (PARTITION BY {', '.join([*keys, *values])} ORDER BY {_PLACE}) = 1 AS {name}"
            for name, values in distinct.items()
        ]
        placed = placed.selectExpr("*", *flags).sortWithinPartitions(*keys, _PLACE)
    computed = with_nulls_inside(placed.selectExpr("*", *calls), [column.name for column, _ in groups.aggregates or ()])
    return computed.where(" OR ".join([_FIRST, *(f"{mark} IS NOT NULL" for mark in marks)]))


def _without_distinct(call: exp.Expr, number: int) -> tuple[exp.Expr, dict[str, list[str]]]:
    """Return an aggregate over different values as one over the rows that a flag marks, and what the flag goes by."""
    taken = aggregate_call(call)
    if taken is None or not taken.distinct:
        return call, {}
    name = f"__distinct{number}"
    values = [sql_of(argument) for argument in taken.arguments]
    condition: exp.Expr = exp.column(name)
    if taken.filter is not None:
        values.append(sql_of(taken.filter))
        condition = exp.and_(condition, taken.filter.copy())
    copy = call.copy()
    for node in list(copy.find_all(exp.Distinct)):
        assert node.parent is not None
        spread_distinct(node.parent, node)
    inner = copy.this if isinstance(copy, exp.Filter) else copy
    return exp.Filter(this=inner, expression=exp.Where(this=condition)), {name: values}


def _schema(frame: DataFrame, groups: WindowGroups) -> StructType:
    fields = layout_fields(frame, groups.layout)
    result_fields = [StructField(field.name, field.dataType) for field in fields]
    bounds = [StructField(START, LongType()), StructField(END, LongType())]
    changes = [StructField(CHANGE, ByteType())] if groups.emission != ON_CLOSE else []
    return StructType(
        [*result_fields, *bounds, StructField(FIRST, BooleanType()), StructField(PLACE, LongType()), *changes]
    )
