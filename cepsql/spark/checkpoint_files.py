"""The files of Spark's own in a checkpoint, looked at before it is gone on from.

A machine that loses its power can leave the file written last empty or cut short.
"""

import contextlib
import json
import logging
import re
from collections.abc import Iterable
from pathlib import Path

from cepsql.errors import Error, OperationalError
from cepsql.spark.checkpoint_path import CheckpointPath, on_object_store, remove_checksum, remove_tree, write_whole
from cepsql.spark.full_disk import Place, explain_full
from cepsql.spark.planned_files import forget_unplanned

LOGGER = logging.getLogger("cepsql")
UNBEGUN, SPARK = "unbegun.json", "spark"
_STATE = "occurred during loading state"
"""What Spark says where it cannot read a file of the state, and does not name it."""

_HINT = "put the folder back from a copy, or use another checkpoint folder and replay the input"


def spark_folder(folder: CheckpointPath) -> CheckpointPath:
    """Return the folder in a checkpoint that is Spark's own: in an object store plan.json says which it is."""
    return folder / spark_name(folder)


def spark_name(folder: CheckpointPath) -> str:
    """Return the name of that folder; opening the checkpoint tells whether plan.json is damaged."""
    return _said(folder).get("spark", SPARK) if on_object_store(folder) else SPARK


def forgotten(folder: CheckpointPath) -> float | None:
    """Return by how many seconds a file that was read must be older than the newest one for the checkpoint not to know
    it any more, None if it knows all."""
    return _said(folder).get("forgot")


def _said(folder: CheckpointPath) -> dict:
    with contextlib.suppress(FileNotFoundError, ValueError):
        return json.loads((folder / "plan.json").read_text("utf-8"))
    return {}


def check_files(spark: CheckpointPath) -> None:
    """Make sure that what Spark reads first when it goes on can be read; `spark` is its checkpoint location.

    A damaged record that the last batch is finished is removed: the batch is done again, and sinks know it.
    What was left of planning the first batch is removed, too, for Spark refuses to begin where there is something.
    Raises OperationalError for what only Spark's other files could tell.
    """
    planned, committed = last_planned(spark), last_committed(spark)
    if planned is None and committed is None:
        if next((spark / "state").rglob("[0-9]*.*"), None) is not None:
            # Batches have written it, and would come again.
            raise _damaged(spark, spark / "offsets")
        for log in ("state",) if on_object_store(spark) else ("offsets", "commits", "state"):
            remove_tree(spark / log)
    elif committed is not None and (planned is None or planned < committed):
        raise _damaged(spark, spark / "offsets" / str(committed))
    if (last := _last(spark / "commits")) is not None and not _is_log(last):
        LOGGER.warning("the checkpoint file %s is damaged: batch %s is done again", last, last.name)
        last.unlink()
        remove_checksum(last)
    needed = [_last(folder) for folder in (spark / "offsets", *(spark / "sources").glob("*"))]
    for file in needed:
        if file is not None and not _is_log(file):
            raise _damaged(spark, file)
    metadata = spark / "metadata"
    if any(needed) and not (metadata.exists() and _is_json([_text(metadata)])):
        raise _damaged(spark, metadata)


def last_committed(spark: CheckpointPath) -> int | None:
    """Return the number of the last micro-batch that Spark has committed in its checkpoint, None before the first."""
    return _last_number(spark / "commits")


def is_between_batches(spark: CheckpointPath) -> bool:
    """Tell whether all batches that were planned are committed, so that no sink has rows of another one."""
    return last_planned(spark) == last_committed(spark)


def last_planned(spark: CheckpointPath) -> int | None:
    """Return the number of the last micro-batch that Spark has planned in its checkpoint, None before the first."""
    return _last_number(spark / "offsets")


