"""What programs and notebooks do with queries: DataFrames by name, HTML, magics, drawings."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cepsql.engine import connect
from cepsql.errors import InterfaceError, NotSupportedError, ProgrammingError
from cepsql.query import Query

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


def test_a_number_of_numpy_as_parameter(engine):
    (row,) = engine.query("SELECT :v AS a, :l AS l", {"v": np.float64(2.5), "l": [np.float32(0.5)]}).collect()
    assert row.asDict() == {"a": 2.5, "l": [0.5]}


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
    first, second = figure.axes
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("k = a", "k = b")
    drawn = {marks.get_label(): marks.get_offsets().tolist() for marks in first.collections}
    assert drawn == {"DOWN": [[1, 3], [2, 2]], "UP": [[3, 4], [4, 6]]}
    with pytest.raises(InterfaceError, match="there is no column z to draw"):
        engine.query(f"SELECT * {V_SHAPE}").plot("x", "z")
    with pytest.raises(NotSupportedError, match="only the rows of a single MATCH_RECOGNIZE can be drawn"):
        engine.query("SELECT 1").plot("x", "y")


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
    return shell


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
    assert "error: there is no stream, table or view nothing" in shown(notebook, "", "SELECT * FROM nothing")
    (tmp_path / "1.csv").write_text("1\n2\n")
    made = f"CREATE OR REPLACE STREAM lines (n INT) USING csv OPTIONS (path '{tmp_path}'); SELECT n FROM lines"
    html = shown(notebook, "--drain --name standing", made)
    assert "stream lines" in html
    assert "finished: 2 rows, 1 batch" in html
    assert notebook.user_ns["standing"].status == "finished"


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
