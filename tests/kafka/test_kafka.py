"""Queries over topics of a real broker: the same rows as over files, each once, whatever happens in between."""

import contextlib
import json
import random
import sqlite3
import time

import pytest
from chance import is_night
from kafka_broker import Broker
from kafka_topics import Topics

import cepsql
from cepsql.catalog import Sink

MATCH = """
    SELECT * FROM ticks MATCH_RECOGNIZE (
      PARTITION BY symbol ORDER BY at
      MEASURES MATCH_ID() AS match, TOP.id AS top, LAST(UP.id) AS up
      PATTERN (TOP DOWN+ UP) WITHIN INTERVAL '1' HOUR
      DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
    ) AS m
"""
COLUMNS = "id INT, symbol STRING, at TIMESTAMP, price DOUBLE, WATERMARK FOR at AS at - INTERVAL '10' SECONDS"


@pytest.fixture
def engine(spark):
    with cepsql.connect(spark) as made:
        yield made


def events(count, seed=1):
    """Return JSON texts of ticks, out of order by at most ten seconds."""
    draw = random.Random(seed)
    rows = [
        {
            "id": i,
            "symbol": draw.choice("abc"),
            "at": f"2026-03-02 09:{i // 60:02}:{i % 60:02}",
            "price": draw.randint(1, 9),
        }
        for i in range(count)
    ]
    rows.sort(key=lambda row: row["id"] + draw.randint(0, 9))
    return [json.dumps(row) for row in rows]


def define(engine, topics, topic, more="", after="FROM EARLIEST", **options):
    engine.sql(f"CREATE OR REPLACE STREAM ticks ({COLUMNS}{more}) USING kafka {topics.options(topic, **options)} "
               f"FORMAT json {after}")  # fmt: skip


def drained(query, **more):
    """Return the rows of a query over what is there, and its progress."""
    output = []
    with query.start(lambda rows, batch: output.extend(rows.to_pylist()), drain=True, **more) as standing:
        standing.await_()
    return sorted(map(repr, output)), standing.progress


def over_files(engine, folder, texts):
    folder.mkdir()
    (folder / "all.json").write_text("\n".join(texts))
    engine.sql(f"CREATE OR REPLACE STREAM ticks ({COLUMNS}) USING json OPTIONS (path '{folder}')")
    return drained(engine.sql(MATCH))


def test_matches_over_a_topic_are_those_over_files(engine, topics, tmp_path):
    texts = events(900)
    rows, counted = over_files(engine, tmp_path / "files", texts)
    topic = topics.new()
    for partition in range(3):
        topics.put(topic, *texts[partition::3], partition=partition)
    define(engine, topics, topic)
    query = engine.sql(MATCH)
    assert query.scan_obstacle(engine.spark) is None
    output, progress = drained(query)
    assert rows and output == rows
    assert (progress.rows_read, progress.rows_used) == (counted.rows_read, 900)
    if is_night():
        engine.sql("SET cepsql.scan = spark")
        assert drained(query)[0] == rows
        engine.sql("RESET cepsql.scan")
    # Micro-batches that are cut from all partitions leave none behind.
    define(engine, topics, topic, maxOffsetsPerTrigger="250")
    output, progress = drained(engine.sql(MATCH))
    assert (progress.rows_read, progress.rows_used, progress.rows_late) == (900, 900, 0) and progress.batches > 3
    assert output == rows


@pytest.mark.nightly("it has many batches")
def test_what_transactions_wrote_is_read_where_they_were_committed(engine, topics):
    topic, texts = topics.new(), events(240, seed=3)
    parts = [texts[begin : begin + 20] for begin in range(0, 240, 20)]
    committed = [number % 3 < 2 for number in range(len(parts))]
    transaction = topics.transactions()
    for part, commit in zip(parts, committed, strict=True):
        # The offsets of what does not count remain, and those of the marks of all transactions.
        with transaction(commit) as put:
            for number, text in enumerate(part):
                put(topic, text, number % 3)
    ids = [json.loads(text)["id"] for part, commit in zip(parts, committed, strict=True) if commit for text in part]
    for limit in ({}, {"maxOffsetsPerTrigger": "25"}):
        define(engine, topics, topic, **limit)
        output, progress = drained(engine.sql("SELECT id FROM ticks"))
        assert output == sorted(repr({"id": id}) for id in ids) and progress.rows_read == len(ids)


