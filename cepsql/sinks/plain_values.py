"""Values of Arrow as those who are no Arrow take them."""

from collections.abc import Iterator

import pyarrow as pa

from cepsql.render.far_times import python_values
from cepsql.render.jsonlines import json_rows, json_text


def is_nested(kind: pa.DataType) -> bool:
    """Tell whether values of a type are arrays, structs or maps."""
    return pa.types.is_nested(kind)


def json_texts(column: pa.ChunkedArray, zone: str) -> list[str | None]:
    """Return each value of a column as JSON, as `cepsql.render.jsonlines` writes it; NULL stays None."""
    return [None if value is None else json_text(value, column.type, zone) for value in python_values(column)]


def json_objects(rows: pa.Table) -> Iterator[str]:
    """Yield each row as a JSON object with the names of the columns; times are UTC."""
    return json_rows(rows, rows.column_names, "UTC")
