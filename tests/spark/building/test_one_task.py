"""Operators over changes give the same rows in one task as in tasks of their own, with restarts, and may share rows."""

import json
from collections import Counter
from functools import partial

import pytest
from chance import draws, everyday
from folded import fold

import cepsql
from cepsql.errors import OperationalError
from cepsql.spark.building.frame_options import FrameOptions
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.checkpoint import checkpoint
from cepsql.spark.checkpoint.checkpoint import ARROW_SCAN
from cepsql.spark.checkpoint.checkpoint_files import last_planned, planned_offsets
from cepsql.spark.jvm.spark_plan import analyzed, is_match, nodes
from cepsql.testing import play

STREAMS = """
CREATE STREAM orders (id INT, city STRING, total INT, at TIMESTAMP, PRIMARY KEY (id), WATERMARK FOR at AS at) USING csv;
CREATE STREAM cities (name STRING, country STRING, gone BOOLEAN, PRIMARY KEY (name) DELETE WHEN gone) USING csv;
CREATE STREAM visits (city STRING, guests INT) USING csv;
CREATE VIEW sums AS SELECT city, COUNT(*) AS n, SUM(total) AS total FROM orders GROUP BY city;
"""
ONE = {
    "a group over a join": """
        SELECT c.country, COUNT(*) AS n, SUM(o.total) AS total FROM orders AS o JOIN cities AS c ON c.name = o.city
        GROUP BY c.country""",
    "ranks over a group over two joins": """
        SELECT * FROM (
          SELECT c.country, v.city, SUM(v.guests * o.total) AS x FROM visits AS v
          JOIN orders AS o ON o.city = v.city LEFT JOIN cities AS c ON c.name = v.city GROUP BY c.country, v.city)
        ORDER BY x DESC, city LIMIT 2""",
    "a view that is read twice": """
        SELECT a.city, a.n, b.total FROM sums AS a JOIN sums AS b ON a.n = b.n AND a.city < b.city""",
    "a stream that is read three times": """
        SELECT v.city, v.guests, COUNT(*) AS n FROM visits AS v JOIN visits AS w ON w.guests = v.guests
        LEFT JOIN visits AS x ON x.city = w.city AND x.guests < v.guests WHERE v.city <> 'oslo'
        GROUP BY v.city, v.guests""",
    "a count of nothing": "SELECT COUNT(*) AS n FROM orders AS o JOIN cities AS c ON c.name = o.city",
    "a subquery and a frame": """
        SELECT city, total, SUM(total) OVER (PARTITION BY city ORDER BY id) AS running FROM orders
        WHERE city IN (SELECT name FROM cities WHERE country = 'it')""",
}
TWO = {
    "what only Spark computes": """
        SELECT soundex(country) AS sound, COUNT(*) AS n FROM (
          SELECT c.country FROM orders AS o JOIN cities AS c ON c.name = o.city) GROUP BY soundex(country)""",
    "rows that leave by time": """
        SELECT c.country, SUM(o.total) AS total FROM orders AS o JOIN cities AS c ON c.name = o.city
        WHERE o.at > NOW() - INTERVAL '3' SECONDS GROUP BY c.country""",
}