def test_a_restart_goes_on_where_it_was(engine, topics, tmp_path):
    texts = events(300, seed=2)
    rows, _ = over_files(engine, tmp_path / "files", texts)
    topic = topics.new()
    define(engine, topics, topic, after="FROM LATEST")
    query, output = engine.sql(MATCH), []
    topics.put(topic, events(1)[0])
    for part in (texts[:150], texts[150:]):
        with query.start(lambda rows, b: output.extend(rows.to_pylist()), checkpoint=str(tmp_path / "c")) as standing:
            standing.process_available()
            topics.put(topic, *part)
            standing.process_available()
    query.start(lambda rows, b: output.extend(rows.to_pylist()), checkpoint=str(tmp_path / "c"), drain=True).await_()
    assert sorted(map(repr, output)) == rows
    assert standing.progress.rows_read == 300


def test_what_does_not_fit_is_counted_and_kept(engine, topics, tmp_path):
    topic = topics.new(1)
    wrong = [b"nonsense", b'{"id": "x"}', b'{"id": 1, "symbol": "\xff"}', b"[]", b'[{"id": 1}]', b"", b"null", None]
    big = json.dumps({"id": 2, "at": "2026-03-02 09:00:02", "symbol": "a", "price": 2, "x": "x" * 2_000_000})
    good = ['{"id": 1, "at": "2026-03-02 09:00:01",\n "symbol": "a", "price": 3}', big, events(4)[3]]
    topics.put(topic, *good, *wrong, key="k", headers=[("h", b"1")])
    engine.sql(f"""CREATE STREAM ticks ({COLUMNS}, key STRING METADATA) USING kafka {topics.options(topic)} FORMAT json
                   FROM EARLIEST LATE ROWS INTO late USING json OPTIONS (path '{tmp_path}')""")
    query = engine.sql(MATCH)
    _, late_progress = drained(query)
    late = engine.sql("SELECT reason, record, key FROM late").collect()
    assert {row.reason for row in late} == {"malformed"} and {row.key for row in late} == {"k"}
    shown = [None if value is None else value.decode(errors="replace") for value in wrong]
    assert sorted(map(repr, (row.record for row in late))) == sorted(map(repr, shown))
    define(engine, topics, topic, more=", key STRING METADATA")
    _, counted = drained(engine.sql(MATCH))
    for progress in (late_progress, counted):
        assert (progress.rows_read, progress.rows_malformed) == (11, 8)
        assert progress.rows_used + progress.rows_late == 3
    _, plain = drained(engine.sql("SELECT id FROM ticks"))
    assert (plain.rows_read, plain.rows_malformed, plain.rows_out) == (11, 8, 3)
    # A key of other bytes is not shown as a text that it is not.
    topics.put(topic, events(1)[0], key=b"\xff")
    assert drained(engine.sql(MATCH))[1].rows_malformed == 9


def test_formats_and_metadata(engine, topics):
    topic = topics.new(1)
    topics.put(topic, b"1,2.5,a", b"2,3,b\n", b'3,1,"q,r"', key="k", headers=[("h", b"x")], timestamp=1_700_000_000_000)
    topics.put(topic, b"x,3,b", b"1,2", b"", b"1,2,c\n3,4,d", b"\xff,1,2", None)
    engine.sql(f"""CREATE TABLE c (id INT, price DOUBLE, name STRING, off BIGINT METADATA FROM 'offset',
                     part INT METADATA FROM partition, topic STRING METADATA, key BINARY METADATA,
                     at TIMESTAMP METADATA FROM timestamp, kind INT METADATA FROM timestamp_type,
                     headers ARRAY<STRUCT<key STRING, value BINARY>> METADATA, twice DOUBLE AS price * 2)
                   USING kafka {topics.options(topic)} FORMAT csv""")
    query = engine.sql("""SELECT id, price, name, off, part, topic, CAST(key AS STRING) AS key, unix_millis(at) AS at,
                            kind, CAST(headers[0].value AS STRING) AS h, twice FROM c ORDER BY id""")
    metadata = (topic, "k", 1_700_000_000_000, 0, "x")
    assert [(*row[:5], *row[5:10], row[10]) for row in query.collect()] == [
        (1, 2.5, "a", 0, 0, *metadata, 5.0), (2, 3.0, "b", 1, 0, *metadata, 6.0), (3, 1.0, "q,r", 2, 0, *metadata, 2.0),
    ]  # fmt: skip
    assert query.malformed == 6
    raw = engine.sql(f"CREATE TABLE r (value STRING, offset BIGINT) USING kafka {topics.options(topic)}")
    assert raw.message == "table r created"
    query = engine.sql("SELECT value FROM r WHERE offset BETWEEN 5 AND 8 ORDER BY offset")
    assert [row.value for row in query.collect()] == ["", "1,2,c\n3,4,d", None] and query.malformed == 1
    engine.sql(f"CREATE TABLE every USING kafka {topics.options(topic, endingOffsets=json.dumps({topic: {'0': 2}}))}")
    assert engine.sql("SELECT count(*) AS n, max(offset) AS o FROM every").collect() == [(2, 1)]


