"""One process at a time uses a checkpoint.

On a file system of this machine, or one that is mounted, the operating system keeps the others out with a lock, which
ends with its process. Where there are no locks a claim does (`cepsql.spark.checkpoint_claim`).
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint_claim import CheckpointClaim, claim_checkpoint
from cepsql.spark.checkpoint_holder import gone, holder_here, in_use, taken_over
from cepsql.spark.checkpoint_path import CheckpointPath

_FILE = "lock"

_PATIENCE_SECONDS, _PAUSE_SECONDS = 10.0, 0.02


@dataclass(frozen=True)
class FileLock:
    """The right to use a checkpoint, for as long as this process lives or until `release`."""

    path: Path
    file: IO[str]

    @property
    def folder(self) -> Path:
        """The folder of the checkpoint."""
        return self.path.parent

    def check(self) -> None:
        """Raise OperationalError if a later owner of the query has taken the checkpoint over, or it is gone."""
        if self.file.closed:
            return
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            raise gone(self.folder) from None
        except OSError as error:
            raise OperationalError(f"the checkpoint {self.folder} cannot be read: {error.strerror}") from error
        if not os.path.samestat(found, os.fstat(self.file.fileno())):
            raise taken_over(self.folder)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody take the checkpoint over within the block.

        Raises OperationalError if a later owner of the query has done so before, or the checkpoint is gone.
        """
        if not self.folder.is_dir():
            raise gone(self.folder)
        with _alone(self.folder):
            self.check()
            yield

    def release(self) -> None:
        """Let others use the checkpoint."""
        self.file.close()


CheckpointLock = FileLock | CheckpointClaim


def lock_checkpoint(folder: CheckpointPath, epoch: int | None = None) -> CheckpointLock:
    """Return the right to use a checkpoint; what it writes goes through the `folder` of the lock.

    epoch: of the owner of the query, to whom earlier owners must give way; None: whoever uses it keeps it.
    Raises OperationalError if another process, or another query of this one, uses it; OSError if it cannot be written.
    """
    return _locked(folder, epoch) if isinstance(folder, Path) else claim_checkpoint(folder, epoch)


def _locked(folder: Path, epoch: int | None) -> FileLock:
    path = folder / _FILE
    with _alone(folder):
        file = path.open("a+", encoding="utf-8")
        if not _lock(file):
            holder = _holder(file)
            if epoch is None or holder.get("epoch") is None or holder["epoch"] >= epoch:
                file.close()
                raise in_use(folder, holder)
            # The earlier owner may hang and not let go, so a new file takes the place of the one that it holds.
            file.close()
            new = folder / f".{_FILE}"
            file = new.open("a+", encoding="utf-8")
            _lock(file)
            os.replace(new, path)
        file.truncate(0)
        json.dump(holder_here(epoch), file)
        file.flush()
    return FileLock(path, file)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lend the turn to change who uses a checkpoint, or to write where nobody may do so. It is kept for moments, but by
    a process that hangs: raises OperationalError then, OSError where the folder cannot be written or has no locks."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with (folder / f"{_FILE}.turn").open("a") as turn:
        while not _lock(turn):
            if time.monotonic() >= deadline:
                raise OperationalError(
                    f"a process hangs while it writes to the checkpoint {folder}, which nobody else can use meanwhile",
                    hint="let it go on, or end it",
                )
            time.sleep(_PAUSE_SECONDS)
        yield


def _lock(file: IO[str]) -> bool:
    """Tell whether a file could be locked; raises OSError where the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: IO[str]) -> dict:
    file.seek(0)
    try:
        return json.loads(file.read())
    except ValueError:
        return {}
