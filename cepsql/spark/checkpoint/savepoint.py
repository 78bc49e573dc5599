"""Copies of checkpoints: savepoints, and checkpoints that begin with one."""

import contextlib
import json
import shutil
import uuid
from pathlib import Path

from cepsql.catalog.mounts import check_mounted
from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.checkpoint_claim import CLAIMS
from cepsql.spark.checkpoint.checkpoint_files import (
    SPARK,
    UNBEGUN,
    check_files,
    drop_planned,
    is_between_batches,
    is_unbegun,
    spark_folder,
    spark_name,
)
from cepsql.spark.checkpoint.checkpoint_lock import lock_checkpoint
from cepsql.spark.checkpoint.checkpoint_path import (
    CheckpointPath,
    copy_tree,
    move_whole,
    on_object_store,
    remove_checksum,
    remove_tree,
    synchronize_tree,
)

_PLAN = "plan.json"
_OWN_OF_A_PROCESS = ("lock*", ".lock", CLAIMS, UNBEGUN)


def save_checkpoint(checkpoint: CheckpointPath, savepoint: CheckpointPath) -> None:
    """Copy the checkpoint of a query that does not run to a folder that is not there yet.

    Raises OperationalError if it is in use, damaged, its last batch was cut short, or the copy cannot be written.
    """
    try:
        lock = lock_checkpoint(checkpoint)
    except OSError as error:
        raise _uncopied(checkpoint, savepoint, error) from error
    try:
        # A copy that no query could go on from would be found out when it is needed.
        check_files(spark_folder(checkpoint))
        if not is_between_batches(spark_folder(checkpoint)) and not is_unbegun(checkpoint):
            raise OperationalError(
                f"the last batch of the checkpoint {checkpoint} was cut short, so that its sink may have rows of it",
                hint="START QUERY brings it to its end; then stop the query again",
            )
        _copy(checkpoint, savepoint)
    finally:
        lock.release()


def begin_checkpoint(savepoint: CheckpointPath, checkpoint: CheckpointPath) -> None:
    """Begin a new checkpoint, under an identity of its own, with what a savepoint holds.

    Raises OperationalError if the savepoint is not there, or the folder of the checkpoint is not empty.
    """
    if not (savepoint / "plan.json").exists():
        raise OperationalError(f"the savepoint's folder {savepoint} is not there")
    if checkpoint.is_dir() and any(checkpoint.iterdir()):
        raise OperationalError(f"the folder {checkpoint} is not empty", hint="OPTIONS (checkpoint '/another/folder')")
    _copy(savepoint, checkpoint, anew=True)


def _copy(source: CheckpointPath, target: CheckpointPath, anew: bool = False) -> None:
    """Copy a checkpoint; the copy appears as a whole.

    anew: it gets an identity of its own: its batches are not those of the first one, to Spark and to sinks.
    """
    # What has no plan.json is no checkpoint, so that this comes last where folders are not moved in one step. What was
    # begun under a name that others may use at the same time stays there.
    in_place = on_object_store(target)
    if isinstance(target, Path):
        check_mounted(target, "a copy of a checkpoint")
    hidden = target if in_place else target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
    whole = False
    try:
        if in_place:
            # An empty folder may be there.
            target.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_tree(source, hidden, (*_OWN_OF_A_PROCESS, _PLAN))
        plan, part = _object(source / _PLAN), spark_name(source)
        identity = source / part / "metadata"
        if not in_place and part != SPARK:
            move_whole(hidden / part, hidden / SPARK)
            plan, part = plan | {"spark": SPARK}, SPARK
        drop_planned(hidden / part)
        if anew and identity.exists():
            metadata = hidden / part / "metadata"
            metadata.write_bytes(_renewed(_object(identity)))
            remove_checksum(metadata)
        (hidden / _PLAN).write_bytes(_renewed(plan) if anew else json.dumps(plan).encode())
        if not in_place:
            if isinstance(hidden, Path) and isinstance(target, Path) and target.is_dir():
                # Who made it may let others read it, such as Spark's workers.
                hidden.chmod(target.stat().st_mode & 0o7777)
            synchronize_tree(hidden)
            move_whole(hidden, target)
        whole = True
    except (OSError, shutil.Error) as error:
        raise _uncopied(source, target, error) from error
    finally:
        if not in_place or not (whole or anew):
            remove_tree(hidden)


def _uncopied(source: CheckpointPath, target: CheckpointPath, error: Exception) -> OperationalError:
    # shutil lists every file that it could not copy; one says enough.
    reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error
    return OperationalError(f"the checkpoint {source} cannot be copied to {target}: {reason}")


def _object(file: CheckpointPath) -> dict:
    """Return the JSON object that a file has; raises OperationalError if it has none."""
    with contextlib.suppress(ValueError):
        parsed = json.loads(file.read_bytes())
        if isinstance(parsed, dict):
            return parsed
    raise OperationalError(f"the checkpoint file {file} is damaged", hint="put the folder back from a copy")


def _renewed(record: dict) -> bytes:
    """Return a JSON object with another `id`."""
    return json.dumps(record | {"id": str(uuid.uuid4())}).encode()
