"""Each aggregate of Spark's over a table that changes gives what Spark gives of the rows as they stand."""

import math
import re

from chance import draws

import cepsql
from cepsql.language.spark_aggregates import SPARK_AGGREGATES
from cepsql.testing import play

COLUMNS = (
    "id INT, k STRING, x INT, d DOUBLE, s STRING, l ARRAY<INT>, m MAP<STRING, INT>, r STRUCT<a: INT, b: STRING>, "
    "v ARRAY<FLOAT>, h BINARY"
)
COMPARED = (
    "COUNT(*)", "COUNT(x)", "COUNT(DISTINCT x)", "COUNT(DISTINCT x, s)", "COUNT_IF(x > 1)", "SUM(x)", "SUM(DISTINCT x)",
    "SUM(x) FILTER (WHERE x > 1)", "AVG(x)", "MEAN(d)", "MIN(s)", "MAX(l)", "to_json(MIN(r))", "ANY(x > 1)",
    "SOME(x > 1)", "EVERY(x > 1)", "BOOL_AND(x > 1)", "BOOL_OR(x > 1)", "APPROX_COUNT_DISTINCT(x)",
    "APPROX_PERCENTILE(x, 0.5)", "PERCENTILE_APPROX(x, array(0.25, 0.75), 100)", "sort_array(ARRAY_AGG(x))",
    "sort_array(COLLECT_LIST(l))", "to_json(sort_array(COLLECT_LIST(r)))", "sort_array(COLLECT_SET(x))",
    "sort_array(COLLECT_SET(l))", "sort_array(transform(ARRAY_AGG(m), one -> to_json(one)))", "BIT_AND(x)", "BIT_OR(x)",
    "BIT_XOR(x)", "CORR(x, d)", "COVAR_POP(x, d)", "COVAR_SAMP(x, d)", "REGR_COUNT(x, d)", "REGR_AVGX(x, d)",
    "REGR_AVGY(x, d)", "REGR_INTERCEPT(x, d)", "REGR_R2(x, d)", "REGR_SLOPE(x, d)", "REGR_SXX(x, d)", "REGR_SXY(x, d)",
    "REGR_SYY(x, d)", "hex(COUNT_MIN_SKETCH(x, 0.5D, 0.5D, 1))", "HLL_SKETCH_ESTIMATE(HLL_SKETCH_AGG(x))",
    "HLL_SKETCH_ESTIMATE(HLL_SKETCH_AGG(s, 12) FILTER (WHERE x > 1))", "THETA_SKETCH_ESTIMATE(THETA_SKETCH_AGG(x))",
    "KLL_SKETCH_GET_QUANTILE_BIGINT(KLL_SKETCH_AGG_BIGINT(x), 0.5)",
    "hex(BITMAP_CONSTRUCT_AGG(BITMAP_BIT_POSITION(x)))", "KURTOSIS(x)", "SKEWNESS(x)", "STD(x)", "STDDEV(x)",
    "STDDEV_POP(x)", "STDDEV_SAMP(DISTINCT x)", "VARIANCE(d)", "VAR_POP(x)", "VAR_SAMP(x)",
    "LISTAGG(DISTINCT s, '-') WITHIN GROUP (ORDER BY s)", "LISTAGG(s, '-') WITHIN GROUP (ORDER BY s DESC)", "MEDIAN(x)",
    "PERCENTILE(x, 0.25)", "PERCENTILE(x, array(0.1, 0.9))", "PERCENTILE_CONT(0.2) WITHIN GROUP (ORDER BY x DESC)",
    "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x)", "MODE(x, true)", "MAX_BY(id, id)", "MIN_BY(l, id)", "TRY_SUM(x)",
    "TRY_AVG(x)",
)  # fmt: skip
PLANNED = (
    "ANY_VALUE(x)", "MAX_BY(m, x)", "MODE(x)", "HISTOGRAM_NUMERIC(x, 3)", "APPROX_TOP_K(x)",
    "APPROX_TOP_K_ACCUMULATE(x)", "BITMAP_OR_AGG(h)", "BITMAP_AND_AGG(h)", "BLOOM_FILTER_AGG(x)", "COLLECT_UNION(l)",
    "HLL_UNION_AGG(h)", "KLL_SKETCH_AGG_DOUBLE(d)", "KLL_SKETCH_AGG_FLOAT(CAST(d AS FLOAT))", "KLL_MERGE_AGG_BIGINT(h)",
    "KLL_MERGE_AGG_DOUBLE(h)", "KLL_MERGE_AGG_FLOAT(h)", "THETA_UNION_AGG(h)", "THETA_INTERSECTION_AGG(h)",
    "TUPLE_SKETCH_AGG_INTEGER(s, x)", "TUPLE_SKETCH_AGG_DOUBLE(s, d)", "TUPLE_UNION_AGG_INTEGER(h)",
    "TUPLE_UNION_AGG_DOUBLE(h)", "TUPLE_INTERSECTION_AGG_INTEGER(h)", "TUPLE_INTERSECTION_AGG_DOUBLE(h)",
    "VECTOR_SUM(v)", "VECTOR_AVG(v)", "STRING_AGG(s, ',')", "LISTAGG(s)", "APPROX_TOP_K_COMBINE(h)",
)  # fmt: skip
"""What goes by an order that only Spark knows at rest, or reads what others give."""

