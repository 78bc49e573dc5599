"""The names of formats that are known, and what one is told that looks like one of them."""

import difflib
from collections.abc import Iterable

SOURCE_FORMATS = (
    "csv", "json", "parquet", "orc", "text", "xml", "avro", "binaryFile", "kafka", "datagen", "rate",
    "rate-micro-batch", "socket", "jdbc", "table", "delta", "iceberg",
)  # fmt: skip
"""Those of sources; Spark finds others where it has a connector for them."""

SINK_FORMATS = (
    "csv", "json", "parquet", "orc", "text", "xml", "avro", "sqlite", "postgresql", "kafka", "webhook", "python",
    "console", "jdbc", "delta", "iceberg", "noop",
)  # fmt: skip
"""Those of sinks; Spark finds others where it has a connector for them."""

_DATABASES = ("postgresql", "postgres", "sqlite", "mysql", "mariadb", "oracle", "sqlserver", "mssql", "db2")


def read_otherwise(format: str) -> str | None:
    """Return how a database is read, which is no format of sources; None for any other format.

    >>> read_otherwise("csv") is None
    True
    """
    if format.lower() not in _DATABASES:
        return None
    return f"a table of a database is read USING jdbc OPTIONS (url 'jdbc:{format.lower()}:...', dbtable 'name', ...)"


def near_format(format: str, formats: Iterable[str]) -> str | None:
    """Return the format that one which is not among the known looks like; None if it is one of these, or like none.

    >>> near_format("cvs", SOURCE_FORMATS)
    'csv'
    """
    names = {name.lower(): name for name in formats}
    near = [] if format.lower() in names else difflib.get_close_matches(format.lower(), names, 1)
    return names[near[0]] if near else None


def format_note(format: str, formats: Iterable[str]) -> str:
    """Return what follows the message that something was created, where its format may be a slip of the pen."""
    if formats is SOURCE_FORMATS and (otherwise := read_otherwise(format)):
        return f"; but {otherwise}"
    near = near_format(format, formats)
    return "" if near is None else f"; {format} is not among the known formats: did you mean {near}?"
