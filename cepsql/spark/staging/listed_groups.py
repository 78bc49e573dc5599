"""Aggregates that Spark computes from the values of a group that changes, which a stage gives out as lists.

The lists of a micro-batch are spread over rows, each aggregate runs as a window function over the rows of one list, and
one row a list is kept. Spark keeps no state for it.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from cepsql.analysis.row_pattern.match_lists import ELEMENT
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.language.tokens import quoted
from cepsql.operators.changing.change_rows import IDENTITY
from cepsql.plan.operators.retracting_groups import ListedCall
from cepsql.spark.frames.nullable_types import with_nulls_inside

_ROW, _PLACE = "__row", "__place"


def with_listed_calls(calls: Sequence[ListedCall], changes: DataFrame, marks: list[str]) -> DataFrame:
    """Return changes with a column for each aggregate; those of one identity stay next to each other.

    marks: columns whose values mark rows that stand for themselves.
    """
    frame = changes.selectExpr("*", f"monotonically_increasing_id() AS {_ROW}").repartition(IDENTITY)
    together: dict[tuple[str, bool], list[ListedCall]] = {}
    for call in calls:
        together.setdefault((call.values.column, call.values.distinct), []).append(call)
    for equal in together.values():
        frame = _spread_and_aggregate(frame, equal)
    return with_nulls_inside(frame.drop(_ROW), [call.name for call in calls])


def _spread_and_aggregate(frame: DataFrame, calls: Sequence[ListedCall]) -> DataFrame:
    """Add the columns of aggregates over lists of the same values."""
    first, keys = f"coalesce({_PLACE}, 0) = 0", (quoted(IDENTITY), quoted(_ROW))
    # The other columns stand in the first row of a list only: they may be long lists themselves.
    columns = map(quoted, frame.columns)
    once = [name if name in keys else f"CASE WHEN {first} THEN {name} END AS {name}" for name in columns]
    spread = frame.selectExpr("*", f"posexplode_outer({quoted(calls[0].values.name)}) AS ({_PLACE}, {ELEMENT})")
    rows = spread.selectExpr(*once, _PLACE, ELEMENT).sortWithinPartitions(IDENTITY, _ROW, _PLACE)
    # An empty list still has a row, which must not count.
    there, over = f"FILTER (WHERE {_PLACE} IS NOT NULL)", f"OVER (PARTITION BY {IDENTITY}, {_ROW})"
    aggregates = [f"{sql_of(call.call)} {there} {call.nulls} {over} AS {quoted(call.name)}" for call in calls]
    return rows.selectExpr("*", *aggregates).where(first).drop(_PLACE, ELEMENT)
