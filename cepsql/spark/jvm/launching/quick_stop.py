"""The end of a Spark without the time in which pyspark's server of accumulators waits for nothing.

Relies on: `SparkContext._accumulatorServer` is a server of `socketserver`, which SparkContext.stop() shuts down. It
checks twice a second whether to end, and once a second while Java is connected.
"""

import contextlib
import socket
import threading
from typing import Any

from pyspark.sql import SparkSession


def quicken_stop(spark: SparkSession) -> None:
    """Let the server of accumulators of a new session end at once when the session is stopped."""
    server: Any = spark.sparkContext._accumulatorServer
    accept, shutdown = server.get_request, server.shutdown
    # One at a time is served.
    served: list[socket.socket] = []

    def get_request() -> tuple[socket.socket, Any]:
        connection, address = accept()
        served[:] = [connection]
        return connection, address

    def shutdown_at_once() -> None:
        ending = threading.Thread(target=shutdown)
        ending.start()
        # It waits for data of a connection, or for a new connection.
        for connection in served:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        with contextlib.suppress(OSError), socket.socket(server.address_family) as waking:
            waking.connect(server.server_address)
        ending.join()

    server.get_request, server.shutdown = get_request, shutdown_at_once
