"""What a restricted engine lets definitions and statements name: whoever writes them has not all rights of its process.

All is refused that is not known to be harmless: other formats, other options, other settings.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from cepsql.analysis.ddl.allowed_places import is_allowed_address, is_allowed_path
from cepsql.analysis.ddl.source_options import FILE_FORMATS, known_options
from cepsql.catalog import (
    Definition,
    MaterializedView,
    Registered,
    RegisteredQuery,
    Relation,
    Sink,
    Source,
    View,
    ViewGroup,
)
from cepsql.catalog.locations import SQLITE_URL
from cepsql.catalog.references import references, resolved
from cepsql.errors import Error, ProgrammingError, Span, answer
from cepsql.language.tokens import Text
from cepsql.readers.datagen.fields import DATAGEN

_REFLECTIVE = {"reflect", "java_method", "try_reflect", "identifier"}
_GAP = r"[`\"]?(?:\s|/\*.*?\*/|--[^\r\n]*[\r\n])*"
_CALLS = re.compile(rf"\b(reflect|java_method|try_reflect|identifier){_GAP}\(", re.IGNORECASE | re.DOTALL)
_PATH_NAMES = re.compile(rf"\.{_GAP}(`[^`]*[/:][^`]*`)", re.DOTALL)
_SUBQUERY = re.compile(rf"\bSELECT\b|\({_GAP}(?:FROM|TABLE|VALUES|WITH)\b", re.IGNORECASE | re.DOTALL)
_WRITING = {"partitionby", "compression", "quoteall", "escapequotes", "encoding", "path"}
_MOVING = {"cleansource", "sourcearchivedir", "basepath"}
"""Options of file sources that change files or name other folders."""

_KAFKA = {
    "subscribe", "subscribepattern", "assign", "startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp",
    "startingoffsetsbytimestampstrategy", "endingoffsets", "failondataloss", "includeheaders", "reader",
    "maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay", "endingtimestamp", "endingoffsetsbytimestamp",
    "maxrecordsperpartition", "minpartitions", "groupidprefix", "topic", "retry_for",
}  # fmt: skip
_KAFKA_CLIENT = {
    "bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.username", "sasl.password", "client.id",
    "client.rack", "group.id", "isolation.level", "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes",
    "acks", "compression.type", "linger.ms", "batch.size", "message.max.bytes", "max.request.size", "retries",
    "request.timeout.ms", "session.timeout.ms", "metadata.max.age.ms", "reconnect.backoff.ms",
    "reconnect.backoff.max.ms", "ssl.endpoint.identification.algorithm", "ssl.key.password", "ssl.keystore.password",
    "ssl.keystore.type", "ssl.truststore.password", "ssl.truststore.type",
}  # fmt: skip
_KAFKA_FILES = {
    "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.truststore.location",
    "ssl.keystore.location",
}  # fmt: skip
_LOGIN = re.compile(
    r"org\.apache\.kafka\.common\.security\.(?:plain\.Plain|scram\.Scram)LoginModule\s+required"
    r"""(?:\s+(?:username|password)\s*=\s*"(?:[^"\\]|\\.)*")*\s*;\s*"""
)
_TABLE = {"table", "schema", "create_table", "retry_for"}
_SINKS = {
    "sqlite": _TABLE | {"path"},
    "postgresql": _TABLE | {"url", "user", "password"},
    "webhook": {"url", "per", "timeout", "retry_for"},
    "python": {"function"},
    "console": set[str](),
    "noop": set[str](),
}
_SETTINGS = re.compile(
    r"cepsql\..*|spark\.sql\.(?:session\.timeZone|ansi\.enabled|ansi\.doubleQuotedIdentifiers|caseSensitive"
    r"|timestampType|shuffle\.partitions|adaptive\.[\w.]+|autoBroadcastJoinThreshold|files\.maxPartitionBytes"
    r"|legacy\.timeParserPolicy|streaming\.minBatchesToRetain)"
)

_HINT = "this engine is restricted; it allows what its start says: see docs/trust.md"


