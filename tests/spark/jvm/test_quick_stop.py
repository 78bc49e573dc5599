"""The server of accumulators ends when it is shut down, with and without a connection."""

import socket
from types import SimpleNamespace

import pytest
from pyspark.accumulators import _start_update_server

from cepsql.spark.jvm.launching.quick_stop import quicken_stop


@pytest.mark.parametrize("connected", [0, 1])
def test_it_ends_with_and_without_connections(connected, tmp_path):
    server = _start_update_server(None, True, str(tmp_path / "socket"))
    server.handle_error = lambda *_: None
    quicken_stop(SimpleNamespace(sparkContext=SimpleNamespace(_accumulatorServer=server)))
    clients = [socket.socket(socket.AF_UNIX) for _ in range(connected)]
    for client in clients:
        client.connect(str(tmp_path / "socket"))
    server.shutdown()
    for client in clients:
        assert _has_ended(client)
    assert not (tmp_path / "socket").exists()


def _has_ended(client: socket.socket) -> bool:
    with client:
        try:
            return client.recv(1) == b""
        except ConnectionResetError:
            # The server ended before it had accepted the connection.
            return True
