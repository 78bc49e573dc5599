"""Rows read = used + late + malformed + without a time, also where Spark's own operators decide what is late."""

import os
from dataclasses import asdict

import pytest
from chance import everyday
from pyspark.sql import functions as F

import cepsql
from cepsql.spark.jvm.spark_plan import analyzed, drops_rows, has_aggregations, has_more_matches

FILES = [
    """
    a,2026-01-01 00:00:05,1
    a,2026-01-01 00:10:00,2
    b,2026-01-01 00:11:00,17
    """,
    """
    a,2026-01-01 00:00:06,3
    a,2026-01-01 00:07:00,4
    b,2026-01-01 00:20:00,5
    a,,7
    a,2026-01-01 00:20:00,many
    """,
    """
    a,2026-01-01 00:12:00,6
    a,2026-01-01 00:07:30,8
    a,2026-01-01 00:10:29.999,11
    a,2026-01-01 00:10:30,12
    a,2026-01-01 00:10:30.000001,13
    a,2026-01-01 00:09:59.999999,10
    a,,14
    """,
    """
    b,2026-01-01 00:19:00,15
    b,2026-01-01 01:00:00,16
    """,
]
READ, MALFORMED = 17, 1
QUERIES = {
    "tumbling": "SELECT window(ts, '5 minutes') AS w, collect_list(x) AS xs FROM s GROUP BY 1",
    "shifted": "SELECT window(ts, '5 minutes', '5 minutes', '4 minutes') AS w, collect_list(x) AS xs FROM s GROUP BY 1",
    "overlapping": "SELECT window(ts, '4 minutes', '3 minutes') AS w, collect_list(x) AS xs FROM s GROUP BY 1",
    "days": "SELECT window(ts, '1 day') AS w, collect_list(x) AS xs FROM s GROUP BY 1",
    "months": "SELECT window_end, collect_list(x) AS xs FROM s WINDOW TUMBLING (SIZE 1 MONTH) "
    "GROUP BY window_start, window_end",
    "session": "SELECT k, session_window(ts, '3 minutes') AS w, collect_list(x) AS xs FROM s GROUP BY 1, 2",
    "session of each": "SELECT k, session_window(ts, if(x > 5, '1 minute', '4 minutes')) AS w, collect_list(x) AS xs "
    "FROM s GROUP BY 1, 2",
    "time": "SELECT k, ts, collect_list(x) AS xs FROM s GROUP BY k, ts",
    "named below": "SELECT w.end, collect_list(x) AS xs FROM (SELECT window(ts, '5 minutes') AS w, x FROM "
    "(SELECT ts AS at, * FROM s)) GROUP BY w",
    "having": "SELECT window(ts, '5 minutes') AS w, collect_list(x) AS xs FROM s GROUP BY 1 HAVING COUNT(*) > 0",
    "one for one": "SELECT window(ts, '5 minutes') AS w, collect_list(x) AS xs FROM s JOIN t USING (k) GROUP BY 1",
    "many for one": "SELECT w, collect_set(x) AS xs FROM (SELECT window(ts, '5 minutes') AS w, x FROM s "
    "JOIN t USING (k)) LATERAL VIEW explode(array(1, 2, 3)) AS y GROUP BY w",
    "distinct": "SELECT DISTINCT k, ts, array(x) AS xs FROM s",
}
JOIN = "SELECT a.x FROM s AS a JOIN s AS b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' SECOND"

MATCH = """SELECT * FROM (SELECT k, ts, x FROM s UNION ALL SELECT k, ts, -x FROM s WHERE x < 9)
MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, x MEASURES A.x AS a PATTERN (A B) DEFINE A AS x > 0)"""


RESTARTED = {"tumbling": QUERIES["tumbling"], "time": QUERIES["time"], "match": MATCH, "join": JOIN}


@pytest.fixture
def engine(spark, tmp_path):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    for number, text in enumerate(FILES):
        write(tmp_path / "in", number, text)
    engine = cepsql.connect(spark)
    engine.sql(f"""
        CREATE STREAM s (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts - INTERVAL '30' SECONDS)
        USING csv OPTIONS (path '{tmp_path / "in"}', maxFilesPerTrigger '1')
    """)
    engine.register("t", spark.createDataFrame([("a",), ("b",)], "k STRING"))
    yield engine
    engine.close()
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")


def write(folder, number, text):
    folder.mkdir(exist_ok=True)
    (folder / f"{number}.csv").write_text("\n".join(line.strip() for line in text.strip().splitlines()) + "\n")
    os.utime(folder / f"{number}.csv", (number + 1, number + 1))


def run(engine, sql, **options):
    with engine.sql(sql).start(drain=True, **options) as standing:
        rows = [row for table in standing.rows() for row in table.to_pylist()]
    return rows, standing.progress


@pytest.mark.parametrize("name", everyday(QUERIES, 12))
def test_rows_used_are_those_that_came_in(engine, name):
    rows, progress = run(engine, QUERIES[name])
    used = {x for row in rows for x in row["xs"]}
    assert (progress.rows_read, progress.rows_malformed, progress.rows_null_time) == (READ, MALFORMED, 2)
    assert progress.rows_used == len(used)
    assert progress.rows_late == READ - MALFORMED - 2 - len(used)
    # Days and months last longer than the stream.
    assert (progress.rows_late == 0) == (name in ("days", "months"))


