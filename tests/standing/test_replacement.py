"""CREATE OR REPLACE QUERY and EXPLAIN REPLACE over a checkpoint that says what it was begun with."""

import json
from pathlib import Path

import pytest

from cepsql.engine import connect
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.plan.identity import describe_plan
from cepsql.plan.start_places import started_at
from cepsql.spark.checkpoint.checkpoint import FORMAT

PATTERN = "ticks MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.n AS a PATTERN (A B) DEFINE B AS n > {})"
FIRST = f"SELECT k, a FROM {PATTERN.format('A.n')}"
SESSION = {"spark.sql.session.timeZone": "UTC"}


@pytest.fixture
def engine(tmp_path):
    engine = connect(catalog=str(tmp_path / "catalog.db"))
    engine.sql(
        "CREATE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) USING json OPTIONS (path '/in')"
    )
    engine.sql(f"CREATE QUERY q AS {FIRST}")
    return engine


def begun(engine) -> Path:
    """Make the checkpoint of the query as a first start would leave it."""
    folder = Path(engine.home.checkpoint(engine.catalog.query("q")))
    folder.mkdir(parents=True)
    plan = {"format": FORMAT, "plan": describe_plan(engine.sql(FIRST).plan, SESSION, str)}
    (folder / "plan.json").write_text(json.dumps(plan))
    return folder


def explained(engine, rest: str) -> dict:
    return dict(engine.sql(f"EXPLAIN REPLACE QUERY q {rest}").rows)


def test_before_the_first_start_all_may_change(engine):
    said = engine.sql(f"CREATE OR REPLACE QUERY q AS SELECT k FROM {PATTERN.format('3')}").message
    assert said == "query q replaced: it has no checkpoint here that would have to fit"


def test_what_is_done_above_the_operators_may_change(engine):
    folder = begun(engine)
    text = f"AS SELECT upper(k) AS k FROM {PATTERN.format('A.n')} WHERE a > 1"
    effect = explained(engine, text)
    assert effect["effect"] == "compatible; it resumes from its checkpoint, with its state"
    assert effect["differences"].startswith("query.sql was SELECT k, a FROM __match_0 and is")
    assert effect["checkpoint"] == str(folder)
    assert engine.catalog.query("q").sql == FIRST
    before = engine.catalog.query("q").id
    said = engine.sql(f"CREATE OR REPLACE QUERY q OPTIONS (trigger '1 second') {text}").message
    assert said == "query q replaced: compatible; it resumes from its checkpoint, with its state"
    assert engine.catalog.query("q").id == before


def test_the_same_plan_in_other_words(engine):
    begun(engine)
    text = "AS select K, a from " + PATTERN.format("a.N").replace("DEFINE", "-- rises\nDEFINE")
    assert explained(engine, text)["effect"] == "the plan is the same; it resumes from its checkpoint, with its state"


def test_another_pattern_makes_its_state_anew(engine):
    folder = begun(engine)
    before = engine.catalog.query("q").id
    text = f"AS SELECT k, a FROM {PATTERN.format('3')}"
    effect = explained(engine, text)
    assert effect["effect"].startswith("replayable; its next start reads the past input again, writes none of its rows")
    assert effect["differences"] == "query.inputs.__match_0.match.define.B was n > a.n and is n > 3"
    assert engine.sql(f"CREATE OR REPLACE QUERY q {text}").message.startswith("query q replaced: replayable; its next")
    assert engine.catalog.query("q").id == before
    log = folder / "spark" / "sources" / "0" / "0"
    log.parent.mkdir(parents=True)
    log.write_text('v1\n{"path":"file:///in/two%20words.json","timestamp":1,"batchId":0}\n')
    engine.sql(f"CREATE OR REPLACE QUERY q AS {FIRST}")
    with pytest.raises(ProgrammingError, match=r"1 of the files that it has read are gone, such as /in/two words.json"):
        engine.sql(f"CREATE OR REPLACE QUERY q {text}")


