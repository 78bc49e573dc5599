"""Folders of this machine that the tasks of a running query write into."""

from dataclasses import dataclass
from pathlib import Path

from cepsql.ordered.keyed.state_files import StateFolder


@dataclass(frozen=True)
class TaskFolders:
    """Where tasks leave what Spark need not carry.

    packets: large packets, as of `cepsql.spark.frames.packet_files.Packing`; None: Spark takes them.
    state:   what operators remember of many keys; None: their states have it.
    """

    packets: Path | None = None
    state: StateFolder | None = None


NO_FOLDERS = TaskFolders()
"""Of tasks that run elsewhere, or of no running query."""
