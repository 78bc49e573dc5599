"""What programs and notebooks do with queries: DataFrames by name, HTML, magics, drawings."""

import datetime
import decimal
import sys
import threading
import types

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cepsql
from cepsql.engine import connect
from cepsql.errors import DataError, InterfaceError, NotSupportedError, ProgrammingError
from cepsql.query import Query
from cepsql.spark.run.standing_query import StandingQuery

SERIES = [("a", n, y) for n, y in enumerate([5, 3, 2, 4, 6, 6, 1])] + [("b", n, 9 - n) for n in range(4)]
V_SHAPE = """
    FROM series MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY x
      MEASURES FIRST(DOWN.y) AS top
      PATTERN (DOWN+ UP+) DEFINE DOWN AS y < PREV(y), UP AS y > PREV(y))
"""


@pytest.fixture(scope="module")
def engine(spark):
    return connect(spark)


@pytest.fixture(scope="module")
def series(spark):
    return spark.createDataFrame(SERIES, "k STRING, x INT, y INT")


def test_dataframes_by_name(engine, series):
    table = pa.table({"n": [1, 2]})
    joined = engine.query(
        "SELECT n, y FROM numbers JOIN Series ON x = n AND k = :k ORDER BY n", {"k": "a"}, numbers=table, series=series
    )
    assert joined.arrow().to_pylist() == [{"n": 1, "y": 3}, {"n": 2, "y": 2}]
    assert engine.query("SELECT sum(n) AS s FROM t", t=pd.DataFrame({"n": [1, 2]})).collect()[0].s == 3
    with pytest.raises(ProgrammingError, match="there is no stream, table or view numbers"):
        engine.query("SELECT * FROM numbers")
    with pytest.raises(InterfaceError, match="t is no DataFrame but list"):
        engine.query("SELECT * FROM t", t=[1])


def test_frames_of_pandas_and_arrow(engine):
    """Times and missing values are those that Spark itself would make of them."""
    at = pd.Timestamp("2026-03-08 12:00")
    pandas_frame = pd.DataFrame(
        {
            "at": [at, pd.NaT],
            "there": [at.tz_localize("UTC"), None],
            "x": [1.5, np.nan],
            "s": ["a", None],
            "kind": pd.Categorical(["u", "v"]),
            "day": [datetime.date(2026, 3, 8), None],
            7: [[1], [2, 3]],
        }
    )
    engine.register("given", pandas_frame)
    query = engine.query("SELECT * FROM given")
    assert query.columns == engine.query("SELECT * FROM t", t=engine.spark.createDataFrame(pandas_frame)).columns
    assert query.collect() == engine.spark.createDataFrame(pandas_frame).collect()
    assert engine.query("SELECT * FROM t", t=pd.DataFrame([[1, 2]], columns=["a", "a"])).collect()[0] == (1, 2)
    engine.register(
        "given", pa.table({"u": pa.array([2**64 - 1], pa.uint64()), "v": pa.array(["a"], pa.string_view())})
    )
    assert engine.query("SELECT * FROM given").collect()[0] == (decimal.Decimal(2**64 - 1), "a")
    assert engine.query("SELECT * FROM t", t=pd.DataFrame({"a": []})).collect() == []


@pytest.mark.parametrize(
    ("frame", "kind", "said"),
    [
        (pd.DataFrame(), InterfaceError, "t has no columns"),
        (pd.DataFrame({"a": [1, "x"]}), DataError, "column a of t cannot be read: Could not convert 'x'"),
        (pd.DataFrame({"a": [2**70]}), DataError, "column a of t cannot be read: "),
        (pd.DataFrame({"a": [1j]}), DataError, "column a of t cannot be read: "),
        (
            pa.table({"a": pa.array([1], pa.date64())}),
            InterfaceError,
            r"column a of t has the type date64\[ms\], which",
        ),
        (
            pd.DataFrame({"a": [decimal.Decimal("1e30"), decimal.Decimal("1e-10")]}),
            InterfaceError,
            r"column a of t has the type decimal256\(41, 10\), which Spark does not have",
        ),
        (pa.table({"a": pa.array([1], pa.duration("ns"))}), DataError, "t cannot be read: Casting from duration"),
        ([1], InterfaceError, "t is no DataFrame but list"),
    ],
)
def test_frames_that_cannot_be_read(engine, frame, kind, said):
    for use in (lambda: engine.query("SELECT * FROM t", t=frame), lambda: engine.register("t", frame)):
        with pytest.raises(kind, match=said):
            use()


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"name": 5}, InterfaceError, "the name of a DataFrame is a text, not 5"),
        ({"name": ""}, InterfaceError, "the name of a DataFrame is a text, not ''"),
        ({"watermark": "10 seconds"}, InterfaceError, "a watermark is a column and how late rows may be, not '10 sec"),
        ({"watermark": ("ts", 10)}, InterfaceError, "a watermark is a column and how late rows may be, not"),
        ({"watermark": ("ts", "soon")}, ProgrammingError, "a constant interval is needed here"),
        ({"watermark": ("at", "10 seconds")}, ProgrammingError, "t has no column at"),
    ],
)
def test_arguments_of_register(engine, arguments, kind, said):
    with pytest.raises(kind, match=said):
        engine.register(**{"name": "t", "frame": pd.DataFrame({"ts": [1]})} | arguments)


