"""`cepsql prepare`: let Spark start in half the time on this machine."""

import sys
from collections.abc import Sequence

from cepsql.errors import Error, ExitCode
from cepsql.frontends.command_options import Parser


def prepare(argv: Sequence[str]) -> int:
    """Make the archive of Spark's classes; return the exit code."""
    Parser(
        prog="cepsql prepare",
        description="Make Spark start in about half the time: run it once, and keep the loaded classes in an archive "
        "of about 200 MB in the user's cache. Run this again after you install another Spark or Java.",
    ).parse_args(argv)
    print("running Spark once; this takes a minute or two ...", file=sys.stderr, flush=True)
    from cepsql.spark.jvm.launching.class_archive import make_archive

    try:
        path = make_archive()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return ExitCode.SESSION
    print(f"{path}: {path.stat().st_size / 2**20:.0f} MB")
    return ExitCode.OK
