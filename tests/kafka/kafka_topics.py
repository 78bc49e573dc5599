"""Topics of a broker for tests."""

import contextlib
import uuid


class Topics:
    """The topics of a test, under names of its own."""

    _made = 0

    def __init__(self, address: str):
        from confluent_kafka import Producer
        from confluent_kafka.admin import AdminClient

        self.address = address
        # They outlive the broker, and would say so.
        client = {"bootstrap.servers": address, "log_level": 0}
        self._admin = AdminClient(client)
        # Without it, a request that is sent again changes the order of records.
        self._producer = Producer(client | {"enable.idempotence": True, "message.max.bytes": 20_000_000})

    def new(self, partitions: int = 3) -> str:
        """Make a topic; return its name."""
        Topics._made += 1
        name = f"events-{Topics._made}"
        self.create(name, partitions)
        return name

    def create(self, topic: str, partitions: int = 3) -> None:
        from confluent_kafka.admin import NewTopic

        self._admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()

    def records(self, topic: str) -> list[tuple[str | None, str | None]]:
        """Return the keys and values of all records, partition after partition; the value of a tombstone is None."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "tests", "enable.auto.commit": False})
        records = []
        try:
            for partition in consumer.list_topics(topic).topics[topic].partitions:
                first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition))
                consumer.assign([TopicPartition(topic, partition, first)])
                while first < end:
                    for message in consumer.consume(min(end - first, 500), timeout=10):
                        assert message.error() is None
                        key = message.key()
                        value = message.value()
                        texts = [None if data is None else data.decode() for data in (key, value)]
                        records.append((texts[0], texts[1]))
                        first = message.offset() + 1
        finally:
            consumer.close()
        return records

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result()

    def cut(self, topic: str, partition: int, offset: int) -> None:
        """Let the records before an offset be gone, as retention does."""
        from confluent_kafka import TopicPartition

        place = TopicPartition(topic, partition, offset)
        self._admin.delete_records([place])[place].result()

    def transactions(self):
        """Return what begins a transaction, committed at its end or not; this gives what writes a record."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.address, "log_level": 0, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(30)

        def put(topic, value, partition):
            producer.produce(topic, value, partition=partition)

        @contextlib.contextmanager
        def transaction(commit):
            producer.begin_transaction()
            yield put
            producer.flush()
            (producer.commit_transaction if commit else producer.abort_transaction)(30)

        return transaction

    def put(self, topic: str, *values: bytes | str | None, partition: int = -1, **more) -> None:
        """Write records with these values."""
        for value in values:
            self._producer.produce(topic, value, partition=partition, **more)
        self._producer.flush()

    def options(self, topic: str, **more: str) -> str:
        """Return the OPTIONS of a source over a topic."""
        options = {"kafka.bootstrap.servers": self.address, "subscribe": topic, **more}
        return f"OPTIONS ({', '.join(f'{name} {value!r}' for name, value in options.items())})"
