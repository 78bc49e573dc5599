"""Conditions on the match so far end to end: money, times and sums mean what they mean in MEASURES and in Spark."""

import pytest
from chance import everyday
from sessions import in_mode

import cepsql
from cepsql.errors import DataError, NotSupportedError

HEAD = "SELECT * FROM ({rows}) MATCH_RECOGNIZE (ORDER BY o MEASURES COUNT(*) AS n {measures} PATTERN (^ A+ B $) DEFINE "


def holds(engine, columns: str, values: list[str], condition: str) -> bool:
    """Tell whether the condition of B holds for the last of rows with these columns, all others being A."""
    rows = " UNION ALL ".join(f"SELECT {i} AS o, {columns.format(value)}" for i, value in enumerate(values))
    return bool(engine.sql(HEAD.format(rows=rows, measures="") + f"B AS {condition})").collect())


@pytest.fixture(scope="module")
def engine(spark):
    mode = in_mode(spark, False)
    mode.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    return cepsql.connect(mode)


CASES = [
    ("CAST('{}' AS DECIMAL(10,2)) AS p", ["1", "2", "3.31"], "p > 1.1 * AVG(A.p)"),
    ("CAST('{}' AS DECIMAL(5,2)) AS d", ["1.23", "2.45", "3.005"], "AVG(d) = 2.2300000 AND AVG(d) < 2.24"),
    ("CAST('{}' AS DECIMAL(5,3)) AS d", ["2.685", "1.999", "2.001"], "AVG(d) = 2.2283333"),
    ("CAST('{}' AS DECIMAL(38,0)) AS d", ["9" * 38, "1", "1"], "SUM(A.d) + d IS NULL"),
    ("CAST('{}' AS DECIMAL(5,2)) AS d", ["1.23", "0.02", "1.25"], "SUM(A.d) + d = 2.50 AND ROUND(d - A.d, 1) = 1.2"),
    ("CAST('{}' AS DECIMAL(5,2)) AS d", ["1.25", "1.25", "1.25"], "ROUND(A.d * d, 1) = 1.6 AND AVG(A.d) * 1.1 > d"),
    ("{} AS i", ["1", "1", "7"], "A.i * 0.1 = 0.1 AND pmod(-A.i, i) = 6"),
    ("CAST({} AS DOUBLE) AS x", ["0.1", "0.7", "0.2"], "SUM(x) = 0.1D + 0.7D + 0.2D AND SUM(DISTINCT x) = SUM(x)"),
    ("{}L AS l", ["9223372036854775807", "1", "3"], "SUM(A.l) = -9223372036854775808 AND TRY_SUM(A.l) IS NULL"),
    ("CAST({} AS FLOAT) AS f", ["0.1", "1", "2"], "coalesce(FIRST(A.f), 1.5) > 0.1 AND FIRST(A.f) <> 0.1"),
    ("'{}' AS s, 1 AS n", ["1.0", "1.0", "x"], "coalesce(A.s, n) = 1 AND A.s = n"),
    ("TIMESTAMP '{}' AS ts", ["2024-03-30 12:00:00"] * 2 + ["2024-03-31 12:00:00"], "ts - A.ts = INTERVAL '1' DAY"),
    ("TIMESTAMP '{}' AS ts", ["2024-03-30 12:00:00"] * 2 + ["2024-03-31 12:00:00"], "A.ts + INTERVAL '1' DAY = ts"),
    ("DATE '{}' AS d, CAST(1 AS SMALLINT) AS n", ["2024-03-30"] * 2 + ["2024-03-31"], "A.d + n = d AND d - A.d > n * "
     "INTERVAL '23' HOUR"),
    ("DATE '{}' AS d, TIMESTAMP '2024-03-31 00:00:00' AS ts", ["2024-03-31"] * 3, "A.d = ts AND ts - A.d < INTERVAL "
     "'1' SECOND AND CASE WHEN o = 2 THEN A.d ELSE ts END = ts"),
    ("TIMESTAMP_NTZ '{}' AS n, TIMESTAMP '2024-07-01 12:00:00' AS ts", ["2024-07-01 12:00:00"] * 3, "A.n = ts AND "
     "n - A.ts = INTERVAL '0' SECOND AND IF(A.n > ts, A.n, ts) = n"),
    ("CAST({} AS DECIMAL(5,2)) AS d, DOUBLE('NaN') AS x", ["1", "1", "1"], "isnan(A.d * x)"),
    ("'{}' AS s", ["a", "b", "c"], "array_join(array_agg(A.s), ',') = 'a,b' AND size(collect_list(s)) > o AND "
     "concat_ws('-', PREV(s, 9)) = '' AND concat(PREV(s, 9), 'x') IS NULL"),
    ("nullif('{}', 'b') AS s", ["a", "b", "a"], "array_join(array_agg(s), '') || s = 'aaa' AND "
     "size(collect_set(s)) = 1"),
    ("{} AS i", ["3", "5", "4"], "FIRST(A.i) BETWEEN SYMMETRIC i + 1 AND i - 1 AND i BETWEEN SYMMETRIC A.i AND 3 AND "
     "i NOT BETWEEN SYMMETRIC A.i AND A.i + 1 AND NOT i BETWEEN SYMMETRIC 6 AND 5"),
    ("{} AS i", ["3", "5", "4"], "array_contains(collect_list(A.i), 5) AND NOT array_contains(collect_list(A.i), i)"),
    ("{} AS i", ["3", "5", "4"], "element_at(collect_list(i), -2) = 5 AND collect_list(i)[0] = 3 AND "
     "element_at(collect_list(A.i), 3) IS NULL AND array_max(collect_list(A.i)) > i"),
    ("{0} AS i, 'k{0}' AS k", ["3", "5", "6"], "map('k0', 1.5, A.k, 2.5)[k] IS NULL AND map(A.k, i)['k5'] = 6"),
    ("{} AS i", ["3", "5", "3"], "max_by(o, i) = 1 AND min_by(o, i) = 2 AND "
     "max_by(A.o, A.i) FILTER (WHERE A.i < 5) = 0"),
    ("{} AS i", ["3", "5", "4"], "sort_array(collect_list(i), FALSE)[1] = 4 AND "
     "array_join(array_union(array(i), collect_list(A.i)), '') = '435'"),
    ("{} AS i", ["3", "5", "4"], "stddev(A.i) = sqrt(2) AND var_pop(i) * 3 = 2 AND MEDIAN(A.i) = 4 AND "
     "percentile(i, 0.25) = 3.5 AND variance(i) FILTER (WHERE i > 4) IS NULL"),
    ("{0} AS i, 'k{0}' AS k", ["3", "5", "3"], "listagg(k, '-') = 'k3-k5-k3' AND listagg(k, NULL) = 'k3k5k3' AND "
     "listagg(A.k) FILTER (WHERE A.i > 9) IS NULL AND arrays_overlap(array(k), collect_list(A.k)) AND "
     "map_keys(map(A.k, i))[0] = 'k5' AND "
     "array_contains(map_values(map(A.k, i)), 3)"),
    ("{} AS i", ["3", "5", "4"], "exists(collect_list(A.i), v -> v > i) AND "
     "NOT forall(collect_list(A.i), v -> v > i) AND filter(collect_list(A.i), (v, j) -> v > 0 AND j = 1)[0] = 5 AND "
     "array_max(transform(collect_list(A.i), v -> abs(v - i) + 10)) = 11"),
    ("{} AS i", ["3", "5", "4"], "exists(collect_list(A.i), v -> v < i AND "
     "exists(collect_list(i), w -> w - v = 1)) AND "
     "exists(collect_list(A.i), v -> CASE WHEN v = 5 THEN NULL ELSE FALSE END) IS NULL"),
    ("DATE '{}' AS d, INTERVAL '3' DAY AS i, INTERVAL '48' HOUR AS h", ["2026-01-10", "2026-01-11", "2026-02-10"],
     "CAST(d + (A.d - DATE '2026-01-01') AS STRING) = '2026-02-20' AND CAST(A.i + d AS STRING) = '2026-02-13' AND "
     "CAST(d + A.h AS STRING) = '2026-02-12 00:00:00' AND CAST(d - max_by(A.i, A.d) AS STRING) = '2026-02-07' AND "
     "CAST(PREV(d) + i AS STRING) = '2026-01-14' AND A.i > A.h"),
    ("map('a', {0}, 'b', 7) AS m, {0} AS i", ["3", "5", "4"], "m[if(i > A.i, 'b', 'a')] = 4 AND A.m['c'] IS NULL AND "
     "array_max(map_values(A.m)) > i"),
    ("CAST({} AS DECIMAL(5,2)) AS d", ["1.5", "2.25", "9.75"], "d > AVG(A.d) + 3 * stddev(A.d)"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "values", "condition"), everyday(CASES, 6))
