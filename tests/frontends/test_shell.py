"""The shell, driven by typed keys, against an engine without Spark."""

import os
import re
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_engine import FakeEngine, FakeQuery, endless, message, numbers, stream
from prompt_toolkit.history import FileHistory, InMemoryHistory
from typed import type_to

from cepsql.catalog import RegisteredQuery, Source, View
from cepsql.catalog.catalog import Catalog
from cepsql.errors import OperationalError, ProgrammingError, Span
from cepsql.frontends.runner.user_choices import UserChoices
from cepsql.frontends.shell.commands import command
from cepsql.frontends.shell.grammar_forms import keywords_of, rules, statement_rules, used_rules
from cepsql.frontends.shell.highlight import COLOURS, highlight
from cepsql.frontends.shell.prompt import file_history, is_finished
from cepsql.frontends.shell.statement_help import TOPICS, statement_help, topic_keywords
from cepsql.language.translate import statements

ENTER, FORCE, CTRL_C, CTRL_D, CTRL_R = "\r", "\x1b\r", "\x03", "\x04", "\x12"


SCRIPT = Path(__file__).parent / "script.sql"


@pytest.fixture(autouse=True)
def editor(tmp_path, monkeypatch):
    """An editor that breaks lines at blanks."""
    path = tmp_path / "editor"
    path.write_text("#!/bin/sh\nsed -i 's/ /\\n/' $1\n")
    path.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def bad(text):
    return ProgrammingError("no column y", Span(7, 8), None, text)


STREAM = Source("ticks", (), "rate")
VIEW = View("v", "select 1", (), False)
PREPARED = {
    "select 1": FakeQuery([("n", "bigint")], [numbers(1)], streaming=False),
    "select\t1": FakeQuery([("n", "bigint")], [numbers(1)], streaming=False),
    "select\n1": FakeQuery([("n", "bigint")], [numbers(1)], streaming=False),
    "select y": bad,
    "select z": lambda text: OperationalError("wrong", detail="at Spark.java:1\n"),
    "stream": stream(numbers(1, 2), limit=2),
    "SHOW STREAMS": message("streams"),
    "SHOW VIEWS": message("views"),
    "DESCRIBE ticks": message("ticks"),
}


def type_in(keys: str, history=None, relations=(STREAM, VIEW), home=None):
    engine = FakeEngine(PREPARED)
    engine.home = home
    for relation in relations:
        engine.catalog.add(relation)
    return *type_to(engine, keys, history or InMemoryHistory()), engine.seen


