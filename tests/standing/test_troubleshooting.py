"""What docs/troubleshooting.md shows of a query is what a query shows."""

import contextlib
import re
import subprocess
import time
from pathlib import Path

from cepsql.engine import connect

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text("utf-8")


def block(kind: str) -> str:
    return re.search(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]


def test_the_lines_of_describe_query(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in re.findall(r"^\$ (.*(?:\n(?!\$ ).*)*)\n", block("console"), re.MULTILINE):
        subprocess.run(["bash", "-ec", command], check=True)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        with contextlib.closing(connect(spark, catalog="")) as engine:
            engine.sql(block("sql"))
            query = engine.queries["purchases"]
            query.start()
            end = time.monotonic() + 120
            # The batch is done when what it keeps is told.
            while not query.progress.get("state_rows"):
                assert time.monotonic() < end, query.state
                time.sleep(0.05)
            shown = dict(engine.sql("DESCRIBE EXTENDED QUERY purchases").rows)
            query.stop()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    lines = [[part.strip() for part in line.split(" | ")] for line in block("text").splitlines()]
    assert lines and {name: shown[name] for name, _ in lines} == dict(lines)
