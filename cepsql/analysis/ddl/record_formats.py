"""The clauses of a stream whose rows come in records: FORMAT, METADATA columns, and where reading starts."""

import re
from collections.abc import Sequence

from cepsql.analysis.ddl.debezium_modes import MODES, coded_kind, missing_mode, wrong_mode
from cepsql.analysis.ddl.metadata_columns import file_metadata, known_file_metadata
from cepsql.catalog import ColumnDefinition, Source, ValueFormat
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.statements import CreateSource

VALUE_FORMATS = ("json", "csv", "avro", "debezium")

_TEXT = ("string", "binary")
_METADATA = {
    "key": _TEXT,
    "headers": ("array<struct<key:string,value:binary>>",),
    "topic": ("string",),
    "partition": ("int", "bigint"),
    "offset": ("bigint",),
    "timestamp": ("timestamp",),
    "timestamp_type": ("int", "bigint"),
}
_PLAIN = _METADATA | {"value": _TEXT, "timestamptype": _METADATA["timestamp_type"]}
_DEBEZIUM_METADATA = {"op": ("string",), "ts_ms": ("bigint",)}
_ALIASES = {"integer": "int", "long": "bigint", "timestamp_ltz": "timestamp"}
_ENCODED = re.compile(r"\b(timestamp|timestamp_ntz|timestamp_ltz|date|decimal|dec|numeric|binary|interval)\b", re.I)
_TIME_OPTIONS = ("dateFormat", "timestampFormat", "timestampNTZFormat", "timeZone", "locale",
                 "enableDateTimeParsingFallback")  # fmt: skip
_JSON_OPTIONS = (
    "allowBackslashEscapingAnyCharacter", "allowComments", "allowNonNumericNumbers", "allowNumericLeadingZeros",
    "allowSingleQuotes", "allowUnquotedControlChars", "allowUnquotedFieldNames", *_TIME_OPTIONS,
)  # fmt: skip
_CSV_OPTIONS = (
    "sep", "delimiter", "quote", "escape", "charToEscapeQuoteEscaping", "comment", "nullValue", "emptyValue",
    "nanValue", "positiveInf", "negativeInf", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "maxColumns",
    "maxCharsPerColumn", "unescapedQuoteHandling", *_TIME_OPTIONS,
)  # fmt: skip
_VALUE_OPTIONS = {
    "json": _JSON_OPTIONS, "csv": _CSV_OPTIONS, "avro": ("schema", "schema_id"), "debezium": (*_JSON_OPTIONS, *MODES),
}  # fmt: skip
START_OPTIONS = (
    "startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp", "startingoffsetsbytimestampstrategy",
)  # fmt: skip


def defined_value(create: CreateSource) -> ValueFormat | None:
    """Return how values of records are read, None where the stream does not say.

    Raises ProgrammingError or NotSupportedError, with the place, for a format or a METADATA column that there is not.
    """
    _check_metadata(create)
    if create.value is None:
        _check_plain(create)
        return None
    name, span = create.value.format.text, create.value.format.span
    if create.format != "kafka" and (create.format, name) != ("json", "debezium"):
        raise NotSupportedError(
            f"FORMAT is for records of Kafka, and {create.name.text} is read as {create.format}",
            span,
            f"USING {name} reads files of that format" if name in ("json", "csv") else None,
        )
    if name not in VALUE_FORMATS:
        hint = suggestion(name, VALUE_FORMATS, "formats")
        raise NotSupportedError(f"values of the format {name} are not supported", span, hint)
    if not create.columns:
        raise ProgrammingError("a table of records needs columns", create.name.span, f"{create.name.text} (id BIGINT)")
    if not any(column.expression is None and column.metadata is None for column in create.columns):
        raise ProgrammingError(
            f"no column of {create.name.text} is read from the value", span, "leave out FORMAT to read metadata only"
        )
    _check_value_options(name, dict(create.value.options), span)
    if name == "debezium":
        _check_debezium(create)
    return ValueFormat(name, create.value.options)


def defined_options(create: CreateSource) -> tuple[tuple[str, str], ...]:
    """Return the options of a source together with what FROM says, as the options of Spark's connector for Kafka.

    `startingtimestamp` is a number of milliseconds, or a text that the session reads as a TIMESTAMP.
    Raises ProgrammingError if both say where to start, or FROM makes no sense.
    """
    start = create.start
    if start is None:
        return create.options
    if create.format != "kafka":
        raise NotSupportedError(
            f"FROM {start.position.upper()} is for Kafka, and {create.name.text} is read as {create.format}", start.span
        )
    option = next((name for name, _ in create.options if name.lower() in START_OPTIONS), None)
    if option is not None:
        raise ProgrammingError(f"FROM and the option {option} both say where to start", start.span)
    if start.position == "latest" and not create.streaming:
        raise ProgrammingError(
            "a bounded table FROM LATEST would have no rows", start.span, "a table ends at the latest records"
        )
    return (*create.options, start_option(start.time or start.position))


def start_option(start: str) -> tuple[str, str]:
    """Return the option that begins reading at `start`: earliest, latest, or a time as text."""
    offsets = start.lower() in ("earliest", "latest")
    return ("startingoffsets", start.lower()) if offsets else ("startingtimestamp", start)


