"""What follows from a query for how it is run over its checkpoint."""

from collections.abc import Iterable

from cepsql.catalog import Registered, Sink, Source
from cepsql.catalog.view_store import ViewSource
from cepsql.explain.match_explanation import MatchExplanation
from cepsql.explain.match_key import Key
from cepsql.plan.resolved_references import hidden_values
from cepsql.query.planned_query import PlannedQuery
from cepsql.readers.datagen.fields import DATAGEN
from cepsql.readers.kafka.kafka_reader import PYTHON, reader_of
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.checkpoint.checkpoint import Checkpoint
from cepsql.spark.checkpoint.source_log import longest_file_age
from cepsql.spark.jvm.messages.full_disk import written_places
from cepsql.spark.run.explained_partition import explain_held
from cepsql.spark.run.standing_query import StartOptions
from cepsql.spark.sources.late_rows import late_files
from cepsql.spark.sources.source import is_kafka
from cepsql.spark.sources.watching.csv_headers import files_with_headers
from cepsql.spark.sources.watching.unread_files import listed_folder


def run_options(planned: PlannedQuery, checkpoint: Checkpoint, sink: Sink | None) -> StartOptions:
    """Return the options that the query itself, its checkpoint and its sink decide."""
    spark, plan, origins = planned.host.spark, planned.plan, planned.valued.origins

    def explain(key: Key) -> MatchExplanation:
        sharing = Sharing.of_checkpoint(checkpoint, checkpoint.tasks)
        return explain_held(spark, planned.valued, planned.partition(key), checkpoint.spark, sharing)

    streams = [one for one in origins if isinstance(one, Source) and one.streaming]
    marks = [one.watermark for one in origins if one.watermark is not None]
    late = tuple(files for files in map(late_files, origins) if files is not None)
    return StartOptions(
        secrets=tuple(value for one in plan.origins if isinstance(one, Source) for value in hidden_values(one)),
        sql=plan.text,
        patterns=planned.patterns,
        explain=explain if plan.matches else None,
        heartbeat=min(filter(None, (every for m in marks for every in (m.heartbeat, m.idle))), default=None),
        expires=next((node.expires for node in plan.stages if node.expires is not None), None),
        late_files=late,
        file_age=longest_age(origins),
        folders=tuple(folder for folder in map(listed_folder, streams) if folder is not None),
        csv_files=files_with_headers(streams),
        python_sources=any(isinstance(one, Source) and _is_read_by_python(one) for one in origins),
        written=written_places(spark, sink, (files.folder for files in late)),
        parts=tuple(bool(part.stages) for part in plan.parts),
        late_shares={
            one.name: one.watermark.late_alert
            for one in origins
            if one.watermark is not None and one.watermark.late_alert is not None
        },
    )


def longest_age(origins: Iterable[Source | Registered]) -> float | None:
    """Return after how many seconds Spark forgets a file that it has read, None for never."""
    return longest_file_age(one.options for one in origins if isinstance(one, Source) and one.streaming)


def _is_read_by_python(source: Source) -> bool:
    if is_kafka(source) and reader_of(source) == PYTHON:
        return True
    return source.streaming and (source.format == DATAGEN or isinstance(source, ViewSource))
