"""What is left of Java's calls of Python once the thread of Java's that made them has ended.

Py4J keeps its connection open, with a thread of Python's that waits at the other end, and PySpark keeps the last error
of what was called, whose frames have the whole query, which Java then keeps, too. Each start of a standing query leaves
such: a process in which one fails and is started again for days would have no files to open, and no memory.

Relies on: `SparkContext._gateway` is py4j's gateway, whose callback client has a connection for each thread of Java's,
and whose pool has what Java calls, with the last `error` of each.
"""

import contextlib
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark import SparkContext


@dataclass(frozen=True)
class CallConnection:
    """A connection of Java's, and what keeps all of them there."""

    client: Any
    connection: Any

    def close(self) -> None:
        """Close the connection, whose thread of Java's has ended."""
        # Java may be gone, and all with it.
        with contextlib.suppress(Py4JError, OSError):
            self.connection.shutdown()
            self.client.connectionStopped(self.connection)


def calling_connection() -> CallConnection | None:
    """Return the connection on which Java called the present thread; None where Py4J ends those that are not used."""
    gateway = SparkContext._gateway
    if gateway is None:
        return None
    try:
        client = JavaObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()
        return CallConnection(client, client.getPerThreadConnection())
    except Py4JError:
        return None


def forget_error(called: object) -> None:
    """Let PySpark forget what a function that it calls with micro-batches has raised."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    pool = gateway.gateway_property.pool
    with pool.lock:
        for proxy in pool.dict.values():
            if getattr(proxy, "func", None) is called:
                proxy.error = None
