"""Small questions to a file of SQLite are answered as it is at the moment, or not at all."""

import sqlite3

import pytest

from cepsql.views.quick_reader import QuickReader


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "a ? b.db"
    _written(file, 1)
    return file


def _written(file, value):
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS t (x INT)")
        connection.execute("INSERT INTO t VALUES (?)", (value,))
    connection.close()


def test_it_sees_what_others_commit(file):
    reader = QuickReader(file)
    assert reader.rows("SELECT x FROM t") == [(1,)]
    _written(file, 2)
    assert reader.rows("SELECT x FROM t WHERE x > :low", {"low": 1}) == [(2,)]


def test_it_reads_a_file_that_was_put_in_the_place_of_another(file, tmp_path):
    reader = QuickReader(file)
    assert reader.rows("SELECT x FROM t") == [(1,)]
    reader.close()
    _written(tmp_path / "new.db", 7)
    (tmp_path / "new.db").replace(file)
    assert reader.rows("SELECT x FROM t") == [(7,)]


@pytest.mark.parametrize("break_it", ["unlink", "damage", "lock"])
def test_what_cannot_be_read_now_is_left_to_others(file, break_it):
    reader = QuickReader(file)
    if break_it == "unlink":
        file.unlink()
    elif break_it == "damage":
        file.write_bytes(b"no database" * 1000)
    else:
        locking = sqlite3.connect(file)
        locking.execute("PRAGMA locking_mode = EXCLUSIVE")
        locking.execute("BEGIN EXCLUSIVE")
        locking.execute("INSERT INTO t VALUES (3)")
    assert reader.rows("SELECT x FROM t") is None
