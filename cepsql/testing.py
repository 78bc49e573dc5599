"""Run a streaming query over fixed batches of rows, and return its output after each."""

import base64
import datetime
import decimal
import enum
import json
import shutil
import tempfile
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from cepsql.analysis.sql.properties import ORIGIN
from cepsql.analysis.sql.python_values import python_value
from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.catalog import Source
from cepsql.engine import connect
from cepsql.errors import InterfaceError, suggestion
from cepsql.language.tokens import DIALECT, quoted
from cepsql.query import Query, no_python_type
from cepsql.render.html import html_text
from cepsql.spark.frames.key_columns import ARRIVAL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from cepsql.engine import Engine

Batch = Sequence[Sequence | Mapping[str, object]]
"""The rows of one micro-batch: values in the order of the stream's columns that are not computed, or by name."""


@dataclass(frozen=True)
class Heartbeat:
    """A heartbeat in place of a batch: no row arrives, and the clock shows this time, such as "2026-01-01 00:05:00".

    Only the difference between two heartbeats counts. It affects streams that are defined WITH HEARTBEAT.
    """

    at: str

    @property
    def micros(self) -> int:
        """Microseconds since the epoch, if the clock shows UTC."""
        time = datetime.datetime.fromisoformat(self.at).replace(tzinfo=datetime.UTC)
        return (time - datetime.datetime.fromtimestamp(0, datetime.UTC)) // datetime.timedelta(microseconds=1)


class Played(list):
    """The output rows, a list for each micro-batch and one for the end of the input.

    late:    the rows of every table of late rows, by its name.
    ordered: whether the query has an ORDER BY, by which the rows are sorted.
    """

    def __init__(self, batches: "list[list[Row]]", late: "dict[str, list[Row]]", ordered: bool = False):
        super().__init__(batches)
        self.late = late
        self.ordered = ordered

    def _repr_html_(self) -> str:
        """Show the output of each batch in a notebook, a line a row."""
        names = [*(f"batch {number}" for number in range(1, len(self))), "end of the input"]
        lines = [f"{name}: {row}" for name, rows in zip(names, self, strict=True) for row in rows]
        return html_text("\n".join(lines or ["no rows"]))


