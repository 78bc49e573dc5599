"""The addresses of a server: /metrics for Prometheus, /healthz for whoever watches over processes."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from cepsql.errors import Error

Health = Callable[[], tuple[bool, dict]]
"""Tells whether the server is well, and more for people."""


def listen(host: str, port: int, metrics: Collector, health: Health) -> ThreadingHTTPServer:
    """Answer requests in a thread; return the server, whose `shutdown` ends it.

    Raises OSError if the address cannot be used.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)

    class Handler(BaseHTTPRequestHandler):
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
            self.wfile.write(body)

        def log_message(self, format: str, *args) -> None:
            """Requests are not logged."""

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, name="cepsql-http", daemon=True).start()
    return server
