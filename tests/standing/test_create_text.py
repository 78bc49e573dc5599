"""SHOW CREATE gives a statement that defines the same again."""

from dataclasses import replace
from pathlib import Path

import pytest
from catalog import engine

from cepsql.catalog import RegisteredQuery
from cepsql.catalog.create_text import create_text
from cepsql.catalog.data import from_data, to_data

HISTORY = "CREATE TABLE h (t TIMESTAMP, a INT) USING csv OPTIONS (path '/h')"
DEFINITIONS = [
    "CREATE STREAM s (a INT, `b c` STRING, ts TIMESTAMP AS to_timestamp(`b c`), WATERMARK FOR ts AS ts - INTERVAL '90' "
    "SECONDS WITH HEARTBEAT INTERVAL '2' HOURS) "
    "USING json OPTIONS (path 'a\\'b', 'Odd Name' '1\\n2', kafka.bootstrap.servers 'h:1', back 'a\\\\b') "
    "LATE ROWS INTO `late rows`.t USING parquet OPTIONS (path '/late')",
    "CREATE STREAM s (a ARRAY<STRUCT<x: INT>>, t TIMESTAMP, WATERMARK FOR t AS t) USING rate",
    "CREATE STREAM s (a INT, at TIMESTAMP METADATA FROM 'timestamp', WATERMARK FOR at AS at) USING kafka OPTIONS "
    "(kafka.bootstrap.servers 'h:1', subscribe 't') FORMAT csv OPTIONS (sep ';') FROM EARLIEST",
    "CREATE TABLE db.s (a DECIMAL(10, 2)) USING csv OPTIONS (header true)",
    "CREATE TABLE s (a INT) USING csv REFRESH EVERY INTERVAL '90' SECONDS",
    f"{HISTORY}; CREATE STREAM s (t TIMESTAMP, WATERMARK FOR t AS t) USING csv "
    "BACKFILL FROM h UNTIL TIMESTAMP '2026-03-02 09:00:00' LATE ROWS INTO l USING json OPTIONS (path 'l')",
    "CREATE VIEW s AS SELECT * -- all\nFROM ticks WHERE sym <> 'a''b'",
    "CREATE SINK s (a INT, select STRING, PRIMARY KEY (select, a)) USING sqlite OPTIONS (path 'x.db')",
    "CREATE STREAM s (a INT, op STRING, t TIMESTAMP, WATERMARK FOR t AS t, PRIMARY KEY (a, op) DELETE WHEN op = 'd') "
    "USING csv",
    "CREATE STREAM s (`of` STRING, at TIMESTAMP, got TIMESTAMP, ahead INT, WATERMARK FOR at AS at - INTERVAL '5' DAYS "
    "AHEAD AT MOST INTERVAL '1' HOUR OF coalesce(got, at) BY `of` WITH IDLE TIMEOUT INTERVAL '90' SECONDS "
    "WITH PUNCTUATION WHEN ahead > 1 AND `of` = 'end' WITH HEARTBEAT INTERVAL '1' MINUTE "
    "WITH LATE ALERT ABOVE 2.5 PERCENT) USING csv",
    "CREATE SINK s (PRIMARY KEY (id)) USING console",
    "CREATE QUERY s AS SELECT * FROM ticks",
    "CREATE SINK out USING console; CREATE QUERY s INTO out OPTIONS (trigger '1 minute', cepsql.buckets 4, "
    "spark.sql.session.timeZone 'UTC') AS "
    "SELECT 1 AS one, t.* FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS x PATTERN (A)) AS t",
]


@pytest.mark.parametrize("text", DEFINITIONS)
def test_the_text_defines_the_same(text):
    first, second = engine(), engine()
    first.sql(text)
    defined = defined_in(first)
    second.sql(f"CREATE SINK out USING console; {HISTORY}")
    second.sql(create_text(defined))
    assert defined_in(second) == defined


@pytest.mark.parametrize("text", DEFINITIONS)
def test_data_gives_the_definition_back(text):
    fresh = engine()
    fresh.sql(text)
    defined = defined_in(fresh)
    assert from_data(to_data(defined)) == defined


def test_every_definition_of_the_tests_comes_back():
    fresh = engine()
    for defined in fresh.catalog.names:
        assert from_data(to_data(defined)) == defined


def test_secrets_are_masked_and_references_shown():
    fresh = engine()
    fresh.sql(
        "CREATE SINK s USING webhook OPTIONS (api.token 'abc', url 'https://u:pw@h/x', password '${PW}', path '/p')"
    )
    shown = "\n".join(row[0] for row in fresh.sql("SHOW CREATE SINK s").rows)
    assert "abc" not in shown and "pw@" not in shown
    assert "password '${PW}'" in shown and "path '/p'" in shown


def defined_in(fresh):
    """Return what s is, without the part of a query that no other query has."""
    definition = fresh.catalog.names.query("s") or fresh.catalog.names.find("s") or fresh.catalog.names.find("db.s")
    return replace(definition, id="") if isinstance(definition, RegisteredQuery) else definition


def test_the_definitions_are_found(tmp_path: Path):
    fresh = engine()
    fresh.sql(DEFINITIONS[0])
    assert create_text(defined_in(fresh)).startswith("CREATE STREAM s (\n  a INT,\n  `b c` STRING,")
