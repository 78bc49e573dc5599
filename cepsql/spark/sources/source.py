"""Read a declared source with Spark, as a stream or a bounded table, with malformed rows marked."""

import os
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlparse

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming import DataStreamReader

from cepsql.analysis.ddl.encodings import encoding_options
from cepsql.analysis.ddl.format_names import SOURCE_FORMATS, near_format, read_otherwise
from cepsql.analysis.ddl.record_formats import keyed_by_record
from cepsql.analysis.ddl.source_options import mistaken_option
from cepsql.analysis.sql.properties import DELETED, ORIGIN, PLACE
from cepsql.base.secrets import secret_values
from cepsql.catalog import ColumnDefinition, Source
from cepsql.catalog.locations import local_path
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import Error, NotSupportedError, OperationalError, ProgrammingError, suggestion
from cepsql.language.tokens import quoted
from cepsql.ordered.arrival import URL
from cepsql.readers.datagen.fields import DATAGEN, generator, is_endless
from cepsql.readers.scan.long_lines import LONG_LINE
from cepsql.spark.checkpoint.planned_files import PATTERN
from cepsql.spark.frames.column_types import frame_columns
from cepsql.spark.frames.key_columns import ARRIVAL, FORMER
from cepsql.spark.jvm.launching.packages import AVRO, KAFKA
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.jvm.messages.folder_names import refuse_mixed_folders
from cepsql.spark.jvm.session_zone import session_zone
from cepsql.spark.sources.checked_lines import BLANK, OPENERS, checked_options, checks_lines
from cepsql.spark.sources.file_metadata import (
    file_columns,
    listed_metadata,
    metadata_column,
    plain_name,
    position_column,
    without_file_metadata,
)
from cepsql.spark.sources.kafka_frames import kafka_records, takes_all_at_once, task_number
from cepsql.spark.sources.parquet_files import cast_parquet, parquet_columns
from cepsql.spark.sources.record_values import decoded
from cepsql.spark.sources.view_changes import view_changes_frame
from cepsql.spark.sources.view_frame import view_frame
from cepsql.spark.sources.watching.notices import warn_of_unnamed

MALFORMED = "__malformed"
"""BOOLEAN column that marks malformed rows: those that can't be read as declared."""

AHEAD = "__ahead"
"""BOOLEAN column that marks rows whose event time is too far ahead."""

PRODUCER = "__producer"
"""STRING column with the producer of a row."""

REACHED = "__reached"
"""BIGINT column that only punctuation has: the stream's progress in event time, its delay included."""

SEEN = "__seen"
"""BIGINT column of the event times of rows that are read in order of arrival; they advance the watermark."""

WHOLE = "__whole"
"""Struct column of a stream with LATE ROWS INTO: `record`, the text of a malformed row, then all columns."""

_TABLE, _PARQUET = "table", "parquet"
_CORRUPT = "__corrupt"
_RECORD = "__record"
_OWN_NAMES = frozenset({MALFORMED, AHEAD, PRODUCER, REACHED, SEEN, WHOLE, ARRIVAL, FORMER, DELETED})
_SCHEMA_ACCEPTED = {"csv", "json", "parquet", "orc", "xml", "avro"}
_CORRUPTION_KNOWN = {"csv", "json", "text"}
_FILE_PLACE = (
    "concat(lpad(unix_micros(_metadata.file_modification_time), 20, '0'), _metadata.file_path, "
    "lpad(_metadata.file_block_start, 20, '0'))"
)
_FILE_NAME = "_metadata.file_path"
_FILE_ORIGIN = (
    "named_struct('rank', unix_micros(_metadata.file_modification_time), {}, 'part', _metadata.file_block_start)"
)
FILE_ORIGIN = _FILE_ORIGIN.format(
    # A URL has a different order from the path.
    f"'name', {plain_name(_FILE_NAME)}"
)
"""The SQL of ORIGIN for files of a table."""

STREAMED_ORIGIN = _FILE_ORIGIN.format(f"'{URL}', {_FILE_NAME}")
"""The SQL of ORIGIN for files of a stream; the stage parses a URL once, not for each row."""

RECORD_ORIGIN = (
    "named_struct('rank', 0L, 'name', topic, 'part', shiftleft(CAST(partition AS BIGINT), 21) + shiftright(offset, 42))"
)
RECORD_PLACE = f"offset & {2**42 - 1}L"
"""The SQL of ORIGIN and PLACE of Kafka records, as in `cepsql.ordered.arrival.partition_part`."""

