"""Files of rejected rows, in the columns that LATE ROWS INTO gives.

A query leaves a mark in the folder before it writes there. A folder without the mark is not the one that it has
written to, but an empty mount point, say: what it writes or removes there goes through a handle of the folder that has
the mark, wherever the path leads meanwhile.
"""

import base64
import contextlib
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cepsql.ordered.plain_columns import one_chunk
from cepsql.ordered.rejected import WHOLE
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.render.far_times import far_texts, has_far_times
from cepsql.render.sound_text import sound_text

LATE_COLUMNS = (
    ("reason", "STRING"),
    ("watermark", "TIMESTAMP"),
    ("record", "STRING"),
    ("query", "STRING"),
    ("batch", "BIGINT"),
)
"""The columns before those of the stream, with their Spark types."""

ALERT = "alert"
"""The reason of a row that is none of the stream."""

FORMATS = ("parquet", "json")
"""What `write_file` can write, by the names that Spark reads them by."""

_OWN = "_cepsql"
"""The folder of marks below that of late rows; readers pass it over."""

_LAST = 253_402_300_799_999_999
"""The last microsecond of the year 9999: the watermark after the end of the input."""


def late_rows(rejected: pa.Table, query: str, batch: int) -> pa.Table:
    """Return rejected rows as LATE_COLUMNS and the columns of the stream.

    rejected: as `cepsql.ordered.rejected.rejected_rows` gives them.
    """
    record, *columns = one_chunk(rejected[WHOLE]).flatten()
    names = [field.name for field in rejected.schema.field(WHOLE).type]
    watermarks = [_LAST if mark == END_OF_TIME else mark for mark in rejected["watermark"].to_pylist()]
    count = rejected.num_rows
    arrays = [
        rejected["reason"],
        pa.array(watermarks, pa.int64()).cast(pa.timestamp("us", "UTC")),
        record,
        pa.repeat(query, count),
        pa.repeat(pa.scalar(batch, pa.int64()), count),
        *columns,
    ]
    return pa.table(arrays, [name for name, _ in LATE_COLUMNS] + names[1:])


def alert_rows(records: Sequence[str], bound: int | None, query: str, batch: int) -> pa.Table:
    """Return rows as LATE_COLUMNS that say that too many rows were late; `bound` is the watermark after the batch."""
    count = len(records)
    mark = _LAST if bound == END_OF_TIME else bound
    arrays = [
        pa.repeat(ALERT, count),
        pa.repeat(pa.scalar(mark, pa.int64()), count).cast(pa.timestamp("us", "UTC")),
        pa.array(records, pa.string()),
        pa.repeat(query, count),
        pa.repeat(pa.scalar(batch, pa.int64()), count),
    ]
    return pa.table(arrays, [name for name, _ in LATE_COLUMNS])


class Unmarked(OSError):
    """A folder lacks the mark of a query."""


def mark_folder(folder: Path, query: str) -> None:
    """Make a folder, and leave the mark of a query in it. Raises OSError."""
    (folder / _OWN).mkdir(parents=True, exist_ok=True)
    with mark_of(folder, query).open("a") as mark:
        os.fsync(mark.fileno())


def remove_mark(folder: Path, query: str) -> None:
    """Remove the mark of a query that writes no more; nothing happens if it is not there. Raises OSError."""
    mark_of(folder, query).unlink(missing_ok=True)


@contextlib.contextmanager
def marked_folder(folder: Path, query: str) -> Iterator[int]:
    """Lend a file descriptor of a folder that has the mark of a query.

    Raises Unmarked if the folder is missing or has no mark, OSError if it cannot be opened.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError as error:
        raise Unmarked(*error.args) from error
    try:
        try:
            os.stat(mark_of(Path(), query), dir_fd=handle)
        except FileNotFoundError as error:
            raise Unmarked(*error.args) from error
        yield handle
    finally:
        os.close(handle)


def write_file(rows: pa.Table, folder: Path, name: str, format: str, query: str) -> None:
    """Write rows as Parquet or JSON lines; the file appears whole or not at all, in place of one of that name.

    folder: has the mark of the query.
    Raises Unmarked if it has not, and OSError.
    """
    hidden = f".{name}.{uuid.uuid4().hex}"
    with marked_folder(folder, query) as handle:
        try:
            with open(hidden, "wb", opener=lambda path, flags: os.open(path, flags, 0o666, dir_fd=handle)) as file:
                if format == "parquet":
                    pq.write_table(rows, file)
                else:
                    file.write(_json_lines(rows).encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(hidden, name, src_dir_fd=handle, dst_dir_fd=handle)
            os.fsync(handle)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(hidden, dir_fd=handle)
            raise


def mark_of(folder: Path, query: str) -> Path:
    """Return the file that is the mark of a query in a folder."""
    return folder / _OWN / f"late-{query}"


def _json_lines(rows: pa.Table) -> str:
    rows = sound_text(rows)
    texts = pa.table([_texts(column) for column in rows.columns], rows.column_names)
    whole = pa.struct(texts.schema)
    return "".join(json.dumps(_json_value(row, whole), ensure_ascii=False) + "\n" for row in texts.to_pylist())


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with text in place of what Python cannot hold or JSON cannot tell."""
    kind = column.type
    if not has_far_times(column):
        return column.cast(_json_type(kind))
    offset = "" if getattr(kind, "tz", None) is None else "Z"
    texts = [None if text is None else text + offset for text in far_texts(column, "UTC")]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _json_type(type_: pa.DataType) -> pa.DataType:
    """Return the type with text in place of what Python cannot hold or JSON cannot tell."""
    if pa.types.is_temporal(type_) or pa.types.is_decimal(type_):
        return pa.string()
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _json_type(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(type_.key_type, _json_type(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(_json_type(type_.value_type))
    return type_


def _json_value(value, type_: pa.DataType) -> object:
    if value is None:
        return None
    if pa.types.is_binary(type_):
        return base64.b64encode(value).decode()
    if pa.types.is_struct(type_):
        return {field.name: _json_value(value[field.name], field.type) for field in type_}
    if pa.types.is_map(type_):
        return {key: _json_value(item, type_.item_type) for key, item in value}
    if pa.types.is_list(type_):
        return [_json_value(item, type_.value_type) for item in value]
    return value