def test_changes_of_debezium(engine, topics):
    topic = topics.new(1)
    row, other = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    changes = [
        {"before": None, "after": row, "op": "c", "ts_ms": 5},
        {"schema": {"type": "struct"}, "payload": {"before": row, "after": other, "op": "u", "ts_ms": 6}},
        {"before": other, "after": None, "op": "d", "ts_ms": 7},
        {"op": "t"}, {"op": "c", "after": None}, {"op": "c", "after": {"id": "x"}}, {"op": "d"}, row,
    ]  # fmt: skip
    topics.put(topic, *map(json.dumps, changes), None)
    engine.sql(f"""CREATE TABLE d (id INT, name STRING, op STRING METADATA, ms BIGINT METADATA FROM ts_ms)
                   USING kafka {topics.options(topic)} FORMAT debezium""")
    query = engine.sql("SELECT * FROM d ORDER BY ms")
    assert query.collect() == [(1, "a", "c", 5), (1, "b", "u", 6), (1, "b", "d", 7)]
    assert query.malformed == 5


@pytest.mark.nightly("files tell nearly the same")
def test_tables_that_change(engine, topics):
    debezium, upserts = topics.new(1), topics.new(2)
    topics.put(debezium, json.dumps({"op": "c", "after": {"id": 1, "name": "a"}}),
               json.dumps({"op": "c", "after": {"id": 2, "name": "b"}}),
               json.dumps({"op": "u", "after": {"id": 1, "name": "c"}}))  # fmt: skip
    topics.put(debezium, json.dumps({"op": "d", "before": None, "after": None}), None, key='{"payload": {"id": 2}}')
    topics.put(debezium, json.dumps({"op": "d", "before": None}), json.dumps({"op": "c"}), json.dumps({"op": "q"}))
    for key, value in (("x", 1), ("y", 2), ("x", 3), ("z", 4), ("y", None), (None, 5), (None, None)):
        topics.put(upserts, None if value is None else json.dumps({"n": value}), key=key, partition=int(key == "y"))
    engine.sql(f"""CREATE STREAM d (id INT, name STRING, PRIMARY KEY (id))
                   USING kafka {topics.options(debezium)} FORMAT debezium FROM EARLIEST;
                   CREATE STREAM u (k STRING METADATA FROM 'key', n INT, PRIMARY KEY (k))
                   USING kafka {topics.options(upserts)} FORMAT json FROM EARLIEST""")
    rows, progress = drained(engine.sql("SELECT id, name FROM d EMIT CHANGES"))
    assert rows == [repr({"id": 1, "name": "c", "op": "+I"})]
    assert (progress.rows_read, progress.rows_malformed, progress.rows_used) == (7, 3, 4)
    rows, progress = drained(engine.sql("SELECT k, n FROM u EMIT CHANGES"))
    assert rows == [repr({"k": "x", "n": 3, "op": "+I"}), repr({"k": "z", "n": 4, "op": "+I"})]
    assert (progress.rows_read, progress.rows_malformed, progress.rows_used) == (7, 2, 5)


