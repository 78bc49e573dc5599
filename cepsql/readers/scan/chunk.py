"""What readers give: the columns of some rows of a file, and how many rows were malformed."""

from dataclasses import dataclass

import pyarrow as pa

from cepsql.ordered.arrival import Origin


@dataclass(frozen=True)
class Chunk:
    """Rows of a file.

    columns:   the wanted columns of the well-formed rows, in the types of `column_values.arrow_type`.
    rows:      how many rows those are.
    malformed: how many rows could not be read as declared.
    origin:    where the rows come from, of which the first one has this place there, and the others follow; None: all
               come from the file that is read.
    """

    columns: dict[str, pa.Array]
    rows: int
    malformed: int = 0
    origin: Origin | None = None
    place: int = 0