@dataclass(frozen=True)
class Restrictions:
    """What may be named.

    places:    folders, file systems, web addresses and databases: absolute paths, or URLs that others begin with.
    secrets:   folders of the files that `${file:PATH}` reads.
    variables: of the environment, for `${NAME}`.
    functions: of Python, as `module:name`.
    """

    places: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    variables: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()

    def check(self, definition: Definition | Relation) -> None:
        """Raise ProgrammingError for a definition that names what is not allowed.

        Values of references are looked at as far as they are known; what uses them checks again.
        """
        match definition:
            case Source():
                self._check_source(definition)
            case Sink(name=name, format=format, options=options):
                self._check_sink(f"sink {name}", format.lower(), options)
            case View(sql=sql):
                self.check_sql(sql)
            case MaterializedView(name=name, query=query, options=options):
                self._check_view(f"materialized view {name}", options)
                self.check(query)
            case ViewGroup(name=name, options=options, store=store):
                self._check_view(f"view group {name}", store)
                self._check_references(f"view group {name}", options)
                self._check_query(f"view group {name}", self._values(options))
            case RegisteredQuery(name=name, sql=sql, options=options):
                self._check_references(f"query {name}", options)
                self._check_query(f"query {name}", self._values(options))
                self.check_sql(sql)
            case Registered():
                return

    def check_sql(self, sql: str) -> None:
        """Raise ProgrammingError for a query that calls Java, or names a path as a table.

        Texts and comments that look like it are refused, too: what is one for us might be none for Spark.
        """
        for refused in _CALLS.finditer(sql), _PATH_NAMES.finditer(sql):
            for construct in refused:
                raise ProgrammingError(f"{construct[1]} is not allowed", Span(*construct.span(1)), _HINT, sql)
        # For Spark a line ends at \r, too.
        text = Text(sql.replace("\r", "\n"), unfinished=True)
        for i in range(len(text)):
            if _name(text, i) in _REFLECTIVE and text.raw(i + 1) == "(":
                raise text.error(f"{text.raw(i)} is not allowed", i, hint=_HINT)
            if text.raw(i - 1) == "." and text.raw(i)[:1] == "`" and re.search(r"[/:]", text.raw(i)):
                raise text.error(f"{text.raw(i)} is not allowed", i, hint=_HINT)

    def check_path(self, what: str, path: str) -> None:
        """Raise ProgrammingError for a path outside of the allowed places; `what` has it, for the message."""
        if not is_allowed_path(path, self.places):
            raise _refused(f"{what} is in no place that is allowed: {path}")

    def check_setting(self, name: str) -> None:
        """Raise ProgrammingError for a setting that could name code, files or servers."""
        if not _SETTINGS.fullmatch(name):
            raise _refused(f"the setting {name} is not allowed")

    def _check_source(self, source: Source) -> None:
        for expression in (*(c.expression for c in source.columns), source.deletion):
            if expression is not None:
                self._check_expression(expression)
        if source.backfill is not None:
            self._check_expression(source.backfill.until)
            self._check_source(source.backfill.history)
        if source.late_rows is not None:
            self._check_source(source.late_rows)
        options = source.options + (() if source.value is None else source.value.options)
        self._check_references(source.name, options)
        format = source.format.lower()
        if format == "kafka":
            self._check_options(source.name, format, self._values(source.options), _KAFKA)
        elif format in FILE_FORMATS:
            allowed = {name.lower() for name in known_options(format)} - _MOVING
            self._check_options(source.name, format, self._values(source.options), allowed)
        elif format not in (DATAGEN, "rate", "rate-micro-batch"):
            raise _refused(f"{source.name} USING {source.format} is not allowed")

    def _check_view(self, what: str, options: tuple[tuple[str, str], ...]) -> None:
        """Refuse a store in no place that is allowed; that beside the catalog always is."""
        self._check_references(what, options)
        store = self._values(options).get("store", "sqlite")
        if store.startswith(SQLITE_URL):
            self.check_path(f"the option store of {what}", store.removeprefix(SQLITE_URL))
        elif store != "sqlite" and not is_allowed_address(store, self.places):
            raise _refused(f"the option store of {what} is in no place that is allowed")

    def _check_sink(self, what: str, format: str, options: tuple[tuple[str, str], ...]) -> None:
        self._check_references(what, options)
        allowed = {"postgres": _SINKS["postgresql"], "kafka": _KAFKA, **_SINKS}.get(format)
        if format in FILE_FORMATS:
            allowed = ({name.lower() for name in known_options(format)} | _WRITING) - _MOVING
        if allowed is None:
            raise _refused(f"{what} USING {format} is not allowed")
        self._check_options(what, format, self._values(options), allowed)

    def _check_options(self, what: str, format: str, options: dict[str, str], allowed: Iterable[str]) -> None:
        allowed = set(allowed)
        for name, value in options.items():
            low = name.lower()
            if format == "kafka" and low.startswith("kafka."):
                self._check_kafka(what, low.removeprefix("kafka."), value)
            elif format == "webhook" and low.startswith("header."):
                continue
            elif low not in allowed:
                raise _refused(f"the option {name} of {what} is not allowed")
            elif low == "path":
                self.check_path(f"the option {name} of {what}", value)
            elif low == "url" and not is_allowed_address(value, self.places):
                raise _refused(f"the option url of {what} is in no place that is allowed")
            elif low == "function" and value not in self.functions:
                raise _refused(f"the function {value} of {what} is not allowed")

    def _check_kafka(self, what: str, name: str, value: str) -> None:
        if name in _KAFKA_FILES:
            self.check_path(f"the option kafka.{name} of {what}", value)
        elif name == "sasl.jaas.config":
            if not _LOGIN.fullmatch(value):
                raise _refused(f"the login module in kafka.sasl.jaas.config of {what} is not allowed")
        elif name not in _KAFKA_CLIENT:
            raise _refused(f"the option kafka.{name} of {what} is not allowed")

    def _check_query(self, what: str, options: dict[str, str]) -> None:
        for name, value in options.items():
            if name == "checkpoint":
                self.check_path(f"the option checkpoint of {what}", value)
            elif name not in ("trigger", "start"):
                self.check_setting(name)

    def _check_expression(self, sql: str) -> None:
        subquery = _SUBQUERY.search(sql)
        if subquery is not None:
            raise ProgrammingError("a subquery in a definition is not allowed", Span(*subquery.span()), _HINT, sql)
        self.check_sql(sql)

    def _check_references(self, what: str, options: Iterable[tuple[str, str]]) -> None:
        for option, value in options:
            for from_file, name in references(value):
                if from_file and not is_allowed_path(name, self.secrets):
                    raise _refused(f"the option {option} of {what} may not read the file {name}")
                if not from_file and name not in self.variables:
                    raise _refused(f"the option {option} of {what} may not read the environment variable {name}")

    def _values(self, options: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return the options with the values of their references; what has none now can name nothing either."""
        option_values: dict[str, str] = {}
        for name, value in options:
            values = answer(partial(resolved, [(name, value)], ""))
            option_values |= {} if isinstance(values, Error) else values
        return option_values


def _name(text: Text, i: int) -> str:
    """Return a token as the name of a function, lower case."""
    raw = text.raw(i)
    return raw[1:-1].strip().lower() if raw[:1] in '`"' and len(raw) > 1 else raw.lower()


def _refused(message: str) -> ProgrammingError:
    return ProgrammingError(message, hint=_HINT)
