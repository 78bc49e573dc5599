"""Queries over views that are answered without Spark give what Spark gives from the same rows."""

import datetime
import decimal
import random
import sqlite3

import pyarrow as pa
import pytest
from kept_views import arrow_column, keep_view

import cepsql
from cepsql.errors import OperationalError

SPENT = (
    ("city", "string"), ("n", "bigint"), ("k", "int"), ("total", "decimal(8,2)"), ("big", "decimal(20,3)"),
    ("share", "double"), ("at", "timestamp"), ("local", "timestamp_ntz"), ("day", "date"), ("good", "boolean"),
)  # fmt: skip
LATE = (("city", "string"), ("missing", "int"), ("n", "bigint"))
CITIES = ("Rome", "Oslo", "Bern", "", "rome", "Åre", "R%", "a\0b", None)
UTC = datetime.UTC


def _spent(draw: random.Random, rows: int) -> pa.Table:
    def some(make) -> list:
        return [None if draw.random() < 0.15 else make() for _ in range(rows)]

    def moment() -> datetime.datetime:
        return datetime.datetime(2026, 3, 29, tzinfo=UTC) + datetime.timedelta(microseconds=draw.randrange(10**11))

    columns = {
        "city": [draw.choice(CITIES) for _ in range(rows)],
        "n": some(lambda: draw.choice((0, 1, 2, 7, -3, 2**40, -(2**62)))),
        "k": some(lambda: draw.randrange(-3, 4)),
        "total": some(lambda: decimal.Decimal(draw.randrange(-99999, 999999)) / 100),
        "big": some(lambda: decimal.Decimal(draw.randrange(-(10**19), 10**19)) / 1000),
        "share": some(lambda: draw.choice((0.1, -0.0, 0.0, float("nan"), float("inf"), -1.5, 1e300, 0.1 + 0.2))),
        "at": some(moment),
        "local": some(lambda: moment().replace(tzinfo=None)),
        "day": some(lambda: moment().date()),
        "good": some(lambda: draw.random() < 0.5),
    }
    return pa.table({name: arrow_column(columns[name], kind) for name, kind in SPENT})


@pytest.fixture(scope="module")
def engine(spark, tmp_path_factory):
    draw, file = random.Random(46), tmp_path_factory.mktemp("views") / "views.db"
    engine = cepsql.connect(spark)
    keep_view(engine, file, "spent", SPENT, _spent(draw, 60), indexes=("n",))
    late = {"city": [*CITIES[:6], "Rome"], "missing": [1, None, 3, 4, -5, 6, 7], "n": [1, 2, 7, None, 0, 2**40, 1]}
    rows = pa.table({name: arrow_column(late[name], kind) for name, kind in LATE})
    keep_view(engine, file, "late", LATE, rows)
    return engine


def _condition(draw: random.Random, table: str = "") -> str:
    def constant(kind: str) -> str:
        return {
            "city": lambda: f"'{draw.choice(('Rome', 'rome', '', 'Z'))}'",
            "n": lambda: str(draw.choice((0, 1, -3, 2**40))),
            "k": lambda: str(draw.randrange(-3, 4)),
            "total": lambda: str(draw.choice(("0", "12.5", "-99.99", "1e2"))),
            "share": lambda: str(draw.choice(("0", "0.1D", "1.5"))),
            "day": lambda: "DATE '2026-03-29'",
            "at": lambda: "TIMESTAMP '2026-03-29 02:30:00'",
        }[kind]()

    kind = draw.choice(("city", "n", "k", "total", "share", "day", "at"))
    name = f"{table}{kind}"
    match draw.randrange(9):
        case 0:
            return f"{name} IS {draw.choice(('', 'NOT '))}NULL"
        case 1:
            return f"{name} IN ({constant(kind)}, {constant(kind)})"
        case 2:
            return f"{name} BETWEEN {constant(kind)} AND {constant(kind)}"
        case 3:
            return f"{table}city {draw.choice(('', 'NOT '))}LIKE '{draw.choice(('R%', '%o%', '_o%', 'R_%', ''))}'"
        case 4:
            return f"({_condition(draw, table)} {draw.choice(('AND', 'OR'))} {_condition(draw, table)})"
        case 5:
            return f"NOT ({_condition(draw, table)})"
    return f"{name} {draw.choice(('=', '<>', '<', '<=', '>', '>='))} {constant(kind)}"


