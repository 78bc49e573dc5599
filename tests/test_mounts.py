"""Mount points, as Linux lists those that are mounted and those that shall be."""

from pathlib import Path

import pytest

import cepsql.catalog.mounts
from cepsql.catalog.mounts import check_mounted, check_still_mounted, covering, mount_point, unmounted
from cepsql.errors import OperationalError


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Let so much be mounted, and so much be expected."""

    def listed(mounted: list[Path], expected: list[Path]) -> None:
        said = [f"{n} 1 8:1 / {_escaped(place)} rw - ext4 /dev/x rw\n" for n, place in enumerate(mounted)]
        (tmp_path / "mountinfo").write_text("".join(said))
        lines = [f"UUID={n} {_escaped(place)} ext4 defaults 0 2\n" for n, place in enumerate(expected)]
        (tmp_path / "fstab").write_text("".join(["# what shall be\n\n/swapfile none swap sw 0 0\n", *lines]))
        monkeypatch.setattr(cepsql.catalog.mounts, "MOUNTED", tmp_path / "mountinfo")
        monkeypatch.setattr(cepsql.catalog.mounts, "EXPECTED", tmp_path / "fstab")

    return listed


def _escaped(place: Path) -> str:
    return str(place).replace("\\", "\\134").replace(" ", "\\040")


def test_the_deepest_mount_point_is_that_of_a_path(tmp_path, listed):
    disk = tmp_path / "a disk"
    disk.mkdir()
    (tmp_path / "link").symlink_to(disk)
    listed([Path("/"), tmp_path, disk], [])
    assert mount_point(disk / "not" / "yet") == disk == mount_point(tmp_path / "link")
    assert mount_point(tmp_path / "a disk of its own") == tmp_path
    assert covering(str(tmp_path), disk / "rows") == disk and covering(None, disk) is None
    assert covering(str(disk), disk / "rows") is None and covering(str(disk), tmp_path) is None


def test_an_empty_mount_point_of_a_disk_that_shall_be_mounted_is_refused(tmp_path, listed):
    disk = tmp_path / "a disk"
    disk.mkdir()
    listed([Path("/")], [tmp_path / "another", disk])
    assert unmounted(disk / "rows") == disk and unmounted(tmp_path / "rows") is None
    with pytest.raises(OperationalError, match=r"the folder cannot be at .*: the disk of .*a disk is not mounted"):
        check_mounted(disk / "rows", "the folder")
    listed([Path("/"), disk], [disk])
    check_mounted(disk / "rows", "the folder")
    # Who has something there uses it as a folder.
    listed([Path("/")], [disk])
    (disk / "something").touch()
    check_mounted(disk / "rows", "the folder")


def test_a_disk_that_has_gone_is_noticed(tmp_path, listed):
    listed([Path("/")], [])
    check_still_mounted("/", tmp_path, "the folder")
    with pytest.raises(OperationalError, match=r"the folder .* was on the disk of .*disk, which is not mounted"):
        check_still_mounted(str(tmp_path / "disk"), tmp_path / "disk" / "rows", "the folder")


def test_where_nothing_is_listed_all_is_one_file_system(tmp_path, monkeypatch):
    monkeypatch.setattr(cepsql.catalog.mounts, "MOUNTED", tmp_path / "missing")
    monkeypatch.setattr(cepsql.catalog.mounts, "EXPECTED", tmp_path / "missing")
    assert mount_point(tmp_path) == Path("/") and unmounted(tmp_path) is None
