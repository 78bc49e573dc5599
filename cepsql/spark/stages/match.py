"""Row-pattern matching in Spark: over a stream in a keyed ordered stage, over a table by sorting it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.analysis.row_pattern.match_lists import ListAggregate
from cepsql.analysis.sql.properties import ORIGIN, PLACE
from cepsql.language.tokens import quoted
from cepsql.operators.matching.match_operator import MatchOperator, row_layout
from cepsql.ordered.row_layout import Column as RowColumn
from cepsql.ordered.row_layout import RowLayout
from cepsql.ordered.sorted_run import run_sorted
from cepsql.pattern.program import MatchProgram
from cepsql.plan.operators.match import Match
from cepsql.spark.frames.operator_rows import incomparable, layout_columns, match_schema, refuse_collations
from cepsql.spark.frames.session_conditions import in_session
from cepsql.spark.sources.source import MALFORMED
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged

Limits = Callable[[MatchProgram], MatchProgram]
Aggregated = Callable[[DataFrame, Sequence[ListAggregate]], DataFrame]


def match_stage(
    feeds: Sequence[Feed],
    program: MatchProgram,
    output: Sequence[str],
    hold: int | None = None,
    gathered: Callable[[DataFrame, list[str]], DataFrame] | None = None,
) -> Staged:
    """Return what finds the matches in streams, merged in the order of event time, as soon as they are decided.

    feeds:    streams of the same columns and types.
    output, hold, gathered: as of `Staged`; the output is made of k* and the measures.
    """
    schema = match_schema(feeds[0].frame, program)
    return Staged(MatchOperator(program), feeds, program.state_id, schema, tuple(output), hold, gathered)


def stage_of_matches(node: Match, feeds: Sequence[Feed], limits: Limits, aggregate: Aggregated) -> Staged:
    """Return the stage of a row pattern over streams.

    limits:    gives its program the limits of its search.
    aggregate: computes aggregates of lists that the matcher returns.
    """
    match, watermark = node.match, node.properties.watermark

    def gathered(matches: DataFrame, _: list[str]) -> DataFrame:
        return aggregate(matches, match.aggregates)

    program = in_session(feeds[0].frame, limits(match.program))
    hold = None if watermark is None else watermark.delay
    return match_stage(feeds, program, _output(match), hold, gathered if match.aggregates else None)


def table_of_matches(node: Match, frame: DataFrame, limits: Limits, aggregate: Aggregated) -> DataFrame:
    """Return the matches in a bounded frame; arguments as of `stage_of_matches`."""
    match = node.match
    program = in_session(frame, limits(match.program))
    matches = aggregate(match_table(frame, program, list(match.order)), match.aggregates)
    return matches.selectExpr(*_output(match))


def _output(match: MatchPlan) -> list[str]:
    return [f"{column.sql} AS {quoted(column.name)}" for column in match.output]


def match_table(frame: DataFrame, program: MatchProgram, order: list[str]) -> DataFrame:
    """Return the matches in a bounded frame: k* and the measures.

    order: ORDER BY as Spark SQL, such as "price DESC NULLS LAST"; ties are broken by the program's columns.
    Rows that `__malformed` marks, and rows without event time where the program has a time, take no part.
    """
    schema = match_schema(frame, program)
    if MALFORMED in frame.columns:
        frame = frame.where(f"NOT {MALFORMED}")
    if program.time is not None:
        frame = frame.where(f"({program.time.sql}) IS NOT NULL")
    rows = sorted_rows(frame, row_layout(program), order)
    return rows.mapInArrow(partial(run_sorted, MatchOperator(program)), schema)


def sorted_rows(frame: DataFrame, layout: RowLayout, order: list[str], more: Sequence[RowColumn] = ()) -> DataFrame:
    """Return the columns of a layout, and `more` columns behind them, sorted by partition and in it by `order`.

    Ties are broken by ORIGIN and PLACE, where the frame has them, then by the columns of the layout.
    """
    refuse_collations(frame, replace(layout, order=()))
    columns = [*layout_columns(frame, layout), *(f"({column.sql}) AS {quoted(column.name)}" for column in more)]
    ordering = [_order_key(sql, f"__order{i}") for i, sql in enumerate(order)]
    places = [name for name in (ORIGIN, PLACE) if name in frame.columns]
    rows = frame.select(*map(F.expr, columns), *(value for value, _ in ordering), *places)
    keys = layout.key_names
    others = {*keys, *places, *(column.name for column in more)}
    rest = [f for f in rows.schema.fields if not f.name.startswith("__order") and f.name not in others]
    ties = [F.asc_nulls_first(f.name) for f in rest if incomparable(f.dataType) is None]
    spread = rows.repartition(*keys) if keys else rows.repartition(1)
    ordered = spread.sortWithinPartitions(*keys, *(key for _, key in ordering), *places, *ties)
    return ordered.drop(*(f"__order{i}" for i in range(len(order))), *places)


def _order_key(sql: str, name: str) -> tuple[Column, Column]:
    """Split an ORDER BY item into the value under a name and the sort key of that name."""
    parts = re.fullmatch(r"(?is)(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*", sql)
    # All of it may be the value.
    assert parts is not None
    value, direction, nulls = parts.groups()
    direction = (direction or "asc").lower()
    nulls = (nulls or ("first" if direction == "asc" else "last")).lower()
    return F.expr(value).alias(name), getattr(F.col(name), f"{direction}_nulls_{nulls}")()