def play(
    sql: str,
    batches: Sequence[Batch | Mapping[str, Batch] | Heartbeat],
    *,
    restart: bool | Collection[int] = False,
    args: Mapping[str, object] | None = None,
    spark: "SparkSession | None" = None,
) -> Played:
    """Run a streaming query over fixed batches, then end its input.

    sql:     definitions and, last, a query over one or more streams. The streams' own sources are not read, nor is
             anything written to their folders of late rows.
    batches: one item a micro-batch: its rows, or rows by stream name if the query reads several streams, or a
             Heartbeat. A column missing in a row by name is NULL. Values may be Python values or text; text that does
             not parse as the column's type makes the row malformed.
    restart: stop the query after every batch, or after those with these numbers, from 0, and restart it from its
             checkpoint.
    Returns the output rows of each batch, and those of the end of the input: one list more than there are batches; its
    `late` has the rows of LATE ROWS INTO tables. Raises InterfaceError for rows that do not fit their stream, DataError
    for values without a Python type, and Error as the query itself would.

    >>> play("CREATE STREAM s (ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv;"
    ...      "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES B.x AS x PATTERN (A B) DEFINE B AS B.x > A.x)",
    ...      [[("2026-01-01 00:00:01", 1)], [("2026-01-01 00:00:02", 5)]])  # doctest: +SKIP
    [[], [Row(x=5)], []]
    """
    engine = connect(spark, catalog="")
    folder = Path(tempfile.mkdtemp(prefix="cepsql-play-"))
    try:
        return _played(sql, batches, restart, args, engine, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _played(
    sql: str,
    batches: Sequence[Batch | Mapping[str, Batch] | Heartbeat],
    restart: bool | Collection[int],
    args: Mapping[str, object] | None,
    engine: "Engine",
    folder: Path,
) -> Played:
    from cepsql.spark.jvm.lent_settings import setting

    query = None
    for result in engine.execute(sql, args):
        _move_late_rows(engine, folder)
        query = result
    if not isinstance(query, Query) or not query.streaming:
        raise InterfaceError("play() needs a text whose last statement is a query over a stream")
    sources = [r for r in query.origins if isinstance(r, Source) and r.streaming]
    unread = _unread_streams(query, engine, sources)
    inputs = [batch if isinstance(batch, Heartbeat) else _tables(batch, sources, unread) for batch in batches]
    zone = setting(engine.spark, "spark.sql.session.timeZone")
    seen = [_rows(came, zone) for came in _play(query, engine, sources, inputs, folder, restart)]
    if query.limit is not None:
        seen = _first_rows(seen, query.limit)
    tables = [relation.name for relation in engine.catalog if isinstance(relation, Source) and relation.late_of]
    late = {}
    for name in tables:
        table = engine.sql(f"SELECT * FROM {name}")
        assert isinstance(table, Query)
        late[name] = _rows(table.arrow(), zone)
    return Played(seen, late, any(node.sorts for node in query.plan.stages))


def _move_late_rows(engine: "Engine", folder: Path) -> None:
    """Redirect the late rows of every stream to a folder below this one."""
    for stream in list(engine.catalog):
        if not isinstance(stream, Source) or stream.late_rows is None:
            continue
        own = (("path", str(folder / "late" / stream.name)),)
        engine.catalog.add(replace(stream, late_rows=replace(stream.late_rows, options=own)), replace=True)


def _play(
    query: Query,
    engine: "Engine",
    sources: list[Source],
    batches: list[dict[str, pa.Table] | Heartbeat],
    folder: Path,
    restart: bool | Collection[int],
) -> list[pa.Table | None]:
    """Return the output of each batch and of the end, None without rows."""
    from cepsql.spark.building.frame_options import FrameOptions
    from cepsql.spark.checkpoint.checkpoint import open_checkpoint
    from cepsql.spark.checkpoint.host_files import host_files
    from cepsql.spark.jvm.messages.failures import translated_failures
    from cepsql.spark.run.replayed_batches import Replay, write_batch
    from cepsql.spark.sources.late_rows import late_files

    with translated_failures():
        frames = {source.name: _stream(engine.spark, source, folder / source.name) for source in sources}
    checkpoint_path = folder / "checkpoint"
    checkpoint = open_checkpoint(checkpoint_path, query.identity())
    frame = query.build(FrameOptions(checkpoint.control, frames, files=host_files(checkpoint_path)))
    seen: list[pa.Table | None] = []
    late = tuple(files for files in map(late_files, sources) if files is not None)
    with Replay(frame, checkpoint, query.patterns, late) as replay:
        for number, batch in enumerate(batches):
            if isinstance(batch, Heartbeat):
                seen.append(replay.heartbeat(batch.micros))
            else:
                with replay.query.unsearched():
                    for name, table in batch.items():
                        write_batch(folder / name, table)
                seen.append(replay.advance())
            if restart is True or (restart and number in restart):
                replay.restart()
        seen.append(replay.end())
    return seen


def _first_rows(seen: "list[list[Row]]", limit: int) -> "list[list[Row]]":
    """Return the output of each batch, limited to the first `limit` rows of all."""
    counts_before = [0, *accumulate(map(len, seen))]
    return [rows[: max(limit - before, 0)] for rows, before in zip(seen, counts_before, strict=False)]


def _unread_streams(query: Query, engine: "Engine", sources: list[Source]) -> set[str]:
    """Return the lower-case names of streams that a query names but does not need, as in EXISTS (SELECT MAX(x) ...)."""
    named = {table_name(table).lower() for table in catalog_tables(query.plan.query.expression)}
    streams = {r.name.lower() for r in engine.catalog if isinstance(r, Source) and r.streaming}
    return (streams & named) - {source.name.lower() for source in sources}


def _tables(batch: Batch | Mapping[str, Batch], sources: list[Source], unread: set[str]) -> dict[str, pa.Table]:
    """Return the rows of a batch as text, by the name of their stream, without those of streams that are not read."""
    by_name = {source.name: source for source in sources}
    return {name: _texts(by_name[name], rows) for name, rows in _by_stream(batch, sources, unread).items()}


def _by_stream(batch: Batch | Mapping[str, Batch], sources: list[Source], unread: set[str]) -> dict[str, Batch]:
    if not isinstance(batch, Mapping):
        if len(sources) != 1:
            raise InterfaceError("the query reads several streams: give each batch as rows by stream name")
        return {sources[0].name: batch}
    names = {source.name.lower(): source.name for source in sources}
    for name in batch:
        if name.lower() not in names.keys() | unread:
            raise InterfaceError(f"the query reads no stream {name}", hint=suggestion(name, names.values(), "streams"))
    return {names[name.lower()]: rows for name, rows in batch.items() if name.lower() not in unread}


def _stream(spark: "SparkSession", source: Source, folder: Path) -> "DataFrame":
    """Return the stream of the batches in a folder, whose values are texts, with the source's columns and types."""
    from cepsql.spark.run.replayed_batches import replay_source
    from cepsql.spark.sources.source import MALFORMED, STREAMED_ORIGIN, whole_row

    read = [column for column in source.columns if column.expression is None]
    frame = replay_source(spark, folder, ", ".join(f"{quoted(column.name)} STRING" for column in read))
    parsed = {c.name: _parsed(c.name, c.type) for c in read}
    texts = [f"CAST({parsed[c.name]} AS STRING)" if _is_binary(c.type) else quoted(c.name) for c in read]
    wrong = " OR ".join(f"({quoted(c.name)} IS NOT NULL AND {parsed[c.name]} IS NULL)" for c in read)
    record = f"if({wrong}, concat_ws(',', {', '.join(texts)}), NULL)"
    marks = [f"({wrong}) AS {MALFORMED}", f"{record} AS __record"]
    arrival = [ORIGIN, *([ARRIVAL] if source.key else [])]
    marks += [f"{STREAMED_ORIGIN} AS {ORIGIN}", *([f"'' AS {ARRIVAL}"] if source.key else [])]
    typed = frame.selectExpr(*(f"{sql} AS {quoted(name)}" for name, sql in parsed.items()), *marks)
    columns = [
        quoted(c.name) if c.expression is None else f"({c.expression}) AS {quoted(c.name)}" for c in source.columns
    ]
    if source.late_rows is None:
        return typed.selectExpr(*columns, MALFORMED, *arrival)
    return typed.selectExpr(*columns, MALFORMED, *arrival, "__record").selectExpr(
        *(quoted(column.name) for column in source.columns), MALFORMED, *arrival, whole_row(source, "__record")
    )


def _parsed(name: str, kind: str) -> str:
    if _is_nested(kind):
        return f"from_json({quoted(name)}, '{kind}')"
    if _is_binary(kind):
        return f"unhex({quoted(name)})"
    return f"try_cast({quoted(name)} AS {kind})"


def _is_nested(kind: str) -> bool:
    return kind.lower().startswith(("array", "map", "struct"))


def _is_binary(kind: str) -> bool:
    return kind.strip().lower() == "binary"


def _texts(source: Source, batch: Batch) -> pa.Table:
    read = [column for column in source.columns if column.expression is None]
    names = [column.name for column in read]
    kinds = [_nested_type(column.type) for column in read]
    columns: dict[str, list] = {name: [] for name in names}
    if hasattr(batch, "columns"):
        what = type(batch).__name__
        raise InterfaceError(
            f"the rows of {source.name} are a list, not a {what}", hint='to_dict("records") of pandas gives them'
        )
    for row in batch:
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise InterfaceError(f"a row of {source.name} is a sequence or a mapping of values, not {row!r}")
        values = _in_order(source, names, row) if isinstance(row, Mapping) else list(row)
        if len(values) != len(names):
            raise InterfaceError(
                f"a row of {source.name} has {len(names)} values: {', '.join(names)}", hint=f"{row!r} has {len(values)}"
            )
        for column, kind, value in zip(read, kinds, values, strict=True):
            try:
                columns[column.name].append(_hex(value) if _is_binary(column.type) else _text(value, kind))
            except TypeError as error:
                hint = f"{value}.value may be one" if isinstance(value, enum.Enum) else None
                raise InterfaceError(f"a value of {column.name} {column.type} cannot be {error}", hint=hint) from error
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _in_order(source: Source, names: list[str], row: Mapping[str, object]) -> list:
    """Return the values of a row in the order of columns; missing ones are None."""
    values = {str(name).lower(): value for name, value in row.items()}
    for name in row:
        if str(name).lower() not in map(str.lower, names):
            hint = suggestion(str(name), names, "columns that are not computed")
            raise InterfaceError(f"a row of {source.name} has no column {name}", hint=hint)
    return [values.get(name.lower()) for name in names]


def _nested_type(kind: str) -> exp.DataType | None:
    """Return the type of an array, a map or a struct, None for other types."""
    return exp.DataType.build(kind, dialect=DIALECT) if _is_nested(kind) else None


def _hex(cell: object) -> str | None:
    """Return a value of a BINARY column, bytes or a text, in hexadecimal digits, because not all bytes are text."""
    if isinstance(cell, bytes | bytearray | memoryview):
        return cell.hex()
    text = _text(cell)
    return None if text is None else text.encode().hex()


def _text(cell: object, kind: exp.DataType | None = None) -> str | None:
    """Return a value of a column as text that Spark parses; `kind` is its type if it is nested.

    Raises TypeError for a value that no column can hold.
    """
    value = python_value(cell)
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case datetime.datetime():
            return value.isoformat(" ")
        case datetime.timedelta():
            seconds, micros = divmod(abs(value) // datetime.timedelta(microseconds=1), 1_000_000)
            (minutes, second), sign = divmod(seconds, 60), "-" if value < datetime.timedelta() else ""
            days, hours, minute = minutes // 1440, minutes // 60 % 24, minutes % 60
            return f"{sign}{days} {hours:02}:{minute:02}:{second:02}.{micros:06}"
        case dict() | list() | tuple():
            return json.dumps(_nested(value, kind))
        case int() | float() | decimal.Decimal() | datetime.date() | datetime.time() | uuid.UUID():
            return str(value)
    raise TypeError(f"a {type(value).__name__}")


def _nested(cell: object, kind: exp.DataType | None) -> object:
    """Return a value within an array, a map or a struct as JSON data for Spark; `kind` is its type if it is nested.

    Raises TypeError for a value that no column can hold.
    """
    value = python_value(cell)
    parts = [] if kind is None else kind.expressions
    fields = {part.name.lower(): part.kind for part in parts if isinstance(part, exp.ColumnDef)}
    inner = parts[-1] if parts and isinstance(parts[-1], exp.DataType) else None
    match value:
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {_text(key): _nested(part, fields.get(str(key).lower(), inner)) for key, part in value.items()}
        case tuple() if hasattr(value, "asDict"):
            return _nested(value.asDict(), kind)
        case tuple() if fields and len(value) != len(fields):
            raise TypeError(f"{value!r}: the struct has {len(fields)} values")
        case tuple() if fields:
            names = [part.name for part in parts]
            return {name: _nested(part, fields[name.lower()]) for name, part in zip(names, value, strict=True)}
        case list() | tuple():
            return [_nested(part, inner) for part in value]
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
    return _text(value)


def _rows(table: pa.Table | None, zone: str) -> "list[Row]":
    """Return rows as Spark returns them to Python, but with structs as dicts and times as local times in `zone`."""
    from pyspark.sql import Row

    if table is None:
        return []
    try:
        shown = [_shown(column, zone) for column in table.columns]
        columns = [[_local(value, column.type, zone) for value in column.to_pylist()] for column in shown]
    except (ValueError, OverflowError) as failure:
        raise no_python_type(failure) from failure
    # Names may repeat, so a row cannot be a dict.
    named = Row(*table.column_names)
    return [named(*values) for values in zip(*columns, strict=True)]


def _shown(column: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    """Return a column, with instants as local times: in UTC they might be outside Python's years."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return pc.local_timestamp(column.cast(pa.timestamp("us", zone)))
    return column


def _local(value: Any, kind: pa.DataType, zone: str) -> object:
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        shown = pa.scalar(value, pa.timestamp("us", zone)).as_py() if kind.tz is not None else value
        return shown.replace(tzinfo=None)
    if pa.types.is_map(kind):
        return {_local(key, kind.key_type, zone): _local(part, kind.item_type, zone) for key, part in value}
    if pa.types.is_list(kind):
        return [_local(part, kind.value_type, zone) for part in value]
    if pa.types.is_struct(kind):
        return {field.name: _local(value[field.name], field.type, zone) for field in kind}
    return value
