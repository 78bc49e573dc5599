"""`cepsql check`: read and analyse scripts without running them, and without Spark."""

import sys
from collections.abc import Sequence

from cepsql.errors import ExitCode
from cepsql.options import Parser, read_script, read_variable


def check(argv: Sequence[str]) -> int:
    """Check the scripts named in `argv`, in order and together; write every error, return the exit code."""
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
    from cepsql.runner.report import report

    console, engine, found = Console(sys.stdout, sys.stderr), connect(catalog=""), 0
    for text, file in chosen.files:
        for error in checked(engine, text, dict(chosen.variable)):
            report(error, console, file=file, text=text)
            found += 1
    return ExitCode.QUERY if found else ExitCode.OK
