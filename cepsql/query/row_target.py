"""The target of a standing query's rows: a function, a queue, or a sink."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from cepsql.catalog.mounts import check_still_mounted
from cepsql.catalog.references import valued_sink
from cepsql.errors import NotSupportedError
from cepsql.plan.tree.match_id_column import match_id_column
from cepsql.query.planned_query import PlannedQuery
from cepsql.query.start_arguments import StartArguments
from cepsql.render.far_times import for_python
from cepsql.sinks import WriterIdentity, open_sink
from cepsql.spark.checkpoint.checkpoint import Checkpoint, disk_named
from cepsql.spark.checkpoint.row_limit import RowLimit
from cepsql.spark.run.row_queue import RowQueue
from cepsql.spark.run.sink import BatchSink, RowSink
from cepsql.views.recent_rows import LastRows


def row_target(
    planned: PlannedQuery,
    arguments: StartArguments,
    last_rows: LastRows | None,
    checkpoint: Checkpoint,
    frame: DataFrame,
) -> BatchSink:
    """Return the target for the rows of a frame, after checks."""
    plan, sink = planned.plan, arguments.sink
    if sink is None:
        rows = RowQueue() if arguments.on_rows is None else RowSink(_for_python(arguments.on_rows))
        rows.limit = None if plan.limit is None else RowLimit(plan.limit, checkpoint.folder)
        return rows
    if plan.limit is not None:
        raise NotSupportedError("LIMIT of a query that writes to a sink is not supported")
    if sink.format.lower() == "kafka" and not sink.key:
        match_id = match_id_column(plan.logical)
        sink = replace(sink, key=(match_id,) if match_id else ())
    writer = WriterIdentity(arguments.name or checkpoint.id, checkpoint.epoch, checkpoint.id)
    target = open_sink(valued_sink(sink), writer, plan.changes, [part.changes for part in plan.parts])
    target.last_rows = None if last_rows is None else last_rows.of(checkpoint.id)
    place = target.place or ""
    target.record_id = checkpoint.known_record(place, target.folder)
    target.mount = checkpoint.mounts.get(place)
    try:
        if target.folder is not None and place not in checkpoint.records:
            check_still_mounted(target.mount, target.folder, f"sink {sink.name} at")
        with disk_named(checkpoint, place, target.folder):
            target.check_frame(frame)
    except BaseException:
        target.close()
        raise
    return target


def _for_python(on_rows: Callable[[pa.Table, int], None]) -> Callable[[pa.Table, int], None]:
    """Return a function that calls the user's function with rows that Python can represent."""
    return lambda rows, batch: on_rows(for_python(rows), batch)
