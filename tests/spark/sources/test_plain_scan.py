"""Plain SQL over a stream gives the same whoever reads the files and writes them, over restarts too."""

import datetime
import os
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chance import draws, everyday
from sessions import in_mode

import cepsql
import cepsql.sinks.files

COLUMNS = """
    k STRING, seconds INT, price DECIMAL(8, 2), flag BOOLEAN, day DATE,
    at TIMESTAMP AS timestamp_seconds(seconds), `Odd Name` STRING AS concat(k, '-', k),
    WATERMARK FOR at AS at - INTERVAL '20' SECONDS"""
QUERIES = {
    "all": "SELECT * FROM ticks",
    "computed": "SELECT upper(k) AS `Ü`, price * 2 AS twice, CASE WHEN flag THEN day END AS day, at FROM ticks "
    "WHERE seconds % 3 <> 0 OR price > 20",
    "steps": "SELECT n * 1.5D AS n, d FROM (SELECT seconds AS n, date_format(at, 'yyyy-MM-dd HH') AS d FROM ticks "
    "WHERE flag) WHERE n IS NOT NULL",
    "constants": "SELECT 1 AS one, k, 'x' AS x, NULL AS nothing FROM ticks AS t WHERE t.k IN ('x', 'y')",
    "nothing": "SELECT k, at FROM ticks WHERE seconds < -1000",
}
JOINS = {
    "some columns": "SELECT t.k, s.side, T.PRICE, `odd name` AS odd FROM ticks AS t JOIN sides AS s ON t.k = s.k "
    "WHERE t.seconds > 10",
    "all columns": "SELECT * FROM ticks LEFT JOIN sides USING (k)",
    "natural": "SELECT at, side FROM ticks NATURAL JOIN sides",
    "table first": "SELECT /*+ BROADCAST(s) */ side, at FROM sides AS s RIGHT JOIN ticks AS t ON s.k = t.k AND flag",
    "no column": "SELECT side FROM ticks CROSS JOIN sides",
    "semi": "SELECT k, price FROM ticks AS t LEFT SEMI JOIN sides AS s ON s.k = t.k",
    "aggregates": "SELECT t.k, n, at FROM ticks t, (SELECT k, COUNT(*) AS n FROM sides GROUP BY k) s WHERE t.k = s.k",
    "two tables": "SELECT t.k, a.side, b.side AS b FROM ticks AS t JOIN sides AS a ON a.k = t.k LEFT JOIN sides AS b "
    "ON b.side = t.seconds",
    "pattern of a table": "SELECT t.k, m.side FROM ticks AS t JOIN sides MATCH_RECOGNIZE (PARTITION BY k ORDER BY side "
    "MEASURES A.side AS side PATTERN (A B) DEFINE B AS side > 1) AS m ON m.k = t.k",
    "renamed": "SELECT b, side FROM ticks AS t(a, b, c, d, e, f, g) JOIN sides ON a = k",
}
BY_SPARK = ("constants", "renamed")
TYPES = {
    "i": pa.int32(), "b": pa.int64(), "t": pa.string(), "m": pa.decimal128(9, 6), "h": pa.decimal128(38, 0),
    "f": pa.bool_(), "d": pa.date32(), "x": pa.float64(), "y": pa.float32(),
    "at": pa.timestamp("us", "UTC"), "s": pa.int8(),
}  # fmt: skip
SPARK_TYPES = """
    i INT, b BIGINT, t STRING, m DECIMAL(9, 6), h DECIMAL(38, 0), f BOOLEAN, d DATE, x DOUBLE, y FLOAT,
    at TIMESTAMP, s TINYINT"""
