"""What is read from which files or records: frozen, picklable data that workers get."""

from dataclasses import dataclass

from cepsql.readers.scan.long_lines import DEFAULT_LINE_BYTES
from cepsql.scalar.types import (
    BOOLEAN,
    DATE,
    FRACTIONS,
    INTEGERS,
    STRING,
    TIMESTAMP,
    Type,
    is_decimal,
    parse_type,
)

LISTING_OPTIONS = frozenset({
    "path", "maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage", "maxcachedfiles", "filenameonly",
    "discardcachedinputratio", "cleansource", "sourcearchivedir", "pathglobfilter", "recursivefilelookup",
    "modifiedbefore", "modifiedafter",
})  # fmt: skip
"""Options that say which files a stream reads, and when: the same for every format."""


_READ = {*INTEGERS, *FRACTIONS, BOOLEAN, STRING, DATE, TIMESTAMP}


def is_read(type: Type) -> bool:
    """Tell whether Arrow reads values of a type from files, and gives them to the matcher."""
    return type in _READ or (is_decimal(type) and type.scale <= type.precision <= 38 and type.precision > 0)


def readable_type(text: str) -> Type | None:
    """Return the type of a column that Arrow reads from files, by its Spark SQL name, None for other types."""
    type = parse_type(text)
    # Spark checks the length of VARCHAR and CHAR.
    return type if is_read(type) and "char" not in text.lower() else None


@dataclass(frozen=True)
class FileLayout:
    """How the files of a source are read, or the values of its records.

    format:    csv, json or parquet.
    columns:   names and types of the declared columns that files or values hold, in order.
    metadata:  the other declared columns of records: name, type, and what it holds (a key of METADATA).
    wanted:    those of them that something reads; the others are only judged.
    separator: between the values of a CSV line, one character.
    header:    the first line of a CSV file with other than spaces holds names.
    longest:   so many bytes a line of a text file may have; a longer one is malformed.
    """

    format: str
    columns: tuple[tuple[str, Type], ...]
    wanted: frozenset[str]
    separator: str = ","
    header: bool = False
    metadata: tuple[tuple[str, Type, str], ...] = ()
    longest: int = DEFAULT_LINE_BYTES
