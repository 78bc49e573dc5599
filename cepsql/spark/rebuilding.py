"""The state of a query made anew under another text: one batch reads again all that was read, and writes nothing.

Spark does the last batch that it planned and never committed again. So a checkpoint without a commit, whose only
planned batch ends where the last one did before, begins with all files or records up to there.
"""

import json
import uuid
from pathlib import Path
from urllib.parse import unquote, urlparse

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint_files import is_between_batches, last_committed
from cepsql.spark.checkpoint_path import CheckpointPath, copy_tree, move_whole, on_object_store, remove_tree, used
from cepsql.spark.kept_progress import move_record, restarted_totals

_BEGUN_ANEW = "spark-"
"""What the name of Spark's part of a checkpoint begins with before it is in place; the checkpoint's id follows."""


def rebuilding_obstacle(folder: CheckpointPath) -> str | None:
    """Return why the state of a checkpoint cannot be made anew from its sources, None if it can, as far as is known."""
    if on_object_store(folder):
        return "it is in an object store, where nothing can be put in its place in one step"
    gone = [path for path in _files_read(folder / "spark") if not path.exists()]
    if gone:
        return f"{len(gone)} of the files that it has read are gone, such as {gone[0]}"
    return None


def begin_rebuilding(folder: CheckpointPath, id: str) -> bool:
    """Prepare Spark's part of the checkpoint that takes the place of the one in `folder`, under the new `id`.

    Nothing has changed before `put_in_place`. Returns whether there is a batch that must be read again.
    Raises OperationalError if what was read cannot be read again, or the last batch was cut short.
    """
    spark, new = folder / "spark", folder / f"{_BEGUN_ANEW}{id}"
    committed = last_committed(spark)
    if not is_between_batches(spark):
        raise OperationalError(
            f"the last batch of the checkpoint {folder} was cut short, so that the sink may have rows of it",
            hint="the text before brings it to its end: replace the query by that one, start and stop it",
        )
    if (obstacle := rebuilding_obstacle(folder)) is not None:
        hint = "CREATE OR REPLACE QUERY ... WITH NEW CHECKPOINT AS ... begins with what is there now"
        raise OperationalError(f"the state of the checkpoint {folder} cannot be made anew: {obstacle}", hint=hint)
    with used(folder):
        (new / "offsets").mkdir(parents=True)
        if committed is not None:
            version, metadata, *ends = (spark / "offsets" / str(committed)).read_text("utf-8").splitlines()
            said = json.loads(metadata) | {"batchWatermarkMs": 0}
            (new / "offsets" / "0").write_text("\n".join([version, json.dumps(said), *ends]), "utf-8")
            (new / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}), "utf-8")
            copy_tree(spark / "sources", new / "sources")
        restarted_totals(folder, committed, new)
    return committed is not None


def put_in_place(folder: CheckpointPath, id: str) -> None:
    """Let what was prepared for the checkpoint of this id take its place, and remove what was for another one.

    Cut short anywhere, it is brought to its end by the next call.
    """
    with used(folder):
        for prepared in folder.glob(f"{_BEGUN_ANEW}*"):
            if prepared.name != f"{_BEGUN_ANEW}{id}":
                remove_tree(prepared)
                continue
            move_record(prepared, folder)
            remove_tree(folder / "spark")
            move_whole(prepared, folder / "spark")


def _files_read(spark: CheckpointPath) -> list[Path]:
    """Return the local files that the sources of a checkpoint have read."""
    found = []
    for log in (spark / "sources").glob("*/*"):
        for line in log.read_text("utf-8").splitlines()[1:] if log.name[0].isdigit() else ():
            path = json.loads(line).get("path") if line.startswith("{") else None
            if path is not None and urlparse(path).scheme in ("", "file"):
                found.append(Path(unquote(urlparse(path).path)))
    return list(dict.fromkeys(found))
