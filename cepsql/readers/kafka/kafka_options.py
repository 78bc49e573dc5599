"""The OPTIONS of a Kafka source, named as those of Spark's connector."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cepsql.errors import NotSupportedError, ProgrammingError, suggestion

Offsets = Mapping[str, Mapping[str, int]]
"""A number for each partition, as text, of each topic."""

EARLIEST, LATEST = -2, -1
"""The offsets that mean the first record and the end."""

_LIMIT = "maxoffsetspertrigger"
_KNOWN = {
    "subscribe", "subscribepattern", "assign", "startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp",
    "startingoffsetsbytimestampstrategy", "endingoffsets", "failondataloss", "includeheaders", "reader", _LIMIT,
}  # fmt: skip
_TUNING = {"minpartitions", "groupidprefix", "kafkaconsumer.polltimeoutms", "fetchoffset.numretries",
           "fetchoffset.retryintervalms"}  # fmt: skip
"""Options of Spark's connector that do not affect rows and are ignored here."""

_CONNECTOR_ONLY = {
    "minoffsetspertrigger", "maxtriggerdelay", "endingtimestamp", "endingoffsetsbytimestamp", "maxrecordsperpartition",
}  # fmt: skip
"""Options that only Spark's connector has."""

_SAME = {
    "bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.username", "sasl.password", "client.id",
    "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password",
    "ssl.endpoint.identification.algorithm", "metadata.max.age.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms",
}  # fmt: skip
"""Settings with the same name in Kafka's Java client and librdkafka, and those of librdkafka alone."""

_CONSUMER = {
    "client.rack", "group.id", "isolation.level", "fetch.min.bytes", "fetch.max.bytes", "max.partition.fetch.bytes",
}  # fmt: skip
_PRODUCER = {"acks", "compression.type", "linger.ms", "batch.size", "message.max.bytes"}

_JAAS = re.compile(r"\.(?:Plain|Scram)LoginModule\s+required\b(.*);\s*$", re.DOTALL)
_JAAS_ENTRY = re.compile(r"""(\w+)\s*=\s*"((?:[^"\\]|\\.)*)\"""")


@dataclass(frozen=True)
class KafkaStart:
    """The start of reading: offsets (or EARLIEST, LATEST), or times in milliseconds.

    default: for partitions that are not in `each`; each: offsets or times by topic and partition.
    """

    default: int
    each: Offsets = field(default_factory=dict)
    timed: bool = False


@dataclass(frozen=True)
class KafkaOptions:
    """A Kafka source.

    topics:    names; None: those that match `pattern`, or those of `assigned`.
    assigned:  partitions by topic.
    end:       of a bounded table.
    limit:     the maximum number of records of a micro-batch.
    fail_on_loss: whether records that were removed before they were read are an error.
    client:    settings of librdkafka.
    """

    topics: tuple[str, ...] | None
    pattern: str | None
    assigned: Mapping[str, tuple[int, ...]] | None
    start: KafkaStart
    end: KafkaStart
    limit: int | None
    fail_on_loss: bool
    client: Mapping[str, str] = field(repr=False)

    @property
    def servers(self) -> str:
        """The addresses of the brokers."""
        return self.client["bootstrap.servers"]


def kafka_options(source: str, options: Iterable[tuple[str, str]], streaming: bool) -> KafkaOptions:
    """Read the options of the named source; `startingtimestamp` must be a number here.

    Raises ProgrammingError for missing or wrong options, NotSupportedError for those of Spark's connector only.
    """
    values = {name.lower(): value for name, value in options}
    check_options(source, values)
    foreign = next((name for name in values if name in _CONNECTOR_ONLY), None)
    if foreign is not None:
        raise NotSupportedError(f"the option {foreign} is for Spark's connector")
    topics, assigned = values.get("subscribe"), values.get("assign")
    return KafkaOptions(
        topics=tuple(name.strip() for name in topics.split(",")) if topics is not None else None,
        pattern=_pattern(values.get("subscribepattern")),
        assigned=None if assigned is None else {t: tuple(p) for t, p in _json("assign", assigned).items()},
        start=_start(values, LATEST if streaming else EARLIEST),
        end=_position("endingoffsets", values.get("endingoffsets", "latest")),
        limit=_count(_LIMIT, values[_LIMIT]) if _LIMIT in values else None,
        fail_on_loss=values.get("failondataloss", "true").lower() != "false",
        client=client_settings({n.removeprefix("kafka."): v for n, v in values.items() if n.startswith("kafka.")}),
    )


