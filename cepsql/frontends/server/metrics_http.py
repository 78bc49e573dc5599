"""The addresses of a server: /metrics for Prometheus, /healthz for process managers."""

import json
import logging
import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from cepsql.errors import Error

LOG = logging.getLogger("cepsql.server")

_PATIENCE_SECONDS = 10.0
"""How long a client may take to send a request or to read the answer, so that it cannot block a thread."""

Health = Callable[[], tuple[bool, dict]]
"""Returns whether the server is healthy, and details."""


class MetricsServer(ThreadingHTTPServer):
    """Answers each request in a thread; `host` may be an address of IPv4 or IPv6, or a name."""

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]):
        families = {family for family, *_ in socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)}
        # A name such as localhost may have both.
        self.address_family = socket.AF_INET if socket.AF_INET in families else socket.AF_INET6
        super().__init__((host, port), handler)

    @property
    def address(self) -> str:
        """The address, as a part of URLs."""
        host, port = str(self.server_address[0]), self.server_port
        return f"[{host}]:{port}" if self.address_family == socket.AF_INET6 else f"{host}:{port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Log a failure, unless the client has gone before the answer."""
        failure = sys.exception()
        if not isinstance(failure, ConnectionError | TimeoutError):
            LOG.exception("a request could not be answered: %s", failure)


def listen(host: str, port: int, metrics: Collector, health: Health) -> MetricsServer:
    """Answer requests in a thread; return the server, whose `shutdown` ends it.

    Raises OSError if the address cannot be used.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)

    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_SECONDS

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                try:
                    self._send(200, CONTENT_TYPE_LATEST, generate_latest(registry))
                except Error as error:
                    self._send(503, "text/plain; charset=utf-8", f"{error.message}\n".encode())
            elif path == "/healthz":
                well, said = health()
                self._send(200 if well else 503, "application/json", json.dumps(said).encode() + b"\n")
            else:
                self._send(404, "text/plain; charset=utf-8", b"/metrics and /healthz are served here\n")

        def _send(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args) -> None:
            """Requests are not logged."""

    server = MetricsServer(host, port, Handler)
    threading.Thread(target=server.serve_forever, name="cepsql-http", daemon=True).start()
    return server
