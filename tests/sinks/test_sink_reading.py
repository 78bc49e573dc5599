"""SELECT FROM a sink: the rows that were written, in whole batches, with their types."""

import datetime
import json
import uuid
from decimal import Decimal
from pathlib import Path

import pytest
from chance import everyday

import cepsql
from cepsql.errors import NotSupportedError, OperationalError, ProgrammingError
from cepsql.spark.sources.sink_rows import whole_batches

ROWS = """SELECT * FROM VALUES (1, CAST(1.50 AS DECIMAL(8, 2)), TIMESTAMP '2026-01-05 10:00:00', named_struct('a', 1L)),
(2, NULL, NULL, NULL) AS t (n, total, at, nested)"""
FOUND = [
    {"n": 1, "total": Decimal("1.50"), "at": datetime.datetime(2026, 1, 5, 10), "nested": {"a": 1}},
    {"n": 2, "total": None, "at": None, "nested": None},
]
COLUMNS = "(n INT, total DECIMAL(8, 2), at TIMESTAMP, nested STRUCT<a: BIGINT>)"


@pytest.fixture
def engine(spark):
    with cepsql.connect(spark) as engine:
        yield engine


def rows(engine, query: str) -> list[dict]:
    sink_rows = engine.query(query).arrow().to_pylist()
    return [row | ({"at": row["at"] and row["at"].replace(tzinfo=None)} if "at" in row else {}) for row in sink_rows]


@pytest.mark.parametrize("format", everyday(["parquet", "json", "sqlite"]))
def test_rows_come_back_as_they_were_written(engine, tmp_path, format):
    place = tmp_path / "out"
    more = ", create_table 'true'" if format == "sqlite" else ""
    engine.sql(f"CREATE SINK kept {COLUMNS} USING {format} OPTIONS (path '{place}'{more})")
    engine.sql(f"INSERT INTO kept {ROWS}")
    assert rows(engine, "SELECT * FROM kept ORDER BY n") == FOUND
    assert rows(engine, "SELECT COUNT(*) AS c FROM kept AS k JOIN kept AS l ON k.n = l.n") == [{"c": 2}]
    with pytest.raises(NotSupportedError, match="v reads the sink kept, which a definition cannot"):
        engine.sql("CREATE VIEW v AS SELECT n FROM kept")


def test_rows_come_back_from_postgresql(engine, postgresql):
    url, table = postgresql.url, f"t{uuid.uuid4().hex}"
    engine.sql(
        f"CREATE SINK kept {COLUMNS} USING postgresql OPTIONS (url '{url}', table '{table}', create_table 'true')"
    )
    engine.sql(f"INSERT INTO kept {ROWS}")
    assert rows(engine, "SELECT * FROM kept ORDER BY n") == FOUND


def test_what_cannot_be_read(engine, tmp_path):
    engine.sql("CREATE SINK shown USING console")
    with pytest.raises(NotSupportedError, match="sink shown USING console cannot be read"):
        engine.query("SELECT * FROM shown")
    engine.sql(f"CREATE SINK none USING parquet OPTIONS (path '{tmp_path / 'none'}')")
    with pytest.raises(OperationalError, match="sink none has no rows yet"):
        engine.query("SELECT * FROM none")
    engine.sql(f"CREATE SINK lost (n INT) USING sqlite OPTIONS (path '{tmp_path / 'x.db'}')")
    with pytest.raises(OperationalError, match="sink lost cannot be read: "):
        engine.query("SELECT * FROM lost")
    engine.sql(f"CREATE SINK untyped USING sqlite OPTIONS (path '{tmp_path / 'x.db'}')")
    with pytest.raises(NotSupportedError, match="the types of the columns of sink untyped are not known"):
        engine.query("SELECT * FROM untyped")


def test_checking_a_text_reads_no_sink():
    with cepsql.connect() as engine:
        engine.check("CREATE SINK s (n INT) USING parquet OPTIONS (path '/nowhere'); SELECT n FROM s")
        with pytest.raises(ProgrammingError, match="there is no column m"):
            engine.check("SELECT m FROM s")
        assert not engine.has_started


def test_half_a_batch_is_not_read(tmp_path: Path):
    (tmp_path / "_cepsql").mkdir()
    names = {"_cepsql/a": "q-1-a.parquet", "_cepsql/b": "day=2/q-1-b.parquet"}
    (tmp_path / "_cepsql" / "c.json").write_text(json.dumps({"batch": 1, "files": names}))
    for name in ("q-0-a.parquet", "q-1-a.parquet"):
        (tmp_path / name).write_text("")
    assert [file.name for file in whole_batches(tmp_path)] == ["q-0-a.parquet"]
    (tmp_path / "day=2").mkdir()
    (tmp_path / "day=2" / "q-1-b.parquet").write_text("")
    assert len(whole_batches(tmp_path)) == 3


def test_a_folder_of_a_partition_is_not_hidden(tmp_path: Path):
    (tmp_path / "_cepsql").mkdir()
    names = {"_cepsql/a": "_k=1/q-0-a.json", "_cepsql/b": "_k=2/q-0-b.json"}
    (tmp_path / "_cepsql" / "c.json").write_text(json.dumps({"batch": 0, "files": names}))
    for name in (*names.values(), "_temporary/q-0-c.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert [file.name for file in whole_batches(tmp_path)] == ["q-0-a.json", "q-0-b.json"]
