"""Threads that plan at the same time, each with an engine of its own."""

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "cepsql"

PLANNING = """
import faulthandler
import sys
import threading
from cepsql import connect

faulthandler.dump_traceback_later(120, exit=True)
sys.setswitchinterval(1e-5)
SOURCE = "(k INT, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) USING json OPTIONS (path '/none')"
MATCH = (
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LAST(ts) AS ts, A.x AS x PATTERN (A B+) "
    "WITHIN INTERVAL '1' HOUR DEFINE B AS x > A.x)"
)
WINDOWS = "SELECT window.start AS at, k, SUM(x) AS x FROM {} GROUP BY window(ts, '1 minute'), k"
STATEMENTS = (
    f"SELECT k, x FROM (SELECT * FROM s {MATCH}) WHERE x > 1",
    f"WITH w AS ({WINDOWS.format('s')}) SELECT k, MAX(x) AS m FROM w GROUP BY window(at, '1 hour'), k",
    f"SELECT m.k, v.x FROM (SELECT * FROM s {MATCH}) m JOIN v ON m.k = v.k AND m.ts = v.ts",
    "SELECT k, SUM(x) OVER (PARTITION BY k ORDER BY ts) AS x FROM v",
    "SELECT k, x FROM u WHERE x > 2",
)
failures = []


def plan(number):
    engine = connect()
    engine.sql(f"CREATE STREAM s {SOURCE}")
    engine.sql("CREATE VIEW v AS SELECT k, ts, x + 1 AS x FROM s WHERE x > 0")
    engine.sql(f"CREATE VIEW m AS SELECT k, ts, x FROM v {MATCH}")
    engine.sql("CREATE VIEW u AS SELECT k, x FROM (SELECT * FROM m WHERE x > 1) WHERE k > 0")
    together.wait()
    for turn in range(5):
        text = STATEMENTS[(number + turn) % len(STATEMENTS)]
        try:
            columns[text].add(tuple(engine.sql(text).plan.root.properties.columns))
        except Exception as error:
            failures.append(f"{text}: {error!r}")


columns = {text: set() for text in STATEMENTS}
together = threading.Barrier(8)
threads = [threading.Thread(target=plan, args=(number,), daemon=True) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failures, [len(found) for found in columns.values()])
"""


def test_eight_threads_plan_to_the_end():
    """In a process of its own: threads that wait for each other would keep this one from ending."""
    done = subprocess.run([sys.executable, "-c", PLANNING], capture_output=True, text=True, timeout=180)
    assert (done.stdout, done.stderr[-3000:]) == ("[] [1, 1, 1, 1, 1]\n", "")


def test_no_property_computes_under_a_lock():
    """functools.cached_property does, before Python 3.12."""
    texts = {file: file.read_text("utf-8") for file in PACKAGE.rglob("*.py")}
    locked = [
        str(file.relative_to(PACKAGE))
        for file, text in texts.items()
        if "functools" in text and "cached_property" in text
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.ImportFrom) and node.module == "functools" and "cached_property" in ast.dump(node))
        or (isinstance(node, ast.Attribute) and ast.unparse(node) == "functools.cached_property")
    ]
    assert locked == []