class Unlike:
    """A frame with values that Arrow has no type for, such as Int128 of Polars."""

    def to_arrow(self):
        raise pa.ArrowInvalid("Invalid or unsupported format string: '_pli128'")


def test_a_frame_that_gives_no_arrow_table(engine):
    with pytest.raises(DataError, match="t cannot be read: Invalid or unsupported format string") as caught:
        engine.query("SELECT * FROM t", t=Unlike())
    assert caught.value.hint == "cast its columns to types that Arrow has"


def test_integers_with_null_stay_integers_in_pandas(engine):
    large = 2**53 + 1
    query = engine.query(f"SELECT * FROM VALUES ({large}L, 1, 1.5D), (NULL, 2, NULL) AS t (a, b, `a`)")
    frame = query.to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "int32", "float64"]
    assert frame.iloc[0, 0] == large and frame.iloc[1, 0] is pd.NA


def test_polars_has_no_two_columns_of_one_name(engine, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", types.ModuleType("polars"))
    with pytest.raises(InterfaceError, match="two columns are called a, and in a DataFrame of Polars") as caught:
        engine.query("SELECT 1 AS a, 2 AS a").to_polars()
    assert caught.value.hint == "AS gives a column another name"


def test_the_clause_over_a_frame_of_pandas(spark):
    matches = cepsql.match_recognize(pd.DataFrame({"a": [2, 1]}), "ORDER BY a MEASURES A.a AS x PATTERN (A)")
    assert [row.x for row in matches.collect()] == [1, 2]
    with pytest.raises(InterfaceError, match="input is no DataFrame but int"):
        cepsql.match_recognize(5, "ORDER BY a PATTERN (A)")
    with pytest.raises(InterfaceError, match="the clause is a text, not 5"):
        cepsql.match_recognize(matches, 5)


@pytest.mark.parametrize(
    ("clause", "said", "place", "written"),
    [
        ("ORDER BY b MEASURES 1 AS n PATTERN (A)", "the input has no column b", (1, 10), "b"),
        ("ORDER BY a\nPATTERN (A DEFINE A AS a > 1", "this ( is never closed", (2, 9), "("),
        ("ORDER BY a PATTERN (A))", "unexpected )", (1, 23), ")"),
        ("ORDER BY a MEASURES no_such(a) AS n PATTERN (A)", "there is no function no_such", (1, 21), "no_such"),
        ("ORDER BY a\nMEASURES 1 AS n", "the clause ends too early", (2, 16), ""),
        ("ORDER BY a PATTERN (A)", "MATCH_RECOGNIZE gives no column", (None, None), None),
    ],
)
def test_an_error_points_into_the_clause(spark, clause, said, place, written):
    with pytest.raises(ProgrammingError) as raised:
        cepsql.match_recognize(pd.DataFrame({"a": [1]}), clause)
    error = raised.value
    assert (error.message, error.line, error.column, error.text) == (said, *place, clause)
    assert written == (None if error.span is None else clause[error.span.start : error.span.end])


def test_a_limit_that_is_none(engine):
    for limit in ("a", -1, 1.5, 2**31, True):
        with pytest.raises(InterfaceError, match="a limit is a whole number from 0 to 2147483647, not"):
            list(engine.query("SELECT 1 AS a").pieces(limit))


def test_a_number_of_numpy_as_parameter(engine):
    (row,) = engine.query("SELECT :v AS a, :l AS l", {"v": np.float64(2.5), "l": [np.float32(0.5)]}).collect()
    assert row.asDict() == {"a": 2.5, "l": [0.5]}


def test_bytes_as_parameter(engine, series):
    pattern = "MATCH_RECOGNIZE (ORDER BY t MEASURES A.b AS b, :b AS c PATTERN (A) DEFINE A AS b = :b)"
    query = f"SELECT b, c FROM (VALUES (1, X'61'), (2, X'FF')) AS s (t, b) {pattern}"
    assert engine.query(query, {"b": b"\xff"}).collect() == [(b"\xff", b"\xff")]


def test_a_query_shows_its_columns_and_its_pattern(engine, series):
    html = engine.query(f"SELECT k, top AS `<b>` {V_SHAPE}", series=series)._repr_html_()
    assert "&lt;b&gt;" in html
    assert "──┬─[DOWN]─┬" in html
    assert "<tr><td>setting" not in engine.sql("SET")._repr_html_()
    assert "<th" in engine.sql("SET")._repr_html_()


def test_matches_are_drawn_on_their_series(engine, series):
    pytest.importorskip("matplotlib")
    engine.register("series", series)
    figure = engine.query(f"SELECT top {V_SHAPE} WHERE top > 1").plot("X", "y")
    # A notebook shows it, without pyplot.
    assert figure._repr_png_().startswith(b"\x89PNG")
    first, second = figure.axes
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("k = a", "k = b")
    drawn = {marks.get_label(): marks.get_offsets().tolist() for marks in first.collections}
    assert drawn == {"DOWN": [[1, 3], [2, 2]], "UP": [[3, 4], [4, 6]]}
    with pytest.raises(InterfaceError, match="there is no column z to draw"):
        engine.query(f"SELECT * {V_SHAPE}").plot("x", "z")
    with pytest.raises(NotSupportedError, match="only the rows of a single MATCH_RECOGNIZE can be drawn"):
        engine.query(
            f"SELECT a.top {V_SHAPE} AS a, series MATCH_RECOGNIZE (ORDER BY x MEASURES A.y AS z PATTERN (A))"
        ).plot("x", "y")
    (axes,) = engine.query("SELECT * FROM (VALUES (1, 5), (2, 3)) AS t (x, y)").plot("x", "y").axes
    assert axes.lines and not axes.collections
    drawn = engine.query(f"SELECT * {V_SHAPE}").drawing("x", "y", 60, 10)
    assert "D DOWN, U UP" in drawn and drawn.count("U") == 4


def test_the_rows_of_a_stream_are_drawn(engine, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "1.csv").write_text("2026-01-01 00:00:01,1\n2026-01-01 00:00:02,2\n2026-01-01 00:00:03,1\n")
    engine.sql(
        "CREATE OR REPLACE STREAM ups (ts TIMESTAMP, y INT, WATERMARK FOR ts AS ts) "
        f"USING csv OPTIONS (path '{tmp_path}')"
    )
    query = engine.query(
        "SELECT * FROM ups MATCH_RECOGNIZE (ORDER BY ts MEASURES B.y AS y PATTERN (A B) DEFINE B AS B.y > A.y)"
    )
    with query.start(drain=True) as standing:
        assert len(list(standing.rows())) == 1
        with pytest.raises(InterfaceError, match="a timeout is a number of seconds, not '5'"):
            standing.await_("5")
    assert (repr(standing), repr(engine)) == ("<standing query: finished>", "<cepsql engine: Spark runs>")
    rate, _, _ = standing.plot().axes
    assert len(rate.lines[0].get_ydata()) == standing.progress.batches - 1
    (axes,) = query.plot("ts", "y").axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1, 2, 1], [1, 2]]


