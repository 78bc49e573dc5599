"""Packets that tasks read from files with Arrow: Spark lists and checkpoints the paths, and no row enters the JVM."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby, islice
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepsql.catalog import Source
from cepsql.errors import OperationalError
from cepsql.ordered.packet import PACKET_DDL
from cepsql.readers.scan.layout import LISTING_OPTIONS, FileLayout
from cepsql.readers.scan.parquet import parquet_obstacle
from cepsql.readers.scan.projection import ArrowScan
from cepsql.readers.scan.read import CONTROL, ListedFile, chunk_rows, read_files, read_for_all
from cepsql.scalar.expressions import Session
from cepsql.spark.checkpoint.control import control_time
from cepsql.spark.frames.column_types import struct_of
from cepsql.spark.frames.packet_files import Packing, numbered
from cepsql.spark.frames.worker import settle
from cepsql.spark.jvm.lent_settings import setting
from cepsql.spark.jvm.session_zone import session_zone
from cepsql.spark.sources.kafka_frames import Records, made_of_records
from cepsql.spark.sources.source import is_kafka, located_options

_PATHS = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"
"""The schema of Spark's `binaryFile` source; it reads the content of files only if `content` is selected."""

_FILE = ("path", "unix_micros(modificationTime) AS modified")

_EXPECTED = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}
_ANSI = "spark.sql.ansi.enabled"
_LEGACY_TIMES = "spark.sql.legacy.timeParserPolicy"
_INSPECTED_FILES = 100


def scan_packets(
    spark: SparkSession,
    source: Source,
    scan: ArrowScan,
    control: str | None,
    packing: Packing,
) -> DataFrame:
    """Return the packets of a stream over files, or over records of Kafka, as PACKET_DDL.

    control: folder in which `cepsql.spark.checkpoint.control` ends the input and writes heartbeats; None: neither
             happens.
    packing: how tasks make packets.
    """
    packed, rows = partial(_packed, scan, packing), struct_of(PACKET_DDL)
    if is_kafka(source):
        packets = made_of_records(spark, source, partial(_packed_records, scan, packing), PACKET_DDL)
        if control is None:
            return packets
        return packets.unionAll(_control_paths(spark, control).mapInArrow(packed, rows))
    paths = file_paths(spark, source)
    if control is not None:
        paths = paths.unionByName(_control_paths(spark, control))
    return paths.mapInArrow(packed, rows)


@dataclass(frozen=True)
class SourceScan:
    """`scan_packets` with its first arguments: reads a source with Arrow."""

    spark: SparkSession
    source: Source
    scan: ArrowScan

    def __call__(self, control: str | None, packing: Packing) -> DataFrame:
        return scan_packets(self.spark, self.source, self.scan, control, packing)

    @property
    def of_files(self) -> bool:
        """Whether the source is files."""
        return not is_kafka(self.source)


@dataclass(frozen=True)
class ScannedInput:
    """An input of an operator that is read together with others.

    stage: the number of its operator.
    """

    read: SourceScan
    packing: Packing
    stage: int


def scan_inputs(inputs: Sequence[ScannedInput], column: str, one_scan: bool) -> DataFrame:
    """Return the packets of several inputs over files, each with the number of its operator in a column.

    One step makes them all, because Spark plans every step again in each micro-batch.
    one_scan: whether inputs over one source are read together, so that all see the same files in a micro-batch.
    """
    groups: dict[object, list[ScannedInput]] = {}
    for number, one in enumerate(inputs):
        groups.setdefault(one.read.source if one_scan else number, []).append(one)
    read = [group[0].read for group in groups.values()]
    paths = [file_paths(one.spark, one.source, f"{place} AS source") for place, one in enumerate(read)]
    scans = [[(one.read.scan, one.packing, one.stage) for one in group] for group in groups.values()]
    rows = struct_of(f"{PACKET_DDL}, {column} INT")
    return reduce(DataFrame.unionAll, paths).mapInArrow(partial(_packed_inputs, scans, column), rows)


