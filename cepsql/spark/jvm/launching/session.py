"""The Spark session that cepsql runs in: the caller's, the active one, or a quiet one of its own.

Relies on: `SparkSession._instantiatedSession` is the session of this process; a stopped one has no `_jsc`.
"""

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from cepsql.base.temporary import temporary_folder
from cepsql.errors import SessionError
from cepsql.spark.jvm.gateway import forget_java, free_objects_at_once, java_ended, logs_to, remember_names
from cepsql.spark.jvm.launching.class_archive import archive_options, has_archive_option
from cepsql.spark.jvm.launching.java import ensure_java
from cepsql.spark.jvm.launching.launch import launch, without_handler
from cepsql.spark.jvm.launching.quick_hadoop import quicken_hadoop
from cepsql.spark.jvm.launching.quick_python import python_command
from cepsql.spark.jvm.launching.quick_stop import quicken_stop
from cepsql.spark.jvm.lent_settings import AS_WRITTEN
from cepsql.spark.jvm.messages.failures import translate_failure

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LATE_OPTIMIZATION = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
)
"""A method is called ten times as often as Java's default before it is optimized thoroughly; loops are as by default.

Planning a query calls thousands of methods. Optimizing them took a third of Java's time in the first minutes, on the
cores that Python needs."""
_FIRST_NEEDED = ("pyspark.testing.utils", "cepsql.spark.building.build", "cepsql.query.start_query")
"""The modules that the first statement and the first query load."""

_PYTHON = "PYSPARK_PYTHON"
_LONGEST_SOCKET_FOLDER = 60
_ERROR_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Those to which pyspark writes every error, as JSON with its Java trace."""


def session(
    spark: SparkSession | None = None,
    master: str | None = None,
    conf: dict[str, str] | None = None,
    fetched: str | None = None,
) -> SparkSession:
    """Return `spark`, else the active session, else a new one.

    master: Spark master URL of a new session; default CEPSQL_MASTER, then local[*].
    conf:   Spark settings of a new session; they win over cepsql's own.
    fetched: what `spark.jars.packages` fetches, for the error if it cannot be had.
    A new session writes nothing to stdout or stderr (its log is a temporary file), leaves no files in the working
    folder, evaluates SQL without ANSI errors, takes its time zone from CEPSQL_TIMEZONE or the machine, and leaves
    Ctrl-C to the caller: pyspark's own handler would cancel the jobs of every query.
    Raises SessionError if there is no Java, or Spark does not start.
    """
    own = spark or active_session()
    if own is not None:
        hush()
        return own
    ensure_java()
    master = master or os.environ.get("CEPSQL_MASTER") or "local[*]"
    _name_python(master)
    free_objects_at_once()
    folder = temporary_folder("cepsql-spark-")
    # pyspark prints every error as JSON with its Java trace, and py4j a Python trace when Java ends; ours are raised.
    for name in (*_ERROR_LOGGERS, "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).disabled = True
    logging.getLogger().addFilter(_is_not_of_py4j)
    settings = _with_java_options(_settings(master, folder) | (conf or {}))
    return _start(settings, folder / "spark.log", fetched)


def hush() -> None:
    """Let pyspark write no errors of what cepsql asks of a session that is not its own; they are raised as cepsql's.

    Nor let it keep what cepsql made in Java longer than it is needed.
    """
    free_objects_at_once()
    for name in _ERROR_LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_is_not_of_cepsql)


def _is_not_of_cepsql(record: logging.LogRecord) -> bool:
    """Tell whether what fails was asked for by the user, not by cepsql, which raises an error of its own for it."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__", "").startswith("cepsql."):
            return False
    return True


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Tell whether py4j has not written a record; of some it makes no logger of its own."""
    return "py4j" not in Path(record.pathname).parts


def active_session() -> SparkSession | None:
    """Return the session that is active in this thread or else this process, None if none is or its Java has ended."""
    if java_ended():
        forget_java()
    active = SparkSession._instantiatedSession
    return SparkSession.getActiveSession() or (active if active is not None and active._sc._jsc is not None else None)


def _name_python(master: str) -> None:
    """Let local workers run in this interpreter; those of a cluster may have another path, which the user sets."""
    if master.startswith("local"):
        os.environ[_PYTHON] = sys.executable
    os.environ.setdefault(_PYTHON, sys.executable)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


@contextlib.contextmanager
def _python_named(settings: dict[str, str], folder: Path) -> Iterator[None]:
    """Let the context that is made within the block run Python by our command, where its processes run here."""
    local = settings["spark.master"].startswith("local") and hasattr(socket, "AF_UNIX")
    if not local or len(str(folder)) > _LONGEST_SOCKET_FOLDER:
        yield
        return
    os.environ[_PYTHON] = python_command(folder)
    try:
        yield
    finally:
        os.environ[_PYTHON] = sys.executable


def session_settings() -> dict[str, str]:
    """Return the settings of cepsql's in which sessions of one Spark may differ."""
    settings = {
        "spark.sql.ansi.enabled": "false",
        **AS_WRITTEN,
        "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),
        # Files make as many tasks as there are cores; with the default, as many and a last one with what is left over.
        "spark.sql.files.maxPartitionBytes": str(2**30),
        # By default, each file counts as 4 MiB more: tasks get unequal shares of large and small ones.
        "spark.sql.files.openCostInBytes": str(2**17),
        # Every batch rewrites the rows of our state that changed: a hundred old versions would fill a disk.
        "spark.sql.streaming.minBatchesToRetain": "10",
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    }
    if zone := os.environ.get("CEPSQL_TIMEZONE"):
        settings["spark.sql.session.timeZone"] = zone
    return settings


