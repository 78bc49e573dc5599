"""How each plan operator runs in Spark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame

from cepsql.analysis.row_pattern.match_lists import ListAggregate
from cepsql.catalog import Source
from cepsql.pattern.program import MatchProgram
from cepsql.plan.operators.as_of_join import AsOfJoin
from cepsql.plan.operators.changing_groups import ChangingGroups
from cepsql.plan.operators.current_watermark import CurrentWatermark
from cepsql.plan.operators.deduplicate import Deduplicate
from cepsql.plan.operators.fill import Fill
from cepsql.plan.operators.interval_join import IntervalJoin
from cepsql.plan.operators.match import Match
from cepsql.plan.operators.over import Over
from cepsql.plan.operators.ranked_rows import RankedRows
from cepsql.plan.operators.retracting_frames import RetractingFrames
from cepsql.plan.operators.retracting_groups import RetractingGroups
from cepsql.plan.operators.sort import Sort
from cepsql.plan.operators.table_join import TableJoin
from cepsql.plan.operators.temporal_filter import TemporalFilter
from cepsql.plan.operators.upserts import Upserts
from cepsql.plan.operators.window_aggregate import WindowAggregate
from cepsql.plan.tree.nodes import Ordered
from cepsql.spark.stages.as_of_join import as_of_join_stage
from cepsql.spark.stages.changing_groups import group_changes_stage
from cepsql.spark.stages.current_watermark import current_watermark_stage
from cepsql.spark.stages.deduplicate import deduplicate_table, deduplication_stage
from cepsql.spark.stages.fill import fill_stage, fill_table
from cepsql.spark.stages.interval_join import join_stage
from cepsql.spark.stages.match import stage_of_matches, table_of_matches
from cepsql.spark.stages.over import over_stage, over_table
from cepsql.spark.stages.ranked_rows import ranked_rows_stage
from cepsql.spark.stages.retracting_frames import frames_of_table, retracting_frames_stage
from cepsql.spark.stages.retracting_groups import retracting_groups_stage
from cepsql.spark.stages.sort import sort_stage
from cepsql.spark.stages.table_join import table_join_stage
from cepsql.spark.stages.temporal_filter import temporal_filter_stage
from cepsql.spark.stages.upserts import changelog_rows, upserts_stage
from cepsql.spark.stages.window_aggregate import window_stage
from cepsql.spark.staging.spark_stage import Feed
from cepsql.spark.staging.staged import Staged


class Building(Protocol):
    """What an operator may ask of the query that is built."""

    @property
    def control(self) -> str | None:
        """The folder through which the inputs of a query over streams can be ended."""

    @property
    def expired_of_bucket(self) -> int:
        """How many rows leave a bucket in one micro-batch because their time is over."""

    def limits(self, program: MatchProgram, /) -> MatchProgram:
        """Return a program with the limits of its search."""

    def aggregate(self, matches: DataFrame, aggregates: Sequence[ListAggregate]) -> DataFrame:
        """Return rows with aggregates of their lists."""

    def read(self, relation: Source) -> DataFrame:
        """Return the rows of a relation as its source gives them."""


@dataclass(frozen=True)
class InSpark:
    """How a plan operator runs.

    stage:  makes its stage over streams: of the node, what feeds it, and the query that is built.
    table:  makes its rows over a table; None if it stands over streams only.
    shares: whether it may run in the stage of the operator below it.
    rows:   gives what feeds it, None: the rows of its inputs.
    """

    stage: Callable[[Any, list[Feed], Building], Staged]
    table: Callable[[Any, DataFrame, Building], DataFrame] | None = None
    shares: bool = False
    rows: Callable[[Any, Building], list[DataFrame]] | None = None


OPERATORS: Mapping[type[Ordered], InSpark] = {
    Match: InSpark(
        lambda node, feeds, query: stage_of_matches(node, feeds, query.limits, query.aggregate),
        lambda node, frame, query: table_of_matches(node, frame, query.limits, query.aggregate),
        shares=True,
    ),
    Deduplicate: InSpark(
        lambda node, feeds, _: deduplication_stage(feeds, node.rows),
        lambda node, frame, _: deduplicate_table(frame, node.rows),
        shares=True,
    ),
    Fill: InSpark(
        lambda node, feeds, _: fill_stage(feeds, node.groups),
        lambda node, frame, _: fill_table(frame, node.groups),
        shares=True,
    ),
    Sort: InSpark(lambda node, feeds, _: sort_stage(feeds, node.rows), shares=True),
    CurrentWatermark: InSpark(lambda node, feeds, _: current_watermark_stage(node, feeds)),
    Over: InSpark(
        lambda node, feeds, _: over_stage(feeds, node.frames),
        lambda node, frame, _: over_table(frame, node.frames),
        shares=True,
    ),
    WindowAggregate: InSpark(lambda node, feeds, _: window_stage(feeds, node.groups), shares=True),
    ChangingGroups: InSpark(lambda node, feeds, _: group_changes_stage(feeds, node.groups)),
    IntervalJoin: InSpark(lambda node, feeds, _: join_stage(node, feeds)),
    AsOfJoin: InSpark(lambda node, feeds, _: as_of_join_stage(node, feeds)),
    Upserts: InSpark(
        lambda node, feeds, _: upserts_stage(node, feeds[0]),
        rows=lambda node, query: [changelog_rows(node, query.read(node.stream))],
    ),
    RetractingGroups: InSpark(lambda node, feeds, _: retracting_groups_stage(node, feeds)),
    RankedRows: InSpark(lambda node, feeds, _: ranked_rows_stage(node, feeds)),
    RetractingFrames: InSpark(
        lambda node, feeds, _: retracting_frames_stage(node, feeds), lambda node, frame, _: frames_of_table(node, frame)
    ),
    TableJoin: InSpark(lambda node, feeds, _: table_join_stage(node, feeds)),
    TemporalFilter: InSpark(
        lambda node, feeds, query: temporal_filter_stage(node, feeds, query.control, query.expired_of_bucket)
    ),
}
"""Each plan operator that there is."""
