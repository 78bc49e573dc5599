"""Where a checkpoint is: a folder of this machine, or one in a file system of Hadoop's or an object store.

Both have the methods of pathlib.Path; here is what pathlib has not.
"""

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.catalog.locations import checkpoint_location, is_local, is_object_store
from cepsql.errors import OperationalError
from cepsql.spark.jvm.hadoop_path import HadoopFiles, HadoopPath

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CheckpointPath = Path | HadoopPath

CONTROL = "control"
"""The folder of a checkpoint in which `cepsql.spark.checkpoint.control` ends the input."""

_NO_CLASS = re.compile("Class [\\w./]+ not found|No FileSystem for scheme")
_JARS = (
    "Spark needs hadoop-aws of the version of its other jars of Hadoop, with what that depends on, such as "
    "spark.jars.packages=org.apache.hadoop:hadoop-aws:3.5.0"
)
_REACHING = "Spark's settings spark.hadoop.fs.s3a.* say where the bucket is and who may use it"


def checkpoint_path(location: str | Path, spark: "Callable[[], SparkSession]") -> CheckpointPath:
    """Return the folder of a location, as users give it.

    spark: gives the session whose JVM reaches file systems of Hadoop's; it is not asked for folders of this machine.
    Raises NotSupportedError for a file system that cannot hold checkpoints, OperationalError if it is not to be
    reached.
    """
    place = checkpoint_location(location)
    if is_local(place):
        return Path(place)
    try:
        return HadoopFiles(spark(), place).path(place)
    except OSError as error:
        hint = _JARS if is_object_store(place) and _NO_CLASS.search(str(error)) else None
        raise OperationalError(f"the checkpoint {place} cannot be reached: {error}", hint=hint) from error


def on_object_store(path: CheckpointPath) -> bool:
    """Tell whether a path is in an object store, which renames nothing and removes folders object by object.

    Whoever hangs before it removes an object may do so when others use it: there, nothing is removed that could be
    written again under the same name and missed without a word.
    """
    return isinstance(path, HadoopPath) and path.files.is_object_store


@contextlib.contextmanager
def used(folder: CheckpointPath, how: str = "written") -> Iterator[None]:
    """Let what fails within the block, as a checkpoint is read or written, raise OperationalError that names it."""
    try:
        yield
    except OSError as error:
        hint = _REACHING if on_object_store(folder) else None
        raise OperationalError(
            f"the checkpoint {folder} cannot be {how}: {error.strerror or error}", hint=hint
        ) from error


def write_whole(path: CheckpointPath, data: str | bytes, changed: float | None = None) -> None:
    """Write a file that appears whole or not at all, in place of one that is there, and that outlives a loss of power.

    Only its owner can read it.

    changed: when it counts as changed, in seconds since 1970, on a file system where that can be said; None: now.
    Raises OSError.
    """
    content = data.encode() if isinstance(data, str) else data
    if isinstance(path, HadoopPath):
        path.write_whole(content)
    else:
        hidden = path.with_name(f".{path.name}.new")
        with open(hidden, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if changed is not None:
            os.utime(hidden, (changed, changed))
        os.replace(hidden, path)
        synchronize(path.parent)


def make_folder(path: CheckpointPath) -> None:
    """Make a folder that only its owner can read, unless it is there. Raises OSError."""
    if isinstance(path, HadoopPath):
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def synchronize(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems have it for files only.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def synchronize_tree(path: CheckpointPath) -> None:
    """Wait until a folder of this machine is on the disk with all below it. Raises OSError."""
    if isinstance(path, Path):
        for folder, _, files in os.walk(path):
            for name in files:
                synchronize(Path(folder, name))
            synchronize(Path(folder))


def remove_checksum(path: CheckpointPath) -> None:
    """Remove what Hadoop keeps beside a file of Spark's that is removed, or written by others."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def move_whole(source: CheckpointPath, target: CheckpointPath) -> None:
    """Move a file or folder in one step, in place of a file or an empty folder; both are on one file system.

    Raises OSError, FileNotFoundError if there is nothing to move.
    """
    if isinstance(source, Path):
        assert isinstance(target, Path)
        os.replace(source, target)
        synchronize(target.parent)
    else:
        assert isinstance(target, HadoopPath)
        source.replace(target)


def remove_tree(path: CheckpointPath) -> None:
    """Remove a folder as far as it can be removed."""
    if isinstance(path, Path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.remove_tree()


def copy_tree(source: CheckpointPath, target: CheckpointPath, without: Iterable[str] = ()) -> None:
    """Copy a folder to one that is not there yet, which need not be on the same file system.

    On this machine only its owner can read the copy.
    without: patterns of names in the folder that are left out. Raises OSError.
    """
    left_out = tuple(without)
    if isinstance(source, Path) and isinstance(target, Path):
        target.mkdir(mode=0o700)
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(*left_out), dirs_exist_ok=True)
        # Now it has the mode of the source.
        target.chmod(0o700)
        return
    target.mkdir(parents=True)
    files = source.files if isinstance(source, HadoopPath) else _files(target)
    copied = [path for path in source.iterdir() if not any(fnmatchcase(path.name, pattern) for pattern in left_out)]
    with files.calling() as (_, java):
        copy = files.jvm.org.apache.hadoop.fs.FileUtil.copy
        for path in copied:
            to = target / path.name
            copy(_system(files, path), java(str(path)), _system(files, to), java(str(to)), False, files.configuration)


def _files(path: CheckpointPath) -> HadoopFiles:
    assert isinstance(path, HadoopPath)
    return path.files


def _system(files: HadoopFiles, path: CheckpointPath):
    """Return Hadoop's file system of a path; that of this machine writes no checksums beside files."""
    if isinstance(path, HadoopPath):
        return path.files.system
    return files.jvm.org.apache.hadoop.fs.FileSystem.getLocal(files.configuration).getRaw()