def test_other_operators_need_a_new_checkpoint(engine):
    folder = begun(engine)
    text = "AS SELECT k, COUNT(*) AS a FROM ticks GROUP BY k, window(ts, '1 hour')"
    assert explained(engine, text)["effect"].startswith("incompatible: it needs a new checkpoint")
    with pytest.raises(ProgrammingError) as refused:
        engine.sql(f"CREATE OR REPLACE QUERY q {text}")
    assert refused.value.message.startswith("query q would need a new checkpoint: query.sql was")
    assert engine.catalog.query("q").sql == FIRST
    new = explained(engine, f"WITH NEW CHECKPOINT {text}")
    said = engine.sql(f"CREATE OR REPLACE QUERY q WITH NEW CHECKPOINT {text}").message
    assert said == "query q replaced: a new checkpoint, which reads the input from where its streams begin"
    assert new["effect"] in said
    assert engine.home.checkpoint(engine.catalog.query("q")) != str(folder)


def test_where_a_new_checkpoint_begins(engine):
    columns = "k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts"
    engine.sql(f"CREATE STREAM records ({columns}) USING kafka OPTIONS (subscribe 'ticks', "
               "'kafka.bootstrap.servers' = 'localhost:1', 'startingOffsets' = 'earliest') FORMAT json")  # fmt: skip
    begun(engine)
    text = f"AS SELECT k, a FROM {PATTERN.format('3').replace('ticks', 'records')}"
    fresh = "WITH NEW CHECKPOINT FROM TIMESTAMP '2026-03-02 09:00:00'"
    assert explained(engine, f"{fresh} {text}")["effect"].endswith("reads the input from 2026-03-02 09:00:00")
    engine.sql(f"CREATE OR REPLACE QUERY q {fresh} {text}")
    assert "start '2026-03-02 09:00:00'" in str(engine.sql("SHOW CREATE QUERY q").rows)
    plan = started_at(engine.sql(text.removeprefix("AS ")).plan, "latest")
    assert dict(plan.origins[0].options)["startingoffsets"] == "latest"
    assert "startingOffsets" not in dict(plan.origins[0].options)
    # The option is no part of what the query means: it may be left out, or changed, when a checkpoint is there.
    begun(engine)
    assert explained(engine, f"AS {FIRST}")["effect"].startswith("the plan is the same")
    with pytest.raises(NotSupportedError, match="ticks is not read from Kafka, so that it has no"):
        engine.sql(f"CREATE OR REPLACE QUERY q WITH NEW CHECKPOINT FROM LATEST AS {FIRST}")
    with pytest.raises(ProgrammingError, match="FROM and the option start both say where to start"):
        engine.sql(f"CREATE OR REPLACE QUERY q OPTIONS (start 'latest') WITH NEW CHECKPOINT FROM EARLIEST {text}")


def test_a_stream_that_was_replaced_is_noticed(engine):
    begun(engine)
    engine.sql(
        "CREATE OR REPLACE STREAM ticks (k STRING, ts TIMESTAMP, n INT, WATERMARK FOR ts AS ts) USING json "
        "OPTIONS (path '/other')"
    )
    effect = explained(engine, f"AS {FIRST}")
    assert "options.path was /in and is /other" in effect["differences"]


def test_settings_and_folders_count(engine, tmp_path):
    begun(engine)
    effect = explained(engine, f"OPTIONS (spark.sql.session.timeZone 'Asia/Tokyo') AS {FIRST}")
    assert effect["differences"] == "session.spark.sql.session.timeZone was UTC and is Asia/Tokyo"
    elsewhere = f"OPTIONS (checkpoint '{tmp_path}/other')"
    with pytest.raises(ProgrammingError, match="query q would need a new checkpoint: the folder was"):
        engine.sql(f"CREATE OR REPLACE QUERY q {elsewhere} AS {FIRST}")
    engine.sql(f"CREATE OR REPLACE QUERY q {elsewhere} WITH NEW CHECKPOINT AS {FIRST}")
    with pytest.raises(ProgrammingError, match="a new checkpoint needs another folder"):
        engine.sql(f"CREATE OR REPLACE QUERY q {elsewhere} WITH NEW CHECKPOINT AS {FIRST}")
