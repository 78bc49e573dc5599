"""Files in a file system of Hadoop's, such as HDFS, or in an object store that Hadoop reaches, through Spark's JVM.

An object store renames nothing. It writes an object as a whole, on condition that there is none yet or that the one
there is the one that was seen.

Relies on: `_jsparkSession.sessionState().newHadoopConf()` has the settings of a session; `_gateway.new_array` makes
arrays of Java's.
"""

import contextlib
import fnmatch
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from cepsql.catalog.locations import is_object_store
from cepsql.errors import NotSupportedError
from cepsql.spark.jvm.classic import has_java
from cepsql.spark.jvm.gateway import remember_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ERRORS: dict[str, type[OSError]] = {
    "FileNotFoundException": FileNotFoundError,
    "FileAlreadyExistsException": FileExistsError,
    "ParentNotDirectoryException": NotADirectoryError,
    "AccessControlException": PermissionError,
    "AccessDeniedException": PermissionError,
    "RemoteFileChangedException": FileExistsError,
}
"""What the exceptions of Java's and Hadoop's are to Python; every other one is an OSError."""

_NAMED = r"(?:[\w$]+\.)+\w+(?:Exception|Error): "
"""An exception of Java's in what another one says."""

_IF_NONE, _IF_SAME = "fs.option.create.conditional.overwrite", "fs.option.create.conditional.overwrite.etag"