def test_rows_that_a_condition_drops_are_not_late(engine):
    _, progress = run(
        engine, "SELECT w, COUNT(*) FROM (SELECT window(ts, '5 minutes') AS w FROM s WHERE x < 9) GROUP BY w"
    )
    assert (progress.rows_read, progress.rows_late, progress.rows_null_time, progress.rows_used) == (17, 1, 1, 14)


def test_both_sides_of_a_join_count(engine):
    rows, progress = run(engine, JOIN)
    once = {row["x"] for row in rows}
    assert progress.rows_read == 2 * READ
    assert progress.rows_late == 2 * (READ - MALFORMED - 2 - len(once)) > 0
    assert (progress.rows_used, progress.rows_null_time) == (2 * len(once), 4)


def test_a_table_of_late_rows_has_only_the_malformed_ones(engine, tmp_path):
    engine.sql(f"""
        CREATE STREAM kept (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts - INTERVAL '30' SECONDS)
        USING csv OPTIONS (path '{tmp_path / "in"}', maxFilesPerTrigger '1')
        LATE ROWS INTO late_kept USING parquet OPTIONS (path '{tmp_path / "late"}')
    """)
    expected, counts = run(engine, QUERIES["time"])
    rows, progress = run(engine, QUERIES["time"].replace("FROM s", "FROM kept"))
    assert (sorted(map(str, rows)), progress.inputs) == (sorted(map(str, expected)), counts.inputs)
    assert [tuple(row) for row in engine.sql("SELECT reason, watermark, record FROM late_kept").collect()] == [
        ("malformed", None, "a,2026-01-01 00:20:00,many")
    ]


@pytest.mark.parametrize("sql", everyday((pytest.param(sql, id=id) for id, sql in RESTARTED.items()), 4))
def test_counts_go_on_over_restarts(engine, tmp_path, sql):
    (tmp_path / "in").rename(tmp_path / "all")
    (tmp_path / "in").mkdir()
    with engine.sql(sql).start(checkpoint=str(tmp_path / "undisturbed")) as undisturbed:
        for number in range(len(FILES)):
            (tmp_path / "all" / f"{number}.csv").rename(tmp_path / "in" / f"{number}.csv")
            undisturbed.process_available()
    for path in (tmp_path / "in").iterdir():
        path.rename(tmp_path / "all" / path.name)
    for number in range(len(FILES)):
        (tmp_path / "all" / f"{number}.csv").rename(tmp_path / "in" / f"{number}.csv")
        with engine.sql(sql).start(checkpoint=str(tmp_path / "checkpoint")) as standing:
            standing.process_available()
        if number == 1:
            # As if it had been killed before Spark committed its last batch.
            commits = tmp_path / "checkpoint" / "spark" / "commits"
            max((path for path in commits.glob("[0-9]*")), key=lambda path: int(path.name)).unlink()
    assert counts(standing.progress) == counts(undisturbed.progress)


def counts(progress):
    fields = asdict(progress)
    names = [name for name in fields if name.startswith(("rows_", "match", "counters", "inputs"))]
    return {name: fields[name] for name in names if name != "rows_per_second"}


def test_a_union_waits_for_the_latest_stream(spark, engine, tmp_path):
    read = spark.readStream.schema("k STRING, ts TIMESTAMP, x INT").option("maxFilesPerTrigger", "1")
    frames = [read.csv(str(tmp_path / "in")).withWatermark("ts", delay) for delay in ("1 second", "1 hour", "1 minute")]
    engine.register("u", frames[0].union(frames[1]).union(frames[2].select("k", F.col("ts").alias("at"), "x")))
    assert engine.catalog.get("u").watermark.delay == 3_600_000_000
    with pytest.raises(cepsql.ProgrammingError, match="one of the streams in ts has no watermark") as caught:
        engine.register("u", frames[0].union(read.csv(str(tmp_path / "in"))))
    assert "watermark=" in caught.value.hint
    engine.register("u", frames[0].union(read.csv(str(tmp_path / "in"))), watermark=("ts", "2 hours"))
    assert engine.catalog.get("u").watermark.delay == 7_200_000_000


@pytest.mark.parametrize("longest", [None, "0", "40"])
def test_a_plan_is_looked_through_also_where_spark_cuts_its_text(spark, longest):
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    groups = stream.groupBy(F.window("timestamp", "1 minute")).count().select("count")
    pairs = stream.join(stream, "timestamp").select("timestamp")
    if longest is not None:
        spark.conf.set("spark.sql.maxPlanStringLength", longest)
    try:
        assert [has_aggregations(analyzed(frame)) for frame in (stream, groups, pairs)] == [False, True, False]
        assert [drops_rows(frame) for frame in (stream, groups, pairs)] == [False, False, True]
        assert not has_more_matches(analyzed(groups), 0)
    finally:
        spark.conf.unset("spark.sql.maxPlanStringLength")
