"""The plan of a query in the context that it runs in."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.base.cached_property import cached_property
from cepsql.explain.match_key import AskedPartition, Key, asked_partition
from cepsql.pattern.ir import dump
from cepsql.pattern.program import MatchProgram
from cepsql.plan.identity import describe_plan
from cepsql.plan.planner import Plan
from cepsql.plan.resolved_references import with_values
from cepsql.plan.start_places import started_at
from cepsql.plan.view_sources import view_sources
from cepsql.query.query_host import QueryHost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepsql.spark.building.frame_options import FrameOptions
    from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath
    from cepsql.spark.frames.buckets import Buckets

FEW_BUCKETS = 2
"""With so many, operators over changes are quicker one after another in one task than spread over two."""


class PlannedQuery:
    """A plan, the engine that it belongs to, and where its first start begins to read Kafka, as in `started_at`."""

    def __init__(self, host: QueryHost, plan: Plan, begins: str | None):
        self.host, self.plan, self.begins = host, plan, begins

    @cached_property
    def valued(self) -> Plan:
        """The plan with the values of the references in its options, which were asked for when it was first run."""
        return with_values(self.plan)

    @property
    def programs(self) -> list[MatchProgram]:
        """The programs of its row patterns."""
        return [program for match in self.plan.matches for program in match.program.programs]

    @property
    def patterns(self) -> str:
        """The row patterns as text, separated by semicolons."""
        return "; ".join(dump(program.pattern) for program in self.programs)

    def checkpoint_path(self, location: str | Path) -> "CheckpointPath":
        """Return the folder of a checkpoint, which may be in a file system of Hadoop's."""
        from cepsql.spark.checkpoint.checkpoint_path import checkpoint_path

        return checkpoint_path(location, lambda: self.host.spark)

    def buckets(self) -> "Buckets":
        """Return how the keys of a new checkpoint are spread."""
        from cepsql.spark.frames.buckets import session_buckets

        count = self.host.settings.get("cepsql.buckets")
        return session_buckets(self.host.spark, int(count) if count else None)

    def tasks(self) -> frozenset[int] | None:
        """Return which operators over changes share a task in a new checkpoint: all that can (None), or none."""
        asked = self.host.settings.get("cepsql.one_task", "auto")
        together = self.buckets().count <= FEW_BUCKETS if asked == "auto" else asked == "true"
        return None if together else frozenset()

    def identity(self) -> dict:
        """Return the identity of the query, as data."""
        spark = self.host.spark
        from cepsql.spark.frames.user_frames import frame_identity
        from cepsql.spark.jvm.lent_settings import meaning_settings

        return describe_plan(self.valued, meaning_settings(spark), frame_identity)

    def partition(self, key: Key) -> AskedPartition:
        """Return the partition of a key, with the match within the limits that SET gives its search."""
        asked = asked_partition(self.valued, key)
        program = self.host.search_limits(asked.match.program)
        return replace(asked, match=replace(asked.match, program=program))

    def build(self, options: "FrameOptions | None" = None) -> "DataFrame":
        """Build the DataFrame; see `cepsql.spark.building.build.build`. Raises Error."""
        spark = self.host.spark
        from cepsql.spark.building.build import build
        from cepsql.spark.building.frame_options import EXPIRED_ROWS, FrameOptions
        from cepsql.spark.building.neighbours import Sharing
        from cepsql.spark.jvm.interrupts import held_interrupts
        from cepsql.spark.jvm.lent_settings import AS_WRITTEN, lent_settings, settings_stay
        from cepsql.spark.jvm.messages.failures import translated_failures
        from cepsql.spark.jvm.session_zone import session_zone
        from cepsql.spark.sources.view_frame import view_frames

        options = options or FrameOptions()
        with translated_failures(self.plan.text), held_interrupts(), lent_settings(spark, AS_WRITTEN):
            replaced = options.replaced
            if not self.plan.streaming and (views := view_sources(self.plan)):
                self.host.wait_for_views(self.plan)
                # What is read of several views is of one moment.
                from cepsql.views.points import asked_point

                replaced = {**view_frames(spark, views, asked_point(self.plan.query, session_zone(spark))), **replaced}
            options = replace(
                options,
                replaced=replaced,
                buckets=options.buckets or self.buckets(),
                sharing=options.sharing or Sharing(begun_tasks=self.tasks()),
                limits=self.host.search_limits,
                expired=options.expired or int(self.host.settings.get("cepsql.expired_rows", EXPIRED_ROWS)),
            )
            with settings_stay():
                return build(spark, started_at(self.valued, self.begins), options)
