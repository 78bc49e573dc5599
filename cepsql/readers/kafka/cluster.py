"""Ask a Kafka cluster for partitions and their first and last offsets."""

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from cepsql.errors import OperationalError
from cepsql.readers.kafka.kafka_options import EARLIEST, LATEST, KafkaOptions, KafkaStart

PATIENCE_SECONDS = 120
"""How long a running query waits for brokers that do not answer."""

_ONE_TRY_SECONDS = 10
_PAUSE_SECONDS = 1.0
_SILENT = (
    KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._RESOLVE,
    KafkaError.REQUEST_TIMED_OUT, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.BROKER_NOT_AVAILABLE, KafkaError.NETWORK_EXCEPTION,
    KafkaError._NOENT,
)  # fmt: skip
_ABSENT = (
    KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION,
)  # fmt: skip
PASSING = (*_SILENT, *_ABSENT)
"""Codes of errors that may pass when brokers answer again."""

_LASTING = (
    KafkaError._AUTHENTICATION, KafkaError._INVALID_ARG, KafkaError._UNSUPPORTED_FEATURE,
    KafkaError.UNSUPPORTED_VERSION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE, KafkaError.SECURITY_DISABLED, KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED, KafkaError.TOPIC_EXCEPTION,
)  # fmt: skip
"""Codes of permanent errors. All others may pass: a broker that has just started reports many."""

Partition = tuple[str, int]
Positions = dict[str, dict[str, int]]
"""A number for each partition, as text, of each topic."""

_NO_ID = "A" * 22
"""The topic id from a broker before Kafka 2.8."""

_Answer = TypeVar("_Answer")
_Timed = type(OffsetSpec.for_timestamp(0))


class _Missing(Exception):
    """The topic, or the begin or end of a partition, is missing or not known yet."""


class Cluster:
    """The partitions of one source.

    patience: seconds during which a request is retried while no broker answers.
    """

    def __init__(self, options: KafkaOptions, patience: float = PATIENCE_SECONDS):
        self._options, self._patience = options, patience
        # Errors are raised; librdkafka would also write them to standard error.
        self._admin = AdminClient(dict(options.client, log_level=0), logger=silent_logger())
        committed = options.client["isolation.level"] == "read_committed"
        self._isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    def partitions(self) -> list[Partition]:
        """Return all partitions that the source reads. Raises OperationalError if a topic is missing."""
        return self._asked(self._partitions)

    def earliest(self) -> Positions:
        """Return the offset of the first present record of each partition."""
        return self._asked(lambda: self._offsets(dict.fromkeys(self._partitions(), OffsetSpec.earliest())))

    def latest(self) -> Positions:
        """Return the offset after the last record of each partition."""
        return self._asked(lambda: self._offsets(dict.fromkeys(self._partitions(), OffsetSpec.latest())))

    def positions(self, start: KafkaStart) -> Positions:
        """Return the offsets of a start or an end; for a time after all records, the offset after the last one.

        Raises OperationalError if it names missing partitions.
        """
        return self._asked(lambda: self._positions(start))

    def ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the ids of topics that the brokers report; a topic that is deleted and created again gets a new id."""
        return self._asked(lambda: self._ids(topics))

    def _positions(self, start: KafkaStart) -> Positions:
        partitions = self._partitions()
        named = {(topic, int(partition)) for topic, each in start.each.items() for partition in each}
        if missing := named - set(partitions):
            topic, partition = min(missing)
            raise OperationalError(f"{topic} has no partition {partition}, from which reading is to start")
        asked, fixed = {}, []
        for topic, number in partitions:
            value = start.each.get(topic, {}).get(str(number), start.default)
            if value == EARLIEST:
                asked[topic, number] = OffsetSpec.earliest()
            elif value == LATEST:
                asked[topic, number] = OffsetSpec.latest()
            elif start.timed:
                asked[topic, number] = OffsetSpec.for_timestamp(value)
            else:
                fixed.append((topic, number, value))
        offsets = self._offsets(asked)
        beyond = [(topic, int(p)) for topic, each in offsets.items() for p, offset in each.items() if offset < 0]
        for topic, ends in self._offsets(dict.fromkeys(beyond, OffsetSpec.latest())).items():
            offsets[topic] |= ends
        for topic, number, value in fixed:
            offsets.setdefault(topic, {})[str(number)] = value
        return offsets

    def _partitions(self) -> list[Partition]:
        options = self._options
        if options.assigned is not None:
            return [(topic, number) for topic, numbers in options.assigned.items() for number in numbers]
        topics = self._admin.list_topics(timeout=_ONE_TRY_SECONDS).topics
        if options.pattern is not None:
            names = [name for name in topics if re.fullmatch(options.pattern, name) and not name.startswith("__")]
        else:
            names = list(options.topics or ())
        for name in names:
            error = topics[name].error if name in topics else None
            if name not in topics or (error is not None and error.code() in _ABSENT):
                raise _Missing(f"Kafka at {options.servers} has no topic {name}")
            if error is not None:
                raise KafkaException(error)
        return [(name, number) for name in sorted(names) for number in sorted(topics[name].partitions)]

    def _offsets(self, asked: dict[Partition, OffsetSpec]) -> Positions:
        wanted = {TopicPartition(topic, number): spec for (topic, number), spec in asked.items()}
        if not wanted:
            return {}
        answers = self._admin.list_offsets(wanted, isolation_level=self._isolation, request_timeout=_ONE_TRY_SECONDS)
        offsets: Positions = {}
        for partition, answer in answers.items():
            offset = answer.result().offset
            if offset < 0 and not isinstance(asked[partition.topic, partition.partition], _Timed):
                # An absent or slow broker does not report the offset. Going on without it would skip records.
                raise _Missing(f"Kafka does not say how far partition {partition.partition} of {partition.topic} is")
            offsets.setdefault(partition.topic, {})[str(partition.partition)] = offset
        return offsets

    def _ids(self, topics: Iterable[str]) -> dict[str, str]:
        ids = {}
        answers = self._admin.describe_topics(TopicCollection(sorted(topics)), request_timeout=_ONE_TRY_SECONDS)
        for topic, answer in answers.items():
            try:
                ids[topic] = str(answer.result().topic_id)
            except KafkaException as failure:
                if may_pass(failure.args[0]):
                    raise
        return {topic: id for topic, id in ids.items() if id != _NO_ID}

    def _asked(self, question: Callable[[], _Answer]) -> _Answer:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return question()
            except KafkaException as failure:
                error = failure.args[0]
                if not may_pass(error) or time.monotonic() + _PAUSE_SECONDS > deadline:
                    raise kafka_failure(error, self._options.servers) from failure
            except _Missing as missing:
                if time.monotonic() + _PAUSE_SECONDS > deadline:
                    raise OperationalError(str(missing)) from missing
            time.sleep(_PAUSE_SECONDS)


def may_pass(error: KafkaError) -> bool:
    """Tell whether a request is worth a retry."""
    return not error.fatal() and error.code() not in _LASTING


def kafka_failure(error: KafkaError, servers: str) -> OperationalError:
    """Return the error for one of librdkafka's."""
    if error.code() in _SILENT:
        return OperationalError(f"no Kafka broker answers at {servers}", detail=str(error))
    return OperationalError(f"Kafka at {servers} says: {error.str()}", detail=str(error))


def silent_logger() -> logging.Logger:
    """Return a logger for librdkafka, which otherwise writes to standard error."""
    logger = logging.getLogger("cepsql.kafka.client")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger
