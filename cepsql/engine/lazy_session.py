"""The Spark session of an engine: the user's, or its own, which starts on first use."""

import logging
import os
import threading
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from cepsql.base.loading import load_spark
from cepsql.catalog import Source
from cepsql.catalog.catalog import Catalog
from cepsql.errors import InterfaceError, OperationalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.spark.jvm.launching.start_sessions import StartSessions

LOGGER = logging.getLogger("cepsql")

_CATALOG = "spark.sql.catalogImplementation"
"""Spark's setting for the catalog of persistent functions."""


class EngineSession:
    """Starts and ends the Spark session of an engine with this catalog.

    user_session: the session that the user passed to the engine, if any.
    conf:    settings for the engine's own session.
    changed: Spark settings that statements have set; a session that starts later gets them too.
    """

    def __init__(
        self,
        catalog: Catalog,
        user_session: "SparkSession | None",
        master: str | None,
        conf: Mapping[str, str],
    ):
        self.user_session, self.conf = user_session, conf
        self.changed: dict[str, str] = {}
        self.running = user_session
        """The session, None before it has started."""
        self.closed = False
        self._catalog, self._master = catalog, master
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._start_sessions: StartSessions | None = None
        if user_session is not None:
            from cepsql.spark.jvm.launching.engine_sessions import join_session

            join_session(self, user_session)

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process created the session, and was not forked from the process that did."""
        return self._process == os.getpid()

    @property
    def settings(self) -> dict[str, str]:
        """The settings that the engine's own session has or will start with."""
        return {**self.conf, **self.changed}

    @property
    def spark(self) -> "SparkSession":
        """The session, started on first use, and again if the Java of our own session has ended.

        Raises OperationalError if Java or Spark can't be started, or runs with other settings that can't be changed.
        """
        load_spark()
        from cepsql.spark.jvm.gateway import is_stopped
        from cepsql.spark.jvm.messages.own_functions import add_own_functions

        with self._lock:
            self.check_open()
            if self.running is not None and self.user_session is None:
                self._forget_lost()
            elif self.user_session is not None and is_stopped(self.user_session):
                from cepsql.spark.jvm.messages.failures import STOPPED, STOPPED_HINT

                raise OperationalError(STOPPED, hint=STOPPED_HINT)
            if self.running is None:
                from cepsql.spark.jvm.launching.engine_sessions import open_session, runs_here
                from cepsql.spark.staging.warm import warm_beside

                sources = [relation for relation in self._catalog if isinstance(relation, Source)]
                self.running = open_session(self, self._master, self.settings, sources)
                if runs_here(self.running):
                    warm_beside(self.running)
            add_own_functions(self.running)
            return self.running

    def user_functions(self, names: Collection[str], may_start: bool) -> frozenset[str]:
        """Return the names that are user-defined functions in the session or its catalog.

        may_start: start a session that will have a persistent catalog.
        """
        if not self.is_of_this_process or self.closed:
            return frozenset()
        keeps = self.running is None and self.settings.get(_CATALOG) == "hive"
        spark = self.spark if keeps and may_start else self.running
        if spark is None:
            return frozenset()
        from cepsql.spark.jvm.messages.session_functions import user_functions

        return user_functions(spark, names)

    def check_open(self) -> None:
        """Raise InterfaceError if the engine is closed, or was made before this process was forked."""
        if not self.is_of_this_process:
            raise InterfaceError(
                "the engine belongs to the process from which this one was forked",
                hint='connect() makes one here; multiprocessing.get_context("spawn") begins without any',
            )
        if self.closed:
            raise InterfaceError("the engine is closed", hint="connect() makes another one")

    def lent(self) -> "AbstractContextManager[SparkSession]":
        """Lend a separate session to the start of one query, for concurrent starts."""
        spark = self.spark
        from cepsql.spark.jvm.classic import has_java

        if not has_java(spark):
            return nullcontext(spark)
        from cepsql.spark.jvm.launching.start_sessions import StartSessions

        with self._lock:
            self._start_sessions = self._start_sessions or StartSessions(lambda: self.spark)
        return self._start_sessions.lent()

    def leave(self) -> None:
        """Cancel the jobs of the engine's own session; stop Spark if an engine started it and no other uses it."""
        with self._lock:
            spark, self.running = self.running, None
        if spark is not None:
            from cepsql.spark.jvm.launching.engine_sessions import leave_session
            from cepsql.spark.run.runs import cancel

            is_users = self.user_session is not None
            if leave_session(self, is_users) and not is_users:
                cancel(spark)

    def _forget_lost(self) -> None:
        """Drop a session whose Java has ended, and its registered DataFrames."""
        from cepsql.spark.jvm.gateway import is_lost

        assert self.running is not None
        if not is_lost(self.running):
            return
        LOGGER.warning("Java has ended; Spark starts again, and all definitions are kept")
        self.running = None
        if lost := self._catalog.forget_frames():
            LOGGER.warning("these DataFrames are gone with Java and must be registered again: %s", ", ".join(lost))
