"""The tables of a group of views: one transaction writes the rows and the positions of all."""

from collections.abc import Sequence

import sqlalchemy as sa
from pyspark.sql import DataFrame

from cepsql.catalog.references import valued_sink
from cepsql.catalog.view_store import GroupSink, ViewSink
from cepsql.sinks.added_columns import Columns, fitted_columns, key_columns
from cepsql.sinks.fitted import FittedSink
from cepsql.sinks.view_table import ViewTable
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.building.side_by_side import PartPieces, part_of
from cepsql.spark.frames.column_types import column_types
from cepsql.spark.frames.pieces import Pieces


class ViewGroupTables(FittedSink):
    """Writes the tables of views whose rows `cepsql.spark.building.side_by_side` puts into one frame.

    changes: for each view whether its rows are changes.
    """

    def __init__(self, sink: GroupSink, writer: WriterIdentity, changes: Sequence[bool]):
        super().__init__(sink, writer)
        self._tables = [_table(view, writer) for view in sink.views]
        for table, changing in zip(self._tables, changes, strict=True):
            table.changes = changing
        self._written: list[tuple[Columns, list[str]]] = []
        first = self._tables[0]
        # Each table has a record; the first one's place stands for the group.
        self.place, self.folder = first.place, first.folder

    def check_frame(self, frame: DataFrame) -> None:
        """Refuse tables with the views' names that cepsql has not created."""
        self._written = []
        for number, table in enumerate(self._tables):
            self._tell(table)
            columns = column_types(part_of(frame, number))
            table.check(columns)
            written = table.columns_to_write(columns)
            self._written.append((written, key_columns(table.sink, fitted_columns(table.sink, written))))

    def claim(self) -> None:
        """Take over all tables from earlier epochs, or none."""
        for table in self._tables:
            self._tell(table)

        def claim(connection: sa.Connection) -> None:
            for table in self._tables:
                with table.failures():
                    table.claim_in(connection)

        self._tables[0].at_once(claim)
        self.recorded = True
        for table in self._tables:
            table.recorded = True

    def accept(self, frame: DataFrame, batch: int) -> int:
        """Write a micro-batch to all tables in one transaction, unless it was written before."""
        with self.collected(frame) as pieces:
            return self.persistently(lambda: self._write(pieces, batch), self._tables[0].patience)

    def close(self) -> None:
        """Make a waiting batch fail, and close unused connections."""
        super().close()
        for table in self._tables:
            table.close()

    def _tell(self, table: ViewTable) -> None:
        """Copy to a table what the group knows of the checkpoint."""
        table.record_id, table.planned, table.recorded = self.record_id, self.planned, self.recorded

    def _write(self, pieces: Pieces, batch: int) -> int:
        # Call Java before the transaction, so that nobody waits for it behind the database's lock.
        position = self.position(batch)

        def write(connection: sa.Connection) -> int:
            for number, (table, (columns, key)) in enumerate(zip(self._tables, self._written, strict=True)):
                table.reach(position.of_part(number))
                with table.failures():
                    table.write_in(connection, PartPieces(pieces, number), columns, key, batch)
            return pieces.rows

        return self._tables[0].transaction(write)


def _table(view: ViewSink, writer: WriterIdentity) -> ViewTable:
    valued = valued_sink(view)
    assert isinstance(valued, ViewSink)
    return ViewTable(valued, writer)