@pytest.mark.nightly("files tell nearly the same")
def test_a_record_without_a_value_ends_a_version(engine, topics):
    rates, asked = topics.new(1), topics.new(1)
    second = 1_770_000_000_000
    for at, key, value in ((1, "x", 1), (1, "y", 1), (3, "x", None), (5, "x", 5), (6, "y", -1), (7, None, None)):
        record = None if value is None else json.dumps({"n": value})
        topics.put(rates, record, key=key, timestamp=second + 1000 * at)
    for at in range(1, 7):
        topics.put(asked, *(json.dumps({"k": key, "at": at}) for key in "xy"), timestamp=second + 1000 * at)
    time = "ts TIMESTAMP METADATA FROM timestamp, WATERMARK FOR ts AS ts"
    engine.sql(f"""CREATE STREAM rates (k STRING METADATA FROM key, n INT, {time}, PRIMARY KEY (k) DELETE WHEN n < 0)
                   USING kafka {topics.options(rates)} FORMAT json FROM EARLIEST;
                   CREATE STREAM asked (k STRING, at INT, {time})
                   USING kafka {topics.options(asked)} FORMAT json FROM EARLIEST""")
    text = """SELECT a.at, a.k, r.n FROM asked AS a
              LEFT JOIN rates FOR SYSTEM_TIME AS OF a.ts AS r ON a.k = r.k"""
    lines = [line.strip() for (line,) in engine.sql(f"EXPLAIN LOGICAL {text}").rows]
    assert "delete when: n < 0 OR the record has no value" in lines
    output, progress = drained(engine.sql(text))
    expected = {(at, "x"): (1 if at < 3 else None if at < 5 else 5) for at in range(1, 7)}
    expected |= {(at, "y"): (1 if at < 6 else None) for at in range(1, 7)}
    assert output == sorted(repr({"at": at, "k": k, "n": n}) for (at, k), n in expected.items())
    assert (progress.inputs["rates"].read, progress.inputs["rates"].used) == (6, 6)


def test_where_it_starts(engine, topics):
    topic = topics.new(2)
    for partition, millis in ((0, 1_000), (1, 2_000), (0, 3_000)):
        topics.put(topic, f'{{"id": {millis}}}', partition=partition, timestamp=1_770_000_000_000 + millis)
    columns = "id INT, off BIGINT METADATA FROM 'offset'"
    base = "timestamp_millis(1770000000000)"
    later = engine.sql(f"SELECT CAST({base} + INTERVAL '2' SECONDS AS STRING) AS t").collect()[0].t

    def ids(*start, **options):
        engine.sql(f"CREATE OR REPLACE STREAM s ({columns}) USING kafka {topics.options(topic, **options)} FORMAT json "
                   f"{' '.join(start)}")  # fmt: skip
        return drained(engine.sql("SELECT id FROM s"))[0]

    def rows(*numbers):
        return [repr({"id": number}) for number in numbers]

    assert ids("FROM EARLIEST") == rows(1000, 2000, 3000)
    assert ids(f"FROM TIMESTAMP '{later}'") == rows(2000, 3000)
    assert ids(startingOffsets=json.dumps({topic: {"0": 1, "1": -1}})) == rows(3000)
    assert ids() == []
    if is_night():
        assert ids("FROM LATEST") == []
    with pytest.raises(cepsql.ProgrammingError, match="no time"):
        ids("FROM TIMESTAMP 'soon'")


@pytest.mark.nightly("a stream begins so, too")
def test_a_new_checkpoint_begins_where_it_is_told(spark, topics, tmp_path):
    topic = topics.new(1)
    texts = events(30)
    for number, text in enumerate(texts):
        topics.put(topic, text, timestamp=1_770_000_000_000 + 1000 * number)
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        define(engine, topics, topic)
        engine.sql("CREATE QUERY q AS SELECT id, price FROM ticks; START QUERY q")
        assert rows_read(engine, 30) == 30
        later = engine.sql("SELECT CAST(timestamp_millis(1770000020000) AS STRING) AS t").collect()[0].t
        fresh = f"WITH NEW CHECKPOINT FROM TIMESTAMP '{later}'"
        engine.sql(f"STOP QUERY q; CREATE OR REPLACE QUERY q {fresh} AS SELECT id FROM ticks; START QUERY q")
        assert rows_read(engine, 10) == 10
        # Its place in the topic is the checkpoint's from now on.
        engine.sql("STOP QUERY q; START QUERY q")
        topics.put(topic, *texts[:5])
        assert rows_read(engine, 15) == 15
        engine.sql("STOP QUERY q")