_LIMITS = {"maxfilespertrigger", "maxbytespertrigger"}


def read_source(spark: SparkSession, source: Source, placed: bool = False, owner: str = "") -> DataFrame:
    """Return the rows of a source: the declared columns in order, computed ones included.

    CSV, JSON, text and Kafka also have the BOOLEAN column `__malformed`, unless OPTIONS have `mode` or name a column
    for it. FORMAT and METADATA define how Kafka records are read.
    A stream with LATE ROWS INTO has the struct `__whole`; a table of late rows has no rows before its first file.
    Formats with their own schema (rate, socket, `table` for a table of Spark's) are cast to the declared columns.
    A source without declared columns has those that Spark infers from the present files.
    placed: files and Kafka also have the columns ORIGIN and PLACE.
    owner:  the owner of the query that reads the changes of a view.
    Raises OperationalError if a path or the format is missing, ProgrammingError if columns do not fit.
    """
    options = dict(source.options)
    secrets = secret_values(source.options)
    try:
        if isinstance(source, ViewSource):
            changes = source.streaming
            return view_changes_frame(spark, source, owner, REACHED) if changes else view_frame(spark, source)
        _refuse_own_names(source)
        if source.late_of is not None and not any(Path(local_path(options["path"])).glob("[!._]*")):
            return spark.createDataFrame([], ", ".join(f"{quoted(c.name)} {c.type}" for c in source.columns))
        options = encoding_options(source.format.lower(), located_options(source)) | checked_options(spark, source)
        if not source.columns:
            source = replace(source, columns=_found_columns(spark, source, options))
        return _declared(spark, source, _load(spark, source, options, placed), placed)
    except (PySparkException, Py4JError, Error) as exception:
        error = translate_failure(exception, secrets)
        raise error if error is exception else _explained(source, error) from exception


def columns_sql(source: Source) -> str:
    """Return Spark SQL for a relation without rows that has the declared columns of a source, also computed ones."""
    own = ", ".join(f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in source.columns if c.expression is None)
    return f"SELECT {', '.join(_selected(column, True) for column in source.columns)} FROM (SELECT {own}) WHERE false"


def malformed_known(source: Source) -> bool:
    """Tell whether `read_source` can mark malformed rows."""
    names = {name.lower() for name, _ in source.options}
    return source.format.lower() in _CORRUPTION_KNOWN and not names & {"mode", "columnnameofcorruptrecord"}


def is_read_at_once(source: Source) -> bool:
    """Tell whether a drained stream has all its rows in one micro-batch: files or records without a limit per batch."""
    if is_kafka(source):
        return takes_all_at_once(source)
    if source.format.lower() == DATAGEN:
        return True
    return source.format.lower() in _SCHEMA_ACCEPTED | {"text"} and not _LIMITS & {n.lower() for n, _ in source.options}


def read_at_rest(source: Source) -> bool:
    """Tell whether the present rows of a source can be read, as of files; other sources only have new rows."""
    if source.format.lower() == DATAGEN:
        return not is_endless(source)
    return is_kafka(source) or source.format.lower() in _SCHEMA_ACCEPTED | {"text", _TABLE} or not source.streaming


def is_kafka(source: Source) -> bool:
    """Tell whether a source reads records of Kafka."""
    return source.format.lower() == "kafka"


def _refuse_own_names(source: Source) -> None:
    taken = next((column.name for column in source.columns if column.name.lower() in _OWN_NAMES), None)
    if taken is not None:
        raise ProgrammingError(
            f"{source.name} has a column {taken}, a name that cepsql needs for its own columns",
            hint="give the column another name: in CSV it may have any, elsewhere its name in the files counts",
        )


def _found_columns(spark: SparkSession, source: Source, options: dict[str, str]) -> tuple[ColumnDefinition, ...]:
    """Return the source's own columns; Spark infers those of files only for a bounded read."""
    files = source.format.lower() in _SCHEMA_ACCEPTED
    if is_kafka(source):
        frame = kafka_records(spark, source)
        return frame_columns(frame)
    reader = spark.readStream if source.streaming and not files else spark.read
    if source.format.lower() == _TABLE:
        frame = _spark_table(reader, source, options)
    else:
        try:
            frame = reader.format(source.format).options(**({"inferSchema": "true"} | options)).load()
        except PySparkException as failure:
            if source.format.lower() == _PARQUET:
                return parquet_columns(source, failure)
            raise
    return frame_columns(frame)