def test_holds(engine, columns, values, condition):
    assert holds(engine, columns, values, condition)
    assert not holds(engine, columns, values, f"NOT ({condition})")


def test_a_measure_and_a_condition_agree(engine):
    rows = " UNION ALL ".join(f"SELECT {i} AS o, TIMESTAMP '2024-03-{30 + i} 12:00:00' AS ts" for i in (0, 1))
    sql = HEAD.format(rows=rows, measures=", B.ts - A.ts AS gap") + "B AS B.ts - A.ts = INTERVAL '1' DAY)"
    ((_, gap),) = engine.sql(sql).collect()
    assert gap.total_seconds() == 86_400


def test_the_rules_of_ansi_mode(spark):
    engine = cepsql.connect(in_mode(spark, True))
    assert holds(engine, "CAST('{}' AS DECIMAL(10,2)) AS p", ["1", "2", "3.31"], "p > 1.1 * AVG(A.p)")
    for condition in ("A.l + l > 0", "SUM(l) > 0", "l / (A.l - A.l) > 0"):
        with pytest.raises(DataError, match=r"beyond the range|division by zero"):
            holds(engine, "{}L AS l", ["9223372036854775807"] * 3, condition)


@pytest.mark.parametrize("condition", ["10 / (A.i - i) < 0", "map(A.i - i, 'up', A.o - A.o, '')[-1] = 'up'"])
def test_an_error_behind_rows_that_no_match_reaches_is_none(spark, condition):
    rows = " UNION ALL ".join(f"SELECT {o} AS o, {i} AS i" for o, i in enumerate((3, 3, 4, 5)))
    engine = cepsql.connect(in_mode(spark, True))
    sql = f"SELECT * FROM ({rows}) MATCH_RECOGNIZE (ORDER BY o MEASURES B.o AS o PATTERN (A B) DEFINE A AS i = 4, B AS "
    assert engine.sql(f"{sql}{condition})").collect() == [(3,)]


