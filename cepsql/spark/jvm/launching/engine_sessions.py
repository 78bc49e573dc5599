"""The Spark sessions of engines of this process that do not get one from the user.

The first engine starts Spark. Other engines get their own sessions in the same Spark, so that an engine's settings
affect only its own statements. The last engine to close stops Spark. A Spark that was started elsewhere is never
stopped: an engine uses its session, or, if the engine has settings, a copy of it.

Relies on: `SparkContext._active_spark_context` and `_gateway` are those of the Spark that runs, `_jsc` is None once it
is stopped, and `_jsparkSession.cloneSession()` is a copy of a session.
"""

import contextlib
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cepsql.base.secrets import is_secret
from cepsql.catalog import Source
from cepsql.errors import SessionError
from cepsql.spark.jvm.classic import has_java
from cepsql.spark.jvm.gateway import end_java, is_lost
from cepsql.spark.jvm.launching.packages import with_packages
from cepsql.spark.jvm.launching.session import active_session, hush, session, session_settings
from cepsql.spark.jvm.messages.failures import translate_failure

_SQL, _MASTER, _LISTED = "spark.sql.", "spark.master", ("spark.jars", "spark.jars.packages")


@dataclass
class _StartedSpark:
    """The Spark that an engine has started, with these settings.

    users:  the engines that use it; weak references, because an unreferenced engine needs no close.
    closed: whether an engine without a session from the user was closed: then the last engine stops Spark.
    """

    spark: SparkSession
    settings: dict[str, str]
    users: "weakref.WeakSet[Any]" = field(default_factory=weakref.WeakSet)
    closed: bool = False

    def runs(self, spark: SparkSession) -> bool:
        """Tell whether a session belongs to this Spark."""
        return getattr(spark, "_sc", None) is self.spark.sparkContext


_STARTED: list[_StartedSpark] = []
"""The running Spark, if an engine has started it."""

_JAVA: list[tuple[object, dict[str, str]]] = []
"""The gateway to the Java process that an engine started last, and the settings that Java keeps."""

_COPIES: "weakref.WeakKeyDictionary[SparkSession, SparkSession]" = weakref.WeakKeyDictionary()
"""The original of each copied session."""

_LOCK = threading.Lock()


def open_session(
    engine: object, master: str | None, settings: Mapping[str, str], sources: Iterable[Source]
) -> SparkSession:
    """Return a session with these settings for an engine without a session from the user.

    sources: those for which Spark, if it is started, needs connectors.
    Raises SessionError if Spark does not start, or if the running Spark was started with other values of settings that
    only apply at start; OperationalError or ProgrammingError for a value that Spark refuses.
    """
    with _LOCK:
        running = active_session() or _session_of_context()
        wanted = dict(settings) | ({} if master is None else {_MASTER: master})
        if running is None:
            start_settings, fetched = with_packages(wanted, sources)
            opened = _start(start_settings, fetched)
            _STARTED[:] = [_StartedSpark(opened, wanted, weakref.WeakSet([engine]))]
            return opened
        if (started := _started_by_engine(running)) is not None:
            opened = _beside(started, wanted)
            started.users.add(engine)
            return opened
        running = _COPIES.get(running, running)
        return _copy(running, wanted) if wanted else running


def join_session(engine: object, spark: SparkSession) -> None:
    """Note that an engine uses the user's session; if another engine started its Spark, that must keep running."""
    hush()
    with _LOCK:
        if (started := _started_by_engine(spark)) is not None:
            started.users.add(engine)


def runs_here(spark: SparkSession) -> bool:
    """Tell whether an engine has started the Spark of a session, and its workers run on this machine."""
    with _LOCK:
        started = _started_by_engine(spark)
    return started is not None and str(spark.sparkContext.master).startswith("local")


def leave_session(engine: object, has_own_session: bool) -> bool:
    """Note that an engine is closed, and stop the Spark that an engine started if no engine uses it any more.

    has_own_session: the engine's session is the user's.
    Returns whether Spark keeps running for others.
    """
    with _LOCK:
        if not _STARTED or engine not in _STARTED[0].users:
            return False
        started = _STARTED[0]
        started.users.discard(engine)
        started.closed |= not has_own_session
        if started.users or not started.closed:
            return True
        _STARTED.clear()
        if not is_lost(started.spark):
            started.spark.stop()
        return False


