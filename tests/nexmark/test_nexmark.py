"""The queries of Nexmark over streams give the rows that the same SQL gives over tables."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import auction_house
import pytest

from cepsql.engine import connect

OTHERS = Path(__file__).parent / "others"
QUERIES = [*sorted(Path(__file__).parent.glob("queries/*.sql")), OTHERS / "q06.sql"]
MARK = "WATERMARK FOR dateTime AS dateTime - INTERVAL '1' SECOND"


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nexmark")
    auction_house.write_events(folder, 50_000)
    return folder


@pytest.fixture(scope="module")
def engines(spark, events):
    streams, tables = connect(spark), connect(spark)
    for name, columns in auction_house.COLUMNS.items():
        source = f"USING csv OPTIONS (path '{events / name}')"
        streams.sql(f"CREATE STREAM {name} ({columns}, {MARK}) {source}")
        tables.sql(f"CREATE TABLE {name} ({columns}) {source}")
    for engine in (streams, tables):
        engine.sql("CREATE VIEW side_input AS SELECT id AS number, concat('side ', id) AS side FROM range(100)")
    return streams, tables


@pytest.mark.nightly("all queries of Nexmark take minutes")
@pytest.mark.parametrize("file", QUERIES, ids=lambda file: file.stem)
def test_streams_give_what_tables_give(file, engines):
    text = file.read_text("utf-8")
    streams, tables = engines
    expected = tables.query(text).arrow()
    with streams.query(text).start(drain=True) as standing:
        output = [row for table in standing.rows() for row in table.to_pylist()]
    wanted = Counter(map(repr, expected.to_pylist()))
    assert contents(output) == wanted
    assert wanted


def test_windows_of_the_clock_count_every_bid(engines, events):
    streams, tables = engines
    columns = f"{auction_house.COLUMNS['bid']}, seen TIMESTAMP AS PROCTIME(), WATERMARK FOR seen AS seen"
    streams.sql(f"CREATE STREAM bid_by_clock ({columns}) USING csv OPTIONS (path '{events / 'bid'}')")
    with streams.query((OTHERS / "q12.sql").read_text("utf-8")).start(drain=True) as standing:
        bids: Counter = Counter()
        for table in standing.rows():
            for row in table.to_pylist():
                assert row["window_end"] - row["window_start"] == timedelta(seconds=10)
                bids[row["bidder"]] += row["bids"]
    assert bids == dict(tables.query("SELECT bidder, COUNT(*) FROM bid GROUP BY bidder").collect())


def contents(rows: list[dict]) -> Counter:
    """Return the rows of a result, from the changes of it where they say what they do."""
    table: Counter = Counter()
    for row in rows:
        table[repr(row | {"op": "+I"} if "op" in row else row)] += -1 if row.get("op", "+").startswith("-") else 1
    assert all(number >= 0 for number in table.values())
    return +table