GUARDED = [
    "i <> 0 AND 12 / i > A.o",
    "NOT (i = 0 OR 12 / i <= A.o)",
    "A.o >= 0 AND (i > 0 AND o > A.o) AND 12 / i > A.o",
    "CASE WHEN i = 0 THEN FALSE WHEN A.o IS NULL THEN TRUE ELSE 12 / i > A.o END",
    "IF(i = 0, 0, 12 / i) > A.o",
    "coalesce(i - i, 12 / (i - i)) + A.o < o AND i = 3",
    "12 / nullif(i, 0) > A.o",
    "A.z <> 0 AND 12 / A.z > A.o AND i = 3 OR i = 3 AND o > A.o",
    "s <> 'x' AND CAST(s AS INT) > A.o AND s + A.o > 0",
]


@pytest.mark.parametrize("condition", everyday(GUARDED, 4))
@pytest.mark.parametrize("ansi", [True, False])
def test_what_a_condition_on_the_row_keeps_from_being_computed_is_no_error(spark, condition, ansi):
    rows = "VALUES (0, 4, '4', 0), (1, 0, 'x', 2), (2, 3, '3', 1) AS t(o, i, s, z)"
    engine = cepsql.connect(in_mode(spark, ansi))
    sql = "SELECT * FROM {} MATCH_RECOGNIZE (ORDER BY o MEASURES B.o AS o PATTERN (A X? B) DEFINE A AS o = 0, B AS {})"
    assert engine.sql(sql.format(f"(SELECT * FROM {rows})", condition)).collect() == [(2,)]


def test_what_is_not_computed_as_spark_does_is_refused_before_it_runs(engine):
    cases = [
        ("CAST({} AS DOUBLE) / 3 AS x", "concat(A.x * 2, x) = 'a'", "CAST of DOUBLE to STRING"),
        ("array(date_from_unix_date({})) AS x", "array_contains(A.x, x[0])", "ARRAY_CONTAINS of ARRAY<DATE> and DATE"),
        ("map('a', INTERVAL '1' DAY) AS x, {} AS i", "A.x[lower(i)] < INTERVAL '1' DAY", "SUBSCRIPT of MAP<STRING,INT"),
    ]
    for column, condition, message in cases:
        with pytest.raises(NotSupportedError, match=message) as refused:
            holds(engine, column, ["1", "2", "3"], condition)
        assert refused.value.span is not None and refused.value.line == 1