def operation_column(create: CreateSource) -> str | None:
    """Return the column of a stream that has Debezium's code of the change, None if it has none."""
    return None if create.value is None or create.value.format.text != "debezium" else code_column(create.columns)


def code_column(columns: Sequence[ColumnDefinition]) -> str | None:
    """Return the one of Debezium's columns that has the code of the change, None if there is none."""
    return next((column.name for column in columns if (column.metadata or "").lower() == "op"), None)


def keyed_by_record(source: Source) -> bool:
    """Tell whether the PRIMARY KEY is in the key of records, so that one without a value says which row it deletes."""
    if source.value is None or source.value.name == "debezium":
        return False
    by_name = {column.name.lower(): column for column in source.columns}
    kinds = [by_name[name.lower()].metadata for name in source.key]
    return bool(kinds) and all(kind is not None and kind.lower() == "key" for kind in kinds)


def _check_plain(create: CreateSource) -> None:
    """Refuse columns that no record has, where no FORMAT says how to find them in its value."""
    for column in create.columns if create.format == "kafka" else ():
        if column.expression is not None or column.metadata is not None:
            continue
        name, span = column.name.lower(), create.spans[column.name.lower()]
        if name not in _PLAIN:
            hint = "FORMAT json, csv, avro or debezium behind OPTIONS says how columns are read out of the value"
            raise ProgrammingError(f"a record of Kafka has no {column.name}", span, hint)
        _check_type(column, name, _PLAIN[name], span)


def _check_metadata(create: CreateSource) -> None:
    for column in create.columns:
        if column.metadata is None:
            continue
        span = create.spans[column.name.lower()]
        debezium = create.value is not None and create.value.format.text == "debezium"
        of_files = {} if create.value is not None else known_file_metadata(create.format)
        if create.format != "kafka" and not debezium and not of_files:
            message = f"METADATA is for Kafka and files, and {create.name.text} is read as {create.format}"
            raise NotSupportedError(message, span)
        fields = _METADATA if create.format == "kafka" else of_files
        fields = fields | (_DEBEZIUM_METADATA if debezium else {})
        name = file_metadata(column.metadata) if of_files else column.metadata.lower()
        types = fields.get(name)
        if types is None:
            hint = suggestion(column.metadata, fields, "metadata")
            raise ProgrammingError(f"there is no metadata {column.metadata}", span, hint)
        if of_files and all(other.expression is not None or other.metadata is not None for other in create.columns):
            raise ProgrammingError(f"no column of {create.name.text} is read from the files", span)
        _check_type(column, column.metadata, types, span, "file" if of_files else "record")


def _check_type(column: ColumnDefinition, what: str, types: tuple[str, ...], span: Span, owner: str = "record") -> None:
    kind = _compact(column.type)
    if _ALIASES.get(kind, kind) not in map(_compact, types):
        hint = f"declare it {' or '.join(map(str.upper, types))}, and compute another type: x INT AS CAST(...)"
        raise ProgrammingError(f"the {what.lower()} of a {owner} is no {column.type.upper()}", span, hint)


def _compact(type: str) -> str:
    return re.sub(r"[\s:`]+", "", type.lower())


def _check_value_options(name: str, options: dict[str, str], span: Span) -> None:
    allowed = _VALUE_OPTIONS[name]
    for option in options:
        if option.lower() in ("mode", "columnnameofcorruptrecord"):
            raise NotSupportedError(
                f"the option {option} is not supported here: what cannot be read as declared is malformed", span
            )
        if option.lower() not in map(str.lower, allowed):
            hint = suggestion(option, allowed, "options")
            raise ProgrammingError(f"FORMAT {name} has no option {option}", span, hint)
    if name != "avro":
        return
    number = options.get("schema_id", "0")
    if not (number.isdecimal() and int(number) < 2**31):
        raise ProgrammingError(f"the schema_id {number} is no number of a schema", span)
    if "schema" not in options:
        hint = "FORMAT avro OPTIONS (schema '{...}')"
        raise ProgrammingError("FORMAT avro needs the schema of the values", span, hint)


def _check_debezium(create: CreateSource) -> None:
    """Refuse what would make of changes something that they are not."""
    assert create.value is not None
    span = create.value.format.span
    if create.key is None and operation_column(create) is None:
        raise ProgrammingError(
            "FORMAT debezium gives a row for each change, and nothing here tells inserts, updates and deletes apart",
            span,
            "PRIMARY KEY (...) makes a table of them; or add op STRING METADATA: c, u, d, or r (read by a snapshot)",
        )
    options = dict(create.value.options)
    if (wrong := wrong_mode(options)) is not None:
        raise ProgrammingError(f"FORMAT debezium knows no {wrong[0]} {wrong[1]}", span, wrong[2])
    for column in create.columns:
        coded = _ENCODED.search(column.type) if column.expression is None and column.metadata is None else None
        mode = missing_mode(column.type, options)
        if coded is not None and (mode is not None or coded_kind(column.type) is None):
            hint = "declare it as in the JSON, BIGINT or STRING, and compute it: at TIMESTAMP AS timestamp_millis(ms)"
            if mode is not None:
                hint = f"OPTIONS ({mode} '{MODES[mode][0]}') behind FORMAT debezium says how its connector writes it"
            raise NotSupportedError(
                f"FORMAT debezium does not read {column.name} as {coded[0].upper()}: Debezium has several codes for it",
                create.spans[column.name.lower()],
                hint,
            )
