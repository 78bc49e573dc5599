"""The queries that cepsql and Flink both run over the events, and the matches known for one size.

Both get the same text. It keeps to what Flink's part of the clause can say: no PREV, no open quantifier at the end, and
no loop that has to give a row back (C excludes B).
"""

COLUMNS = (("ts", "TIMESTAMP"), ("key", "BIGINT"), ("price", "DOUBLE"), ("kind", "STRING"))
DELAY_SECONDS = 10
OUTPUT = ("key", "first_price", "last_price", "n")

_CLAUSE = """SELECT * FROM events MATCH_RECOGNIZE (
  PARTITION BY key
  ORDER BY ts
  MEASURES {measures}
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN ({pattern}){within}
  DEFINE {define}
) AS m"""

_A_TO_C = "A.price AS first_price, C.price AS last_price, COUNT(B.price) AS n"

QUERIES = {
    "match": _CLAUSE.format(
        measures=_A_TO_C,
        pattern="A B* C",
        within="",
        define="A AS A.kind = 'a', B AS B.price > 50, C AS C.kind = 'c' AND C.price <= 50",
    ),
    "within": _CLAUSE.format(
        measures=_A_TO_C,
        pattern="A B*? C",
        within=" WITHIN INTERVAL '1' MINUTE",
        define="A AS A.kind = 'a' AND A.price > 95, C AS C.kind = 'c' AND C.price > LAST(A.price, 0)",
    ),
    "vshape": _CLAUSE.format(
        measures="S.price AS first_price, LAST(U.price) AS last_price, COUNT(D.price) AS n",
        pattern="S D+ U+ E",
        within="",
        define="D AS D.price < COALESCE(LAST(D.price, 1), S.price), "
        "U AS U.price > COALESCE(LAST(U.price, 1), LAST(D.price, 0)), "
        "E AS E.price <= LAST(U.price, 0)",
    ),
    "dropped": _CLAUSE.format(
        measures="A.price AS first_price, C.price AS last_price, COUNT(C.price) AS n",
        pattern="A B*? C",
        within="",
        define="A AS A.kind = 'a' AND A.price > 90, C AS C.kind = 'c' AND C.price > 90",
    ),
}
"""match: conditions on the current row only. within: a condition on an earlier row, any rows between, a time bound.
vshape: prices fall, then rise, and the match is closed by the first row that does not rise. dropped: nineteen rows of
twenty can change no match."""

KNOWN_MATCHES = {
    (rows, keys, query): matches
    for rows, keys, counts in (
        (2_000_000, 10_000, (99_267, 906, 347_039, 22_501)),
        (2_000_000, 200_000, (84_143, 62, 274_481, 5_207)),
        (4_000_000, 10_000, (199_507, 1_791, 697_408, 47_397)),
        (4_000_000, 200_000, (184_355, 108, 624_902, 18_518)),
    )
    for query, matches in zip(QUERIES, counts, strict=True)
}
"""Numbers of matches by (rows, keys, query), as a loop over the rows written for each query found them."""
