"""A view can be read wherever its query can stand, and the other way."""

import itertools

import pytest
from chance import draws, everyday, examples

import cepsql
from cepsql.errors import Error, render

STREAM = "(k STRING, ts TIMESTAMP, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) USING csv OPTIONS (path '.')"
GROUPED = "GROUP BY k, window_start, window_end"
OPERATORS = {
    "rows": "SELECT k, ts, v FROM {} WHERE v > 0",
    "distinct": "SELECT DISTINCT k, ts, v FROM {}",
    "frames": "SELECT k, ts, COALESCE(LAG(v) OVER (PARTITION BY k ORDER BY ts), 0) AS v FROM {}",
    "windows": f"SELECT k, window_end AS ts, COUNT(*) AS v FROM {{}} WINDOW TUMBLING (SIZE 10 MINUTES) {GROUPED}",
    "windows by their begin": "SELECT k, window_start AS ts, SUM(v) AS v FROM {} WINDOW TUMBLING (SIZE 1 MINUTE) "
    + GROUPED,
    "sessions": f"SELECT k, window_end AS ts, COUNT(DISTINCT v) AS v FROM {{}} WINDOW SESSION (GAP 1 HOUR) {GROUPED}",
    "window(...)": "SELECT k, window.end AS ts, SUM(v) AS v FROM {} GROUP BY k, window(ts, '10 minutes')",
    "windows of rows": "SELECT k, ts, v FROM {} WINDOW TUMBLING (SIZE 10 MINUTES)",
    "first rows": "SELECT k, ts, v FROM {} DEDUPLICATE (PARTITION BY k, v ORDER BY ts) AS o",
    "pattern": "SELECT k, ts, v FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
    "MEASURES MATCH_ROWTIME() AS ts, LAST(B.v) AS v PATTERN (A B) DEFINE B AS v >= A.v) AS m",
    "join": "SELECT x.k, x.ts, x.v FROM {} AS x JOIN b AS y ON x.k = y.k "
    "AND y.ts BETWEEN x.ts - INTERVAL '5' MINUTES AND x.ts + INTERVAL '5' MINUTES",
    "exists": "SELECT x.k, x.ts, x.v FROM {} AS x WHERE EXISTS (SELECT 1 FROM b AS y WHERE x.k = y.k "
    "AND y.ts BETWEEN x.ts AND x.ts + INTERVAL '5' MINUTES)",
}
PAIRS = everyday(itertools.product(OPERATORS, repeat=2), 24)
TRIPLES = draws("views").sample(list(itertools.product(OPERATORS, repeat=3)), examples(4))


@pytest.fixture(scope="module")
def engine():
    with cepsql.connect(catalog="") as engine:
        for name in "ab":
            engine.sql(f"CREATE STREAM {name} {STREAM}")
        yield engine


@pytest.mark.parametrize("names", [*((name,) for name in OPERATORS), *PAIRS, *TRIPLES], ids=" over ".join)
def test_a_view_is_like_its_query(engine, names):
    inline, views = "a", ["a"]
    for number, name in enumerate(reversed(names)):
        engine.sql(f"CREATE OR REPLACE VIEW w{number} AS {OPERATORS[name].format(views[-1])}")
        inline = f"({OPERATORS[name].format(inline)})"
        views.append(f"w{number}")
    texts = [inline[1:-1], OPERATORS[names[0]].format(views[-2]), f"SELECT * FROM {views[-1]}"]
    planned = [_planned(engine, text) for text in texts]
    assert planned[0] == planned[1] == planned[2]


@pytest.mark.parametrize("reader", ["SELECT * FROM {}", OPERATORS["pattern"], OPERATORS["join"], OPERATORS["windows"]])
@pytest.mark.parametrize("name", everyday(["frames", "windows", "sessions", "exists"]))
def test_a_view_of_what_has_changed_is_refused(engine, name, reader):
    engine.sql(f"CREATE OR REPLACE STREAM c {STREAM}")
    engine.sql(f"CREATE OR REPLACE VIEW below AS {OPERATORS['frames'].format('c')}")
    engine.sql(f"CREATE OR REPLACE VIEW above AS {OPERATORS[name].format('below')}")
    engine.query(reader.format("above"))
    engine.sql("CREATE OR REPLACE STREAM c (k STRING, ts TIMESTAMP, v BIGINT) USING csv OPTIONS (path '.')")
    with pytest.raises(Error, match=r"event time|watermark"):
        engine.query(reader.format("above"))


@pytest.mark.parametrize("reader", ["SELECT * FROM hours AS h", OPERATORS["pattern"].format("hours")])
def test_a_fault_in_a_view_is_shown_in_its_text(engine, reader):
    engine.sql(f"CREATE OR REPLACE STREAM c {STREAM}")
    engine.sql(f"CREATE OR REPLACE VIEW hours AS\nSELECT k, window_end AS ts, SUM(v) AS v FROM c\n"
               f"WINDOW TUMBLING (SIZE 1 HOUR) {GROUPED}")  # fmt: skip
    engine.sql("CREATE OR REPLACE STREAM c (k STRING, ts TIMESTAMP, v BIGINT) USING csv OPTIONS (path '.')")
    with pytest.raises(Error) as raised:
        engine.query(reader)
    message, line, caret, *_ = render(raised.value).splitlines()
    assert message == "in view hours: windows of a stream need its event time"
    assert line == f"  line 2: WINDOW TUMBLING (SIZE 1 HOUR) {GROUPED}"
    assert line[caret.index("^") :].startswith("WINDOW TUMBLING")


def _planned(engine, text):
    """Return the columns of a query, and which operators it has; the error where it cannot be planned."""
    try:
        plan = engine.query(text).plan
    except Error as error:
        return type(error).__name__
    return [(c.name, c.type) for c in plan.columns], sorted(type(stage).__name__ for stage in plan.stages)