def drop_planned(spark: CheckpointPath, *begun: int | None) -> None:
    """Forget a batch that was planned, and not one of those that may have been begun, which are given.

    It was never handed over, so that another one may have its number. What Spark's planning wrote about the state goes
    with the first batch: Spark refuses to begin where there is some.
    """
    planned = _unbegun(spark, begun)
    if planned is not None:
        if last_committed(spark) is None:
            remove_tree(spark / "state")
        offsets = spark / "offsets" / str(planned)
        offsets.unlink()
        remove_checksum(offsets)
        forget_unplanned(spark, last_planned(spark))


def keep_unbegun(folder: CheckpointPath, *begun: int | None) -> None:
    """Record in a checkpoint that a batch was planned and not begun, where `drop_planned` would remove it."""
    planned = _unbegun(spark_folder(folder), begun)
    if planned is not None:
        write_whole(folder / UNBEGUN, json.dumps({"batch": planned}))


def forget_unbegun(folder: CheckpointPath) -> None:
    """Take back what `keep_unbegun` has recorded: the batch may be begun from now on."""
    if (folder / UNBEGUN).exists():
        write_whole(folder / UNBEGUN, json.dumps({"batch": None}))


def is_unbegun(folder: CheckpointPath) -> bool:
    """Tell whether the last batch that was planned in a checkpoint is known not to have been begun."""
    file = folder / UNBEGUN
    planned = _unbegun(spark_folder(folder), ())
    return planned is not None and file.exists() and json.loads(file.read_text("utf-8"))["batch"] == planned


def _unbegun(spark: CheckpointPath, begun: Iterable[int | None]) -> int | None:
    """Return the batch that was planned last if it may not have been begun, None if there is none."""
    committed, planned = last_committed(spark), last_planned(spark)
    at = max((number for number in (*begun, committed) if number is not None), default=-1)
    return planned if planned is not None and planned > at == (-1 if committed is None else committed) else None


def explained(error: Error, folder: CheckpointPath, written: Iterable[Place] = ()) -> Error:
    """Return an error of a query with what it means for its checkpoint, where that is what failed, and with the place
    that is full, where one is; `written`: what else the query writes to."""
    full = explain_full(error, [*_written(folder), *written], "a start goes on once there is room")
    if full is not error:
        return full
    if str(folder / SPARK) in error.message:
        message, hint = f"the checkpoint {folder} cannot be gone on from: {error.message}", _HINT
    elif _STATE in error.message:
        state = folder / SPARK / "state"
        message, hint = f"the checkpoint {folder} cannot be gone on from: a file below {state} cannot be read", _HINT
    else:
        return error
    return OperationalError(message, hint=hint, detail=error.detail)


def _written(folder: CheckpointPath) -> list[Place]:
    return [Place("the checkpoint", folder)] if isinstance(folder, Path) else []


def _damaged(spark: CheckpointPath, file: CheckpointPath) -> OperationalError:
    what = "is damaged" if file.exists() else "is missing"
    return OperationalError(f"the checkpoint {spark.parent} cannot be gone on from: its file {file} {what}", hint=_HINT)


def _last_number(folder: CheckpointPath) -> int | None:
    last = _last(folder)
    return None if last is None else int(last.name)


def _last(folder: CheckpointPath) -> CheckpointPath | None:
    """Return the file of the last batch in one of Spark's logs."""
    numbered = [path for path in folder.glob("*") if path.name.removesuffix(".compact").isdigit()]
    return max(numbered, key=lambda path: int(path.name.removesuffix(".compact")), default=None)


def _is_log(file: CheckpointPath) -> bool:
    """Tell whether a file of Spark's logs is whole: a version, then JSON or a dash on each line."""
    version, *lines = _text(file).splitlines() or [""]
    return bool(re.fullmatch(r"v\d+", version)) and bool(lines) and _is_json(line for line in lines if line != "-")


def _is_json(texts: Iterable[str]) -> bool:
    try:
        for text in texts:
            json.loads(text)
    except ValueError:
        return False
    return True


def _text(file: CheckpointPath) -> str:
    return file.read_bytes().decode("utf-8", "replace")