def _load(spark: SparkSession, source: Source, options: dict[str, str], placed: bool) -> DataFrame:
    declared, source = source, without_file_metadata(source)
    if is_kafka(source):
        records = kafka_records(spark, source)
        records = records.withColumn(ARRIVAL, F.col("offset")) if source.key else records
        if placed:
            records = records.selectExpr("*", f"{RECORD_ORIGIN} AS {ORIGIN}", f"{RECORD_PLACE} AS {PLACE}")
        return decoded(source, records, MALFORMED, _corrupt(source))
    if source.format.lower() == _TABLE:
        return _spark_table(spark.readStream if source.streaming else spark.read, source, options)
    if source.format.lower() == DATAGEN:
        return _generated(spark, source)
    reader = (spark.readStream if source.streaming else spark.read).format(source.format).options(**options)
    if source.format.lower() == "text" and source.value is None and checks_lines(source):
        return _text_lines(reader.load())
    if source.format.lower() not in _SCHEMA_ACCEPTED:
        return reader.load()
    if source.value is not None:
        lines = reader.format("text").load()
        lines = lines.withColumn(ARRIVAL, F.expr(_FILE_PLACE)) if source.key else lines
        lines = lines.selectExpr("*", *_file_places(source)) if placed else lines
        return decoded(source, lines.where("trim(value) <> ''"), MALFORMED, _corrupt(source))
    if source.format.lower() == _PARQUET:
        origin = STREAMED_ORIGIN if source.streaming else FILE_ORIGIN
        places = ({ARRIVAL: _FILE_PLACE} if source.key else {}) | ({ORIGIN: origin} if placed else {})
        places |= listed_metadata(declared)
        cast = cast_parquet(spark, source, options, MALFORMED, places, position_column(declared))
        if cast is not None:
            # A task reads a file from its beginning to its end.
            return cast if not placed or source.streaming else cast.withColumn(PLACE, F.monotonically_increasing_id())
    columns = [f"{quoted(column.name)} {column.type}" for column in source.columns if column.expression is None]
    if not malformed_known(source):
        return reader.schema(", ".join(columns)).load()
    reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _corrupt(source))
    return reader.schema(", ".join([*columns, f"{_corrupt(source)} STRING"])).load()


def _generated(spark: SparkSession, source: Source) -> DataFrame:
    """Return the columns of a source USING datagen, without computed ones."""
    try:
        from cepsql.spark.sources.datagen_source import Making, generated_frame
    except ImportError as missing:
        raise NotSupportedError("USING datagen needs PySpark 4.2 or later") from missing
    ddl = ", ".join(f"{quoted(column.name)} {column.type}" for column in source.columns if column.expression is None)
    making = Making(generator(source), task_number(spark), session_zone(spark))
    return generated_frame(spark, making, ddl, source.streaming)


def _corrupt(source: Source) -> str:
    """Return the name of the column with the text of a malformed row, which differs from all declared columns."""
    return _unused(source, _CORRUPT)


def _unused(source: Source, name: str) -> str:
    taken = {column.name.lower() for column in source.columns}
    while name in taken:
        name += "_"
    return name


def _text_lines(lines: DataFrame) -> DataFrame:
    """Mark the lines that were too long, and drop the blank lines that replace the rest of them."""
    blank = F.length("value").between(1, 2**31 - 1) & (F.length(F.translate("value", BLANK, "")) == 0)
    return lines.where(~blank).withColumn(MALFORMED, F.col("value") == LONG_LINE)


def _spark_table(reader: DataFrameReader | DataStreamReader, source: Source, options: dict[str, str]) -> DataFrame:
    """Return a table of Spark's catalog, named by the option `name`; other options are for its reader."""
    names = [name for name in options if name.lower() == "name"]
    if not names:
        raise ProgrammingError(f"{source.name} does not say which table it reads", hint="OPTIONS (name 'a.b')")
    return reader.options(**{key: value for key, value in options.items() if key not in names}).table(options[names[0]])


def _file_places(source: Source) -> list[str]:
    """Return the SQL of ORIGIN and PLACE over files; tasks of a stream number its rows themselves."""
    if source.streaming:
        return [f"{STREAMED_ORIGIN} AS {ORIGIN}"]
    # Unlike a computed row number, it lets Spark push filters down.
    place = "_metadata.row_index" if source.format.lower() == "parquet" else "monotonically_increasing_id()"
    return [f"{FILE_ORIGIN} AS {ORIGIN}", f"{place} AS {PLACE}"]


