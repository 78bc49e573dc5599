"""An attempt over the step budget: an error where the query is strict or bounded, else a warning and a count."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

import cepsql
from cepsql.errors import OperationalError
from cepsql.frontends.stream_script import read_stream_script

SCRIPT = Path(__file__).with_name("step_budget.test")
SAID = r"the pattern \(A \| B\)\+ C took more than 5000 steps"


def test_step_budget(spark, caplog):
    script = read_stream_script(SCRIPT)
    begun = replace(script, steps=script.steps[:1])
    with pytest.raises(OperationalError, match=SAID):
        replace(begun, sql="SET cepsql.strict = true;" + script.sql).run(spark=spark)
    begun.run(spark=spark)
    # One batch, one warning; the strict query gave none.
    (record,) = [record for record in caplog.records if record.name == "cepsql"]
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("batch 0: the pattern (A | B)+ C took too many steps from ")

    engine = cepsql.connect(spark)
    rows = ", ".join(f"('bad', TIMESTAMP '2026-01-01 00:00:{i:02}', 1)" for i in range(30))
    table = f"CREATE VIEW s AS SELECT * FROM (VALUES {rows}) AS t (k, ts, x);"
    query = engine.sql(table + "SET cepsql.step_budget = 5000;" + script.sql[script.sql.index("SELECT") :])
    with pytest.raises(OperationalError, match=SAID):
        query.collect()
    (best, *_) = query.explain_match("bad").failed
    assert (best.stop, len(best.rows)) == ("steps", 30)
