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
    lookup = engine.prepared_lookup(*engine.parsed(query)).with_values()
    planned = engine.query(query)
    assert list(lookup.columns) == planned.columns
    # NaN is not equal to itself.
    assert repr(lookup.table().to_pylist()) == repr(planned.arrow().to_pylist())


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
    assert engine.prepared_lookup(*engine.parsed(query)).with_values() is None


@pytest.mark.parametrize(
    ("where", "value"),
    [("City = :p1", "it's"), ("n = :p1", -2), ("City = :p1 AND small = 1", "Rome"), ("small = :p1", True),
     ("n = :p1", 1.0), ("n = :p1", "1"), ("City = :p1", 1), ("n = :p1", None), ("n = :p1", 2**70)],
)  # fmt: skip
def test_parameters_mean_what_they_mean_in_a_plan(engine, where, value):
    query = f"SELECT City, n FROM spent WHERE {where}"
    looked = engine.prepared_lookup(*engine.parsed(query)).with_values({"p1": value})
    if looked is not None:
        assert looked.table().to_pylist() == engine.query(query, {"p1": value}).arrow().to_pylist()
    assert (looked is not None) == (isinstance(value, str) if "City" in where else type(value) is int and value < 2**63)


def test_a_row_is_found_at_once_by_the_whole_key_alone(engine):
    by_key, by_another = (
        engine.prepared_lookup(*engine.parsed(f"SELECT n, City FROM spent WHERE {column} = :p1"))
        for column in ("City", "n")
    )
    for lookup in (by_key, by_another):
        assert lookup.rows_at_once({"p1": "Rome"}) is None  # Its form is not known before it was asked for.
        lookup.with_values({"p1": "Rome"})
    assert by_key.rows_at_once({"p1": "Rome"}) == [(1, "Rome")]
    assert by_key.rows_at_once({"p1": "Paris"}) == []
    assert by_key.rows_at_once({"p1": None}) is None
    assert by_another.rows_at_once({"p1": 1}) is None


def test_a_prepared_lookup_follows_the_catalog(tmp_path):
    with cepsql.connect(catalog=str(tmp_path / "catalog.db")) as engine:
        keep_view(engine, tmp_path / "views.db", "spent", COLUMNS, ROWS, key=("City",))
        lookup = engine.prepared_lookup(*engine.parsed("SELECT n FROM spent WHERE City = 'Rome'"))
        assert lookup.with_values().rows_at_once() == [(1,)]
        with cepsql.connect(catalog=str(tmp_path / "catalog.db")) as other:
            other.catalog.remove("spent")
            keep_view(other, tmp_path / "others.db", "spent", COLUMNS, ROWS.slice(1), key=("City",))
        # What others have changed is known when the catalog is asked for it.
        assert engine.catalog.names.find("spent")
        assert lookup.rows_at_once({}) is None
        assert lookup.with_values().rows_at_once() == []
        (tmp_path / "others.db").unlink()
        assert lookup.rows_at_once({}) is None
        with pytest.raises(cepsql.errors.OperationalError, match="never run"):
            lookup.with_values().table()
