"""One process at a time uses a checkpoint on a file system that has no locks, such as HDFS, or in an object store.

A claim is a folder with a number. Who wants the checkpoint makes the number after the last, which only one process can:
it prepares a folder and renames it, or puts the first object of the folder on condition that there is none. The
greatest number has the checkpoint. The last claim is never removed, so that numbers only grow.

The owner touches a file in its claim every few seconds. Who finds a claim takes the next number if the owner is known
to be dead, if its epoch is earlier, or if nothing was touched for long by the own clock. So a process that hangs can
lose its checkpoint, as with a lease. What it writes after that does not appear: its files are begun in its claim, which
the next owner removes before it reads anything, and are renamed from there.

In an object store, each file that is written more than once is put in place of the very one that the owner saw before
it made sure that its claim is the last. The next owner writes all of them anew before it reads them, so that none of
an earlier one can take their place any more.
"""

import contextlib
import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from cepsql.errors import NotSupportedError
from cepsql.spark.checkpoint.checkpoint_holder import holder_here, in_use, machine, named, process_begin, taken_over
from cepsql.spark.jvm.hadoop_path import HadoopPath

LOGGER = logging.getLogger("cepsql")
CLAIMS = "claims"
_OWNER = "owner.json"
_TOUCH_SECONDS, _DEAD_SECONDS, _POLL_SECONDS = 3.0, 20.0, 0.5
_NO_TAG = f'"{"0" * 32}"'
"""A tag that no object has."""
_OURS: set[str] = set()
"""The claims of this process that are not released, for Java may be gone before that can be written."""


