"""Imports go one way, and planning a query needs no Spark."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLANNING = """
import sys
from cepsql import connect
engine = connect()
engine.sql("CREATE STREAM s (k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts) USING json OPTIONS (path '/none')")
query = engine.sql("SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts PATTERN (A B+) DEFINE B AS x > A.x)")
print(query.plan.streaming, [name for name in ("pyspark", "pandas", "prompt_toolkit") if name in sys.modules])
"""


def test_contracts():
    """In a process of its own: import-linter disables the loggers of the one that it runs in."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_planning_loads_no_spark():
    done = subprocess.run([sys.executable, "-c", PLANNING], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"


THREADS = """
import importlib, sys, threading
from cepsql import connect
from cepsql.base.loading import load_spark

def load(name):
    together.wait()
    try:
        load_spark()
        importlib.import_module(f"cepsql.spark.{name}")
    except Exception as error:
        print(error)

names = ("jvm.launching.session", "building.build", "jvm.messages.failures", "staging.bounds", "frames.column_types")
together = threading.Barrier(len(names))
sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=load, args=[name]) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.nightly("it starts Spark once more")
def test_threads_may_need_spark_at_the_same_time():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
