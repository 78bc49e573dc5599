"""CURRENT_WATERMARK(at): the rows of a stream with the watermark at which each came."""

from dataclasses import dataclass

from cepsql.catalog import ColumnDefinition
from cepsql.language.tokens import quoted
from cepsql.ordered.row_layout import Column, RowLayout


@dataclass(frozen=True)
class WatermarkedRows:
    """Rows of a stream, with the watermark at which each came.

    name:    the table that stands for them in the query.
    columns: of the rows, which come out as they are.
    time:    the column with the event time.
    hidden:  the column with the watermark, of the type of the event time.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    time: str
    hidden: str

    @property
    def layout(self) -> RowLayout:
        """The columns that travel. Rows go to tasks by their event times, as nothing brings them together."""
        values = tuple(Column(f"v{i}", quoted(column.name)) for i, column in enumerate(self.columns))
        return RowLayout(
            (Column("k0", quoted(self.time)),), Column("t", quoted(self.time)), values=values, any_order=True
        )
