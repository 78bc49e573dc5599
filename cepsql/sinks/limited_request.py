"""A time limit for a whole HTTP request: a timeout of a socket limits each read and write alone."""

import contextlib
import http.client
import socket
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any


class TimeOver(OSError):
    """A request has exceeded its time limit."""


class _Limit:
    """The connections of a thread's request; they are cut when its time is over."""

    def __init__(self) -> None:
        self._lock, self._open = threading.Lock(), list[socket.socket]()
        self.over = self._ended = False

    def connect(self, *args: Any, **options: Any) -> socket.socket:
        """Open a connection as `socket.create_connection` does."""
        connection = socket.create_connection(*args, **options)
        with self._lock:
            # TLS detaches the socket itself.
            self._open.append(connection.dup())
            over = self.over
        if over:
            self.cut()
        return connection

    def cut(self) -> None:
        """Cut all connections: reads and writes on them fail or end early."""
        with self._lock:
            if self._ended:
                return
            self.over = True
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Close the connections; nothing is cut any more."""
        with self._lock:
            self._ended = True
            for connection in self._open:
                connection.close()


_CURRENT = threading.local()


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the time of the requests that this thread makes within the block with the handlers below.

    Raises TimeOver in place of any error of a request that exceeds the limit.
    """
    limit = _CURRENT.limit = _Limit()
    timer = threading.Timer(seconds, limit.cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as failure:
        if limit.over:
            raise TimeOver(f"no answer within {seconds:g} seconds") from failure
        raise
    finally:
        timer.cancel()
        limit.end()
        _CURRENT.limit = None


def _limited(connection: Any) -> Any:
    limit = getattr(_CURRENT, "limit", None)
    if limit is not None:
        connection._create_connection = limit.connect
    return connection


class LimitedHTTP(urllib.request.HTTPHandler):
    """A handler of HTTP requests that `time_limit` limits."""

    def http_open(self, req: urllib.request.Request) -> Any:
        """Make a request."""
        return self.do_open(lambda host, **options: _limited(http.client.HTTPConnection(host, **options)), req)


class LimitedHTTPS(urllib.request.HTTPSHandler):
    """A handler of HTTPS requests that `time_limit` limits."""

    def https_open(self, req: urllib.request.Request) -> Any:
        """Make a request."""
        return self.do_open(lambda host, **options: _limited(http.client.HTTPSConnection(host, **options)), req)
