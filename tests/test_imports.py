"""Imports go one way, and planning a query needs no Spark."""

import subprocess
import sys
from pathlib import Path

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