@pytest.mark.parametrize(
    ("keys", "seen"),
    [
        (f"select 1;{ENTER}", ["select 1"]),
        (f"select{ENTER}1;{ENTER}", ["select\n1"]),
        (f"select 1{FORCE}", ["select 1"]),
        (f"select 1; -- why?{ENTER}", ["select 1"]),
        (f"garbage{CTRL_C}select 1;{ENTER}", ["select 1"]),
        (f"{ENTER}{ENTER}select 1;{ENTER}", ["select 1"]),
        (f"select 1; select 1;{ENTER}", ["select 1", "select 1"]),
        (f"select y; select 1;{ENTER}", ["select y"]),
        (f"select y;{ENTER}select 1;{ENTER}", ["select y", "select 1"]),
        (f"\x1b[200~select\n1;\x1b[201~{ENTER}", ["select\n1"]),
        (
            f"\x1b[200~select 1;\n\\d\n-- why?\n\\drain select\n1;\nselect 1;\nselect y;\n\\x on\x1b[201~{ENTER}",
            ["select 1", "SHOW STREAMS", "SHOW VIEWS", "select\n1", "select 1", "select y"],
        ),
        (f"\x1b[200~\\x on\nselect 1\\G\nselect\n1;\x1b[201~{ENTER}", ["select 1", "select\n1"]),
        (f"\x1b[200~select 1;\n\\wrong\nselect y;\x1b[201~{ENTER}", ["select 1"]),
        (f"\x1b[200~select 1;\n\\q\nselect y;\x1b[201~{ENTER}", ["select 1"]),
        (f"select\t1;{ENTER}", ["select\t1"]),
        (f"\\d{ENTER}", ["SHOW STREAMS", "SHOW VIEWS"]),
        (f"\\d ticks;{ENTER}", ["DESCRIBE ticks"]),
        (f"\\q{ENTER}select 1;{ENTER}", []),
        (f"exit{ENTER}select 1;{ENTER}", []),
        (f"QUIT;{ENTER}select 1;{ENTER}", []),
        (f"\\drain select 1;{ENTER}", ["select 1"]),
        (f"\\drain select{ENTER}1;{ENTER}", ["select\n1"]),
        (f"\\i {SCRIPT}{ENTER}", ["select 1", "stream"]),
        (f"select 1\\G{ENTER}", ["select 1"]),
        (f"select 1;{ENTER}\\e{ENTER}{ENTER}", ["select 1", "select\n1"]),
    ],
)
def test_keys_and_the_statements_they_execute(keys, seen):
    code, _, _, executed = type_in(keys + CTRL_D)
    assert (code, executed) == (0, seen)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (f"\\?{ENTER}", "\\errverbose"),
        (f"\\h create view{ENTER}", "CREATE VIEW dear AS SELECT"),
        (f"\\h nothing{ENTER}", "there is no help for nothing; there is help for\nSELECT            MATCH_RECOGNIZE"),
        (f"\\i{ENTER}", "\\i takes the name of a file"),
        (f"\\i nothing.sql{ENTER}", "cannot read nothing.sql: No such file or directory"),
        (f"\\i ~nobody-of-that-name/x{ENTER}", "cannot read ~nobody-of-that-name/x: Could not determine home"),
        (f"\\o /no/such/place{ENTER}", "error: /no/such/place cannot be written: No such file or directory"),
        (f"\\watch{ENTER}", "there is no statement to execute again"),
        (f"\\plot a b{ENTER}", "there is no result to draw; \\plot draws the last SELECT that gave one"),
        (f"select y;{ENTER}\\plot a b{ENTER}", "there is no result to draw"),
        (f"SHOW VIEWS;{ENTER}\\plot a b{ENTER}", "there is no result to draw"),
        (f"select y;{ENTER}\\watch 1{ENTER}", "error: no column y"),
        (f"\\x{ENTER}\\x{ENTER}", "format is vertical\nformat is table"),
        (f"\\wat now{ENTER}", "there is no command \\wat; \\? lists them\n  hint: did you mean \\watch?"),
        (f"\\dt{ENTER}", "there is no command \\dt; \\? lists them\n  hint: \\d lists streams"),
        (f"\\format{ENTER}", "format is csv"),
        (f"\\format xml{ENTER}", "there is no format xml; formats: table, vertical, csv, json, markdown"),
        (f"help{ENTER}", "\\maxrows [N|all]"),
        (f"?{ENTER}", "\\maxrows [N|all]"),
        (f"\\maxrows 5{ENTER}", "a bounded result shows at most 5 rows"),
        (f"\\maxrows all{ENTER}", "a bounded result shows all rows"),
        (f"\\maxrows few{ENTER}", "\\maxrows takes a number of rows, or all"),
        (f"\\drain on{ENTER}", "a SELECT over a stream ends once its input is processed and decided"),
        (f"\\drain{ENTER}\\drain{ENTER}", "a SELECT over a stream runs until it is stopped"),
        (f"\\timeout 1.5{ENTER}", "a SELECT over a stream ends after 1.5 s"),
        (f"\\timeout soon{ENTER}", "\\timeout takes a number of seconds, or off"),
        (f"\\timing off{ENTER}select 1;{ENTER}", "numbers of rows and times are not shown\n"),
        (f"\\errverbose on{ENTER}\\errverbose off{ENTER}", "details of errors are on\ndetails of errors are off"),
        (f"\\errverbose{ENTER}", "there was no error"),
        (
            f"select z;{ENTER}\\errverbose{ENTER}",
            "wrong\nerror: wrong\n  docs/errors.md#operationalerror\nat Spark.java:1",
        ),
        (
            f"\\live{ENTER}\\live n, m{ENTER}\\live{ENTER}",
            "scroll by\na SELECT over a stream shows the last row of",
        ),
        (
            f"\\pager more{ENTER}\\pager off{ENTER}",
            "go to more\nbounded results that do not fit the screen are",
        ),
        (f"\\top{ENTER}", "no standing query is defined; \\h CREATE QUERY shows how"),
        (f"select y;{ENTER}", "error: no column y\n  line 1: select y;\n                 ^"),
        (f"select 1;{ENTER}", "1 row, "),
        (f"stream;{ENTER}", "limit reached: 2 rows"),
    ],
)
def test_what_the_shell_says(keys, said):
    err = type_in(keys + CTRL_D)[2]
    assert err.startswith("cepsql 0.1.0 · \\? help\n")
    assert said in err


