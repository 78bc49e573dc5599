"""What micro-batches over a topic take, as Spark asks for it: without Spark and without a broker."""

import pickle

import pytest

from cepsql.errors import OperationalError
from cepsql.readers.kafka.kafka_options import kafka_options

pytest.importorskip("confluent_kafka")
pytest.importorskip("pyspark.sql.streaming.datasource", reason="PySpark 4.2 has it")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from cepsql.spark.sources import kafka_source
from cepsql.spark.sources.kafka_source import KafkaReading, _KafkaStreamReader


class Topic:
    """Stands in for a cluster with one topic."""

    ends: dict[str, int]
    id = "first"

    def __init__(self, options):
        self.options = options

    def latest(self):
        return {"t": dict(Topic.ends)}

    def ids(self, topics):
        return dict.fromkeys(topics, Topic.id) if Topic.id else {}

    def positions(self, start):
        return self.latest() if start.default == -1 else {"t": dict.fromkeys(Topic.ends, 0)}


@pytest.fixture
def reader(monkeypatch):
    monkeypatch.setattr(kafka_source, "Cluster", Topic)

    def made(*options):
        servers = [("kafka.bootstrap.servers", "h"), ("subscribe", "t")]
        return _KafkaStreamReader(
            KafkaReading(kafka_options("s", [*servers, *options], True), pickle.dumps(iter), tasks=2)
        )

    return made


def taken(reader, start, end):
    parts = [part for share in reader.partitions(start, end) for part in share.value]
    return sorted((part.partition, part.begin, part.end) for part in parts)


def test_the_first_batch_done_again_begins_where_it_began(reader):
    Topic.ends = {"0": 10, "1": 5}
    first = reader()
    start = first.initialOffset()
    Topic.ends = {"0": 12, "1": 5}
    end = first.latestOffset(start, ReadAllAvailable())
    assert taken(first, start, end) == [(0, 10, 12)]
    # Spark has logged the end of the batch and then died; its beginning is asked for anew.
    Topic.ends = {"0": 20, "1": 30}
    again = reader()
    assert taken(again, again.initialOffset(), end) == [(0, 10, 12)]
    after = again.latestOffset(end, ReadAllAvailable())
    assert taken(again, end, after) == [(0, 12, 20), (1, 5, 30)]
    assert again.latestOffset(after, ReadAllAvailable()) == after


def test_what_comes_after_the_start_is_left_by_available_now(reader):
    Topic.ends = {"0": 100, "1": 300}
    draining = reader(("startingOffsets", "earliest"), ("maxOffsetsPerTrigger", "40"))
    assert draining.getDefaultReadLimit() == ReadMaxRows(40)
    draining.prepareForTriggerAvailableNow()
    Topic.ends = {"0": 900, "1": 900}
    at, batches, rows = draining.initialOffset(), 0, 0
    while (end := draining.latestOffset(at, ReadMaxRows(40))) != at:
        rows += sum(end - begin for _, begin, end in taken(draining, at, end))
        at, batches = end, batches + 1
    assert (batches, rows) == (10, 400)


def test_a_new_partition_is_read_from_its_beginning(reader):
    Topic.ends = {"0": 4}
    following = reader()
    start = following.initialOffset()
    Topic.ends = {"0": 4, "1": 3}
    assert taken(following, start, following.latestOffset(start, ReadAllAvailable())) == [(1, 0, 3)]


def test_a_topic_that_is_shorter_than_it_was(reader):
    Topic.ends = {"0": 10}
    start = reader().initialOffset()
    Topic.ends = {"0": 4}
    with pytest.raises(OperationalError, match="ends at offset 4, but was read up to 10"):
        reader().latestOffset(start, ReadAllAvailable())
    careless = reader(("failOnDataLoss", "false"))
    end = careless.latestOffset(start, ReadAllAvailable())
    assert taken(careless, start, end) == []
    Topic.ends = {"0": 6}
    assert taken(careless, end, careless.latestOffset(end, ReadAllAvailable())) == [(0, 4, 6)]


def test_a_topic_that_was_made_anew(reader, monkeypatch):
    Topic.ends = {"0": 10}
    first = reader()
    start = first.initialOffset()
    Topic.ends = {"0": 12}
    end = first.latestOffset(start, ReadAllAvailable())
    after = reader().latestOffset(end, ReadAllAvailable())
    assert after == end
    monkeypatch.setattr(Topic, "id", "second")
    Topic.ends = {"0": 100}
    for running in (first, reader()):
        with pytest.raises(OperationalError, match="the topic t was deleted and created again"):
            running.latestOffset(end, ReadAllAvailable())
    # Spark has logged the end of the batch and then died.
    with pytest.raises(OperationalError, match="the topic t was deleted and created again"):
        reader().partitions(start, end)
    careless = reader(("failOnDataLoss", "false"))
    assert taken(careless, end, careless.latestOffset(end, ReadAllAvailable())) == [(0, 12, 100)]


@pytest.mark.parametrize("id", ["first", None])
def test_ids_are_kept_once_they_are_known(reader, monkeypatch, id):
    Topic.ends = {"0": 12}
    earlier = {"start": {"t": {"0": 10}}, "next": {"t": {"0": 10}}}
    monkeypatch.setattr(Topic, "id", id)
    end = reader().latestOffset(earlier, ReadAllAvailable())
    assert end["ids"] == ({"t": "first"} if id else {})
    assert taken(reader(), earlier, end) == [(0, 10, 12)]
    assert taken(reader(), earlier, {name: end[name] for name in ("start", "next")}) == [(0, 10, 12)]


def test_offsets_of_another_reader(reader):
    Topic.ends = {"0": 1}
    with pytest.raises(OperationalError, match="begun with Spark's connector"):
        reader().latestOffset({"t": {"0": 1}}, ReadAllAvailable())


def test_tasks_get_no_connection(reader):
    assert "_cluster" not in vars(pickle.loads(pickle.dumps(reader())))
