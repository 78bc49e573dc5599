"""Several engines in one process: the settings of each hold for its own statements, and none ends what another uses."""

import errno
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from cepsql.engine import ANSI, Engine, connect
from cepsql.engine.context import Context
from cepsql.errors import DataError, InterfaceError, OperationalError, SessionError
from cepsql.spark.jvm.launching import engine_sessions
from cepsql.spark.jvm.messages.failures import translate_failure

ZONE = "spark.sql.session.timeZone"


@pytest.mark.nightly("it starts Spark once more")
def test_engines_share_the_spark_that_the_first_has_started(tmp_path):
    command = [sys.executable, str(Path(__file__).parents[1] / "run_engines.py"), str(tmp_path)]
    completed = subprocess.run(command, env=os.environ | {"CEPSQL_TIMEZONE": "UTC"}, stdout=subprocess.PIPE, text=True)
    refused, *lines = completed.stdout.splitlines()
    assert refused.startswith("The value 'yes' in the config \"spark.sql.ansi.enabled\" is invalid.")
    assert lines == [
        "Europe/Berlin an error UTC 3",
        "Asia/Tokyo UTC",
        "3",
        "[1, 2, 3] running UTC",
        "stopped UTC",
        "stopped",
        "UTC",
    ]


def zone(engine):
    return engine.query("SELECT current_timezone() AS zone").collect()[0].zone


def test_an_engine_with_settings_beside_a_session_of_somebody_else(spark):
    spark.range(3).createOrReplaceTempView("three")
    with connect(conf={ZONE: "Asia/Tokyo"}, catalog="") as engine, connect(ansi=True, catalog="") as strict:
        assert zone(engine) == "Asia/Tokyo"
        with pytest.raises(DataError, match="Division by zero"):
            strict.query("SELECT 1/0 AS z").collect()
        # It has made frames last.
        engine.spark.createDataFrame([(1,)], "n INT")
        with connect(catalog="") as plain:
            assert plain.spark is spark
            assert zone(plain) == spark.conf.get(ZONE) == zone(strict)
            assert plain.query("SELECT 1/0 AS z").collect()[0].z is None
            assert engine.query("SELECT sum(id) AS s FROM t", t=spark.table("three")).collect()[0].s == 3
    assert spark.range(1).count() == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"master": "local[7]"}, "spark.master = local[7] cannot be had: Spark runs already in this process, and has"),
        ({"conf": {"spark.driver.memory": "99g"}}, "spark.driver.memory = 99g cannot be had"),
        ({"conf": {"spark.sql.extensions": "a.B"}}, "spark.sql.extensions = a.B cannot be had: Spark runs already"),
        ({"conf": {"spark.ssl.keyPassword": "abc"}}, "spark.ssl.keyPassword = another value cannot be had"),
    ],
)
def test_a_setting_that_is_fixed_when_spark_starts(spark, asked, said):
    with pytest.raises(SessionError) as raised:
        connect(**asked, catalog="").query("SELECT 1").collect()
    assert raised.value.message.startswith(said)
    assert "leave it out" in raised.value.hint


def test_settings_that_the_spark_that_runs_has(spark):
    conf = {"spark.driver.memory": spark.sparkContext.getConf().get("spark.driver.memory"), ANSI: False}
    with connect(master=spark.sparkContext.master, conf=conf, catalog="") as engine:
        assert engine.query("SELECT 1/0 AS z").collect()[0].z is None


def test_a_setting_with_a_value_that_spark_refuses(spark):
    with pytest.raises(OperationalError, match="The value 'Nowhere' in the config"):
        _ = connect(conf={ZONE: "Nowhere"}, catalog="").spark


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"spark": 5}, "spark is a SparkSession, not int"),
        ({"spark": "local[2]"}, "spark is a SparkSession, not str"),
        ({"catalog": 5}, "catalog is a text, not 5"),
        ({"conf": 5}, "conf is a mapping of settings, not int"),
        ({"master": 5}, "master is a text, not 5"),
        ({"ansi": "yes"}, "ansi is True or False, not 'yes'"),
        ({"conf": {5: "a"}}, "the names of settings are texts, not 5"),
    ],
)
def test_arguments_of_connect_of_another_kind(arguments, said):
    with pytest.raises(InterfaceError) as raised:
        connect(**{"catalog": ""} | arguments)
    assert raised.value.message == said


