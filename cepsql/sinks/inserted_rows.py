"""INSERT INTO a stream or table: the rows become a file in its folder, or records of its topic."""

import fnmatch
import os
import re
import shutil
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from cepsql.catalog import ColumnDefinition, Sink, Source
from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.locations import is_local, local_path
from cepsql.catalog.mounts import check_mounted
from cepsql.errors import DataError, NotSupportedError, OperationalError, ProgrammingError
from cepsql.language.tokens import quoted
from cepsql.scalar.types import DOUBLE, FLOAT, INTEGERS, STRING, Type, is_decimal, parse_type
from cepsql.sinks.added_columns import fits
from cepsql.sinks.text_options import writing_options
from cepsql.spark.checkpoint.checkpoint_path import synchronize
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.sources.watching.folder_watch import watched_folder

_WRITTEN = ("csv", "json", "parquet", "orc", "text")
"""The formats of files that INSERT writes."""

_ENDINGS = {"text": "txt"}
_WRITERS = {
    "csv": {
        "sep", "delimiter", "quote", "escape", "header", "nullvalue", "emptyvalue", "timestampformat", "dateformat",
        "timestampntzformat", "encoding", "charset", "linesep", "chartoescapequoteescaping",
    },
    "json": {"timestampformat", "dateformat", "timestampntzformat", "encoding", "charset", "linesep"},
    "text": {"linesep"},
}  # fmt: skip
"""The options of a source that its files are also written with."""

_NAME = re.compile(r"insert-(\d{17})-.*")
_ATOMIC = re.compile(
    r"(tinyint|smallint|int|bigint|float|double|boolean|date|timestamp|timestamp_ntz|string|decimal.*)"
)


def insertion_sink(source: Source) -> Sink:
    """Return the sink that INSERT INTO a stream or table writes to.

    Raises NotSupportedError for a source that takes no rows, with a hint what to do instead.
    """
    columns = read_columns(source)
    options = {name.lower(): value for name, value in source.options}
    if source.format == "kafka":
        return _kafka_sink(source, columns, options)
    name = quoted_name(source.name)
    if source.format not in _WRITTEN or source.value is not None or source.late_of is not None:
        what = "holds late rows" if source.late_of is not None else f"is read as {_format_name(source)}"
        raise NotSupportedError(
            f"rows cannot be inserted into {source.name}, which {what}",
            hint=f"files of {', '.join(_WRITTEN)} and topics of FORMAT json take rows",
        )
    path = options.get("path", "")
    if not is_local(path) or re.search(r"[*?\[{]", path) or os.path.isfile(local_path(path)):
        raise NotSupportedError(
            f"rows cannot be inserted into {name}, whose path is {path}",
            hint="a folder of this machine takes rows, each INSERT as a file of its own",
        )
    if source.format == "json" and options.get("multiline", "").lower() == "true":
        raise NotSupportedError(
            f"rows cannot be inserted into {name}, whose files each hold one JSON value",
            hint="without multiLine each line is a row",
        )
    names = _WRITERS.get(source.format, set())
    sink_options = (
        ("path", local_path(path)),
        *((key, value) for key, value in source.options if key.lower() in names),
    )
    return Sink(source.name, columns, source.format, sink_options)


def read_columns(source: Source) -> tuple[ColumnDefinition, ...]:
    """Return the columns of a source that are read from its rows: neither computed ones nor metadata."""
    return tuple(column for column in source.columns if column.expression is None and column.metadata is None)


