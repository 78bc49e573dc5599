"""Views whose rows the tests write themselves, as their queries would."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from cepsql.catalog import ColumnDefinition, MaterializedView, RegisteredQuery, Sink
from cepsql.catalog.view_store import view_sink
from cepsql.engine import Engine
from cepsql.scalar.types import parse_type
from cepsql.sinks.sink_options import Options
from cepsql.sinks.sqlite import SQLite
from cepsql.sinks.view_table import ViewTable
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.run.sink import Position


def keep_view(
    engine: Engine,
    file: Path,
    name: str,
    columns: Sequence[tuple[str, str]],
    rows: pa.Table,
    key: Sequence[str] = (),
    indexes: Sequence[str] = (),
) -> None:
    """Define a view in the catalog of an engine, and give it rows in a store of its own file."""
    defined = tuple(ColumnDefinition(column, kind) for column, kind in columns)
    query = RegisteredQuery(name, None, "SELECT 1 AS a", id=name)
    store = (("store", f"sqlite:///{file}"),)
    engine.catalog.add(MaterializedView(name, query, defined, tuple(key), tuple(indexes), store))
    sink = Sink(name, (), "sqlite", (("path", str(file)),))
    database = SQLite(sink, Options(sink, ("path", "table")))
    database.prepare_readers()
    with database.engine.begin() as connection:
        connection.exec_driver_sql(database.create_table(name, None, columns, list(key)))
        database.add_rows(connection, name, None, columns, list(key), [rows])
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS cepsql_views (view TEXT PRIMARY KEY, id TEXT, checkpoint TEXT, batch BIGINT,"
            " watermark BIGINT, offsets TEXT, written DOUBLE)"
        )
        values = (name, name, "c", 3, 1_767_600_000_000_000, json.dumps(["{}"]), 1_767_600_001.5)
        connection.execute("INSERT INTO cepsql_views VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def arrow_column(values: Sequence, kind: str) -> pa.Array:
    """Return values of one of Spark's types as Arrow has them."""
    from cepsql.scalar.arrow.column_values import arrow_type

    wanted = parse_type(kind)
    return pa.array(values, pa.binary() if wanted.name == "binary" else arrow_type(wanted))


class WrittenView:
    """A view of which a test writes the batches, through the sink of its query.

    changes: rows have `op` before the columns of the view, and replace or remove those of their key.
    """

    def __init__(
        self,
        engine: Engine,
        store: str,
        name: str,
        columns: Sequence[tuple[str, str]],
        key: Sequence[str] = (),
        changes: bool = True,
        checkpoint: str = "first",
        options: Sequence[tuple[str, str]] = (),
        event_time: str | None = None,
        adds: bool = False,
    ):
        defined = tuple(ColumnDefinition(column, kind) for column, kind in columns)
        query = RegisteredQuery(name, None, "SELECT 1 AS a", id=name)
        stored = (("store", store), *options)
        id = f"id of {name}"
        self.view = MaterializedView(name, query, defined, tuple(key), (), stored, event_time, id, adds)
        engine.catalog.add(self.view, replace=True)
        self.table = ViewTable(view_sink(self.view, engine.catalog.view_file), WriterIdentity(name, 1, checkpoint))
        self.table.changes = changes
        self._columns, self._key = list(columns), list(key)
        written_columns = [("op", "string"), *columns] if changes else list(columns)
        self._schema = pa.schema([(column, arrow_column([], kind).type) for column, kind in written_columns])
        self.table.position = lambda batch: Position(batch * 1_000_000, (f'{{"logOffset":{batch}}}',))
        self.table.check(written_columns)
        self.table.claim()

    def write(self, batch: int, rows: Sequence[tuple]) -> None:
        """Write a batch of rows in one transaction."""
        columns = list(zip(*rows, strict=True)) or [()] * len(self._schema)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self.table._write(_Pieces([pa.table(arrays, schema=self._schema)]), self._columns, self._key, batch)


class _Pieces(list):
    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self)
