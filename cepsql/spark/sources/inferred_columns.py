"""Columns of files without declared columns: Spark infers them, and texts that are times become TIMESTAMP or DATE."""

import csv
import glob
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepsql.analysis.ddl.encodings import encoding_options
from cepsql.catalog import ColumnDefinition, Source
from cepsql.catalog.create_text import quoted_name
from cepsql.errors import OperationalError
from cepsql.language.rewriting.file_tables import ending_format
from cepsql.language.tokens import quoted
from cepsql.readers.scan.parquet import parquet_schema
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.sources.parquet_files import parquet_columns
from cepsql.spark.sources.source import located_options
from cepsql.spark.sources.watching.unread_files import FolderFile, listed_folder

INFERRED = ("csv", "json", "parquet", "orc", "text")
"""The formats of files whose columns can be inferred."""

_SAMPLE_BYTES = 1 << 28
"""The maximum total size of files that are read, in the order of their paths."""

_COMPARED_FILES = 1000
"""How many headers of CSV files are compared."""

_BEGIN = 1 << 16
"""How many bytes of a file are read for its header, or its first object."""

_SEPARATORS = (",", "\t", ";", "|")
_DATE = r"\d{4}-\d{1,2}-\d{1,2}"
_DATE_TEXT = rf"^{_DATE}$"
_TIME_TEXT = rf"^{_DATE}([T ]\d{{1,2}}:\d{{1,2}}(:\d{{1,2}}(\.\d+)?)?( ?(Z|UTC|[+-]\d{{1,2}}(:?\d{{2}})?))?)?$"
_CLOCK_TEXT = rf"^{_DATE}[T ]\d{{1,2}}:"
_PADDED = r"^[+-]?0\d"
"""A code with leading zeros, which a number would lose."""

_CORRUPT = "_corrupt_record"
_NO_HEADER = re.compile(rf"[-+.\d]*\d[-+.,\d]*([eE][-+]?\d+)?|true|false|{_DATE}.*", re.IGNORECASE)
"""Values that no header has as a name."""


@dataclass(frozen=True)
class Inferred:
    """What was inferred from files.

    columns: in the order of the files; in JSON those of the first object come first.
    options: inferred options that the source does not set, such as a header.
    rows:    how many rows were read; None: the files' own schema sufficed.
    files:   how many files were read, None if they are not on this machine; `there` is how many there are.
    """

    columns: tuple[ColumnDefinition, ...]
    options: tuple[tuple[str, str], ...]
    rows: int | None
    files: int | None
    there: int | None

    @property
    def origin(self) -> str:
        """A description of the input of the inference: `12 rows of 3 files`."""
        files = "the files" if self.files is None else _counted(self.files, "file")
        if self.files is not None and self.there is not None and self.files < self.there:
            files = f"the first {self.files:,} of {_counted(self.there, 'file')}"
        return files if self.rows is None else f"{_counted(self.rows, 'row')} of {files}"


def inferred(spark: SparkSession, source: Source) -> Inferred:
    """Infer the columns of the files that a source reads; the same files always give the same columns.

    Raises OperationalError if there are no files, none has rows, or their columns disagree.
    """
    files = _files(source)
    options = encoding_options(source.format, located_options(replace(source, streaming=False)))
    path = next(value for name, value in options.items() if name.lower() == "path")
    options = {name: value for name, value in options.items() if name.lower() != "path"}
    inferred_options: dict[str, str] = {}
    paths, read = [path], None
    if files is not None:
        paths = [file.path for file in files]
        read = paths[: _sample(files)]
        inferred_options = _infer_options(source, read[0], options)
        if source.format == "csv" and (options | inferred_options).get("header", "").lower() == "true":
            _compare_headers(source, paths[:_COMPARED_FILES], options | inferred_options)
        if any("=" in one[len(path) :] for one in read) and not glob.has_magic(path):
            options["basePath"] = path
    reading = _InferredFiles(spark, source, options | inferred_options, read or paths)
    columns, rows = reading.columns()
    if rows == 0 or not columns:
        raise _nothing(source, f"{path} has no rows, so its columns are not known")
    there = None if files is None else len(files)
    return Inferred(columns, tuple(inferred_options.items()), rows, None if read is None else len(read), there)


def files_format(source: Source) -> str:
    """Return the format in the extensions of a source's files.

    Raises OperationalError if there are no files, or their extensions have no format or several.
    """
    path = dict(source.options)["path"]
    if (format := ending_format(path)) is not None:
        return format
    files = _files(source)
    if files is None:
        raise OperationalError(f"the name {path} does not say which format its files have", hint=_CALLS)
    formats = {ending_format(file.path): file.path for file in files}
    if len(formats) > 1:
        named = " and ".join(list(formats.values())[:2])
        raise OperationalError(f"{path} has files of several formats: {named}", hint=f"name one kind: '{path}/*.csv'")
    (format,) = formats
    if format is None:
        raise OperationalError(f"the name {files[0].path} does not say which format the file has", hint=_CALLS)
    return format