def _where(draw: random.Random, table: str = "") -> str:
    return "" if draw.random() < 0.25 else f" WHERE {_condition(draw, table)}"


def _query(draw: random.Random) -> str:
    """Return a SELECT whose rows have one order, or are compared without one."""
    match draw.randrange(6):
        case 0:
            items = draw.sample([name for name, _ in SPENT], draw.randrange(1, 6))
            return f"SELECT {', '.join(items)}, k + 1 AS next, upper(city) AS loud FROM spent{_where(draw)}"
        case 1:
            keys = draw.sample(["city", "k", "good", "day", "total"], draw.randrange(1, 3))
            having = draw.choice(("", " HAVING COUNT(*) > 2", " HAVING SUM(k) IS NOT NULL AND MAX(n) >= 1"))
            calls = draw.sample(
                ["COUNT(*) AS a", "COUNT(n) AS b", "SUM(k) AS c", "SUM(total) AS d", "AVG(k) AS e", "MIN(city) AS f",
                 "MAX(total) AS g", "MIN(at) AS h", "MAX(day) AS i", "MAX(n) - MIN(k) AS j", "SUM(big) AS l"],
                3,
            )  # fmt: skip
            return f"SELECT {', '.join([*keys, *calls])} FROM spent{_where(draw)} GROUP BY {', '.join(keys)}{having}"
        case 2:
            calls = "COUNT(*) AS a, SUM(k) AS b, AVG(k) AS c, MIN(day) AS d, SUM(total) AS e"
            return f"SELECT {calls} FROM spent{_where(draw)}"
        case 3:
            join = draw.choice(("JOIN", "LEFT JOIN"))
            on = draw.choice(("s.city = l.city", "s.n = l.n", "l.city = s.city AND s.n = l.n"))
            return (
                f"SELECT s.city, s.n, l.missing, l.n AS m FROM spent AS s {join} late AS l ON {on}{_where(draw, 's.')}"
            )
        case 4:
            return (
                f"SELECT city, n FROM spent{_where(draw)} UNION ALL SELECT city, n FROM late"
                f"{draw.choice(('', ' WHERE n > 0'))}"
            )
    order = draw.sample(["city", "n", "k", "total", "share", "at", "good", "big"], 3)
    ways = [f"{name}{draw.choice(('', ' DESC', ' NULLS LAST', ' DESC NULLS FIRST'))}" for name in order]
    # Rows that tie are alike in what is selected.
    limit = draw.choice(("", " LIMIT 7", " LIMIT 5 OFFSET 3"))
    return f"SELECT {', '.join(order)} FROM spent{_where(draw)} ORDER BY {', '.join(ways)}{limit}"


def _rows(table: pa.Table) -> list[tuple]:
    return [tuple(map(repr, row.values())) for row in table.to_pylist()]


def _compared(engine, text: str) -> bool:
    """Tell whether a query was answered without Spark, and hold it against Spark's rows."""
    query = engine.query(text)
    reading = query.reading
    if reading is None:
        return False
    actual, columns = query.arrow(), query.columns
    query._how_read = (None, "asked of Spark")
    expected = query.arrow()
    assert columns == query.columns, text
    assert actual.schema.types == expected.schema.types, text
    ordered = " ORDER BY " in text
    left, right = (_rows(table) if ordered else sorted(_rows(table)) for table in (actual, expected))
    assert left == right, text
    return True


def _check_many(engine, seed: int, count: int) -> None:
    draw = random.Random(seed)
    answered = sum(_compared(engine, _query(draw)) for _ in range(count))
    # Most of them are of what is known to be equal.
    assert answered > count / 2


def test_random_queries_give_what_spark_gives(engine):
    _check_many(engine, 1, 12)


