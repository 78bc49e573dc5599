"""One process at a time uses a checkpoint.

On a file system of this machine, or one that is mounted, the operating system keeps the others out with a lock, which
ends with its process. Where there are no locks a claim does (`cepsql.spark.checkpoint.checkpoint_claim`).
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.checkpoint_claim import CheckpointClaim, claim_checkpoint
from cepsql.spark.checkpoint.checkpoint_holder import gone, holder_here, in_use, taken_over
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath
from cepsql.spark.checkpoint.file_turn import lock, turn

_FILE = "lock"


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
        try:
            held = os.fstat(self.file.fileno())
        except ValueError:
            # It was released, perhaps just now by another thread.
            return
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            raise gone(self.folder) from None
        except OSError as error:
            raise OperationalError(f"the checkpoint {self.folder} cannot be read: {error.strerror}") from error
        if not os.path.samestat(status, held):
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
        if not lock(file):
            holder = _holder(file)
            if epoch is None or holder.get("epoch") is None or holder["epoch"] >= epoch:
                file.close()
                raise in_use(folder, holder)
            # The earlier owner may hang and not let go, so a new file takes the place of the one that it holds.
            file.close()
            new = folder / f".{_FILE}"
            file = new.open("a+", encoding="utf-8")
            lock(file)
            os.replace(new, path)
        file.truncate(0)
        json.dump(holder_here(epoch), file)
        file.flush()
    return FileLock(path, file)


def _alone(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Lend the turn to change who uses a checkpoint, or to write where nobody may do so."""
    return turn(folder / f"{_FILE}.turn", f"the checkpoint {folder}")


def _holder(file: IO[str]) -> dict:
    file.seek(0)
    try:
        return json.loads(file.read())
    except ValueError:
        return {}
