"""Columns that a definition leaves out, and files as tables in FROM."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepsql

LOGS = [
    {"card": "1000", "amount": 1, "at": "2026-03-02 09:00:00", "day": "2026-03-02", "code": "007", "year": "2026"},
    {"card": "1001", "amount": 2.5, "at": "2026-03-02T09:00:05Z", "day": "2026-03-03", "code": "1", "year": "1999"},
]


@pytest.fixture
def engine(spark):
    with cepsql.connect(spark) as made:
        yield made


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def columns(engine, name):
    return [(column.name, column.type) for column in engine.catalog.get(name).columns]


def rows(engine, sql):
    return sorted(tuple(row) for row in engine.query(sql).collect())


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_json_with_times_in_the_order_of_the_first_object(engine, here):
    (here / "logs").mkdir()
    with gzip.open(here / "logs" / "1.json.gz", "wt") as file:
        file.write("".join(json.dumps(row) + "\n" for row in LOGS))
    write(here / "logs" / "2.json", '{"extra": {"b": 1}, "amount": null}\n')
    said = engine.sql("""
        CREATE STREAM s (cents BIGINT AS CAST(amount * 100 AS BIGINT), WATERMARK FOR at AS at - INTERVAL '5' SECONDS)
        USING json OPTIONS (path 'logs')
    """).message
    assert "columns from 3 rows of 2 files: card STRING, amount DOUBLE, at TIMESTAMP, day DATE" in said
    assert columns(engine, "s") == [
        ("card", "STRING"), ("amount", "DOUBLE"), ("at", "TIMESTAMP"), ("day", "DATE"), ("code", "STRING"),
        ("year", "STRING"), ("extra", "struct<b:bigint>"), ("cents", "BIGINT"),
    ]  # fmt: skip
    output = []
    engine.query("SELECT card, cents FROM s").start(
        lambda rows, _: output.extend(rows.to_pylist()), drain=True
    ).await_()
    assert {row["card"]: row["cents"] for row in output} == {"1000": 100, "1001": 250, None: None}


@pytest.mark.parametrize(
    "text, kinds, options",
    [
        (
            "id,at,code\n1,2026-01-01 00:00:00,007\n",
            [("id", "INT"), ("at", "TIMESTAMP"), ("code", "STRING")],
            ["true", None],
        ),
        ("1;x\n2;y\n", [("_c0", "INT"), ("_c1", "STRING")], ["false", ";"]),
        ("a\tb\n1.5\ttrue\n", [("a", "DOUBLE"), ("b", "BOOLEAN")], ["true", "\\t"]),
        ("a,b\n2026-02-30,2026-01-01\n", [("a", "STRING"), ("b", "DATE")], ["true", None]),
    ],
)
def test_csv_with_and_without_a_header(engine, here, text, kinds, options):
    write(here / "x.csv", text)
    engine.sql("CREATE TABLE t USING csv OPTIONS (path 'x.csv')")
    assert columns(engine, "t") == kinds
    stored_options = dict(engine.catalog.get("t").options)
    assert [stored_options.get("header"), stored_options.get("sep")] == options


def test_a_catalog_keeps_what_was_inferred(spark, here):
    write(here / "in" / "1.csv", "id,at\n1,2026-01-01 00:00:00\n")
    with cepsql.connect(spark, catalog="catalog.db") as engine:
        engine.sql("CREATE STREAM s (WATERMARK FOR at AS at) USING csv OPTIONS (path 'in')")
        text = engine.sql("SHOW CREATE STREAM s").rows
    write(here / "in" / "1.csv", "other,columns,here\nx,y,z\n")
    with cepsql.connect(spark, catalog="catalog.db") as engine:
        assert engine.sql("SHOW CREATE STREAM s").rows == text
        assert columns(engine, "s") == [("id", "INT"), ("at", "TIMESTAMP")]


def test_parquet_files_with_further_columns_and_with_other_types(engine, here):
    (here / "pq").mkdir()
    pq.write_table(pa.table({"a": [1], "at": pa.array([0], pa.timestamp("us"))}), here / "pq" / "1.parquet")
    pq.write_table(pa.table({"b": ["x"], "a": [2]}), here / "pq" / "2.parquet")
    engine.sql("CREATE STREAM s (WATERMARK FOR at AS at) USING parquet OPTIONS (path 'pq')")
    assert columns(engine, "s") == [("a", "BIGINT"), ("at", "TIMESTAMP"), ("b", "STRING")]
    pq.write_table(pa.table({"a": ["y"]}), here / "pq" / "3.parquet")
    with pytest.raises(cepsql.OperationalError, match=r"disagree: a is int64 in .*1\.parquet, string in .*3\.parquet"):
        engine.sql("CREATE TABLE t USING parquet OPTIONS (path 'pq')")


def test_csv_files_with_other_headers_are_refused(engine, here):
    write(here / "in" / "1.csv", "id,name\n1,x\n")
    write(here / "in" / "2.csv", "name,id\nx,1\n")
    with pytest.raises(
        cepsql.OperationalError, match=r"disagree: .*1\.csv has the columns id, name, and .*2\.csv has name, id"
    ):
        engine.sql("CREATE TABLE t USING csv OPTIONS (path 'in')")


def test_files_in_from_and_join(engine, here):
    write(here / "Logs" / "a-1.csv", "id,at,price\n1,2026-01-01 00:00:01,5\n2,2026-01-01 00:00:02,3\n")
    write(here / "Logs" / "b.csv", "id,at,price\n3,2026-01-01 00:00:03,4\n")
    write(here / "names.json", '[{"id": 1, "name": "x"},\n {"id": 3, "name": "y"}]')
    write(here / "lines.txt", "one\ntwo\n")
    assert rows(engine, "SELECT id, Logs.price FROM 'Logs/*.csv'") == [(1, 5), (2, 3), (3, 4)]
    assert rows(engine, "SELECT a_1.id, name FROM 'Logs/a-1.csv' JOIN 'names.json' AS n ON a_1.id = n.id") == [(1, "x")]
    assert rows(engine, "SELECT id FROM 'Logs' WHERE id IN (SELECT id FROM 'names.json')") == [(1,), (3,)]
    assert rows(engine, "SELECT * FROM read_csv('lines.txt', header => true)") == [("two",)]
    assert rows(engine, "SELECT t.line FROM read_text('lines.txt') AS t (line)") == [("one",), ("two",)]
    match = (
        "MATCH_RECOGNIZE (ORDER BY at MEASURES LAST(UP.id) AS id PATTERN (DOWN UP) DEFINE UP AS price > PREV(price))"
    )
    assert rows(engine, f"SELECT id FROM 'Logs' {match}") == [(3,)]
    engine.sql("CREATE VIEW v AS SELECT id FROM 'Logs/b.csv'")
    assert rows(engine, "SELECT * FROM v") == [(3,)]
    write(here / "Logs" / "b.csv", "id,at,price,more\n3,2026-01-01 00:00:03,4,5\n")
    assert rows(engine, "SELECT more FROM 'Logs/b.csv'") == [(5,)]


def test_a_stream_beside_a_file(engine, here):
    write(here / "in" / "1.csv", "1,2026-01-01 00:00:00\n2,2026-01-01 00:00:01\n")
    write(here / "names.csv", "id,name\n2,y\n")
    engine.sql("CREATE STREAM s (id INT, at TIMESTAMP, WATERMARK FOR at AS at) USING csv OPTIONS (path 'in')")
    output = []
    query = engine.query("SELECT s.id, name FROM s JOIN 'names.csv' AS n ON s.id = n.id")
    query.start(lambda rows, _: output.extend(rows.to_pylist()), drain=True).await_()
    assert output == [{"id": 2, "name": "y"}]


def test_what_a_catalog_keeps_has_absolute_paths(spark, here):
    write(here / "x.csv", "id\n1\n")
    with cepsql.connect(spark, catalog="catalog.db") as engine:
        with pytest.raises(cepsql.ProgrammingError, match="a path from this folder") as raised:
            engine.sql("CREATE VIEW v AS SELECT * FROM 'x.csv'")
        assert str(here / "x.csv") in raised.value.hint
        engine.sql(f"CREATE VIEW v AS SELECT * FROM '{here}/x.csv'")
        assert rows(engine, "SELECT * FROM v") == [(1,)]


def test_summarize_a_file_a_stream_and_a_query(engine, here):
    write(here / "in" / "1.csv", "id,name,at\n1,x,2026-01-01 00:00:00\n2,,2026-01-02 00:00:00\n2,y,\n")
    expected = (
        ("id", "int", "1", "2", 2, 1.66667, 0),
        ("name", "string", "x", "y", 2, None, 1),
        ("at", "timestamp", "2026-01-01 00:00:00", "2026-01-02 00:00:00", 2, None, 1),
    )
    answer = engine.sql("SUMMARIZE 'in/1.csv'")
    assert (answer.rows, answer.message) == (expected, "3 rows")
    # Full times, and names as long as arrival_delay, fit 100 columns.
    assert max(map(len, str(answer).splitlines())) + len("arrival_delay") - len("column") < 100
    engine.sql("CREATE STREAM s (WATERMARK FOR at AS at) USING csv OPTIONS (path 'in')")
    assert engine.sql("SUMMARIZE s").rows == expected
    assert engine.sql("SUMMARIZE SELECT map('a', 1) AS m, id FROM s WHERE id > 1").rows == (
        ("m", "map<string,int>", None, None, None, None, 0),
        ("id", "int", "2", "2", 1, 2.0, 0),
    )
    engine.sql("CREATE STREAM r (timestamp TIMESTAMP, value BIGINT) USING rate")
    with pytest.raises(cepsql.NotSupportedError, match="can only be followed"):
        engine.sql("SUMMARIZE r")
