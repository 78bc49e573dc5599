"""Start Spark's Java process, with secret settings hidden from other users, and Ctrl-C left to the caller.

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

    folder: private to this user; while Java starts, it has a file with secret settings, because every user of the
            machine can read a command line. Java reads the file before it fetches jars.
    output: for Java's output.
    """
    secret = {name: value for name, value in settings.items() if is_hidden(name, value)}
    shown = [(name, value) for name, value in settings.items() if name not in secret]
    # Start the JVM in a separate session: Ctrl-C in the terminal must not reach its Python workers.
    channels = {"stdout": output, "stderr": output, "start_new_session": True}
    with _properties(secret, folder / "secrets.properties"):
        return launch_gateway(SparkConf(loadDefaults=False).setAll(shown), channels)


@contextlib.contextmanager
def without_handler() -> Iterator[None]:
    """Prevent pyspark's Ctrl-C handler when it creates its context, which would cancel the jobs of every query."""
    module: Any = pyspark.core.context
    module.signal = SimpleNamespace(signal=lambda *_: None, SIGINT=signal.SIGINT)
    try:
        yield
    finally:
        module.signal = signal


@contextlib.contextmanager
def _properties(settings: dict[str, str], file: Path) -> Iterator[None]:
    """Pass settings to spark-submit in a file that only this user can read; remove it at the end."""
    if not settings:
        yield
        return
    arguments_before = os.environ.get(_ARGUMENTS)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as written:
        written.writelines(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())
    arguments = f"--load-spark-defaults --properties-file {shlex.quote(str(file))}"
    os.environ[_ARGUMENTS] = f"{arguments} {arguments_before or 'pyspark-shell'}"
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        if arguments_before is None:
            del os.environ[_ARGUMENTS]
        else:
            os.environ[_ARGUMENTS] = arguments_before


def _escaped(text: str) -> str:
    """Return a text escaped for Java's properties files."""
    return re.sub(r"[^\w.-]", lambda match: _units(match[0]), text, flags=re.ASCII)


def _units(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
