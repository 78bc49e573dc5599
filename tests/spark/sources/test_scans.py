"""A standing query gives the same with either scan, and a checkpoint keeps the one that it was begun with."""

import json
import os

import pytest
from chance import draws, everyday
from sessions import in_mode

import cepsql
from cepsql.errors import Error, OperationalError
from cepsql.spark.checkpoint.progress import Progress

COLUMNS = """
    sym STRING, seconds INT, price DOUBLE, kind STRING, unread DATE,
    at TIMESTAMP AS timestamp_seconds(seconds), dear BOOLEAN AS price > 50.5,
    WATERMARK FOR at AS at - INTERVAL '20' SECONDS"""
QUERIES = {
    "labels": """SELECT * FROM {input} MATCH_RECOGNIZE (
        PARTITION BY sym, dear ORDER BY at
        MEASURES FIRST(A.price) AS first_price, LAST(C.at) AS ended, COUNT(B.kind) AS n
        PATTERN (A B* C) DEFINE A AS kind = 'a', B AS price > 20 OR kind IS NULL, C AS kind IN ('c', 'd')) AS m""",
    "dead": """SELECT * FROM {input} MATCH_RECOGNIZE (
        PARTITION BY sym ORDER BY at MEASURES A.price AS first_price, C.price AS last_price, MATCH_NUMBER() AS number
        PATTERN (A B*? C) WITHIN INTERVAL '1' MINUTE
        DEFINE A AS kind = 'a', C AS kind = 'c' AND C.price > A.price) AS m""",
}
JOINS = [
    "SELECT a.sym, a.at, a.price, b.at AS later, b.kind FROM ticks AS a JOIN ticks AS b ON a.sym = b.sym "
    "AND b.at BETWEEN a.at AND a.at + INTERVAL '10' SECONDS AND b.price > a.price",
    "SELECT a.sym, a.at, b.at AS later, b.dear FROM ticks AS a LEFT JOIN (SELECT * FROM ticks WHERE kind = 'c') AS b "
    "ON a.sym = b.sym AND a.kind = b.kind AND b.at BETWEEN a.at AND a.at + INTERVAL '20' SECONDS AND b.price > 1",
    "SELECT a.sym, a.at, b.price, b.at AS before FROM (SELECT *, CAST(seconds AS BIGINT) % 7 AS part FROM ticks) AS a "
    "ASOF JOIN (SELECT sym, at, price, seconds % 7 AS part FROM ticks) AS b MATCH_CONDITION (a.at > b.at) "
    "ON a.sym = b.sym AND a.part = b.part",
    "SELECT a.sym, a.price, b.kind, b.dear FROM (SELECT * FROM ticks WHERE kind = 'a') AS a "
    "LEFT JOIN (SELECT * FROM ticks WHERE kind = 'c') AS b "
    "ON a.sym = b.sym AND a.seconds % 10 = b.seconds % 10 AND b.price > a.price EMIT CHANGES",
    "SELECT sym, price FROM ticks AS a WHERE NOT EXISTS "
    "(SELECT 1 FROM ticks AS b WHERE b.sym = a.sym AND b.seconds = a.seconds AND b.kind = 'e') EMIT CHANGES",
]
INPUTS = ["ticks", "(SELECT sym, at, price, kind, dear FROM ticks WHERE kind <> 'e' OR price < 30) AS few"]


def write(folder, number, draw, start):
    lines = []
    for _ in range(120):
        seconds = draw.choice([start + draw.randint(0, 60)] * 9 + [start - 40, ""])
        price = draw.choice([round(draw.random() * 100, 2)] * 9 + ["", "many"])
        lines.append(f"{draw.choice('xyz')},{seconds},{price},{draw.choice(['a', 'b', 'c', 'd', 'e', ''])},2026-01-01")
    lines += ["z,1", ",5,5,a,", f"x,{start},1,a,soon"]
    path = folder / f".{number}.part"
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    path.rename(folder / f"{number}.csv")


def as_json(line):
    """Write a line of CSV as JSON: what is no number stays text, what is empty is null, what is missing is left out."""
    names = ("sym", "seconds", "price", "kind", "unread")
    values = zip(names, line.split(","), strict=False)
    return json.dumps({name: _value(name, text) for name, text in values})


def _value(name, text):
    try:
        return {"seconds": int, "price": float}.get(name, str)(text) if text else None
    except ValueError:
        return text


def played(spark, folder, query, scan, format="csv"):
    """Return the matches, sorted, and the counts of a drained run."""
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE STREAM ticks ({COLUMNS}) USING {format} OPTIONS (path '{folder}', maxFilesPerTrigger '2')")
    engine.sql(f"SET cepsql.scan = '{scan}'")
    query_over_stream = engine.sql(query)
    assert (query_over_stream.scan_obstacle(spark) is None) == (scan == "auto")
    with query_over_stream.start(drain=True) as standing:
        rows = [row for table in standing.rows() for row in table.to_pylist()]
    return sorted(map(repr, rows)), counts(standing.progress)