@dataclass(frozen=True)
class CheckpointClaim:
    """The right to use a checkpoint until `release`, unless this process does not answer for long.

    folder: of the checkpoint, through which its files are written.
    place:  the folder of the claim.
    """

    folder: HadoopPath
    place: HadoopPath
    holder: dict
    released: threading.Event = field(default_factory=threading.Event)
    writing: threading.Lock = field(default_factory=threading.Lock)

    def check(self) -> None:
        """Raise OperationalError if another owner has taken the checkpoint over."""
        if not self.released.is_set():
            _check_last(self.folder, self.place)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody's files but the owner's appear within the block.

        Raises OperationalError if another one has taken the checkpoint over before or meanwhile.
        """
        self.check()
        try:
            yield
        except (FileNotFoundError, FileExistsError):
            self.check()
            raise

    def release(self) -> None:
        """Let others use the checkpoint."""
        if not self.released.is_set():
            self.released.set()
            _OURS.discard(str(self.place))
            with self.writing, contextlib.suppress(OSError):
                (self.place / _OWNER).write_text(json.dumps(self.holder | {"released": True}), "utf-8")

    def keep_alive(self) -> None:
        """Touch the claim until it is released or gone."""
        while not self.released.wait(_TOUCH_SECONDS):
            try:
                self._touch()
            except FileNotFoundError:
                return
            except OSError:
                # The file system may come back.
                continue

    def _touch(self) -> None:
        if not self.folder.files.is_object_store:
            (self.place / _OWNER).touch(time.time_ns() // 1_000_000)
            return
        # The time of an object is that of its last writing.
        with self.writing:
            if not self.released.is_set():
                (self.place / _OWNER).write_text(json.dumps(self.holder), "utf-8")


def claim_checkpoint(folder: HadoopPath, epoch: int | None) -> CheckpointClaim:
    """Return the right to use a checkpoint, as `cepsql.spark.checkpoint.checkpoint_lock.lock_checkpoint` does.

    Waits up to half a minute where only time can tell whether the last owner still lives.
    Raises OperationalError if it does, OSError if the folder cannot be written.
    """
    claims = folder / CLAIMS
    claims.mkdir(parents=True, exist_ok=True)
    last = _last(claims)
    if last is not None and (holder := _holder(claims / str(last))) is not None:
        given_up = holder.get("released") or (epoch is not None and (holder.get("epoch") or epoch) < epoch)
        if not given_up and _lives(folder, claims / str(last), holder):
            raise in_use(folder, holder)
    number = 1 if last is None else last + 1
    here = holder_here(epoch) | {"machine": machine(), "begin": process_begin(os.getpid())}
    here["token"] = uuid.uuid4().hex
    place = claims / str(number)
    # Others in this process may look at the claim as soon as it is there.
    _OURS.add(str(place))
    try:
        _take(place, json.dumps(here).encode())
    except FileExistsError:
        # It may be another one's in this process.
        raise in_use(folder, _holder(place) or {}) from None
    except BaseException:
        _OURS.discard(str(place))
        raise
    if (greatest := _last(claims)) != number:
        # Others came and went between the two looks.
        place.remove_tree()
        raise in_use(folder, _holder(claims / str(greatest)) or {})
    for earlier in claims.iterdir():
        if earlier.name.isdigit() and int(earlier.name) < number:
            earlier.remove_tree()
    fence = partial(_check_last, folder, place) if folder.files.is_object_store else None
    claim = CheckpointClaim(replace(folder, staging=str(place), fence=fence), place, here)
    threading.Thread(target=claim.keep_alive, name="cepsql-claim", daemon=True).start()
    try:
        _write_anew(claim.folder, number)
    except BaseException:
        claim.release()
        raise
    return claim


def _take(place: HadoopPath, owner: bytes) -> None:
    """Make a claim, which nobody else has made; raises FileExistsError if somebody has."""
    if place.files.is_object_store:
        (place / _OWNER).put_over(None, owner)
        _check_conditions(place, owner)
        return
    prepared = place.with_name(f".{uuid.uuid4().hex}")
    prepared.mkdir(parents=True)
    (prepared / _OWNER).write_bytes(owner)
    try:
        prepared.rename(place)
    except FileExistsError:
        prepared.remove_tree()
        raise


def _check_conditions(place: HadoopPath, owner: bytes) -> None:
    """Make sure that an object store writes nothing on a condition that does not hold; raises NotSupportedError."""
    for tag in (None, _NO_TAG):
        try:
            (place / _OWNER).put_over(tag, owner + b" ")
        except FileExistsError:
            continue
        place.remove_tree()
        message = f"a checkpoint in {place.parent.parent} is not supported: this object store writes objects whatever "
        raise NotSupportedError(f"{message}is there, though it was asked not to (If-None-Match, If-Match)")


def _check_last(folder: HadoopPath, place: HadoopPath) -> None:
    """Raise OperationalError if a later claim than the one in `place` has the checkpoint."""
    if str(_last(folder / CLAIMS)) != place.name:
        raise taken_over(folder)


def _write_anew(folder: HadoopPath, number: int) -> None:
    """Let the files in an object store that are written more than once be other ones than earlier owners have seen."""
    if folder.files.is_object_store:
        for file in folder.glob("*.json"):
            file.rewrite(partial(_marked, number=number))


def _marked(content: bytes, number: int) -> bytes:
    """Return the JSON in a file with the number of a claim, so that it is another one; what is damaged stays."""
    try:
        return json.dumps(json.loads(content) | {"claim": number}, ensure_ascii=False).encode()
    except (ValueError, TypeError):
        return content


def _last(claims: HadoopPath) -> int | None:
    """Return the number of the claim that has the checkpoint, None if there is none, or no checkpoint any more."""
    return max((int(path.name) for path in claims.glob("*") if path.name.isdigit()), default=None)


def _holder(place: HadoopPath) -> dict | None:
    """Return who has made a claim, None if it is gone; of one that is written anew nothing is known."""
    try:
        return json.loads((place / _OWNER).read_text("utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return {}


def _lives(folder: HadoopPath, place: HadoopPath, holder: dict) -> bool:
    """Tell whether the owner of a claim lives, at once if it is or was a process of this machine."""
    if holder.get("machine") is not None and holder["machine"] == machine():
        same = process_begin(holder["process"]) == holder["begin"]
        return same and (holder["process"] != os.getpid() or str(place) in _OURS)
    said = "the checkpoint %s was used by %s: whether that still lives shows within %g seconds"
    LOGGER.warning(said, folder, named(holder), _DEAD_SECONDS)
    deadline = time.monotonic() + _DEAD_SECONDS
    try:
        touched = (place / _OWNER).modified()
        while time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            if (place / _OWNER).modified() != touched:
                # It may have been released just now.
                return not (_holder(place) or {}).get("released")
    except FileNotFoundError:
        return True
    return False