def file_paths(spark: SparkSession, source: Source, *more: str) -> DataFrame:
    """Return a stream of the files of a source: `path`, `modified` in microseconds, and more columns as SQL."""
    listing = {name: value for name, value in located_options(source).items() if name.lower() in LISTING_OPTIONS}
    return spark.readStream.format("binaryFile").schema(_PATHS).options(**listing).load().selectExpr(*_FILE, *more)


def _control_paths(spark: SparkSession, control: str) -> DataFrame:
    files = spark.readStream.format("binaryFile").schema(_PATHS).load(control)
    return files.selectExpr(f"concat('{CONTROL}', path) AS path", "0L AS modified")


def scan_session(spark: SparkSession) -> Session:
    """Return the session's rules for computing expressions."""
    return Session(setting(spark, _ANSI).lower() == "true", session_zone(spark))


def session_obstacle(spark: SparkSession) -> str | None:
    """Return the setting that makes this session read differently from an Arrow scan, or None."""
    for key, expected in _EXPECTED.items():
        if setting(spark, key).lower() != expected.lower():
            return f"{key} is {setting(spark, key)}"
    if setting(spark, _LEGACY_TIMES).upper() == "LEGACY":
        return f"{_LEGACY_TIMES} is LEGACY"
    return None


def files_obstacle(source: Source, layout: FileLayout) -> str | None:
    """Return what in the present files only Spark reads as declared, or None if Arrow reads them too."""
    if is_kafka(source):
        return None
    try:
        options = {name.lower(): value for name, value in located_options(source).items()}
        return _obstacle_in(options["path"].removeprefix("file://").removeprefix("file:"), layout)
    except (OperationalError, OSError):
        # Reading them reports the error.
        return None


def _obstacle_in(path: str, layout: FileLayout) -> str | None:
    for folder in filter(os.path.isdir, [path] if os.path.exists(path) else glob.glob(path)):
        if any("=" in entry.name and entry.is_dir() for entry in os.scandir(folder)):
            return "folders named like key=value hold columns"
        if layout.format == "parquet":
            files = (entry.path for entry in os.scandir(folder) if entry.is_file() and entry.name[0] not in "._")
            reasons = (parquet_obstacle(file, layout) for file in islice(files, _INSPECTED_FILES))
            obstacle = next((reason for reason in reasons if reason), None)
            if obstacle:
                return obstacle
    return None


def _packed(scan: ArrowScan, packing: Packing, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    files = (ListedFile(_scan_path(path), modified) for path, modified in _listed(batches))
    return packing.packets(read_files(scan, packing.buckets, files))


_InTask = tuple[ArrowScan, Packing, int]
"""How an input is read in a task, and the number of its operator."""


def _packed_inputs(
    sources: Sequence[Sequence[_InTask]], column: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    settle()
    for place, rows in groupby(_listed(batches), itemgetter(2)):
        files = (ListedFile(path, modified) for path, modified, _ in rows)
        yield from _packed_source(sources[place], column, files)


def _packed_source(inputs: Sequence[_InTask], column: str, files: Iterable[ListedFile]) -> Iterator[pa.RecordBatch]:
    """Yield the packets of all inputs that read these files."""
    if len(inputs) == 1:
        scan, packing, stage = inputs[0]
        yield from numbered(packing.packets(read_files(scan, packing.buckets, files)), column, stage)
        return
    scans = [scan for scan, *_ in inputs]
    for piece in read_for_all(scans, inputs[0][1].buckets, files):
        for (_, packing, stage), rows in zip(inputs, piece, strict=True):
            yield from numbered(packing.packets(rows), column, stage)


def _listed(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple]:
    """Yield the rows of Spark's list of files."""
    return (row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))


def _scan_path(path: str) -> str:
    """Return a path in the form that `read_files` takes."""
    return f"{CONTROL}{control_time(path)}" if path.startswith(CONTROL) else path


def _packed_records(scan: ArrowScan, packing: Packing, records: Records) -> Iterator[pa.RecordBatch]:
    from cepsql.readers.scan.json_records import read_records

    settle()
    rows = read_records(records, scan.layout, scan.projection.session.zone)
    return packing.packets(chunk_rows(scan, packing.buckets, rows))
