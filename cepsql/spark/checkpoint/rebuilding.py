"""Rebuild the state of a query whose text has changed: one batch reads all input again, and writes nothing.

Spark repeats the last batch that it planned but never committed. So a checkpoint without a commit, whose only planned
batch ends where the last batch ended before, begins with all files or records up to there.
"""

import json
import uuid
from pathlib import Path

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.checkpoint_files import (
    SPARK,
    forgotten,
    is_between_batches,
    is_unbegun,
    last_committed,
    spark_folder,
)
from cepsql.spark.checkpoint.checkpoint_path import (
    CheckpointPath,
    copy_tree,
    move_whole,
    on_object_store,
    remove_tree,
    synchronize_tree,
    used,
)
from cepsql.spark.checkpoint.planned_files import file_of, read_log
from cepsql.spark.checkpoint.saved_progress import move_record, restarted_totals

_BEGUN_ANEW = f"{SPARK}-"
"""The prefix, before the checkpoint's id, of the name of Spark's part of a checkpoint that is not in place yet. In an
object store, which can't move folders atomically, the part keeps that name."""


def rebuilding_obstacle(folder: CheckpointPath) -> str | None:
    """Return why the state of a checkpoint can't be rebuilt from its sources, None if no obstacle is known."""
    gone = [path for path in _files_read(spark_folder(folder)) if not path.exists()]
    if gone:
        return f"{len(gone)} of the files that it has read are gone, such as {gone[0]}"
    if (age := forgotten(folder)) is not None:
        return f"it has forgotten which files it read that are {int(age)} s older than the newest one (maxFileAge)"
    return None


def begin_rebuilding(folder: CheckpointPath, id: str, rebuilds: bool) -> tuple[bool, str]:
    """Prepare Spark's part of the checkpoint that replaces the one in `folder`, under the new `id`.

    rebuilds: the old checkpoint itself begins with a batch that rebuilds state. If that batch did not commit, it has
              written nothing, so it can be repeated under yet another text.
    Nothing changes before plan.json names the new id. Returns whether a batch must be read again, and the name of the
    part once it is in place.
    Raises OperationalError if the input can't be read again, or the last batch was interrupted.
    """
    spark, new = spark_folder(folder), folder / f"{_BEGUN_ANEW}{id}"
    committed = last_committed(spark)
    again = rebuilds and committed is None
    last = 0 if again else committed
    if not again and not is_between_batches(spark) and not is_unbegun(folder):
        raise OperationalError(
            f"the last batch of the checkpoint {folder} was cut short, so that the sink may have rows of it",
            hint="the text before brings it to its end: replace the query by that one, start and stop it",
        )
    if (obstacle := rebuilding_obstacle(folder)) is not None:
        hint = "CREATE OR REPLACE QUERY ... WITH NEW CHECKPOINT AS ... begins with what is there now"
        raise OperationalError(f"the state of the checkpoint {folder} cannot be rebuilt: {obstacle}", hint=hint)
    with used(folder):
        (new / "offsets").mkdir(parents=True)
        if last is not None:
            version, metadata, *ends = (spark / "offsets" / str(last)).read_text("utf-8").splitlines()
            said = json.loads(metadata) | {"batchWatermarkMs": 0}
            (new / "offsets" / "0").write_text("\n".join([version, json.dumps(said), *ends]), "utf-8")
            # Late rows of an interrupted batch are removed by its own query id.
            query_metadata = (spark / "metadata").read_text("utf-8") if again else json.dumps({"id": str(uuid.uuid4())})
            (new / "metadata").write_text(query_metadata, "utf-8")
            copy_tree(spark / "sources", new / "sources")
        restarted_totals(folder, committed, new)
        synchronize_tree(new)
    return last is not None, new.name if on_object_store(folder) else SPARK


def put_in_place(folder: CheckpointPath, id: str, part: str) -> None:
    """Move the part that was prepared for the checkpoint of this id into place, and remove parts of other ids.

    part: the name of Spark's part of the checkpoint.
    If interrupted, the next call completes it.
    """
    with used(folder):
        for prepared in folder.glob(f"{_BEGUN_ANEW}*"):
            if prepared.name not in (part, f"{_BEGUN_ANEW}{id}"):
                remove_tree(prepared)
                continue
            move_record(prepared, folder)
            remove_tree(folder / SPARK)
            if part == SPARK:
                move_whole(prepared, folder / SPARK)


def _files_read(spark: CheckpointPath) -> list[Path]:
    """Return the local files that the sources of a checkpoint have read."""
    logs = [log for place in (spark / "sources").glob("*/[0-9]*") if (log := read_log(place)) is not None]
    places = [file_of(entry) for log in logs for entry, _ in log.entries]
    return list(dict.fromkeys(Path(place.path) for place in places if place.scheme in ("", "file")))
