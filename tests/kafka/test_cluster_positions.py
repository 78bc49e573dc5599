"""Where partitions begin and end, also while a broker does not say it."""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from cepsql.errors import OperationalError
from cepsql.readers.kafka import cluster
from cepsql.readers.kafka.cluster import Cluster
from cepsql.readers.kafka.kafka_options import kafka_options

GIVEN = {"kafka.bootstrap.servers": "127.0.0.1:1", "assign": '{"t": [0, 1]}'}


class Broker:
    """Answers with offsets, one list of those of both partitions after another; the last one again and again."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def list_offsets(self, wanted, **_):
        self.asked += 1
        offsets = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        futures = {}
        for partition in wanted:
            futures[partition] = Future()
            futures[partition].set_result(SimpleNamespace(offset=offsets[partition.partition]))
        return futures


@pytest.fixture
def asking(monkeypatch):
    monkeypatch.setattr(cluster, "_PAUSE_SECONDS", 0.01)

    def asking(broker, patience=5.0):
        made = Cluster(kafka_options("s", GIVEN.items(), streaming=True), patience)
        made._admin = broker
        return made

    return asking


def test_an_end_that_is_open_is_asked_for_again(asking):
    broker = Broker([3, -1], [-1, -1], [3, 5])
    assert asking(broker).latest() == {"t": {"0": 3, "1": 5}}
    assert broker.asked == 3


def test_an_end_that_stays_open_is_an_error(asking):
    with pytest.raises(OperationalError, match="Kafka does not say how far partition 1 of t is"):
        asking(Broker([3, -1]), patience=0.05).latest()