VALUES = {
    "i": [0, -1, 2**31 - 1], "b": [2**63 - 1, -(2**63)], "t": ["", "a", "a,b", ",", " x ", "#1", "é€😀", "null"],
    "m": [Decimal("0.000001"), Decimal("-1.5"), Decimal(0), Decimal("999.999999")],
    "h": [Decimal(10**38 - 1), Decimal(-7), Decimal(0)], "f": [True, False],
    "d": [datetime.date(1, 1, 1), datetime.date(1582, 10, 10), datetime.date(9999, 12, 31)],
    "x": [0.0, -0.0, 1.0, -12.5, 1e7, 9999999.5, 0.001, 0.00099, 1.5e300, float("nan"), float("-inf"), 0.1 + 0.2],
    "y": [0.0, 3.25, 1e10, 0.1, -0.0001, float("inf"), 16777216.0],
    "at": [
        datetime.datetime(1, 1, 2, tzinfo=datetime.UTC), datetime.datetime(1890, 5, 5, 1, 2, 3, 4, tzinfo=datetime.UTC),
        datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.UTC), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    ],
    "s": [-128, 127],
}  # fmt: skip
SPECIAL = {"t": ['say "no"', "back\\slash", "two\nlines", "carriage\rreturn", "\t", '"', "\\", "\0"], "x": [5e-324]}


def write(folder, number, draw):
    lines = []
    for _ in range(60):
        price = draw.choice([f"{draw.random() * 100:.2f}"] * 9 + ["", "many"])
        seconds = draw.choice([str(draw.randint(0, 500))] * 9 + [""])
        lines.append(f"{draw.choice('xyz')},{seconds},{price},{draw.choice(['true', 'false', ''])},2026-01-0{number}")
    put(folder, number, [*lines, "z,1", '"a,b",5,5,true,2026-02-02', "x,1,1,true,soon"])


def put(folder, number, lines):
    path = folder / f".{number}.part"
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    path.rename(folder / f"{number}.csv")


def engine_of(spark, folder, scan, format="csv", columns=COLUMNS):
    engine = cepsql.connect(spark)
    engine.sql(f"SET cepsql.scan = '{scan}'")
    engine.sql("CREATE VIEW sides AS SELECT * FROM VALUES ('x', 1), ('y', 2), ('y', 3), (NULL, 4) AS t(k, side)")
    engine.sql(f"CREATE STREAM ticks ({columns}) USING {format} OPTIONS (path '{folder}', maxFilesPerTrigger '2')")
    return engine


