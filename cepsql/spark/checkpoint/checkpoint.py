"""The folder in which a standing query keeps what it needs to go on after a restart."""

import contextlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pyspark.sql import SparkSession

from cepsql.analysis.sql.canonical import canonical_json, digest
from cepsql.base.temporary import remove_temporary, temporary_folder
from cepsql.catalog.mounts import check_mounted, covering, mount_point
from cepsql.errors import OperationalError
from cepsql.ordered.keyed.state_files import StateFolder
from cepsql.plan.identity import kept_description
from cepsql.plan.upgrade import COMPATIBLE, REPLAYABLE, SAME, upgrade
from cepsql.spark.checkpoint.begin import write_begin
from cepsql.spark.checkpoint.checkpoint_claim import CLAIMS
from cepsql.spark.checkpoint.checkpoint_files import SPARK, check_files, forget_unbegun, last_committed, last_planned
from cepsql.spark.checkpoint.checkpoint_lock import CheckpointLock, FileLock, lock_checkpoint
from cepsql.spark.checkpoint.checkpoint_path import CONTROL, CheckpointPath, make_folder, remove_tree, used, write_whole
from cepsql.spark.checkpoint.control import is_ended
from cepsql.spark.checkpoint.host_files import HostFiles
from cepsql.spark.checkpoint.planned_files import forget_unplanned
from cepsql.spark.checkpoint.rebuilding import begin_rebuilding, put_in_place
from cepsql.spark.frames.buckets import Buckets
from cepsql.spark.jvm.classic import has_java
from cepsql.spark.jvm.lent_settings import tasks_share_files

FORMAT = 5
"""Of plan.json and of all that stands beside it; what an earlier format left is refused, never misread."""

ARROW_SCAN, SPARK_SCAN = "arrow", "spark"
"""Who reads the files of a stream: what a checkpoint knows of them differs, so it stays as it was begun."""

_WAY_OUT = "use another checkpoint folder, or remove this one to replay the input from its beginning"

STATE_FILES = "levels"
"""The folder in Spark's part in which `cepsql.ordered.keyed.state_files` are, which go where Spark's states go."""

_LOCKS = {"lock.turn", CLAIMS}
_FIRST_FILES = {"lock", ".lock", CONTROL, "begin", ".plan.json.new"} | _LOCKS


@dataclass(frozen=True)
class Checkpoint:
    """folder/spark is Spark's own (in an object store, which moves no folder, it may have another name), folder/control
    ends the input, folder/begin lets operators begin without rows (`cepsql.spark.checkpoint.begin`), folder/plan.json
    says whose checkpoint it is, folder/progress.json what has been counted (`cepsql.spark.checkpoint.saved_progress`);
    folder/tables and folder/history hold what was read of tables (`cepsql.spark.sources.tables_at_rest.snapshots`,
    `cepsql.spark.sources.backfill`).

    identity: what the query is, as data that JSON can hold (`cepsql.plan.identity.describe_plan`).
    id:       what it is known by, which no other checkpoint has; batches are numbered within it.
    epoch:    grows with every start.
    lock:     keeps others from using it.
    rebuilds: whether its first batch was read before, under another text of the query, and makes the state anew.
    part:     the name of the folder that is Spark's own.
    shared:   which operators share a stage, and a state (`cepsql.spark.building.neighbours.Sharing`); None: it is not
              known yet.
    tasks:    the same of operators that share a task.
    one_control: whether these have one source of folder/control, after all others; Spark's part numbers the sources.
    one_scan: whether these read files that several of their inputs are over as one source.
    files:    what it keeps of tables; None: nothing.
    forgot:   of files that were read, it knows none any more that were changed so many seconds before the newest one;
              None: it knows all.
    packets:  where tasks leave large packets while the query runs; None: Spark takes them.
    records:  the places that hold a record of the query, such as the folder of its sink, with the id of each record.
              A place without the record is not the one that the query has written to: its disk may not be mounted.
    mounts:   the mount points of these places when the records were made, as far as they are known.
    """

    folder: CheckpointPath
    identity: object
    temporary: bool = False
    scan: str = SPARK_SCAN
    buckets: Buckets | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    lock: CheckpointLock | None = None
    rebuilds: bool = False
    part: str = SPARK
    shared: frozenset[int] | None = None
    tasks: frozenset[int] | None = None
    one_control: bool = True
    one_scan: bool = True
    files: HostFiles | None = None
    forgot: float | None = None
    packets: Path | None = None
    records: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, str] = field(default_factory=dict)

    @property
    def spark(self) -> str:
        """Spark's checkpointLocation."""
        return str(self.spark_folder)

    @property
    def spark_folder(self) -> CheckpointPath:
        """The folder of that."""
        return self.folder / self.part

    @property
    def control(self) -> str:
        """The name of the folder in which `cepsql.spark.checkpoint.control` ends the input."""
        return str(self.control_folder)

    @property
    def control_folder(self) -> CheckpointPath:
        """The folder in which `cepsql.spark.checkpoint.control` ends the input."""
        return self.folder / CONTROL

    def known_record(self, place: str, path: Path | None) -> str | None:
        """Return the id of the record in a place, None if it has none that matters.

        path: leads to the place; None: it is no place of this machine.
        The query may have begun at an empty mount point. If no batch was committed, it begins on the disk once that is
        mounted: all rows come again.
        """
        if self.covering(place, path) is not None and last_committed(self.spark_folder) is None:
            return None
        return self.records.get(place)

    def covering(self, place: str, path: Path | None) -> Path | None:
        """Return the mount point of a disk that was mounted over a place since its record was made, if one was."""
        return None if path is None else covering(self.mounts.get(place), path)


