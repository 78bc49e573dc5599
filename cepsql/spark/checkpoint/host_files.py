"""Files of a checkpoint that tasks open themselves, in Python, which can't access Hadoop file systems.

A checkpoint in a Hadoop file system also stores these files, and tasks open copies on their host.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from cepsql.base.temporary import remove_temporary, temporary_folder
from cepsql.errors import NotSupportedError
from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath, copy_tree, synchronize
from cepsql.spark.jvm.hadoop_path import HadoopPath
from cepsql.spark.jvm.lent_settings import tasks_share_files

TABLES, HISTORY = "tables", "history"
"""The folders of such files in a checkpoint's folder."""


@dataclass(frozen=True)
class HostFiles:
    """The files of a checkpoint that tasks open.

    checkpoint: its folder.
    folder:     where tasks find the files, with the same names; equal to `checkpoint` if that is on this host.
    """

    checkpoint: CheckpointPath
    folder: Path

    @property
    def are_copies(self) -> bool:
        """Tell whether tasks open copies."""
        return self.folder != self.checkpoint

    def put(self, written: Path, file: Path) -> None:
        """Move a written file to its final name, after the checkpoint has stored it. Raises OSError."""
        if self.are_copies:
            copy = self._copy_of(file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_whole(written)
        synchronize(written)
        os.replace(written, file)
        synchronize(file.parent)

    def remove(self, file: Path) -> None:
        """Remove a file that no task opens any more, if it exists. Raises OSError."""
        if self.are_copies:
            self._copy_of(file).unlink(missing_ok=True)
        file.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the copies, but not the files in the checkpoint."""
        if self.are_copies:
            remove_temporary(self.folder)

    def _copy_of(self, file: Path) -> HadoopPath:
        copy = self.checkpoint
        assert isinstance(copy, HadoopPath)
        for part in file.relative_to(self.folder).parts:
            copy = copy / part
        return copy


def check_on_host(checkpoint: CheckpointPath, spark: SparkSession, what: str) -> None:
    """Check that tasks can open files of a checkpoint, or copies of them; raises NotSupportedError.

    what: the reader of the files, for the error.
    """
    if not isinstance(checkpoint, Path) and not tasks_share_files(spark):
        raise NotSupportedError(
            f"{what}, whose rows a query keeps in its checkpoint for its tasks to open: on a cluster that is not "
            f"supported in {checkpoint}",
            hint="a checkpoint in a folder that all hosts mount, or Spark on one host: connect(master='local[*]')",
        )


def host_files(checkpoint: CheckpointPath) -> HostFiles:
    """Return the files of a checkpoint that tasks open, copied to this host if necessary. Raises OSError."""
    if isinstance(checkpoint, Path):
        return HostFiles(checkpoint, checkpoint)
    files = HostFiles(checkpoint, temporary_folder("cepsql-tables-"))
    try:
        for name in (TABLES, HISTORY):
            if (copy := checkpoint / name).exists():
                copy_tree(copy, files.folder / name)
    except BaseException:
        files.discard()
        raise
    return files
