"""The rows of running queries as they leave: of one without a sink, and of one with a sink while somebody follows."""

import time

import pytest

import cepsql


@pytest.fixture
def engine(spark, tmp_path):
    (tmp_path / "in").mkdir()
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        engine.sql(f"CREATE STREAM numbers (n INT) USING csv OPTIONS (path '{tmp_path / 'in'}')")
        yield engine


def put(folder, name: str, numbers) -> None:
    hidden = folder / f".{name}"
    hidden.write_text("".join(f"{n}\n" for n in numbers))
    hidden.rename(folder / name)


def numbers_of(subscription, many: int) -> list[int]:
    end, numbers = time.monotonic() + 120, []
    while len(numbers) < many:
        assert time.monotonic() < end, numbers
        if (changes := subscription.poll()) is not None:
            numbers += changes.rows["n"].to_pylist()
        else:
            time.sleep(0.05)
    return sorted(numbers)


def test_rows_of_running_queries(engine, tmp_path):
    put(tmp_path / "in", "1.csv", range(10))
    engine.sql("CREATE QUERY seen OPTIONS (keep_last 3) AS SELECT n FROM numbers")
    engine.sql(f"CREATE SINK kept USING sqlite OPTIONS (path '{tmp_path / 'kept.db'}', create_table 'true')")
    engine.sql("CREATE QUERY written INTO kept AS SELECT n * 2 AS n FROM numbers")
    engine.sql("START QUERY seen")
    end = time.monotonic() + 120
    while (numbers := printed(engine)) is None:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert numbers == [7, 8, 9]
    with engine.subscribe("seen") as seen, engine.subscribe("written") as written:
        engine.sql("START QUERY written")
        assert numbers_of(written, 10) == list(range(0, 20, 2))
        put(tmp_path / "in", "2.csv", range(10, 20))
        # Whoever follows gets all rows, not the last ones.
        assert numbers_of(seen, 10) == list(range(10, 20))
        assert numbers_of(written, 10) == list(range(20, 40, 2))
    # The sink has what was seen, too.
    assert engine.query("SELECT COUNT(*) AS c, MAX(n) AS m FROM kept").arrow().to_pylist() == [{"c": 20, "m": 38}]


def printed(engine) -> list[int] | None:
    try:
        rows = engine.sql("PRINT seen").rows
    except cepsql.Error:
        return None
    return sorted(int(n) for (n,) in rows) or None
