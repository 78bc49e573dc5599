"""What completion suggests; the cursor is the bar."""

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from cepsql.catalog import ColumnDefinition, Source, View
from cepsql.frontends.shell.complete import SqlCompleter
from cepsql.frontends.shell.suggest import suggest

COLUMNS = tuple(ColumnDefinition(*pair) for pair in [("sym", "STRING"), ("ts", "TIMESTAMP"), ("price", "DOUBLE")])
RELATIONS = [
    Source("ticks", COLUMNS, "csv"),
    Source("trades", (ColumnDefinition("id", "INT"),), "csv", streaming=False),
    View("top", "select 1", (ColumnDefinition("n", "INT"),), False),
]
FUNCTIONS = {"sum": "(col)", "substring": "(str, pos, len)"}
CREATED = "CREATE STREAM s (a INT) USING"
MATCH = "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts "


def suggestions(text: str) -> list[str]:
    before, _, after = text.partition("|")
    return [item.text for item in suggest(before, after, RELATIONS, FUNCTIONS, ["cepsql.scan"], ["fraud"], ["alerts"])]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("|", ["ALTER", "CREATE"]),
        ("SEL|", ["SELECT"]),
        ("cre|", ["CREATE"]),
        ("CREATE |", ["MATERIALIZED", "OR", "QUERY", "SINK", "STREAM", "TABLE", "VIEW"]),
        ("SELECT * FROM t|", ["ticks", "trades", "top"]),
        ("SELECT * FROM ticks JOIN tr|", ["trades"]),
        ("DESCRIBE ti|", ["ticks"]),
        ("SELECT | FROM ticks", ["sym", "ts", "price"]),
        ("SELECT p| FROM ticks", ["price"]),
        ("SELECT |", ["sym", "ts", "price", "id"]),
        ("SELECT sym |", ["FROM", "AS"]),
        ("SELECT * |", ["FROM", "AS"]),
        ("SELECT sym, |", ["sym", "ts", "price", "id"]),
        ("SELECT * FROM ticks |", ["WHERE", "LEFT JOIN"]),
        ("SELECT * FROM ticks WHERE price > 1 |", ["AND", "OR"]),
        ("SELECT * FROM ticks WHERE price IN (SELECT n FROM top |", ["WHERE", "LEFT JOIN"]),
        ("SELECT sym FROM ticks GROUP |", ["BY"]),
        ("SELECT sym FROM ticks GROUP BY |", ["sym", "ts", "price"]),
        ("SELECT CASE WHEN price > 1 |", ["WHEN", "THEN"]),
        ("SELECT su| FROM ticks", ["sum(", "substring("]),
        ("SELECT t.| FROM ticks AS t", ["sym", "ts", "price"]),
        ("SELECT trades.| FROM ticks JOIN trades", ["id"]),
        ("SELECT sym FROM ticks WHERE pri|", ["price"]),
        ("SELECT sym FROM ticks WH|", ["WHERE"]),
        ("SELECT sym FROM ticks MAT|", ["MATCH_RECOGNIZE ("]),
        (f"{MATCH}|", ["AFTER MATCH SKIP", "ALL", "MEASURES", "ONE ROW PER MATCH", "PATTERN"]),
        (f"{MATCH}ME|", ["MEASURES"]),
        (f"{MATCH}MEASURES | PATTERN (LOW UP+) DEFINE UP AS price > 1)", ["LOW.", "UP.", "sym", "ts", "price"]),
        (f"{MATCH}MEASURES LOW.| PATTERN (LOW UP+) DEFINE UP AS price > 1)", ["sym", "ts", "price"]),
        (f"{MATCH}MEASURES LA|", ["LAST"]),
        (f"{MATCH}PATTERN (L|) DEFINE LOW AS price < 3, UP AS price > 4)", ["LOW"]),
        (f"{MATCH}PATTERN (A B) |", ["DEFINE", "SUBSET", "WITHIN"]),
        (f"{MATCH}PATTERN (LOW UP) DEFINE |", ["LOW", "UP"]),
        (f"{MATCH}PATTERN (LOW UP) DEFINE UP AS UP.p|", ["price"]),
        ("CREATE STREAM s (a I|", ["INT"]),
        ("CREATE STREAM s (a INT, at TIMESTAMP, WATERMARK FOR at AS |", ["a", "at"]),
        ("CREATE STREAM s (a INT) USING c|", ["csv"]),
        ("CREATE STREAM s (a INT) USING rate OPTIONS (|", ["rowsPerSecond", "numPartitions", "rampUpTime"]),
        ("SET |", ["cepsql.scan"]),
        ("SET cepsql.s|", ["scan"]),
        ("START QUERY |", ["fraud"]),
        ("DESCRIBE EXTENDED QUERY |", ["fraud"]),
        ("DROP QUERY IF EXISTS |", ["fraud"]),
        ("DROP SINK |", ["IF", "alerts"]),
        ("CREATE QUERY q INTO |", ["alerts"]),
        ("DROP VIEW |", ["GROUP", "IF", "top"]),
        ("DROP STREAM |", ["IF", "ticks"]),
        ("CREATE STREAM s (a INT) USING kafka OPTIONS (kafka.|", ["bootstrap.servers"]),
        ("CREATE STREAM s (a INT) USING kafka OPTIONS (subscribe 't') FORMAT |", ["json", "csv", "avro", "debezium"]),
        ("CREATE STREAM s (a INT, |", ["PRIMARY KEY (", "WATERMARK"]),
        ("CREATE STREAM s (a INT, at TIMESTAMP, WATERMARK FOR |", ["a", "at"]),
        ("CREATE SINK s USING p|", ["postgresql", "parquet", "python"]),
        ("CREATE SINK s USING sqlite OPTIONS (|", ["path", "table", "create_table"]),
        ("ALTER QUERY fraud SET (|", ["trigger", "start", "checkpoint"]),
        (f"{MATCH}MEASURES A.|", ["sym", "ts", "price"]),
        (f"{MATCH}PATTERN (A B) DEFINE B AS PREV(|", ["A.", "B.", "sym"]),
        (f"{MATCH}PATTERN (A B) DEFINE B AS price > |", ["A.", "B.", "sym"]),
        (f"{MATCH}PATTERN (A B) DEFINE B AS price |", ["AND", "OR"]),
        (f"{MATCH}PATTERN (A B) DEFINE B AS price > 1, |", ["A", "B"]),
        (f"{MATCH}PATTERN (A B) WITHIN |", ["INTERVAL"]),
        (f"{MATCH}MEASURES A.price AS low PATTERN (A B)) AS m WHERE m.|", ["low", "sym"]),
        ("SELECT * FROM ticks o, trades d WHERE d.|", ["id"]),
        ("WITH few AS (SELECT 1) SELECT * FROM |", ["few", "ticks"]),
        ("SELECT sym FROM ticks LEFT |", ["JOIN"]),
        ("SELECT sym FROM ticks EMIT |", ["CHANGES"]),
        ("SELECT sym FROM ticks WINDOW |", ["TUMBLING (SIZE"]),
        ("SELECT COUNT(*) FROM ticks WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY |", ["window_start", "window_end", "sym"]),
        ("SELECT SUM(price) OVER (|", ["PARTITION BY", "ORDER BY"]),
        ("SELECT SUM(price) OVER (PARTITION BY sym |", ["ORDER BY"]),
        ("SELECT CAST(price AS |", ["STRING", "INT"]),
        ("EXPLAIN |", ["ANALYZE", "EXTENDED"]),
        ("SELECT 1; SHOW ST|", ["STREAMS"]),
    ],
)
def test_the_first_suggestions(text, first):
    assert suggestions(text)[: len(first)] == first


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'tic|",
        'SELECT "s|',
        "-- SEL|",
        "SELECT 1 /* FR|",
        "SELECT sym AS |",
        "SELECT 1 FROM nothing.|",
        ") S|",
        "CREATE STREAM |",
        "CREATE QUERY |",
        "CREATE STREAM s (a INT) USING csv LATE ROWS INTO |",
        f"{MATCH}MEASURES A.x AS |",
    ],
)
def test_where_nothing_is_suggested(text):
    assert not [name for name in suggestions(text) if name in ("ticks", "sym", "SELECT", "FROM", "STREAMS")]


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("\\dq f", ["\\dq fraud"]),
        ("\\d ti", ["\\d ticks"]),
        ("\\drain o", ["\\drain on", "\\drain off"]),
        ("\\drain SELECT * FROM ti", ["\\drain SELECT * FROM ticks"]),
        ("\\h MATCH", ["\\h MATCH_RECOGNIZE"]),
        ("\\i in", ["\\i in.sql", "\\i inner/"]),
        ("\\i inner/", ["\\i inner/one.sql"]),
        (f"{CREATED} csv OPTIONS (path 'inn", [f"{CREATED} csv OPTIONS (path 'inner/"]),
        (f"{CREATED} kafka OPTIONS (kafka.b", [f"{CREATED} kafka OPTIONS (kafka.bootstrap.servers"]),
    ],
)
def test_what_tab_makes_of_a_text(text, completed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    for name in ("in.sql", ".hidden", "inner/one.sql"):
        (tmp_path / name).touch()
    completer = SqlCompleter(lambda: RELATIONS, lambda: FUNCTIONS, lambda: ["fraud"])
    completions = completer.get_completions(Document(text), CompleteEvent())
    assert [text[: len(text) + item.start_position] + item.text for item in completions] == completed
