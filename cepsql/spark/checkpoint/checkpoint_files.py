"""The files of Spark's own in a checkpoint, checked before a query resumes from it.

A machine that loses its power can leave the file written last empty or cut short.
"""

import contextlib
import json
import logging
import re
import uuid
from collections.abc import Iterable
from pathlib import Path

from cepsql.errors import Error, OperationalError
from cepsql.spark.checkpoint.checkpoint_path import (
    CheckpointPath,
    on_object_store,
    remove_checksum,
    remove_tree,
    write_whole,
)
from cepsql.spark.checkpoint.planned_files import forget_unplanned
from cepsql.spark.jvm.full_disk import Place, explain_full

LOGGER = logging.getLogger("cepsql")
UNBEGUN, SPARK = "unbegun.json", "spark"
_COMPACT, _PARTITIONS = ".compact", "spark.sql.shuffle.partitions"
_STATE = "occurred during loading state"
"""What Spark says where it cannot read a file of the state, and does not name it."""

_READER = re.compile(
    r"org\.apache\.spark\.sql\.execution\.streaming\.[\w.$]*"
    r"(?:Log|Offset|OffsetSeq\w*|Metadata\w*|Schema\w*|StateStore\w*|RocksDB\w*)\$?"
    r"\.(?:\$anonfun\$)?(?:get|read|load|update|deserialize|parse|apply|validate|verify|fetch|restore|validateOrThrow)\w*"
)
"""The methods of Spark's that read files of a checkpoint."""

_NEAR = 12
"""So many calls of Spark's are looked at, from the innermost on."""

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


def planned_offsets(spark: CheckpointPath, batch: int) -> tuple[str, ...]:
    """Return up to where a planned batch reads each source, as Spark has written it; `spark` as for `check_files`."""
    # A line says the version of the file, and one what is known of the batch.
    lines = (spark / "offsets" / str(batch)).read_text("utf-8").splitlines()[2:]
    return tuple(lines)


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
    needed = _needed(spark)
    for file in needed:
        if not _is_log(file):
            raise _damaged(spark, file)
    metadata = spark / "metadata"
    if needed and not (metadata.exists() and _names_query(metadata)):
        raise _damaged(spark, metadata)


def _needed(spark: CheckpointPath) -> list[CheckpointPath]:
    """Return the files of Spark's logs that it reads when it goes on: of its batches the last two, of the files of each
    source all from the last one on that has what came before."""
    planned = sorted(_numbered(spark / "offsets"), key=_number)[-2:]
    for folder in (spark / "sources").glob("*"):
        files = sorted(_numbered(folder), key=_number)
        begin = max((number for number, file in enumerate(files) if file.name.endswith(_COMPACT)), default=0)
        planned += files[begin:]
    return planned


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
    full = explain_full(error, [*_written(folder), *written], "when there is room, start the query")
    if full is not error:
        return full
    if str(folder / SPARK) in error.message:
        message, hint = f"cannot resume from the checkpoint {folder}: {error.message}", _HINT
    elif _STATE in error.message:
        state = folder / SPARK / "state"
        message, hint = f"cannot resume from the checkpoint {folder}: a file below {state} cannot be read", _HINT
    elif _failed_reading(error):
        # Where the cause says nothing, Spark says which query it was.
        cause = "" if error.message.startswith("Query [") else f": {error.message}"
        message, hint = f"a file of the checkpoint {folder} cannot be read, it may be damaged{cause}", _HINT
    else:
        return error
    return OperationalError(message, hint=hint, detail=error.detail)


def _failed_reading(error: Error) -> bool:
    """Tell whether Spark failed where it reads a file of a checkpoint, whatever it says of it."""
    causes = re.split(r"^\s*Caused by: ", error.detail or "", flags=re.MULTILINE)
    frames = re.findall(r"^\s*at (org\.apache\.spark\.[^\n]*)", causes[-1], re.MULTILINE)
    return any(map(_READER.match, frames[:_NEAR]))


def _written(folder: CheckpointPath) -> list[Place]:
    return [Place("the checkpoint", folder)] if isinstance(folder, Path) else []


def _damaged(spark: CheckpointPath, file: CheckpointPath) -> OperationalError:
    what = "is damaged" if file.exists() else "is missing"
    return OperationalError(f"cannot resume from the checkpoint {spark.parent}: its file {file} {what}", hint=_HINT)


def _last_number(folder: CheckpointPath) -> int | None:
    last = _last(folder)
    return None if last is None else int(last.name)


def _last(folder: CheckpointPath) -> CheckpointPath | None:
    """Return the file of the last batch in one of Spark's logs."""
    return max(_numbered(folder), key=_number, default=None)


def _numbered(folder: CheckpointPath) -> list[CheckpointPath]:
    return [path for path in folder.glob("*") if path.name.removesuffix(_COMPACT).isdigit()]


def _number(file: CheckpointPath) -> int:
    return int(file.name.removesuffix(_COMPACT))


def _is_log(file: CheckpointPath) -> bool:
    """Tell whether a file of Spark's logs is whole: a version, then JSON or a dash on each line, which make sense."""
    try:
        version, *lines = file.read_bytes().decode("utf-8").splitlines() or [""]
        said = [json.loads(line) for line in lines if line != "-"]
    except ValueError:
        return False
    if not re.fullmatch(r"v\d+", version) or not lines:
        return False
    settings = [part["conf"] for part in said if isinstance(part, dict) and isinstance(part.get("conf"), dict)]
    return all(re.fullmatch("[1-9][0-9]*", str(found.get(_PARTITIONS, 1))) for found in settings)


def _names_query(metadata: CheckpointPath) -> bool:
    """Tell whether a file says which query a checkpoint is of."""
    try:
        uuid.UUID(json.loads(metadata.read_bytes().decode("utf-8"))["id"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return True
