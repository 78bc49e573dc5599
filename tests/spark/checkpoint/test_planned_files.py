"""Which files a micro-batch has: none twice, whatever they are called, and after a kill those that it would have."""

import os
from pathlib import Path

import pytest
from chance import everyday

import cepsql
from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.planned_files import PlannedFiles, forget_unplanned
from cepsql.spark.sources.watching.notices import warn_of_gone

FILE = '{{"path":"file:///in/{name}.csv","timestamp":{name},"batchId":{name}}}'


@pytest.fixture
def engine(spark, tmp_path):
    (tmp_path / "in").mkdir()
    connected = cepsql.connect(spark)
    connected.sql(f"""CREATE STREAM s (id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) USING csv
        OPTIONS (path '{tmp_path}/in', maxFilesPerTrigger '2')""")
    return connected


def put(folder: Path, number: int, name: str = "") -> None:
    hidden = folder / "in" / ".new"
    hidden.write_text(f"{number},2026-01-01 00:00:{number:02}\n")
    os.utime(hidden, (1_000_000_000 + number, 1_000_000_000 + number))
    hidden.rename(folder / "in" / (name or f"{number}.csv"))


MATCH = "SELECT id FROM s MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS id PATTERN (A))"


@pytest.mark.parametrize(
    ("query", "odd"),
    everyday(
        [
            ("SELECT id FROM s", "export [1].csv"),
            ("SELECT id FROM s", "a\\b.csv"),
            (MATCH, "a*.csv"),
            (MATCH, "{x}.csv"),
        ]
    ),
)
def test_a_name_like_a_pattern_is_refused_where_rows_would_come_twice(query, odd, engine, tmp_path):
    ids: list[int] = []

    def run(**options):
        return engine.query(query).start(lambda rows, _: ids.extend(rows["id"].to_pylist()), **options)

    put(tmp_path, 0)
    put(tmp_path, 1, odd)
    with pytest.raises(OperationalError, match="a micro-batch has 2 files, and Spark takes the name of one") as caught:
        run(checkpoint=str(tmp_path / "c [1]"), drain=True).await_(600)
    assert str(tmp_path / "in" / odd) in caught.value.message
    assert not ids
    # Under another name it is read; what comes alone in a batch may be called anything.
    (tmp_path / "in" / odd).rename(tmp_path / "in" / "plain.csv")
    with run(checkpoint=str(tmp_path / "c [1]")) as standing:
        standing.process_available()
        put(tmp_path, 2, odd)
        standing.process_available()
    assert run(checkpoint=str(tmp_path / "c [1]"), drain=True).await_(600)
    assert sorted(ids) == [0, 1, 2]


def test_progress_has_what_was_processed(engine, tmp_path):
    """Spark's events of micro-batches come later than the batches end."""
    with engine.query(MATCH).start(lambda *_: None) as standing:
        for number in range(6):
            put(tmp_path, number)
            standing.process_available()
            assert (standing.progress.rows_read, standing.progress.batches) == (number + 1, number + 1)


def test_files_that_no_batch_has_are_found_anew(engine, tmp_path):
    batches: dict[int, list[int]] = {}
    checkpoint = tmp_path / "c"

    def run() -> None:
        with engine.query("SELECT id FROM s").start(
            lambda rows, batch: batches.update({batch: sorted(rows["id"].to_pylist())}), checkpoint=str(checkpoint)
        ) as standing:
            standing.process_available()

    for number in range(2):
        for file in range(2):
            put(tmp_path, 2 * number + file)
        run()
    # As a process leaves it that is killed between listing files and planning a batch with them.
    for log in ("offsets", "commits"):
        (checkpoint / "spark" / log / "1").unlink()
        (checkpoint / "spark" / log / ".1.crc").unlink(missing_ok=True)
    put(tmp_path, 4)
    run()
    assert batches == {0: [0, 1], 1: [2, 3], 2: [4]}


def test_a_log_keeps_what_batches_have(tmp_path):
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "7").write_text('v1\n{}\n{"logOffset":8}\n-\n{"t":{"0":5}}\n')
    logs = {
        "0/8": [8], "0/9.compact": [7, 8, 9], "0/10": [10], "1/0": [0], "3/0": [0],
    }  # fmt: skip
    for name, numbers in logs.items():
        place = tmp_path / "sources" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("\n".join(["v1", *(FILE.format(name=number) for number in numbers)]))
    kafka = tmp_path / "sources" / "2" / "0"
    kafka.parent.mkdir()
    kafka.write_text('v1\n{"t":{"0":5}}')
    forget_unplanned(tmp_path, 7)
    left = {str(path.relative_to(tmp_path / "sources")) for path in (tmp_path / "sources").glob("*/*")}
    # Nothing is known of a source that the batch does not name.
    assert left == {"0/8", "0/9.compact", "2/0", "3/0"}
    assert (tmp_path / "sources" / "0" / "9.compact").read_text().splitlines()[1:] == [
        FILE.format(name=number) for number in (7, 8)
    ]


def test_a_batch_is_not_done_again_without_a_file_that_it_had(engine, tmp_path):
    ids: list[int] = []

    def run() -> None:
        with engine.query(MATCH).start(
            lambda rows, _: ids.extend(rows["id"].to_pylist()), checkpoint=str(tmp_path / "c")
        ) as standing:
            standing.process_available()

    for number in range(4):
        put(tmp_path, number)
    run()
    commits = tmp_path / "c" / "spark" / "commits"
    # As a process leaves it that is killed before Spark's commit.
    for name in ("1", ".1.crc"):
        (commits / name).unlink()
    (tmp_path / "in" / "2.csv").rename(tmp_path / "2.csv")
    for _ in range(2):
        with pytest.raises(OperationalError, match=f"files of it are gone: {tmp_path}/in/2.csv"):
            run()
    (tmp_path / "2.csv").rename(tmp_path / "in" / "2.csv")
    put(tmp_path, 4)
    run()
    assert ids == [0, 1, 2, 3, 2, 3, 4]


def test_files_that_are_gone_before_their_first_batch_are_named(spark, tmp_path, caplog):
    there = tmp_path / "there.csv"
    there.touch()
    for folder in ("offsets", "sources/0"):
        (tmp_path / "c/spark" / folder).mkdir(parents=True)
    (tmp_path / "c/spark/offsets/0").write_text('v1\n{}\n{"logOffset":0}')
    entries = (f'{{"path":"file://{path}","timestamp":1,"batchId":0}}' for path in (there, tmp_path / "gone.csv"))
    (tmp_path / "c/spark/sources/0/0").write_text("\n".join(["v1", *entries]))
    files = PlannedFiles(tmp_path / "c/spark", spark)
    assert files.check(0) == [f"{tmp_path}/gone.csv"]
    warn_of_gone(0, files.check(0))
    assert caplog.messages == [f"batch 0: not read: found, and gone before it was read: {tmp_path}/gone.csv"]
    with pytest.raises(OperationalError, match="is done again, and files of it are gone"):
        files.check(0, again=True)
