"""Lines that are too long, and what stands behind a value of JSON: malformed and counted, with either scan."""

import bz2
import gzip
import itertools
import zlib

import pytest
from chance import everyday

import cepsql
from cepsql.errors import ProgrammingError
from cepsql.spark.jvm.lent_settings import lent_settings

LONG = 300_000
FORMS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".deflate": zlib.compress}
TEXTS = {
    "csv": ["1,a", f"2,{'x' * LONG}", "3,c", f"4,{'y' * 2000}", "5,e", "6,f" + "z" * 990, f"7,{'w' * LONG}"],
    "json": [
        '{"id": 1, "name": "a"}',
        f'{{"id": 2, "name": "{"x" * LONG}"}}',
        '{"id": 3, "name": "c"}',
        '{"id": 9, "name": "{\'\\"}"} {"id": 10}',
        '[{"id": 11, "name": "k"}] more',
        '{"id": 5, "name": "}"}  ',
        '[{"id": 6, "name": "f"}, {"id": 6, "name": "\'"}]',
        f'{{"id": 7, "name": "{"w" * LONG}"}}',
    ],
}
FOUND = {"csv": ([1, 3, 5, 6], 3), "json": ([1, 3, 5, 6, 6], 4)}


def ids(engine, sql):
    """Return the first column of a drained run over a stream, and how many rows were malformed."""
    with engine.sql(sql).start(drain=True) as standing:
        rows = [value for table in standing.rows() for value in table.column(0).to_pylist()]
    return sorted(rows), standing.progress.rows_malformed


def written(folder, format, suffix, end="\n"):
    folder.mkdir(exist_ok=True)
    (folder / f"rows.{format}{suffix}").write_bytes(FORMS[suffix](end.join(TEXTS[format]).encode()))
    return folder


@pytest.mark.parametrize(("format", "suffix"), everyday(itertools.product(["csv", "json"], FORMS), 3))
def test_a_line_that_is_too_long_is_malformed(spark, tmp_path, format, suffix):
    written(tmp_path / "in", format, suffix)
    options = f"OPTIONS (path '{tmp_path}/in', maxLineBytes '1000')"
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE STREAM s (id INT, name STRING) USING {format} {options}")
    engine.sql(f"CREATE TABLE t (id INT, name STRING) USING {format} {options}")
    for scan in ("auto", "spark"):
        engine.sql(f"SET cepsql.scan = '{scan}'")
        assert ids(engine, "SELECT id, name FROM s") == FOUND[format]
    # Files are split in the middle of a line, and where one ends.
    for size in (50_000, 300_006, 64 * 2**20):
        with lent_settings(spark, {"spark.sql.files.maxPartitionBytes": str(size)}):
            query = engine.sql("SELECT id FROM t")
            assert (sorted(row[0] for row in query.collect()), query.malformed) == FOUND[format]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_text(spark, tmp_path, end):
    lines = ["a", "", "x" * LONG, "", "b", "y" * 5000, "c"]
    (tmp_path / "rows.txt").write_bytes(end.join(lines).encode())
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE TABLE t (value STRING) USING text OPTIONS (path '{tmp_path}', maxLineBytes '1000')")
    for size in (40_000, 64 * 2**20):
        with lent_settings(spark, {"spark.sql.files.maxPartitionBytes": str(size)}):
            query = engine.sql("SELECT value FROM t")
            assert sorted(row[0] for row in query.collect()) == ["", "", "a", "b", "c"]
            assert query.malformed == 2


def test_csv_of_one_column(spark, tmp_path):
    (tmp_path / "rows.csv").write_text("a\n" + "x" * 2000 + "\nb\n")
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE STREAM s (name STRING) USING csv OPTIONS (path '{tmp_path}', maxLineBytes '1000')")
    assert ids(engine, "SELECT name FROM s") == (["a", "b"], 1)


def test_the_record_of_a_malformed_line_is_that_of_the_file(spark, tmp_path):
    (tmp_path / "in").mkdir()
    lines = ['{"id": 1}', '{"id": 2} {"id": 3}', f'{{"id": {"4" * 2000}}}', '[{"id": 5}],']
    (tmp_path / "in" / "rows.json").write_text("\n".join(lines))
    engine = cepsql.connect(spark)
    engine.sql(
        f"CREATE STREAM s (id BIGINT, at TIMESTAMP AS timestamp_seconds(id), WATERMARK FOR at AS at) "
        f"USING json OPTIONS (path '{tmp_path}/in', maxLineBytes '1000') "
        f"LATE ROWS INTO late USING parquet OPTIONS (path '{tmp_path}/late')"
    )
    sql = "SELECT m.id FROM s MATCH_RECOGNIZE (ORDER BY at MEASURES A.id AS id PATTERN (A) DEFINE A AS true) AS m"
    assert ids(engine, sql) == ([1], 3)
    records = [row[0] for row in engine.sql("SELECT record FROM late").collect()]
    assert sorted(records) == sorted([lines[1], "(a line longer than maxLineBytes)", lines[3]])


def test_values_in_lines(spark, tmp_path):
    change = '{"op": "c", "after": {"id": 1}}'
    followed = [f"{change} {change}", f"{change}}}", f"{change}, {change}", f"{change} x", f"{change}]"]
    (tmp_path / "rows.json").write_text("\n".join([change, *followed, f"{change} ", f'{change[:-1]}, "o": [{{}}]}}']))
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE STREAM s (id INT, op STRING METADATA) USING json OPTIONS (path '{tmp_path}') FORMAT debezium")
    assert ids(engine, "SELECT id FROM s") == ([1, 1, 1], len(followed))


@pytest.mark.parametrize("format", ["csv", "json"])
def test_columns_of_any_name(spark, tmp_path, format):
    """Names of columns that reading adds for itself give way to those of the source, or are refused."""
    lines = {"csv": "1,a,b\nx,c,d\n", "json": '{"id": 1, "__corrupt": "a", "__record": "b"}\n{"id": "x"}\n'}[format]
    (tmp_path / f"rows.{format}").write_text(lines)
    engine = cepsql.connect(spark)
    source = f"USING {format} OPTIONS (path '{tmp_path}')"
    engine.sql(
        f"CREATE STREAM s (id INT, __Corrupt STRING, __record STRING, at TIMESTAMP AS timestamp_seconds(id), "
        f"WATERMARK FOR at AS at) {source} LATE ROWS INTO late USING parquet OPTIONS (path '{tmp_path}/.late')"
        if format == "csv"
        else f"CREATE STREAM s (id INT, __corrupt STRING, __record STRING) {source}"
    )
    engine.sql("SET cepsql.scan = 'spark'")
    assert ids(engine, "SELECT concat(id, __corrupt, __record) FROM s") == (["1ab"], 1)
    engine.sql(f"CREATE TABLE t (id INT, __malformed STRING) {source}")
    with pytest.raises(ProgrammingError, match="t has a column __malformed, a name that cepsql needs"):
        engine.sql("SELECT id FROM t").collect()


def test_a_limit_that_is_no_number(spark, tmp_path):
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE TABLE t (id INT, name STRING) USING csv OPTIONS (path '{tmp_path}', maxLineBytes '10 MB')")
    with pytest.raises(ProgrammingError, match="maxLineBytes is '10 MB'"):
        engine.sql("SELECT id FROM t").collect()


def test_without_the_check_spark_takes_the_lines(spark, tmp_path):
    """What makes the other tests mean something."""
    written(tmp_path, "json", "")
    rows = spark.read.schema("id INT, name STRING").json(str(tmp_path)).collect()
    assert {2, 7, 9, 11} <= {row.id for row in rows}
