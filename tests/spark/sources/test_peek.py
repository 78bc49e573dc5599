"""PRINT and SHOW FUNCTIONS: what a source holds before any query reads it, and what Spark can compute."""

import pytest

from cepsql.engine import connect
from cepsql.errors import OperationalError


@pytest.fixture
def engine(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("ts,x\n2026-01-01 00:00:00,1\nnonsense,2\n2026-01-01 00:00:02,3\n")
    return connect(spark)


def stream(name: str, more: str = "") -> str:
    return (
        f"CREATE STREAM {name} (ts TIMESTAMP, x INT, y INT AS x * 2, WATERMARK FOR ts AS ts) "
        f"USING csv OPTIONS (path 'in', header 'true') {more};"
    )


def test_malformed_rows_are_shown_with_their_text(engine):
    for name, late in (("plain", ""), ("careful", "LATE ROWS INTO late USING json OPTIONS (path 'late')")):
        rows = engine.sql(stream(name, late) + f"PRINT {name}").arrow().to_pylist()
        assert [(row["x"], row["y"], row["malformed"]) for row in rows] == [
            (1, 2, None), (2, 4, "nonsense,2"), (3, 6, None)
        ]  # fmt: skip


def test_no_more_rows_than_asked_for(engine):
    assert engine.sql(stream("s") + "PRINT s LIMIT 2").arrow().num_rows == 2
    view = engine.sql("CREATE VIEW v AS SELECT x FROM s; PRINT v LIMIT 1")
    assert (view.streaming, view.limit) == (True, 1)


def test_what_only_comes_is_followed(engine):
    engine.sql("CREATE STREAM beats (value BIGINT, timestamp TIMESTAMP) USING rate")
    beats = engine.query("PRINT beats LIMIT 3")
    assert (beats.streaming, beats.limit) == (True, 3)


def test_a_folder_that_is_not_there(engine):
    with pytest.raises(OperationalError, match=r"nowhere reads .*/none, which does not exist"):
        engine.sql("CREATE TABLE nowhere (x INT) USING csv OPTIONS (path 'none'); PRINT nowhere")


def test_functions_by_pattern(engine):
    ((name, meaning),) = engine.sql("SHOW FUNCTIONS LIKE 'DATE_A*'").rows
    assert name == "date_add"
    assert meaning.startswith("date_add(start_date, num_days) - Returns the date that is")
    assert len(engine.sql("SHOW FUNCTIONS").rows) > 300


def test_names_may_need_quotes(engine):
    engine.sql("CREATE STREAM odd (`event.time` TIMESTAMP, `a``b` INT, WATERMARK FOR `event.time` AS `event.time`) "
               "USING csv OPTIONS (path 'in', header 'true')")  # fmt: skip
    assert engine.sql("PRINT odd").arrow().column_names == ["event.time", "a`b", "malformed"]
