"""Text with a collation is not compared byte by byte, as operators do: where that counts, it is refused."""

import pytest

import cepsql
from cepsql.errors import NotSupportedError
from cepsql.testing import play

TABLE = "(SELECT id, k COLLATE UTF8_LCASE AS k FROM VALUES (1, 'a'), (2, 'A'), (3, 'b') AS v (id, k)) AS t"
STREAM = "CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts) USING csv;"
EVENTS = "(SELECT k COLLATE UTF8_LCASE AS k, ts FROM s) AS t"


@pytest.mark.parametrize(
    "clause, refusal",
    [
        ("PARTITION BY k ORDER BY id PATTERN (A)", "rows apart, or in order, by k, whose text has a collation"),
        ("ORDER BY id MEASURES MAX(k) AS m PATTERN (A)", "MAX of text with a collation"),
        ("ORDER BY id MEASURES COUNT(DISTINCT k) AS n PATTERN (A)", r"COUNT\(DISTINCT ...\) of text with a collation"),
        ("ORDER BY id MEASURES id AS i PATTERN (A) DEFINE A AS MAX(k) IS NULL", "MAX of STRING COLLATE UTF8_LCASE"),
        ("ORDER BY id MEASURES id AS i PATTERN (A) DEFINE A AS max_by(id, k) = 1", "MAX_BY of STRING COLLATE"),
        ("ORDER BY id MEASURES id AS i PATTERN (A) DEFINE A AS size(collect_set(k)) < 2", "COLLECT_LIST of STRING"),
        ("ORDER BY id MEASURES id AS i PATTERN (A B) DEFINE B AS B.k = A.k", "= of STRING COLLATE UTF8_LCASE"),
    ],
)
def test_refused_over_a_table(spark, clause, refusal):
    with pytest.raises(NotSupportedError, match=refusal):
        cepsql.connect(spark, catalog="").sql(f"SELECT * FROM {TABLE} MATCH_RECOGNIZE ({clause})").collect()


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT * FROM {EVENTS} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts PATTERN (A))",
        f"SELECT * FROM {EVENTS} MATCH_RECOGNIZE (ORDER BY ts, k MEASURES A.k AS k PATTERN (A))",
        f"SELECT k, COUNT(*) AS n FROM {EVENTS} GROUP BY k, window(ts, '1 minute')",
        f"SELECT k, COUNT(*) AS n FROM {EVENTS} GROUP BY k EMIT CHANGES",
    ],
)
def test_keys_are_refused_over_a_stream(spark, query):
    with pytest.raises(NotSupportedError, match="by k, whose text has a collation"):
        play(STREAM + query, [[("a", "2026-01-01 00:00:01")]], spark=spark)


def test_what_spark_computes_is_as_in_spark(spark):
    clause = """ORDER BY k DESC, id MEASURES array_join(collect_list(id), '') AS ids,
        size(array_distinct(collect_list(k))) AS n, array_max(collect_list(k)) AS most
        PATTERN (A+) DEFINE A AS k IN ('A', 'B')"""
    query = cepsql.connect(spark, catalog="").sql(f"SELECT * FROM {TABLE} MATCH_RECOGNIZE ({clause})")
    assert [tuple(row) for row in query.collect()] == [("312", 2, "b")]
