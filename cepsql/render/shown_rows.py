"""Some rows of a query, as people look at them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from cepsql.render import renderer
from cepsql.render.html import html_table
from cepsql.render.readable import Readable


@dataclass(frozen=True, repr=False)
class ShownRows(Readable):
    """Rows with the names and Spark types of their columns: on a prompt a table, in a notebook an HTML table.

    table: the rows.
    note:  a line below them, "" for none.
    zone:  the time zone in which times are shown.
    """

    columns: Sequence[tuple[str, str]]
    table: pa.Table
    note: str = ""
    zone: str = "UTC"

    def __len__(self) -> int:
        return self.table.num_rows

    def __str__(self) -> str:
        """Write the rows as the shell does."""
        form = renderer("table", list(self.columns), self.zone, self.table)
        return "\n".join([*form.header, *form.rows(self.table), *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        """Show them in a notebook."""
        return html_table(self.columns, self.table, self.zone, self.note)