def counts(progress):
    names = ("rows_read", "rows_used", "rows_malformed", "rows_out", "bound", "batches")
    return {name: getattr(progress, name) for name in names}


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        *everyday(((name, zone) for zone in ("UTC", "Europe/Berlin") for name in QUERIES), 12),
        *((name, "Europe/Berlin") for name in everyday(JOINS, 8)),
    ],
)
def test_rows_and_counts_are_the_same(spark, tmp_path, name, zone):
    (tmp_path / "in").mkdir()
    session, outcomes = in_mode(spark, True), []
    session.conf.set("spark.sql.session.timeZone", zone)
    for number in range(1, 4):
        write(tmp_path / "in", number, draws(number))
    for scan in ("auto", "spark"):
        with engine_of(session, tmp_path / "in", scan) as engine:
            query = engine.sql((QUERIES | JOINS)[name])
            assert (query.scan_obstacle(session) is None) == (scan == "auto" and name not in BY_SPARK)
            tables: list[pa.Table] = []
            standing = query.start(lambda rows, _, to=tables: to.append(rows), drain=True)
            standing.await_(60)
            rows = pa.concat_tables(tables) if tables else None
            lines = [] if rows is None else sorted(map(str, rows.to_pylist()))
            outcomes.append((lines, rows and rows.schema, counts(standing.progress)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.nightly("eight runs; that a checkpoint keeps its scan is tried every day")
@pytest.mark.parametrize("name", everyday(["some columns", "computed"]))
def test_a_checkpoint_goes_on_with_either_scan(spark, tmp_path, name):
    (tmp_path / "in").mkdir()
    outcomes = {}
    for scan in ("auto", "spark"):
        for other in ("auto", "spark"):
            output: list[dict] = []
            for number in range(1, 5):
                write(tmp_path / "in", number, draws(number))
                if number % 2 == 0:
                    with engine_of(spark, tmp_path / "in", scan if number == 2 else other) as engine:
                        query = engine.sql((QUERIES | JOINS)[name])
                        to = lambda rows, _, to=output: to.extend(rows.to_pylist())  # noqa: E731
                        with query.start(to, checkpoint=str(tmp_path / f"{scan}-{other}")) as standing:
                            standing.process_available()
                            outcomes[scan, other] = counts(standing.progress)
            outcomes[scan, other, "rows"] = sorted(map(str, output))
            for file in (tmp_path / "in").iterdir():
                file.unlink()
    assert len({str(value) for key, value in outcomes.items() if len(key) == 3}) == 1
    assert len({str(value) for key, value in outcomes.items() if len(key) == 2}) == 1


@pytest.mark.parametrize("zone", everyday(["Europe/Berlin", "America/St_Johns", "UTC"], 3))
def test_tasks_write_what_spark_would(spark, tmp_path, monkeypatch, zone):
    """Rows with values that only Spark writes are left to it."""
    draw, by_tasks = draws(7), []
    (tmp_path / "in").mkdir()
    for number in range(3):
        values = {name: some + [None] + (SPECIAL.get(name, []) if number == 2 else []) for name, some in VALUES.items()}
        columns = {name: [draw.choice(some) for _ in range(200)] for name, some in values.items()}
        table = pa.table([pa.array(columns[name], kind) for name, kind in TYPES.items()], list(TYPES))
        if number == 1:
            # A year that has a sign, in another column than the texts.
            far = pa.array([None] * 199 + [2**58]).cast(TYPES["at"])
            table = table.set_column(table.schema.get_field_index("at"), "at", far)
        pq.write_table(table, tmp_path / "in" / f"{number}.parquet")
    counted = cepsql.sinks.files.written_rows
    monkeypatch.setattr(cepsql.sinks.files, "written_rows", lambda at: by_tasks.append(counted(at)) or by_tasks[-1])
    session, written = in_mode(spark, True), {}
    session.conf.set("spark.sql.session.timeZone", zone)
    for scan in ("auto", "spark"):
        with engine_of(session, tmp_path / "in", scan, "parquet", SPARK_TYPES) as engine:
            engine.sql(f"CREATE SINK o USING csv OPTIONS (path '{tmp_path}/{scan}')")
            for text in (f"SELECT {', '.join(TYPES)} FROM ticks", "SELECT t, i FROM ticks WHERE i > 100"):
                answer = engine.sql(f"INSERT INTO o {text}")
                assert "rows written" in str(answer)
        files = sorted((tmp_path / scan).glob("*.csv"))
        written[scan] = sorted("\n".join(file.read_text("utf-8") for file in files).split("\n"))
    assert written["auto"] == written["spark"]
    # Of the first query's batches, of two files and one.
    assert by_tasks[:2] == [200, 0]


def test_one_column_or_options_are_left_to_spark(spark, tmp_path):
    (tmp_path / "in").mkdir()
    put(tmp_path / "in", 1, ["x,1,2,true,2026-01-01", ",2,,,"])
    left = {
        "SELECT k FROM ticks": "",
        "SELECT k, seconds FROM ticks": ", header 'true'",
        "SELECT seconds, k FROM ticks": ", sep ';'",
        "SELECT seconds, k, flag FROM ticks": ", partitionBy 'k'",
    }
    for number, (text, options) in enumerate(everyday(left.items(), 3)):
        contents = []
        for scan in ("auto", "spark"):
            with engine_of(spark, tmp_path / "in", scan) as engine:
                engine.sql(f"CREATE SINK o USING csv OPTIONS (path '{tmp_path}/{number}{scan}'{options})")
                engine.sql(f"INSERT INTO o {text}")
            files = sorted((tmp_path / f"{number}{scan}").rglob("*.csv"))
            contents.append(sorted(file.read_text() for file in files))
        assert contents[0] == contents[1] != []
