"""WITH ('connector' = ...), in which Flink says where the rows of a table are: the format and options that it means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.statements import Name, StartClause, ValueClause
from cepsql.language.tokens import Text

_FORMATS = {
    "json": "json", "csv": "csv", "avro": "avro", "debezium-json": "debezium", "parquet": "parquet", "orc": "orc",
    "raw": "text",
}  # fmt: skip
_VALUES = ("json", "csv", "avro", "debezium-json")
_OF_CSV = {
    "field-delimiter": "sep", "quote-character": "quote", "escape-character": "escape", "null-literal": "nullValue",
}  # fmt: skip
_MEANINGLESS = (
    "ignore-parse-errors", "fail-on-missing-field", "timestamp-format.standard", "allow-comments", "schema-include",
    "map-null-key.mode", "map-null-key.literal", "encode.decimal-as-plain-number", "encode.ignore-null-fields",
    "decode.json-parser.enabled", "disable-quote-character", "write-bigdecimal-in-scientific-notation",
)  # fmt: skip
"""Options of formats that mean nothing here: what cannot be read as declared is malformed, and counted."""

_PASSED_OVER = ("sink.", "partition.", "auto-compaction", "compaction.", "scan.topic-partition-discovery.interval")
"""What options begin with that only say how Flink writes, or how often it looks for partitions."""

_STARTS = {
    "earliest-offset": "earliest", "earliest": "earliest", "latest-offset": "latest", "latest": "latest",
    "timestamp": "timestamp",
}  # fmt: skip
_INSTEAD = {
    "jdbc": "USING jdbc OPTIONS (url 'jdbc:...', dbtable 'name') reads a table of a database, CREATE SINK ... USING "
    "postgresql writes one",
    "elasticsearch-7": "CREATE SINK ... USING webhook OPTIONS (url '...') sends rows to a service",
    "hive": "CREATE TABLE name USING table OPTIONS (table 'database.name') reads a table of Spark's catalog",
    "iceberg": "USING iceberg OPTIONS (path '...')",
    "delta": "USING delta OPTIONS (path '...')",
    "hudi": "USING hudi OPTIONS (path '...')",
    "kinesis": "USING kafka OPTIONS (...) FORMAT json reads a stream of messages",
    "pulsar": "USING kafka OPTIONS (...) FORMAT json reads a stream of messages",
}
_CDC = (
    "Debezium writes the changes of a database into Kafka: USING kafka OPTIONS (subscribe 'topic', ...) FORMAT debezium"
)
_CONNECTORS = ("kafka", "upsert-kafka", "filesystem", "datagen", "print", "blackhole")
_TYPES = {"BYTES": "BINARY", "VARBINARY": "BINARY", "VARCHAR": "STRING", "CHAR": "STRING", "ROW": "STRUCT"}
_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")


@dataclass(frozen=True)
class Connected:
    """What a connector is here.

    format, options, value, start: as clauses of CREATE STREAM, CREATE TABLE or CREATE SINK say.
    kind:   "stream", "table" or "sink".
    keyed:  the column that is the key of a record, lower case; None without one.
    """

    format: str
    options: tuple[tuple[str, str], ...]
    kind: str
    value: ValueClause | None = None
    start: StartClause | None = None
    keyed: str | None = None


@dataclass(frozen=True)
class Declared:
    """What a definition says beside its connector.

    name:   of what is defined.
    timed:  it has a watermark.
    key:    the columns of its PRIMARY KEY, with their types.
    """

    name: str
    timed: bool
    key: Sequence[tuple[str, str]]


def connected(options: Mapping[str, str], declared: Declared, span: Span, sql: str) -> Connected:
    """Return what the options of WITH say.

    span: where WITH stands.
    Raises NotSupportedError for another connector, with what to write, and ProgrammingError for options that are
    missing or unknown.
    """
    remaining = {name.lower(): value for name, value in options.items()}
    connector = remaining.pop("connector", None)
    reading = _ConnectorOptions(remaining, declared, span, sql)
    match connector:
        case "kafka":
            return reading.kafka()
        case "upsert-kafka":
            return reading.upsert_kafka()
        case "filesystem":
            return reading.filesystem()
        case "datagen":
            taken = tuple(remaining.items())
            return Connected("datagen", taken, "stream")
        case "print":
            reading.only("print-identifier", "standard-error")
            return Connected("console", (), "sink")
        case "blackhole":
            reading.only()
            return Connected("noop", (), "sink")
        case None:
            raise reading.without_connector()
    hint = _INSTEAD.get(connector) or (_CDC if connector.endswith("-cdc") else suggestion(connector, _CONNECTORS))
    raise NotSupportedError(f"the connector {connector} is not supported", span, hint, sql)


class _ConnectorOptions:
    """Reads the options of one connector; `remaining` are those not yet read, by their names in lower case."""

    def __init__(self, remaining: dict[str, str], declared: Declared, span: Span, sql: str):
        self.remaining, self.declared, self.span, self.sql = remaining, declared, span, sql

    def kafka(self) -> Connected:
        """Read the options of Kafka's connector."""
        if self.remaining.get("key.format") is not None or self.remaining.get("key.fields") is not None:
            hint = "a column has the key of the record as text: id STRING METADATA FROM 'key'"
            raise self._not_supported("the option key.format", hint)
        options = self._cluster()
        bounded = self._taken("scan.bounded.mode", "unbounded") != "unbounded"
        start = self._start()
        value = self._value(self._needed_format())
        self.only()
        return Connected("kafka", options, "table" if bounded and not self.declared.timed else "stream", value, start)

    def upsert_kafka(self) -> Connected:
        """Read the options of the connector whose records are the rows of a table by their keys."""
        options = self._cluster()
        form, key = self._taken("key.format", "raw"), self.declared.key
        self._taken("value.fields-include", "")
        if not key:
            hint = "PRIMARY KEY (column) NOT ENFORCED stands among the columns"
            raise ProgrammingError("upsert-kafka needs a PRIMARY KEY", self.span, hint, self.sql)
        if form not in ("raw", "csv") or len(key) > 1 or key[0][1].upper() != "STRING":
            hint = (
                "the key of a record is read as text: 'key.format' = 'raw', and a PRIMARY KEY of one STRING; without "
                f"deletions, USING kafka OPTIONS (subscribe '{dict(options).get('subscribe', 'topic')}', ...) "
                "FORMAT json FROM EARLIEST has the key in its value"
            )
            kind = "key of several columns" if len(key) > 1 else f"key of the format {form}"
            raise self._not_supported(f"a {kind}", hint)
        value = self._value(self._needed_format())
        self.only()
        return Connected("kafka", options, "stream", value, StartClause("earliest", None, self.span), key[0][0].lower())

    def filesystem(self) -> Connected:
        """Read the options of the connector of files."""
        path, form = self._needed("path"), self._needed("format")
        if form not in _FORMATS or form == "debezium-json":
            raise self._not_supported(f"the format {form}", suggestion(form, [f for f in _FORMATS if f[0] != "d"]))
        options = (("path", path), *self._of_format(form))
        follows = self._taken("source.monitor-interval", "") or self.declared.timed
        self.only()
        return Connected(_FORMATS[form], options, "stream" if follows else "table")

    def without_connector(self) -> NotSupportedError | ProgrammingError:
        """Return the error for WITH as ksqlDB and Trino have it, and for any other."""
        if "kafka_topic" in self.remaining or "value_format" in self.remaining:
            form = self.remaining.get("value_format", "JSON").lower().removesuffix("_sr")
            form = {"delimited": "csv", "kafka": "csv"}.get(form, form)
            topic = self.remaining.get("kafka_topic", self.declared.name)
            hint = f"USING kafka OPTIONS (kafka.bootstrap.servers 'host:9092', subscribe '{topic}') FORMAT {form}"
            if time := self.remaining.get("timestamp"):
                hint += f", and among the columns WATERMARK FOR {time} AS {time} - INTERVAL '10' SECONDS"
            return NotSupportedError("WITH (KAFKA_TOPIC ...) does not say where Kafka is", self.span, hint, self.sql)
        form = self.remaining.get("format", "parquet").lower()
        hint = f"USING {form} OPTIONS (path '/folder') says where its files are"
        return ProgrammingError("WITH needs the option 'connector'", self.span, hint, self.sql)

    def only(self, *names: str) -> None:
        """Raise ProgrammingError for an option that was not read, but for those that say nothing here."""
        for name in self.remaining:
            if name not in names and not name.startswith(_PASSED_OVER) and name.split(".", 1)[-1] not in _MEANINGLESS:
                hint = "USING format OPTIONS (key 'value', ...) takes the options of Spark's sources"
                raise ProgrammingError(f"the connector has no option {name} here", self.span, hint, self.sql)

    def _cluster(self) -> tuple[tuple[str, str], ...]:
        """Read which topics of which cluster are meant."""
        topic, pattern = self._taken("topic", ""), self._taken("topic-pattern", "")
        if not (topic or pattern):
            self._needed("topic")
        options = [("subscribePattern", pattern) if pattern else ("subscribe", topic.replace(";", ","))]
        # RisingWave leaves out the last letter.
        servers = self._taken("properties.bootstrap.server", "") or self._needed("properties.bootstrap.servers")
        options.append(("kafka.bootstrap.servers", servers))
        for name in [name for name in self.remaining if name.startswith("properties.")]:
            options.append((f"kafka.{name.removeprefix('properties.')}", self.remaining.pop(name)))
        return tuple(options)

    def _start(self) -> StartClause | None:
        """Read where a consumer starts."""
        mode = self._taken("scan.startup.mode", "")
        if not mode:
            return None
        if mode not in _STARTS:
            hint = (
                "a query keeps in its checkpoint how far it has read; FROM EARLIEST or FROM LATEST says where it starts"
            )
            raise self._not_supported(f"the scan.startup.mode {mode}", hint)
        time = self._needed("scan.startup.timestamp-millis") if mode == "timestamp" else None
        return StartClause(_STARTS[mode], time, self.span)

    def _needed_format(self) -> str:
        return self._taken("value.format", "") or self._needed("format")

    def _value(self, form: str) -> ValueClause:
        """Read how the values of records hold rows."""
        if form not in _VALUES:
            hint = suggestion(form, _VALUES, "formats")
            if form.endswith("confluent"):
                hint = "FORMAT avro OPTIONS (schema '{...}') reads records with the number of a schema in front"
            raise self._not_supported(f"the format {form} of values", hint)
        return ValueClause(Name(_FORMATS[form], self.span), self._of_format(form))

    def _of_format(self, form: str) -> tuple[tuple[str, str], ...]:
        """Take the options of a format, such as csv.field-delimiter."""
        options = []
        for start in (f"{form}.", f"value.{form}."):
            for name in [name for name in self.remaining if name.startswith(start)]:
                meant = _OF_CSV.get(name.removeprefix(start)) if form == "csv" else None
                if meant is not None:
                    options.append((meant, self.remaining.pop(name)))
        return tuple(options)

    def _taken(self, name: str, missing: str) -> str:
        return self.remaining.pop(name, missing)

    def _needed(self, name: str) -> str:
        if name not in self.remaining:
            raise ProgrammingError(f"the option '{name}' is missing in WITH", self.span, f"'{name}' = '...'", self.sql)
        return self.remaining.pop(name)

    def _not_supported(self, what: str, hint: str | None) -> NotSupportedError:
        return NotSupportedError(f"{what} is not supported", self.span, hint, self.sql)


def flink_type(text: Text, begin: int, end: int) -> str:
    """Return a type of Flink, tokens `begin` to `end` (exclusive), as one of Spark: TIMESTAMP(3) as TIMESTAMP."""
    words: list[str] = []
    i = begin
    while i < end:
        word = text.word(i)
        words.append(_TYPES.get(word, text.raw(i)))
        i += 1
        sized = word in ("VARCHAR", "CHAR", "VARBINARY", *_TIMES) and text.raw(i) == "("
        if sized:
            i = text.closing[i] + 1
        if word == "TIMESTAMP" and [text.word(i + n) for n in range(3)] == ["WITHOUT", "TIME", "ZONE"]:
            i += 3
        if word == "TIMESTAMP" and [text.word(i + n) for n in range(4)] == ["WITH", "LOCAL", "TIME", "ZONE"]:
            i += 4
        if [text.word(i), text.word(i + 1)] == ["NOT", "NULL"]:
            i += 2
    return " ".join(words)