def _started_by_engine(spark: SparkSession) -> _StartedSpark | None:
    """Return the Spark of a session if an engine has started it."""
    return next((started for started in _STARTED if started.runs(spark)), None)


def _session_of_context() -> SparkSession | None:
    """Return a session of a running Spark that has none."""
    context = SparkContext._active_spark_context
    return None if context is None or context._jsc is None else SparkSession(context)


def _start(settings: dict[str, str], fetched: str | None) -> SparkSession:
    """Start Spark in the running Java process, unless an engine has started that with other settings."""
    if _JAVA and _JAVA[0][0] is SparkContext._gateway and _JAVA[0][1] != settings:
        end_java()
    own = SparkContext._gateway is None
    try:
        started = session(None, settings.get(_MASTER), settings, fetched)
        _check_settings(started)
        return started
    finally:
        if own and SparkContext._gateway is not None:
            _JAVA[:] = [(SparkContext._gateway, settings)]


def _check_settings(spark: SparkSession) -> None:
    """Stop a Spark with wrong values of session settings, which it would only report on first use."""
    try:
        _ = spark.conf
    except (PySparkException, Py4JError, OSError) as failure:
        error = translate_failure(failure)
        # Java may have ended meanwhile.
        with contextlib.suppress(PySparkException, Py4JError, OSError):
            spark.stop()
        raise SessionError(error.message, hint=error.hint, detail=error.detail) from failure


def _beside(started: _StartedSpark, wanted: Mapping[str, str]) -> SparkSession:
    """Return a new session in a Spark that an engine has started, without the settings of that engine."""
    beside = started.spark.newSession()
    usual = session_settings()
    for key in started.settings.keys() - wanted.keys():
        if _is_of_session(beside, key):
            _set(beside, key, usual.get(key))
    _apply(beside, wanted, started)
    return beside


def _copy(running: SparkSession, wanted: Mapping[str, str]) -> SparkSession:
    """Return a copy of a foreign session with its settings, views and functions, and further settings."""
    if not has_java(running):
        for key, value in wanted.items():
            if running.conf.get(key, None) != value:
                raise _refused(key, value, running.conf.get(key, None), None)
        return running
    copy = SparkSession(running.sparkContext, running._jsparkSession.cloneSession())
    _apply(copy, wanted, None)
    _COPIES[copy] = running
    return copy


def _apply(spark: SparkSession, wanted: Mapping[str, str], started: _StartedSpark | None) -> None:
    """Apply settings to a new session; those that are not per session must equal those of its Spark."""
    for key, value in wanted.items():
        if _is_of_session(spark, key) and _set(spark, key, value):
            continue
        now = spark.sparkContext.getConf().get(key) or spark.conf.get(key, None)
        as_started = started is not None and started.settings.get(key) == value
        if not as_started and not _holds(key, value, now):
            raise _refused(key, value, now, started)


def _holds(key: str, value: str, now: str | None) -> bool:
    if key in _LISTED:
        return set(value.split(",")) <= set((now or "").split(","))
    return value == now


def _is_of_session(spark: SparkSession, key: str) -> bool:
    """Tell whether sessions of one Spark may differ in a setting; `_set` finds the static ones among those of SQL."""
    return spark.conf.isModifiable(key) or key.startswith(_SQL) or not key.startswith("spark.")


def _set(spark: SparkSession, key: str, value: str | None) -> bool:
    """Set or unset a setting; tell whether Spark allows it in a session."""
    try:
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
    except PySparkException as failure:
        if (failure.getCondition() or "").startswith("CANNOT_MODIFY"):
            return False
        raise translate_failure(failure) from None
    return True


def _refused(key: str, value: str, now: str | None, started: _StartedSpark | None) -> SessionError:
    shown = "another value" if is_secret(key) else value
    has = "does not set it" if now is None else "has another" if is_secret(key) else f"has {now}"
    ways = "close the other engines first" if started is not None else "stop that session first, or set it there"
    return SessionError(
        f"{key} = {shown} cannot be had: Spark runs already in this process, and {has}",
        hint=f"it is fixed when Spark starts: {ways}, or leave it out",
    )
