"""An attempt over the step budget: an error where the query is strict or bounded, else a warning and a count."""

import logging
from pathlib import Path

import pytest
from test_scripts import _batch, _read

import cepsql
from cepsql.errors import OperationalError
from cepsql.testing import play

SCRIPT = Path(__file__).with_name("step_budget.test")
SAID = r"the pattern \(A \| B\)\+ C took more than 5000 steps"


def test_step_budget(spark, caplog):
    sql, steps = _read(SCRIPT.read_text())
    batches = [_batch(step.lines) for step in steps[:1]]
    with pytest.raises(OperationalError, match=SAID):
        play("SET cepsql.strict = true;" + sql, batches, spark=spark)
    play(sql, batches, spark=spark)
    # One batch, one warning; the strict query gave none.
    (record,) = [record for record in caplog.records if record.name == "cepsql"]
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("batch 0: the pattern (A | B)+ C took too many steps from ")

    engine = cepsql.connect(spark)
    rows = ", ".join(f"('bad', TIMESTAMP '2026-01-01 00:00:{i:02}', 1)" for i in range(30))
    table = f"CREATE VIEW s AS SELECT * FROM (VALUES {rows}) AS t (k, ts, x);"
    query = engine.sql(table + "SET cepsql.step_budget = 5000;" + sql[sql.index("SELECT") :])
    with pytest.raises(OperationalError, match=SAID):
        query.collect()
    (best, *_) = query.explain_match("bad").failed
    assert (best.stop, len(best.rows)) == ("steps", 30)
