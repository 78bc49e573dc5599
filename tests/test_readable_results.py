"""What a program's results show of themselves on Python's prompt and in a notebook: a text, not their fields."""

import inspect
import pkgutil
import pydoc
import re
from dataclasses import is_dataclass
from html import unescape

import pytest

import cepsql
from cepsql.catalog import RegisteredQuery, Sink, Source, View
from cepsql.catalog.states import HistoryEntry, QueryState
from cepsql.engine import connect
from cepsql.errors import InterfaceError
from cepsql.ordered.counts import Counts
from cepsql.render.answer import Answer
from cepsql.render.readable import Brief, Readable
from cepsql.spark.checkpoint.progress import Progress
from cepsql.spark.sources.watching.reading_start import ReadingStart
from cepsql.testing import Played

QUERY = """
    SELECT * FROM (VALUES ('a', 1, 5), ('a', 2, 7), ('a', 3, 6)) AS t (key, position, value)
    MATCH_RECOGNIZE (PARTITION BY key ORDER BY position PATTERN (LOW UP{{{times}}}) DEFINE UP AS value > PREV(value))"""

SHOWN = [
    (Answer(("name", "rows"), (("ticks", 3), (None, 40))), " name  | rows\n-------+------\n ticks | 3\n NULL  | 40"),
    (Answer(message="stream ticks created"), "stream ticks created"),
    (Answer(("plan",), (("Scan ticks",),), layout="lines"), "Scan ticks"),
    (
        Progress(batches=2, rows_read=9, rows_late=1, bound=1_000_000, seconds=1.25, inputs={"a": Counts(read=9)}),
        " batches   | 2\n rows_read | 9\n rows_late | 1\n rows_out  | 0\n watermark | 1970-01-01 00:00:01+00:00\n"
        " seconds   | 1.2\n input a   | read 9",
    ),
    (ReadingStart("ticks is read from now on"), "<ticks is read from now on>"),
    (
        QueryState(
            "fraud", "running", 0.0, 0, "failed", 5.0, None, None, 2, "no disk", 4.0, {"rows_read": 7}, 4.0, 9.0
        ),
        " query     | fraud\n desired   | running\n state     | failed since 1970-01-01 00:00:05Z\n restarts  | 2\n"
        " error     | 1970-01-01 00:00:04Z no disk\n rows_read | 7",
    ),
    (HistoryEntry(5.0, "failed", "no disk", {"batches": 3}), "<1970-01-01 00:00:05Z failed, no disk, batches 3>"),
    (View("v", "SELECT 1", (), False), "CREATE VIEW v AS\nSELECT 1"),
    (RegisteredQuery("q", "s", "SELECT 1"), "CREATE QUERY q INTO s AS\nSELECT 1"),
    (Sink("s", (), "jdbc", (("password", "hunter2"),)), "CREATE SINK s USING jdbc OPTIONS (\n  password '*****'\n)"),
]


@pytest.mark.parametrize("result, shown", SHOWN, ids=lambda value: type(value).__name__)
def test_a_result_shows_a_text(result, shown):
    assert repr(result) == shown
    if not shown.startswith("<"):
        assert str(result) == shown


@pytest.mark.parametrize("result", [result for result, shown in SHOWN if not shown.startswith("<")], ids=type)
def test_a_notebook_shows_the_same_words(result):
    shown = unescape(re.sub("<[^>]+>", " ", result._repr_html_()))
    assert re.findall(r"\w+", shown) == [word for word in re.findall(r"\w+", str(result)) if word.strip("_")]


def test_an_explanation_shows_what_the_shell_says(spark):
    engine = connect(spark, catalog="")
    text = QUERY.format(times=2)
    explanation = engine.query(text).explain_match("a")
    answer = engine.sql(f"EXPLAIN MATCH {text} FOR KEY ('a')")
    assert repr(explanation) == str(explanation) == str(answer)
    assert "best attempt: 2 rows taken, then row 3 is not UP" in explanation._repr_html_()
    assert repr(explanation.best) == "<from row 1: 2 rows taken, then row 3 is not UP>"
    assert repr(explanation.best.rows) == "(<row 1: 1, 5, LOW>, <row 2: 2, 7, UP>)"
    assert repr(explanation.best.trials) == "(<UP does not hold; value > PREV(value): 6 > 7 is false>,)"
    assert repr(explanation.variables[1]) == "<UP: value > PREV(value), holds on 1 row>"
    assert repr(engine.query(QUERY.format(times=1)).explain_match("a").matches[0]) == "<1: rows 1 to 2, 1 to 2: LOW UP>"


