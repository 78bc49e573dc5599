"""Large packets as files of this machine: their rows go from the task that makes them to the bucket without Java.

Spark writes all packets of a bucket into one buffer before it gives them to Python, and sorts, compresses and copies
them on the way there. Where its tasks run on the driver's machine it is given the name of a file instead.
"""

import functools
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from cepsql.base.temporary import temporary_folder
from cepsql.ordered.packet import PACKET_SCHEMA, pack
from cepsql.ordered.row_layout import Reduction
from cepsql.spark.jvm.lent_settings import local_folders

LEAST_BYTES = 2**16
"""Below that Spark is as fast as a file."""

_MAGIC = b"FILE"
"""What a packet does not begin with."""


@dataclass(frozen=True)
class Packing:
    """How the tasks of an input of a stage make packets.

    buckets, input, reduction: as of `cepsql.ordered.packet.pack`.
    folder: where large packets are written; None: Spark takes all of them.
    """

    buckets: int
    input: int = 0
    reduction: Reduction | None = None
    folder: Path | None = None

    def packets(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what `pack` makes of a task's rows, with the names of files for large packets."""
        made = pack(batches, self.buckets, self.input, self.reduction)
        return made if self.folder is None else (_written(packets, self.folder) for packets in made)


def numbered(packets: Iterable[pa.RecordBatch], column: str, number: int) -> Iterator[pa.RecordBatch]:
    """Yield packets with a number in a further column, INT."""
    for batch in packets:
        yield batch.append_column(column, pa.repeat(pa.scalar(number, pa.int32()), batch.num_rows))


def make_packet_folder(spark: SparkSession) -> Path | None:
    """Make the folder for a query's packets; None where tasks run elsewhere, or no rows may lie on a disk as they are.

    It lies where Spark has its own such files, and is removed with the process at the latest.
    """
    places = local_folders(spark)
    if not places or str(spark.conf.get("spark.io.encryption.enabled", "false")).lower() == "true":
        return None
    folder = _home(places[0] if os.path.isdir(places[0]) else None) / uuid.uuid4().hex
    folder.mkdir(0o700, parents=True)
    return folder


@functools.cache
def _home(place: str | None) -> Path:
    return temporary_folder("cepsql-packets-", place)


def fetched(packet: bytes) -> bytes:
    """Return a packet, read if Spark has the name of its file only."""
    return Path(os.fsdecode(packet[len(_MAGIC) :])).read_bytes() if packet.startswith(_MAGIC) else packet


def empty(folder: Path) -> None:
    """Remove the packets of a micro-batch whose rows were handed over."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            os.remove(entry.path)


def _written(packets: pa.RecordBatch, folder: Path) -> pa.RecordBatch:
    if packets.nbytes < LEAST_BYTES:
        return packets
    packet_names = [_name_of(packet, folder) for packet in packets["packet"]]
    return pa.RecordBatch.from_arrays([packets["bucket"], pa.array(packet_names, pa.binary())], schema=PACKET_SCHEMA)


def _name_of(packet: pa.BinaryScalar, folder: Path) -> bytes:
    """Return a small packet as it is, of a large one the name of the file that it is written to."""
    data = packet.as_buffer()
    if data.size < LEAST_BYTES:
        return data.to_pybytes()
    file = folder / uuid.uuid4().hex
    try:
        file.write_bytes(data)
    except FileNotFoundError:
        # What tidies up temporary files takes a folder that has been empty for days.
        folder.mkdir(0o700, parents=True, exist_ok=True)
        file.write_bytes(data)
    return _MAGIC + os.fsencode(file)
