"""One process at a time uses a checkpoint."""

import contextlib
import fcntl
import json
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cepsql.errors import OperationalError

_FILE = "lock"


@dataclass(frozen=True)
class CheckpointLock:
    """The right to use a checkpoint, for as long as this process lives or until `release`."""

    path: Path
    file: IO[str]

    def check(self) -> None:
        """Raise OperationalError if a later owner of the query has taken the checkpoint over."""
        if not self.file.closed and not _is_same(self.path, self.file):
            raise OperationalError(
                f"the checkpoint {self.path.parent} was taken over by another process",
                hint="nothing is lost: the other one goes on with this batch",
            )

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody take the checkpoint over within the block.

        Raises OperationalError if a later owner of the query has done so before.
        """
        with _alone(self.path.parent):
            self.check()
            yield

    def release(self) -> None:
        """Let others use the checkpoint."""
        self.file.close()


def lock_checkpoint(folder: Path, epoch: int | None = None) -> CheckpointLock:
    """Return the right to use a checkpoint.

    epoch: of the owner of the query, to whom earlier owners must give way; None: whoever uses it keeps it.
    Raises OperationalError if another process, or another query of this one, uses it.
    """
    path = folder / _FILE
    with _alone(folder):
        file = path.open("a+", encoding="utf-8")
        if not _lock(file):
            holder = _holder(file)
            if epoch is None or holder.get("epoch") is None or holder["epoch"] >= epoch:
                file.close()
                raise _in_use(folder, holder)
            # The earlier owner may hang and not let go, so a new file takes the place of the one that it holds.
            file.close()
            new = folder / f".{_FILE}"
            file = new.open("a+", encoding="utf-8")
            _lock(file)
            os.replace(new, path)
        file.truncate(0)
        json.dump({"process": os.getpid(), "host": socket.gethostname(), "command": _command(), "epoch": epoch}, file)
        file.flush()
    return CheckpointLock(path, file)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / f"{_FILE}.turn").open("a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_same(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except OSError:
        return False


def _holder(file: IO[str]) -> dict:
    file.seek(0)
    try:
        return json.loads(file.read())
    except ValueError:
        return {}


def _in_use(folder: Path, holder: dict) -> OperationalError:
    who = f"process {holder['process']} on {holder['host']} ({holder['command']})" if holder else "another process"
    if holder.get("process") == os.getpid() and holder.get("host") == socket.gethostname():
        who = "a query of this program"
    return OperationalError(
        f"the checkpoint {folder} is in use by {who}",
        hint="a checkpoint serves one running query: stop that one, or name another folder",
    )


def _command() -> str:
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