BY_TIME = ("FIRST(x)", "LAST(x)", "FIRST_VALUE(x) IGNORE NULLS", "LAST_VALUE(x)")

BATCHES = 2


def test_every_aggregate_is_planned():
    read = {name for call in (*COMPARED, *PLANNED, *BY_TIME) for name in re.findall(r"\b[A-Z_0-9]+\b(?=\()", call)}
    assert read >= SPARK_AGGREGATES
    with cepsql.connect(catalog="") as engine:
        engine.sql(f"CREATE STREAM changing ({COLUMNS}, PRIMARY KEY (id)) USING json")
        engine.sql(f"CREATE STREAM plain ({COLUMNS}) USING json")
        engine.sql(f"CREATE STREAM timed ({COLUMNS}, at TIMESTAMP, WATERMARK FOR at AS at) USING json")
        for call in (*COMPARED, *PLANNED, *BY_TIME):
            streams = ["changing", "plain", "timed"] if call not in BY_TIME else ["plain", "timed"]
            for stream in streams:
                query = engine.query(f"SELECT k, {call} AS found FROM {stream} GROUP BY k EMIT CHANGES")
                assert query.plan.streaming, call


def test_aggregates_give_what_spark_gives_of_the_rows(spark):
    chance = draws("aggregates that change")
    batches = [_changes(chance) for _ in range(BATCHES)]
    items = ", ".join(f"{call} AS c{number}" for number, call in enumerate(COMPARED))
    text = f"SELECT k, {items} FROM t GROUP BY k"
    definition = f"CREATE STREAM t ({COLUMNS}, gone BOOLEAN, PRIMARY KEY (id) DELETE WHEN gone) USING json;"
    played = play(f"{definition}{text} EMIT CHANGES", batches, spark=spark)
    groups: dict = {}
    for number, rows in enumerate(played[:-1]):
        for *values, operation in rows:
            if operation.startswith("-"):
                assert groups.pop(values[0]) == values
            else:
                assert values[0] not in groups
                groups[values[0]] = values
        there = {row[0]: row for batch in batches[: number + 1] for row in batch}
        spark.createDataFrame([row[:-1] for row in there.values() if not row[-1]], COLUMNS).createOrReplaceTempView("t")
        wanted = _at_rest(spark)
        assert groups.keys() == wanted.keys()
        for key, values in wanted.items():
            pairs = zip(COMPARED, groups[key][1:], values, strict=True)
            assert [pair for pair in pairs if not _alike(*pair[1:])] == [], (number, key)


def _at_rest(spark) -> dict:
    """Return the aggregates of each group; Spark 4.3 stumbles over LISTAGG beside several aggregates with DISTINCT."""
    rows_by_key: dict = {}
    for kind in (True, False):
        chosen = {call: number for number, call in enumerate(COMPARED) if call.startswith("LISTAGG") == kind}
        for key, *values in spark.sql(f"SELECT k, {', '.join(chosen)} FROM t GROUP BY k").collect():
            row = rows_by_key.setdefault(key, [None] * len(COMPARED))
            for number, value in zip(chosen.values(), values, strict=True):
                row[number] = value
    return rows_by_key


def _changes(chance) -> list[tuple]:
    """Return rows that are set or deleted, each key once."""
    rows = []
    for key in chance.sample(range(8), 6):
        x, s = chance.choice([None, 1, 2, 3, 4]), chance.choice([None, "a", "b", "c"])
        nested = [x, key], {"a": x}, {"a": x, "b": s}
        group, gone = chance.choice(["g", "h"]), chance.random() < 0.25
        rows.append((key, group, x, key / 4, s, *nested, [0.5, float(key)], b"a", gone))
    return rows


def _alike(one, other) -> bool:
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other