def check_there(source: Source) -> None:
    """Raise ProgrammingError or OperationalError for a source without a path or without files there, without Spark."""
    if any(name.lower() == "path" for name, _ in source.options):
        _files(source)
    located_options(replace(source, streaming=False))


def files_mark(source: Source) -> tuple | None:
    """Return a value that changes whenever the columns of a source may change; None if its files are not local."""
    files = _files(source)
    return None if files is None else (source.format, source.options, *((one.path, one.changed) for one in files))


_CALLS = "read_csv('path'), read_json('path'), read_parquet('path') or read_text('path') says it"


def _files(source: Source) -> list[FolderFile] | None:
    """Return the local files that a source reads, in the order of their paths; None if they are not local."""
    folder = listed_folder(source)
    if folder is None:
        return None
    if folder.is_gone:
        raise _nothing(source, f"{folder.path} does not exist")
    files = sorted(folder.files())
    if not files:
        where = "no file matches" if glob.has_magic(folder.path) else "there is no file in"
        raise _nothing(source, f"{where} {folder.path}")
    if (empty := next((file.path for file in files if not os.access(file.path, os.R_OK)), None)) is not None:
        raise OperationalError(f"{source.name} cannot be read: {empty} may not be opened")
    return files


def _nothing(source: Source, reason: str) -> OperationalError:
    """Return the error for a source whose columns can't be inferred."""
    if source.name.startswith("'") or source.name.endswith(")"):
        hint = "FROM takes the path of a file, a folder, or a pattern such as 'logs/*.csv'"
        return OperationalError(f"{source.name} cannot be read: {reason}", hint=hint)
    kind, name = "STREAM" if source.streaming else "TABLE", quoted_name(source.name)
    hint = f"name them: CREATE {kind} {name} (column TYPE, ...) USING {source.format} ...; or put a file there first"
    return OperationalError(f"the columns of {source.name} cannot be inferred: {reason}", hint=hint)


def _sample(files: Sequence[FolderFile]) -> int:
    """Return how many of the first files are read."""
    size = 0
    for number, file in enumerate(files):
        size += os.path.getsize(file.path)
        if size > _SAMPLE_BYTES:
            return max(1, number)
    return len(files)


def _infer_options(source: Source, path: str, options: dict[str, str]) -> dict[str, str]:
    """Infer the options that the source does not set from the beginning of a file."""
    option_names = {name.lower() for name in options}
    if option_names & {"encoding", "charset", "linesep"}:
        return {}
    if source.format == "csv":
        return _csv_options(path, options, option_names)
    if source.format == "json" and "multiline" not in option_names:
        first = next(iter(_lines(path)), "").strip()
        return {} if not first or _object(first) is not None else {"multiLine": "true"}
    return {}


def _csv_options(path: str, options: dict[str, str], option_names: set[str]) -> dict[str, str]:
    csv_options: dict[str, str] = {}
    first = next(iter(_lines(path)), "")
    if not {"sep", "delimiter"} & option_names:
        outside = re.sub(r'"[^"]*"', "", first)
        counts = {separator: outside.count(separator) for separator in _SEPARATORS}
        best = max(counts, key=lambda separator: counts[separator])
        if best != "," and counts[best]:
            csv_options["sep"] = best.replace("\t", "\\t")
    if "header" not in option_names:
        names = _names(path, options | csv_options)
        plain = all(name.strip() and not _NO_HEADER.fullmatch(name.strip()) for name in names)
        distinct = len({name.lower() for name in names}) == len(names)
        csv_options["header"] = str(bool(names) and plain and distinct).lower()
    return csv_options


def _lines(path: str) -> Iterator[str]:
    """Yield the non-blank lines at the beginning of a file."""
    try:
        with pa.input_stream(path, compression="detect") as file:
            begin = file.read(_BEGIN).decode("utf-8-sig", "replace")
    except (OSError, ValueError, TypeError):
        return
    yield from (line for line in begin.splitlines() if line.strip())


def _names(path: str, options: dict[str, str]) -> list[str]:
    """Return the values of the first line of a CSV file."""
    named = {name.lower(): value for name, value in options.items()}
    separator = named.get("sep", named.get("delimiter", ",")).replace("\\t", "\t")
    try:
        return next(csv.reader(_lines(path), delimiter=separator, quotechar=named.get("quote", '"') or None), [])
    except (csv.Error, TypeError):
        return []


def _compare_headers(source: Source, paths: Sequence[str], options: dict[str, str]) -> None:
    """Raise OperationalError for CSV files with different headers, because CSV is read by position."""
    first = _names(paths[0], options)
    for path in paths[1:]:
        names = _names(path, options)
        if names and [name.strip().lower() for name in names] != [name.strip().lower() for name in first]:
            raise OperationalError(
                f"the files of {source.name} disagree: {paths[0]} has the columns {', '.join(first)}, and {path} has "
                f"{', '.join(names)}",
                hint="CSV is read by place: keep files with other columns in other folders, or name one kind by a "
                "pattern such as 'logs/orders-*.csv'",
            )