@dataclass(frozen=True)
class CheckpointDemands:
    """What a start asks of a checkpoint.

    drain: the query is to be drained, so a checkpoint whose drain was cut short will do: it is brought to its end.
    scan, buckets: of a new checkpoint (ARROW_SCAN or SPARK_SCAN); an old one keeps its own.
    epoch: of the owner of the query, which takes the checkpoint over from earlier ones; None: nobody owns it, so that
           starts are counted, and the checkpoint must be free.
    upgrades: one of another text of the query will do, if the plans are compatible or replayable
              (`cepsql.plan.upgrade`).
    file_age: by how many seconds a file that Spark reads may be older than the newest one, None: by any.
    resumes: it was begun, and no other one is made in its place, such as on an empty mount point.
    """

    drain: bool = False
    scan: str = SPARK_SCAN
    buckets: Buckets | None = None
    epoch: int | None = None
    upgrades: bool = False
    file_age: float | None = None
    resumes: bool = False


def open_checkpoint(
    folder: CheckpointPath | None, identity: object, demands: CheckpointDemands = CheckpointDemands()
) -> Checkpoint:
    """Open or make the checkpoint of the query with that identity; None makes a temporary one.

    `discard` must be called when the query has ended.
    Raises OperationalError if the folder is in use, belongs to another query, another version of cepsql, no query at
    all, or one whose input was ended, is not there although it was begun, or has forgotten files that Spark would read
    again.
    """
    temporary = folder is None
    path = temporary_folder("cepsql-checkpoint-") if folder is None else folder
    checkpoint = Checkpoint(path, identity, temporary, demands.scan, demands.buckets, epoch=demands.epoch or 1)
    with used(path):
        if not (path / "plan.json").exists() and path.is_dir() and not _is_barely_begun(path):
            message = f"{path} holds other files and no checkpoint of cepsql"
            raise OperationalError(message, hint="name a folder of its own")
        if not temporary:
            if isinstance(path, Path):
                check_mounted(path, "a checkpoint")
            make_folder(path)
            lock = lock_checkpoint(path, demands.epoch)
            checkpoint = replace(checkpoint, folder=lock.folder, lock=lock)
    try:
        with used(path, "read"):
            return _opened(checkpoint, demands)
    except BaseException:
        discard(checkpoint)
        raise


def _is_barely_begun(folder: CheckpointPath) -> bool:
    """Tell whether a folder has nothing, or no more than what a start writes before it says whose checkpoint it is."""
    there = {path.name for path in folder.iterdir()}
    return not there or bool(there & _LOCKS and there <= _FIRST_FILES)


def kept_identity(folder: CheckpointPath) -> dict | None:
    """Return the identity of the query whose checkpoint a folder holds, None if it holds none here.

    Raises OperationalError if it cannot be read, is damaged, or in the format of another version of cepsql.
    """
    file = folder / "plan.json"
    with used(folder, "read"):
        if not file.exists():
            return None
        plan = _read_plan(file)
    _check_format(folder, plan)
    return plan["plan"]


