"""Tables at rest whose disk is away are not taken for empty."""

from dataclasses import replace
from pathlib import Path

import pytest

import cepsql.catalog.mounts
from cepsql.catalog import Backfill, Source
from cepsql.errors import OperationalError
from cepsql.spark.checkpoint.checkpoint import discard, open_checkpoint
from cepsql.spark.checkpoint.host_files import HostFiles
from cepsql.spark.sources.tables_at_rest.snapshots import take_snapshot
from cepsql.spark.sources.tables_at_rest.table_disks import check_tables, table_place
from cepsql.spark.sources.tables_at_rest.table_refresh import TableRefresh


@pytest.fixture
def disk(tmp_path, monkeypatch):
    """A folder that counts as mounted, with the files of a table; `expected` lists what shall be mounted."""
    folder = tmp_path / "disk"
    (folder / "names").mkdir(parents=True)
    (folder / "names" / "0.csv").write_text("1,one\n")
    monkeypatch.setattr(cepsql.catalog.mounts, "MOUNTED", tmp_path / "mountinfo")
    monkeypatch.setattr(cepsql.catalog.mounts, "EXPECTED", tmp_path / "fstab")
    (tmp_path / "mountinfo").write_text(f"1 0 8:1 / {folder} rw - ext4 /dev/x rw\n")
    return folder


def go(disk: Path) -> None:
    """Leave an empty mount point."""
    (disk.parent / "mountinfo").write_text("")
    disk.rename(disk.with_name("away"))
    disk.mkdir()


@pytest.fixture
def table(disk):
    return Source("names", (), "csv", (("path", f"{disk}/names/*.csv"),), streaming=False)


def checked(folder: Path, origin: Source):
    """Return what the checkpoint of a query knows after a start."""
    checkpoint = open_checkpoint(folder, {})
    try:
        return check_tables([origin], checkpoint)
    finally:
        discard(checkpoint)


def test_a_query_does_not_start_over_a_table_whose_disk_is_away(tmp_path, disk, table):
    assert checked(tmp_path / "checkpoint", table).mounts == {table_place(table): str(disk)}
    go(disk)
    with pytest.raises(OperationalError, match=f"the table names in .* was on the disk of {disk}, which is"):
        checked(tmp_path / "checkpoint", table)
    # Who has files there has moved them.
    (disk / "names").mkdir()
    (disk / "names" / "1.csv").write_text("1,one\n")
    assert checked(tmp_path / "checkpoint", table).mounts == {table_place(table): "/"}


def test_a_history_is_read_only_with_its_disk(tmp_path, disk, table):
    stream = Source("s", (), "csv", (("path", str(tmp_path)),), backfill=Backfill(table, "TIMESTAMP '2026-01-01'"))
    assert checked(tmp_path / "checkpoint", stream).mounts == {table_place(table): str(disk)}
    go(disk)
    with pytest.raises(OperationalError, match="which is not mounted"):
        checked(tmp_path / "checkpoint", stream)
    # Its rows are known once a batch is committed.
    checkpoint = open_checkpoint(tmp_path / "another", {})
    commits = checkpoint.spark_folder / "commits"
    commits.mkdir(parents=True)
    (commits / "0").write_text("v1\n{}")
    assert check_tables([stream], checkpoint).mounts == {}
    discard(checkpoint)


def test_a_table_of_a_disk_that_shall_be_mounted_is_not_empty(tmp_path, disk, table):
    go(disk)
    (tmp_path / "fstab").write_text(f"UUID=1 {disk} ext4 defaults 0 2\n")
    with pytest.raises(OperationalError, match=f"the disk of {disk} is not mounted"):
        checked(tmp_path / "checkpoint", table)


def test_a_table_that_is_read_again_stays_as_it_was(tmp_path, disk, table, caplog):
    files = HostFiles(tmp_path / "checkpoint", tmp_path / "checkpoint")
    again = replace(table, refresh=1_000_000)
    copy = tmp_path / "checkpoint" / "tables" / "names"
    copy.mkdir(parents=True)
    (copy / "1.arrow").touch()
    go(disk)
    mounts = {table_place(again): str(disk)}
    # No session is asked for anything.
    refresh = TableRefresh(None, files, [again], mounts)
    refresh.begin()
    assert refresh.failures == 1 and "the query continues with what it read" in caplog.text
    with pytest.raises(OperationalError, match="which is not mounted"):
        take_snapshot(None, files, again, 2, str(disk))
    assert [path.name for path in copy.iterdir()] == ["1.arrow"]
    # A start, too, goes on with what was read.
    assert checked(tmp_path / "query", again).mounts == {}
