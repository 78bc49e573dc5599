"""The life of a server: it stands by or leads, reconciles every second, and stops its queries on a signal."""

import argparse
import logging
import signal
import ssl
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from cepsql.catalog.leases import Lease
from cepsql.engine import Engine, connect
from cepsql.errors import Error, ExitCode, InterfaceError, NotSupportedError, OperationalError
from cepsql.frontends.configuration import spark_conf
from cepsql.frontends.runner.waiting_for_spark import start_spark
from cepsql.frontends.server.json_log import log_json
from cepsql.frontends.server.serve_options import listening_users, parser, restrictions
from cepsql.frontends.server.wire.limits import Limits
from cepsql.frontends.server.wire.users import Users
from cepsql.standing.home import Home
from cepsql.standing.queries import SERVER, STARTING_SERVER
from cepsql.standing.reconciling.outage import Outage

if TYPE_CHECKING:
    from cepsql.frontends.server.wire.listener import Listener
    from cepsql.frontends.server.wire.view_http import HttpListener

LOG = logging.getLogger("cepsql.server")

_EVERY_SECONDS = 1.0
_WELL_SECONDS = 120.0
"""A server that has not looked after its queries for this long is unhealthy."""


def serve(argv: Sequence[str]) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code.

    Raises InterfaceError for a file of settings that cannot be read.
    """
    options = parser()
    try:
        arguments = options.parse_args(argv)
        if arguments.catalog is None:
            options.error("--catalog or CEPSQL_CATALOG must say which catalog is served")
        try:
            allowed = restrictions(arguments)
            users = listening_users(arguments) if arguments.listen or arguments.http else None
        except (ValueError, InterfaceError) as error:
            options.error(_said(error) if isinstance(error, Error) else str(error))
    except SystemExit as leaving:
        return int(leaving.code or 0)
    conf = spark_conf() | dict(arguments.conf)
    stop = threading.Event()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: stop.set())
    log_json(sys.stderr)
    try:
        engine = connect(
            master=arguments.master,
            conf=conf,
            catalog=arguments.catalog,
            restrictions=allowed,
            create_catalog=arguments.create_catalog,
        )
    except Error as error:
        LOG.error(_said(error))
        return ExitCode.QUERY
    server = Server(engine, arguments.lease)
    try:
        if arguments.metrics_port is not None:
            try:
                server.listen(arguments.metrics_host, arguments.metrics_port)
            except OSError as error:
                LOG.error("%s:%d cannot be used: %s", arguments.metrics_host, arguments.metrics_port, error.strerror)
                return ExitCode.USAGE
        if users is not None:
            try:
                server.answer(users, arguments)
            except (OSError, Error) as error:
                LOG.error("cannot listen: %s", _said(error) if isinstance(error, Error) else error.strerror or error)
                return ExitCode.USAGE
        return server.run(stop)
    finally:
        server.close()
        engine.close(at_exit=True)


def _said(error: Error) -> str:
    return f"{error.message}: {error.hint}" if error.hint else error.message


class Server:
    """One server of a catalog; it leads while it holds the lease of the catalog's server."""

    def __init__(self, engine: Engine, lease: float | None = None):
        self._engine = engine
        self._leading: Lease | None = None
        self._announced: Lease | None = None
        self._ready = False
        self._home: Home = engine.open_home(self.leads, lease)
        self._worked = time.monotonic()
        self._outage = Outage(LOG)
        self._standing_by = False
        self._listeners: list[Listener | HttpListener] = []

    def leads(self) -> bool:
        """Tell whether this server runs the queries of the catalog."""
        return self._leading is not None and self._home.reconciler.renewal.holds(self._leading)

    def listen(self, host: str, port: int) -> None:
        """Serve /metrics and /healthz; raises OSError if the address cannot be used."""
        from cepsql.frontends.server.metrics import QueryMetrics
        from cepsql.frontends.server.metrics_http import listen

        server = listen(host, port, QueryMetrics(self._home.states.all, self.leads), self.health)
        LOG.info("metrics on http://%s/metrics", server.address)

    def answer(self, users: Users, arguments: argparse.Namespace) -> None:
        """Serve PostgreSQL's protocol and HTTP at the addresses of the options.

        Raises OSError if an address or the certificate cannot be used, NotSupportedError if a package is missing.
        """
        limits = Limits(arguments.max_rows, arguments.max_seconds, arguments.max_reads, arguments.max_connections)
        try:
            if arguments.listen is not None:
                from cepsql.frontends.server.wire.listener import Listener

                tls = None
                if arguments.tls_cert is not None:
                    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                    tls.load_cert_chain(arguments.tls_cert, arguments.tls_key)
                listener = Listener(
                    self._engine, arguments.listen[0], arguments.listen[1], users=users, limits=limits, tls=tls
                )
                self._listeners.append(listener)
                LOG.info("answers PostgreSQL's clients on %s:%d", *listener.address)
            if arguments.http is not None:
                from cepsql.frontends.server.wire.view_http import HttpListener

                certificate = None if arguments.tls_cert is None else (arguments.tls_cert, arguments.tls_key)
                over_http = HttpListener(
                    self._engine,
                    arguments.http[0],
                    arguments.http[1],
                    users=users,
                    limits=limits,
                    certificate=certificate,
                )
                self._listeners.append(over_http)
                LOG.info("answers HTTP on %s:%d", *over_http.address)
        except ImportError as error:
            hint = "pip install 'cepsql[server]'"
            raise NotSupportedError("--listen and --http need packages that are missing", hint=hint) from error

    def close(self) -> None:
        """End the connections of clients."""
        for listener in self._listeners:
            listener.close()

    def health(self) -> tuple[bool, dict]:
        """Return whether this server is healthy, and details."""
        quiet = time.monotonic() - self._worked
        role = "leads" if self.leads() else "stands by" if self._ready else "starts"
        conditions = {name: asdict(condition) for name, condition in self._home.reconciler.conditions().items()}
        said = {
            "role": role,
            "queries": sorted(conditions),
            "states": conditions,
            "seconds_since_work": round(quiet, 1),
        }
        return quiet < _WELL_SECONDS, said | ({"catalog": self._outage.said} if self._outage.said else {})

    def run(self, stop: threading.Event) -> int:
        """Reconcile until `stop` is set, then end the queries, each after its batch; return the exit code."""
        LOG.info("%s serves the catalog %s", self._home.reconciler.owner, self._home.states.database.shown)
        self._announce()
        try:
            # A standby has its Spark ready, so that it takes over within seconds.
            start_spark(self._engine, stop)
        except Error as error:
            self._withdraw()
            LOG.error(_said(error))
            return ExitCode.SESSION
        except Exception as failure:
            self._withdraw()
            LOG.exception("cepsql failed: %s", failure)
            return ExitCode.SESSION
        self._ready = True
        while not stop.wait(_EVERY_SECONDS):
            try:
                self._work()
                self._outage.is_over()
                self._worked = time.monotonic()
            except OperationalError as error:
                self._outage.goes_on(error)
                # The server itself is healthy: a restart would only make it slower to recover.
                self._worked = time.monotonic()
            except Exception as failure:
                # If this continues, /healthz reports an unhealthy server.
                LOG.exception("cepsql failed: %s", failure)
        LOG.info("ends: every query stops after its batch")
        self._home.reconciler.close()
        self._withdraw()
        with suppress(Error):
            if self._leading is not None:
                self._home.reconciler.renewal.release(self._leading)
        LOG.info("has ended")
        return ExitCode.OK

    def _announce(self) -> None:
        """Let other processes wait for this server while its Spark starts, if no other one leads or starts."""
        renewal = self._home.reconciler.renewal
        with suppress(OperationalError):
            self._announced = renewal.acquire(STARTING_SERVER, self._home.reconciler.owner)

    def _withdraw(self) -> None:
        announced, self._announced = self._announced, None
        if announced is not None:
            with suppress(OperationalError):
                self._home.reconciler.renewal.release(announced)

    def _work(self) -> None:
        if not self.leads():
            self._leading = self._home.reconciler.renewal.acquire(SERVER, self._home.reconciler.owner)
            if self._leading is not None:
                LOG.info("leads from now on")
            elif not self._standing_by:
                LOG.info("stands by: another server leads")
            self._standing_by = self._leading is None
            self._withdraw()
        self._home.reconciler.tick()