def test_settings_beside_a_session_that_is_given(spark):
    with pytest.raises(InterfaceError, match="conf is for a session of the engine's own, and one was given"):
        connect(spark, conf={ZONE: "UTC"})


USES = {
    "query": lambda engine: engine.query("SELECT 1"),
    "sql": lambda engine: engine.sql("SHOW STREAMS"),
    "execute": lambda engine: list(engine.execute("SHOW STREAMS")),
    "check": lambda engine: engine.check("SHOW STREAMS"),
    "register": lambda engine: engine.register("t", None),
    "spark": lambda engine: engine.spark,
    "warm": lambda engine: engine.warm(),
    "queries": lambda engine: engine.queries["a"].status,
    "cancel": lambda engine: engine.cancel(),
    "loss": lambda engine: engine.loss("DROP VIEW v"),
    "with": lambda engine: engine.__enter__(),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_engine(use):
    engine = connect(catalog="")
    engine.close()
    engine.close()
    with pytest.raises(InterfaceError, match="the engine is closed"):
        USES[use](engine)


OF_A_QUERY = {
    "collect": lambda query: query.collect(),
    "arrow": lambda query: query.arrow(),
    "pieces": lambda query: list(query.pieces()),
    "df": lambda query: query.df,
    "columns": lambda query: query.columns,
    "explain_match": lambda query: query.explain_match("a"),
    "identity": lambda query: query.identity(),
    "reading_starts": lambda query: query.reading_starts(),
    "explain_spark": lambda query: query.explain_spark(),
}


def test_queries_of_a_closed_engine(spark):
    sql = "SELECT * FROM VALUES ('a', 1) AS t (k, n) MATCH_RECOGNIZE (PARTITION BY k ORDER BY n PATTERN (A))"
    engine = connect(spark, catalog="")
    run, new = engine.query(sql), engine.query(sql)
    assert len(run.collect()) == 1
    engine.close()
    for query in (run, new):
        for use in OF_A_QUERY.values():
            with pytest.raises(InterfaceError, match="the engine is closed"):
                use(query)
    assert spark.range(1).count() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_leaves_spark_to_its_parent(spark):
    engine, queue = connect(spark), multiprocessing.get_context("fork").Queue()

    def use() -> None:
        try:
            engine.query("SELECT 1 AS a").collect()
        except InterfaceError as error:
            queue.put((error.message, SparkContext._gateway is None))
        engine.close()

    child = multiprocessing.get_context("fork").Process(target=use)
    child.start()
    assert queue.get(timeout=60) == ("the engine belongs to the process from which this one was forked", True)
    child.join()
    assert engine.query("SELECT 1 AS a").collect() == [(1,)]


def test_a_session_that_its_owner_has_stopped(monkeypatch):
    engine = Engine(Context(SimpleNamespace(_sc=SimpleNamespace(_jsc=None)), None, {}))
    with pytest.raises(OperationalError, match="the Spark session has been stopped"):
        engine.query("SELECT 1 AS a").collect()
    monkeypatch.setattr(SparkContext, "_gateway", object())
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    failure = AttributeError("'NoneType' object has no attribute 'addJobTag'")
    assert translate_failure(failure).message == "the Spark session has been stopped"


def test_java_that_ends_while_spark_starts_is_told():
    class Ended:
        conf = property(lambda self: self.stop())

        def stop(self):
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    with pytest.raises(SessionError, match="Connection refused"):
        engine_sessions._check_settings(Ended())
