"""Decode Debezium's representations of decimals, dates, times and bytes to values of the declared types."""

from collections.abc import Callable, Mapping
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from cepsql.analysis.ddl.debezium_modes import BINARY_MODE, DECIMAL_MODE, PRECISION, TIME_MODE, coded_kind
from cepsql.catalog import ColumnDefinition
from cepsql.scalar.types import parse_type

SCHEMA_DDL = (
    "STRUCT<fields: ARRAY<STRUCT<field: STRING, fields: "
    "ARRAY<STRUCT<field: STRING, name: STRING, parameters: STRUCT<scale: STRING>>>>>>"
)
"""The parts that are read of the schema that Debezium may add to a change."""

_PLAIN_NUMBER = r"^-?\d{1,18}$"
_UNITS = {"connect": "ms", "microseconds": "us", "nanoseconds": "ns"}
_DIGITS = {"3": "ms", "6": "us", "9": "ns"}
_NAMED_UNITS = {
    "io.debezium.time.Timestamp": "ms",
    "org.apache.kafka.connect.data.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
}
_MOST_MILLIS = 9_223_372_036_854_775


def coded_type(column: ColumnDefinition, options: Mapping[str, str]) -> str:
    """Return the type with which JSON is parsed for a column: STRING if its value is encoded."""
    return "STRING" if _is_coded(column, options) else column.type


def decoded_value(raw: Column, column: ColumnDefinition, options: Mapping[str, str], schema: Column) -> Column:
    """Return the value of a column that was parsed as its `coded_type`, NULL if it is not of the declared type.

    schema: as in SCHEMA_DDL, NULL for changes without schema; an encoding in the schema overrides the options.
    """
    kind = coded_kind(column.type)
    if kind is None or not _is_coded(column, options):
        return raw
    field = _field(schema, column.name)
    if kind == "decimal":
        return _decimal(raw, column.type, field)
    if kind == "binary":
        return _bytes(raw, options[BINARY_MODE].lower())
    if kind == "date":
        days = F.when(raw.rlike(_PLAIN_NUMBER), F.date_from_unix_date(raw.try_cast("int")))
        # isostring writes dates with an offset, as 2026-03-29Z.
        return F.coalesce(days, F.regexp_replace(raw, r"(\d)(?:Z|[+-]\d\d:\d\d)$", "$1").try_cast("date"))
    return _time(raw, kind, _unit(options), field)


def _is_coded(column: ColumnDefinition, options: Mapping[str, str]) -> bool:
    kind = coded_kind(column.type)
    return kind is not None and (kind != "decimal" or options.get(DECIMAL_MODE, "").lower() == "precise")


def _field(schema: Column, name: str) -> Column:
    """Return the schema of a column of the row."""
    row = F.filter(schema.getField("fields"), lambda part: part.getField("field").isin("after", "before"))
    return F.get(F.filter(F.get(row, F.lit(0)).getField("fields"), lambda f: f.getField("field") == name), F.lit(0))


def _unit(options: Mapping[str, str]) -> str | None:
    """Return the unit in which a mode counts times, None if it writes no numbers."""
    mode = options[TIME_MODE].lower()
    return _DIGITS[options.get(PRECISION, "6")] if mode.startswith("adaptive") else _UNITS.get(mode)


def _time(raw: Column, kind: str, unit: str | None, field: Column) -> Column:
    """Return a time from a number since 1970 or from ISO text; a time without zone shows the clock of UTC."""

    def time_of(value: Column) -> Column:
        number = F.when(value.rlike(r"^-?\d+$"), value.try_cast("bigint"))
        micros = (
            F.when((said == "ms") & (F.abs(number) <= _MOST_MILLIS), number * 1000)
            .when(said == "us", number)
            .when(said == "ns", F.call_function("div", number, F.lit(1000)) - F.when(number % 1000 < 0, 1).otherwise(0))
        )
        return F.coalesce(_at(micros, kind), F.when(value.contains("-") & number.isNull(), value.try_cast(kind)))

    name = field.getField("name")
    named = F.create_map(*(F.lit(text) for pair in _NAMED_UNITS.items() for text in pair))
    said = F.coalesce(F.try_element_at(named, name), F.lit(unit))
    return _let(raw, time_of)


def _bytes(raw: Column, mode: str) -> Column:
    """Return the bytes in a text; Kafka Connect's converter also writes `bytes` in base64."""
    if mode == "hex":
        return F.try_to_binary(raw, F.lit("hex"))
    return F.try_to_binary(F.translate(raw, "-_", "+/") if mode == "base64-url-safe" else raw, F.lit("base64"))


def _at(micros: Column, kind: str) -> Column:
    if kind == "timestamp":
        return F.timestamp_micros(micros)
    return F.expr("TIMESTAMP_NTZ '1970-01-01 00:00:00'") + F.expr("INTERVAL '0.000001' SECOND") * micros


def _decimal(raw: Column, type: str, field: Column) -> Column:
    """Return a decimal whose unscaled value is an integer in base64, possibly in an object with its scale."""
    is_object = raw.startswith("{")
    base64 = F.when(is_object, F.get_json_object(raw, "$.value")).otherwise(raw)
    own = F.when(is_object, F.get_json_object(raw, "$.scale")).otherwise(field.getField("parameters").getField("scale"))
    scale = F.coalesce(own.try_cast("int"), F.lit(parse_type(type).scale))
    return _let(F.struct(_integer(base64).alias("number"), scale.alias("scale")), _scaled).try_cast(type)


def _scaled(value: Column) -> Column:
    """Return the text of a decimal: `number` with its last `scale` digits after the decimal point."""
    number, scale = value.getField("number"), value.getField("scale")
    sign = F.when(number < 0, "-").otherwise("")
    places = F.greatest(scale, F.lit(0))

    def pointed(digits: Column) -> Column:
        return F.concat(
            sign, F.substring(digits, F.lit(1), F.length(digits) - places), F.lit("."), F.right(digits, places)
        )

    text = F.regexp_replace(number.cast("string"), "^-", "")
    padded = F.lpad(text, F.greatest(F.length(text), scale + 1), F.lit("0"))
    return _let(F.concat(padded, F.repeat(F.lit("0"), -scale)), pointed)


def _integer(text: Column) -> Column:
    """Return the big-endian integer of at most 16 bytes in a base64 text, as DECIMAL(38,0)."""
    return _let(F.hex(F.try_to_binary(text, F.lit("base64"))), lambda digits: _let(_padded(digits), _of_digits))


def _padded(digits: Column) -> Column:
    """Return the digits of an integer, sign-extended to 32 hexadecimal digits."""
    sign = F.when(F.substring(digits, 1, 1) >= "8", "F").otherwise("0")
    return F.when(F.length(digits).between(1, 32), F.lpad(digits, F.lit(32), sign))


def _of_digits(digits: Column) -> Column:
    parts = [F.conv(F.substring(digits, 1 + 8 * i, 8), 16, 10).cast("decimal(10,0)") for i in range(4)]
    parts[0] = F.when(digits >= "8", parts[0] - 2**32).otherwise(parts[0]).cast("decimal(10,0)")
    weights = [F.lit(str(2 ** (96 - 32 * i))).cast("decimal(29,0)") for i in range(4)]
    terms = [F.try_multiply(part, weight).cast("decimal(38,0)") for part, weight in zip(parts, weights, strict=True)]
    return reduce(F.try_add, terms)


def _let(value: Column, body: Callable[[Column], Column]) -> Column:
    """Return an expression over a value that is computed once, however often the expression uses it."""
    return F.get(F.transform(F.array(value), body), F.lit(0))
