"""What the reference of functions says beside what the code knows; docs/make_reference.py puts it into the page."""

import re

_NO_ROW = "without such a row"

PATTERN_FORMS = {
    "CLASSIFIER": ("CLASSIFIER()", "the name of the pattern variable of the row", "for an empty match"),
    "MATCH_NUMBER": (
        "MATCH_NUMBER()",
        "1 for the first match of the partition, 2 for the second, and so on; an error in a window",
        "never",
    ),
    "MATCH_ID": (
        "MATCH_ID()",
        "32 hexadecimal digits that name the match, the same on every replay; in `MEASURES` only",
        "never",
    ),
    "MATCH_TIMEOUT": (
        "MATCH_TIMEOUT()",
        "true if the deadline passed before the match was complete; in `MEASURES` only",
        "never",
    ),
    "MATCH_ROWTIME": (
        "MATCH_ROWTIME([column])",
        "the event time of the last row of the match; in `MEASURES` only",
        "for an empty match",
    ),
    "PREV": ("PREV(column [, n])", "the value n rows before in the partition; n is 1 by default", _NO_ROW),
    "NEXT": ("NEXT(column [, n])", "the value n rows after in the partition; n is 1 by default", _NO_ROW),
    "FINAL": ("FINAL LAST(column)", "the value when the match is complete, with `ALL ROWS PER MATCH`", _NO_ROW),
    "RUNNING": ("RUNNING LAST(column)", "the value as of the row, with `ALL ROWS PER MATCH`", _NO_ROW),
    "FIRST": (
        "FIRST([variable.]column [, n])",
        "the value in the first row of the match, or of a variable; n rows later",
        _NO_ROW,
    ),
    "LAST": (
        "LAST([variable.]column [, n])",
        "the value in the last row of the match, or of a variable; n rows before",
        _NO_ROW,
    ),
}
"""The functions that only patterns have: form, meaning, and when they are NULL."""

OF_THE_MATCHER = frozenset(
    re.findall(
        r"\w+",
        """add and array_concat array_reverse array_sort bitand bitnot bitor bitxor case days_between div eq ge gt
        hours_between in intdiv isnull le listagg lookup lt microseconds_between milliseconds_between minutes_between
        mod months_between mul ne neg not nseq or percentile quarters_between seconds_between stddev_pop stddev_samp
        sub subscript var_pop var_samp weeks_between years_between""",
    )
)
"""Operations of the registry that are operators, aggregates, or parts of other functions."""

INTRODUCTION = """All functions of Spark SQL work. `SHOW FUNCTIONS LIKE 'date*'` shows what some of them do. This page
has the functions that cepsql adds, and those of Spark with a limit. A script makes it from the code.

## In patterns

These stand in `MEASURES` and in `DEFINE`, unless the table says otherwise. They read columns, or expressions on a row.
[Patterns](patterns.md#measures-and-what-expressions-can-read) explains them. Measures are NULL at a row that no
match covers."""

PATTERN_EXAMPLE = """```sql
SELECT n, price, called, number, first_price, highest, highest_so_far, before, after
FROM (VALUES (1, 10), (2, 12), (3, 15), (4, 11)) AS t (n, price)
MATCH_RECOGNIZE (
  ORDER BY n
  MEASURES
    CLASSIFIER() AS called, MATCH_NUMBER() AS number, FIRST(price) AS first_price,
    FINAL LAST(UP.price) AS highest, LAST(UP.price) AS highest_so_far, PREV(price) AS before, NEXT(price) AS after
  ALL ROWS PER MATCH
  PATTERN (BOTTOM UP+)
  DEFINE UP AS price > LAST(price, 1)
) AS m
ORDER BY n;
```

```text
 n | price | called | number | first_price | highest | highest_so_far | before | after
---+-------+--------+--------+-------------+---------+----------------+--------+-------
 1 |    10 | BOTTOM |      1 |          10 |      15 |           NULL |   NULL |    12
 2 |    12 | UP     |      1 |          10 |      15 |             12 |     10 |    15
 3 |    15 | UP     |      1 |          10 |      15 |             15 |     12 |    11
```

The functions of whole matches, with a match that ran out of time:

```sql
SELECT key, length(id) AS digits, timed_out, CAST(rowtime AS STRING) AS rowtime
FROM (VALUES
  ('a', TIMESTAMP '2026-03-02 09:00:00', 'ask'), ('a', TIMESTAMP '2026-03-02 09:00:20', 'answer'),
  ('b', TIMESTAMP '2026-03-02 09:00:00', 'ask'), ('b', TIMESTAMP '2026-03-02 09:05:00', 'answer')
) AS t (key, at, kind)
MATCH_RECOGNIZE (
  PARTITION BY key ORDER BY at
  MEASURES MATCH_ID() AS id, MATCH_TIMEOUT() AS timed_out, MATCH_ROWTIME() AS rowtime
  ONE ROW PER MATCH SHOW TIMEOUT MATCHES
  PATTERN (ASK ANSWER) WITHIN INTERVAL '1' MINUTE
  DEFINE ASK AS kind = 'ask', ANSWER AS kind = 'answer'
) AS m;
```

```text
 key | digits | timed_out | rowtime
-----+--------+-----------+---------------------
 a   |     32 | false     | 2026-03-02 09:00:20
 b   |     32 | true      | 2026-03-02 09:00:00
```"""

OWN_EXAMPLE = """```sql
SELECT
  clock_corrected(
    TIMESTAMP '1970-01-01 00:00:05', TIMESTAMP '1970-01-01 00:00:09', TIMESTAMP '2026-03-02 09:00:12'
  ) AS at,
  clock_corrected(NULL, now(), now()) AS unknown,
  PROCTIME() <= now() AS past;
```

```text
 at                  | unknown | past
---------------------+---------+------
 2026-03-02 09:00:08 | NULL    | true
```

[Whose clock](streams.md#whose-clock) explains both."""
