"""Hadoop in a session of ours makes local files as it always does, only without running programs."""

import os
import stat

import pytest

from cepsql.spark.jvm.launching.quick_hadoop import quicken_hadoop

MODES = ["0644", "0600", "0777", "0400", "1777", "0000"]


@pytest.fixture
def hadoop(spark):
    return spark._jvm.org.apache.hadoop


def _settings(spark):
    return spark.sparkContext._jsc.hadoopConfiguration()


def _of_hadoop(spark, hadoop):
    """Return Hadoop's own local files."""
    own = hadoop.fs.RawLocalFileSystem()
    own.initialize(spark._jvm.java.net.URI("file:///"), _settings(spark))
    return own


def _of_session(spark, hadoop, folder):
    return hadoop.fs.Path(str(folder)).getFileSystem(_settings(spark))


def test_files_are_ours(spark, hadoop, tmp_path):
    assert _of_session(spark, hadoop, tmp_path).getClass().getName().startswith("cepsql.files")


@pytest.mark.parametrize("mode", MODES)
def test_modes_are_those_of_hadoop(spark, hadoop, tmp_path, mode):
    modes = []
    for name, files in (("ours", _of_session(spark, hadoop, tmp_path)), ("theirs", _of_hadoop(spark, hadoop))):
        file, folder, made = (tmp_path / f"{name}-{what}" for what in ("file", "folder", "made"))
        permission = hadoop.fs.permission.FsPermission(mode)
        files.create(hadoop.fs.Path(str(file))).close()
        files.mkdirs(hadoop.fs.Path(str(folder)))
        files.mkdirs(hadoop.fs.Path(str(made)), permission)
        before = [stat.filemode(os.stat(path).st_mode) for path in (file, folder, made)]
        for path in (file, folder):
            files.setPermission(hadoop.fs.Path(str(path)), permission)
        modes.append([*before, *(stat.filemode(os.stat(path).st_mode) for path in (file, folder))])
    assert modes[0] == modes[1]


def test_a_file_that_is_not_there(spark, hadoop, tmp_path):
    gone = hadoop.fs.Path(str(tmp_path / "gone"))
    with pytest.raises(Exception, match="NoSuchFileException"):
        _of_session(spark, hadoop, tmp_path).setPermission(gone, hadoop.fs.permission.FsPermission("0644"))


def test_settings_keep_their_values(spark, hadoop):
    fresh, ours, name = hadoop.conf.Configuration(), _settings(spark), "fs.trash.interval"
    ours.reloadConfiguration()
    assert list(fresh.getPropertySources(name)) == list(ours.getPropertySources(name)) == ["core-default.xml"]
    quicken_hadoop(spark)
    assert fresh.get(name) == ours.get(name) is not None
    assert ours.getPropertySources(name) is None


def test_files_that_a_user_chose_stay(spark, hadoop, tmp_path):
    raw, settings = "org.apache.hadoop.fs.RawLocalFileSystem", _settings(spark)
    _of_session(spark, hadoop, tmp_path).close()
    settings.set("fs.file.impl", raw)
    try:
        quicken_hadoop(spark)
        assert _of_session(spark, hadoop, tmp_path).getClass().getName() == raw
    finally:
        settings.unset("fs.file.impl")
        _of_session(spark, hadoop, tmp_path).close()
        quicken_hadoop(spark)
    test_files_are_ours(spark, hadoop, tmp_path)


def test_nowhere_to_keep_the_class(spark, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    quicken_hadoop(spark)
    assert spark.range(3).count() == 3