def counts(progress: Progress):
    names = ("read", "used", "late", "malformed", "null_time", "null_key")
    return [getattr(progress, f"rows_{name}") for name in names] + [progress.matches, progress.batches]


@pytest.mark.parametrize(
    ("name", "input", "ansi"),
    everyday(((*case, ansi) for case in zip(QUERIES, INPUTS, strict=True) for ansi in (False, True)), 6),
)
def test_both_scans_agree(spark, tmp_path, name, input, ansi):
    draw = draws(name + input)
    for number in range(4):
        write(tmp_path, number, draw, 1000 + 50 * number)
    query = QUERIES[name].format(input=input)
    spark = in_mode(spark, ansi)
    by_arrow, expected = (played(spark, tmp_path, query, scan) for scan in ("auto", "spark"))
    assert by_arrow == expected
    read, used, late, malformed, null_time, null_key, matches, _ = by_arrow[1]
    assert read == used + late + malformed + null_time
    assert min(used, late, malformed, null_time, null_key, matches) > 0


@pytest.mark.parametrize("join", everyday(JOINS, 3))
def test_both_scans_agree_on_joins(spark, tmp_path, join):
    draw = draws(join)
    for number in range(4):
        write(tmp_path, number, draw, 1000 + 50 * number)
    by_arrow, expected = (played(spark, tmp_path, join, scan) for scan in ("auto", "spark"))
    assert by_arrow == expected
    assert len(by_arrow[0]) > 100
    read, used, late, malformed, null_time, null_key = by_arrow[1][:6]
    assert min(read, used, malformed, null_key) > 0
    # Changes go by no event time.
    assert min(late, null_time) == max(late, null_time) == 0 if "EMIT" in join else min(late, null_time) > 0


def test_both_scans_agree_on_json_lines(spark, tmp_path):
    draw = draws(8)
    for number in range(2):
        write(tmp_path, number, draw, 1000 + 50 * number)
        path = tmp_path / f"{number}.csv"
        path.write_text("".join(as_json(line) + "\n" for line in path.read_text().splitlines()) + "{broken\n")
    query = QUERIES["labels"].format(input="ticks")
    by_arrow, expected = (played(spark, tmp_path, query, scan, "json") for scan in ("auto", "spark"))
    assert by_arrow == expected
    read, used, late, malformed, null_time, _, matches, _ = by_arrow[1]
    assert read == used + late + malformed + null_time
    assert min(used, malformed, null_time, matches) > 0


def test_a_checkpoint_keeps_its_scan(spark, tmp_path):
    folder, checkpoint = tmp_path / "files", str(tmp_path / "checkpoint")
    folder.mkdir()
    draw = draws(4)
    engine = cepsql.connect(spark)
    engine.sql(f"CREATE STREAM ticks ({COLUMNS}) USING csv OPTIONS (path '{folder}')")
    query = engine.sql(QUERIES["dead"].format(input="ticks"))
    read = []
    for number, scan in enumerate(["auto", "spark"]):
        write(folder, number, draw, 1000 + 100 * number)
        engine.sql(f"SET cepsql.scan = '{scan}'")
        with query.start(checkpoint=checkpoint) as standing:
            standing.process_available()
        read.append(standing.progress.rows_read)
    assert read == [123, 246]
    engine.sql(f"CREATE OR REPLACE STREAM ticks ({COLUMNS}) USING csv OPTIONS (path '{folder}', quote '$')")
    with pytest.raises(OperationalError, match=r"belongs to a different query: .*options.quote was nothing and is"):
        engine.sql(QUERIES["dead"].format(input="ticks")).start(checkpoint=checkpoint)


@pytest.mark.parametrize("text", everyday([
    QUERIES["labels"].format(input="(SELECT sym, dear, at, kind, 1 / price AS price FROM ticks)"),
    "SELECT sym, 1 / price AS inverse FROM ticks WHERE kind IS NOT NULL",
]))  # fmt: skip
def test_what_ansi_mode_refuses_is_refused_by_either_scan(spark, tmp_path, text):
    write(tmp_path, 0, draws(1), 1000)
    engine, outputs = cepsql.connect(in_mode(spark, True)), []
    engine.sql(f"CREATE STREAM ticks ({COLUMNS}) USING csv OPTIONS (path '{tmp_path}')")
    for again in (False, True):
        for scan in ("auto", "spark"):
            engine.sql(f"SET cepsql.scan = '{scan}'")
            query = engine.sql(text)
            assert (query.scan_obstacle(engine.spark) is None) == (scan == "auto")
            standing = query.start(drain=True)
            if again:
                with pytest.raises(Error, match="by zero"):
                    standing.await_(60)
            else:
                outputs.append(sorted(str(row) for rows in standing.rows() for row in rows.to_pylist()))
        (tmp_path / "1.csv").write_text("x,1100,0,a,2026-01-01\n")
    assert outputs[0] == outputs[1] != []
