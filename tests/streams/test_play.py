"""What `cepsql.testing.play` promises of batches."""

import time

from cepsql.spark import replay
from cepsql.testing import play


def test_a_batch_of_several_streams_is_one_micro_batch(spark, monkeypatch):
    def write_slowly(folder, rows, write=replay.write_batch):
        write(folder, rows)
        time.sleep(0.5)

    monkeypatch.setattr(replay, "write_batch", write_slowly)
    played = play(
        """CREATE STREAM a (id INT, PRIMARY KEY (id)) USING csv;
           CREATE STREAM b (id INT, PRIMARY KEY (id)) USING csv;
           SELECT a.id, b.id AS other FROM a LEFT JOIN b ON a.id = b.id EMIT CHANGES""",
        [{"a": [(1,)], "b": [(1,)]}, {"b": [(2,)], "a": [(2,)]}],
        spark=spark,
    )
    assert [[tuple(row) for row in rows] for rows in played] == [[(1, 1, "+I")], [(2, 2, "+I")], []]


def test_versions_of_a_topic_need_no_broker(spark):
    played = play(
        """CREATE STREAM rates (k STRING METADATA FROM key, n INT, ts TIMESTAMP METADATA FROM timestamp,
             WATERMARK FOR ts AS ts, PRIMARY KEY (k))
           USING kafka OPTIONS (kafka.bootstrap.servers 'nowhere:1', subscribe 'rates') FORMAT json;
           CREATE STREAM asked (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) USING csv;
           SELECT a.k, r.n FROM asked AS a LEFT JOIN rates FOR SYSTEM_TIME AS OF a.ts AS r ON a.k = r.k""",
        [{"rates": [("x", 1, "2026-01-01 00:00:01")], "asked": [(k, "2026-01-01 00:00:02") for k in "xy"]}],
        spark=spark,
    )
    assert sorted(tuple(row) for rows in played for row in rows) == [("x", 1), ("y", None)]
