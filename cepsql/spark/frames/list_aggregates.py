"""Spark aggregates over the lists that the matcher returns: evaluated within a micro-batch, without state.

The lists of a match are spread over rows, each aggregate runs as a window function over the rows of one match, and one
row a match is kept. Spark refuses windows over streams because a window might span micro-batches; these never do.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from cepsql.analysis.row_pattern.match_lists import ELEMENT, ListAggregate
from cepsql.language.tokens import quoted
from cepsql.spark.frames.nullable_types import with_nulls_inside
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.jvm.spark_plan import analyzed, jvm

_ROW, _PLACE = "__cepsql_row", "__place"


def with_aggregates(matches: DataFrame, aggregates: Sequence[ListAggregate]) -> DataFrame:
    """Return the matches with a column for each aggregate in place of the lists that they read.

    A NULL list, that of an unmatched row, gives NULL; an empty one gives what the aggregate gives for no rows.
    """
    if not aggregates:
        return matches
    frame = matches.selectExpr("*", f"monotonically_increasing_id() AS {_ROW}").repartition(_ROW)
    together: dict[tuple, list[ListAggregate]] = {}
    for aggregate in aggregates:
        together.setdefault(_spread_together(aggregate), []).append(aggregate)
    for group in together.values():
        frame = _spread_and_aggregate(frame, group)
    return frame.drop(_ROW, *{name for aggregate in aggregates for name in _read(aggregate)})


def without_lists(matches: DataFrame, aggregates: Sequence[ListAggregate]) -> DataFrame:
    """Return a frame of the columns and types of `with_aggregates` whose plan has no window: for Spark's checks."""
    schema = with_aggregates(matches, aggregates).schema
    own = set(matches.columns)
    return matches.selectExpr(
        *(
            quoted(f.name) if f.name in own else f"CAST(NULL AS {f.dataType.simpleString()}) AS {quoted(f.name)}"
            for f in schema.fields
        )
    )


def has_list_aggregates(frame: DataFrame) -> bool:
    """Tell whether a frame was made by `with_aggregates`."""
    return _ROW in analyzed(frame).toString()


def check_streaming(frame: DataFrame) -> None:
    """Let Spark say what it does not run over streams, as it does when a query starts.

    Raises OperationalError or ProgrammingError.
    """
    java = jvm(frame.sparkSession)
    checker = java.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    mode = java.org.apache.spark.sql.streaming.OutputMode.Append()
    try:
        checker.checkForStreaming(analyzed(frame), mode)
    except Exception as failure:
        raise translate_failure(failure) from failure


def _spread_together(aggregate: ListAggregate) -> tuple:
    """Return what aggregates have in common that can run over one spreading of lists."""
    of = (aggregate.variables, aggregate.final)
    return (*of, aggregate.lists, aggregate.condition) if aggregate.distinct else of


def _read(aggregate: ListAggregate) -> tuple[str, ...]:
    return aggregate.lists if aggregate.condition is None else (*aggregate.lists, aggregate.condition)


def _spread_and_aggregate(frame: DataFrame, group: list[ListAggregate]) -> DataFrame:
    """Add the columns of aggregates over lists of the same rows."""
    columns = [quoted(name) for name in frame.columns]
    first = f"coalesce({_PLACE}, 0) = 0"
    # The other columns stand in the first row of a match only: they may be long lists themselves.
    once = [name if name == f"`{_ROW}`" else f"CASE WHEN {first} THEN {name} END AS {name}" for name in columns]
    spread = frame.selectExpr("*", f"posexplode_outer({_elements(group)}) AS ({_PLACE}, {ELEMENT})")
    rows = spread.selectExpr(*once, _PLACE, ELEMENT).sortWithinPartitions(_ROW, _PLACE)
    aggregated = rows.selectExpr("*", *(f"{_window_call(a)} AS {a.name}" for a in group)).where(first)
    present = f"{group[0].lists[0]} IS NOT NULL"
    whole = aggregated.selectExpr(*columns, *(f"CASE WHEN {present} THEN {a.name} END AS {a.name}" for a in group))
    return with_nulls_inside(whole, [a.name for a in group])


def _elements(group: list[ListAggregate]) -> str:
    """Return the SQL of the array of structs whose fields are named like the lists."""
    zipped = f"arrays_zip({', '.join(dict.fromkeys(name for a in group for name in _read(a)))})"
    if not group[0].distinct:
        return zipped
    if group[0].condition is not None:
        fields = ", ".join(f"{ELEMENT}.{name} AS {name}" for name in group[0].lists)
        chosen = f"filter({zipped}, {ELEMENT} -> {ELEMENT}.{group[0].condition})"
        zipped = f"transform({chosen}, {ELEMENT} -> struct({fields}))"
    return f"array_distinct({zipped})"


def _window_call(aggregate: ListAggregate) -> str:
    # An empty list still has a row, which must not count. No ORDER BY: percentiles refuse it; the rows are in order.
    condition = f"{_PLACE} IS NOT NULL"
    if aggregate.condition is not None and not aggregate.distinct:
        condition += f" AND {ELEMENT}.{aggregate.condition}"
    return f"{aggregate.call} FILTER (WHERE {condition}) {aggregate.nulls} OVER (PARTITION BY {_ROW})"
