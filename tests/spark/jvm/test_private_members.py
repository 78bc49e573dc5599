"""Private members of PySpark are used in `cepsql/spark/jvm/` only; each module there says what it relies on."""

import ast
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from cepsql.spark.jvm import classic, hadoop_settings, query_events, shared_number, spark_plan, stream_execution
from cepsql.spark.jvm.gateway import is_lost, is_stopped
from cepsql.spark.jvm.query_events import TextListener

PACKAGE = Path(__file__).parents[3] / "cepsql"
JVM = PACKAGE / "spark" / "jvm"
TO_JAVA = re.compile(
    r"_j(c|conf|df|listener|map|rdd|reader|sc|seq|sparkSession|sq|vm|write|writer)|_sc|_gateway|"
    r"_instantiatedSession|_activeSession|_active_spark_context"
)
"""Members of PySpark that lead to Java, or say whether there is one."""
INTERNAL = re.compile(r"pyspark\.(sql\.classic|java_gateway|serializers|sql\.utils)\b|py4j\.(?!protocol)")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own_names(tree: ast.AST) -> Iterator[str]:
    """Yield the private names that a module gives to its functions and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def foreign_names(tree: ast.AST, own: set[str]) -> Iterator[str]:
    """Yield the private members of others, and the internal modules, that a module uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in names if INTERNAL.match(name) or re.match(r"pyspark\b.*\.(_|J[A-Z])", name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if TO_JAVA.fullmatch(node.attr) or node.attr not in own:
                yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and TO_JAVA.fullmatch(node.value):
            yield node.value


def test_private_members_of_pyspark_stand_in_one_folder():
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if JVM not in path.parents}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    # Those of named tuples are public.
    own = {name for tree in trees.values() for name in own_names(tree)} | {"_replace", "_asdict"}
    used = {
        str(path.relative_to(PACKAGE)): sorted(set(foreign_names(tree, own)))
        for path, tree in trees.items()
        if re.search(r"^\s*(from|import) pyspark", texts[path], re.M) or "spark" in path.parts
    }
    assert {path: names for path, names in used.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("frame._jdf.queryExecution()", ["_jdf"]),
        ("hasattr(spark, '_jsparkSession')", ["_jsparkSession"]),
        ("from pyspark.sql.classic.column import Column", ["pyspark.sql.classic.column.Column"]),
        ("from pyspark.sql.streaming.listener import JStreamingQueryListener, StreamingQueryListener",
         ["pyspark.sql.streaming.listener.JStreamingQueryListener"]),
        ("reader._df()", ["_df"]),
        ("self._own()", []),
    ],
)  # fmt: skip
def test_what_is_private(text, names):
    assert list(foreign_names(ast.parse(text), {"_own"})) == names


def test_each_module_that_uses_one_says_what_it_relies_on():
    silent = []
    for path in JVM.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        if any(TO_JAVA.fullmatch(name) for name in foreign_names(tree, set())):
            silent += [] if "Relies on: " in (ast.get_docstring(tree) or "") else [path.name]
    assert silent == []


def test_a_session_has_java(spark):
    assert classic.has_java(spark) and classic.frame_has_java(spark.range(1))
    assert not is_stopped(spark) and not is_lost(spark)


def test_hadoop_has_settings(spark):
    assert hadoop_settings.hadoop_configuration(spark).get("fs.defaultFS") is not None


def test_plans_of_a_frame(spark):
    frame = spark.range(5)
    assert spark_plan.analyzed(frame).nodeName() == "Range"
    assert (spark_plan.most_rows(frame.limit(3)), spark_plan.most_rows(spark.range(5).groupBy("id").count())) == (3, 5)
    assert spark_plan.most_rows(frame.selectExpr("explode(sequence(0, id))")) is None
    again = spark_plan.frame_of(spark, spark_plan.analyzed(frame))
    observed = again.observe("seen", F.count(F.lit(1)).alias("rows"))
    observed.collect()
    assert spark_plan.observed_values(observed, "rows") == [5]


def test_a_number_is_read_by_the_tasks_that_are_made_after_it_is_set(spark):
    number = shared_number.SharedNumber(spark, "shared")
    frame = spark.range(2).select(number.column.alias("number"))
    seen = [[row.number for row in frame.collect()]]
    number.set(7)
    seen.append([row.number for row in frame.collect()])
    assert seen == [[0, 0], [7, 7]]
    frame = spark.range(2)
    column = shared_number.expression_column(spark, spark_plan.analyzed(frame).output().apply(0))
    assert frame.select(column).columns == ["id"]


def test_a_query_of_spark_s_can_be_looked_into(spark, tmp_path):
    class Events(TextListener):
        def __init__(self):
            self.rows = []
            self.came = threading.Event()

        def onQueryStarted(self, event):
            pass

        def onQueryProgress(self, event):
            self.rows.append(event.progress.numInputRows)
            self.came.set()

        def onQueryTerminated(self, event):
            pass

    events, batches, started = Events(), [], threading.Event()

    def look(frame, number):
        started.wait(60)
        frame.collect()
        execution = stream_execution.BatchExecution(query)
        batches.append((execution.observations(), len(execution.operators()) > 0))

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"x": 1}\n{"x": 2}\n')
    rows = spark.readStream.schema("x INT").json(str(tmp_path / "in")).observe("seen", F.count(F.lit(1)).alias("rows"))
    spark.streams.addListener(events)
    query_events.remember_names_of_events()
    query = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).foreachBatch(look).start()
    started.set()
    try:
        stream_execution.await_initialization(query, 60_000)
        query.processAllAvailable()
        assert batches == [({"seen": {"rows": 2}}, True)]
        assert len(stream_execution.stream_sources(query)) == 1
        delay, set_delay = stream_execution.polling_delay(query)
        set_delay(delay + 1)
        assert stream_execution.polling_delay(query)[0] == delay + 1
        with stream_execution.unpolled(query):
            assert query.isActive
        # Spark tells listeners of a batch when it is over.
        assert events.came.wait(60)
    finally:
        query.stop()
        spark.streams.removeListener(events)
    assert events.rows[:1] == [2]
