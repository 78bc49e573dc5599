"""The command line: scripts and the shell, signals, exit codes. Slow imports happen on first use."""

import argparse
import difflib
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from cepsql.errors import Error, ExitCode, InterfaceError
from cepsql.frontends.command_options import SUBCOMMANDS, meant_option, parser, read_script
from cepsql.frontends.configuration import choose, spark_conf

_CHOSEN = ("format", "max_rows", "ansi", "master", "catalog")
"""Options that can also be set in the environment and the user's configuration file."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `cepsql` command with these arguments (default: those of the process); return its exit code."""
    if sys.stderr is None:
        # The parent process has closed it. Java inherits its file descriptor, which the next opened file would get.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        os.set_inheritable(sys.stderr.fileno(), True)
    try:
        code = _main(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except OSError as error:
        if error.filename is not None:
            # The error is not from standard output.
            raise
        return _unwritten(error)


def _main(argv: list[str]) -> int:
    signal.signal(signal.SIGTERM, _leave)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, _leave)
    try:
        subcommand = argv[0] if argv and argv[0] in SUBCOMMANDS else None
        code = _subcommand(subcommand)(argv[1:]) if subcommand else _run(_parsed(argv))
        if subcommand in (None, "demo") and code == ExitCode.OK:
            _prepare_later()
        return code
    except SystemExit as leaving:
        if isinstance(leaving.code, int | None):
            return int(leaving.code or 0)
        raise
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except KeyboardInterrupt:
        return _abandon()


def _unwritten(error: OSError) -> int:
    """Report that standard output can't be written, unless its reader has closed it; return the exit code."""
    _drop_output()
    if isinstance(error, BrokenPipeError):
        return ExitCode.OK
    with suppress(OSError):
        print(f"error: standard output cannot be written: {error.strerror or error}", file=sys.stderr)
    return ExitCode.QUERY


def _drop_output() -> None:
    """Discard standard output, because the interpreter's flush at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the options; exit with a hint for an unknown argument, such as the name of a script."""
    options, others = parser().parse_known_args(argv)
    if others:
        hint = _meant(others[0])
        parser().error(f"unrecognized arguments: {' '.join(others)}" + (f"\n  hint: {hint}" if hint else ""))
    return options


def _meant(argument: str) -> str | None:
    """Return a hint for an unknown argument, or None."""
    if argument.startswith("-"):
        return meant_option(parser(), argument)
    if near := difflib.get_close_matches(argument, [*SUBCOMMANDS, "help", "version"], 1):
        return f"did you mean cepsql {near[0] if near[0] in SUBCOMMANDS else '--' + near[0]}?"
    if any(letter.isspace() for letter in argument):
        return "cepsql -c 'SELECT ...' executes statements, cepsql -f FILE a script"
    return f"cepsql -f {argument} executes a script, cepsql -c a statement"


def _prepare_later() -> None:
    """After a run that has started Spark, prepare faster starts, if anything can be stored for them."""
    if "cepsql.spark.jvm.launching.session" not in sys.modules or os.environ.get("CI"):
        return
    if choose({})["prepare"].value:
        from cepsql.spark.jvm.launching.class_archive import make_archive_later

        if (path := make_archive_later()) is not None:
            folder = str(path.parent).replace(str(Path.home()), "~")
            print(
                f"notice: Spark will start in little more than half the time: a process in the background keeps the "
                f"classes that it loads in {folder}, about 200 MB, once for each Spark and Java. CEPSQL_PREPARE=false "
                "leaves that to cepsql prepare",
                file=sys.stderr,
            )


def _subcommand(name: str):
    if name in ("demo", "serve"):
        return import_module("cepsql.frontends.demo" if name == "demo" else "cepsql.frontends.server").run
    return getattr(import_module(f"cepsql.frontends.subcommands.{name}"), name)


def _run(options: argparse.Namespace) -> int:
    if options.version:
        from cepsql import __version__

        print(f"cepsql {__version__}")
        return ExitCode.OK
    chosen = choose({name: getattr(options, name) for name in _CHOSEN if hasattr(options, name)})
    values: dict[str, Any] = {name: choice.value for name, choice in chosen.items()}
    scripts = options.scripts or []
    shell = sys.stdin is not None and sys.stdin.isatty() and (options.interactive or not scripts)
    if not scripts and not shell:
        scripts = [read_script("-")]
    if values["timezone"]:
        os.environ["CEPSQL_TIMEZONE"] = str(values["timezone"])

    from cepsql.frontends.runner.console_streams import Console
    from cepsql.frontends.runner.user_choices import UserChoices

    console = Console(_output(options.output), sys.stderr)
    if hasattr(signal, "SIGCONT"):
        signal.signal(signal.SIGCONT, lambda *_: console.resumed())
    settings = UserChoices(
        str(values["format"]),
        dict(options.variable),
        options.timeout,
        options.drain,
        options.limit,
        values["max_rows"],
        options.checkpoint,
    )
    try:
        conf = spark_conf() | dict(options.conf)

        def make():
            from cepsql.engine import connect

            return connect(master=values["master"], conf=conf, ansi=values["ansi"], catalog=values["catalog"])

        if not scripts:
            return _shell(make, settings, console, options, values)
        engine = make()
        try:
            for text, file in scripts:
                code = _execute(engine, text, file, settings, console, options.errverbose)
                if code != ExitCode.OK or console.closed.is_set():
                    return code
            return _shell(lambda: engine, settings, console, options, values) if shell else ExitCode.OK
        finally:
            engine.close(at_exit=True)
    finally:
        if console.closed.is_set():
            _drop_output()
        elif console.out is not sys.stdout:
            console.out.close()


def _shell(make, settings, console, options: argparse.Namespace, values: dict[str, Any]) -> int:
    from cepsql.frontends.shell.background_engine import OpeningEngine
    from cepsql.frontends.shell.shell import run

    with closing(OpeningEngine(make)) as engine:
        return run(engine, settings, console, options.errverbose, values=values)


def _execute(engine, text: str, file: str | None, settings, console, verbose: bool) -> int:
    from cepsql.frontends.runner.error_report import exit_code, report
    from cepsql.frontends.runner.execute import execute
    from cepsql.frontends.runner.interrupt import interruptible

    try:
        interrupted = interruptible(lambda stop: execute(engine, text, settings, console, stop), engine.cancel)
    except Exception as error:
        report(error, console, verbose, file, text)
        return exit_code(error)
    return ExitCode.INTERRUPT if interrupted else ExitCode.OK


def _output(file: str | None) -> TextIO:
    """Return the output for rows: a file, or standard output, in UTF-8 for programs, in its own encoding for terminals.

    Raises InterfaceError if it can't be written.
    """
    if file is not None:
        from cepsql.frontends.runner.console_streams import open_output

        return open_output(file)
    if sys.stdout is None:
        raise InterfaceError("standard output is closed", hint="--output FILE")
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
        from cepsql.spark.jvm.gateway import kill_java

        kill_java()
    os._exit(ExitCode.INTERRUPT)
