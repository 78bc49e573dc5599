"""The columns of rows from records: values by FORMAT, metadata by name, and marks of malformed records."""

import json
from collections.abc import Mapping
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepsql.analysis.ddl.debezium_modes import MODES
from cepsql.analysis.ddl.record_formats import keyed_by_record
from cepsql.analysis.sql.properties import DELETED, ORIGIN, PLACE
from cepsql.catalog import ColumnDefinition, Source, ValueFormat
from cepsql.errors import ProgrammingError
from cepsql.language.tokens import quoted
from cepsql.readers.scan.long_lines import LONG_LINE
from cepsql.spark.frames.key_columns import ARRIVAL, FORMER
from cepsql.spark.sources.debezium_values import SCHEMA_DDL, coded_type, decoded_value

RECORD_COLUMNS = {
    "key": "key",
    "value": "value",
    "topic": "topic",
    "partition": "partition",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestamp_type": "timestampType",
    "headers": "headers",
}
"""The columns of a record in Spark, by their names in METADATA FROM."""

_TEXT, _PARSED, _KEY, _CORRUPT, _READ = "__text", "__parsed", "__key", "__corrupt_value", "__read"
_END, _JSON_SPACE = "__end", " \t\n\r"
_CHANGE_METADATA = ("op", "ts_ms")


def decoded(source: Source, records: DataFrame, malformed: str, text: str) -> DataFrame:
    """Return the declared columns of a source that are not computed, and two more.

    records:   the rows of Kafka, with the columns of Spark's connector.
    malformed: name of a BOOLEAN column that marks malformed records, whose values may be incomplete. Records without a
               value are malformed, except with FORMAT debezium, which ignores them.
    text:      name of a STRING column with the value of a malformed record, as far as it is UTF-8.
    A stream with a PRIMARY KEY has ARRIVAL, if records have it, and DELETED: from FORMAT debezium, or true for a record
    without a value whose key is the PRIMARY KEY. FORMAT debezium also has the FORMER key, unless that is computed.
    """
    value = source.value
    if value is None:
        return _plain(source, records, malformed, text)
    if value.name == "debezium":
        records = records.where("value IS NOT NULL")
    whole = F.col("value").cast("string")
    frame = records.withColumn(_TEXT, whole).withColumn(_PARSED, _parsed(value, source, whole))
    if value.name == "debezium" and _key_columns(source) and "key" in records.columns:
        frame = frame.withColumn(_KEY, _parsed_key(source, value))
    # If the record's metadata has the whole key, it identifies the deleted row: a NULL in it is malformed anyway.
    named = F.col(_KEY).isNotNull() if _KEY in frame.columns else F.lit(_key_is_carried(source))
    wrong = ~_readable(value, F.col(_TEXT)) | _misfit(value, source, named)
    carried = [column for column in source.columns if column.metadata is not None]
    texts = [c for c in carried if RECORD_COLUMNS.get(_metadata(c)) == "key" and c.type.strip().upper() == "STRING"]
    if texts:
        wrong = wrong | F.coalesce(~F.is_valid_utf8(F.col("key").cast("string")), F.lit(False))
    read = {
        c.name: _value(value, c, source, _KEY in frame.columns) if c.metadata is None else _carried(value, c)
        for c in source.columns
        if c.expression is None
    }
    for name in source.key:
        wrong = wrong | read[name].isNull() if name in read else wrong
    wrong = F.coalesce(wrong, F.lit(True))
    selected = [column.alias(name) for name, column in read.items()]
    hidden = _hidden(records)
    if source.key and value.name == "debezium":
        hidden.append(F.coalesce(_change("op") == "d", F.lit(False)).alias(DELETED))
        if read.keys() >= set(source.key):
            hidden.append(F.when(~wrong, _former(source, value, read)).alias(FORMER))
    elif keyed_by_record(source):
        gone = F.col("value").isNull()
        hidden.append(gone.alias(DELETED))
        wrong = wrong & ~gone
    return frame.select(*selected, *hidden, wrong.alias(malformed), _shown(wrong).alias(text))


def _plain(source: Source, records: DataFrame, malformed: str, text: str) -> DataFrame:
    """Return columns of records unchanged, by name; texts must be UTF-8."""
    by_name = {name.lower(): name for name in records.columns}
    wrong, selected = F.lit(False), []
    for column in source.columns:
        if column.expression is not None:
            continue
        name = RECORD_COLUMNS[_metadata(column)] if column.metadata else by_name.get(column.name.lower(), column.name)
        read = F.col(quoted(name)).cast(column.type)
        if records.schema[name].dataType.typeName() == "binary" and column.type.strip().upper() != "BINARY":
            valid = F.is_valid_utf8(F.col(quoted(name)).cast("string"))
            wrong = wrong | F.coalesce(~valid, F.lit(False))
        selected.append(read.alias(column.name))
    hidden = _hidden(records)
    return records.select(*selected, *hidden, wrong.alias(malformed), _shown(wrong).alias(text))


