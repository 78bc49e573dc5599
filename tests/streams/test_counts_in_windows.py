"""A row of a stream counts once, in however many windows it lies, and is late when the last of them is over."""

import os
from pathlib import Path

import pytest
from chance import draws, everyday

import cepsql
from cepsql.ordered.counts import Counts
from cepsql.spark.checkpoint.progress import Progress

FILES = (
    (
        "a,2026-01-01 00:00:00,1",
        ",2026-01-02 00:00:00,2",
        "a,,7",
        "a,2026-01-03 06:00:00,3",
        "a,2026-01-03 07:00:00,no",
    ),
    # The first of these lies in one window that is over and in two that are not.
    ("a,2026-01-01 12:00:00,4", "a,2026-01-31 00:00:00,5"),
    ("a,2026-01-02 00:00:00,6", ",2026-01-30 00:00:00,8"),
)
STREAM = """CREATE STREAM e (k STRING, ts TIMESTAMP, x INT, WATERMARK FOR ts AS ts - INTERVAL '1' DAY)
USING csv OPTIONS (path '{folder}/in', maxFilesPerTrigger '1')"""
LATE = " LATE ROWS INTO late USING json OPTIONS (path '{folder}/late')"
WINDOWS = {
    "hopping by hours": "HOPPING (SIZE 72 HOURS, ADVANCE BY 24 HOURS)",
    "hopping by days": "HOPPING (SIZE 3 DAYS, ADVANCE BY 1 DAY)",
    "cumulating": "CUMULATING (SIZE 72 HOURS, STEP 24 HOURS, OFFSET 48 HOURS)",
    "cumulating to a month": "CUMULATING (SIZE 1 MONTH, STEP 1 DAY)",
}
GROUPS = "SELECT {columns}, {call} AS v FROM e WINDOW {windows} GROUP BY {columns} {emit}"
BOUNDS = "window_start, window_end"
QUERIES = {
    "totals": GROUPS.format(columns=f"k, {BOUNDS}", call="SUM(x)", windows="{windows}", emit=""),
    "different values": GROUPS.format(columns=BOUNDS, call="COUNT(DISTINCT x)", windows="{windows}", emit=""),
    "sums in order": GROUPS.format(columns=f"k, {BOUNDS}", call="SUM(x / 2)", windows="{windows}", emit=""),
    "all rows": GROUPS.format(columns=f"k, {BOUNDS}", call="MEDIAN(x)", windows="{windows}", emit=""),
    "changes": GROUPS.format(columns=f"k, {BOUNDS}", call="SUM(x)", windows="{windows}", emit="EMIT CHANGES"),
    "top rows": f"""SELECT k, x, {BOUNDS} FROM e WINDOW {{windows}}
      QUALIFY ROW_NUMBER() OVER (PARTITION BY {BOUNDS} ORDER BY x DESC) <= 1""",
    "of Spark": "SELECT k, SUM(x) AS v FROM e GROUP BY k, window(ts, '3 days', '1 day')",
}
CASES = [
    (name, kind, keeps_late)
    for keeps_late in (False, True)
    for name, query in QUERIES.items()
    for kind in WINDOWS
    if "{windows}" in query or kind == "hopping by days"
]


@pytest.mark.parametrize(("name", "kind", "keeps_late"), everyday(draws("counts").sample(CASES, 12), 12))
def test_a_row_counts_once(name, kind, keeps_late, spark, tmp_path):
    query = QUERIES[name].replace("{windows}", WINDOWS[kind])
    engine, progress = counted(query, keeps_late, spark, tmp_path)
    late = 0 if "MONTH" in query else 1
    assert (progress.rows_read, progress.rows_used, progress.rows_late, progress.rows_null_time) == (
        9,
        7 - late,
        late,
        1,
    )
    if "GROUP BY k" in query:
        assert progress.rows_null_key == 2
    if keeps_late:
        reasons = [row["reason"] for row in engine.sql("SELECT reason FROM late ORDER BY reason").collect()]
        assert reasons == ["late"] * late + ["malformed", "no event time"]


@pytest.mark.nightly("the counts of two windows; those of a join are compared every day")
def test_each_reading_of_a_stream_has_its_counts(spark, tmp_path):
    windows = WINDOWS["hopping by days"]
    left, right = (
        f"SELECT {BOUNDS}, SUM(x) AS v FROM {rows} WINDOW {windows} GROUP BY {BOUNDS}"
        for rows in ("e", "(SELECT * FROM e WHERE k IS NULL)")
    )
    query = f"SELECT a.v, b.v AS w FROM ({left}) AS a JOIN ({right}) AS b ON a.window_end = b.window_end"
    _, progress = counted(query, True, spark, tmp_path)
    assert progress.inputs == {"e": Counts(9, 6, 1, 1, 1), "e 2": Counts(3, 2, 0, 1)}
    assert (progress.rows_read, progress.rows_malformed, progress.rows_late) == (12, 2, 1)


def counted(query: str, keeps_late: bool, spark, folder: Path) -> tuple[cepsql.Engine, Progress]:
    """Run a query over FILES; return what it has counted."""
    (folder / "in").mkdir()
    for number, rows in enumerate(FILES):
        file = folder / "in" / f"{number}.csv"
        file.write_text("\n".join(rows) + "\n")
        os.utime(file, (number, number))
    engine = cepsql.connect(spark)
    engine.sql((STREAM + LATE * keeps_late).format(folder=folder))
    standing = engine.query(query).start(lambda *_: None, drain=True)
    standing.await_(600)
    return engine, standing.progress
