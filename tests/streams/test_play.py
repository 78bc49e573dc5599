"""What `cepsql.testing.play` promises of batches."""

import time

import pytest

from cepsql.errors import InterfaceError
from cepsql.spark.run import replayed_batches
from cepsql.testing import play


def test_a_batch_of_several_streams_is_one_micro_batch(spark, monkeypatch):
    def write_slowly(folder, rows, write=replayed_batches.write_batch):
        write(folder, rows)
        time.sleep(0.5)

    monkeypatch.setattr(replayed_batches, "write_batch", write_slowly)
    played = play(
        """CREATE STREAM a (id INT, PRIMARY KEY (id)) USING csv;
           CREATE STREAM b (id INT, PRIMARY KEY (id)) USING csv;
           SELECT a.id, b.id AS other FROM a LEFT JOIN b ON a.id = b.id EMIT CHANGES""",
        [{"a": [(1,)], "b": [(1,)]}, {"b": [(2,)], "a": [(2,)]}],
        spark=spark,
    )
    assert [[tuple(row) for row in rows] for rows in played] == [[(1, 1, "+I")], [(2, 2, "+I")], []]


EXISTS = """CREATE STREAM a (id INT, PRIMARY KEY (id)) USING csv; CREATE STREAM b (id INT, PRIMARY KEY (id)) USING csv;
    CREATE STREAM c (id INT, PRIMARY KEY (id)) USING csv;
    SELECT id, EXISTS (SELECT MAX(id) FROM b) AS e FROM a EMIT CHANGES"""


def test_rows_of_a_stream_that_the_query_does_not_need(spark):
    played = play(EXISTS, [{"a": [(1,)], "B": [(1,)]}, {"b": [(2,)]}], spark=spark)
    assert [[tuple(row) for row in rows] for rows in played] == [[(1, True, "+I")], [], []]


def test_rows_of_a_stream_that_the_query_does_not_name(spark):
    with pytest.raises(InterfaceError, match="the query reads no stream c"):
        play(EXISTS, [{"a": [(1,)], "c": [(1,)]}], spark=spark)


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


NAMED = """CREATE STREAM s (k STRING, at TIMESTAMP, v INT, w INT AS v + 1, WATERMARK FOR at AS at) USING csv;
    SELECT k, v, w FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES A.v AS v, A.w AS w PATTERN (A))"""


def test_rows_by_name(spark):
    row = {"K": "a", "AT": "2026-01-01 00:00:01", "v": 1}
    played = play(NAMED, [[row, {**row, "v": 2}, {name: row[name] for name in ("K", "AT")}]], spark=spark)
    assert sorted((tuple(row) for rows in played for row in rows), key=str) == [
        ("a", 1, 2),
        ("a", 2, 3),
        ("a", None, None),
    ]


@pytest.mark.parametrize("name", ["att", "w", 5])
def test_a_row_with_a_name_that_is_no_column(name):
    with pytest.raises(InterfaceError) as raised:
        play(NAMED, [[{"k": "a", name: "2026-01-01 00:00:01", "v": 1}]])
    assert raised.value.message == f"a row of s has no column {name}"
    assert ("did you mean at? " in raised.value.hint) == (name == "att")
    assert raised.value.hint.endswith("columns that are not computed: k, at, v")
