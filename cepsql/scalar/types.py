"""Spark's types as data."""

import re
from dataclasses import dataclass

_UNITS = ("day", "hour", "minute", "second")
_SYNONYMS = {
    "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float", "bool": "boolean",
    "timestamp_ltz": "timestamp", "timestampntz": "timestamp_ntz", "timestampltz": "timestamp", "dec": "decimal",
    "numeric": "decimal", "null": "void",
}  # fmt: skip
_SIMPLE = {
    "void", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date",
    "timestamp", "timestamp_ntz",
}  # fmt: skip
_INTERVAL = re.compile(r"interval (\w+)(?: to (\w+))?")


@dataclass(frozen=True)
class Type:
    """A type of Spark SQL.

    name:      Spark's name without parameters; "interval" is a day-time interval, "unknown" an unknown type.
    precision, scale: of a decimal; for an interval its first and last unit, from 0 (day) to 3 (second).
    arguments: the element of an array, or the key and value of a map.
    """

    name: str
    precision: int = 0
    scale: int = 0
    arguments: tuple["Type", ...] = ()

    def __str__(self) -> str:
        """Return the name that Spark's `typeof` gives."""
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.name == "interval":
            units = _UNITS[self.precision], _UNITS[self.scale]
            return f"interval {units[0]}" + (f" to {units[1]}" if units[0] != units[1] else "")
        if self.arguments:
            return f"{self.name}<{','.join(map(str, self.arguments))}>"
        return self.name


VOID, BOOLEAN, STRING, BINARY = Type("void"), Type("boolean"), Type("string"), Type("binary")
TINYINT, SMALLINT, INT, BIGINT = Type("tinyint"), Type("smallint"), Type("int"), Type("bigint")
FLOAT, DOUBLE = Type("float"), Type("double")
DATE, TIMESTAMP, TIMESTAMP_NTZ = Type("date"), Type("timestamp"), Type("timestamp_ntz")
INTERVAL, UNKNOWN = Type("interval", 0, 3), Type("unknown")

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
"""Integer types, narrower ones first."""

FRACTIONS = (FLOAT, DOUBLE)
TIMESTAMPS = (TIMESTAMP, TIMESTAMP_NTZ)
DATETIMES = (DATE, *TIMESTAMPS)


def decimal(precision: int, scale: int) -> Type:
    """Return a DECIMAL type."""
    return Type("decimal", precision, scale)


def array_of(element: Type) -> Type:
    """Return an ARRAY type."""
    return Type("array", arguments=(element,))


def is_decimal(type: Type) -> bool:
    """Tell whether a type is DECIMAL."""
    return type.name == "decimal"


def is_number(type: Type) -> bool:
    """Tell whether a type is an integer, a DECIMAL, FLOAT or DOUBLE."""
    return type in INTEGERS or type in FRACTIONS or type.name == "decimal"


def parse_type(text: str) -> Type:
    """Parse a Spark SQL type; UNKNOWN for types that expressions do not support.

    >>> str(parse_type("DECIMAL( 8, 2)")), str(parse_type("array<INTEGER>")), str(parse_type("interval day to second"))
    ('decimal(8,2)', 'array<int>', 'interval day to second')
    """
    text = " ".join(text.lower().split())
    name, _, inside = text.partition("(")
    name = _SYNONYMS.get(name.strip(), name.strip())
    if name == "decimal":
        sizes = [int(part) for part in inside.rstrip(") ").split(",")] if inside else [10]
        return decimal(sizes[0], sizes[1] if len(sizes) > 1 else 0)
    if name in ("varchar", "char") and inside:
        return STRING
    if match := _INTERVAL.fullmatch(text):
        first, last = match[1], match[2] or match[1]
        return Type("interval", _UNITS.index(first), _UNITS.index(last)) if {first, last} <= {*_UNITS} else UNKNOWN
    if text.startswith(("array<", "map<")) and text.endswith(">"):
        kind, inner = text[:-1].split("<", 1)
        arguments = tuple(map(parse_type, _split(inner)))
        return UNKNOWN if UNKNOWN in arguments else Type(kind, arguments=arguments)
    return Type(name) if name in _SIMPLE else UNKNOWN


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
