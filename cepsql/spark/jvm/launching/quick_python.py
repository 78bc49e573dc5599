"""Python for Spark in place of the interpreter: the processes of sources are forked, and are there at once."""

import contextlib
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from cepsql.spark.jvm.launching import python_launcher, python_starter

_COMMAND = """#!/bin/sh
if [ "$1 $2" = "-m {module}" ] && [ -S {socket} ]; then
    exec {python} -I -S {launcher} {python} {socket} "$@"
fi
exec {python} "$@"
"""
_LOCK = threading.Lock()
_FOLDERS: list[Path] = []
"""The folder of the Spark that this process started last."""

_STARTERS: dict[Path, subprocess.Popen] = {}
"""The process that forks others, by that folder."""


def python_command(folder: Path) -> str:
    """Write a command that Spark runs as Python into its folder, which only this user can read; return its path.

    Without `start_python_starter` it does what this interpreter does.
    """
    command = folder / "python"
    values = {
        "python": sys.executable,
        "launcher": str(python_launcher.__file__),
        "socket": str(_socket(folder)),
        "module": python_starter.MODULE,
    }
    quoted = {name: shlex.quote(value) for name, value in values.items()}
    command.write_text(_COMMAND.format(**quoted), encoding="utf-8")
    command.chmod(0o700)
    _FOLDERS[:] = [folder]
    return str(command)


def start_python_starter() -> bool:
    """Start the process that forks those of sources, and wait for it, unless it runs; tell whether it does."""
    with _LOCK:
        if not _FOLDERS:
            return False
        (folder,) = _FOLDERS
        running = _STARTERS.get(folder)
        if running is None:
            _end_all()
            running = _STARTERS[folder] = _started(folder)
        return running.poll() is None and _socket(folder).exists()


@contextlib.contextmanager
def python_turn() -> Iterator[None]:
    """Lend the right to let Spark start Python for a source: where each start takes long, to one at a time, for with
    many at once none would be ready in the time that Spark gives it."""
    if start_python_starter():
        yield
        return
    with _TURN:
        yield


_TURN = threading.Lock()


def _socket(folder: Path) -> Path:
    return folder / "python.socket"


def _started(folder: Path) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-m", python_starter.__name__, str(_socket(folder))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Ctrl-C in the terminal is for this process alone.
        start_new_session=True,
    )
    assert process.stdout is not None
    # A line, or nothing if it has ended.
    process.stdout.readline()
    return process


def _end_all() -> None:
    """End the processes of a Spark that is gone."""
    while _STARTERS:
        _, process = _STARTERS.popitem()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
