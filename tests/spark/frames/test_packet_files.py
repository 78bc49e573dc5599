"""Large packets go to the buckets as files, which last as long as their micro-batch."""

import itertools
import os
from types import SimpleNamespace

import pyarrow as pa
import pytest
from chance import everyday

import cepsql
from cepsql.ordered.packet import open_packet
from cepsql.spark.checkpoint.checkpoint_path import remove_tree
from cepsql.spark.frames.packet_files import LEAST_BYTES, Packing, empty, fetched, make_packet_folder

ROWS = 40_000
QUERY = """SELECT * FROM s MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts MEASURES A.v AS a, B.v AS b PATTERN (A B) DEFINE B AS v <> A.v)"""


def rows(count: int) -> pa.RecordBatch:
    times = pa.array(range(count), pa.int64())
    values = pa.array([f"value {i * 7919 % 65537}" for i in range(count)])
    return pa.RecordBatch.from_arrays([times, values, pa.array([0] * count, pa.int32())], ["t", "v1", "bucket"])


def packets(packing: Packing, count: int) -> list[bytes]:
    return [packet for batch in packing.packets([rows(count)]) for packet in batch["packet"].to_pylist()]


def test_a_large_packet_is_a_file_until_the_batch_is_over(tmp_path):
    plain, in_files = packets(Packing(2), ROWS), packets(Packing(2, folder=tmp_path), ROWS)
    # All rows are in bucket 0.
    assert len(plain[0]) > LEAST_BYTES > len(in_files[0]) and plain[1] == in_files[1]
    assert len(os.listdir(tmp_path)) == 1
    for _ in range(2):
        # A batch may be computed again.
        assert [fetched(packet) for packet in in_files] == plain
    assert open_packet(fetched(in_files[0])).rows.num_rows == ROWS
    empty(tmp_path)
    assert os.listdir(tmp_path) == []
    remove_tree(tmp_path)
    assert not tmp_path.exists()
    empty(tmp_path)
    remove_tree(tmp_path)


def test_a_folder_that_was_tidied_away_is_made_again(tmp_path):
    packing = Packing(2, folder=tmp_path / "gone")
    assert [fetched(packet) for packet in packets(packing, ROWS)] == packets(Packing(2), ROWS)


def test_small_packets_are_no_files(tmp_path):
    assert packets(Packing(2, folder=tmp_path), 100) == packets(Packing(2), 100)
    assert os.listdir(tmp_path) == []


def stub(master: str, **settings: str) -> SimpleNamespace:
    conf = {name.replace("_", "."): value for name, value in settings.items()}
    return SimpleNamespace(_jsparkSession=None, sparkContext=SimpleNamespace(master=master), conf=conf)


def test_the_folder_lies_where_spark_has_its_files(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    folder = make_packet_folder(stub("local[2]", spark_local_dir=f"{tmp_path},/elsewhere"))
    assert folder.is_relative_to(tmp_path) and os.path.isdir(folder)
    assert os.stat(folder).st_mode & 0o077 == 0
    assert make_packet_folder(stub("local[2]", spark_local_dir=str(tmp_path))) != folder
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(other))
    assert make_packet_folder(stub("local[2]", spark_local_dir=str(tmp_path))).is_relative_to(other)
    assert os.path.isdir(make_packet_folder(stub("local[2]", spark_local_dir="/not there")))


def test_other_machines_and_encrypted_disks_get_no_files(tmp_path):
    assert make_packet_folder(stub("spark://host:7077", spark_local_dir=str(tmp_path))) is None
    encrypted = stub("local[2]", spark_local_dir=str(tmp_path), spark_io_encryption_enabled="true")
    assert make_packet_folder(encrypted) is None
    assert make_packet_folder(SimpleNamespace()) is None
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("scan", "fails"), everyday(itertools.product(["auto", "spark"], [False, True]), 3))
def test_a_query_leaves_no_packets(spark, tmp_path, scan, fails):
    folder, file_counts, seen = tmp_path / "in", [], []
    folder.mkdir()
    engine = cepsql.connect(spark)
    engine.sql(f"""SET cepsql.scan = '{scan}';
        CREATE STREAM s (k INT, ts TIMESTAMP, v STRING, WATERMARK FOR ts AS ts) USING csv OPTIONS (path '{folder}')""")

    def write(number: int) -> None:
        lines = [
            f"{i % 5},2026-01-01 0{number}:{i // 6000:02}:{i // 100 % 60:02}.{i % 100:02},value {i * 7919 % 65537}\n"
            for i in range(ROWS)
        ]
        hidden = tmp_path / f"{number}.csv"
        hidden.write_text("".join(lines))
        hidden.rename(folder / hidden.name)

    def take(batch: pa.Table, _) -> None:
        file_counts.append(len(os.listdir(standing._checkpoint.packets)))
        seen.append(batch.num_rows)
        if fails:
            raise ValueError("no more")

    standing = engine.sql(QUERY).start(take)
    left = standing._checkpoint.packets
    try:
        for number in range(2):
            write(number)
            standing.process_available()
            assert os.listdir(left) == []
    except cepsql.Error:
        assert fails
    finally:
        standing.stop()
    assert not os.path.exists(left)
    assert all(file_counts) and len(file_counts) == (1 if fails else 2)
    if not fails:
        # The rows of each key in pairs.
        assert sum(seen) == ROWS
