"""The Python that Spark runs: as the interpreter, but the processes of sources are forked."""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cepsql.base.temporary import remove_temporary, temporary_folder
from cepsql.spark.jvm.launching import quick_python
from cepsql.spark.jvm.launching.python_starter import MODULE

SECONDS = 60


@pytest.fixture
def command(monkeypatch):
    """Give the command in a folder of its own, and end what was started there."""
    folder = temporary_folder("cepsql-python-")
    for name in ("_FOLDERS", "_STARTERS"):
        monkeypatch.setattr(quick_python, name, type(getattr(quick_python, name))())
    yield quick_python.python_command(folder)
    quick_python._end_all()
    remove_temporary(folder)


@pytest.fixture
def listening():
    """Give a socket at which a process of a source reports, as Spark's does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(SECONDS)
        yield listener


def spawn(command, listening, *more):
    """Start a process of a source as Spark does; return it and the connection that it opens, with its process id."""
    port = str(listening.getsockname()[1])
    variables = {"PYTHON_WORKER_FACTORY_PORT": port, "PYTHON_WORKER_FACTORY_SECRET": "word"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_WORKER_FACTORY_SOCK_PATH"}
    process = subprocess.Popen([command, "-m", MODULE, *more], env=environment | variables, stderr=subprocess.PIPE)
    connection, _ = listening.accept()
    connection.settimeout(SECONDS)
    with connection.makefile("rb") as file:
        assert file.read(struct.unpack(">i", file.read(4))[0]) == b"word"
        connection.sendall(struct.pack(">i", 2) + b"ok")
        return process, connection, struct.unpack(">i", file.read(4))[0]


def test_it_runs_what_the_interpreter_runs(command):
    said = subprocess.run([command, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True)
    assert (said.stdout.strip(), said.stderr) == (sys.executable, "")


@pytest.mark.parametrize("starter", [False, True])
def test_the_process_of_a_source_is_what_spark_expects(command, listening, starter):
    assert not starter or quick_python.start_python_starter()
    process, connection, number = spawn(command, listening)
    with connection:
        # Forked, it is another process than the one that Spark has started; and it is told all that that one is.
        assert (number != process.pid) == starter
        assert Path(f"/proc/{number}/cwd").resolve() == Path.cwd()
        # What it writes comes where Spark reads it.
        assert os.readlink(f"/proc/{number}/fd/2") == os.readlink(f"/proc/{process.pid}/fd/2")
    process.communicate(timeout=SECONDS)
    end = time.monotonic() + SECONDS
    while Path(f"/proc/{number}").exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_process_of_a_source_ends_with_the_one_that_spark_started(command, listening):
    assert quick_python.start_python_starter()
    process, connection, number = spawn(command, listening)
    with connection:
        assert number != process.pid
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=SECONDS)
        assert connection.recv(1) == b""


def test_without_the_starter_the_interpreter_does_it(command, listening):
    assert quick_python.start_python_starter()
    (starter,) = quick_python._STARTERS.values()
    starter.kill()
    starter.wait()
    assert not quick_python.start_python_starter()
    process, connection, number = spawn(command, listening)
    connection.close()
    process.communicate(timeout=SECONDS)
    assert number == process.pid
