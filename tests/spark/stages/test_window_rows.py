"""The windows that WINDOW (...) and TABLE(...) give the rows of a table: Spark's own, and those of a calendar."""

import datetime
from collections import Counter
from zoneinfo import ZoneInfo

import pytest
from chance import draws, everyday

import cepsql

FIXED = {
    "TUMBLING (SIZE 90 MINUTES)": "window(ts, '90 minutes')",
    "TUMBLING (SIZE 1 HOUR, OFFSET -10 MINUTES)": "window(ts, '1 hour', '1 hour', '-10 minutes')",
    "HOPPING (SIZE 100 MINUTES, ADVANCE BY 30 MINUTES)": "window(ts, '100 minutes', '30 minutes')",
    "HOPPING (SIZE 1 HOUR, ADVANCE BY 20 MINUTES, OFFSET 7 MINUTES)": "window(ts, '1 hour', '20 minutes', '7 minutes')",
}
# When windows begin and end, on the clocks of the place, for a time on them.
CALENDAR = {
    "TUMBLING (SIZE 1 DAY)": lambda at: [(day(at), day(at) + days(1))],
    "TUMBLING (SIZE 1 WEEK)": lambda at: [(monday(at), monday(at) + days(7))],
    "TUMBLING (SIZE 7 DAYS)": lambda at: [(monday(at, 3), monday(at, 3) + days(7))],
    "TUMBLING (SIZE 1 MONTH)": lambda at: [(month(at, 0, 1), month(at, 1, 1))],
    "TUMBLING (SIZE 2 YEARS)": lambda at: [(month(at, 0, 24), month(at, 1, 24))],
    "HOPPING (SIZE 3 DAYS, ADVANCE BY 1 DAY)": lambda at: [
        (day(at) - days(i), day(at) + days(3 - i)) for i in range(3)
    ],
    "TUMBLING (SIZE 1 DAY, OFFSET 6 HOURS)": lambda at: [shifted(at, 6)],
    "CUMULATING (SIZE 1 MONTH, STEP 1 WEEK)": lambda at: [
        (month(at, 0, 1), min(month(at, 0, 1) + days(7 * n), month(at, 1, 1)))
        for n in range(1, 6)
        if at < month(at, 0, 1) + days(7 * n) and month(at, 0, 1) + days(7 * n - 7) < month(at, 1, 1)
    ],
}


def days(count: int) -> datetime.timedelta:
    return datetime.timedelta(days=count)


def day(at: datetime.datetime) -> datetime.datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def monday(at: datetime.datetime, first: int = 0) -> datetime.datetime:
    return day(at) - days((at.weekday() - first) % 7)


def month(at: datetime.datetime, later: int, every: int) -> datetime.datetime:
    months = ((at.year - 1970) * 12 + at.month - 1) // every * every + later * every
    return datetime.datetime(1970 + months // 12, months % 12 + 1, 1)


def shifted(at: datetime.datetime, hours: int) -> tuple[datetime.datetime, datetime.datetime]:
    hour = datetime.timedelta(hours=hours)
    begin = day(at - hour) + hour
    return begin, begin + days(1)


def times(seed: str) -> list[datetime.datetime]:
    """Make times in UTC, many of them about the days on which clocks are set forward and back in Berlin."""
    chance, drawn = draws(seed), []
    for _ in range(120):
        begin = chance.choice(
            [datetime.datetime(2026, 3, 28), datetime.datetime(2026, 10, 24), datetime.datetime(1969, 12, 1)]
        )
        drawn.append(begin + datetime.timedelta(seconds=chance.randint(0, 86_400 * chance.choice([3, 70]))))
    return drawn


@pytest.fixture(params=everyday(["timestamp_ntz", "timestamp"]))
def engine(request, spark):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    kind, zone = request.param, ZoneInfo("Europe/Berlin")
    seconds = [at.replace(tzinfo=datetime.UTC).timestamp() for at in times(kind)]
    frame = spark.createDataFrame([(second,) for second in seconds], "second DOUBLE")
    frame = frame.selectExpr(f"CAST(timestamp_seconds(second) AS {kind}) AS ts").union(spark.sql("SELECT NULL"))
    engine = cepsql.connect(spark)
    engine.register("rows", frame.selectExpr(f"CAST(ts AS {kind}) AS ts"))
    yield engine, [datetime.datetime.fromtimestamp(second, zone).replace(tzinfo=None) for second in seconds]
    spark.conf.set("spark.sql.session.timeZone", before)


def rows(engine, query: str) -> list[tuple]:
    texts = f"SELECT CAST(ts AS STRING), CAST(window_start AS STRING), CAST(window_end AS STRING) FROM ({query})"
    return sorted(tuple(row) for row in engine.sql(texts).collect())


def test_windows_of_a_fixed_length_are_those_of_spark(engine):
    engine, _ = engine
    for clause, call in FIXED.items():
        ours = rows(engine, f"SELECT * FROM rows WINDOW {clause}")
        assert ours == rows(
            engine, f"SELECT ts, w.start AS window_start, w.end AS window_end FROM (SELECT ts, {call} AS w FROM rows)"
        ), clause


def test_days_weeks_and_months_are_those_of_the_clocks(engine):
    engine, clocks = engine
    for clause, windows in CALENDAR.items():
        expected = sorted((str(at), str(begin), str(end)) for at in clocks for begin, end in windows(at))
        assert rows(engine, f"SELECT * FROM rows WINDOW {clause}") == expected, clause


def test_so_are_those_of_window_in_sparks_words(engine):
    engine, clocks = engine
    for call, clause in (
        ("window(ts, '1 day')", "TUMBLING (SIZE 1 DAY)"),
        ("window(ts, '1 week')", "TUMBLING (SIZE 7 DAYS)"),
        ("window(ts, INTERVAL '1' MONTH)", "TUMBLING (SIZE 1 MONTH)"),
        ("window(ts, '3 days', '1 day')", "HOPPING (SIZE 3 DAYS, ADVANCE BY 1 DAY)"),
    ):
        query = engine.sql(f"""
            SELECT CAST(window.start AS STRING) AS since, CAST(window.end AS STRING) AS until, COUNT(*) AS n
            FROM rows GROUP BY {call}""").collect()
        expected = Counter((str(begin), str(end)) for at in clocks for begin, end in CALENDAR[clause](at))
        assert {(row.since, row.until): row.n for row in query} == expected, call


def test_rows_lie_in_their_windows(engine):
    """Also where an hour does not exist, or exists twice, at the very time of the day at which windows begin."""
    engine, _ = engine
    for clause in (
        "TUMBLING (SIZE 1 DAY, OFFSET 150 MINUTES)",
        "HOPPING (SIZE 2 DAYS, ADVANCE BY 1 DAY, OFFSET 2 HOURS)",
        "HOPPING (SIZE 1 DAY, ADVANCE BY 6 HOURS)",
        "CUMULATING (SIZE 1 DAY, STEP 1 HOUR)",
        "HOPPING (SIZE 1 MONTH, ADVANCE BY 1 DAY)",
    ):
        query = engine.sql(f"""
            SELECT COUNT_IF(NOT (window_start <= ts AND ts < window_end)) AS outside, COUNT(DISTINCT ts) AS n
            FROM (SELECT * FROM rows WINDOW {clause})""").collect()
        distinct = engine.sql("SELECT COUNT(DISTINCT ts) AS n FROM rows").collect()
        assert [(row.outside, row.n) for row in query] == [(0, distinct[0].n)], clause