def _hidden(records: DataFrame) -> list[Column]:
    return [F.col(name) for name in (ARRIVAL, ORIGIN, PLACE) if name in records.columns]


def _shown(malformed: Column) -> Column:
    """Return the value of a malformed record as text."""
    return F.when(malformed, F.make_valid_utf8(F.col("value").cast("string")))


def _metadata(column: ColumnDefinition) -> str:
    assert column.metadata is not None
    return column.metadata.lower()


def _ddl(columns: list[ColumnDefinition]) -> str:
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)


def _value_columns(source: Source) -> list[ColumnDefinition]:
    return [column for column in source.columns if column.expression is None and column.metadata is None]


def _coded_ddl(columns: list[ColumnDefinition], value: ValueFormat) -> str:
    return ", ".join(f"{quoted(column.name)} {coded_type(column, _modes(value))}" for column in columns)


def _modes(value: ValueFormat) -> dict[str, str]:
    return {name.lower(): option for name, option in value.options if name.lower() in MODES}


def _json_options(options: Mapping[str, str]) -> dict[str, str]:
    return {name: option for name, option in options.items() if name.lower() not in MODES}


def _key_columns(source: Source) -> list[ColumnDefinition]:
    """Return the columns of the PRIMARY KEY that are in the value."""
    key = {name.lower() for name in source.key}
    return [column for column in _value_columns(source) if column.name.lower() in key]


def _key_is_carried(source: Source) -> bool:
    """Tell whether all columns of the PRIMARY KEY are metadata of the record."""
    carried = {column.name.lower() for column in source.columns if column.metadata is not None}
    return bool(source.key) and carried >= {name.lower() for name in source.key}


