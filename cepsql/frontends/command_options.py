"""The options of the command line."""

import argparse
import difflib
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from cepsql.base.output_formats import FORMATS
from cepsql.errors import ExitCode, InterfaceError

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?\Z")


SUBCOMMANDS = {
    "demo": "[options]",
    "serve": "[options]",
    "check": "FILE...",
    "test": "[--update] FILE...",
    "init": "[FOLDER]",
    "config": "",
    "prepare": "",
}
"""What may stand in place of options, and what follows it."""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the options; `scripts` has the (text, file name or None) of each -c and -f in order."""
    options = ShortErrors(
        prog="cepsql",
        description="Streaming SQL with MATCH_RECOGNIZE on Apache Spark.",
        epilog="Without -c and -f, SQL is read from standard input; on a terminal the shell opens. "
        "`cepsql demo` plays an example, `serve` runs the queries of a catalog, `check` reads scripts without running "
        "them, `test` runs tests of streams, `init` makes a project, `config` shows settings, `prepare` lets Spark "
        "start faster. Exit codes: 0 done, 1 a statement failed, 2 wrong usage, 3 Spark cannot start, 130 interrupted.",
        usage="cepsql [options]\n       "
        + "\n       ".join(f"cepsql {name} {more}".rstrip() for name, more in SUBCOMMANDS.items()),
        formatter_class=Help,
        allow_abbrev=False,
    )
    add = options.add_argument
    add("-c", "--command", dest="scripts", action="append", type=_command, metavar="SQL",
        help="execute these statements")  # fmt: skip
    add("-f", "--file", dest="scripts", action="append", type=read_script, metavar="FILE",
        help="execute this script; - is standard input")  # fmt: skip
    add("-i", "--interactive", action="store_true", help="open the shell after -c and -f")
    add("-v", "--variable", action="append", type=read_variable, default=[], metavar="NAME=VALUE",
        help="bind :NAME to a number, true, false or null, or to text")  # fmt: skip
    add("-o", "--output", metavar="FILE", help="write rows to this file")
    add("--format", choices=FORMATS, default=argparse.SUPPRESS, help="how rows are written (default: table)")
    add("--limit", type=_count, metavar="N", help="write at most N rows of each result")
    add("--timeout", type=seconds, metavar="SECONDS", help="end a streaming SELECT after this time")
    add("--drain", action="store_true",
        help="end a streaming SELECT when all input that is there now is decided")  # fmt: skip
    add(
        "--checkpoint",
        metavar="FOLDER",
        help="keep the state of a streaming SELECT here, and resume from it",
    )
    add("--max-rows", dest="max_rows", type=_rows, default=argparse.SUPPRESS, metavar="N",
        help="show at most N rows of a bounded result on a terminal, or all (default: 1000)")  # fmt: skip
    add("--ansi", action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS,
        help="1/0 and casts that fail are errors, or NULL (default: NULL)")  # fmt: skip
    add("--catalog", metavar="LOCATION", default=argparse.SUPPRESS,
        help="keep definitions here: a file, or postgresql://host/database")  # fmt: skip
    add("--master", metavar="URL", default=argparse.SUPPRESS, help="Spark master (default: local[*])")
    add("--conf", action="append", type=setting, default=[], metavar="KEY=VALUE", help="a Spark setting")
    add("--errverbose", action="store_true", help="write technical details of errors, such as Java stack traces")
    add("--version", action="store_true", help="write the version and end")
    return options


class ShortErrors(argparse.ArgumentParser):
    """A parser whose errors are one line, with a hint, and not the whole usage."""

    def error(self, message: str) -> NoReturn:
        hint = "" if "\n  hint: " in message else f"\n  hint: {self.prog} --help lists the options"
        self.exit(ExitCode.USAGE, f"error: {message}{hint}\n")


class Parser(ShortErrors):
    """The parser of a subcommand; for an unknown option, the error names a similar one."""

    def parse_args(self, args=None, namespace=None):
        chosen, others = self.parse_known_args(args, namespace)
        if others:
            hint = meant_option(self, others[0])
            self.error(f"unrecognized arguments: {' '.join(others)}" + (f"\n  hint: {hint}" if hint else ""))
        return chosen


def meant_option(parser: argparse.ArgumentParser, argument: str) -> str | None:
    """Return a hint for an unknown option, or None if no option is similar."""
    option_names = [name for action in parser._actions for name in action.option_strings]
    near = difflib.get_close_matches(argument.partition("=")[0], option_names, 1)
    return f"did you mean {near[0]}?" if near else None


class Help(argparse.HelpFormatter):
    """The same text on every terminal and Python version."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=30, width=100)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = ", ".join(action.option_strings)
        return names if action.nargs == 0 else f"{names} {action.metavar or '{' + ','.join(action.choices or ()) + '}'}"


def _command(text: str) -> tuple[str, str | None]:
    return text, None


def read_script(name: str) -> tuple[str, str | None]:
    """Read a script file, `-` for standard input; return its text and the name for messages.

    Raises InterfaceError if standard input is closed or no text, ArgumentTypeError if a file cannot be read.
    """
    if name == "-":
        if sys.stdin is None:
            raise InterfaceError("standard input is closed", hint="cepsql -c STATEMENT, or cepsql -f FILE")
        try:
            return sys.stdin.read(), "standard input"
        except (OSError, UnicodeDecodeError) as error:
            raise InterfaceError(f"standard input cannot be read: {error}") from error
    try:
        return Path(name).read_text("utf-8-sig"), name
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or error
        raise argparse.ArgumentTypeError(f"cannot read {name}: {why}") from error


def read_variable(text: str) -> tuple[str, object]:
    """Read NAME=VALUE: a number, true, false or null as such, anything else as text."""
    name, separator, value = text.partition("=")
    if not separator or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    constants = {"true": True, "false": False, "null": None}
    if value.lower() in constants:
        return name, constants[value.lower()]
    if _NUMBER.match(value):
        return name, Decimal(value) if "." in value else int(value)
    return name, value


def setting(text: str) -> tuple[str, str]:
    """Read KEY=VALUE."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def _rows(text: str) -> int | None:
    return None if text == "all" else _count(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return int(text)


def seconds(text: str) -> float:
    """Read a number of seconds."""
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return float(text)
