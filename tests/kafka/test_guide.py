"""docs/kafka-alerts.md, from a topic to alerts in another one, with its own statements."""

import json
import re
import time
from contextlib import closing
from pathlib import Path

from cepsql.engine import connect

PAGE = (Path(__file__).parents[2] / "docs" / "kafka-alerts.md").read_text("utf-8")
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
BEGIN = 1_772_445_600_000
"""2026-03-02 10:00:00 UTC in milliseconds."""


def test_the_guide_sends_an_alert(topics, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("payments", "alerts"):
        topics.create(name, partitions=1)
    statements = "\n".join(block for skipped, block in BLOCK.findall(PAGE) if not skipped)
    # What comes is there before the query starts.
    statements = statements.replace("localhost:9092", topics.address).replace("FROM LATEST", "FROM EARLIEST")
    for second, card, amount in ((0, "4001", 1.1), (20, "4001", 0.9), (60, "4001", 899), (120, "4002", 35)):
        row = json.dumps({"card": card, "amount": amount, "shop": "kiosk"})
        topics.put("payments", row, timestamp=BEGIN + 1000 * second)
    topics.put("payments", "no payment", timestamp=BEGIN)
    with closing(connect(spark, catalog=str(tmp_path / "queries.db"))) as engine:
        engine.sql(statements)
        engine.sql("START QUERY card_tests")
        end = time.monotonic() + 120
        while engine.queries["card_tests"].progress.get("rows_out") != 1:
            assert time.monotonic() < end, engine.queries["card_tests"].state
            time.sleep(0.05)
        engine.sql("STOP QUERY card_tests")
        assert engine.queries["card_tests"].progress["rows_malformed"] == 1
        assert [row.record for row in engine.query("SELECT record FROM rejected").collect()] == ["no payment"]
    ((key, alert),) = topics.records("alerts")
    fields = json.loads(alert)
    assert (fields.pop("id"), fields) == (key, {"card": "4001", "tries": 2, "amount": 899.0})