def _declared(spark: SparkSession, source: Source, frame: DataFrame, placed: bool) -> DataFrame:
    """Select the declared columns from what was loaded."""
    names = {name.lower() for name in frame.columns}
    not_loaded = (column for column in file_columns(source) if column.name.lower() not in names)
    of_files = [metadata_column(spark, source, column) for column in not_loaded]
    for column in without_file_metadata(source).columns:
        if column.expression is None and column.name.lower() not in names:
            raise ProgrammingError(
                f"the {source.format} source of {source.name} has no column {column.name}",
                hint=suggestion(column.name, frame.columns, "columns"),
            )
    kept_types = is_kafka(source) or source.format.lower() in _SCHEMA_ACCEPTED | {DATAGEN}
    if of_files:
        # Computed columns may read them.
        frame = frame.select(*map(F.expr, map(quoted, frame.columns)), *of_files)
    selected = [_selected(column, kept_types) for column in source.columns]
    corrupt = _corrupt(source)
    if MALFORMED in frame.columns:
        selected.append(MALFORMED)
    elif corrupt in frame.columns:
        selected.append(_malformed(source))
    if source.key:
        selected += _changing(source, frame)
    if ORIGIN in frame.columns:
        selected += [ORIGIN, PLACE] if PLACE in frame.columns else [ORIGIN]
    elif placed and source.format.lower() in _SCHEMA_ACCEPTED | {"text"}:
        selected += _file_places(source)
    if source.late_rows is None:
        return frame.selectExpr(*selected)
    record, text = _unused(source, _RECORD), "CAST(NULL AS STRING)"
    if corrupt in frame.columns:
        signs, openers = OPENERS
        text = f"concat(translate(left({corrupt}, 1), '{signs}', '{openers}'), substring({corrupt}, 2))"
    read = frame.selectExpr(*selected, f"{text} AS {record}")
    return read.selectExpr(*(quoted(name) for name in read.columns if name != record), whole_row(source, record))


def _changing(source: Source, frame: DataFrame) -> list[str]:
    """Return the SQL of the available hidden columns of a stream with a PRIMARY KEY."""
    hidden = [name for name in (ARRIVAL, DELETED, FORMER) if name in frame.columns]
    if ARRIVAL not in hidden and source.format.lower() in _SCHEMA_ACCEPTED | {"text"}:
        hidden.append(f"{_FILE_PLACE} AS {ARRIVAL}")
    return hidden


def single_changes(source: Source, frame: DataFrame, versions: bool = False) -> DataFrame:
    """Return the rows of a stream with a PRIMARY KEY as events; a record without a value is malformed.

    versions: a record without a value ends a version instead, and the rows have DELETED.
    """
    if isinstance(source, ViewSource) and source.versions:
        return frame
    if versions and keyed_by_record(source):
        # Rows of a test all have values.
        with_deleted = frame if DELETED in frame.columns else frame.selectExpr("*", f"false AS {DELETED}")
        return with_deleted.drop(ARRIVAL)
    if DELETED in frame.columns and keyed_by_record(source):
        others = [quoted(name) for name in frame.columns if name != MALFORMED]
        frame = frame.selectExpr(*others, f"({MALFORMED} OR {DELETED}) AS {MALFORMED}")
    return frame.drop(ARRIVAL, DELETED, FORMER)


def whole_row(source: Source, record: str) -> str:
    """Return the SQL of the `__whole` column over the declared columns; `record` is the SQL of the text as read."""
    return f"struct({record} AS record, {', '.join(quoted(column.name) for column in source.columns)}) AS {WHOLE}"


def _selected(column: ColumnDefinition, kept_type: bool) -> str:
    name = quoted(column.name)
    if column.expression is not None:
        return f"CAST(({column.expression}) AS {column.type}) AS {name}"
    return name if kept_type else f"CAST({name} AS {column.type}) AS {name}"


def _malformed(source: Source) -> str:
    """Return the SQL of the `__malformed` column.

    It reads every column, because Spark checks only the columns that are read, and a row must be malformed for all
    queries or none. A hash is never below the least integer, but the optimizer does not know that.
    """
    read = [quoted(column.name) for column in without_file_metadata(source).columns if column.expression is None]
    nulls = ", ".join(f"{name} IS NULL" for name in read)
    malformed = f"{_corrupt(source)} IS NOT NULL AND hash({nulls}) >= -2147483648"
    if len(read) == 1:
        # A line with a single text column is always well-formed.
        malformed = f"({malformed}) OR CAST({read[0]} AS STRING) <=> '{LONG_LINE}'"
    return f"({malformed}) AS {MALFORMED}"


