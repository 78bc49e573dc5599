"""Sources that are declared otherwise than usual, and what Spark cannot take: an error of ours says so."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chance import everyday

import cepsql
from cepsql.render.jsonlines import json_text


@pytest.fixture
def engine(spark, tmp_path):
    (tmp_path / "in").mkdir()
    for number, text in enumerate(["k,ts,x\na,2026-01-01 00:00:01,1\na,2026-01-01 00:00:02,2\n", "k,ts,x\nb,,3\n"]):
        (tmp_path / "in" / f"{number}.csv").write_text(text)
        os.utime(tmp_path / "in" / f"{number}.csv", (number + 1, number + 1))
    with cepsql.connect(spark) as engine:
        yield engine


def drained(query):
    with query.start(drain=True) as standing:
        return [row for table in standing.rows() for row in table.to_pylist()]


def test_columns_that_are_not_declared(engine, tmp_path, capfd):
    options = f"USING csv OPTIONS (path '{tmp_path / 'in'}', header 'true')"
    engine.sql(f"CREATE TABLE t {options}")
    assert [row[:2] for row in engine.sql("DESCRIBE t").rows] == [("k", "string"), ("ts", "timestamp"), ("x", "int")]
    assert sorted(row.x for row in engine.sql("SELECT * FROM t").collect()) == [1, 2, 3]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", everyday(["TIMESTAMP_NTZ", "DATE"]))
def test_event_times_that_spark_has_no_watermark_for(engine, tmp_path, kind):
    engine.sql(f"""
        CREATE STREAM s (k STRING, ts {kind}, x INT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
        USING csv OPTIONS (path '{tmp_path / "in"}', header 'true')
    """)
    engine.sql(
        f"CREATE TABLE t (k STRING, ts {kind}, x INT) USING csv OPTIONS (path '{tmp_path / 'in'}', header 'true')"
    )
    assert sorted(row["x"] for row in drained(engine.sql("SELECT k, ts, x FROM s WHERE x > 0")))
    windows = [
        "SELECT window(ts, '1 hour') AS w, COUNT(*) AS n FROM s GROUP BY 1",
        "SELECT k, session_window(ts, '1 hour') AS w, COUNT(*) AS n FROM s GROUP BY 1, 2",
    ]
    if kind == "TIMESTAMP_NTZ":
        for sql in windows:
            table = engine.sql(sql.replace("FROM s", "FROM (SELECT * FROM t WHERE ts IS NOT NULL)")).arrow().to_pylist()
            assert sorted(map(str, drained(engine.sql(sql)))) == sorted(map(str, table)) != []
    for sql in (*(windows if kind == "DATE" else ()), "SELECT DISTINCT k, ts FROM s"):
        with pytest.raises(cepsql.NotSupportedError, match=f"event time ts is {kind} and not TIMESTAMP") as caught:
            drained(engine.sql(sql))
        assert "CAST(ts AS TIMESTAMP)" in caught.value.hint
    joined = "SELECT a.x FROM s AS a JOIN s AS b ON a.k = b.k AND b.ts = a.ts AND b.x = a.x"
    if kind == "DATE":
        with pytest.raises(cepsql.NotSupportedError, match="event times are DATE and DATE"):
            engine.query(joined)
    else:
        alone = "SELECT x FROM s WHERE k IS NOT NULL AND ts IS NOT NULL AND x IS NOT NULL"
        one, other = (sorted(row["x"] for row in drained(engine.sql(sql))) for sql in (joined, alone))
        assert one == other and one


@pytest.mark.parametrize("value", ["map('a', 1)", "array(map('a', 1))", "struct(map('a', 1))", "parse_json('1')"])
def test_keys_that_have_no_equality(engine, tmp_path, value):
    kind = "VARIANT" if "json" in value else "MAP"
    matched = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS x PATTERN (A) DEFINE A AS x > 0)"
    engine.sql(f"""
        CREATE STREAM s (ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING csv OPTIONS (path '{tmp_path / "in"}')
    """)
    table = f"(SELECT {value} AS k, 1 AS ts, 2 AS x)"
    for query in (
        engine.sql(f"SELECT * FROM {table} {matched}"),
        engine.sql(f"SELECT * FROM (SELECT {value} AS k, * FROM s) {matched}"),
    ):
        with pytest.raises(
            cepsql.NotSupportedError, match=f"PARTITION BY `?k`? is not supported: .* two {kind} values"
        ) as caught:
            drained(query) if query.streaming else query.collect()
        assert "to_json" in caught.value.hint


def test_parts_of_a_variant(engine, tmp_path):
    folder = tmp_path / "variants"
    folder.mkdir()
    lines = [f'{{"ts": "2026-01-01 00:00:0{i}", "v": {{"a": {{"b": [{i * i}]}}, "s": "x"}}}}' for i in (1, 2, 3)]
    (folder / "0.json").write_text("\n".join(lines))
    source = f"USING json OPTIONS (path '{folder}')"
    engine.sql(f"CREATE TABLE t (ts TIMESTAMP, v VARIANT) {source}")
    engine.sql(f"CREATE STREAM s (ts TIMESTAMP, v VARIANT, WATERMARK FOR ts AS ts) {source}")
    sql = "SELECT v:a.b[0]::INT AS x, v:['s']::STRING AS s FROM {} WHERE v:a.b[0]::INT > 1"
    expected = [(4, "x"), (9, "x")]
    assert [tuple(row) for row in engine.sql(sql.format("t")).collect()] == expected
    assert [tuple(row.values()) for row in drained(engine.sql(sql.format("s")))] == expected
    sql = """SELECT v:a.b[0]::INT AS x FROM {} MATCH_RECOGNIZE (
        ORDER BY ts MEASURES LAST(B.v) AS v PATTERN (A B) DEFINE B AS v:a.b[0]::INT = 4)"""
    assert [row.x for row in engine.sql(sql.format("t")).collect()] == [4]
    assert [row["x"] for row in drained(engine.sql(sql.format("s")))] == [4]


def test_values_that_python_has_no_type_for(engine):
    months = engine.sql("SELECT make_ym_interval(1, 2) AS i, 1 AS x")
    assert months.arrow().to_pylist() == [{"i": "INTERVAL '1-2' YEAR TO MONTH", "x": 1}]
    far = engine.sql("SELECT make_date(12026, 1, 1) AS d")
    assert str(far.arrow()["d"].cast("string")[0]) == "12026-01-01"
    for rows in (months.collect, far.collect, far.to_pandas):
        with pytest.raises(cepsql.DataError, match="a value has no type in Python") as caught:
            rows()
        assert "CAST" in caught.value.hint
    for clause in ("MATCH_RECOGNIZE (ORDER BY x MEASURES A.i AS i PATTERN (A))", "DEDUPLICATE (ORDER BY x) AS o"):
        with pytest.raises(cepsql.NotSupportedError, match="INTERVAL YEAR TO MONTH") as caught:
            engine.sql(
                f"SELECT * FROM (SELECT make_ym_interval(1, 2) AS i, TIMESTAMP '2026-01-01 00:00:00' AS x) {clause}"
            ).collect()
        assert "INTERVAL MONTH" in caught.value.hint


@pytest.mark.parametrize("clause", ["REFRESH EVERY INTERVAL '1' MINUTE", ""])
def test_months_in_a_table_that_is_kept(engine, tmp_path, clause):
    columns, folder = "k STRING, ts TIMESTAMP, i INTERVAL YEAR TO MONTH", tmp_path / "in"
    backfill = "" if clause else "BACKFILL FROM t UNTIL TIMESTAMP '2026-01-01 00:00:02'"
    engine.sql(f"""
        CREATE TABLE t ({columns}) USING csv OPTIONS (path '{folder}') {clause};
        CREATE STREAM s ({columns}, WATERMARK FOR ts AS ts) USING csv OPTIONS (path '{folder}') {backfill}
    """)
    with pytest.raises(cepsql.NotSupportedError, match="INTERVAL YEAR TO MONTH values in tables"):
        drained(engine.sql("SELECT s.k FROM s JOIN t ON s.k = t.k" if clause else "SELECT k FROM s"))


@pytest.mark.parametrize("made", everyday(["struct(v)", "v", "array(v)", "map(1, v)"], 4))
def test_a_variant_that_is_null(engine, tmp_path, made):
    values = f"SELECT ts, {made} AS v FROM (SELECT ts, parse_json(nullif(k, 'b')) AS v FROM {{}})"
    (tmp_path / "in" / "0.csv").write_text("k,ts\n1,2026-01-01 00:00:01\nb,2026-01-01 00:00:02\n")
    (tmp_path / "in" / "1.csv").unlink()
    source = f"USING csv OPTIONS (path '{tmp_path / 'in'}', header 'true')"
    engine.sql(f"""
        CREATE TABLE t (k STRING, ts TIMESTAMP) {source};
        CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) {source}
    """)
    query = engine.query(values.format("t") + " ORDER BY ts")
    rows = query.arrow().to_pylist()
    assert str(rows[0]["v"]).count("b'\\x0c\\x01'") == 1
    assert str(rows[1]["v"]).count("None") == 1
    # What is written as Parquet has no NULL where none may be.
    pq.write_table(query.arrow(), tmp_path / "rows.parquet")
    assert query.to_pandas()["v"].size == 2
    assert [row for table in query.pieces() for row in table.to_pylist()] == rows
    assert drained(engine.query(values.format("s"))) == rows
    matched = "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH PATTERN (A)) AS m"
    assert drained(engine.query(f"SELECT * FROM ({values.format('s')}) {matched}")) == rows
    assert engine.query(f"SELECT v FROM ({values.format('t')}) WHERE ts IS NULL").arrow().num_rows == 0


def test_a_struct_that_is_null_and_whose_parts_never_are(engine, tmp_path):
    (tmp_path / "in" / "0.csv").write_text("a,2026-01-01 00:00:01\nb,2026-01-01 00:00:02\n")
    (tmp_path / "in" / "1.csv").unlink()
    source = f"USING csv OPTIONS (path '{tmp_path / 'in'}')"
    engine.sql(f"""
        CREATE TABLE t (k STRING, ts TIMESTAMP) {source};
        CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) {source}
    """)
    values = """SELECT one, struct(one) AS inner, array(one) AS list, map(1, one) AS map, v AS v, v AS V
      FROM (SELECT ts, IF(k = 'a', named_struct('p', 1, 'q', 'x'), NULL) AS one, 2 AS v FROM {})"""
    query = engine.query(f"{values.format('t')} ORDER BY ts")
    struct = {"p": 1, "q": "x"}
    whole, none = ({"one": one, "inner": {"one": one}, "list": [one], "map": [(1, one)]} for one in (struct, None))
    tables = [query.arrow(), pa.concat_tables(query.pieces())]
    for table in tables:
        assert table.drop_columns(["v", "V"]).to_pylist() == [whole, none]
    pq.write_table(tables[0], tmp_path / "rows.parquet")
    assert [row["inner"] for row in drained(engine.query(values.format("s")))] == [whole["inner"], none["inner"]]


def test_a_variant_is_shown_as_what_is_in_it(engine):
    names = ", ".join(f"'key{i}', {i}" for i in range(300))
    as_spark = [
        """parse_json('{"b": [1, 2.5, "x", null, true, {"c": -7000000000}, -129, 40000], "a": "%s"}')""" % ("ä" * 70),
        f"to_variant_object(named_struct({names}))", "CAST(sequence(1, 300) AS VARIANT)", "parse_json('[]')",
        "parse_json('{}')", "parse_json('null')", "CAST('' AS VARIANT)", "CAST(X'01FF' AS VARIANT)",
        "CAST(DATE '1582-10-15' AS VARIANT)", "CAST(12345678901234567890123456789012345.678BD AS VARIANT)",
        "CAST(-0.001BD AS VARIANT)", "CAST(CAST(1.1 AS FLOAT) AS VARIANT)", "CAST(0.1D AS VARIANT)",
    ]  # fmt: skip
    rows = engine.query(f"SELECT {', '.join(f'{v}, to_json({v})' for v in as_spark)}").arrow()
    shown = [json_text(column[0].as_py(), column.type, "UTC") for column in rows.columns]
    assert shown[::2] == [json.loads(text) for text in shown[1::2]]
    # Times are written as those of other types are.
    times = "TIMESTAMP_NTZ '2026-03-02 09:00:00'", "TIMESTAMP_MICROS(1000000)", "TIMESTAMP_MICROS(NULL)"
    rows = engine.query(f"SELECT {', '.join(f'CAST({t} AS VARIANT), {t}' for t in times)}").arrow()
    shown = [json_text(column[0].as_py(), column.type, "Europe/Berlin") for column in rows.columns]
    assert shown[::2] == shown[1::2] and shown[2] == '"1970-01-01T01:00:01+01:00"'


def test_matches_of_one_query_registered_for_another(engine, tmp_path):
    engine.sql(f"""
        CREATE STREAM s (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts)
        USING csv OPTIONS (path '{tmp_path / "in"}', header 'true')
    """)
    inner = (
        "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x, MATCH_ROWTIME() AS at "
        "PATTERN (A) DEFINE A AS x > 0)"
    )
    outer = "MATCH_RECOGNIZE (ORDER BY at MEASURES A.x AS x PATTERN (A) DEFINE A AS x > 0)"
    engine.register("m", engine.sql(inner).df, watermark=("at", "0 seconds"))
    query = engine.sql(f"SELECT * FROM m {outer}")
    with query.start() as standing:
        standing.process_available()
    progress = standing.progress
    assert progress.rows_read == progress.rows_used + progress.rows_late + progress.rows_null_time > 3
    with pytest.raises(cepsql.NotSupportedError, match="cannot be drained") as caught:
        drained(query)
    assert "CREATE VIEW" in caught.value.hint
    engine.sql(f"CREATE VIEW v AS {inner}")
    assert sorted(row["x"] for row in drained(engine.sql(f"SELECT * FROM v {outer}"))) == [1, 2]


def test_variants_in_a_join_of_streams_below_a_match(engine, tmp_path):
    engine.sql(f"""
        CREATE STREAM s (k STRING, ts TIMESTAMP, v VARIANT, WATERMARK FOR ts AS ts)
        USING json OPTIONS (path '{tmp_path / "in"}')
    """)
    joined = "SELECT a.* FROM s AS a JOIN s AS b ON a.{0} = b.{0} AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' SECOND"
    matched = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.v AS v PATTERN (A))"
    for key, said in (
        ("k", "the column `v`, which is VARIANT, in"),
        ("v", "by v, which is VARIANT on its (left|right) side,"),
    ):
        with pytest.raises(cepsql.NotSupportedError, match=rf"{said}.* is not supported") as caught:
            engine.sql(f"SELECT * FROM ({joined.format(key)}) {matched}").start()
        assert caught.value.hint
