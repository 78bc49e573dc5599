"""Options that make Spark write values to text without loss: by default it cuts times to milliseconds, and trims spaces
in CSV."""

from cepsql.catalog import Sink
from cepsql.readers.scan.csv_text import has_csv_text
from cepsql.scalar.types import parse_type
from cepsql.sinks.added_columns import Columns

_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][XXXXX]",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]",
}
_WHOLE = {
    "csv": {**_TIMES, "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"},
    "json": _TIMES,
    "xml": _TIMES,
}
_NULL_LINE = {"nullValue": '""'}
"""Spark skips a line of CSV that would be empty."""


def writing_options(sink: Sink, columns: int) -> dict[str, str]:
    """Return the options for Spark's writer: the lossless defaults, overridden by the sink's own options.

    columns: the number of columns of a line.
    """
    own = {name.lower() for name, _ in sink.options}
    whole = _WHOLE.get(sink.format.lower(), {})
    if sink.format.lower() == "csv" and columns == 1:
        whole = whole | _NULL_LINE
    return {name: value for name, value in whole.items() if name.lower() not in own} | dict(sink.options)


def is_plain_csv(sink: Sink, columns: Columns) -> bool:
    """Tell whether a sink is CSV without further options, of types that `csv_lines` may write."""
    names = {name.lower() for name, _ in sink.options}
    has_text = all(has_csv_text(parse_type(kind)) for _, kind in columns)
    return sink.format.lower() == "csv" and names <= {"path"} and len(columns) > 1 and has_text