@pytest.fixture
def notebook(engine):
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython() or testing.get_ipython()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    shell.user_ns["engine"] = engine
    shell.run_line_magic("load_ext", "cepsql")
    yield shell
    # What they show last would be among what other tests write.
    for thread in threading.enumerate():
        if thread.name == "cepsql-live":
            thread.join(30)


def shown(notebook, line: str, cell: str) -> str:
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        notebook.run_cell_magic("cepsql", line, cell)
    return "".join(output.data.get("text/html", "") for output in captured.outputs)


def test_the_magic(notebook, tmp_path):
    notebook.user_ns["least"] = 3
    html = shown(notebook, "--name found --limit 2", "SELECT id, NULL AS none FROM range(10) WHERE id >= :least")
    assert '<td style="text-align: right">3</td><td><i>NULL</i></td>' in html
    assert "the first 2 rows" in html
    assert isinstance(notebook.user_ns["found"], Query)
    (tmp_path / "1.csv").write_text("1\n2\n")
    made = f"CREATE OR REPLACE STREAM lines (n INT) USING csv OPTIONS (path '{tmp_path}'); SELECT n FROM lines"
    html = shown(notebook, "--drain --name standing", made)
    assert "stream lines" in html
    assert "finished: 2 rows, 1 batch" in html
    assert notebook.user_ns["standing"].status == "finished"


