"""Which queries Arrow reads files for, and what is said of the others."""

import pytest

import cepsql
from cepsql.operators.matching.match_operator import row_layout
from cepsql.pattern.dead_rows import AliveRows
from cepsql.plan.tree.scans import choose_scan
from cepsql.scalar.expressions import STANDARD_SESSION, Session
from cepsql.scalar.types import DOUBLE, TIMESTAMP

COLUMNS = (
    "sym STRING, at TIMESTAMP, price DOUBLE, n INT, cost DECIMAL(20,2), tags ARRAY<INT>, twice INT AS 2 * n, "
    "backwards STRING AS reverse(sym), WATERMARK FOR at AS at - INTERVAL '1' SECOND"
)
PLAIN = "sym STRING, at TIMESTAMP, price DOUBLE, WATERMARK FOR at AS at - INTERVAL '1' SECOND"


def kafka_choice(columns=PLAIN, value="FORMAT json", **options):
    engine = cepsql.connect()
    all_options = {"kafka.bootstrap.servers": "h:9092", "subscribe": "t", **options}
    written = ", ".join(f"{name} '{value}'" for name, value in all_options.items())
    engine.sql(f"CREATE STREAM ticks ({columns}) USING kafka OPTIONS ({written}) {value}")
    plan = engine.sql("SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES A.price AS p PATTERN (A)) AS m").plan
    (stage,) = plan.stages
    return choose_scan(row_layout(stage.match.program), *stage.inputs)


def test_kafka():
    pytest.importorskip("confluent_kafka")
    headers = "headers ARRAY<STRUCT<key: STRING, value: BINARY>> METADATA"
    metadata = f"price DOUBLE, at TIMESTAMP METADATA FROM timestamp, {headers}"
    scan = kafka_choice(f"{metadata}, WATERMARK FOR at AS at", maxOffsetsPerTrigger="5").scan
    assert scan.layout.columns == (("price", DOUBLE),)
    assert scan.layout.metadata[0] == ("at", TIMESTAMP, "timestamp")
    assert scan.layout.wanted == {"at", "price"}
    assert "FORMAT json" in kafka_choice(value="FORMAT csv").reason
    assert "timestampformat" in kafka_choice(value="FORMAT json OPTIONS (timestampFormat 'x')").reason
    assert "Spark's connector" in kafka_choice(reader="spark").reason


def test_envelopes_in_files():
    engine = cepsql.connect()
    engine.sql("""CREATE STREAM ticks (n INT, op STRING METADATA, ms BIGINT METADATA FROM ts_ms,
                    at TIMESTAMP AS timestamp_millis(ms), WATERMARK FOR at AS at)
                  USING json OPTIONS (path 'ticks') FORMAT debezium""")
    plan = engine.sql("SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES A.n AS n PATTERN (A)) AS m").plan
    (stage,) = plan.stages
    chosen = choose_scan(row_layout(stage.match.program), *stage.inputs)
    assert chosen.reason == "FORMAT debezium in files is read by Spark only"


def asked_stage(
    columns=None,
    options="",
    format="csv",
    input="ticks",
    keys="sym",
    define="price > 50.5",
    measures="A.price AS p",
):
    engine = cepsql.connect()
    columns = columns or COLUMNS.replace("tags ARRAY<INT>, ", "")
    engine.sql(f"CREATE STREAM ticks ({columns}) USING {format} OPTIONS (path 'ticks'{options})")
    plan = engine.sql(
        f"SELECT * FROM {input} MATCH_RECOGNIZE (PARTITION BY {keys} ORDER BY at MEASURES {measures} "
        f"PATTERN (A) DEFINE A AS {define}) AS m"
    ).plan
    (stage,) = plan.stages
    return stage


def choice(session=STANDARD_SESSION, **asked):
    stage = asked_stage(**asked)
    return choose_scan(row_layout(stage.match.program), *stage.inputs, session)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"format": "PARQUET"},
        {"format": "json", "columns": PLAIN, "options": ", maxFilesPerTrigger '1'"},
        {"options": ", header 'true', sep ';', maxFilesPerTrigger '1', pathGlobFilter '*.csv'"},
        {"options": ", delimiter '\\t'"},
        {"keys": "twice"},
        {"define": "cost > 10 AND 2.5 <= cost AND n IN (1, 2)"},
        {"define": "at > '2026-01-01' AND sym LIKE 'a%'"},
        {"define": "cost * n > 99.5 AND n < 99999999999.5 AND CAST(at AS DATE) = '2026-03-02'"},
        {"input": "(SELECT price * n AS price, sym, at FROM ticks AS t WHERE t.n > 0)"},
        {"input": "(SELECT * FROM (SELECT sym, at, price FROM ticks WHERE n > 0) AS x WHERE x.price > 1)"},
    ],
)
def test_read_by_arrow(asked):
    chosen = choice(**asked)
    assert chosen.scan is not None, chosen.reason


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"format": "orc"}, "the format orc is read by Spark only"),
        ({"format": "json", "columns": PLAIN, "options": ", multiLine 'true'"}, "the option multiline is Spark's"),
        ({"format": "json", "columns": PLAIN, "options": ", header 'true'"}, "the option header is Spark's"),
        ({"format": "json"}, "cost of type DECIMAL(20,2)"),
        ({"options": ", quote '$'"}, "the option quote is Spark's"),
        ({"options": ", sep '||'"}, "the separator '||'"),
        ({"options": ", header 'maybe'"}, "the header 'maybe'"),
        ({"columns": COLUMNS}, "tags of type ARRAY<INT>"),
        ({"keys": "cost"}, "PARTITION BY a DECIMAL(20,2)"),
        ({"define": "backwards = 'X'"}, "reverse(sym)"),
        ({"define": "sym LIKE 'a\\\\_%'"}, "(sym LIKE 'a\\\\_%')"),
        ({"define": "sym RLIKE '(?s)a'"}, "RLIKE by the pattern '(?s)a'"),
        ({"define": "sym = 1"}, "CAST(sym AS int)"),
        ({"define": "cost > price"}, "CAST(cost AS double)"),
        ({"define": "at > TIMESTAMP 'noon'"}, "'noon' as TIMESTAMP"),
        ({"define": "at > '12:30'"}, "CAST('12:30' AS timestamp)"),
        ({"measures": "A.price + 1 AS p, MAX(A.cost / 2) AS c"}, "(cost / 2)"),
    ],
)
def test_read_by_spark(asked, reason):
    assert choice(**asked).reason == reason


@pytest.mark.parametrize(
    "asked",
    [
        {"define": "price * 2 > 50.5 OR price / 3 < 1", "measures": "MAX(A.n) AS n"},
        {"define": "cost * n > 50.5"},
        {"define": "n + 1 > 3"},
        {"define": "price / n > 3"},
        {"define": "n > 3 AND CAST(price AS INT) = 3"},
        {"keys": "twice"},
        {"input": "(SELECT * FROM ticks WHERE ABS(n) > 1)"},
    ],
)
def test_what_may_fail_in_ansi_mode_is_read_in_it(asked):
    for ansi in (False, True):
        assert choice(**asked, session=Session(ansi)).scan is not None


def test_only_what_is_read_is_wanted():
    scan = choice(define="price > 50", measures="A.at AS t").scan
    assert scan.layout.wanted == {"sym", "at", "price"}
    assert [name for name, _ in scan.layout.columns] == ["sym", "at", "price", "n", "cost"]
    stage = asked_stage(define="price > 50", measures="A.at AS t")
    assert row_layout(stage.match.program).reduction == AliveRows((1,))
