"""The command line: scripts and the shell, signals, exit codes. What takes long to import waits until it is needed."""

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import TextIO

from cepsql import __version__
from cepsql.errors import ExitCode
from cepsql.options import parser, read_script


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `cepsql` command with these arguments (default: those of the process); return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["demo"]:
        from cepsql.demo import run as demo

        return demo(argv[1:])
    try:
        options = parser().parse_args(argv)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    signal.signal(signal.SIGTERM, _leave)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, _leave)
    try:
        return _run(options)
    except KeyboardInterrupt:
        return _abandon()


def _run(options: argparse.Namespace) -> int:
    if options.version:
        print(f"cepsql {__version__}")
        return ExitCode.OK
    scripts = options.scripts or []
    shell = sys.stdin.isatty() and (options.interactive or not scripts)
    if not scripts and not shell:
        scripts = [read_script("-")]

    from cepsql.engine import connect
    from cepsql.runner import Console, Settings

    console = Console(_output(), sys.stderr)
    settings = Settings(options.format, dict(options.variable), options.timeout, options.drain, options.limit)
    try:
        with closing(connect(master=options.master, conf=dict(options.conf))) as engine:
            for text, file in scripts:
                code = _execute(engine, text, file, settings, console, options.errverbose)
                if code != ExitCode.OK or console.closed.is_set():
                    return code
            if shell:
                from cepsql.shell import run as prompt

                return prompt(engine, settings, console, options.errverbose)
            return ExitCode.OK
    finally:
        if console.closed.is_set():
            # The interpreter flushes standard output when it ends, which would fail once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _execute(engine, text: str, file: str | None, settings, console, verbose: bool) -> int:
    from cepsql.runner import execute, exit_code, interruptible, report

    try:
        interrupted = interruptible(lambda stop: execute(engine, text, settings, console, stop), engine.cancel)
    except Exception as error:
        report(error, console, verbose, file)
        return exit_code(error)
    return ExitCode.INTERRUPT if interrupted else ExitCode.OK


def _output() -> TextIO:
    """Return standard output: UTF-8 for other programs, what the terminal can show for people."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return sys.stdout
    if sys.stdout.isatty():
        sys.stdout.reconfigure(errors="backslashreplace")
    else:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


def _leave(number: int, frame) -> None:
    raise SystemExit(128 + number)


def _abandon() -> int:
    """End the process, and Java with it, without waiting for queries."""
    with suppress(OSError):
        sys.stdout.flush()
    if "pyspark" in sys.modules:
        from cepsql.spark.gateway import kill_java

        kill_java()
    os._exit(ExitCode.INTERRUPT)