def test_a_terminal_shows_text(notebook, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(notebook.display_formatter, "active_types", ["text/plain"])
    (tmp_path / "1.csv").write_text("1\n2\n")
    lines = f"CREATE OR REPLACE STREAM lines (n INT) USING csv OPTIONS (path '{tmp_path}'); SELECT n FROM lines"
    for line in ("%cepsql SELECT 1 AS a", f"%%cepsql --drain\n{lines}", "%cepsql DESCRIBE lines"):
        assert notebook.run_cell(line).success
    said = capsys.readouterr().out
    assert said.startswith(" a\n---\n 1\n1 row\nstream lines ")
    assert said.count(" n\n---\n 1\n 2\n") == 1 and "finished: 2 rows, 1 batch" in said
    assert " column | type | note\n" in said
    assert "object at" not in said and "HTML" not in said and "Button" not in said


def test_a_cell_that_is_run_again_stops_what_it_had_started(notebook, tmp_path):
    (tmp_path / "1.csv").write_text("1\n2\n")
    notebook.run_cell(f"%cepsql CREATE OR REPLACE STREAM lines (n INT) USING csv OPTIONS (path '{tmp_path}')")
    for cell, line in [("a", "--name one"), ("b", "--name two"), ("a", "--name three"), ("c", "--name two")]:
        assert notebook.run_cell(f"%%cepsql {line}\nSELECT n FROM lines", cell_id=cell).success
        notebook.user_ns[f"{cell} {line}"] = notebook.user_ns[line.removeprefix("--name ")]
    names = ("a --name one", "b --name two", "a --name three", "c --name two")
    assert [notebook.user_ns[name].status for name in names] == ["stopped", "stopped", "running", "running"]
    for name in names:
        notebook.user_ns[name].stop()


def test_a_cell_that_is_interrupted_leaves_nothing_running(notebook, tmp_path, monkeypatch, capsys):
    def interrupted(standing):
        raise KeyboardInterrupt

    monkeypatch.setattr(StandingQuery, "await_", interrupted)
    (tmp_path / "1.csv").write_text("1\n2\n")
    lines = f"CREATE OR REPLACE STREAM lines (n INT) USING csv OPTIONS (path '{tmp_path}'); SELECT n FROM lines"
    before = {query.runId for query in notebook.user_ns["engine"].spark.streams.active}
    result = notebook.run_cell(f"%%cepsql --drain\n{lines}")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert {query.runId for query in notebook.user_ns["engine"].spark.streams.active} <= before
    said = "".join(capsys.readouterr())
    assert "interrupted" in said and "Traceback" not in said


def test_only_parameters_are_variables_of_the_notebook(notebook):
    notebook.user_ns["frame"] = pd.DataFrame({"a": [1]})
    html = shown(notebook, "", "SELECT 'b:frame' AS a, parse_json('{\"frame\": 7}'):frame AS b")
    assert "<td>b:frame</td><td>7</td>" in html
    with pytest.raises(InterfaceError, match=r"(?s)a parameter cannot be a DataFrame.*gives a DataFrame a name"):
        shown(notebook, "", "SELECT * FROM :frame")


@pytest.mark.parametrize("line", ["--name 'x", "--limit many", "--limit", "--rows 5"])
def test_options_of_the_magic(notebook, line):
    with pytest.raises(pytest.importorskip("IPython").core.error.UsageError, match="--name NAME"):
        shown(notebook, line, "SELECT 1")


def test_a_cell_that_fails(notebook, capsys):
    """Else nbconvert, papermill and "Run all" would go on after it."""
    result = notebook.run_cell("%%cepsql\nSHOW STREAMS;\nSELECT * FROM nothing")
    assert not result.success
    assert isinstance(result.error_in_exec, ProgrammingError)
    said = "".join(capsys.readouterr())
    assert "error: there is no stream, table or view nothing\n  line 2: SELECT * FROM nothing" in said
    assert "Traceback" not in said
    assert "magics.py" not in said


def test_the_stop_button(notebook, tmp_path):
    from IPython.utils.capture import capture_output

    widgets = pytest.importorskip("ipywidgets")
    made = []
    widgets.Widget.on_widget_constructed(made.append)
    (tmp_path / "1.csv").write_text("1\n2\n")
    lines = f"CREATE OR REPLACE STREAM lines (n INT) USING csv OPTIONS (path '{tmp_path}'); SELECT n FROM lines"
    try:
        with capture_output() as captured:
            notebook.run_cell_magic("cepsql", "--name standing", lines)
    finally:
        widgets.Widget.on_widget_constructed(None)
    standing = notebook.user_ns["standing"]
    (button,) = (widget for widget in made if isinstance(widget, widgets.Button))
    assert button.model_id in str([output.data for output in captured.outputs])
    assert (button.description, button.disabled, standing.status) == ("Stop", False, "running")
    button.click()
    assert (standing.status, button.disabled) == ("stopped", True)
