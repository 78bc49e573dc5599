"""Why Spark, not Arrow, reads the files of a query."""

from typing import TYPE_CHECKING

from cepsql.plan.tree.scans import choose_plain_scan, choose_scans, scanned, stage_obstacle
from cepsql.query.planned_query import PlannedQuery
from cepsql.query.spark_rows import SparkRows
from cepsql.readers.scan.choose import Choice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def scan_obstacle(planned: PlannedQuery, rows: SparkRows, spark: "SparkSession | None") -> str | None:
    """Return why Spark would read the files of streams if the query were started now, None if Arrow would.

    spark: the session, whose settings matter, too, and the types of whose `rows`.
    """
    root, stages = planned.valued.root, scanned(planned.valued.stages)
    plain = choose_plain_scan(root)
    if not stages and plain is None:
        return "Spark's own operators read the streams"
    if planned.host.settings.get("cepsql.scan") == "spark":
        return "cepsql.scan is spark"
    reason = next(filter(None, map(stage_obstacle, stages)), None) or (plain.reason if plain else None)
    if reason or spark is None:
        return reason
    from cepsql.spark.frames.column_types import frame_columns
    from cepsql.spark.sources.arrow_scan import files_obstacle, scan_session, session_obstacle

    session = scan_session(spark)
    reason = session_obstacle(spark) or next(filter(None, (stage_obstacle(s, session) for s in stages)), None)
    if reason:
        return reason
    choices: list[Choice | None] = [choice for stage in stages for choice in choose_scans(stage, session)]
    if plain is not None:
        choices.append(choose_plain_scan(root, session, frame_columns(rows.frame)))
    scans = [(choice.scan, choice.source) for choice in choices if choice and choice.scan and choice.source]
    unread = (files_obstacle(source, scan.layout) for scan, source in scans)
    return next(filter(None, [*(choice.reason for choice in choices if choice), *unread]), None)
