"""The state of a query made anew under another text: one batch reads again all that was read, and writes nothing.

Spark does the last batch that it planned and never committed again. So a checkpoint without a commit, whose only
planned batch ends where the last one did before, begins with all files or records up to there.
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
"""What the name of Spark's part of a checkpoint begins with before it is in place; the checkpoint's id follows. In an
object store, which moves no folder in one step, it keeps that name."""


def rebuilding_obstacle(folder: CheckpointPath) -> str | None:
    """Return why the state of a checkpoint cannot be rebuilt from its sources, None if it can, as far as is known."""
    gone = [path for path in _files_read(spark_folder(folder)) if not path.exists()]
    if gone:
        return f"{len(gone)} of the files that it has read are gone, such as {gone[0]}"
    if (age := forgotten(folder)) is not None:
        return f"it has forgotten which files it read that are {int(age)} s older than the newest one (maxFileAge)"
    return None


def begin_rebuilding(folder: CheckpointPath, id: str, rebuilds: bool) -> tuple[bool, str]:
    """Prepare Spark's part of the checkpoint that takes the place of the one in `folder`, under the new `id`.

    rebuilds: that one begins with a batch that is read again itself, which was cut short if it is not committed. It has
              written nothing, so that it may be read again under yet another text.
    Nothing has changed before plan.json names the new id. Returns whether there is a batch that must be read again, and
    the name of the part once it is in place.
    Raises OperationalError if what was read cannot be read again, or the last batch was cut short.
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
            # What a batch that was cut short has left among late rows is removed under its own id.
            known = (spark / "metadata").read_text("utf-8") if again else json.dumps({"id": str(uuid.uuid4())})
            (new / "metadata").write_text(known, "utf-8")
            copy_tree(spark / "sources", new / "sources")
        restarted_totals(folder, committed, new)
        synchronize_tree(new)
    return last is not None, new.name if on_object_store(folder) else SPARK


def put_in_place(folder: CheckpointPath, id: str, part: str) -> None:
    """Let what was prepared for the checkpoint of this id take its place, and remove what was for another one.

    part: the name of Spark's part of it.
    Cut short anywhere, it is brought to its end by the next call.
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