def _settings(master: str, folder: Path) -> dict[str, str]:
    settings = {
        "spark.master": master,
        "spark.app.name": "cepsql",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # What Spark remembers of work that is done, for its pages: tens of MB with its default, a thousand of each.
        "spark.sql.ui.retainedExecutions": "100",
        "spark.ui.retainedJobs": "200",
        "spark.ui.retainedStages": "200",
        # Spark would remember each file of each micro-batch, up to 250 MB of Java's heap, though none is listed again.
        "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
        # Telling Java for each call where it stands in a program doubles what planning a query says to Java.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **session_settings(),
    }
    if master.startswith("local"):
        # The workers of a cluster may get cepsql with a job, too late for their daemon.
        settings["spark.python.daemon.module"] = "cepsql.spark.frames.worker_daemon"
        # Else a json.py in the folder where cepsql is called would stand before Python's own.
        settings["spark.executorEnv.PYTHONSAFEPATH"] = "1"
        # Spark lists more than 32 files in a job with one task for each, which takes longer than reading them.
        settings["spark.sql.sources.parallelPartitionDiscovery.threshold"] = "1000"
    if hasattr(socket, "AF_UNIX"):
        # Over TCP each exchange with a Python worker waits 40 ms for an acknowledgement.
        settings["spark.python.unix.domain.socket.enabled"] = "true"
    if master.startswith("local"):
        # Without this, a machine whose name does not resolve cannot start Spark at all.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        # Removed with the folder, also where nobody waits for Java's end.
        settings |= {"spark.driver.memory": "2g", "spark.local.dir": str(folder / "local")}
        if len(str(folder)) <= _LONGEST_SOCKET_FOLDER:
            settings["spark.python.unix.domain.socket.dir"] = str(folder)
    return settings


def _with_java_options(settings: dict[str, str]) -> dict[str, str]:
    """Let Java optimize late, and use the archive of classes, if `cepsql prepare` has made one; given options win."""
    options = settings.get(_JAVA_OPTIONS, "")
    archive = "" if has_archive_option(options) else archive_options()
    return settings | {_JAVA_OPTIONS: " ".join(filter(None, (archive, _LATE_OPTIMIZATION, options)))}


def _start(settings: dict[str, str], log: Path, fetched: str | None) -> SparkSession:
    logs_to(log)
    try:
        with log.open("wb") as output:
            if SparkContext._gateway is None:
                with ThreadPoolExecutor(1) as loading:
                    # Nothing else is done while Java starts. An error is raised again where a module is needed.
                    loading.map(import_module, _FIRST_NEEDED)
                    gateway = launch(settings, log.parent, output)
                SparkContext._ensure_initialized(gateway=gateway)
            with without_handler(), _python_named(settings, log.parent):
                started = SparkSession.builder.config(map=dict(settings)).getOrCreate()
        remember_names(started)
        quicken_hadoop(started)
        quicken_stop(started)
        # It would print a trace when Java ends.
        started.sparkContext._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        return started
    except PySparkException as exception:
        detail = log.read_text(errors="replace")
        if fetched is not None and "unresolved dependency" in detail.lower():
            hint = "name the jars with spark.jars, or let spark.jars.ivySettings say where they are"
            raise SessionError(f"{fetched} cannot be fetched", hint=hint, detail=detail) from exception
        raise SessionError("Spark did not start", hint=_last_complaint(log), detail=detail) from exception
    except Exception as exception:
        failure = translate_failure(exception)
        raise SessionError(failure.message, hint=failure.hint, detail=failure.detail) from exception


def _last_complaint(log: Path) -> str | None:
    """Return the log line that most likely says why the JVM ended."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    return next((line for line in lines if "Exception" in line or line.startswith("Error")), None)
