"""Topics of a broker for tests."""


class Topics:
    """The topics of a test, under names of its own."""

    _made = 0

    def __init__(self, address: str):
        from confluent_kafka import Producer
        from confluent_kafka.admin import AdminClient

        self.address = address
        self._admin = AdminClient({"bootstrap.servers": address})
        self._producer = Producer({"bootstrap.servers": address, "message.max.bytes": 20_000_000})

    def new(self, partitions: int = 3) -> str:
        """Make a topic; return its name."""
        from confluent_kafka.admin import NewTopic

        Topics._made += 1
        name = f"events-{Topics._made}"
        self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
        return name

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result()

    def cut(self, topic: str, partition: int, offset: int) -> None:
        """Let the records before an offset be gone, as retention does."""
        from confluent_kafka import TopicPartition

        place = TopicPartition(topic, partition, offset)
        self._admin.delete_records([place])[place].result()

    def put(self, topic: str, *values: bytes | str | None, partition: int = -1, **more) -> None:
        """Write records with these values."""
        for value in values:
            self._producer.produce(topic, value, partition=partition, **more)
        self._producer.flush()

    def options(self, topic: str, **more: str) -> str:
        """Return the OPTIONS of a source over a topic."""
        given = {"kafka.bootstrap.servers": self.address, "subscribe": topic, **more}
        return f"OPTIONS ({', '.join(f'{name} {value!r}' for name, value in given.items())})"
