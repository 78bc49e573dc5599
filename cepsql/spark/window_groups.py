"""Windows of event time over a stream as a Spark DataFrame: an ordered stage closes them.

Aggregates that go on from row to row are the stage's own. For others all rows of a group come out of the stage in one
micro-batch. An aggregation of Spark's would keep state for them all the same; the aggregates are computed as window
functions over the rows of the group, one of which is kept.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, ByteType, LongType, StructField, StructType
from sqlglot import exp

from cepsql.analysis.aggregate_calls import aggregate_call, spread_distinct
from cepsql.analysis.canonical import digest
from cepsql.analysis.emission import ON_CLOSE, OPERATION, OPERATIONS
from cepsql.analysis.plain_sql import sql_of
from cepsql.analysis.window_groups import FixedWindow, GivenWindow, Instants, SessionWindow, WindowGroups
from cepsql.analysis.window_totals import Totals, totals
from cepsql.language.tokens import quoted
from cepsql.operators.changing_windows import CHANGE, ChangingWindows, Fixed, Gaps, Given, Windows
from cepsql.operators.window_totals import WindowTotals
from cepsql.operators.windows import END, FIRST, PLACE, START, TIME, FixedWindows, GivenWindows, Sessions
from cepsql.plan.identity import describe_window_groups
from cepsql.spark.bounds import BOUND, unpack_bounded
from cepsql.spark.buckets import Buckets
from cepsql.spark.conditions import is_ansi
from cepsql.spark.over import running_fields
from cepsql.spark.rows import column_type, layout_columns, timestamp_of
from cepsql.spark.stage import Feed, run_stage, stage_rows

STATE_VERSION = 1
"""Of the rows that are kept for windows; to be raised when the columns that travel change."""

_FIRST, _PLACE, _CHANGE = "__first", "__place", "__change"


def window_aggregates(
    feeds: Sequence[Feed], groups: WindowGroups, observation: str, buckets: Buckets | None, markers: bool
) -> DataFrame:
    """Return a row for each group of streams, merged in the order of event time, as soon as its window is over; or its
    rows.

    feeds:   streams of the same columns and types.
    markers: rows of `cepsql.spark.bounds.BOUND`, and nothing else, come between them.
    """
    summed = totals(groups)
    if summed is not None:
        return _totaled(feeds, groups, summed, observation, buckets, markers)
    operator = _operator(groups)
    identity = digest([STATE_VERSION, describe_window_groups(groups)])[:16]
    lateness = groups.emission.lateness if groups.emission != ON_CLOSE else None
    stage = run_stage(operator, feeds, identity, observation, buckets, lateness)
    frame = feeds[0].frame
    found = _given(stage, _schema(frame, groups), groups, markers)
    bounded = enumerate(groups.columns)
    columns = [f"v{i} AS {quoted(column.name)}" for i, column in bounded if column.name not in (START, END, TIME)]
    bounds = _bounds(frame, groups)
    marks = [BOUND] if markers else []
    if groups.aggregates is None:
        return found.selectExpr(*columns, *bounds, *marks)
    changing = [f"{CHANGE} AS {_CHANGE}"] if groups.emission.changing else []
    rows = found.selectExpr(*columns, *bounds, f"{FIRST} AS {_FIRST}", f"{PLACE} AS {_PLACE}", *changing, *marks)
    return _aggregated(rows, groups, marks)


def _totaled(
    feeds: Sequence[Feed],
    groups: WindowGroups,
    summed: Totals,
    observation: str,
    buckets: Buckets | None,
    markers: bool,
) -> DataFrame:
    """Return the groups with the aggregates of an operator that keeps no rows of theirs."""
    frame, calls = feeds[0].frame, summed.calls
    rows = frame.selectExpr(*layout_columns(frame, summed.layout))
    given, types = running_fields(calls, rows)
    windows = _windows(groups, {name: f"k{i}" for i, name in enumerate(groups.spread)})
    operator = WindowTotals(summed.layout, windows, calls, types, not is_ansi(frame.sparkSession))
    identity = digest([STATE_VERSION, describe_window_groups(groups)])[:16]
    stage = run_stage(operator, feeds, identity, observation, buckets)
    keys = [StructField(f.name, f.dataType) for f in rows.schema.fields if f.name.startswith("k")]
    bounds = [StructField(START, LongType()), StructField(END, LongType())]
    found = _given(stage, StructType([*keys, *bounds, *given]), groups, markers)
    named = [f"k{i} AS {quoted(key)}" for i, key in enumerate(groups.keys)]
    aggregates = [quoted(call.name) for call in calls]
    return found.selectExpr(*named, *_bounds(frame, groups), *aggregates, *([BOUND] if markers else []))


def _given(stage: DataFrame, schema: StructType, groups: WindowGroups, markers: bool) -> DataFrame:
    hold = groups.watermark.delay if groups.watermark is not None else 0
    return unpack_bounded(stage, schema, hold) if markers else stage_rows(stage, schema)


def _bounds(frame: DataFrame, groups: WindowGroups) -> list[str]:
    """Return the SQL of the bounds of windows, of which START and END are microseconds."""
    kind = column_type(frame, groups.time)
    micros = {START: START, END: END, TIME: f"{END} - 1000"}
    return [f"{timestamp_of(sql, kind)} AS {name}" for name, sql in micros.items()]


def operation_of(change: str) -> str:
    """Return the SQL of the value of OPERATION for a column with a `Change`."""
    cases = " ".join(f"WHEN {kind:d} THEN '{said}'" for kind, said in OPERATIONS.items())
    return f"CASE {change} {cases} END"


def _operator(groups: WindowGroups) -> FixedWindows | Sessions | GivenWindows | ChangingWindows:
    window, layout, emission = groups.window, groups.layout, groups.emission
    if emission != ON_CLOSE:
        values = {column.name: f"v{i}" for i, column in enumerate(groups.columns)}
        return ChangingWindows(
            layout, _windows(groups, values), emission.lateness, emission.every, not emission.changing
        )
    match window:
        case FixedWindow(size, slide, offset):
            return FixedWindows(layout, size, slide, offset)
        case SessionWindow(gap):
            return Sessions(layout, gap)
        case Instants():
            return FixedWindows(layout, 1, 1)
        case GivenWindow(start, end):
            names = {column.name: f"v{i}" for i, column in enumerate(groups.columns)}
            return GivenWindows(layout, (names[start], names[end]))


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
    computed = placed.selectExpr("*", *calls)
    kept = computed.where(" OR ".join([_FIRST, *(f"{mark} IS NOT NULL" for mark in marks)]))
    given = [quoted(column.name) for column in groups.output if not (changing and column.name == OPERATION)]
    return kept.selectExpr(*given, *([f"{operation_of(_CHANGE)} AS {OPERATION}"] if changing else []), *marks)


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
    fields = frame.selectExpr(*layout_columns(frame, groups.layout)).schema.fields
    given = [StructField(field.name, field.dataType) for field in fields]
    bounds = [StructField(START, LongType()), StructField(END, LongType())]
    changes = [StructField(CHANGE, ByteType())] if groups.emission != ON_CLOSE else []
    return StructType([*given, *bounds, StructField(FIRST, BooleanType()), StructField(PLACE, LongType()), *changes])
