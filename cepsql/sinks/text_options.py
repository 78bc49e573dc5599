"""Options under which Spark writes to text all that a value says: by itself it cuts times to milliseconds, and spaces
off the ends of what stands in CSV."""

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
"""Of a line of CSV that would have no character Spark writes nothing."""


def writing_options(sink: Sink, columns: int) -> dict[str, str]:
    """Return the options of a sink for Spark's writer of its format: its own go before those that lose nothing.

    columns: how many columns a line has.
    """
    given = {name.lower() for name, _ in sink.options}
    whole = _WHOLE.get(sink.format.lower(), {})
    if sink.format.lower() == "csv" and columns == 1:
        whole = whole | _NULL_LINE
    return {name: value for name, value in whole.items() if name.lower() not in given} | dict(sink.options)


def is_plain_csv(sink: Sink, columns: Columns) -> bool:
    """Tell whether a sink holds CSV as Spark writes it without options, of values that `csv_lines` may know."""
    given = {name.lower() for name, _ in sink.options}
    known = all(has_csv_text(parse_type(kind)) for _, kind in columns)
    return sink.format.lower() == "csv" and given <= {"path"} and len(columns) > 1 and known