@dataclass(frozen=True)
class HadoopPath:
    """A file or folder, with those methods of pathlib.Path, and their exceptions, that a checkpoint needs.

    uri:     with scheme and host; only that of the root ends with a slash.
    staging: a folder in which files are begun that appear whole, for this path and all that are made of it: once
             somebody has removed it, none appears any more. None: next to the file. No object store needs it.
    fence:   on an object store, what raises once somebody else may write the files that appear whole, for this path
             and all that are made of it. None: nothing.
    """

    files: "HadoopFiles"
    uri: str
    staging: str | None = None
    fence: Callable[[], None] | None = None

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> "HadoopPath":
        return replace(self, uri=f"{self.uri.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        """The last part."""
        return self.uri.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part without what follows its last dot."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> "HadoopPath":
        """The folder that this is in."""
        above = self.uri.rpartition("/")[0]
        return replace(self, uri=above if urlparse(above).path else f"{above}/")

    def with_name(self, name: str) -> "HadoopPath":
        """Return another one in the same folder."""
        return self.parent / name

    def exists(self) -> bool:
        """Tell whether it is there."""
        with self.files.calling() as (system, java):
            return system.exists(java(self.uri))

    def is_dir(self) -> bool:
        """Tell whether it is a folder."""
        with contextlib.suppress(FileNotFoundError), self.files.calling() as (system, java):
            return system.getFileStatus(java(self.uri)).isDirectory()
        return False

    def modified(self) -> int:
        """Return when it was written or touched last, in milliseconds since the epoch by some clock."""
        with self.files.calling() as (system, java):
            return system.getFileStatus(java(self.uri)).getModificationTime()

    def touch(self, time: int) -> None:
        """Say of a file that is there that it was written at `time`, in milliseconds since the epoch."""
        with self.files.calling() as (system, java):
            system.setTimes(java(self.uri), time, -1)

    def iterdir(self) -> Iterator["HadoopPath"]:
        """Yield what is in a folder; raises NotADirectoryError for a file."""
        with self.files.calling() as (system, java):
            uris = [str(status.getPath().toString()) for status in system.listStatus(java(self.uri))]
        if uris == [self.uri]:
            raise NotADirectoryError(f"{self} is a file")
        yield from (self / path.rpartition("/")[2] for path in uris)

    def glob(self, pattern: str) -> Iterator["HadoopPath"]:
        """Yield what matches below a folder, nothing if it is not there; a pattern has one part for each level."""
        first, _, rest = pattern.partition("/")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for path in self.iterdir():
                if fnmatch.fnmatchcase(path.name, first):
                    yield from path.glob(rest) if rest else [path]

    def rglob(self, pattern: str) -> Iterator["HadoopPath"]:
        """Yield what matches in a folder and in all below it."""
        yield from self.glob(pattern)
        for path in self.glob("*"):
            if path.is_dir():
                yield from path.rglob(pattern)

    def read_bytes(self) -> bytes:
        """Return what a file holds."""
        with self.files.calling() as (system, java):
            stream = system.open(java(self.uri))
            try:
                return bytes(self.files.jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def read_text(self, encoding: str) -> str:
        """Return the text in a file."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, data: bytes | Path) -> None:
        """Write a file, in place of one that is there; its folder must be there. A path: as that file of this host."""
        if self.files.is_object_store:
            self._put(data)
            return
        with self.files.calling() as (system, java):
            stream = system.createFile(java(self.uri)).overwrite(True).build()
            try:
                self._fill(stream, data)
                stream.hsync()
            finally:
                stream.close()

    def write_text(self, text: str, encoding: str) -> None:
        """Write a text as `write_bytes` does."""
        self.write_bytes(text.encode(encoding))

    def write_whole(self, data: bytes | Path) -> None:
        """Write a file that appears whole or not at all, in place of one that is there.

        data: what it holds; a path: as that file of this host does.
        Raises FileNotFoundError if the staging folder is gone, what the fence raises, and on an object store
        FileExistsError if another process writes the file at the same time.
        """
        if self.files.is_object_store:
            # What is there is looked at before the fence: whoever takes over afterwards writes each file once more.
            tag = self._tag()
            if self.fence is not None:
                self.fence()
            self.put_over(tag, data)
            return
        begun = f".{self.name}.{uuid.uuid4().hex[:8]}"
        new = self.with_name(begun) if self.staging is None else replace(self, uri=f"{self.staging}/{begun}")
        new.write_bytes(data)
        new.replace(self)

    def put_over(self, tag: str | None, data: bytes | Path) -> None:
        """Put an object in place of the one with that tag, or of none; raises FileExistsError if it is another one."""
        try:
            self._put(data, *((_IF_NONE, "true") if tag is None else (_IF_SAME, tag)))
        except FileNotFoundError as error:
            raise FileExistsError(f"{self} was removed by another process") from error
        except FileExistsError:
            # An answer may be lost, and what was sent again then meets itself.
            if self.read_bytes() != (data.read_bytes() if isinstance(data, Path) else data):
                raise

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Change what an object holds, whoever writes it at the same time."""
        while True:
            with contextlib.suppress(FileExistsError):
                tag = self._tag()
                return self.put_over(tag, change(self.read_bytes()))

    def _tag(self) -> str | None:
        """Return what tells an object from all others that were or will be there, None if there is none."""
        with contextlib.suppress(FileNotFoundError), self.files.calling() as (system, java):
            return str(system.getFileStatus(java(self.uri)).getEtag())
        return None

    def _put(self, data: bytes | Path, *condition: str) -> None:
        with self.files.calling() as (system, java):
            builder = system.createFile(java(self.uri)).overwrite(True).recursive()
            stream = (builder.must(*condition) if condition else builder).build()
            try:
                self._fill(stream, data)
            except BaseException:
                stream.abort()
                raise
            stream.close()

    def _fill(self, stream, data: bytes | Path) -> None:
        if isinstance(data, bytes):
            stream.write(data)
            return
        file = self.files.jvm.java.io.FileInputStream(str(data))
        try:
            self.files.jvm.org.apache.commons.io.IOUtils.copyLarge(file, stream)
        finally:
            file.close()

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a folder, and those above it."""
        assert parents
        if not exist_ok and self.exists():
            raise FileExistsError(f"{self} is there already")
        with self.files.calling() as (system, java):
            system.mkdirs(java(self.uri))

    def rename(self, target: "HadoopPath") -> None:
        """Move it, in one step; raises FileExistsError if the target is there."""
        self._rename(target, "NONE")

    def replace(self, target: "HadoopPath") -> None:
        """Move it, in one step, and in place of a file or an empty folder that is there."""
        self._rename(target, "OVERWRITE")

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file; raises FileNotFoundError if it is not there."""
        with self.files.calling() as (system, java):
            if not system.delete(java(self.uri), False) and not missing_ok:
                raise FileNotFoundError(f"{self} is not there")

    def remove_tree(self) -> None:
        """Remove a file or folder with all that is in it, in one step; nothing happens if it is not there."""
        with self.files.calling() as (system, java):
            system.delete(java(self.uri), True)

    def _rename(self, target: "HadoopPath", how: str) -> None:
        if self.files.is_object_store:
            raise OSError(f"{self} is in an object store, which renames nothing in one step")
        with self.files.calling() as (_, java):
            self.files.context.rename(java(self.uri), java(target.uri), self.files.renaming(how))


class HadoopFiles:
    """The file system of a URI in a session's JVM, with the session's configuration of Hadoop."""

    def __init__(self, spark: "SparkSession", uri: str):
        if not has_java(spark):
            raise NotSupportedError(f"the checkpoint {uri} cannot be reached over Spark Connect")
        assert spark._jvm is not None
        self.is_object_store = is_object_store(uri)
        self.jvm: Any = spark._jvm
        self._gateway: Any = spark.sparkContext._gateway
        with _raising():
            for name in ("hadoop.fs.Path", "hadoop.fs.FileSystem", "commons.io.IOUtils.toByteArray"):
                remember_path(self.jvm, f"org.apache.{name}")
            configuration = spark._jsparkSession.sessionState().newHadoopConf()
            at = self.jvm.java.net.URI(self.jvm.org.apache.hadoop.fs.Path(uri).toUri().toString())
            self.system = self.jvm.org.apache.hadoop.fs.FileSystem.get(at, configuration)
            self.context = self.jvm.org.apache.hadoop.fs.FileContext.getFileContext(at, configuration)
            self.configuration = configuration

    def path(self, uri: str) -> HadoopPath:
        """Return a path with its scheme and host written out."""
        with self.calling() as (system, java):
            return HadoopPath(self, system.makeQualified(java(uri)).toString())

    @contextlib.contextmanager
    def calling(self) -> Iterator[tuple[Any, Any]]:
        """Lend the file system and the class of paths; what Java raises within the block becomes OSError."""
        with _raising():
            yield self.system, self.jvm.org.apache.hadoop.fs.Path

    def renaming(self, how: str) -> Any:
        """Return Hadoop's way to rename, as its variable arguments are passed."""
        kind = getattr(self.jvm.org.apache.hadoop.fs, "Options$Rename")
        rename_options = self._gateway.new_array(kind, 1)
        rename_options[0] = kind.valueOf(how)
        return rename_options


@contextlib.contextmanager
def _raising() -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        java = error.java_exception
        kind, said = java.getClass().getSimpleName(), java.getMessage()
        if kind == "NoClassDefFoundError":
            said = f"Class {said} not found"
        raise _ERRORS.get(kind, OSError)(_told(said or kind)) from error
    except PySparkException as error:
        raise OSError(_told(str(error))) from error
    except Py4JError as error:
        raise OSError(f"Spark's Java process does not answer: {_told(str(error))}") from error


def _told(said: str) -> str:
    """Return what an exception says to users, without the names of others and the numbers of requests."""
    line = said.partition("\n")[0].partition("; For more details")[0].partition(" (Service: ")[0]
    return re.sub(rf" *: {_NAMED}.*", "", re.sub(f"^.*?{_NAMED}", "", line))
