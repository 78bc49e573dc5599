"""A time limit on a whole HTTP request: a timeout of sockets holds for each read and write alone."""

import contextlib
import http.client
import socket
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any


class TimeOver(OSError):
    """The time of a request is over."""


class _Limit:
    """The connections of the request that a thread makes; they are cut when its time is over."""

    def __init__(self) -> None:
        self._lock, self._open = threading.Lock(), list[socket.socket]()
        self.over = self._ended = False

    def connect(self, *args: Any, **options: Any) -> socket.socket:
        """Open a connection as `socket.create_connection` does."""
        found = socket.create_connection(*args, **options)
        with self._lock:
            # TLS takes the socket itself away.
            self._open.append(found.dup())
            over = self.over
        if over:
            self.cut()
        return found

    def cut(self) -> None:
        """Cut all connections: whoever reads or writes there goes on with an error or an early end."""
        with self._lock:
            if self._ended:
                return
            self.over = True
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Forget the connections; nothing is cut any more."""
        with self._lock:
            self._ended = True
            for connection in self._open:
                connection.close()


_CURRENT = threading.local()


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the time of the requests that this thread makes within the block, by the handlers below.

    Raises TimeOver in place of any error of a request whose time is over.
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
    """Makes requests of HTTP whose time `time_limit` limits."""

    def http_open(self, req: urllib.request.Request) -> Any:
        """Make a request."""
        return self.do_open(lambda host, **options: _limited(http.client.HTTPConnection(host, **options)), req)


class LimitedHTTPS(urllib.request.HTTPSHandler):
    """Makes requests of HTTPS whose time `time_limit` limits."""

    def https_open(self, req: urllib.request.Request) -> Any:
        """Make a request."""
        return self.do_open(lambda host, **options: _limited(http.client.HTTPSConnection(host, **options)), req)