def _opened(checkpoint: Checkpoint, demands: CheckpointDemands) -> Checkpoint:
    """Return a checkpoint with what is kept of it, and keep what is new."""
    file = checkpoint.folder / "plan.json"
    if file.exists():
        plan = _read_plan(file)
        kind = _verify(checkpoint, plan, demands.drain, demands.upgrades)
        _check_forgotten(checkpoint.folder, plan, demands.file_age)
        checkpoint = replace(checkpoint, part=plan.get("spark", SPARK))
        put_in_place(checkpoint.folder, plan["id"], checkpoint.part)
        check_files(checkpoint.spark_folder)
        forget_unplanned(checkpoint.spark_folder, last_planned(checkpoint.spark_folder))
        epoch = plan["epoch"] + 1 if demands.epoch is None else demands.epoch
        checkpoint = replace(checkpoint, records=plan.get("records", {}), mounts=plan.get("mounts", {}))
        if kind == REPLAYABLE:
            # The scan and the buckets are those of a checkpoint that begins.
            rebuilds, part = begin_rebuilding(checkpoint.folder, checkpoint.id, plan["rebuilds"])
            checkpoint = replace(checkpoint, epoch=epoch, rebuilds=rebuilds, part=part)
        else:
            buckets = plan["buckets"] and Buckets(**plan["buckets"])
            parts = {"scan": plan["scan"], "buckets": buckets}
            # A checkpoint of a version that shared no stage, or no task, says nothing of it.
            shares = {name: plan.get(name, []) for name in ("shared", "tasks")}
            parts |= {name: None if numbers is None else frozenset(numbers) for name, numbers in shares.items()}
            parts |= {name: plan.get(name, False) for name in ("one_control", "one_scan")}
            parts |= {"id": plan["id"], "rebuilds": plan["rebuilds"], "forgot": plan.get("forgot")}
            checkpoint = replace(checkpoint, **parts, epoch=epoch)
        forget_unbegun(checkpoint.folder)
        if last_committed(checkpoint.spark_folder) is None:
            # The first batch is done again, with new states.
            remove_tree(checkpoint.spark_folder / STATE_FILES)
    elif demands.resumes:
        raise OperationalError(f"the checkpoint {checkpoint.folder} is gone", hint="put it back, or mount its disk")
    with used(checkpoint.folder):
        checkpoint.control_folder.mkdir(parents=True, exist_ok=True)
        write_begin(checkpoint.control_folder)
    _write_plan(checkpoint, finished=False)
    put_in_place(checkpoint.folder, checkpoint.id, checkpoint.part)
    return checkpoint


def keep_shared(checkpoint: Checkpoint, shared: Iterable[int], tasks: Iterable[int]) -> Checkpoint:
    """Record which operators share a stage or a task, if it is not known yet; return the checkpoint that knows it."""
    if checkpoint.shared is not None and checkpoint.tasks is not None:
        return checkpoint
    changed = replace(
        checkpoint,
        shared=frozenset(shared) if checkpoint.shared is None else checkpoint.shared,
        tasks=frozenset(tasks) if checkpoint.tasks is None else checkpoint.tasks,
    )
    _write_plan(changed, finished=False)
    return changed


def keep_records(
    checkpoint: Checkpoint, records: Mapping[str, str], paths: Mapping[str, Path | None] | None = None
) -> Checkpoint:
    """Record which places hold a record of the query, by the ids of the records; return the checkpoint that knows.

    paths: of the places on this machine.
    """
    mounts = {place: str(mount_point(path)) for place, path in (paths or {}).items() if path is not None}
    if records.items() <= checkpoint.records.items() and mounts.items() <= checkpoint.mounts.items():
        return checkpoint
    changed = replace(checkpoint, records={**checkpoint.records, **records}, mounts={**checkpoint.mounts, **mounts})
    _write_plan(changed, finished=False)
    return changed


@contextlib.contextmanager
def disk_named(checkpoint: Checkpoint, place: str, path: Path | None) -> Iterator[None]:
    """Let an OperationalError of a place without its record tell of a disk that was mounted since that was made."""
    try:
        yield
    except OperationalError as error:
        mount = checkpoint.covering(place, path)
        if mount is not None:
            error.hint = (
                f"a disk was mounted at {mount} after the query had begun to write there, and hides what it wrote: "
                "unmount it, move that elsewhere, and put it onto the disk; the next start resumes with this batch"
            )
        raise