@pytest.mark.nightly("files tell the same")
def test_partial_matches_are_made_anew_under_another_text(spark, topics, tmp_path):
    topic = topics.new(2)
    text = """SELECT k, a, b FROM s MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b PATTERN (A B) DEFINE B AS n > A.n + {}) AS m"""

    def put(partition, *rows):
        for second, number in rows:
            values = {"k": partition, "ts": f"2026-01-01 00:00:{second:02}", "n": number}
            topics.put(topic, json.dumps(values), partition=partition)

    def pairs():
        with contextlib.closing(sqlite3.connect(tmp_path / "out.db")) as connection:
            return sorted(connection.execute("SELECT k, a, b FROM pairs").fetchall())

    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        engine.sql(f"""CREATE STREAM s (k INT, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts)
            USING kafka {topics.options(topic)} FORMAT json FROM EARLIEST;
            CREATE SINK pairs (k INT, a INT, b INT)
            USING sqlite OPTIONS (path '{tmp_path}/out.db', create_table 'true');
            CREATE QUERY q INTO pairs AS {text.format(0)}""")
        put(0, (1, 1), (2, 2), (9, 5))
        put(1, (3, 7), (9, 3))
        engine.sql("START QUERY q")
        assert rows_read(engine, 5) == 5
        engine.sql("STOP QUERY q")
        assert pairs() == [(0, 1, 2)]
        said = engine.sql(f"CREATE OR REPLACE QUERY q INTO pairs AS {text.format(1)}").message
        assert said.startswith("query q replaced: replayable; ")
        # 5 and 3 wait from before; by the first text 6 and 4 would follow them.
        put(0, (10, 6), (12, 8), (20, 0))
        put(1, (11, 9), (20, 0))
        engine.sql("START QUERY q")
        assert rows_read(engine, 10) == 10
        engine.sql("STOP QUERY q")
        assert pairs() == [(0, 1, 2), (0, 6, 8), (1, 3, 9)]


def rows_read(engine, rows):
    """Return how many rows the query q has read, once these are so many or a minute has passed."""
    end = time.monotonic() + 60
    while engine.queries["q"].progress.get("rows_read") != rows and time.monotonic() < end:
        time.sleep(0.2)
    return engine.queries["q"].progress["rows_read"]


def test_records_that_are_gone_are_an_error(engine, topics, tmp_path):
    topic = topics.new(1)
    topics.put(topic, *events(30))
    define(engine, topics, topic)
    query = engine.sql(MATCH)
    with query.start(checkpoint=str(tmp_path / "c")) as standing:
        standing.process_available()
    topics.put(topic, *events(30))
    topics.cut(topic, 0, 40)
    standing = query.start(checkpoint=str(tmp_path / "c"))
    with pytest.raises(cepsql.OperationalError, match="are gone from Kafka: offsets 30 to 39"):
        standing.await_(60)
    define(engine, topics, topic, failOnDataLoss="false")
    with engine.sql(MATCH).start(checkpoint=str(tmp_path / "c")) as standing:
        standing.process_available()
    assert standing.progress.rows_read == 50


@pytest.mark.nightly("plans tell the same")
def test_a_topic_that_was_made_anew_is_an_error(engine, topics, tmp_path):
    topic = topics.new(1)
    topics.put(topic, *events(5))
    define(engine, topics, topic)
    query = engine.sql(MATCH)
    with query.start(checkpoint=str(tmp_path / "c")) as standing:
        standing.process_available()
        topics.put(topic, *events(5))
        standing.process_available()
    topics.delete(topic)
    topics.create(topic, 1)
    topics.put(topic, *events(20))
    with pytest.raises(
        cepsql.OperationalError, match=f"the topic {topic} was deleted and created again since it was read"
    ):
        query.start(checkpoint=str(tmp_path / "c")).await_(60)


def test_what_cannot_be_read_is_named(engine, topics):
    with pytest.raises(cepsql.OperationalError, match="has no topic nowhere"):
        define(engine, topics, "nowhere")
        engine.sql("SELECT * FROM ticks").df  # noqa: B018
    topics.address = "127.0.0.1:1"
    with pytest.raises(cepsql.OperationalError, match=r"no Kafka broker answers at 127\.0\.0\.1:1"):
        define(engine, topics, "nowhere")
        engine.sql("SELECT * FROM ticks").df  # noqa: B018