@pytest.mark.nightly("hundreds of queries of Spark")
def test_many_random_queries_give_what_spark_gives(engine, request):
    _check_many(engine, int(request.config.option.hypothesis_seed), 300)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT SUM(share) AS s FROM spent", "SUM(spent.share) of a DOUBLE"),
        ("SELECT DISTINCT city FROM spent", "DISTINCT"),
        ("SELECT share, COUNT(*) AS n FROM spent GROUP BY share", "GROUP BY a DOUBLE"),
        ("SELECT s.city FROM spent AS s CROSS JOIN late AS l", "CROSS JOIN"),
        ("SELECT s.city FROM spent AS s FULL JOIN late AS l ON s.city = l.city", "FULL JOIN"),
        ("SELECT s.city FROM spent AS s JOIN late AS l ON s.n < l.n", "a join without equal columns"),
        ("SELECT city, rank() OVER (ORDER BY n) AS r FROM spent", "a window function or FILTER"),
        ("SELECT city FROM spent UNION SELECT city FROM late", "UNION of distinct rows"),
        ("SELECT k + 1 FROM spent", "Spark names a column without AS"),
        ("SELECT city FROM spent WHERE n IN (SELECT n FROM late)", "a subquery in an expression"),
    ],
)
def test_what_is_left_to_spark_says_why(engine, text, reason):
    query = engine.query(text)
    assert query.reading is None
    assert reason in query.spark_reason


def test_explain_says_how_a_view_is_read(engine):
    def said(text: str) -> list[str]:
        return [line for (line,) in engine.sql(f"EXPLAIN {text}").rows][:2]

    assert said("SELECT city FROM spent WHERE n = 7") == ["without Spark", "view spent: by its index, n"]
    assert said("SELECT city FROM late WHERE missing > 1") == [
        "without Spark",
        "view late: all rows, filtered by missing",
    ]
    assert said("SELECT city FROM late WHERE missing IS NULL") == ["without Spark", "view late: all rows"]
    (first,) = said("SELECT DISTINCT city FROM spent")[:1]
    assert first == "by Spark, from the rows that the views have now: DISTINCT"


def test_a_query_over_views_starts_no_spark(tmp_path):
    with cepsql.connect() as engine:
        rows = pa.table({"city": ["Rome", "Oslo"], "missing": pa.array([1, 2], pa.int32()), "n": [3, 4]})
        keep_view(engine, tmp_path / "views.db", "late", LATE, rows, key=("city",))
        query = engine.query("SELECT n FROM late WHERE city = 'Oslo'")
        assert query.arrow().to_pylist() == [{"n": 4}]
        assert [piece.to_pylist() for piece in query.pieces(1)] == [[{"n": 4}]]
        assert query.columns == [("n", "bigint")]
        assert query.reading.explained() == ["view late: by its key (city)"]
        assert query.head(1).table.to_pylist() == [{"n": 4}]
        renamed = engine.query("SELECT t.missing AS x FROM late AS t (city, n, missing)")
        assert (renamed.reading, renamed.spark_reason) == (None, "the input's columns are renamed by an alias")
        assert not engine.has_started


def test_rows_are_those_of_now(tmp_path, engine):

    for text in (
        "SELECT missing FROM late WHERE city = 'Bern'",
        "SELECT DISTINCT missing FROM late WHERE city = 'Bern'",
    ):
        query = engine.query(text)
        file = query.origins[0].options[0][1]
        for value in (11, 3):
            with sqlite3.connect(file) as connection:
                connection.execute("UPDATE late SET missing = ? WHERE city = 'Bern'", (value,))
            assert query.arrow().to_pylist() == [{"missing": value}]


def test_a_view_that_never_ran_says_so(tmp_path):
    with cepsql.connect() as engine:
        keep_view(engine, tmp_path / "views.db", "late", LATE, pa.table({n: arrow_column([], k) for n, k in LATE}))
        (tmp_path / "views.db").unlink()
        with pytest.raises(OperationalError, match="view late has no rows yet: its query has never run"):
            engine.query("SELECT * FROM late").arrow()