def keep_forgotten(checkpoint: Checkpoint, age: float) -> Checkpoint:
    """Record, before it forgets them, that files are forgotten that are so much older than the newest one; return the
    checkpoint that knows it."""
    if checkpoint.forgot is not None and checkpoint.forgot <= age:
        return checkpoint
    changed = replace(checkpoint, forgot=age)
    _write_plan(changed, finished=False)
    return changed


def state_folder(checkpoint: Checkpoint, spark: SparkSession) -> StateFolder | None:
    """Return where tasks keep what operators remember of many keys; None in a file system that they do not reach."""
    place = checkpoint.spark_folder / STATE_FILES
    return StateFolder(place, writes=has_java(spark) and tasks_share_files(spark)) if isinstance(place, Path) else None


def finish(checkpoint: Checkpoint) -> None:
    """Record that the input has ended: whatever came now would be late."""
    _write_plan(checkpoint, finished=True)


def discard(checkpoint: Checkpoint) -> None:
    """Remove what only this run needed, a temporary checkpoint too; others stay, and are free for the next start."""
    if checkpoint.lock is not None:
        checkpoint.lock.release()
    if checkpoint.files is not None:
        checkpoint.files.discard()
    if checkpoint.packets is not None:
        remove_tree(checkpoint.packets)
    if checkpoint.temporary:
        assert isinstance(checkpoint.folder, Path)
        remove_temporary(checkpoint.folder)


def _read_plan(file: CheckpointPath) -> dict:
    try:
        plan = json.loads(file.read_text("utf-8"))
        return plan | {"plan": kept_description(plan.get("plan"))}
    except (ValueError, AttributeError) as error:
        hint = "put the folder back from a copy, or use another checkpoint folder and replay the input"
        raise OperationalError(f"the checkpoint file {file} is damaged", hint=hint) from error


def _check_format(folder: CheckpointPath, plan: dict) -> None:
    if plan.get("format") != FORMAT:
        raise OperationalError(f"the checkpoint {folder} is in the format of another version of cepsql", hint=_WAY_OUT)


def _verify(checkpoint: Checkpoint, plan: dict, drain: bool, upgrades: bool) -> str:
    """Return how the query compares with the one of the checkpoint; raise OperationalError if it cannot go on."""
    folder = checkpoint.folder
    _check_format(folder, plan)
    comparison = upgrade(plan["plan"], json.loads(canonical_json(checkpoint.identity)))
    if comparison.kind != SAME and not (upgrades and comparison.kind in (COMPATIBLE, REPLAYABLE)):
        message = f"the checkpoint {folder} belongs to a different query: {comparison.differences}"
        raise OperationalError(message, hint=_WAY_OUT)
    if plan.get("finished") or (is_ended(checkpoint.control_folder) and not drain):
        message = f"the input of checkpoint {folder} was ended: every further row would be late"
        raise OperationalError(message, hint=_WAY_OUT)
    return comparison.kind


def _check_forgotten(folder: CheckpointPath, plan: dict, file_age: float | None) -> None:
    forgot = plan.get("forgot")
    if forgot is not None and (file_age is None or file_age > forgot):
        raise OperationalError(
            f"the checkpoint {folder} has forgotten which files it read that are {int(forgot)} s older than the newest "
            "one; with a longer maxFileAge, rows of them would come again",
            hint=f"maxFileAge '{int(forgot)}s' in the OPTIONS of its streams, or another checkpoint folder",
        )


def _write_plan(checkpoint: Checkpoint, finished: bool) -> None:
    plan = {
        "format": FORMAT,
        "id": checkpoint.id,
        "epoch": checkpoint.epoch,
        "hash": digest(checkpoint.identity),
        "plan": checkpoint.identity,
        "finished": finished,
        "scan": checkpoint.scan,
        "buckets": checkpoint.buckets and asdict(checkpoint.buckets),
        "rebuilds": checkpoint.rebuilds,
        "spark": checkpoint.part,
        "shared": None if checkpoint.shared is None else sorted(checkpoint.shared),
        "tasks": None if checkpoint.tasks is None else sorted(checkpoint.tasks),
        "one_control": checkpoint.one_control,
        "one_scan": checkpoint.one_scan,
        "forgot": checkpoint.forgot,
        "records": dict(checkpoint.records),
        "mounts": dict(checkpoint.mounts),
    }
    if isinstance(checkpoint.lock, FileLock):
        # Nothing is written into another folder in its place.
        checkpoint.lock.check()
    with used(checkpoint.folder):
        write_whole(checkpoint.folder / "plan.json", json.dumps(plan, ensure_ascii=False) + "\n")
