"""Starting Spark's Java process: its settings, the secret ones unseen by others, and Ctrl-C left to the caller.

Relies on: `launch_gateway(conf, popen_kwargs)` starts Java with the settings of a SparkConf, and Popen with others;
`pyspark.core.context` takes Ctrl-C over through its `signal`.
"""

import contextlib
import os
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pyspark.core.context
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

from cepsql.base.secrets import is_hidden

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"


def launch(settings: dict[str, str], folder: Path, output: IO[bytes]) -> Any:
    """Start Java with Spark's settings and return the gateway to it.

    folder: this user's own; secret settings stand in a file there while Java starts, which reads them before it fetches
            jars. Every user of the machine can read a command line.
    output: where Java writes.
    """
    secret = {name: value for name, value in settings.items() if is_hidden(name, value)}
    shown = [(name, value) for name, value in settings.items() if name not in secret]
    # A session of its own for the JVM: Ctrl-C in the terminal must not reach the Python workers below it.
    channels = {"stdout": output, "stderr": output, "start_new_session": True}
    with _properties(secret, folder / "secrets.properties"):
        return launch_gateway(SparkConf(loadDefaults=False).setAll(shown), channels)


@contextlib.contextmanager
def without_handler() -> Iterator[None]:
    """Keep pyspark from taking Ctrl-C over when it makes its context: it would cancel the jobs of every query."""
    module: Any = pyspark.core.context
    module.signal = SimpleNamespace(signal=lambda *_: None, SIGINT=signal.SIGINT)
    try:
        yield
    finally:
        module.signal = signal


@contextlib.contextmanager
def _properties(settings: dict[str, str], file: Path) -> Iterator[None]:
    """Let spark-submit take settings from a file that only this user can read, and that is removed at the end."""
    if not settings:
        yield
        return
    given = os.environ.get(_ARGUMENTS)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as written:
        written.writelines(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())
    arguments = f"--load-spark-defaults --properties-file {shlex.quote(str(file))}"
    os.environ[_ARGUMENTS] = f"{arguments} {given or 'pyspark-shell'}"
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        if given is None:
            del os.environ[_ARGUMENTS]
        else:
            os.environ[_ARGUMENTS] = given


def _escaped(text: str) -> str:
    """Return a text as Java's files of properties write it."""
    return re.sub(r"[^\w.-]", lambda match: _units(match[0]), text, flags=re.ASCII)


def _units(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
