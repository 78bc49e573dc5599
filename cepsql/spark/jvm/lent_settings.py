"""Spark settings that our stages want, lent to a session while a query is started or run.

Relies on: `_jsparkSession.sessionState().conf()` says what is set, and where Spark's writers of checkpoints are.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from cepsql.spark.jvm.classic import frame_has_java, has_java
from cepsql.spark.jvm.spark_plan import jvm

STAGE_SETTINGS = {
    # Packing works column-wise and likes few large batches.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Without a limit that many rows of some kilobytes, or outputs of operators, would take more memory than Java has.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 * 2**20),
    # Only Spark itself reads the log of files that were read, and needs its last files.
    "spark.sql.streaming.fileSource.log.cleanupDelay": "1min",
    # Where more than 32 files have come Spark lists them in a job of as many tasks, which takes longer than they do.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
}


UNCHECKED_SETTINGS = {"spark.sql.streaming.unsupportedOperationCheck": "false"}
"""What starts a streaming query that has operators which Spark would refuse but which are right as they are used."""


AS_WRITTEN = {"spark.sql.variable.substitute": "false", "spark.sql.ansi.doubleQuotedIdentifiers": "false"}
"""Without the first Spark takes `${name}` anywhere in a text of SQL, in quotes too, for a variable, or for nothing. The
second is answered before: what is still in double quotes is a text; see `cepsql.language.rewriting.double_quotes`."""


CHECKPOINT_WRITER = "spark.sql.streaming.checkpointFileManagerClass"
_LOCAL_WRITER = "FileSystemBasedCheckpointFileManager"
_PACKAGES = (
    "org.apache.spark.sql.execution.streaming.checkpointing",
    "org.apache.spark.sql.execution.streaming",
)

MEANING_SETTINGS = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
)
"""Settings of Spark's with which the same text means something else."""


def meaning_settings(spark: SparkSession) -> dict[str, str]:
    """Return what a session says of MEANING_SETTINGS."""
    return {key: setting(spark, key) for key in MEANING_SETTINGS}


def setting(spark: SparkSession, key: str) -> str:
    """Return what a session says of a setting of Spark's that has a default."""
    value = spark.conf.get(key)
    assert value is not None
    return value


def local_checkpoint_settings(spark: SparkSession) -> dict[str, str]:
    """Return what makes Spark write a checkpoint on a local file system as fast as it can.

    By default it runs a program, readlink, for each of the dozens of files of a micro-batch.
    """
    package = checkpoint_writers(spark) if hasattr(spark, "_jvm") else None
    return {} if package is None else {CHECKPOINT_WRITER: f"{package}.{_LOCAL_WRITER}"}


def checkpoint_writers(spark: SparkSession) -> str | None:
    """Return the package of Spark's classes that write checkpoints, None where they are not known."""
    for package in _PACKAGES:
        try:
            jvm(spark).java.lang.Class.forName(f"{package}.{_LOCAL_WRITER}")
        except Py4JJavaError:
            continue
        return package
    return None


@contextmanager
def stage_settings(
    spark: SparkSession,
    unchecked: bool = False,
    more: Mapping[str, str] | None = None,
    needed: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Apply STAGE_SETTINGS, and `more`, that the user has not set; a streaming query keeps what it was started with.

    unchecked: UNCHECKED_SETTINGS too, whatever is set.
    needed:    what is applied whatever is set.
    """
    wanted = STAGE_SETTINGS | dict(more or {})
    before = _given(spark, wanted)
    lent = {key: value for key, value in wanted.items() if key not in before}
    with lent_settings(spark, lent | (UNCHECKED_SETTINGS if unchecked else {}) | dict(needed or {})):
        yield


@contextmanager
def lent_settings(spark: SparkSession, lent: Mapping[str, str]) -> Iterator[None]:
    """Apply settings to a session, and set back what it said before."""
    before = _given(spark, lent)
    try:
        for key, value in lent.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key in lent:
            if key in before:
                spark.conf.set(key, before[key])
            else:
                spark.conf.unset(key)


def _given(spark: SparkSession, keys: Iterable[str]) -> dict[str, str]:
    """Return those of some settings that somebody has set, and what they are."""
    if not has_java(spark):
        settings = spark.conf.getAll
        return {key: settings[key] for key in keys if key in settings}
    # All settings would come one call at a time.
    defaults = spark._jsparkSession.sessionState().conf()
    return {key: setting(spark, key) for key in keys if defaults.contains(key)}


def is_chain(frame: DataFrame) -> bool:
    """Tell whether a streaming frame has more than one of our stages."""
    if not frame_has_java(frame):
        return False
    plan = frame._jdf.queryExecution().analyzed().toString()
    return plan.count("FlatMapGroupsInPandasWithState") > 1


def tasks_share_files(spark: SparkSession) -> bool:
    """Tell whether the tasks of a session see the files of this machine as it does."""
    return str(spark.sparkContext.master).startswith("local")


def local_folders(spark: SparkSession) -> list[str]:
    """Return where Spark has its temporary files, if its tasks run on this machine."""
    if not has_java(spark) or not tasks_share_files(spark):
        return []
    folders = os.environ.get("SPARK_LOCAL_DIRS") or str(spark.conf.get("spark.local.dir", ""))
    return [folder for text in folders.split(",") if (folder := text.strip())] or [tempfile.gettempdir()]
