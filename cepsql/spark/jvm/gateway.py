"""The Java process behind pyspark: whether it has ended, why, and how to forget or end it.

Relies on: pyspark has its Java in `SparkContext._gateway` (with the process, `proc`), `_jvm` and
`_active_spark_context`, and the session in `_instantiatedSession` and `_activeSession`; `_jsc` is None once Spark is
stopped; a `JavaObject` looks members up by `__getattr__`; a view of Java takes attributes for names that are known.
"""

import contextlib
import os
import re
import subprocess
import traceback
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaObject, is_magic_member
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from cepsql.spark.jvm.classic import has_java

_LOG: list[Path] = []
"""The log of the Java process that we started, if any."""

_ROBBED: list[Path] = []
"""The folder of that process, if files that it needs were removed from it."""

_OF_PARENT: list[tuple[object, ...]] = []
"""pyspark's references to Java in the process from which this one was forked."""

_PATIENCE_SECONDS = 5.0


_CLASSES = (
    "PythonUtils",
    "PythonSQLUtils",
    "PythonErrorUtils",
    "SimplePythonFunction",
    "functions",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.classic.SparkSession$",
    "org.apache.spark.sql.execution.python.UserDefinedPythonFunction",
    "org.apache.spark.sql.internal.SQLConf",
    "org.apache.spark.sql.streaming.Trigger",
    "org.apache.spark.util.Utils",
)
"""Classes that pyspark looks up by their qualified name, in nearly every step of a plan."""

_PATHS = (
    "java.lang.Class",
    "java.lang.System",
    "org.apache.spark.sql",
    "py4j.reflection.TypeUtil.isInstanceOf",
    "scala",
)
"""Names that pyspark and cepsql look up package by package."""

_METHODS = {
    "PythonUtils": ("getBroadcastThreshold", "toArray", "toSeq"),
    "PythonErrorUtils": ("getCondition",),
    "functions": ("col", "expr", "lit"),
    "org.apache.spark.sql.functions": ("col", "expr", "lit"),
}


def remember_names(spark: SparkSession) -> None:
    """Look up often used Java names once: for each lookup, Java searches all its jars."""
    view = spark._jvm
    for name in _CLASSES:
        java_class = getattr(view, name)
        # A name that Java doesn't find is treated as a package.
        if isinstance(java_class, JavaClass):
            setattr(view, name, java_class)
            for method in _METHODS.get(name, ()):
                with contextlib.suppress(Py4JError):
                    setattr(java_class, method, getattr(java_class, method))
    for path in _PATHS:
        remember_path(view, path)


def remember_path(view: Any, path: str) -> None:
    """Look up the packages of a Java name once, and the class or member at its end."""
    for name in path.split("."):
        if name not in vars(view):
            setattr(view, name, getattr(view, name))
        view = vars(view)[name]


def free_objects_at_once() -> None:
    """Release Java objects as soon as Python has no reference to them, in the whole process.

    py4j creates reference cycles between objects and their called methods, which only a collection of Python's oldest
    generation finds. Until then, Java keeps the plans of past micro-batches.
    """
    JavaObject.__getattr__ = _member


def _member(self: Any, name: str) -> Any:
    if is_magic_member(name):
        raise AttributeError(name)
    if self._auto_field:
        is_field, value = self._get_field(name)
        if is_field:
            return value
    return JavaMember(name, self, self._target_id, self._gateway_client)


def logs_to(log: Path) -> None:
    """Set the log of the Java process that is about to start."""
    _LOG[:] = [log]
    _ROBBED.clear()


def java_ended(patience: float = 0.0) -> bool:
    """Tell whether the Java process that this process started has ended, or ends within `patience` seconds."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        return False
    return True


def lost_java(failure: BaseException) -> bool:
    """Tell whether a failure is of the connection to a Java process that has ended."""
    seen: BaseException | None = failure
    while seen is not None:
        broken = isinstance(seen, Py4JError) and not isinstance(seen, Py4JJavaError)
        if isinstance(seen, ConnectionRefusedError) and _is_of_gateway(seen):
            # A process that refuses connections does not recover, whether it has ended yet or not.
            kill_java()
        if broken or isinstance(seen, ConnectionError | EOFError):
            return java_ended(_PATIENCE_SECONDS)
        seen = seen.__cause__ or seen.__context__
    return False


def _is_of_gateway(failure: BaseException) -> bool:
    """Tell whether a failure is of a connection to Java, not to another server."""
    frames = traceback.extract_tb(failure.__traceback__)
    return bool(frames) and Path(frames[-1].filename).parent.name == "py4j"


def is_stopped(spark: SparkSession) -> bool:
    """Tell whether the Spark of a session was stopped; unknown over Spark Connect."""
    context = getattr(spark, "_sc", None)
    return context is not None and context._jsc is None


def is_lost(spark: SparkSession) -> bool:
    """Tell whether a session is unusable: its Java process has ended, or it was stopped."""
    return has_java(spark) and (is_stopped(spark) or java_ended() or not _answers(spark.sparkContext))


def _answers(context: SparkContext) -> bool:
    """Tell whether Java answers a call; a process that was just killed may still seem to run."""
    assert context._jvm is not None
    try:
        context._jvm.java.lang.System.nanoTime()
    except (Py4JError, OSError) as failure:
        return not lost_java(failure)
    return True


def last_words() -> str | None:
    """Return a short reason for Java's end from its log, or None."""
    for log in _LOG:
        errors = re.findall(r"java\.lang\.(OutOfMemoryError(?:: [^\n]*)?)", _text(log))
        if errors:
            return errors[-1]
    return None


def lost_folder(text: str = "") -> Path | None:
    """Return the folder of the Java process that this process started, if files that Java needs were removed from it.

    Java never creates its own folders again, so the process can only be ended.
    text: Java's text of a failure.
    """
    for log in _LOG:
        folder = log.parent
        named = re.findall(rf"{re.escape(str(folder))}/local/[\w-]+(?:/[0-9a-f]{{2}}\b)?", text)
        if not folder.exists() or any(not Path(place).exists() for place in named):
            _ROBBED[:] = [folder]
    return _ROBBED[0] if _ROBBED else None


def spark_stopped() -> bool:
    """Tell whether the Spark of this process was stopped while Java still runs."""
    context = SparkContext._active_spark_context
    if SparkContext._gateway is None or java_ended():
        return False
    try:
        return context is None or context._jsc is None or context._jsc.sc().isStopped()
    except (Py4JError, OSError):
        return False


def _leave_to_parent() -> None:
    """Drop the parent's Java in a forked process, because their calls would mix in the same connections.

    Nothing is closed, and no object may be garbage-collected, which would send a message to that Java.
    """
    if SparkContext._gateway is not None:
        context, session = SparkContext._active_spark_context, SparkSession._instantiatedSession
        _OF_PARENT.append((SparkContext._gateway, context, session))
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        _LOG.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def forget_java() -> None:
    """Let pyspark start a new Java process after the previous one has ended."""
    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()
    if context is not None:
        # The context's stop() would call Java.
        context._jsc = None
        with contextlib.suppress(Exception):
            context.stop()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def end_java() -> None:
    """End the Java process that this process started, in which no Spark runs, and wait for its end."""
    process = getattr(SparkContext._gateway, "proc", None)
    forget_java()
    if process is None:
        return
    # pyspark's Java ends with its standard input.
    process.stdin.close()
    try:
        process.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def kill_java() -> None:
    """End the Java process that this process started, at once."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()


def _text(log: Path) -> str:
    try:
        return log.read_text(errors="replace")
    except OSError:
        return ""
