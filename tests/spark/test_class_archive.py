"""The archive of classes: when Java is told of it."""

from cepsql.spark import class_archive, session

OPTIONS = "spark.driver.extraJavaOptions"


def test_java_uses_the_archive_once_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert session._with_archive({OPTIONS: "-Dx=1"}) == {OPTIONS: "-Dx=1"}
    path = class_archive.archive_file()
    path.parent.mkdir()
    path.touch()
    assert path.parent == tmp_path / "cepsql"
    with_archive = session._with_archive({OPTIONS: "-Dx=1", "other": "2"})
    assert with_archive[OPTIONS].startswith(f"-XX:SharedArchiveFile={path} ")
    assert with_archive[OPTIONS].endswith(" -Dx=1")
    assert with_archive["other"] == "2"
    own = {OPTIONS: "-XX:SharedArchiveFile=mine"}
    assert session._with_archive(own) == own
