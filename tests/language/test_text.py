"""Where statements end, whether one is finished, and what may follow an unfinished one."""

import contextlib

import pytest
from lark.exceptions import UnexpectedToken
from mutations import corpus

from cepsql.errors import Error, InterfaceError, ProgrammingError
from cepsql.language.parse import _lark, accepted, expected, is_complete, keywords, split, steps
from cepsql.language.tokens import Text
from cepsql.language.translate import statements


@pytest.mark.parametrize(
    ("script", "parts"),
    [
        ("", []),
        (" ;; ; -- nothing\n;", []),
        ("SELECT 1", [(0, "SELECT 1")]),
        ("SELECT 1;", [(0, "SELECT 1")]),
        ("SELECT 1;SELECT 2", [(0, "SELECT 1"), (9, "SELECT 2")]),
        ("SELECT ';' ; SELECT \";\"", [(0, "SELECT ';'"), (13, 'SELECT ";"')]),
        ("SELECT `a;b` -- c; d\n; SELECT /* ; */ 2", [(0, "SELECT `a;b`"), (23, "SELECT /* ; */ 2")]),
        ("SELECT 'it''s; \\'x'; SET a = ';'", [(0, "SELECT 'it''s; \\'x'"), (21, "SET a = ';'")]),
        ("FROM t MATCH_RECOGNIZE (PATTERN (A {- B -}))", [(0, "FROM t MATCH_RECOGNIZE (PATTERN (A {- B -}))")]),
        ("not SQL at all ) ( ; SELECT 2", [(0, "not SQL at all ) ("), (21, "SELECT 2")]),
    ],
)
def test_split(script, parts):
    assert split(script) == parts
    assert all(script[at:].startswith(text) for at, text in parts)


