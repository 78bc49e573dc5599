"""The rows of statements of other engines that are accepted."""

import json
import time
from pathlib import Path

import pytest

import cepsql

QUERIES = {
    "SELECT a, b FROM (SELECT 1 AS a, 'x' AS b) UNION ALL BY NAME SELECT * FROM (SELECT 'y' AS b, 2 AS a, 3 AS c)": [
        (1, "x", None), (2, "y", 3),
    ],
    "SELECT unnest([1, 2, 3]) AS x, unnest(['a', 'b']) AS y": [(1, "a"), (2, "b"), (3, None)],
    "SELECT k, explode(xs) AS x, explode(ys) AS y FROM VALUES (1, array(1, 2), array(3)), (2, NULL, array(4)) "
    "AS t (k, xs, ys)": [
        (1, 1, 3), (1, 2, None), (2, None, 4),
    ],
    "SELECT n FROM VALUES (1), (2), (3), (4) AS t (n) ORDER BY n OFFSET 1 LIMIT 2": [(2,), (3,)],
    "SELECT TRY(1 / 0), TRY(CAST('x' AS INT)), try(2 + 3)": [(None, None, 5)],
    "SELECT TRY(CAST('x' AS INT) > 5), TRY(NOT 1 / 0 = 2), TRY(UPPER(CAST(1 / 0 AS STRING))), "
    "TRY(TO_TIMESTAMP('x', 'yyyy-MM-dd')), TRY(TO_DATE('x', 'yyyy-MM-dd')), TRY(TO_DATE('x')), "
    "CAST(TRY(TO_DATE('02.01.2026', 'dd.MM.yyyy')) AS STRING), TRY(SUM(9223372036854775807 + 1)), "
    "TRY(CAST('7' AS INT) < 8), TRY(ELEMENT_AT(ARRAY(1), 5)), TRY(COALESCE(NULL, 3))": [
        (None, None, None, None, None, None, "2026-01-02", None, True, None, 3),
    ],
    "SELECT CAST(TUMBLE_START(at, INTERVAL '1' HOUR) AS STRING), "
    "CAST(TUMBLE_ROWTIME(at, INTERVAL '1' HOUR) AS STRING), COUNT(*) FROM VALUES "
    "(TIMESTAMP '2026-01-01 10:20:00'), (TIMESTAMP '2026-01-01 10:40:00') AS t (at) "
    "GROUP BY TUMBLE(at, INTERVAL '1' HOUR)": [("2026-01-01 10:00:00", "2026-01-01 10:59:59.999", 2)],
    "SELECT COUNT(*), CAST(HOP_END(at, INTERVAL '30' MINUTE, INTERVAL '1' HOUR) AS STRING) AS e FROM VALUES "
    "(TIMESTAMP '2026-01-01 10:20:00') AS t (at) GROUP BY HOP(at, INTERVAL '30' MINUTE, INTERVAL '1' HOUR) "
    "ORDER BY e": [
        (1, "2026-01-01 10:30:00"), (1, "2026-01-01 11:00:00"),
    ],
    "SELECT name, tag FROM VALUES ('a', array(1, 2)) AS t (name, tags), UNNEST(tags) AS tag": [("a", 1), ("a", 2)],
    "SELECT MIGHT_CONTAIN(BLOOM_FILTER_AGG(n, 100, 0.01), 3L), MIGHT_CONTAIN(BLOOM_FILTER_AGG(n, 100, 0.01), 9), "
    "MIGHT_CONTAIN(BLOOM_FILTER_AGG(n), NULL) FROM VALUES (1), (3), (NULL) AS t (n)": [(True, False, None)],
    "SELECT n, MIGHT_HAVE_SEEN(n) OVER (ORDER BY at) AS seen FROM VALUES (TIMESTAMP '2026-01-01', 1), "
    "(TIMESTAMP '2026-01-02', 1) AS t (at, n)": [(1, False), (1, True)],
    "SELECT t.n, SUM(n) OVER (ORDER BY n GROUPS 1 PRECEDING) AS s FROM VALUES (1), (1), (3), (7) AS t (n) ORDER BY s": [
        (1, 2), (1, 2), (3, 5), (7, 10),
    ],
    "SELECT n, SUM(x) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) AS others, "
    "COUNT(*) OVER (w RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP) AS near, "
    "MAX(n) OVER (ORDER BY x, n DESC RANGE UNBOUNDED PRECEDING EXCLUDE TIES) AS most, "
    "BOOL_AND(x > 1) OVER (w GROUPS 1 PRECEDING EXCLUDE TIES) AS yes, ROW_NUMBER() OVER (ORDER BY n) AS r "
    "FROM VALUES (1, 1), (2, 1), (3, 2), (4, 4) AS t (n, x) WINDOW w AS (ORDER BY x) QUALIFY others < 8 "
    "ORDER BY t.n DESC LIMIT 3": [
        (4, 4, 0, 4, True, 4), (3, 6, 2, 3, False, 3), (2, 7, 1, 2, False, 2),
    ],
    "SELECT n, x, COUNT(*) OVER w AS c FROM VALUES (1, 1), (2, 1), (3, 2), (4, 0) AS t (n, x) WINDOW w AS (ORDER BY n "
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING AFTER MATCH SKIP TO NEXT ROW SEEK PATTERN (A B) "
    "DEFINE B AS x > A.x) ORDER BY COUNT(*) OVER w DESC, n": [
        (1, 1, 2), (2, 1, 2), (3, 2, 0), (4, 0, 0),
    ],
    "SELECT y FROM VALUES (1, 5), (2, 7), (3, 6) AS t (n, x) MATCH_RECOGNIZE (ORDER BY n MEASURES B.x AS y "
    "PATTERN (A B) DEFINE B AS LAST(A.x) IN (SELECT 7) AND array(A.x, NULL) = array(7, NULL))": [(6,)],
    "SELECT y, z FROM VALUES (1, 5), (2, 7), (3, 6) AS t (n, x) MATCH_RECOGNIZE (ORDER BY n MEASURES B.x AS y, "
    "10 - LAST(A.x - 3) AS z PATTERN (A B) DEFINE B AS 10 - PREV(x - 3) = 8 AND 2 * LAST(A.x - 1) = 8)": [(7, 8)],
    "SELECT k, CAST(window_end AS STRING), total, n FROM (SELECT k, window_end, SUM(x) AS total, COUNT(*) AS n FROM "
    "VALUES (TIMESTAMP '2026-03-28 12:00', 'a', 1D), (TIMESTAMP '2026-03-31 01:00', 'a', 4D) AS t (ts, k, x) "
    "WINDOW TUMBLING (SIZE 1 DAY) FILL (LINEAR) GROUP BY k, window_start, window_end) ORDER BY window_end": [
        ("a", "2026-03-29 00:00:00", 1.0, 1.0), ("a", "2026-03-30 00:00:00", 2.0, 1.0),
        ("a", "2026-03-31 00:00:00", 3.0, 1.0), ("a", "2026-04-01 00:00:00", 4.0, 1.0),
    ],
    "SELECT IFF(1 > 2, 'a', 'b'), SPLIT_INDEX('a.b.c', '.', 1), SPLIT_INDEX('a', '.', 3), STRPOS('abc', 'c'), "
    "DATE_FORMAT(TIMESTAMP '2026-01-02 03:04:05', '%d.%m.%Y %H:%i'), TO_CHAR(DATE '2026-01-02', 'YYYY/MM/DD'), "
    "FORMAT_DATE('%F', DATE '2026-01-02'), PARSE_DATE('%d.%m.%Y', '02.01.2026') = DATE '2026-01-02', "
    "DATE_ADD('day', -1, DATE '2026-01-02') = DATE '2026-01-01', FLOOR(TIMESTAMP '2026-01-02 03:04:05' TO HOUR) = "
    "TIMESTAMP '2026-01-02 03:00:00', DAY_OF_WEEK(DATE '2026-01-04'), SAFE.PARSE_TIMESTAMP('%F', 'x')": [
        ("b", "b", None, 3, "02.01.2026 03:04", "2026/01/02", "2026-01-02", True, True, True, 7, None),
    ],
    "SELECT JSON_VALUE(x, '$.a'), JSON_VALUE(x, '$.b'), JSON_QUERY(x, '$.b'), JSON_QUERY(x, '$.a'), "
    "JSON_VALUE(x, '$.a' RETURNING INT), EXTRACTJSONFIELD(x, '$.b'), JSON_EXTRACT_PATH_TEXT(x, 'b', 'c') "
    "FROM VALUES ('{\"a\": 1, \"b\": {\"c\": \"y\"}}') AS t (x)": [
        ("1", None, '{"c":"y"}', None, 1, '{"c":"y"}', "y"),
    ],
    "SELECT TOPK(x, 2), COUNTIF(x > 1), ARG_MAX(k, x), COUNT_DISTINCT(k), MAX(x, 1), GROUP_CONCAT(k, '-') FROM VALUES "
    "('a', 1), ('b', 3), (NULL, 5) AS t (k, x)": [([5, 3], 2, "b", 2, [5], "a-b")],
    "SELECT k, RATIO_TO_REPORT(x) OVER () AS r FROM VALUES ('a', 1), ('b', 3) AS t (k, x) ORDER BY k": [
        ("a", 0.25), ("b", 0.75),
    ],
    "SELECT TRANSFORM(array('a'), t => UCASE(t)), MAP['k', 1], ROW(1, 'x'), REGEXP_EXTRACT('ab12', '[0-9]+'), "
    "MAP(ARRAY['a'], ARRAY[2]), TIMESTAMP_DIFF(TIMESTAMP '2026-01-01 01:00', TIMESTAMP '2026-01-01 00:00', MINUTE)": [
        (["A"], {"k": 1}, (1, "x"), "12", {"a": 2}, 60),
    ],
    "SELECT transform(ARRAY[1, 2], x -> x + 1), list_transform([3, 4], x -> x * 2)": [([2, 3], [6, 8])],
    "SELECT CAST(12 AS VARCHAR), 7::TEXT, SAFE_CAST('x' AS INT64), "
    "CAST(FROM_UTC_TIMESTAMP(TIMESTAMP '2026-01-01 12:00:00', 'Asia/Tokyo') AS STRING)": [
        ("12", "7", None, "2026-01-01 21:00:00"),
    ],
    "SELECT CAST(TO_TIMESTAMP_LTZ(1000, 3) AS STRING) = CAST(timestamp_seconds(1) AS STRING)": [(True,)],
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(spark):
    with cepsql.connect(spark, catalog="") as made:
        yield made


@pytest.mark.parametrize("query", QUERIES)
def test_rows(engine, query):
    assert [tuple(row) for row in engine.query(query).collect()] == QUERIES[query]


def test_prepared_statements_take_their_values(engine):
    answer = engine.sql("PREPARE above FROM SELECT n FROM VALUES (1), (2), (3) AS t (n) WHERE n > ? AND n < ?")
    assert answer.message == "above prepared; EXECUTE above runs it"
    assert [tuple(row) for row in engine.sql("EXECUTE above USING 1, 3").collect()] == [(2,)]
    assert [tuple(row) for row in engine.sql("EXECUTE above(2, 1 + 8)").collect()] == [(3,)]
    assert [tuple(row) for row in engine.sql("EXECUTE IMMEDIATE 'SELECT ? AS x' USING 'it''s'").collect()] == [
        ("it's",)
    ]
    with pytest.raises(cepsql.ProgrammingError, match="2 parameters"):
        engine.sql("EXECUTE above USING 1")
    engine.sql("DEALLOCATE above")
    with pytest.raises(cepsql.ProgrammingError, match="no prepared statement above"):
        engine.sql("EXECUTE above USING 1, 3")


def test_a_table_of_a_query_has_its_rows_once(engine, tmp_path):
    rows = "SELECT n, n * 2 AS m FROM VALUES (1), (2) AS t (n)"
    text = f"CREATE TABLE kept USING parquet OPTIONS (path '{tmp_path}/kept') AS {rows}"
    assert "2 rows" in engine.sql(text).message
    assert [tuple(row) for row in engine.query("SELECT * FROM kept ORDER BY n").collect()] == [(1, 2), (2, 4)]
    with pytest.raises(cepsql.ProgrammingError, match="exists already"):
        engine.sql(text)
    with pytest.raises(cepsql.ProgrammingError, match="has files already"):
        engine.sql(text.replace("TABLE kept", "TABLE other"))
    engine.sql("CREATE TABLE beside AS SELECT 5 AS x")
    assert [tuple(row) for row in engine.query("SELECT x FROM beside").collect()] == [(5,)]
    engine.sql("CREATE TABLE `../be/side` AS SELECT 6 AS x")
    ((_, path),) = engine.catalog.get("../be/side").options
    assert Path(path).parent == Path(dict(engine.catalog.get("beside").options)["path"]).parent


def test_a_stream_of_a_query_is_written_by_a_query_of_its_name(engine, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("1,2026-01-01 10:00:00\n2,2026-01-01 10:00:01\n")
    engine.sql(
        f"CREATE STREAM came (n INT, at TIMESTAMP, WATERMARK FOR at AS at) USING csv OPTIONS (path '{tmp_path}/in')"
    )
    rows = "SELECT n, at FROM came WHERE n > 1 EMIT CHANGES"
    said = engine.sql(f"CREATE STREAM large USING json OPTIONS (path '{tmp_path}/out') AS {rows}")
    assert said.message == "stream large created; query large runs and writes its rows to the sink large_rows"
    deadline = time.monotonic() + 120
    while not (written := [path.read_text() for path in (tmp_path / "out").glob("*.json")]):
        assert time.monotonic() < deadline, engine.queries["large"].state
        time.sleep(0.2)
    assert [json.loads(line)["n"] for text in written for line in text.splitlines()] == [2]
    assert engine.catalog.get("large").watermark.column == "at"
    engine.sql("DROP STREAM large; DROP QUERY large; DROP SINK large_rows")


def test_the_first_rows_of_changes(engine, tmp_path):
    (tmp_path / "1.csv").write_text("1\n2\n3\n")
    engine.sql(f"CREATE TABLE few (n INT) USING csv OPTIONS (path '{tmp_path}')")
    assert [tuple(row) for row in engine.query("SELECT n FROM few EMIT CHANGES LIMIT 2").collect()] == [
        (1, "+I"),
        (2, "+I"),
    ]
    assert [row[0] for row in engine.sql("PRINT few FROM BEGINNING LIMIT 1").collect()] == [1]