def _pattern(text: str | None) -> str | None:
    try:
        re.compile(text or "")
    except re.error as error:
        hint = "all names that end with .orders: '.*[.]orders'"
        raise ProgrammingError(f"subscribePattern '{text}' is no regular expression: {error}", hint=hint) from error
    return text


def check_options(source: str, options: Mapping[str, str]) -> None:
    """Raise ProgrammingError if options, by lower-case name, lack the cluster or its topics, or contain an unknown
    option."""
    names = sorted(_KNOWN | _TUNING | _CONNECTOR_ONLY | {"kafka.bootstrap.servers"})
    unknown = next((name for name in options if name not in names and not name.startswith("kafka.")), None)
    if unknown is not None:
        near = {"topic": "subscribe", "topics": "subscribe", "bootstrap.servers": "kafka.bootstrap.servers"}
        hint = f"did you mean {near[unknown]}?" if unknown in near else suggestion(unknown, names, "options")
        raise ProgrammingError(f"Kafka has no option {unknown}", hint=hint)
    if "kafka.bootstrap.servers" not in options:
        raise ProgrammingError(
            f"{source} does not say where Kafka is", hint="OPTIONS (kafka.bootstrap.servers 'host:9092', ...)"
        )
    chosen = [name for name in ("subscribe", "subscribepattern", "assign") if name in options]
    if len(chosen) != 1:
        wrong = "does not say which topic it reads" if not chosen else f"has both {' and '.join(chosen)}"
        raise ProgrammingError(f"{source} {wrong}", hint="OPTIONS (subscribe 'topic', ...)")


def _start(options: Mapping[str, str], default: int) -> KafkaStart:
    if "startingtimestamp" in options:
        return KafkaStart(_count("startingtimestamp", options["startingtimestamp"]), timed=True)
    if "startingoffsetsbytimestamp" in options:
        each = _json("startingoffsetsbytimestamp", options["startingoffsetsbytimestamp"])
        return KafkaStart(default, each, timed=True)
    text = options.get("startingoffsets")
    return KafkaStart(default) if text is None else _position("startingoffsets", text)


def _position(name: str, value: str) -> KafkaStart:
    words = {"earliest": EARLIEST, "latest": LATEST}
    if value.lower() in words:
        return KafkaStart(words[value.lower()])
    return KafkaStart(EARLIEST if name == "startingoffsets" else LATEST, _json(name, value))


def _json(name: str, value: str) -> dict:
    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise ProgrammingError(f'the option {name} is no JSON such as {{"topic": ...}}')
    return parsed


def _count(name: str, value: str) -> int:
    if not value.isdecimal():
        raise ProgrammingError(f"the option {name} is {value}, which is no whole number")
    return int(value)


def client_settings(settings: Mapping[str, str], producing: bool = False) -> dict[str, str]:
    """Translate settings of Kafka's Java consumer or producer to those of librdkafka.

    Raises NotSupportedError for settings that librdkafka does not support.
    """
    client = {} if producing else {"isolation.level": "read_committed"}
    for name, value in settings.items():
        if name == "sasl.jaas.config":
            client |= _login(value)
        elif name == "ssl.truststore.location" and settings.get("ssl.truststore.type", "").upper() == "PEM":
            client["ssl.ca.location"] = value
        elif name in (_SAME | _PRODUCER if producing else _SAME | _CONSUMER):
            client[name] = value
        elif producing and name == "max.request.size":
            client["message.max.bytes"] = value
        elif name != "ssl.truststore.type":
            what = "is not supported for a sink" if producing else "is for Spark's connector"
            raise NotSupportedError(f"the option kafka.{name} {what}")
    return client


def _login(jaas: str) -> dict[str, str]:
    login = _JAAS.search(jaas)
    if login is None:
        raise NotSupportedError("this kafka.sasl.jaas.config is for Spark's connector")
    entries = {name: re.sub(r"\\(.)", r"\1", value) for name, value in _JAAS_ENTRY.findall(login[1])}
    return {f"sasl.{name}": entries[name] for name in ("username", "password") if name in entries}
