"""Files in a Hadoop file system, such as HDFS, or in an object store that Hadoop supports, through Spark's JVM.

An object store has no rename. It writes an object atomically, on condition that the object does not exist yet or is
unchanged.

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
"""Python's exceptions for Java's and Hadoop's; all others become OSError."""

_NAMED = r"(?:[\w$]+\.)+\w+(?:Exception|Error): "
"""The name of a Java exception in the message of another."""

_IF_NONE, _IF_SAME = "fs.option.create.conditional.overwrite", "fs.option.create.conditional.overwrite.etag"


@dataclass(frozen=True)
class HadoopPath:
    """A file or folder, with the methods of pathlib.Path, and their exceptions, that a checkpoint needs.

    uri:     with scheme and host; only that of the root ends with a slash.
    staging: the folder for temporary files of atomic writes, for this path and all derived from it: once it is removed,
             no atomic write succeeds. None: next to the file. Object stores do not need it.
    fence:   on an object store, a function that raises once another process may write the files, called before atomic
             writes to this path and all derived from it. None: no check.
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
        """The last part without its extension."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def parent(self) -> "HadoopPath":
        """The parent folder."""
        above = self.uri.rpartition("/")[0]
        return replace(self, uri=above if urlparse(above).path else f"{above}/")

    def with_name(self, name: str) -> "HadoopPath":
        """Return another path in the same folder."""
        return self.parent / name

    def exists(self) -> bool:
        """Tell whether the path exists."""
        with self.files.calling() as (system, java):
            return system.exists(java(self.uri))

    def is_dir(self) -> bool:
        """Tell whether it is a folder."""
        with contextlib.suppress(FileNotFoundError), self.files.calling() as (system, java):
            return system.getFileStatus(java(self.uri)).isDirectory()
        return False

    def modified(self) -> int:
        """Return the time of the last write or touch, in milliseconds since the epoch, by the file system's clock."""
        with self.files.calling() as (system, java):
            return system.getFileStatus(java(self.uri)).getModificationTime()

    def touch(self, time: int) -> None:
        """Set the modification time of an existing file, in milliseconds since the epoch."""
        with self.files.calling() as (system, java):
            system.setTimes(java(self.uri), time, -1)

    def iterdir(self) -> Iterator["HadoopPath"]:
        """Yield the entries of a folder; raises NotADirectoryError for a file."""
        with self.files.calling() as (system, java):
            uris = [str(status.getPath().toString()) for status in system.listStatus(java(self.uri))]
        if uris == [self.uri]:
            raise NotADirectoryError(f"{self} is a file")
        yield from (self / path.rpartition("/")[2] for path in uris)

    def glob(self, pattern: str) -> Iterator["HadoopPath"]:
        """Yield the matches below a folder, none if it is missing; a pattern has one part for each level."""
        first, _, rest = pattern.partition("/")
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for path in self.iterdir():
                if fnmatch.fnmatchcase(path.name, first):
                    yield from path.glob(rest) if rest else [path]

    def rglob(self, pattern: str) -> Iterator["HadoopPath"]:
        """Yield the matches in a folder and in all folders below it."""
        yield from self.glob(pattern)
        for path in self.glob("*"):
            if path.is_dir():
                yield from path.rglob(pattern)

    def read_bytes(self) -> bytes:
        """Return the content of a file."""
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
        """Write or replace a file in an existing folder; data: its content, or the path of a local file to copy."""
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
        """Write or replace a file atomically.

        data: its content, or the path of a local file to copy.
        Raises FileNotFoundError if the staging folder is missing, what the fence raises, and on an object store
        FileExistsError if another process writes the file at the same time.
        """
        if self.files.is_object_store:
            # Read the tag before the fence: a process that takes over afterwards writes each file again.
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
        """Replace the object with that tag, or create it; raises FileExistsError if the present object differs."""
        try:
            self._put(data, *((_IF_NONE, "true") if tag is None else (_IF_SAME, tag)))
        except FileNotFoundError as error:
            raise FileExistsError(f"{self} was removed by another process") from error
        except FileExistsError:
            # If an answer was lost, the retry finds its own object.
            if self.read_bytes() != (data.read_bytes() if isinstance(data, Path) else data):
                raise

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Change the content of an object, also under concurrent writes."""
        while True:
            with contextlib.suppress(FileExistsError):
                tag = self._tag()
                return self.put_over(tag, change(self.read_bytes()))

    def _tag(self) -> str | None:
        """Return the tag of the present version of an object, None if there is no object."""
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
        """Create a folder and its parents."""
        assert parents
        if not exist_ok and self.exists():
            raise FileExistsError(f"{self} is there already")
        with self.files.calling() as (system, java):
            system.mkdirs(java(self.uri))

    def rename(self, target: "HadoopPath") -> None:
        """Move the path atomically; raises FileExistsError if the target exists."""
        self._rename(target, "NONE")

    def replace(self, target: "HadoopPath") -> None:
        """Move the path atomically, replacing an existing file or empty folder."""
        self._rename(target, "OVERWRITE")

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file; raises FileNotFoundError if it is missing."""
        with self.files.calling() as (system, java):
            if not system.delete(java(self.uri), False) and not missing_ok:
                raise FileNotFoundError(f"{self} is not there")

    def remove_tree(self) -> None:
        """Remove a file, or a folder with its content, atomically, if it exists."""
        with self.files.calling() as (system, java):
            system.delete(java(self.uri), True)

    def _rename(self, target: "HadoopPath", how: str) -> None:
        if self.files.is_object_store:
            raise OSError(f"{self} is in an object store, which renames nothing in one step")
        with self.files.calling() as (_, java):
            self.files.context.rename(java(self.uri), java(target.uri), self.files.renaming(how))


class HadoopFiles:
    """The file system of a URI in a session's JVM, with the session's Hadoop configuration."""

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
        """Return a path qualified with its scheme and host."""
        with self.calling() as (system, java):
            return HadoopPath(self, system.makeQualified(java(uri)).toString())

    @contextlib.contextmanager
    def calling(self) -> Iterator[tuple[Any, Any]]:
        """Lend the file system and the class of paths; Java's exceptions within the block become OSError."""
        with _raising():
            yield self.system, self.jvm.org.apache.hadoop.fs.Path

    def renaming(self, how: str) -> Any:
        """Return Hadoop's rename option as a Java array, for its varargs."""
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
        raise _ERRORS.get(kind, OSError)(_short_message(said or kind)) from error
    except PySparkException as error:
        raise OSError(_short_message(str(error))) from error
    except Py4JError as error:
        raise OSError(f"Spark's Java process does not answer: {_short_message(str(error))}") from error


def _short_message(said: str) -> str:
    """Return the message of an exception for users, without nested exception names and request ids."""
    line = said.partition("\n")[0].partition("; For more details")[0].partition(" (Service: ")[0]
    return re.sub(rf" *: {_NAMED}.*", "", re.sub(f"^.*?{_NAMED}", "", line))