def fitted_rows(frame: DataFrame, source: Source, names: Sequence[str]) -> DataFrame:
    """Return the rows of a frame as rows of a stream or table.

    Columns are matched by name if the frame has all names, else by position. A column without a value is NULL.
    names: the column list of INSERT, in the order of the frame's columns; empty without one.
    Raises ProgrammingError for columns that do not fit, DataError for a value that does not.
    """
    frame_columns = column_types(frame)
    placed = _placed(source, [name for name, _ in frame_columns], names)
    selected, checks = [], []
    for column in read_columns(source):
        at = placed.get(column.name.lower())
        if at is None:
            selected.append(f"CAST(NULL AS {column.type}) AS {quoted(column.name)}")
            continue
        value, cast = f"c{at}", f"CAST(c{at} AS {column.type})"
        if not fits(frame_columns[at][1], column.type):
            wrong = _check(source, column, value, frame_columns[at][1])
            checks.append((column, value, wrong))
            # The rows may have changed between the check and the write.
            raised = f"CAST(raise_error('the rows changed while they were inserted') AS {column.type})"
            cast = f"if({wrong}, {raised}, try_cast({value} AS {column.type}))"
        selected.append(f"{cast} AS {quoted(column.name)}")
        if source.format in ("csv", "text") and parse_type(column.type) == STRING and not _takes_lines(source):
            checks.append((column, value, f"{value} RLIKE '[\\\\n\\\\r]'"))
    rows = frame.toDF(*(f"c{i}" for i in range(len(frame_columns))))
    if checks:
        examples = [
            F.max(F.when(F.expr(condition), F.expr(f"left(CAST({value} AS STRING), 100)"))).alias(f"w{i}")
            for i, (_, value, condition) in enumerate(checks)
        ]
        (row,) = rows.agg(*examples).collect()
        for (column, value, _), example in zip(checks, row, strict=True):
            if example is not None:
                raise _wrong_value(source, column, example, frame_columns[int(value[1:])][1])
    return rows.selectExpr(*selected)


