"""Spark SQL types whose values the Arrow scan can read and compute with."""

import re

import pyarrow as pa

INTEGERS = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
"""Integer types, narrower ones first."""

NUMBERS = INTEGERS | {"float": pa.float32(), "double": pa.float64()}
"""Number types in the order in which Spark widens them."""

_OTHERS = {
    "boolean": pa.bool_(), "string": pa.string(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip
_SYNONYMS = {
    "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float", "bool": "boolean",
    "timestamp_ltz": "timestamp", "dec": "decimal(10,0)", "decimal": "decimal(10,0)", "numeric": "decimal(10,0)",
}  # fmt: skip
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")


def canonical_type(name: str) -> str:
    """Return the lower-case name of a Spark SQL type that `arrow_type` knows; other names are only made lower case.

    >>> canonical_type("INTEGER"), canonical_type("Decimal( 8, 2)"), canonical_type("MAP<INT, INT>")
    ('int', 'decimal(8,2)', 'map<int, int>')
    """
    name = name.strip().lower()
    if found := _DECIMAL.fullmatch(name):
        return f"decimal({int(found[1])},{int(found[2] or 0)})"
    return _SYNONYMS.get(name, name)


def arrow_type(name: str) -> pa.DataType | None:
    """Return the Arrow type of a canonical Spark SQL type, None if the scan does not know it."""
    if found := _DECIMAL.fullmatch(name):
        precision, scale = int(found[1]), int(found[2] or 0)
        return pa.decimal128(precision, scale) if 1 <= precision <= 38 and scale <= precision else None
    return NUMBERS.get(name) or _OTHERS.get(name)


def is_decimal(name: str) -> bool:
    """Tell whether a canonical type is DECIMAL."""
    return name.startswith("decimal")
