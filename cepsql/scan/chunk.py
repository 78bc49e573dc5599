"""What readers give: the columns of some rows of a file, and how many rows were malformed."""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class FileLayout:
    """How the files of a source are read.

    format:    csv or parquet.
    columns:   names and canonical Spark SQL types of the declared columns that files hold, in order.
    wanted:    those of them that something reads; the others are only judged.
    separator: between the values of a CSV line, one character.
    header:    the first line of a CSV file with other than spaces holds names.
    """

    format: str
    columns: tuple[tuple[str, str], ...]
    wanted: frozenset[str]
    separator: str = ","
    header: bool = False


@dataclass(frozen=True)
class Chunk:
    """Rows of a file.

    columns:   the wanted columns of the well-formed rows, in the Arrow types of `cepsql.scan.types`.
    rows:      how many rows those are.
    malformed: how many rows could not be read as declared.
    """

    columns: dict[str, pa.Array]
    rows: int
    malformed: int = 0
