"""What OPTIONS say, and which records a micro-batch and a task take: without a broker."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepsql.catalog import Source
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.readers.kafka.kafka_options import EARLIEST, LATEST, KafkaStart, kafka_options
from cepsql.readers.kafka.kafka_reader import PYTHON, SPARK, chosen_reader
from cepsql.readers.kafka.ranges import Range, limited, ranges_between, read_together, spread

SERVERS = ("kafka.bootstrap.servers", "host:9092")
TOPIC = ("subscribe", "a, b")
JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    r'serviceName="x" username="me" password="a\"b; c";'
)

offsets = st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.dictionaries(st.sampled_from(["0", "1", "2"]), st.integers(0, 50_000), min_size=1),
    min_size=1,
)


def read(*options):
    return kafka_options("s", (SERVERS, TOPIC, *options), streaming=True)


def test_what_spark_calls_them():
    options = read(("startingOffsets", '{"a": {"0": 7, "1": -2}}'), ("maxOffsetsPerTrigger", "10"))
    assert options.topics == ("a", "b")
    assert options.start == KafkaStart(EARLIEST, {"a": {"0": 7, "1": -2}})
    assert options.limit == 10 and options.fail_on_loss
    assert options.client == {"bootstrap.servers": "host:9092", "isolation.level": "read_committed"}
    assert read().start == KafkaStart(LATEST)
    assert kafka_options("s", (SERVERS, TOPIC), False).start == KafkaStart(EARLIEST)
    assert read(("startingTimestamp", "1000")).start == KafkaStart(1000, timed=True)


def test_a_login_for_java_is_one_for_librdkafka():
    options = read(("kafka.sasl.jaas.config", JAAS), ("kafka.sasl.mechanism", "PLAIN"))
    assert options.client["sasl.username"] == "me" and options.client["sasl.password"] == 'a"b; c'
    assert 'a"b' not in repr(options)


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ([("topic", "t")], ProgrammingError, "no option topic"),
        ([("assign", '{"t": [0]}')], ProgrammingError, "has both subscribe and assign"),
        ([("maxOffsetsPerTrigger", "many")], ProgrammingError, "maxoffsetspertrigger is many"),
        ([("startingOffsets", "first")], ProgrammingError, "startingoffsets is no JSON"),
        ([("minOffsetsPerTrigger", "5")], NotSupportedError, "minoffsetspertrigger"),
        ([("kafka.ssl.keystore.type", "JKS")], NotSupportedError, "kafka.ssl.keystore.type"),
        ([("kafka.sasl.jaas.config", "Krb5LoginModule required;")], NotSupportedError, "jaas"),
    ],
)
def test_what_is_wrong(options, kind, said):
    with pytest.raises(kind, match=said):
        read(*options)


def test_who_reads():
    def reader(*options):
        return chosen_reader(Source("s", (), "kafka", (SERVERS, TOPIC, *options)))

    assert reader() == PYTHON and reader(("reader", "spark")) == SPARK
    assert reader(("kafka.ssl.truststore.location", "x.jks")) == SPARK
    with pytest.raises(NotSupportedError, match="truststore"):
        reader(("kafka.ssl.truststore.location", "x.jks"), ("reader", "python"))
    with pytest.raises(ProgrammingError, match="python or spark"):
        reader(("reader", "java"))


@given(offsets, offsets, st.integers(1, 20_000))
def test_a_limited_batch_goes_on_to_the_end(start, more, limit):
    start = {t: {p: start.get(t, {}).get(p, 0) for p in ends} for t, ends in more.items()}
    latest = {t: {p: start[t][p] + n for p, n in ends.items()} for t, ends in more.items()}
    partitions = sum(map(len, latest.values()))
    batches = 0
    while start != latest:
        end = limited(start, latest, limit)
        taken = [part.end - part.begin for part in ranges_between(start, end)]
        assert taken and sum(taken) <= limit + partitions
        start, batches = end, batches + 1
        if batches > 20:
            limit = 1_000_000
    assert ranges_between(start, latest) == []


@given(offsets, st.integers(1, 5), st.integers(1, 20_000))
def test_shares_hold_each_record_once(ends, tasks, least):
    ranges = ranges_between({}, ends)
    shares = spread(ranges, tasks, least)
    assert len(shares) <= tasks and all(shares)
    parts = sorted((part for share in shares for part in share), key=lambda p: (p.topic, p.partition, p.begin))
    joined: list[Range] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last and (last.topic, last.partition, last.end) == (part.topic, part.partition, part.begin):
            joined[-1] = Range(last.topic, last.partition, last.begin, part.end)
        else:
            joined.append(part)
    assert joined == sorted(ranges, key=lambda p: (p.topic, p.partition))


@given(offsets, st.integers(1, 20_000))
def test_ranges_that_are_read_together_are_few_records_of_one_topic(ends, most):
    ranges = ranges_between({}, ends)
    groups = read_together(ranges, most)
    assert [part for group in groups for part in group] == ranges
    for group in groups:
        assert len({part.topic for part in group}) == 1
        assert len(group) == 1 or sum(part.end - part.begin for part in group) <= most
    for group, after in pairwise(groups):
        held = sum(part.end - part.begin for part in (*group, after[0]))
        assert held > most or group[0].topic != after[0].topic
