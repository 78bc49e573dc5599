"""The Spark session of an engine: the one that it was given, or one of its own that starts when first asked for."""

import logging
import os
import threading
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from cepsql.catalog import Source
from cepsql.catalog.catalog import Catalog
from cepsql.errors import InterfaceError, OperationalError
from cepsql.loading import load_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepsql.spark.jvm.start_sessions import StartSessions

LOGGER = logging.getLogger("cepsql")

_CATALOG = "spark.sql.catalogImplementation"
"""Spark's setting for where functions are kept that are not of one session."""


class EngineSession:
    """Makes, gives and ends the Spark session of an engine with this catalog.

    given:  the session that the engine was made with, if any.
    conf:   settings for one of its own.
    changed: settings of Spark that statements have set, which a session that starts later takes, too.
    """

    def __init__(
        self,
        catalog: Catalog,
        given: "SparkSession | None",
        master: str | None,
        conf: Mapping[str, str],
    ):
        self.given, self.conf = given, conf
        self.changed: dict[str, str] = {}
        self.running = given
        """The session, None where it has not started."""
        self.closed = False
        self._catalog, self._master = catalog, master
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._start_sessions: StartSessions | None = None
        if given is not None:
            from cepsql.spark.jvm.engine_sessions import join_session

            join_session(self, given)

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process made it, and was not forked from the one that did."""
        return self._process == os.getpid()

    @property
    def settings(self) -> dict[str, str]:
        """The settings that a session of its own has, or will start with."""
        return {**self.conf, **self.changed}

    @property
    def spark(self) -> "SparkSession":
        """The session, made when first asked for, and again where the Java of one that we started has ended.

        Raises OperationalError if Java or Spark cannot be started, or runs with other settings that cannot be changed.
        """
        load_spark()
        from cepsql.spark.jvm.gateway import is_stopped
        from cepsql.spark.jvm.own_functions import add_own_functions

        with self._lock:
            self.check_open()
            if self.running is not None and self.given is None:
                self._forget_lost()
            elif self.given is not None and is_stopped(self.given):
                from cepsql.spark.jvm.failures import STOPPED, STOPPED_HINT

                raise OperationalError(STOPPED, hint=STOPPED_HINT)
            if self.running is None:
                from cepsql.spark.jvm.engine_sessions import open_session

                sources = [relation for relation in self._catalog if isinstance(relation, Source)]
                self.running = open_session(self, self._master, self.settings, sources)
            add_own_functions(self.running)
            return self.running

    def user_functions(self, names: Collection[str], may_start: bool) -> frozenset[str]:
        """Return those of the names that are functions of the user's in the session, or in its catalog.

        may_start: a session that will have a catalog of its own is started.
        """
        if not self.is_of_this_process or self.closed:
            return frozenset()
        keeps = self.running is None and self.settings.get(_CATALOG) == "hive"
        spark = self.spark if keeps and may_start else self.running
        if spark is None:
            return frozenset()
        from cepsql.spark.jvm.session_functions import user_functions

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
        """Lend a session of its own to the start of one query, for queries that are started side by side."""
        spark = self.spark
        from cepsql.spark.jvm.classic import has_java

        if not has_java(spark):
            return nullcontext(spark)
        from cepsql.spark.jvm.start_sessions import StartSessions

        with self._lock:
            self._start_sessions = self._start_sessions or StartSessions(lambda: self.spark)
        return self._start_sessions.lent()

    def leave(self) -> None:
        """End the jobs of a session of its own, and Spark if an engine started it and no other uses it."""
        with self._lock:
            spark, self.running = self.running, None
        if spark is not None:
            from cepsql.spark.jvm.engine_sessions import leave_session
            from cepsql.spark.run.runs import cancel

            given = self.given is not None
            if leave_session(self, given) and not given:
                cancel(spark)

    def _forget_lost(self) -> None:
        """Forget a session whose Java has ended, and with it the DataFrames that were registered."""
        from cepsql.spark.jvm.gateway import is_lost

        assert self.running is not None
        if not is_lost(self.running):
            return
        LOGGER.warning("Java has ended; Spark starts again, and all definitions are kept")
        self.running = None
        if lost := self._catalog.forget_frames():
            LOGGER.warning("these DataFrames are gone with Java and must be registered again: %s", ", ".join(lost))