RUNNING_HERE = SimpleNamespace(
    reconciler=SimpleNamespace(owned=["fraud"]), states=SimpleNamespace(all=lambda: {})
)  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "seen"),
    [
        (f"exit{ENTER}n{ENTER}select 1;{ENTER}{CTRL_D}{CTRL_D}", ["select 1"]),
        (f"{CTRL_D}{CTRL_C}select 1;{ENTER}{CTRL_D}{CTRL_D}", ["select 1"]),
        (f"{CTRL_D}y{ENTER}", []),
        (f"{CTRL_D}{CTRL_D}", []),
    ],
)
def test_who_leaves_is_asked_if_a_query_ends_with_the_shell(keys, seen):
    fraud = RegisteredQuery("fraud", None, "SELECT 1")
    assert type_in(keys, relations=(fraud,), home=RUNNING_HERE)[3] == seen


def test_ctrl_c_says_which_queries_go_on(monkeypatch):
    query = endless()
    monkeypatch.setitem(PREPARED, "endless", query)

    def press() -> None:
        while not query.started or not query.started[0].progress.batches:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    fraud = RegisteredQuery("fraud", None, "SELECT 1")
    said = type_in(f"endless;{ENTER}{CTRL_D}{CTRL_D}", relations=(fraud,), home=RUNNING_HERE)[2]
    assert "stopped: " in said
    assert "query fraud keeps running\n" in said


def test_statements_of_the_user_begin_each_session(tmp_path):
    (tmp_path / "config" / "cepsql").mkdir(parents=True)
    (tmp_path / "config" / "cepsql" / "init.sql").write_text("\\format json\nselect 1;")
    _, out, _, seen = type_in(f"stream;{ENTER}{CTRL_D}")
    assert seen == ["select 1", "stream"]
    assert out.startswith('{"n":1}\n')


FILES = {
    "fails.sql": "select 1;\nselect y;\nstream;",
    "refused.sql": "\n\\format xml\nstream;",
    "ends.sql": "select 1;\n\\q\nstream;",
    "again.sql": "select 1;\n\\i again.sql\nstream;",
}


