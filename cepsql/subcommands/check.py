"""`cepsql check`: read and analyse scripts without running them, and without Spark."""

import sys
from collections.abc import Sequence

from cepsql.errors import ExitCode
from cepsql.options import Parser, read_script, read_variable


def check(argv: Sequence[str]) -> int:
    """Check the scripts named in `argv`, together; write all errors and their number, return the exit code."""
    options = Parser(
        prog="cepsql check",
        description="Read and analyse scripts without running them: all errors, not only the first. What one script "
        "defines, the next can use. Spark does not start, so that names of its functions and the columns of files are "
        "not checked.",
    )
    options.add_argument("files", nargs="+", type=read_script, metavar="FILE", help="a script; - is standard input")
    options.add_argument("-v", "--variable", action="append", type=read_variable, default=[], metavar="NAME=VALUE")
    chosen = options.parse_args(argv)

    from cepsql.engine import connect
    from cepsql.runner.check import checked
    from cepsql.runner.console import Console
    from cepsql.runner.counted import counted
    from cepsql.runner.report import report

    console, engine, wrong, number = Console(sys.stdout, sys.stderr), connect(catalog=""), 0, 0
    for text, file in chosen.files:
        for error in checked(engine, text, dict(chosen.variable)):
            number += 1
            if error is not None:
                report(error, console, file=file, text=text)
                wrong += 1
    errors = counted(wrong, "error") if wrong else "no errors"
    console.say(f"{counted(number, 'statement')} checked: {errors}")
    return ExitCode.QUERY if wrong else ExitCode.OK
