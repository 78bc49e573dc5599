"""USING datagen as a stream and as a table."""

import pytest

import cepsql

OPTIONS = "'fields.id.kind' 'sequence', 'fields.x.min' 1, 'fields.x.max' 1000"


@pytest.fixture
def engine(spark):
    with cepsql.connect(spark) as made:
        yield made


def defined(engine, rest):
    engine.sql(f"""
        CREATE OR REPLACE STREAM g (id BIGINT, x INT, at TIMESTAMP, WATERMARK FOR at AS at)
        USING datagen OPTIONS ({OPTIONS}, {rest})
    """)


def drained(query):
    output = []
    query.start(lambda rows, _: output.extend(tuple(row.values()) for row in rows.to_pylist()), drain=True).await_()
    return output


def test_a_stream_gives_the_rows_of_the_table(engine):
    defined(engine, "'rows-per-second' 20, 'number-of-rows' 40")
    engine.sql(f"""
        CREATE TABLE t (id BIGINT, x INT, at TIMESTAMP)
        USING datagen OPTIONS ({OPTIONS}, 'rows-per-second' 20, 'number-of-rows' 40)
    """)
    match = (
        """MATCH_RECOGNIZE (ORDER BY at MEASURES A.id AS a, LAST(B.x) AS x PATTERN (A B B) DEFINE B AS x < PREV(x))"""
    )
    table = [tuple(row) for row in engine.query(f"SELECT a, x FROM t {match}").collect()]
    assert sorted(drained(engine.query(f"SELECT a, x FROM g {match}"))) == sorted(table)
    assert len(table) > 1
    assert engine.query("PRINT g LIMIT 2").collect() == engine.query("SELECT * FROM t WHERE id < 3").collect()


def test_a_restarted_query_continues_with_the_next_row(engine, tmp_path):
    defined(engine, "'rows-per-second' 200")
    ids = []
    for _ in range(2):
        before = len(ids)
        query = engine.query("SELECT id FROM g").start(checkpoint=tmp_path / "checkpoint")
        for rows in query.rows():
            ids += rows["id"].to_pylist()
            if len(ids) >= before + 40:
                break
        query.stop()
        # What was handed over is known, and what was not is made again.
        ids = sorted(set(ids))
    assert ids == list(range(1, len(ids) + 1))


def test_an_endless_stream_is_not_drained(engine):
    defined(engine, "'rows-per-second' 5")
    with pytest.raises(cepsql.NotSupportedError, match="that never ends cannot be drained"):
        drained(engine.query("SELECT id FROM g"))