@pytest.mark.parametrize(
    ("typed", "seen", "said"),
    [
        ("fails.sql", ["select 1", "select y"], "error: fails.sql:2: no column y"),
        ("refused.sql", [], "error: refused.sql:2: there is no format xml"),
        ("none.sql", [], "error: outer.sql:1: cannot read none.sql"),
        ("again.sql", ["select 1"], "error: again.sql:2: again.sql includes itself"),
        ("'ends.sql'", ["select 1", "select z"], "error: outer.sql: wrong"),
    ],
)
def test_a_file_ends_with_what_fails_in_it_or_in_one_that_it_includes(typed, seen, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {**FILES, "outer.sql": f"\\i {typed}\nselect z;"}.items():
        (tmp_path / name).write_text(text)
    _, _, err, executed = type_in(f"\\i outer.sql{ENTER}select 1;{ENTER}{CTRL_D}")
    assert executed == [*seen, "select 1"]
    assert said in err


def test_nothing_to_list():
    assert "no stream, table or view is defined" in type_in(f"\\d{ENTER}{CTRL_D}", relations=())[2]
    assert "no standing query is defined" in type_in(f"\\dq{ENTER}{CTRL_D}")[2]


def test_the_format_can_be_changed():
    assert type_in(f"\\format json{ENTER}select 1;{ENTER}{CTRL_D}")[1] == '{"n":1}\n'


def test_history_keeps_statements_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    type_in(f"select{ENTER}1;{ENTER}\\format csv{ENTER}{CTRL_D}", file_history())
    path = tmp_path / "cepsql" / "history"
    assert list(FileHistory(path).load_history_strings()) == ["\\format csv", "select\n1;"]
    assert path.stat().st_mode & 0o077 == 0
    # Up recalls the statement of the session before.
    assert type_in(f"\x1b[A\x1b[A{ENTER}{CTRL_D}", file_history())[3] == ["select\n1"]


def test_history_is_searched_with_ctrl_r():
    history = InMemoryHistory(["select 1;", "stream;"])
    assert type_in(f"{CTRL_R}sel{ENTER}{ENTER}{CTRL_D}", history)[3] == ["select 1"]


def test_a_command_within_a_statement_leaves_it_as_it_was():
    # The second Enter is that of the statement, which goes on behind the command.
    code, out, err, executed = type_in(f"select{ENTER}\\timing on{ENTER}1;{ENTER}select{ENTER}\\q{ENTER}")
    assert (code, out, executed) == (0, "n\n1\n", ["select\n1"])
    assert "numbers of rows and times are shown" in err
    assert type_in(f"\x1b[200~select 1;\n\\q\x1b[201~{ENTER}")[::3] == (0, ["select 1"])


def test_a_history_that_cannot_be_written_is_kept_in_memory(tmp_path, monkeypatch):
    (tmp_path / "cepsql").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert isinstance(file_history(), InMemoryHistory)


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("", True), ("  \n", True), ("\\d", True), ("select 1;", True), ("select 1", False), ("select ';", False),
        ("select ';'", False), ("/* ;", False), ("-- ;", False), ("select 1; -- x", True), ("select 1; select", False),
        ("select (1;", False), ("select 1);", True), ("exit", True), ("?", True), ("helpme", False),
        ("\\drain", True), ("\\drain off", True), ("\\drain select", False), ("\\drain select 1;", True),
        ("\\drain maybe", True), ("\\drain with", False), ("\\drain (select 1)", False), ("\\timing maybe", True),
        ("select 1;\n\\q\nselect", False), ("\\x on\nselect 1", False), ("\\x on\nselect 1;", True),
        ("select 1\n\\q", True), ("select '\n\\q", False), ("/*\n\\q", False), ("select 1 -- x\n\\x on", True),
    ],
)  # fmt: skip
def test_when_enter_executes(text, finished):
    assert is_finished(text) is finished


@pytest.mark.parametrize(
    ("text", "styled"),
    [
        ("select x from t", ["keyword:select", "keyword:from"]),
        ("SELECT 'it''s' || `from` -- from", ["keyword:SELECT", "string:'it''s'", "comment:-- from"]),
        ("'open\nstill", ["string:'open\nstill"]),
        ("/* a\nb */ 1.5e3 x1", ["comment:/* a\nb */", "number:1.5e3"]),
        ("a :name a::int", ["parameter::name", "keyword:int"]),
        ("t MATCH_RECOGNIZE ( pattern (a+) define", ["keyword:MATCH_RECOGNIZE", "keyword:pattern", "keyword:define"]),
        ("\\d select", []),
        (
            "SELECT size, date, count(first) AS last FROM end",
            ["keyword:SELECT", "function:count", "keyword:AS", "keyword:FROM"],
        ),
        (
            "CREATE STREAM event (key DATE) USING csv; SELECT",
            ["keyword:CREATE", "keyword:STREAM", "keyword:DATE", "keyword:USING", "keyword:SELECT"],
        ),
        (
            "SELECT * FROM s MATCH_RECOGNIZE (MEASURES A.b AS c PATTERN (A B+) DEFINE B AS B.b > LAST(A.b",
            [
                *["keyword:SELECT", "keyword:FROM", "keyword:MATCH_RECOGNIZE", "keyword:MEASURES", "variable:A"],
                *["keyword:AS", "keyword:PATTERN", "variable:A", "variable:B", "keyword:DEFINE", "variable:B"],
                *["keyword:AS", "variable:B", "function:LAST", "variable:A"],
            ],
        ),
        ("\\drain SELECT 1", ["keyword:SELECT", "number:1"]),
        ("\\drain on", []),
    ],
)
def test_colours(text, styled):
    pieces = highlight(text)
    assert "".join(piece for _, piece in pieces) == text
    assert [f"{style.removeprefix('class:')}:{piece}" for style, piece in pieces if style] == styled