@pytest.mark.parametrize("script", ["SELECT 'a; SELECT 2", "SELECT 1; /* x", "SELECT `a"])
def test_split_of_an_open_quote(script):
    with pytest.raises(ProgrammingError, match="not closed"):
        split(script)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", False),
        (";", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; ", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1 -- ;", False),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT 1 /* ;", False),
        ("SELECT 1; SELECT 2", False),
        ("SELECT (1;", False),
    ],
)
def test_is_complete(text, complete):
    assert is_complete(text) is complete


MATCH = "SELECT * FROM ticks MATCH_RECOGNIZE ("


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("", {"CREATE", "DROP", "SHOW", "EXPLAIN", "SET", "SQL"}, {"MEASURES", "WATERMARK"}),
        ("SHOW", {"STREAMS", "TABLES", "VIEWS"}, {"SQL", "SELECT"}),
        ("SHOW TABLES;", {"CREATE", "SQL"}, {"TABLES"}),
        ("CREATE", {"OR", "STREAM", "TABLE", "VIEW"}, {"SQL"}),
        ("CREATE STREAM s (", {"NAME", "WATERMARK"}, {"USING"}),
        ("CREATE STREAM s (a INT)", {"USING"}, {"NAME"}),
        ("CREATE STREAM s (a INT) USING json", {"OPTIONS", "$END"}, {"USING"}),
        ("DROP VIEW", {"IF", "NAME"}, {"SQL"}),
        ("EXPLAIN", {"PATTERN", "LOGICAL", "PLANNING", "REWRITTEN", "PHYSICAL", "SQL"}, {"CREATE"}),
        ("SELECT * FROM", {"RELATION"}, {"MATCH_RECOGNIZE"}),
        ("SELECT * FROM ticks", {"MATCH_RECOGNIZE", "$END"}, {"MEASURES"}),
        (MATCH, {"PARTITION_BY", "ORDER_BY", "MEASURES", "PATTERN"}, {"DEFINE", "WITHIN"}),
        (f"{MATCH}PARTITION BY sym", {"ORDER_BY", "MEASURES", "COMMA"}, {"PARTITION_BY", "DEFINE"}),
        (f"{MATCH}ORDER BY ts MEASURES A.x", {"AS"}, {"PATTERN"}),
        (f"{MATCH}ORDER BY ts MEASURES A.x AS x", {"ONE", "ALL", "AFTER", "PATTERN"}, {"ORDER_BY"}),
        (f"{MATCH}ONE ROW PER MATCH", {"SHOW", "AFTER", "PATTERN"}, {"ALL"}),
        (f"{MATCH}AFTER MATCH SKIP", {"TO", "PAST"}, {"PATTERN"}),
        (f"{MATCH}AFTER MATCH SKIP TO", {"NEXT", "FIRST", "LAST", "NAME"}, {"PAST"}),
        (f"{MATCH}PATTERN (A B+)", {"WITHIN", "SUBSET", "DEFINE", "RPAR"}, {"MEASURES", "PATTERN"}),
        (f"{MATCH}PATTERN (A) WITHIN INTERVAL '1' HOUR", {"SUBSET", "DEFINE", "RPAR"}, {"WITHIN"}),
        (f"{MATCH}PATTERN (A) DEFINE A", {"AS"}, {"SUBSET"}),
        (f"{MATCH}PATTERN (A) DEFINE A AS x > 3", {"COMMA", "RPAR"}, {"SUBSET"}),
        (f"{MATCH}PATTERN (A))", {"TABLE_ALIAS", "$END", "SQL"}, {"DEFINE"}),
    ],
)
def test_expected(text, some, none):
    terminals = expected(text)
    assert some <= terminals
    assert not none & terminals


@pytest.mark.parametrize("text", ["SHOW SHOW", "SELECT )", "CREATE TABLE a b", f"{MATCH}DEFINE A AS x"])
def test_nothing_follows_what_is_wrong(text):
    assert expected(text) == set()


def test_keywords():
    words = keywords()
    assert {"SELECT", "MATCH_RECOGNIZE", "MEASURES", "PATTERN", "DEFINE", "WATERMARK", "PARTITION", "ORDER"} <= words
    assert not words & {"NAME", "EXPRESSION", "LPAR", "ORDER_BY", "TICKS"}
    assert all(word == word.upper() for word in words)


def test_positions_are_those_of_the_text():
    text = "SHOW TABLES;\nSELECT * FROM ticks MATCH_RECOGNIZE (MEASURES a.x AS first_x PATTERN (a B) DEFINE B AS x > 1)"
    _, query = statements(text)
    (clause,) = query.operators
    spans = [clause.span, clause.measures[0].name.span, clause.pattern_names["B"], clause.defines[0][0].span]
    assert [text[span.start : span.end] for span in spans] == ["MATCH_RECOGNIZE", "first_x", "B", "B"]
    assert text[: query.span.start] == "SHOW TABLES;\n"


def test_what_is_no_text_is_refused():
    with pytest.raises(InterfaceError, match="statements are text, not NoneType"):
        statements(None)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'it''s'", "it's"),
        ("'it''s\nso'", "it's\nso"),
        ('"a ""b""\n"', 'a "b"\n'),
        (r"'a\''''", "a''"),
        (r"'\\'''", "\\'"),
        (r"'\x3e\101\u00e9\t'", ">Aé\t"),
        (r"'orders\.\d+'", r"orders\.\d+"),
        (r"'\ud800'", r"\ud800"),
        (r"'\U99999999'", r"\U99999999"),
    ],
)
def test_quoted_options(written, meant, recwarn):
    [table] = statements(f"CREATE TABLE t USING csv OPTIONS (nullValue {written})")
    assert table.options == (("nullvalue", meant),)
    assert not recwarn.list


def test_what_is_accepted_is_what_lark_accepts():
    right, wrong = corpus()
    for text in sorted({statement.text for statement in (*right, *wrong)})[::10]:
        parser = _lark().parse_interactive()
        # The texts hold wrong statements, too: up to their errors they are read.
        with contextlib.suppress(Error, UnexpectedToken):
            for _ in steps(Text(text, unfinished=True), parser):
                assert accepted(parser) == parser.accepts()