def _object(line: str) -> dict | None:
    try:
        parsed = json.loads(line)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


@dataclass(frozen=True)
class _InferredFiles:
    spark: SparkSession
    source: Source
    options: dict[str, str]
    paths: list[str]

    def columns(self) -> tuple[tuple[ColumnDefinition, ...], int | None]:
        """Return the columns, and the number of rows read for them."""
        match self.source.format:
            case "csv":
                return self._of_csv()
            case "json":
                return self._of_json()
            case "text":
                return (ColumnDefinition("value", "STRING"),), None
            case "parquet":
                return self._of_parquet(), None
        types = self._types(self._read())
        return tuple(ColumnDefinition(name, kind) for name, kind in types.items()), None

    def _read(self, schema: str | None = None, **further: str) -> DataFrame:
        reader = self.spark.read.format(self.source.format).options(**self.options | further)
        return (reader if schema is None else reader.schema(schema)).load(self.paths)

    def _types(self, frame: DataFrame) -> dict[str, str]:
        return {name: _spelled(kind) for name, kind in column_types(frame) if name != _CORRUPT}

    def _of_csv(self) -> tuple[tuple[ColumnDefinition, ...], int]:
        types = self._types(self._read(inferSchema="true"))
        texts = self._read(", ".join(f"{quoted(name)} STRING" for name in types))
        rows, column_texts = _looked_through(texts, [name for name, kind in types.items() if kind != "BOOLEAN"])
        written = {name.lower() for name in self.options} & {"timestampformat", "dateformat", "timestampntzformat"}
        for name, counts in column_texts.items():
            if types[name].startswith(("TIMESTAMP", "DATE")) and not written:
                types[name] = _time_type(counts) or "STRING"
            elif types[name] != "STRING" and counts.padded and not types[name].startswith(("TIMESTAMP", "DATE")):
                types[name] = "STRING"
        return tuple(ColumnDefinition(name, kind) for name, kind in types.items()), rows

    def _of_json(self) -> tuple[tuple[ColumnDefinition, ...], int]:
        frame = self._read()
        types = self._types(frame)
        rows, column_texts = _looked_through(frame, [name for name, kind in types.items() if kind == "STRING"])
        for name, counts in column_texts.items():
            types[name] = _time_type(counts) or "STRING"
        first = _object(next(iter(_lines(self.paths[0])), "")) or {}
        ordered = [name for name in first if name in types]
        ordered += [name for name in types if name not in ordered]
        return tuple(ColumnDefinition(name, types[name]) for name in ordered), rows

    def _of_parquet(self) -> tuple[ColumnDefinition, ...]:
        try:
            types = self._types(self._read(mergeSchema="true"))
        except (PySparkException, Py4JError) as failure:
            self._refuse_other_types()
            if not isinstance(failure, PySparkException):
                raise
            return parquet_columns(self.source, failure)
        return tuple(ColumnDefinition(name, kind) for name, kind in types.items())

    def _refuse_other_types(self) -> None:
        """Raise OperationalError if a column has different types in two local files."""
        first_types: dict[str, tuple[pa.DataType, str]] = {}
        for path in self.paths if os.path.exists(self.paths[0]) else []:
            for name, kind in parquet_schema(path).items():
                before, where = first_types.setdefault(name, (kind, path))
                if before != kind:
                    raise OperationalError(
                        f"the files of {self.source.name} disagree: {name} is {before} in {where}, {kind} in {path}",
                        hint="declare the column with one type: (column TYPE, ...)",
                    )


@dataclass(frozen=True)
class _Texts:
    """Counts of a column's values: all, dates, times, times with a clock, and numbers with leading zeros."""

    all: int
    dates: int
    times: int
    clocks: int
    padded: int


def _looked_through(frame: DataFrame, names: Sequence[str]) -> tuple[int, dict[str, _Texts]]:
    """Return the row count of a frame, and the counts of the texts in its columns."""
    asked = [F.count(F.lit(1))]
    for name in names:
        text = F.col(quoted(name))
        # What looks like a time must be one, unlike 2026-02-30.
        day, time = text.try_cast("date").isNotNull(), text.try_cast("timestamp").isNotNull()
        asked += [
            F.count(text), F.count_if(text.rlike(_DATE_TEXT) & day), F.count_if(text.rlike(_TIME_TEXT) & time),
            F.count_if(text.rlike(_CLOCK_TEXT)), F.count_if(text.rlike(_PADDED)),
        ]  # fmt: skip
    (row,) = frame.select(*(column.alias(f"c{i}") for i, column in enumerate(asked))).collect()
    return row[0], {name: _Texts(*row[1 + 5 * i : 6 + 5 * i]) for i, name in enumerate(names)}


def _time_type(texts: _Texts) -> str | None:
    if not texts.all:
        return None
    if texts.dates == texts.all:
        return "DATE"
    return "TIMESTAMP" if texts.times == texts.all and texts.clocks else None


def _spelled(kind: str) -> str:
    """Return a Spark type as definitions spell it; names of fields keep their case."""
    return kind if "<" in kind else kind.upper()


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