def test_no_result_shows_its_fields():
    """A data class of the public API, or one that holds results, has a text of its own."""
    public = [getattr(cepsql, name) for name in cepsql.__all__]
    explained = inspect.getmembers(inspect.getmodule(cepsql.MatchExplanation), is_dataclass)
    results = [*public, *(kind for _, kind in explained), *(type(result) for result, _ in SHOWN), Source]
    shared = (Readable.__repr__, Brief.__repr__)
    raw = [kind for kind in results if is_dataclass(kind) and kind.__repr__ not in shared]
    bare = [kind for kind in results if is_dataclass(kind) and kind.__str__ is object.__str__]
    assert (raw, bare) == ([], [])


def test_a_plan_shows_its_operators():
    engine = connect(catalog="")
    engine.sql(
        "CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) USING json OPTIONS (path '/none');"
        "CREATE VIEW v AS SELECT k FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts PATTERN (A B)) WHERE k > 'a'"
    )
    plan = engine.query("SELECT * FROM v").plan
    assert repr(plan) == (
        "stream: k string\n  SELECT * FROM (SELECT k FROM __match_0 WHERE k > 'a') AS v\n    Match __match_0\n"
        "      SELECT * FROM s\n        Read s"
    )


def test_help_begins_with_what_users_call():
    shown = pydoc.plain(pydoc.render_doc(cepsql))
    overview, rest = shown.split("\nCLASSES\n")
    assert "PACKAGE CONTENTS" not in shown and "SUBMODULES" not in rest
    # All else that looks at a package finds its modules.
    assert {"engine", "testing"} <= {module.name for module in pkgutil.iter_modules(cepsql.__path__)}
    classes = ("Engine", "Query", "Answer", "StandingQuery", "MatchExplanation", "Error")
    assert [name for name in (*classes, "connect()", "match_recognize(", "play(") if name not in overview] == []
    methods = re.findall(r"^ +(engine|query|standing)\.(\w+)", overview, re.MULTILINE)
    kinds = {"engine": cepsql.Engine, "query": cepsql.Query, "standing": cepsql.StandingQuery}
    assert len(methods) > 8 and [name for kind, name in methods if not hasattr(kinds[kind], name)] == []


def test_every_public_object_has_an_html_form():
    from cepsql.plan.planner import Plan
    from cepsql.standing.queries import NamedQuery, Queries

    shown = [getattr(cepsql, name) for name in cepsql.__all__]
    classes = [*(one for one in shown if inspect.isclass(one)), Played]
    assert [one for one in (*classes, Plan, Queries, NamedQuery) if not hasattr(one, "_repr_html_")] == []
    engine = connect(catalog="")
    engine.sql("CREATE STREAM t (a INT) USING csv OPTIONS (path '/none'); CREATE QUERY q AS SELECT a FROM t")
    assert "stream t" in engine._repr_html_()
    assert "  hint: a &lt; b" in cepsql.Error("wrong", hint="a < b")._repr_html_()
    assert "batch 2: (1,)\nend of the input: (2,)" in Played([[], [(1,)], [(2,)]], {})._repr_html_()
    assert "<td>q</td><td>stopped</td>" in engine.queries._repr_html_()
    assert "stopped" in engine.queries["q"]._repr_html_()


def test_the_first_rows_are_shown(spark, tmp_path, capsys):
    engine = connect(spark, catalog="")
    query = engine.query("SELECT id, CAST(id AS STRING) AS name FROM range(0, 5, 1, 1)")
    assert str(query.head(2)) == " id | name\n----+------\n  0 | 0\n  1 | 1\nthe first 2 rows"
    assert "<td>1</td>" in query.head(2)._repr_html_() and query.head(2).table.num_rows == 2
    query.show()
    assert capsys.readouterr().out.endswith("  4 | 4\n") and query.head(0).note == "the first 0 rows"
    (tmp_path / "a.csv").write_text("x,2026-01-01 00:00:01\ny,2026-01-01 00:00:02\nz,2026-01-01 00:00:03\n")
    engine.sql(
        f"CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) USING csv OPTIONS (path '{tmp_path}')"
    )
    shown = engine.query("SELECT k FROM s WHERE k < 'z'").head()
    assert (shown.table.to_pylist(), shown.note) == ([{"k": "x"}, {"k": "y"}], "")
    with pytest.raises(InterfaceError, match="a number of rows"):
        query.head("2")