def test_a_changing_result_is_the_latest_record_of_each_key(engine, topics, tmp_path):
    spent, folder = topics.new(), tmp_path / "orders"
    folder.mkdir()
    (folder / "1.csv").write_text("1,Rome,5,n\n2,Oslo,7,n\n3,Bern,1,n\n")
    engine.sql(f"""CREATE STREAM sold (id INT, city STRING, total INT, kind STRING,
                   PRIMARY KEY (id) DELETE WHEN kind = 'd') USING csv OPTIONS (path '{folder}')""")
    query = engine.sql("SELECT city, SUM(total) AS total FROM sold GROUP BY city EMIT CHANGES")
    sink = Sink("spent", (), "kafka", (("kafka.bootstrap.servers", topics.address), ("topic", spent)), ("city",))
    with query.start(sink=sink, checkpoint=tmp_path / "checkpoint") as standing:
        standing.process_available()
        (folder / "2.csv").write_text("1,Bern,5,u\n2,Oslo,8,u\n4,Rome,2,n\n")
        standing.process_available()
        (folder / "3.csv").write_text("1,Bern,5,d\n3,Bern,1,d\n")
        standing.process_available()
    latest: dict[str | None, str | None] = {}
    for key, value in topics.records(spent):
        latest[key] = value
    assert {key: json.loads(value) if value else None for key, value in latest.items()} == {
        "Bern": None, "Oslo": {"city": "Oslo", "total": 8}, "Rome": {"city": "Rome", "total": 2},
    }  # fmt: skip
    engine.sql(f"""CREATE STREAM latest (city STRING METADATA FROM 'key', total BIGINT, PRIMARY KEY (city))
                   USING kafka {topics.options(spent)} FORMAT json FROM EARLIEST""")
    rows, _ = drained(engine.sql("SELECT city, total FROM latest EMIT CHANGES"))
    assert rows == [repr({"city": "Oslo", "total": 8, "op": "+I"}), repr({"city": "Rome", "total": 2, "op": "+I"})]


def test_matches_go_to_a_topic_under_their_ids(engine, topics):
    source, alerts = topics.new(), topics.new()
    topics.put(source, *events(300))
    define(engine, topics, source)
    query = engine.sql(MATCH.replace("SELECT *", "SELECT match AS id, symbol, top"))
    options = (("kafka.bootstrap.servers", topics.address), ("topic", alerts))
    for _ in range(2):
        standing = query.start(sink=Sink("alerts", (), "kafka", options), drain=True)
        standing.await_()
    engine.sql(f"""CREATE TABLE sent (id STRING, symbol STRING, top INT, key STRING METADATA)
                   USING kafka {topics.options(alerts)} FORMAT json""")
    counted = engine.sql("SELECT count(*) AS n, count_if(key = id) AS keyed, count(DISTINCT id) AS ids FROM sent")
    matches = standing.progress.matches
    assert matches > 5 and counted.collect() == [(2 * matches, 2 * matches, matches)]
    assert engine.sql("SELECT count(*) AS n FROM sent WHERE symbol IS NULL OR top IS NULL").collect() == [(0,)]
    nowhere = Sink("alerts", (), "kafka", (("kafka.bootstrap.servers", topics.address), ("topic", "nowhere")))
    with pytest.raises(cepsql.OperationalError, match="has no topic nowhere"):
        query.start(sink=nowhere)


@pytest.fixture
def own_broker(broker, tmp_path):
    """A broker that a test may stop."""
    made = Broker(tmp_path / "broker")
    made.start()
    yield made
    made.stop()


@pytest.mark.nightly("a broker starts three times")
def test_a_broker_that_is_away_is_waited_for(engine, own_broker, tmp_path):
    topics = Topics(own_broker.address)
    source, alerts = topics.new(), topics.new()
    texts = events(200)
    topics.put(source, *texts[:100])
    define(engine, topics, source)
    sink = Sink("alerts", (), "kafka", (("kafka.bootstrap.servers", topics.address), ("topic", alerts)))
    with engine.sql(MATCH).start(sink=sink, checkpoint=str(tmp_path / "c")) as standing:
        standing.process_available()
        own_broker.stop()
        time.sleep(3)
        own_broker.start()
        topics.put(source, *texts[100:])
        standing.process_available()
        assert standing.status == "running"
    assert standing.progress.rows_read == 200


def test_rows_are_inserted_as_records(engine, topics):
    topic = topics.new()
    define(engine, topics, topic, ", up STRING AS upper(symbol)")
    values = "(1, 'a', '2026-03-02 09:00:00.5', 1.5), (2, 'b', '2026-03-02 09:00:01', NULL)"
    assert engine.sql(f"INSERT INTO ticks VALUES {values}").message == "2 rows written to ticks"
    engine.sql("INSERT INTO ticks (symbol) VALUES ('c')")
    rows, _ = drained(engine.query("SELECT id, up, CAST(at AS STRING) AS at, price FROM ticks"))
    assert rows == sorted(map(repr, [
        {"id": 1, "up": "A", "at": "2026-03-02 09:00:00.5", "price": 1.5},
        {"id": 2, "up": "B", "at": "2026-03-02 09:00:01", "price": None},
        {"id": None, "up": "C", "at": None, "price": None},
    ]))  # fmt: skip
