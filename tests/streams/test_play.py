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
