"""Takes the rows that tasks send from their Python workers, partition after partition."""

import hmac
import io
import secrets
import socket
import struct
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import IO

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from cepsql.errors import OperationalError
from cepsql.spark.jvm.lent_settings import setting

_GREETING = struct.Struct("<32sI")
_ARRIVED = b"."
_WAITING_BATCHES = 4
_SPILLED_BYTES = 256 * 2**20
"""What later partitions may put aside before they must wait; more only while the next one has not begun to send."""


class Receiver:
    """A server for the rows of one Spark job.

    address, token: where tasks connect to, and what they must say first.
    done:           the job has ended and all its rows were taken.
    """

    def __init__(self, bound_host: str, host: str):
        self._server = socket.create_server((bound_host, 0))
        self.address = (host, self._server.getsockname()[1])
        self.token = secrets.token_bytes(32)
        self.done = False
        self._lanes: dict[int, _Lane] = {}
        self._turn, self._spilled = 0, 0
        self._ended, self._closed = False, False
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        threading.Thread(target=self._accept, name="cepsql-rows-accept", daemon=True).start()

    @classmethod
    def of(cls, spark: SparkSession) -> "Receiver":
        """Make the receiver of a session, where its workers reach the driver."""
        host = setting(spark, "spark.driver.host")
        return cls(spark.conf.get("spark.driver.bindAddress", host) or host, host)

    def __enter__(self) -> "Receiver":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the order of partitions until the job has ended; raise what it failed with."""
        while self._next_lane():
            yield from self._take(self._lanes[self._turn])
            with self._changed:
                self._turn += 1
                self._changed.notify_all()
        self.done = True
        if self._failure is not None:
            raise self._failure

    def end(self, failure: BaseException | None = None) -> None:
        """Say that the job has ended."""
        with self._changed:
            self._ended = True
            self._failure = self._failure or failure
            self._changed.notify_all()

    def close(self) -> None:
        """Take no more rows; tasks that still send some fail."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.close()
        for lane in list(self._lanes.values()):
            lane.close()

    def _next_lane(self) -> bool:
        """Wait for the partition whose turn it is, past those that sent nothing; tell whether there is one."""
        with self._changed:
            while not self._ended and self._turn not in self._lanes:
                self._changed.wait()
            if self._failure is not None:
                return False
            later = [number for number in self._lanes if number >= self._turn]
            self._turn = min(later, default=self._turn)
            return bool(later)

    def _take(self, lane: "_Lane") -> Iterator[pa.RecordBatch]:
        yield from lane.spilled()
        while True:
            with self._changed:
                while not lane.waiting and not lane.ended and self._failure is None:
                    self._changed.wait()
                if self._failure is not None or not lane.waiting:
                    return
                batch = lane.waiting.popleft()
                self._changed.notify_all()
            yield batch

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._receive, args=[connection], name="cepsql-rows-lane", daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        with suppress(OSError, pa.ArrowException), connection, connection.makefile("rwb") as stream:
            greeting = stream.read(_GREETING.size)
            if len(greeting) < _GREETING.size or not hmac.compare_digest(greeting[:32], self.token):
                return
            number = _GREETING.unpack(greeting)[1]
            lane = _Lane(connection)
            with self._changed:
                if number in self._lanes:
                    # What the first one sent may be with the user already.
                    self._failure = OperationalError("a task of Spark's was run again while its rows were read")
                else:
                    self._lanes[number] = lane
                self._changed.notify_all()
            try:
                for batch in _read(stream):
                    self._put(number, lane, batch)
            finally:
                with self._changed:
                    lane.ended = True
                    self._changed.notify_all()
            stream.write(_ARRIVED)
            stream.flush()

    def _put(self, number: int, lane: "_Lane", batch: pa.RecordBatch) -> None:
        with self._changed:
            while not self._closed:
                if number <= self._turn:
                    if len(lane.waiting) < _WAITING_BATCHES:
                        lane.waiting.append(batch)
                        self._changed.notify_all()
                        return
                elif self._spilled < _SPILLED_BYTES or self._turn not in self._lanes:
                    self._spill(lane, batch)
                    return
                self._changed.wait()

    def _spill(self, lane: "_Lane", batch: pa.RecordBatch) -> None:
        try:
            lane.spill(batch)
        except OSError as error:
            place, reason = tempfile.gettempdir(), error.strerror or error
            self._failure = OperationalError(
                f"rows that wait for others cannot be put aside in {place}: {reason}",
                hint="make room there, or set TMPDIR to another folder",
            )
            raise
        self._spilled += batch.nbytes


class _Lane:
    """The rows of one partition: first those put aside in a file, then those that wait in memory."""

    def __init__(self, connection: socket.socket):
        self.waiting: deque[pa.RecordBatch] = deque()
        self.ended = False
        self._connection = connection
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None

    def spill(self, batch: pa.RecordBatch) -> None:
        """Put rows aside."""
        if self._writer is None:
            self._file = tempfile.TemporaryFile(prefix="cepsql-rows-")  # noqa: SIM115
            self._writer = pa.ipc.new_stream(self._file, batch.schema)
        self._writer.write_batch(batch)

    def spilled(self) -> Iterator[pa.RecordBatch]:
        """Yield what was put aside; nothing more is."""
        if self._writer is None or self._file is None:
            return
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)
        self._file.close()

    def close(self) -> None:
        """Break off the connection."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


def sender(receiver: Receiver) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what a task runs over its rows, as `DataFrame.mapInArrow` wants it; it gives none."""
    return partial(_send, receiver.address, receiver.token)


def _send(address: tuple[str, int], token: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    assert context is not None
    with socket.create_connection(address) as connection, connection.makefile("rwb") as stream:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.write(_GREETING.pack(token, context.partitionId()))
        stream.flush()
        writer = None
        for batch in batches:
            writer = writer or pa.ipc.new_stream(stream, batch.schema)
            writer.write_batch(batch)
            stream.flush()
        if writer is not None:
            writer.close()
            stream.flush()
        connection.shutdown(socket.SHUT_WR)
        # The task must not end before its rows have arrived.
        if stream.read(1) != _ARRIVED:
            raise OperationalError("the rows of a task have not all arrived")
    return iter(())


def _read(stream: io.BufferedRWPair) -> Iterator[pa.RecordBatch]:
    if stream.peek(1):
        yield from pa.ipc.open_stream(stream)
