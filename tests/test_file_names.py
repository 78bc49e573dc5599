"""Files of streams and tables: two names never come to one file."""

import itertools

import pytest

from cepsql.catalog.file_names import file_name
from cepsql.ordered.late_file import mark_folder
from cepsql.spark.sources.late_rows import LateFiles, remove_old, write_alerts
from cepsql.spark.sources.watching.time_alerts import LateAlert


def test_usual_names_are_those_of_files():
    assert [file_name(name) for name in ("Trades", "_t1", "größe", "表")] == ["trades", "_t1", "größe", "表"]


def test_names_differ_as_those_of_files_do():
    parts = ["a", "_", "-", ".", "%", "2d", "/", "ö", "\u0308", ""]
    short = map("".join, itertools.product(parts, repeat=4))
    names = {*short, *("n" * count for count in range(100, 400)), *("-" * count for count in range(30, 200))}
    names |= {file_name("-" * 200), file_name("n" * 200)}
    file_names = {file_name(name) for name in names}
    assert len(file_names) == len({name.lower() for name in names})
    assert max(len(name.encode()) for name in file_names) <= 120
    assert not any(character in name for name in file_names for character in "-./")


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_late_rows_of_streams_whose_names_are_alike(tmp_path, format):
    streams = [LateFiles(str(tmp_path), format, name, keep=1) for name in ("r-1", "r_1", "r", "_r")]
    mark_folder(tmp_path, "q")
    write_alerts(streams, [LateAlert("r-1", 120, 60, 0.05), LateAlert("_R", 100, 50, 0.05)], None, "q", 0)
    assert sorted(path.name for path in tmp_path.glob("*-*")) == [
        f"%5fr-q-000000000-alert.{format}",
        f"r%2d1-q-000000000-alert.{format}",
    ]
    for one, left in zip(reversed(streams), [1, 1, 1, 0], strict=True):
        remove_old([one], now=1e12)
        assert len(list(tmp_path.glob("*-*"))) == left