@pytest.mark.parametrize("last", ["", "select y;", "SHOW VIEWS;", "select y; select 1;"])
def test_the_last_result_is_drawn(last):
    _, out, _, _ = type_in(f"select\t1\\G{ENTER}{last}{ENTER}\\plot a, b{ENTER}{CTRL_D}")
    assert "drawn: b over a of select\t1" in out


def test_a_form_breaks_between_its_clauses():
    for topic in TOPICS:
        lines = statement_help(topic).splitlines()
        assert all(len(line) <= 80 for line in lines), topic
    help_text = statement_help("CREATE QUERY")
    assert (
        "[INTO name]\n      [OPTIONS (key 'value', ...)] [FROM SAVEPOINT 'text' | new checkpoint]\n      AS query"
        in help_text
    )


def test_the_documentation_shows_the_help(update):
    page = Path(__file__).parents[2] / "docs" / "shell.md"
    text = page.read_text()
    block = re.search(r"<!-- The block below is what `\\\?` writes[^\n]+\n```text\n(.*?)```", text, re.DOTALL)
    shown = command("\\?", UserChoices(), False, Catalog).message
    if update:
        page.write_text(text[: block.start(1)] + shown + "\n" + text[block.end(1) :])
        return
    assert block[1] == shown + "\n"


def test_a_statement_with_a_secret_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    history = file_history()
    history.store_string("CREATE TABLE t (a INT) USING jdbc OPTIONS (password 'hush')")
    history.store_string("SELECT 1;")
    assert list(history.load_history_strings()) == ["SELECT 1;"]


def test_rows_go_to_a_file_and_back(tmp_path):
    file = tmp_path / "rows.csv"
    out = type_in(f"\\o {file}{ENTER}select 1;{ENTER}\\o{ENTER}select 1;{ENTER}{CTRL_D}")[1]
    assert (file.read_text(), out) == ("n\n1\n", "n\n1\n")


@pytest.mark.parametrize("name", TOPICS)
def test_the_examples_of_the_help_are_statements(name):
    assert statements(TOPICS[name].example)


def test_the_help_knows_every_statement_and_every_word_of_the_grammar():
    topic_rules = {rule for topic in TOPICS.values() for rule in topic.rules}
    assert set(statement_rules()) <= topic_rules
    assert set(rules()) - {"script", "statement"} == set().union(*map(used_rules, topic_rules))
    words = keywords_of(rules())
    assert {"HEARTBEAT", "SAVEPOINT", "UNMATCHED", "ANALYZE", "LATENESS"} <= words
    assert [word for word in words if word not in set().union(*map(topic_keywords, TOPICS))] == []
    assert [word for word in words if statement_help(word).startswith("there is")] == []


@pytest.mark.parametrize("name", TOPICS)
def test_a_form_has_the_words_of_its_rules(name):
    """A form says all of a rule but what other topics do."""
    shown = statement_help(name)
    own = set().union(*(used_rules(rule, {r for t in TOPICS.values() for r in t.rules}) for rule in TOPICS[name].rules))
    elsewhere = {rule for title, topic in TOPICS.items() if title != name for rule in topic.rules}
    missing = [word for word in keywords_of(own - elsewhere) if not re.search(rf"\b{word}\b", shown.replace("_", " "))]
    assert [word for word in missing if "_" not in word] == []
    assert max(map(len, shown.splitlines())) <= 80


def test_colours_can_be_read_on_black_and_on_white():
    def light(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    contrasts = {kind: ((light(c) + 0.05) / 0.05, 1.05 / (light(c) + 0.05)) for kind, c in COLOURS.items()}
    assert {kind for kind, both in contrasts.items() if min(both) < 4} == set()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_rows_are_shown_again_after_a_file_that_could_not_be_written():
    _, out, err, *_ = type_in(f"\\o /dev/full{ENTER}select 1;{ENTER}\\o{ENTER}select 1;{ENTER}{CTRL_D}")
    assert "the rows cannot be written: No space left on device" in err and "Traceback" not in err
    assert out == "n\n1\n"


@pytest.mark.parametrize(("named", "pager"), [("less -S", ("less", "-S")), ("my'pager", ("my'pager",)), ("off", ())])
def test_a_pager_may_have_arguments(named, pager):
    assert command(f"\\pager {named}", UserChoices(), False, Catalog).settings.pager == pager