def insert_files(frame: DataFrame, sink: Sink, source: Source) -> tuple[int, str | None]:
    """Write rows atomically as one file into a folder; return the number of rows, and the file's name, None without
    rows.

    Names and times of files increase, so that a stream reads the rows of one INSERT before those of the next.
    Raises OperationalError if the folder cannot be written to.
    """
    options = {name.lower(): value for name, value in source.options}
    folder, id = Path(dict(sink.options)["path"]), uuid.uuid4().hex[:8]
    staging = folder / f".insert-{id}"
    counted = Observation()
    writing = writing_options(sink, len(frame.columns))
    writer = frame.observe(counted, F.count(F.lit(1)).alias("rows")).coalesce(1).write.format(sink.format)
    writer = writer.options(**{name: value for name, value in writing.items() if name.lower() != "path"})
    try:
        check_mounted(folder, f"the folder of {source.name}")
        staging.mkdir(parents=True)
        with watched_folder(staging) as watch:
            # Not escaped as a URI: Hadoop would take the escapes as part of the name.
            writer.mode("append").save(f"file://{staging}")
            rows = counted.get["rows"]
            parts = [path for path in staging.glob("part-*") if not path.name.endswith(".crc")]
            if not watch.stayed:
                raise OperationalError(
                    f"no row was inserted into {source.name}: the folder {folder} was moved or removed meanwhile, or "
                    "its disk was unmounted"
                )
            if not rows or not parts:
                return 0, None
            (part,) = parts
            name, changed = _next_name(folder, id, sink.format)
            if not fnmatch.fnmatchcase(name, options.get("pathglobfilter", "*")):
                raise NotSupportedError(f"{source.name} would not read the file {name}, by its pathGlobFilter")
            synchronize(part)
            os.utime(part, ns=(changed, changed))
            os.replace(part, folder / name)
            synchronize(folder)
            return rows, name
    except OSError as error:
        raise OperationalError(f"rows cannot be written to {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _next_name(folder: Path, id: str, format: str) -> tuple[str, int]:
    """Return the name of the next file and its time in nanoseconds, both greater than those of earlier files."""
    number, changed = time.time_ns() // 1000, time.time_ns()
    for entry in os.scandir(folder):
        if match := _NAME.fullmatch(entry.name):
            number = max(number, int(match[1]) + 1)
            # Spark reads times of files in milliseconds.
            changed = max(changed, entry.stat().st_mtime_ns + 1_000_000)
    return f"insert-{number:017d}-{id}.{_ENDINGS.get(format, format)}", changed


def _kafka_sink(source: Source, columns: tuple[ColumnDefinition, ...], options: dict[str, str]) -> Sink:
    topic, value = options.get("subscribe", ""), source.value
    if not topic or "," in topic or value is None or value.name != "json" or value.options:
        raise NotSupportedError(
            f"rows cannot be inserted into {source.name}",
            hint="a stream of one topic with FORMAT json without options takes rows; CREATE SINK ... USING kafka "
            "writes to others",
        )
    settings = tuple((name, text) for name, text in source.options if name.lower().startswith("kafka."))
    return Sink(source.name, columns, "kafka", (*settings, ("topic", topic)))


def _placed(source: Source, frame_names: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Return for each column, by lower-case name, the index of the frame's column that it takes."""
    wanted = [column.name for column in read_columns(source)]
    listed = ", ".join(f"{column.name} {column.type}" for column in read_columns(source))
    hint = (
        f"{source.name} takes {listed}; INSERT INTO {quoted_name(source.name)} (column, ...) names those that are given"
    )
    for name in names:
        if name.lower() not in map(str.lower, wanted):
            computed = name.lower() in (column.name.lower() for column in source.columns)
            what = f"column {name} of {source.name} is computed" if computed else f"{source.name} has no column {name}"
            raise ProgrammingError(what, hint=f"{source.name} takes {listed}")
    inserted = list(names) or wanted
    by_name = not names and sorted(map(str.lower, frame_names)) == sorted(map(str.lower, wanted))
    if len(frame_names) != len(inserted):
        raise ProgrammingError(
            f"the query gives {len(frame_names)} columns, and {len(inserted)} are inserted", hint=hint
        )
    return {name.lower(): at for at, name in enumerate(frame_names if by_name else inserted)}


def _check(source: Source, column: ColumnDefinition, value: str, kind: str) -> str:
    """Return the SQL condition under which a cast to a column's type changes a value, or fails."""
    left, right = parse_type(kind), parse_type(column.type)
    if not (_ATOMIC.fullmatch(kind.lower()) and _ATOMIC.fullmatch(" ".join(column.type.lower().split()))):
        raise _unfit(source, column, kind)
    cast = f"try_cast({value} AS {column.type})"
    numbers = _is_number(left) and _is_number(right)
    if left != STRING and right != STRING and not numbers:
        raise _unfit(source, column, kind)
    missing = f"{value} IS NOT NULL AND {cast} IS NULL"
    if not numbers or right in (FLOAT, DOUBLE):
        return missing
    return f"({missing}) OR try_cast({cast} AS {kind}) <> {value}"


def _is_number(kind: Type) -> bool:
    return kind in (*INTEGERS, FLOAT, DOUBLE) or is_decimal(kind)


def _unfit(source: Source, column: ColumnDefinition, kind: str) -> ProgrammingError:
    return ProgrammingError(
        f"column {column.name} of {source.name} takes {column.type}, not {kind.upper()}",
        hint=f"write the value as {column.type}, or CAST(... AS {column.type})",
    )


def _wrong_value(source: Source, column: ColumnDefinition, value: str, kind: str) -> DataError:
    if "\n" in value or "\r" in value:
        hint = "json and parquet hold any text" + (
            "" if source.format == "text" else ", and so does csv with multiLine 'true'"
        )
        return DataError(
            f"a text with a line end cannot be inserted into column {column.name} of {source.name}", hint=hint
        )
    shown = f"'{value}'" if kind == "string" else value
    return DataError(
        f"{shown} does not fit the column {column.name} {column.type} of {source.name}", hint="nothing was inserted"
    )


def _takes_lines(source: Source) -> bool:
    options = {name.lower(): value.lower() for name, value in source.options}
    return options.get("multiline") == "true" and source.format == "csv"


def _format_name(source: Source) -> str:
    return source.format if source.value is None else f"{source.value.name} in {source.format}"
