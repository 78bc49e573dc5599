"""`cepsql check`: read and analyse scripts without running them, and without Spark."""

import sys
from collections.abc import Sequence

from cepsql.errors import ExitCode
from cepsql.options import Parser, read_script, read_variable


def check(argv: Sequence[str]) -> int:
    """Check the scripts named in `argv`, together; write all errors and their number, return the exit code."""
    options = Parser(
        prog="cepsql check",
        description="Check scripts without running them, and report all errors. What "
        "one script defines, the next can use. Spark does not start, so its functions and the columns of files are not "
        "checked.",
    )
    options.add_argument("files", nargs="+", type=read_script, metavar="FILE", help="a script; - is standard input")
    options.add_argument(
        "-v", "--variable", action="append", type=read_variable, default=[], metavar="NAME=VALUE", help="bind :NAME"
    )
    chosen = options.parse_args(argv)

    from cepsql.engine import connect
    from cepsql.errors import UncheckedError
    from cepsql.runner.check import checked, definer
    from cepsql.runner.console import Console
    from cepsql.runner.counted import counted
    from cepsql.runner.report import report

    console, engine, wrong, number, unknown = Console(sys.stdout, sys.stderr), connect(catalog=""), 0, 0, 0
    for place, (text, file) in enumerate(chosen.files, 1):
        for error in checked(engine, text, dict(chosen.variable)):
            number += 1
            if isinstance(error, UncheckedError):
                unknown += 1
            elif error is not None:
                if defines := definer(error, chosen.files[place:]):
                    error.hint = f"{defines} defines it: name that file before {file}"
                report(error, console, file=file, text=text)
                wrong += 1
    errors = counted(wrong, "error") if wrong else "no errors"
    left = f"; {unknown} not checked, because only Spark knows the columns of their files" if unknown else ""
    console.say(f"{counted(number - unknown, 'statement')} checked: {errors}{left}")
    return ExitCode.QUERY if wrong else ExitCode.OK
