"""What completion suggests; the cursor is the bar."""

import pytest

from cepsql.catalog import ColumnDefinition, Source, View
from cepsql.shell.suggest import suggest

COLUMNS = tuple(ColumnDefinition(*pair) for pair in [("sym", "STRING"), ("ts", "TIMESTAMP"), ("price", "DOUBLE")])
RELATIONS = [
    Source("ticks", COLUMNS, "csv"),
    Source("trades", (ColumnDefinition("id", "INT"),), "csv", streaming=False),
    View("top", "select 1", (ColumnDefinition("n", "INT"),), False),
]
FUNCTIONS = {"sum": "(col)", "substring": "(str, pos, len)"}
MATCH = "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts "


def found(text: str) -> list[str]:
    before, _, after = text.partition("|")
    return [item.text for item in suggest(before, after, RELATIONS, FUNCTIONS, ["cepsql.scan"])]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("|", ["ALTER", "CREATE"]),
        ("SEL|", ["SELECT"]),
        ("cre|", ["CREATE"]),
        ("CREATE |", ["OR", "QUERY", "SINK", "STREAM", "TABLE", "VIEW"]),
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
        ("SELECT 1; SHOW ST|", ["STREAMS"]),
    ],
)
def test_the_first_suggestions(text, first):
    assert found(text)[: len(first)] == first


@pytest.mark.parametrize(
    "text",
    ["SELECT 'tic|", 'SELECT "s|', "-- SEL|", "SELECT 1 /* FR|", "SELECT sym AS |", "SELECT 1 FROM nothing.|", ") S|"],
)
def test_where_nothing_is_suggested(text):
    assert not [name for name in found(text) if name in ("ticks", "sym", "SELECT", "FROM", "STREAMS")]