def _parsed(value: ValueFormat, source: Source, text: Column) -> Column:
    """Return the parsed value as a struct, NULL for an empty value."""
    ddl = _ddl(_value_columns(source))
    options = dict(value.options) | {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    if value.name == "avro":
        return _avro(dict(value.options))
    if value.name == "csv":
        return F.from_csv(_line(text), f"{ddl}, {_CORRUPT} STRING", options)
    if value.name == "debezium":
        ddl = _coded_ddl(_value_columns(source), value)
        change = f"before: STRUCT<{ddl}>, after: STRUCT<{ddl}>, op: STRING, ts_ms: BIGINT"
        envelope = f"before STRUCT<{ddl}>, after STRUCT<{ddl}>, op STRING, ts_ms BIGINT, payload STRUCT<{change}>"
        return F.from_json(text, f"{envelope}, schema {SCHEMA_DDL}, {_CORRUPT} STRING", _json_options(options))
    return F.from_json(text, f"{ddl}, {_CORRUPT} STRING", options)


def _avro(options: dict[str, str]) -> Column:
    """Return what Spark's Avro package reads; with a `schema_id`, only from values that begin with it."""
    try:
        schema = json.loads(options["schema"])
    except ValueError:
        raise ProgrammingError("the schema of FORMAT avro is no JSON") from None
    if not isinstance(schema, dict) or not isinstance(schema.get("fields"), list):
        raise ProgrammingError("the schema of FORMAT avro is not that of a record")
    value = F.col("value")
    if "schema_id" in options:
        mark = F.lit(b"\0" + int(options["schema_id"]).to_bytes(4, "big"))
        value = F.when(F.substring(value, 1, 5) == mark, F.expr("substring(value, 6)"))
    # An unreadable value becomes a record of NULLs, in which even a field with a default is NULL.
    asked = schema | {"fields": [*schema["fields"], {"name": _READ, "type": "int", "default": 1}]}
    avro_options = {"mode": "PERMISSIVE", "avroSchema": json.dumps(asked)}
    pairs = [F.lit(text) for pair in avro_options.items() for text in pair]
    return F.call_function("from_avro", value, F.lit(options["schema"]), F.create_map(*pairs))


def _readable(value: ValueFormat, text: Column) -> Column:
    """Tell whether the value is present and one row of text; a second line would be lost."""
    if value.name == "avro":
        return F.col("value").isNotNull()
    valid = F.is_valid_utf8(text)
    if value.name != "csv":
        comments = next((setting for name, setting in value.options if name.lower() == "allowcomments"), "false")
        return valid if comments.lower() == "true" else valid & _is_alone(text)
    line = _line(text)
    return valid & (line != LONG_LINE) & (F.trim(line) != "") & ~line.contains("\n") & ~line.contains("\r")


def _is_alone(text: Column) -> Column:
    """Tell whether nothing follows the object in a text; Spark stops reading at its end."""
    ends = F.instr(text, "}") == F.length(F.rtrim(text, F.lit(_JSON_SPACE)))
    # As the first of two values in an array, only the second value may follow it.
    array = F.concat(F.lit("["), F.ltrim(text, F.lit(f"\ufeff{_JSON_SPACE}")), F.lit(f',{{"{_END}":1}}]'))
    values = F.from_json(array, f"ARRAY<STRUCT<{_END}: INT>>")
    alone = (F.size(values) == 2) & (values.getItem(1).getField(_END) == 1)
    return F.when(ends, True).otherwise(F.coalesce(alone, F.lit(False)))


def _line(text: Column) -> Column:
    """Return a text without its end of line."""
    return F.regexp_replace(text, r"\r?\n\z", "")


def _misfit(value: ValueFormat, source: Source, named: Column) -> Column:
    """Tell whether the parsed value differs from the declaration; `named`: a deletion needs no row to hold its key."""
    parsed = F.col(_PARSED)
    if value.name == "avro":
        wrong = parsed.getField(_READ).isNull()
        for column in _value_columns(source):
            read = parsed.getField(column.name)
            wrong = wrong | (read.isNotNull() & read.try_cast(column.type).isNull())
        return wrong
    wrong = parsed.isNull() | parsed.getField(_CORRUPT).isNotNull()
    if value.name == "debezium":
        for column in _value_columns(source):
            raw = _row().getField(column.name)
            wrong = wrong | (raw.isNotNull() & _decoded(value, column, raw).isNull())
        is_known_op = _change("op").isin("c", "u", "d", "r")
        wrong = wrong | ~F.coalesce(is_known_op, F.lit(False)) | (_row().isNull() & ~((_change("op") == "d") & named))
    return wrong


def _value(value: ValueFormat, column: ColumnDefinition, source: Source, keyed: bool) -> Column:
    if value.name == "debezium":
        read = _row().getField(column.name)
        of_key = keyed and column.name.lower() in map(str.lower, source.key)
        return _decoded(value, column, F.coalesce(read, _of_key(column)) if of_key else read)
    read = F.col(_PARSED).getField(column.name)
    return read.try_cast(column.type) if value.name == "avro" else read


def _decoded(value: ValueFormat, column: ColumnDefinition, raw: Column) -> Column:
    """Return a value of a change, decoded from Debezium's representation."""
    return decoded_value(raw, column, _modes(value), F.col(_PARSED).getField("schema"))


def _carried(value: ValueFormat, column: ColumnDefinition) -> Column:
    name = _metadata(column)
    if name in _CHANGE_METADATA:
        return _change(name)
    return F.col(RECORD_COLUMNS[name]).cast(column.type)


def _change(name: str) -> Column:
    """Return a part of a change, which Debezium may wrap with its schema."""
    parsed = F.col(_PARSED)
    return F.coalesce(parsed.getField("payload").getField(name), parsed.getField(name))


def _parsed_key(source: Source, value: ValueFormat) -> Column:
    """Return the key of a record as a struct: a deletion may have no other data of its row."""
    ddl = _coded_ddl(_key_columns(source), value)
    options = _json_options(dict(value.options))
    return F.from_json(F.col("key").cast("string"), f"{ddl}, payload STRUCT<{ddl}>", options)


def _of_key(column: ColumnDefinition) -> Column:
    parsed = F.col(_KEY)
    return F.coalesce(parsed.getField("payload").getField(column.name), parsed.getField(column.name))


def _former(source: Source, value: ValueFormat, read: Mapping[str, Column]) -> Column:
    """Return the former key where a change gave the row another one; NULL where it did not, or the key is unknown."""
    in_value = {column.name: column for column in _key_columns(source)}
    # Key columns outside the value come from the record, before and after the change.
    before = {
        name: _decoded(value, in_value[name], _change("before").getField(name)) if name in in_value else read[name]
        for name in source.key
    }
    has_key_before = reduce(and_, (column.isNotNull() for column in before.values()))
    moved = reduce(or_, (column != read[name] for name, column in before.items()))
    former = F.struct(*(column.alias(name) for name, column in before.items()))
    return F.when((_change("op") != "d") & has_key_before & moved, former)


def _row() -> Column:
    """Return the row after an insert or update, and before a delete."""
    return F.when(_change("op") == "d", _change("before")).otherwise(_change("after"))
