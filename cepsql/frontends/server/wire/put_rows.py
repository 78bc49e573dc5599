"""Rows that clients add to a stream as lines of JSON: each request becomes a file in the folder of the stream.

The file appears atomically, and its name follows from the key of the request, so that a repeated request adds nothing.
"""

import base64
import contextlib
import decimal
import hashlib
import json
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cepsql.base.loading import load_spark
from cepsql.catalog import ColumnDefinition, Source
from cepsql.catalog.locations import located
from cepsql.catalog.mounts import check_mounted
from cepsql.engine import Engine
from cepsql.errors import DataError, Error, NotSupportedError, OperationalError, ProgrammingError, suggestion
from cepsql.frontends.server.wire.text_values import text_value
from cepsql.plan.resolved_references import valued_source
from cepsql.scalar.types import STRING, parse_type
from cepsql.views.stored_values import column_values

_TAKEN = ("json", "parquet")
_FREE = ("timestampformat", "dateformat", "timestampntzformat")
"""Options that change the form of times from ISO 8601."""

_putting = threading.Lock()


class Repeated(ProgrammingError):
    """The key of a request was used for other rows."""


def put_rows(engine: Engine, name: str, body: bytes, key: str | None) -> dict[str, object]:
    """Add rows to a stream; return their number, whether an earlier request had added them, and the token with which
    `WAIT FOR` and `AFTER` wait for them, None without rows.

    body: a JSON object for each row, one a line; a missing column is NULL.
    key:  the client's key of these rows; None: they are new.
    Raises ProgrammingError for an unknown stream or column, NotSupportedError for a stream that does not accept rows
    over HTTP, DataError for a wrong value, Repeated for a key of other rows, and OperationalError if the folder cannot
    be written to.
    """
    stream = engine.catalog.names.find(name)
    if not isinstance(stream, Source) or not stream.streaming:
        stream_names = [one.name for one in engine.catalog.names.relations if isinstance(one, Source) and one.streaming]
        raise ProgrammingError(f"there is no stream {name}", hint=suggestion(name, stream_names, "streams"))
    if engine.restrictions is not None:
        engine.restrictions.check(located(stream))
    folder, columns = _taking(stream)
    rows = _rows(body, stream, columns)
    digest = hashlib.sha256(body).hexdigest()[:16]
    called = uuid.uuid4().hex if key is None else hashlib.sha256(key.encode()).hexdigest()[:32]
    file = folder / f"post-{called}-{digest}.{stream.format}"
    try:
        # Without a key, the name of the file is unique.
        with _putting if key is not None else contextlib.nullcontext():
            check_mounted(folder, f"the folder of {stream.name}")
            folder.mkdir(parents=True, exist_ok=True)
            there = next(folder.glob(f"post-{called}-*"), None) if key is not None else None
            if there is not None and there.name != file.name:
                raise Repeated(f"the key {key!r} was given with other rows before", hint="each set of rows has its own")
            if there is None and rows:
                _write(file, body, rows, stream, columns)
    except OSError as error:
        raise OperationalError(f"the folder of stream {stream.name} cannot be written to: {error.strerror}") from error
    token = f"{stream.name}@{file.name}" if rows else None
    return {"rows": len(rows), "repeated": there is not None, "token": token}


def _taking(stream: Source) -> tuple[Path, Sequence[ColumnDefinition]]:
    """Return the folder of a stream, and the columns that rows have values for."""
    if stream.format not in _TAKEN or stream.value is not None or stream.late_of is not None:
        raise NotSupportedError(
            f"stream {stream.name} takes no rows over HTTP", hint=f"one over files of {' or '.join(_TAKEN)} does"
        )
    load_spark()
    from cepsql.sinks.inserted_rows import insertion_sink

    sink = insertion_sink(valued_source(stream))
    return Path(dict(sink.options)["path"]), sink.columns


def _rows(body: bytes, stream: Source, columns: Sequence[ColumnDefinition]) -> list[dict]:
    """Return the rows of a body, with checked values."""
    names = {column.name.lower(): column for column in columns}
    free = any(name.lower() in _FREE for name, _ in stream.options)
    rows = []
    for number, line in enumerate(body.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_float=decimal.Decimal)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise DataError(f"line {number} is no JSON object", hint='a row is a line such as {"city": "Rome", "n": 1}')
        for name, value in row.items():
            column = names.get(name.lower())
            if column is None:
                hint = suggestion(name, [one.name for one in columns], "columns")
                raise ProgrammingError(f"line {number}: stream {stream.name} has no column {name}", hint=hint)
            if not (free and stream.format == "json"):
                _check(value, column, number)
        rows.append({names[name.lower()].name: value for name, value in row.items()})
    return rows


def _check(value: object, column: ColumnDefinition, number: int) -> None:
    """Refuse a value that is not of the type of its column."""
    try:
        _cell(value, column)
    except (Error, ValueError, TypeError, ArithmeticError, pa.ArrowException) as failure:
        raise DataError(
            f"line {number}: {column.name} is of type {column.type.upper()}, "
            f"which {json.dumps(value, default=str)} is not"
        ) from failure


def _cell(value: object, column: ColumnDefinition) -> object:
    """Return a JSON value as one of its column's type for `column_values`; raises for a value of another type."""
    kind = parse_type(column.type)
    if value is None:
        return None
    if kind == STRING:
        if not isinstance(value, str):
            raise TypeError(value)
        return value
    if kind.name == "binary":
        return base64.b64decode(str(value), validate=True)
    if kind.name in ("array", "map", "struct"):
        return value
    if isinstance(value, dict | list) or (isinstance(value, bool) != (kind.name == "boolean")):
        raise TypeError(value)
    if isinstance(value, bool):
        return value
    cell = text_value(str(value), column.type, column.name)
    # Arrow checks the range.
    column_values([cell], column.type)
    return cell


def _write(file: Path, body: bytes, rows: list[dict], stream: Source, columns: Sequence[ColumnDefinition]) -> None:
    hidden = file.with_name(f".{file.name}")
    if stream.format == "json":
        data = b"".join(line.strip() + b"\n" for line in body.splitlines() if line.strip())
        hidden.write_bytes(data)
    else:
        arrays = [
            column_values([_cell(row.get(column.name), column) for row in rows], column.type) for column in columns
        ]
        pq.write_table(pa.table(arrays, [column.name for column in columns]), hidden)
    from cepsql.spark.checkpoint.checkpoint_path import synchronize

    synchronize(hidden)
    hidden.replace(file)
    synchronize(file.parent)
