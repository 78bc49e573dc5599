"""Spark settings for our stages, applied to a session temporarily while a query is started or run.

Relies on: `_jsparkSession.sessionState().conf()` has the changed settings; the packages of Spark's checkpoint writers.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from cepsql.spark.jvm.classic import frame_has_java, has_java
from cepsql.spark.jvm.spark_plan import jvm

STAGE_SETTINGS = {
    # Packing works by column and is faster with few large batches.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Without this limit, that many rows of some kilobytes, or operator outputs, would exceed Java's memory.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 * 2**20),
    # Only Spark reads its log of files, and only needs the last files of the log.
    "spark.sql.streaming.fileSource.log.cleanupDelay": "1min",
}


UNCHECKED_SETTINGS = {"spark.sql.streaming.unsupportedOperationCheck": "false"}
"""Settings to start a streaming query whose operators Spark would refuse although their use is correct."""


AS_WRITTEN = {"spark.sql.variable.substitute": "false", "spark.sql.ansi.doubleQuotedIdentifiers": "false"}
"""Without the first setting, Spark replaces `${name}` anywhere in SQL, even in quotes, by a variable or nothing. The
second is handled earlier: what is still in double quotes is a text; see `cepsql.language.rewriting.double_quotes`."""


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
"""Spark settings that change the meaning of a query."""


def meaning_settings(spark: SparkSession) -> dict[str, str]:
    """Return a session's values of MEANING_SETTINGS."""
    return {key: setting(spark, key) for key in MEANING_SETTINGS}


_known: ContextVar[dict[tuple[int, str], str] | None] = ContextVar("_known", default=None)
"""The values of settings by session and name, within `settings_stay`."""


def setting(spark: SparkSession, key: str) -> str:
    """Return a session's value of a Spark setting with a default."""
    known = _known.get()
    value = None if known is None else known.get((id(spark), key))
    if value is None:
        value = spark.conf.get(key)
        assert value is not None
        if known is not None:
            known[id(spark), key] = value
    return value


@contextmanager
def settings_stay() -> Iterator[None]:
    """Ask a session for each setting once within the block, in which nothing changes them."""
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def local_checkpoint_settings(spark: SparkSession) -> dict[str, str]:
    """Return the settings for fast checkpoint writes on a local file system.

    By default, Spark runs a program, readlink, for each of the dozens of files of a micro-batch.
    """
    package = checkpoint_writers(spark) if hasattr(spark, "_jvm") else None
    return {} if package is None else {CHECKPOINT_WRITER: f"{package}.{_LOCAL_WRITER}"}


def checkpoint_writers(spark: SparkSession) -> str | None:
    """Return the package of Spark's checkpoint writers, None if it is unknown."""
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
    """Apply STAGE_SETTINGS and `more` unless the user has set them; a streaming query keeps those of its start.

    unchecked: also apply UNCHECKED_SETTINGS, even over the user's settings.
    needed:    further settings to apply over the user's settings.
    """
    wanted = STAGE_SETTINGS | dict(more or {})
    before = _user_settings(spark, wanted)
    lent = {key: value for key, value in wanted.items() if key not in before}
    with lent_settings(spark, lent | (UNCHECKED_SETTINGS if unchecked else {}) | dict(needed or {})):
        yield


@contextmanager
def lent_settings(spark: SparkSession, lent: Mapping[str, str]) -> Iterator[None]:
    """Apply settings to a session, and restore them at the end."""
    before = _user_settings(spark, lent)
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


def _user_settings(spark: SparkSession, keys: Iterable[str]) -> dict[str, str]:
    """Return the settings among `keys` that differ from Spark's defaults, with their values."""
    if not has_java(spark):
        settings = spark.conf.getAll
        return {key: settings[key] for key in keys if key in settings}
    # Reading all settings would take one call for each.
    defaults = spark._jsparkSession.sessionState().conf()
    return {key: setting(spark, key) for key in keys if defaults.contains(key)}


def is_chain(frame: DataFrame) -> bool:
    """Tell whether a streaming frame has more than one of our stages."""
    if not frame_has_java(frame):
        return False
    plan = frame._jdf.queryExecution().analyzed().toString()
    return plan.count("FlatMapGroupsInPandasWithState") > 1


def tasks_share_files(spark: SparkSession) -> bool:
    """Tell whether the tasks of a session share the files of this machine."""
    return str(spark.sparkContext.master).startswith("local")


def local_folders(spark: SparkSession) -> list[str]:
    """Return the folders of Spark's temporary files, if its tasks run on this machine."""
    if not has_java(spark) or not tasks_share_files(spark):
        return []
    folders = os.environ.get("SPARK_LOCAL_DIRS") or str(spark.conf.get("spark.local.dir", ""))
    return [folder for text in folders.split(",") if (folder := text.strip())] or [tempfile.gettempdir()]
