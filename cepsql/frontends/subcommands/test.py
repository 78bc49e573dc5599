"""`cepsql test`: run tests of streams, straight and with a restart after every batch."""

import difflib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cepsql.errors import Error, ExitCode
from cepsql.frontends.command_options import Parser

if TYPE_CHECKING:
    from cepsql.frontends.stream_script import StreamScript


def test(argv: Sequence[str]) -> int:
    """Run the tests named in `argv`; print for each whether it passes, and the differences; return the exit code."""
    options = Parser(
        prog="cepsql test",
        description="Run tests of streams: SQL, rows in and rows expected, batch by batch. Each test runs twice, "
        "straight and with a restart after every batch; both must give the expected rows.",
    )
    options.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a test, or a folder of tests (*.test)")
    options.add_argument("--update", action="store_true", help="write the rows that come out as the expected ones")
    chosen = options.parse_args(argv)
    files = [path for place in chosen.files for path in (sorted(place.glob("*.test")) if place.is_dir() else [place])]
    if missing := [str(path) for path in [*chosen.files, *files] if not path.exists()]:
        options.error(f"there is no file {missing[0]}")

    from cepsql.engine import connect

    failed = 0
    with connect(catalog="") as engine:
        for path in files:
            lines = list(_run(path, chosen.update, engine))
            print("\n".join(lines), flush=True)
            failed += not lines[0].startswith("ok")
    print(f"{len(files) - failed} of {len(files)} passed", file=sys.stderr)
    return ExitCode.QUERY if failed else ExitCode.OK


def _run(path: Path, update: bool, engine) -> Iterator[str]:
    from cepsql.frontends.stream_script import read_stream_script

    try:
        read = read_stream_script(path)
        straight = read.run(spark=engine.spark)
        restarted = read.run(restart=True, spark=engine.spark)
    except Error as error:
        yield f"FAILED {path}"
        yield f"  {error}".replace("\n", "\n  ")
        return
    if update and straight == restarted:
        path.write_text(read.with_expected(straight), "utf-8")
        yield f"ok     {path} (written)"
        return
    differing = [*_differences(read, straight, ""), *_differences(read, restarted, " with restarts")]
    yield f"{'FAILED' if differing else 'ok    '} {path}"
    yield from differing


def _differences(test: "StreamScript", seen: list[list[str]], how: str) -> Iterator[str]:
    """Yield the differences between the expected and the actual rows, step by step."""
    for number, (step, rows) in enumerate(zip(test.steps, seen, strict=True), 1):
        if rows != step.expected:
            place = f"batch {number}" if step.name == "batch" else step.name
            yield f"  {place}{how}: - expected, + came"
            yield from (f"    {line}" for line in difflib.ndiff(step.expected, rows) if line[0] in "+-")
