"""The writer of a view keeps a connection to its file, and still writes only into the file that is there."""

import contextlib
import os
import sqlite3

import pytest
from kept_views import WrittenView

import cepsql
from cepsql.errors import OperationalError
from cepsql.sinks.fitted import Unavailable

COLUMNS = (("city", "string"), ("n", "bigint"))


@pytest.fixture
def written(tmp_path):
    """A view with a batch, and its file."""
    file = tmp_path / "v.db"
    with cepsql.connect() as engine:
        view = WrittenView(engine, f"sqlite:///{file}", "v", COLUMNS, ["city"])
        view.table.record_id, view.table.recorded = "first", True
        view.write(0, [("+I", "Rome", 1)])
        yield view, file
        view.table.close()


def rows(file) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT city, n FROM v ORDER BY city").fetchall()


def opened(file) -> int:
    """Return how often this process has a file open."""
    links = (os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))
    return sum(link == str(file) for link in links)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_one_connection_is_kept_until_the_query_ends(written):
    view, file = written
    for batch in (1, 2):
        view.write(batch, [("+U", "Rome", batch)])
        assert opened(file) == 1
    view.table.close()
    assert opened(file) == 0 and rows(file) == [("Rome", 2)]
    # Nothing stays in a log beside the file.
    assert not file.with_name("v.db-wal").exists()


def test_a_file_that_is_gone_is_not_written_to(written, tmp_path):
    view, file = written
    view.write(1, [("+U", "Rome", 2)])
    for name in os.listdir(tmp_path):
        if name.startswith("v.db"):
            (tmp_path / name).rename(tmp_path / f"away-{name}")
    with pytest.raises(OperationalError, match="is gone"):
        view.write(2, [("+U", "Rome", 3)])
    assert not file.exists()
    assert rows(tmp_path / "away-v.db") == [("Rome", 2)]
    for name in os.listdir(tmp_path):
        if name.startswith("away-"):
            (tmp_path / name).rename(tmp_path / name.removeprefix("away-"))
    view.write(2, [("+U", "Rome", 3)])
    assert rows(file) == [("Rome", 3)]


def test_another_file_in_its_place_is_the_one_that_is_written_to(written, tmp_path):
    view, file = written
    with (
        contextlib.closing(sqlite3.connect(file)) as source,
        contextlib.closing(sqlite3.connect(tmp_path / "copy.db")) as copy,
    ):
        source.backup(copy)
    view.write(1, [("+U", "Rome", 2)])
    for name in ("v.db-wal", "v.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "copy.db").replace(file)
    # The copy knows batch 0 as the last one.
    view.write(1, [("+U", "Rome", 5)])
    assert rows(file) == [("Rome", 5)]


def test_a_batch_that_fails_leaves_no_connection_with_it(written):
    view, file = written
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="locked"):
            view.write(1, [("+U", "Rome", 2)])
        assert view.table._database.engine.pool.checkedin() == 0
    view.write(1, [("+U", "Rome", 2)])
    assert rows(file) == [("Rome", 2)]


def test_many_changes_are_applied_in_their_order(written):
    view, file = written
    # More than are written as they come; of one key the last stays, also of NULL.
    keys = ["Oslo", "Bern", None, *(f"c{n % 97:02}" for n in range(300))]
    view.write(1, [("+U", key, n) for n, key in enumerate([*keys, "Bern", None])])
    last = {key: n for n, key in enumerate([*keys, "Bern", None])} | {"Rome": 1}
    assert sorted(rows(file), key=str) == sorted(last.items(), key=str)
