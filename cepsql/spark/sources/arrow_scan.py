"""Packets that tasks read from files with Arrow: no row enters the JVM."""

import glob
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepsql.catalog import Source
from cepsql.errors import OperationalError
from cepsql.ordered.packet import PACKET_DDL, PACKET_SCHEMA, empty_packet
from cepsql.readers.scan.layout import FileLayout
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
from cepsql.spark.sources.control_packets import Reader, packets_of_times
from cepsql.spark.sources.file_lists import (
    common_place,
    control_paths,
    file_paths,
    list_together,
    most_files,
    places_of,
)
from cepsql.spark.sources.kafka_frames import Records, made_of_records
from cepsql.spark.sources.source import is_kafka, located_options

_EXPECTED = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}
_ANSI = "spark.sql.ansi.enabled"
_LEGACY_TIMES = "spark.sql.legacy.timeParserPolicy"
_INSPECTED_FILES = 100

_BY_PLACE = -1
"""In place of the number of a source: the place of a file tells it."""


@dataclass(frozen=True)
class SourceScan:
    """Reads a source with Arrow.

    listed_along: whether the control folder, whose path is plain, may be listed together with the source's files
                  (`cepsql.spark.sources.file_lists`).
    """

    spark: SparkSession
    source: Source
    scan: ArrowScan
    listed_along: bool = False

    @property
    def of_files(self) -> bool:
        """Whether the source is files."""
        return not is_kafka(self.source)

    def __call__(self, control: str | None, packing: Packing) -> DataFrame:
        """Return the packets of a stream over files, or over records of Kafka, as PACKET_DDL.

        control: folder in which `cepsql.spark.checkpoint.control` ends the input and writes heartbeats; None: neither
                 happens.
        packing: how tasks make packets.
        """
        rows = struct_of(PACKET_DDL)
        if not self.of_files:
            records = partial(_packed_records, self.scan, packing)
            packets = made_of_records(self.spark, self.source, records, PACKET_DDL)
            if control is None:
                return packets
            ends = control_paths(self.spark, control, CONTROL)
            return packets.unionAll(ends.mapInArrow(partial(_packed, self.scan, packing, None), rows))
        place = common_place(self.source, most_files(self.spark)) if self.listed_along else None
        if place is not None and control is not None:
            paths = list_together(self.spark, (place.path, control))
            return paths.mapInArrow(partial(_packed, self.scan, packing, control), rows)
        paths = file_paths(self.spark, self.source)
        if control is not None:
            paths = paths.unionByName(control_paths(self.spark, control, CONTROL))
        return paths.mapInArrow(partial(_packed, self.scan, packing, None), rows)


@dataclass(frozen=True)
class ScannedInput:
    """An input of an operator that is read together with others.

    stage: the number of its operator.
    """

    read: SourceScan
    packing: Packing
    stage: int


@dataclass(frozen=True)
class ListedControl:
    """A control folder that is listed together with files.

    folder:  for which `cepsql.spark.sources.file_lists.is_plain` holds.
    readers: who receives its packets.
    begin:   the numbers of operators that receive the empty packet.
    """

    folder: str
    readers: tuple[Reader, ...]
    begin: tuple[int, ...]


def scan_inputs(
    inputs: Sequence[ScannedInput], column: str, one_scan: bool, control: ListedControl | None = None
) -> DataFrame:
    """Return the packets of several inputs over files, each with the number of its operator in a column.

    One step makes them all, because Spark plans every step again in each micro-batch.
    one_scan: whether inputs over one source are read together, so that all see the same files in a micro-batch.
    control:  is listed together with all files that can be.
    """
    groups: dict[object, list[ScannedInput]] = {}
    for number, one in enumerate(inputs):
        groups.setdefault(one.read.source if one_scan else number, []).append(one)
    spark, paths, places = inputs[0].read.spark, list[DataFrame](), dict[str, list[int]]()
    most = most_files(spark)
    for number, group in enumerate(groups.values()):
        source = group[0].read.source
        place = None if control is None else common_place(source, most)
        if place is None:
            paths.append(file_paths(spark, source, f"{number} AS source"))
            continue
        most -= 0 if place.path in places else place.files
        places.setdefault(place.path, []).append(number)
    if control is not None:
        places[control.folder] = [len(groups)]
        paths.append(list_together(spark, places, f"{_BY_PLACE} AS source"))
    scans = [[(one.read.scan, one.packing, one.stage) for one in group] for group in groups.values()]
    rows = struct_of(f"{PACKET_DDL}, {column} INT")
    return reduce(DataFrame.unionAll, paths).mapInArrow(partial(_packed_inputs, scans, places, control, column), rows)


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


def _packed(
    scan: ArrowScan, packing: Packing, control: str | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the packets of files, and those of the control folder's files apart from them.

    control: the folder, if it is listed together with them; else the paths of its files begin with CONTROL.
    """
    settle()
    files, ends = list[ListedFile](), list[ListedFile]()
    for path, modified in _listed(batches):
        if path.startswith(CONTROL) or (control is not None and places_of(path, (control,))):
            ends.append(ListedFile(f"{CONTROL}{control_time(path)}", modified))
        else:
            files.append(ListedFile(path, modified))
    for some in (files, ends):
        yield from packing.packets(read_files(scan, packing.buckets, some))


_InTask = tuple[ArrowScan, Packing, int]
"""How an input is read in a task, and the number of its operator."""


def _packed_inputs(
    sources: Sequence[Sequence[_InTask]],
    places: Mapping[str, Sequence[int]],
    control: ListedControl | None,
    column: str,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the packets of files.

    places: the numbers of the sources of each place that is listed together with others; the control folder's number
            follows those of all sources.
    """
    settle()
    files = defaultdict[int, list[ListedFile]](list)
    for path, modified, number in _listed(batches):
        by_place = (one for place in places_of(path, places) for one in places[place])
        for one in by_place if number == _BY_PLACE else (number,):
            files[one].append(ListedFile(path, modified))
    ends = files.pop(len(sources), [])
    for number, some in sorted(files.items()):
        yield from _packed_source(sources[number], column, some)
    if ends and control is not None:
        yield from packets_of_times([control_time(end.path) for end in ends], control.readers, column)
        for number in control.begin:
            yield from numbered([pa.record_batch([[0], [empty_packet()]], PACKET_SCHEMA)], column, number)


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


def _packed_records(scan: ArrowScan, packing: Packing, records: Records) -> Iterator[pa.RecordBatch]:
    from cepsql.readers.scan.json_records import read_records

    settle()
    rows = read_records(records, scan.layout, scan.projection.session.zone)
    return packing.packets(chunk_rows(scan, packing.buckets, rows))
