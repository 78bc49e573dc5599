"""Who uses a checkpoint: the record that a process leaves there, and what others say of it."""

import contextlib
import os
import socket
import sys
from pathlib import Path

from cepsql.errors import OperationalError


def holder_here(epoch: int | None) -> dict:
    """Return the record of this process, with the epoch of the query's owner."""
    return {"process": os.getpid(), "host": socket.gethostname(), "command": _command(), "epoch": epoch}


def machine() -> str | None:
    """Return what no other machine, container or start of this one has, None where that is not known.

    Process ids mean something only within it.
    """
    with contextlib.suppress(OSError):
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    return None


def process_begin(process: int) -> str | None:
    """Return when a process of this machine began, as the system counts, None if there is none of this id."""
    with contextlib.suppress(OSError):
        # The name of the program comes before, in brackets, and may hold anything.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    return None


def named(holder: dict) -> str:
    """Return a holder's process in words."""
    if holder.get("process") == os.getpid() and holder.get("host") == socket.gethostname():
        return "a query of this program"
    return f"process {holder['process']} on {holder['host']} ({holder['command']})" if holder else "another process"


def in_use(folder: object, holder: dict) -> OperationalError:
    """Return the refusal of a checkpoint that somebody uses."""
    return OperationalError(
        f"the checkpoint {folder} is in use by {named(holder)}",
        hint="a checkpoint serves one running query: stop that one, or name another folder",
    )


def taken_over(folder: object) -> OperationalError:
    """Return what ends a query whose checkpoint a later owner has."""
    return OperationalError(
        f"the checkpoint {folder} was taken over by another process",
        hint="nothing is lost: the other one resumes with this batch",
    )


def gone(folder: object) -> OperationalError:
    """Return what ends a query whose checkpoint is not where it was."""
    return OperationalError(
        f"the checkpoint {folder} is gone: it was moved or removed, or its disk is not there",
        hint="put it back, in place of what may be there now: a start resumes from it",
    )


def _command() -> str:
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
