"""Rows looked up in a view by values of its columns are those that the query gives when it is planned."""

import pyarrow as pa
import pytest
from kept_views import keep_view

import cepsql

COLUMNS = (("City", "string"), ("n", "bigint"), ("small", "tinyint"), ("share", "double"), ("at", "timestamp"))
ROWS = pa.table(
    {
        "City": ["Rome", "rome", "it's", None, "\\"],
        "n": [1, -2, 3, None, 2**62],
        "small": pa.array([1, 2, None, 4, 5], pa.int8()),
        "share": [0.5, None, float("nan"), 1.0, 2.0],
        "at": pa.array([0, 1, None, 3, 4], pa.timestamp("us", "UTC")),
    }
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with cepsql.connect(conf={"spark.sql.session.timeZone": "UTC"}) as engine:
        keep_view(engine, tmp_path_factory.mktemp("lookup") / "views.db", "spent", COLUMNS, ROWS, key=("City",))
        engine.sql("CREATE VIEW other AS SELECT * FROM spent")
        yield engine


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM spent WHERE City = 'Rome'",
        "SELECT n, City FROM SPENT WHERE (n = -2)",
        "SELECT at, share FROM spent WHERE City = 'it''s' AND n = 3",
        "SELECT n FROM spent WHERE City = '\\\\'",
        "SELECT n FROM spent WHERE small = 300",
        "SELECT City FROM spent WHERE n = 4611686018427387904",
    ],
)
def test_a_lookup_gives_what_the_plan_gives(engine, query):
    found = engine.lookup(*engine.parsed(query))
    planned = engine.query(query)
    assert list(found.columns) == planned.columns
    # NaN is not equal to itself.
    assert repr(found.table().to_pylist()) == repr(planned.arrow().to_pylist())


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM spent",
        "SELECT n FROM spent WHERE share = 0.5",
        "SELECT n FROM spent WHERE n = 1.0",
        "SELECT n FROM spent WHERE City = 1",
        "SELECT n FROM spent WHERE n = '1'",
        "SELECT n AS m FROM spent WHERE n = 1",
        "SELECT n + 1 FROM spent WHERE n = 1",
        "SELECT DISTINCT n FROM spent WHERE n = 1",
        "SELECT n FROM other WHERE n = 1",
        "SELECT n FROM spent WHERE n = 1 LIMIT 1",
        "SELECT n FROM spent AS s WHERE n = 1",
        "SELECT nope FROM spent WHERE n = 1",
        "SELECT n FROM spent WHERE n = 1 OR n = 2",
        "SELECT n FROM spent WHERE nope = 1",
        "SELECT city FROM spent WHERE n = 1",
        "SELECT COUNT(*) FROM spent WHERE n = 1",
        "SELECT n, n FROM spent WHERE n = 1",
        "SELECT n FROM spent WHERE NOT n = 1",
        "SELECT n FROM spent, spent AS s WHERE n = 1",
        "SELECT n FROM csv.`x` WHERE n = 1",
        "VALUES (1)",
        "SHOW VIEWS",
        "SELECT n FROM spent WHERE n = n",
        "SELECT n FROM spent WHERE n = NULL",
        "SELECT * EXCEPT (n) FROM spent WHERE n = 1",
        "WITH spent AS (SELECT 1 AS n) SELECT n FROM spent WHERE n = 1",
        "SELECT n FROM a.spent WHERE n = 1",
        "SELECT n FROM spent WHERE n = 99999999999999999999",
        "SELECT n FROM spent WHERE n = 1 ORDER BY n",
    ],
)
def test_other_queries_are_planned(engine, query):
    assert engine.lookup(*engine.parsed(query)) is None
