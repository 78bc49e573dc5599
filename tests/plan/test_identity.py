"""What two texts have in common: the identity that a checkpoint keeps, and the one of a pattern for MATCH_ID()."""

import json
from pathlib import Path

import pytest
from catalog import engine
from golden import check, params

from cepsql.analysis.sql.canonical import canonical_json, describe_pattern
from cepsql.plan.identity import describe_plan, kept_description, spoken_differences
from cepsql.plan.resolved_references import with_values

HERE = Path(__file__).parent
BETWEEN = "\n~~~~\n"


def identity(text: str) -> dict:
    plan = engine().sql(text).plan
    return json.loads(canonical_json(describe_plan(plan, {}, str)))


def patterns(text: str) -> list[dict]:
    return [describe_pattern(match.clause) for match in engine().sql(text).plan.matches]


@pytest.mark.parametrize("case", params(HERE, "identity.sql"))
def test_identity(case, update):
    """The text is two, with a line ~~~~ between; shown is how they differ as queries and as patterns."""
    before, after = case.text.split(BETWEEN)
    differing = spoken_differences(identity(before), identity(after))
    same_ids = patterns(before) == patterns(after)
    check(case, f"{differing or 'the same query'}\n{'the same' if same_ids else 'other'} match ids", update)


def test_secrets_stay_out():
    fresh = engine()
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="psst";'
    options = f"""kafka.bootstrap.servers 'h', subscribe 't', `kafka.sasl.password` 'pssst', maxoffsetspertrigger '5',
                  kafka.sasl.jaas.config '{jaas}'"""
    fresh.sql(f"CREATE STREAM s (value STRING) USING kafka OPTIONS ({options})")
    described = canonical_json(describe_plan(fresh.sql("SELECT * FROM s").plan, {}, str))
    assert "psst" not in described and "maxoffsets" not in described and '"subscribe":"t"' in described


def test_passwords_within_values_stay_out(monkeypatch):
    monkeypatch.setenv("SHOP", "psst")
    fresh = engine()
    fresh.sql("""CREATE TABLE t (k STRING) USING jdbc
        OPTIONS (url 'jdbc:postgresql://h/d?user=u&password=${SHOP}&ssl=true', dbtable 'shop')""")
    plan = fresh.sql("SELECT * FROM t").plan
    described = describe_plan(with_values(plan), {}, str)
    assert "psst" not in canonical_json(described) and "user=u&password=***&ssl=true" in canonical_json(described)
    # Another password is no other query; neither is what an earlier version has kept.
    monkeypatch.setenv("SHOP", "other")
    assert describe_plan(with_values(plan), {}, str) == described
    earlier = json.loads(canonical_json(described).replace("***", "psst"))
    assert kept_description(earlier) == json.loads(canonical_json(described))


def test_quarters_that_were_kept_as_they_were_written_are_months():
    sql = """SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS t PATTERN (A B)
        DEFINE B AS ts < A.ts + INTERVAL '2' QUARTERS)"""
    described = canonical_json(describe_plan(engine().sql(sql).plan, {}, str))
    earlier = json.loads(described.replace("'6' MONTH", "'2' QUARTERS"))
    assert "QUARTERS" in canonical_json(earlier) and kept_description(earlier) == json.loads(described)


@pytest.mark.parametrize(
    ("clause", "differing"),
    [
        ("AHEAD AT MOST INTERVAL '1' HOUR", "ahead 3600000000"),
        ("AHEAD AT MOST INTERVAL '0' HOUR OF got", "ahead 0"),
        ("BY Device", "producer device"),
        ("BY device WITH IDLE TIMEOUT INTERVAL '1' MINUTE", "idle 60000000"),
        ("WITH PUNCTUATION WHEN device = 'x'", "punctuation device = 'x'"),
        ("WITH LATE ALERT ABOVE 5 PERCENT", None),
    ],
)
def test_a_checkpoint_knows_the_clauses_of_a_watermark(clause, differing):
    identities = []
    for text in ("", clause):
        fresh = engine()
        columns = "device STRING, at TIMESTAMP, got TIMESTAMP"
        fresh.sql(f"CREATE STREAM s ({columns}, WATERMARK FOR at AS at {text}) USING csv")
        identities.append(json.loads(canonical_json(describe_plan(fresh.sql("SELECT * FROM s").plan, {}, str))))
    assert (differing or "") in spoken_differences(*identities)
    assert (identities[0] == identities[1]) == (differing is None)