def located_options(source: Source) -> dict[str, str]:
    """Return the options with a local path made absolute; a stream over one file lists its folder.

    Raises ProgrammingError if files have no path, OperationalError if a local path does not exist, Spark treats the
    name of an existing file as a pattern, or folders named like key=value are beside files.
    """
    options = dict(source.options)
    name = next((name for name in options if name.lower() == "path"), None)
    if name is None and source.format.lower() in _SCHEMA_ACCEPTED | {"text"}:
        # Spark treats a table without path as empty.
        raise ProgrammingError(f"{source.name} does not say where its files are", hint=_path_hint(source))
    if name is None or urlparse(options[name]).scheme not in ("", "file"):
        return options
    path = local_path(options[name])
    exists = os.path.exists(path)
    if not exists and not re.search(r"[*?\[{]", path):
        raise OperationalError(f"{source.name} reads {path}, which does not exist")
    folder, file = os.path.split(path)
    lists_folder = source.streaming and os.path.isfile(path)
    if exists and PATTERN.search(folder if lists_folder else path):
        raise OperationalError(
            f"{source.name} reads {path}, and Spark takes this name for a pattern, which stands for other names, too",
            hint="rename it, without any of [ ] { } * ? \\",
        )
    if source.format.lower() != _TABLE and not lists_folder and not _looks_everywhere(options):
        pattern = next((value for key, value in options.items() if key.lower() == "pathglobfilter"), "*")
        unnamed = refuse_mixed_folders(source.name, path, pattern)
        if not source.streaming:
            warn_of_unnamed(unnamed)
    if lists_folder:
        return options | {name: folder, "pathGlobFilter": PATTERN.sub(r"\\\g<0>", file)}
    return options | {name: path}


def _looks_everywhere(options: dict[str, str]) -> bool:
    """Tell whether files are read in all folders, whatever the folders' names."""
    return any(name.lower() == "recursivefilelookup" and value.lower() == "true" for name, value in options.items())


def _path_hint(source: Source) -> str:
    mistaken = mistaken_option(source.format.lower(), dict(source.options))
    if mistaken is not None and mistaken[1] == "path":
        return f"OPTIONS have {mistaken[0]}: did you mean path?"
    return "OPTIONS (path '/folder')"


def _explained(source: Source, error: Error) -> Error:
    """Name the source in the error, and add a hint on how to add a missing connector."""
    message = f"{source.name} cannot be read: {error.message}"
    if "avro data source is not loaded" in error.message.lower():
        hint = f"have Spark's package for Avro: spark.jars.packages={AVRO}"
        return OperationalError(f"{source.name} cannot be read: Spark's package for Avro is missing", hint=hint)
    if not re.search(r"find (the )?data source", error.message, re.IGNORECASE):
        return type(error)(message, hint=error.hint, detail=error.detail)
    if is_kafka(source):
        hint = f"pip install 'cepsql[kafka]', or have the connector: spark.jars.packages={KAFKA}"
        return OperationalError(message, hint=hint, detail=error.detail)
    if otherwise := read_otherwise(source.format):
        return OperationalError(message, hint=otherwise, detail=error.detail)
    near = near_format(source.format, SOURCE_FORMATS)
    hint = f"the {source.format} connector must be on Spark's class path, for example by spark.jars.packages"
    hint = hint if near is None else f"did you mean USING {near}? otherwise {hint}"
    return OperationalError(message, hint=hint, detail=error.detail)


def observe_source(frame: DataFrame, name: str) -> DataFrame:
    """Return the frame without rejected rows and without marks; the observation `name` counts the rows of each batch as
    `count_source` does."""
    return without_marks(count_source(frame, name))


def count_source(frame: DataFrame, name: str) -> DataFrame:
    """Return the frame; the observation `name` counts its `read`, `malformed` and `ahead` rows, and its `punctuation`,
    in each batch."""
    conditions = {"malformed": MALFORMED, "ahead": AHEAD, "punctuation": f"{REACHED} IS NOT NULL"}
    counted = [
        (F.count_if(F.expr(sql)) if sql.split()[0] in frame.columns else F.lit(0).cast("bigint")).alias(count)
        for count, sql in conditions.items()
    ]
    return frame.observe(name, F.count(F.lit(1)).alias("read"), *counted)


def without_marks(frame: DataFrame) -> DataFrame:
    """Return the frame without malformed rows, rows that are too far ahead, and their marks."""
    for mark in (MALFORMED, AHEAD):
        if mark in frame.columns:
            frame = frame.where(f"NOT {mark}").drop(mark)
    return frame
