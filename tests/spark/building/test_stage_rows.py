"""What stands over operators is the same whether Arrow computes it where rows are read next, or Spark between."""

import os
from collections import Counter

import pyarrow as pa
import pytest
from chance import draws, everyday
from sessions import in_mode

import cepsql
import cepsql.sinks.files
import cepsql.spark.building.build
import cepsql.spark.staging.spark_stage

COLUMNS = "k STRING, seconds INT, price DECIMAL(8, 2), x DOUBLE, n INT, text STRING"
STREAMS = f"""
CREATE STREAM a ({COLUMNS}, at TIMESTAMP AS timestamp_seconds(seconds), WATERMARK FOR at AS at - INTERVAL '9' SECONDS)
  USING csv OPTIONS (path '%(folder)s/a', maxFilesPerTrigger '2');
CREATE STREAM b (n INT, key STRING, seconds INT, at TIMESTAMP AS timestamp_seconds(seconds),
  WATERMARK FOR at AS at - INTERVAL '5' SECONDS) USING csv OPTIONS (path '%(folder)s/b', maxFilesPerTrigger '2');
"""
FIRST = "SELECT * FROM a DEDUPLICATE (PARTITION BY k, n ORDER BY at WITHIN INTERVAL '20' SECONDS)"
PAIRS = "a JOIN b ON a.k = b.key AND b.at BETWEEN a.at AND a.at + INTERVAL '30' SECONDS"
QUERIES = {
    "computed over a pattern": (0, 1, """
      SELECT upper(k) AS `Ü`, low * 2 AS twice, CASE WHEN high > low THEN 'up' END AS way, ended
      FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY at
        MEASURES A.price AS low, LAST(U.price) AS high, LAST(at) AS ended
        PATTERN (A U+) DEFINE U AS U.price > PREV(U.price)) AS m
      WHERE k <> 'z' AND low < 15"""),
    "a pattern over a join": (1, 1, f"""
      SELECT first, last FROM (SELECT a.k, a.at, b.n + 1 AS m FROM {PAIRS} WHERE b.n > 1) MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY at MEASURES FIRST(m) AS first, LAST(m) AS last PATTERN (A B) DEFINE B AS B.m > A.m)"""),
    "windows over a join": (1, 1, f"""
      SELECT w.window_start, c, total FROM (
        SELECT window_start, window_end, COUNT(*) AS c, SUM(m) AS total FROM (
          SELECT a.at, a.k, b.n AS m, a.price FROM {PAIRS} WHERE price > 5) WINDOW TUMBLING (SIZE 20 SECONDS)
        GROUP BY window_start, window_end) AS w WHERE c > 1"""),
    "a join of groups of their windows": (2, 1, """
      SELECT p.k, p.c, q.c AS other, p.window_end FROM (
        SELECT k, window_start, window_end, COUNT(*) AS c FROM a WINDOW TUMBLING (SIZE 30 SECONDS)
        GROUP BY k, window_start, window_end) AS p
      JOIN (SELECT key, window_start, window_end, COUNT(*) AS c FROM b WINDOW TUMBLING (SIZE 30 SECONDS)
        GROUP BY key, window_start, window_end) AS q
      ON p.k = q.key AND p.window_start = q.window_start AND p.window_end = q.window_end"""),
    "streams of unlike columns, one over an operator": (0, 1, f"""
      SELECT k, n, at FROM (SELECT k, CAST(n AS BIGINT) AS n, at FROM ({FIRST}) UNION ALL SELECT key, n, at FROM b)
      DEDUPLICATE (PARTITION BY k ORDER BY at, n WITHIN INTERVAL '10' SECONDS)"""),
    "what only Spark computes": (0, 0, f"""
      SELECT first FROM (SELECT k, at, reverse(split(text, '')) AS m FROM ({FIRST})) MATCH_RECOGNIZE (
        ORDER BY at MEASURES A.m[0] AS first PATTERN (A))"""),
    "first ranks": (0, 1, """
      SELECT k, price, n, at FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY price DESC, n, at) AS place
        FROM a WHERE n < 8) WHERE place <= 2 EMIT CHANGES"""),
    "ranks over a join, of doubles": (1, 1, f"""
      SELECT k, x, place FROM (SELECT a.k, a.x, b.n, RANK() OVER (PARTITION BY a.x ORDER BY b.n, a.k) AS place
        FROM {PAIRS}) WHERE place <= 3 EMIT CHANGES"""),
    "groups of groups": (1, 1, """
      SELECT c, COUNT(*) AS keys FROM (SELECT k, n, COUNT(*) AS c FROM a GROUP BY k, n) WHERE c > 1 GROUP BY c
      EMIT CHANGES"""),
    "groups of keys": (0, 1, """
      SELECT upper(k) AS name, total FROM (SELECT k, SUM(price) AS total FROM a WHERE n > 2 GROUP BY k)
      EMIT CHANGES"""),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for number in range(1, 5):
        draw = draws(number)
        lines = [
            f"{draw.choice(['x', 'y', 'z', ''])},{draw.choice([str(30 * number + draw.randint(0, 40)), ''])},"
            f"{draw.choice(['', '1.25', '7.50', '19.99', '30.00'])},{draw.choice(['', '-0.0', '0.0', 'NaN', '1.5'])},"
            f"{draw.randint(0, 9)},{draw.choice(['', 'one', 'a;b'])}"
            for _ in range(60)
        ]
        put(tmp_path / "a", number, [*lines, "x,soon,1,1,1,bad"])
        put(
            tmp_path / "b",
            number,
            [f"{draw.randint(0, 9)},{draw.choice('xyz')},{30 * number + draw.randint(0, 40)}" for _ in range(20)],
        )
    return tmp_path


def put(folder, number, lines):
    folder.mkdir(exist_ok=True)
    path = folder / f".{number}.part"
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    path.rename(folder / f"{number}.csv")


def by_spark(monkeypatch):
    monkeypatch.setattr(cepsql.spark.staging.spark_stage, "packets_of", lambda *_: None)
    monkeypatch.setattr(cepsql.spark.building.build, "finished_rows", lambda *_: None)


def counting(monkeypatch, module, name):
    """Count how often a function gives something."""
    asked, counts = getattr(module, name), Counter()

    def count(*arguments):
        returned = asked(*arguments)
        counts["times"] += returned is not None
        return returned

    monkeypatch.setattr(module, name, count)
    return counts


def engine_of(spark, folder):
    engine = cepsql.connect(spark)
    list(engine.execute(STREAMS % {"folder": folder}))
    return engine


@pytest.mark.parametrize("name", everyday(QUERIES, 12))
def test_rows_and_counts_are_the_same(spark, folder, name, monkeypatch):
    session, outcomes = in_mode(spark, True), []
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    between, above, text = QUERIES[name]
    packets = counting(monkeypatch, cepsql.spark.staging.spark_stage, "packets_of")
    finished = counting(monkeypatch, cepsql.spark.building.build, "finished_rows")
    for _ in range(2):
        with engine_of(session, folder) as engine:
            tables: list[pa.Table] = []
            standing = engine.sql(text).start(lambda rows, _, to=tables: to.append(rows), drain=True)
            standing.await_(120)
            rows = pa.concat_tables(tables)
            progress = standing.progress
            counts = [progress.rows_read, progress.rows_used, progress.rows_late, progress.rows_malformed]
            outcomes.append((sorted(map(str, rows.to_pylist())), rows.schema, counts, progress.rows_out))
        by_spark(monkeypatch)
    assert outcomes[0] == outcomes[1]
    assert (packets["times"], finished["times"]) == (between, above)


NEAREST = "a ASOF %s JOIN b MATCH_CONDITION (a.at >= b.at) ON a.k = b.key"
FILTERED = {
    "pairs of a join": (1, f"SELECT a.k, a.at, b.n FROM {PAIRS} WHERE a.n + b.n > 7 AND a.text LIKE 'o%'"),
    "unmatched rows, too": (0, f"""
      SELECT a.k, b.n FROM {PAIRS.replace('JOIN', 'LEFT JOIN')} WHERE a.n > coalesce(b.n, 5)"""),
    "nearest rows": (1, f"SELECT a.k, a.text, b.n FROM {NEAREST % ''} WHERE b.n < 5 AND (a.n > b.n OR a.k = 'x')"),
    "nearest rows or none": (0, f"SELECT a.k, b.n FROM {NEAREST % 'LEFT'} WHERE b.n < 5 OR b.n IS NULL"),
    "what only Spark computes": (0, f"SELECT a.k, b.n FROM {NEAREST % ''} WHERE hash(b.n) % 2 = 0"),
    "keys, and times": (1, f"""
      SELECT b.key, b.n FROM {NEAREST % ''} WHERE b.key <> 'x' AND unix_micros(a.at) < unix_micros(b.at) + 7000000"""),
    "below a pattern": (1, f"""SELECT * FROM (SELECT a.k, a.at, b.n FROM {NEAREST % ''} WHERE b.n > 1) MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY at MEASURES FIRST(n) AS first, LAST(n) AS last PATTERN (A B) DEFINE B AS B.n > A.n)"""),
}  # fmt: skip


@pytest.mark.parametrize("name", everyday(FILTERED, 8))
def test_rows_of_joins_that_nobody_selects_are_left_out_at_once(spark, folder, name, monkeypatch):
    expected_times, text = FILTERED[name]
    asked, counts, outcomes = cepsql.spark.building.build.with_filter, Counter(), []

    def count(staged, query):
        filtered = asked(staged, query)
        counts["times"] += filtered is not staged
        return filtered

    for filtered in (count, lambda staged, query: staged):
        monkeypatch.setattr(cepsql.spark.building.build, "with_filter", filtered)
        with engine_of(spark, folder) as engine:
            tables: list[pa.Table] = []
            standing = engine.sql(text).start(lambda rows, _, to=tables: to.append(rows), drain=True)
            standing.await_(120)
            progress = standing.progress
            rows = [str(row) for table in tables for row in table.to_pylist()]
            outcomes.append((sorted(rows), progress))
    (rows, progress), (others, other) = outcomes
    assert rows == others and rows
    assert (progress.rows_read, progress.rows_used, progress.rows_out) == (other.rows_read, other.rows_used, len(rows))
    assert min(counts["times"], 1) == expected_times


@pytest.mark.parametrize("name", everyday(["computed over a pattern", "first ranks"]))
def test_tasks_write_what_spark_would(spark, folder, name, monkeypatch):
    counted, by_tasks, written = cepsql.sinks.files.written_rows, [], []
    monkeypatch.setattr(cepsql.sinks.files, "written_rows", lambda at: by_tasks.append(counted(at)) or by_tasks[-1])
    for number in range(2):
        with engine_of(spark, folder) as engine:
            engine.sql(f"CREATE SINK o USING csv OPTIONS (path '{folder}/out{number}')")
            assert "rows written" in str(engine.sql(f"INSERT INTO o {QUERIES[name][2]}"))
        files = sorted((folder / f"out{number}").glob("*.csv"))
        written.append(sorted("".join(file.read_text("utf-8") for file in files).splitlines()))
        assert (sum(by_tasks) > 0) == (number == 0)
        by_tasks.clear()
        by_spark(monkeypatch)
    assert written[0] == written[1] != []


def test_a_sink_that_casts_gets_its_own_columns(spark, folder):
    with engine_of(spark, folder) as engine:
        engine.sql(f"CREATE SINK o (k STRING, n BIGINT, at STRING) USING csv OPTIONS (path '{folder}/out')")
        engine.sql(f"INSERT INTO o SELECT k, n, date_format(at, 'mm:ss') AS at FROM ({FIRST}) WHERE k = 'x'")
        rows = [line.split(",") for file in (folder / "out").glob("*.csv") for line in file.read_text().splitlines()]
    assert rows
    assert all(len(row) == 3 and row[0] == "x" and len(row[2]) == 5 for row in rows)


def test_rows_of_a_frame_below_another_query_are_not_written(spark, folder):
    """Only tasks of the query that writes do so."""
    with engine_of(spark, folder) as engine:
        engine.register("firsts", engine.sql(f"SELECT k, n FROM ({FIRST})").df)
        engine.sql(f"CREATE SINK o USING csv OPTIONS (path '{folder}/out')")
        with engine.sql("SELECT n * 100 AS n, k FROM firsts WHERE n > 0").start(
            sink=engine.catalog.sink("o")
        ) as standing:
            standing.process_available()
        rows = [line.split(",") for file in (folder / "out").glob("*.csv") for line in file.read_text().splitlines()]
    assert rows
    assert all(len(row) == 2 and int(row[0]) % 100 == 0 for row in rows)