@pytest.fixture(scope="module")
def engine(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("in")
    engine = cepsql.connect(spark, catalog="")
    for statement in STREAMS.split(";")[:-1]:
        engine.sql(statement.replace("USING csv", f"USING csv OPTIONS (path '{folder}')"))
    return engine


def _stages(engine, select: str) -> int:
    return sum(map(is_match, nodes(analyzed(engine.sql(f"{select} EMIT CHANGES").build()))))


def _batches(name: str) -> list[dict]:
    chance, drawn = draws(name), []
    for number in range(4):
        second = 2 * number + chance.randint(0, 1)
        orders = [
            (chance.randint(0, 4), chance.choice(["rome", "oslo", "bari", None]), chance.randint(1, 9), second)
            for _ in range(3)
        ]
        cities = [
            (name, chance.choice(["it", "no", None]), chance.random() < 0.3)
            for name in chance.sample(["rome", "oslo", "bari"], chance.randint(0, 2))
        ]
        visits = [(chance.choice(["rome", "oslo", None]), chance.randint(1, 3)) for _ in range(2)]
        timed = [(*order[:3], f"2026-01-01 00:00:{order[3]:02d}") for order in orders]
        drawn.append({"orders": timed, "cities": cities, "visits": visits})
    return drawn


def _of(select: str, batches: list[dict]) -> list[dict]:
    """Return what comes of the streams that a SELECT reads."""
    read = {
        name for name in ("orders", "cities", "visits") if name in select or (name == "orders" and "sums" in select)
    }
    return [{name: rows for name, rows in batch.items() if name in read} for batch in batches]


def _played(select: str, one_task: str, restart, spark) -> list[Counter]:
    setting = f"SET 'cepsql.one_task' = '{one_task}';"
    played = play(
        f"{setting}{STREAMS}{select} EMIT CHANGES", _of(select, _batches(select)), restart=restart, spark=spark
    )
    return [Counter(map(tuple, rows)) for rows in played]


@pytest.mark.parametrize("name", everyday(ONE | TWO, 2))
def test_one_task_gives_what_tasks_of_their_own_give(spark, name):
    select = (ONE | TWO)[name]
    together = _played(select, "true", [0, 2], spark)
    assert together == _played(select, "false", [1], spark)
    assert sum(map(len, together)) > 0


@pytest.mark.parametrize(("name", "stages"), [*((name, 1) for name in ONE), *((name, 2) for name in TWO)])
def test_operators_share_a_task_where_arrow_computes_what_is_between(engine, name, stages):
    select = (ONE | TWO)[name]
    assert _stages(engine, select) == stages
    engine.sql("SET 'cepsql.one_task' = 'false'")
    try:
        assert _stages(engine, select) > 1
    finally:
        engine.sql("RESET 'cepsql.one_task'")


@pytest.mark.parametrize("name", everyday(ONE, 2))
def test_files_are_read_in_the_task_as_spark_reads_them(spark, tmp_path, name):
    select, totals = ONE[name], {}
    batches = _of(select, _batches(select))
    for scan in ("auto", "spark"):
        engine = cepsql.connect(spark, catalog="")
        folder = tmp_path / scan
        for statement in STREAMS.split(";")[:-1]:
            stream = statement.split()[2]
            engine.sql(statement.replace("USING csv", f"USING csv OPTIONS (path '{folder / stream}')"))
        engine.sql(f"SET 'cepsql.scan' = '{scan}'")
        query = engine.sql(f"{select} EMIT CHANGES")
        rows: Counter = Counter()
        totals[scan] = []
        for number, batch in enumerate(batches):
            for stream, values in batch.items():
                (folder / stream).mkdir(parents=True, exist_ok=True)
                lines = (",".join("" if value is None else str(value) for value in row) for row in values)
                (folder / stream / f"{number}.csv").write_text("".join(f"{line}\n" for line in lines))
            with query.start(partial(fold, rows), checkpoint=folder / "checkpoint") as standing:
                standing.process_available()
            totals[scan].append(+rows)
    assert totals["auto"] == totals["spark"]
    assert any(totals["auto"])


def test_one_source_tells_all_operators_of_a_task_what_the_control_folder_says(engine, tmp_path):
    frame = engine.sql(f"{ONE['ranks over a group over two joins']} EMIT CHANGES").build(
        FrameOptions(control=str(tmp_path))
    )
    assert sum(node.nodeName().startswith("Streaming") for node in nodes(analyzed(frame))) == 4


def test_inputs_over_one_stream_are_read_as_one_source(engine, tmp_path):
    query = engine.sql(f"{ONE['a stream that is read three times']} EMIT CHANGES")
    for one_scan, sources in ((True, 2), (False, 4)):
        sharing = Sharing(begun_tasks=None, one_scan=one_scan)
        frame = query.build(FrameOptions(control=str(tmp_path), scan=ARROW_SCAN, sharing=sharing))
        assert sum(node.nodeName().startswith("Streaming") for node in nodes(analyzed(frame))) == sources


@pytest.mark.parametrize(("flag", "sources"), [("one_control", 5), ("one_scan", 4)])
def test_a_checkpoint_with_more_sources_goes_on(spark, tmp_path, monkeypatch, flag, sources):
    engine = cepsql.connect(spark, catalog="")
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.csv").write_text("a,1\nb,2\n")
        engine.sql(f"CREATE STREAM {name}_s (k STRING, x INT) USING csv OPTIONS (path '{tmp_path / name}')")
    query = engine.sql("""
        SELECT k, COUNT(*) AS n FROM (
          SELECT l.k FROM left_s AS l JOIN right_s AS r ON l.k = r.k JOIN right_s AS q ON l.x = q.x) GROUP BY k
        EMIT CHANGES""")
    plan = tmp_path / "checkpoint" / "plan.json"
    rows = Counter()

    def run() -> int:
        with query.start(partial(fold, rows), checkpoint=plan.parent) as standing:
            standing.process_available()
        folder = plan.parent / "spark"
        return len(planned_offsets(folder, last_planned(folder)))

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "Checkpoint", partial(checkpoint.Checkpoint, **{flag: False}))
        assert run() == sources
    description = json.loads(plan.read_text())
    assert description.pop(flag) is False
    plan.write_text(json.dumps(description))
    (tmp_path / "left" / "2.csv").write_text("a,2\nb,1\n")
    assert run() == sources
    assert +rows == {("a", 2): 1, ("b", 2): 1}


def test_a_checkpoint_stays_as_it_was_begun(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("a,2\na,3\nb,1\n")
    engine = cepsql.connect(spark, catalog="")
    engine.sql(f"CREATE STREAM s (k STRING, x INT) USING csv OPTIONS (path '{tmp_path / 'in'}')")
    query = engine.sql(
        "SELECT n, COUNT(*) AS keys FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) GROUP BY n EMIT CHANGES"
    )
    plan = tmp_path / "checkpoint" / "plan.json"
    rows = Counter()

    def run() -> list[int]:
        with query.start(partial(fold, rows), checkpoint=plan.parent) as standing:
            standing.process_available()
            operators = [one.operator for one in standing.progress.operators]
        assert len(operators) == len(set(operators)) == 2
        return json.loads(plan.read_text())["tasks"]

    assert run() == [0]
    engine.sql("SET 'cepsql.one_task' = 'false'")
    (tmp_path / "in" / "2.csv").write_text("b,1\nb,2\n")
    assert run() == [0]
    assert +rows == {(2, 1): 1, (3, 1): 1}
    engine.sql("SET spark.sql.legacy.timeParserPolicy = LEGACY")
    try:
        with pytest.raises(OperationalError, match="was begun with operators in one task"):
            run()
    finally:
        engine.sql("RESET spark.sql.legacy.timeParserPolicy")
