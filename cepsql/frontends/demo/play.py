"""Replay the flights through the demo's queries and report the matches."""

import argparse
import shutil
import sys
import tempfile
import textwrap
import time
from collections import deque
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from cepsql.engine import Engine, connect
from cepsql.errors import Error, ExitCode, InterfaceError, OperationalError
from cepsql.frontends.command_options import Parser
from cepsql.frontends.demo.colour import print_sql
from cepsql.frontends.demo.progress_bar import ProgressBar
from cepsql.frontends.demo.replay import FlightReplay, lay_out
from cepsql.frontends.demo.scenes import SCENES, Scene
from cepsql.query import Query

_INDENT = "   "
_WIDTH = 104
"""The longest line of text, in characters."""

_SHOWN = 3
"""How many matches of a query are printed without --all."""


def main(argv: Sequence[str]) -> int:
    """Play all scenes; return the exit code."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    try:
        if options.data is not None:
            _write_out(options.data, options)
            return ExitCode.OK
        with tempfile.TemporaryDirectory(prefix="cepsql-demo-") as folder:
            replay = _lay_out(Path(folder), options)
            if options.shell:
                from cepsql.frontends.demo.flight_shell import open_shell

                return open_shell(replay)
            _play(replay, options)
    except InterfaceError as error:
        print(f"error: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except Error as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return ExitCode.SESSION if isinstance(error, OperationalError) else ExitCode.QUERY
    except KeyboardInterrupt:
        print("\nstopped")
        return ExitCode.INTERRUPT
    return ExitCode.OK


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="cepsql demo", description="Play real flights (New York, early 2013) as a stream through three queries."
    )
    parser.add_argument("--rows", type=_count, metavar="N", help="play only the first N flights")
    parser.add_argument("--quick", action="store_true", help="play only the first 10,000 flights, in 3 files")
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="play nothing; write the flights as CSV files into a new folder"
    )
    parser.add_argument(
        "--shell", action="store_true", help="play nothing; open the shell with the flights as a stream"
    )
    parser.add_argument("--all", action="store_true", help="print every match, not only the first three")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return int(text)


def _lay_out(folder: Path, options: argparse.Namespace) -> FlightReplay:
    rows = 10_000 if options.quick and options.rows is None else options.rows
    return lay_out(folder, 3 if options.quick else 5, rows)


def _write_out(folder: Path, options: argparse.Namespace) -> None:
    """Write the flights as files to query; raise InterfaceError if the folder is not empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InterfaceError(f"{folder} is not empty", hint="name a folder that is not there yet")
        replay = _lay_out(folder, options)
    except OSError as error:
        raise InterfaceError(f"{folder} cannot be written: {error.strerror}") from error
    _tell(
        f"{folder} has {replay.rows:,} real flights from New York in early 2013, in {replay.files} CSV files, in the "
        "order of departure.",
        f"{replay.late:,} rows come a file too late, {replay.malformed:,} are malformed: their delay is not a number. "
        f"{replay.cancelled:,} flights were cancelled and have no departure time.",
    )


def _play(replay: FlightReplay, options: argparse.Namespace) -> None:
    _tell(
        f"{replay.rows:,} real flights from New York in early 2013, in the order in which they left.",
        f"The replay has {replay.files} files, each read as one batch. As in a real stream, {replay.late:,} rows come "
        f"late and {replay.malformed:,} are malformed; {replay.cancelled:,} flights were cancelled and have no "
        "departure time.",
    )
    print("Starting Spark ...", end=" ", flush=True)
    begin = time.monotonic()
    with connect(conf={"spark.sql.shuffle.partitions": "2"}, catalog="") as engine:
        version = engine.spark.version
        started = time.monotonic()
        print(f"Spark {version} is up after {started - begin:.1f} s.")
        for number, scene in enumerate(SCENES, 1):
            _act(engine, scene, number, replay, None if options.all else _SHOWN)
        print(f"\nAll three took {time.monotonic() - started:.0f} s after Spark's start.")
        print(f"The queries: {resources.files('cepsql.frontends.demo')}/flights_*.sql")
        print("Now you:     cepsql demo --shell    the shell with these flights, and three questions to try")


def _tell(*paragraphs: str, indent: str = "") -> None:
    """Print paragraphs in lines of whole words."""
    width = min(shutil.get_terminal_size((_WIDTH, 1)).columns, _WIDTH)
    for paragraph in paragraphs:
        print(textwrap.fill(paragraph, width, initial_indent=indent, subsequent_indent=indent), flush=True)


def _act(engine: Engine, scene: Scene, number: int, replay: FlightReplay, shown: int | None) -> None:
    print()
    _tell(f"{number}. {scene.question}")
    print()
    print_sql(f"{scene.query};", _INDENT)
    print()
    *definitions, select = scene.statements(replay.folder)
    for definition in definitions:
        engine.sql(definition)
    query = engine.query(select)
    first_rows = _FirstRows(scene, shown)
    account = _stream(query, first_rows, replay) if query.streaming else _batch(engine, query, first_rows)
    first_rows.end()
    if scene.deadline:
        early = sum(replay.end - row["departed"].replace(tzinfo=None) < scene.deadline for row in first_rows.rows)
        _tell(
            f"({early:,} of them left in the last days of the data, and may have left again after it)", indent=_INDENT
        )
    _tell(account, indent=_INDENT)
    if scene.explained is not None and replay.has(scene.explained):
        _explain(query, scene.explained)


class _FirstRows:
    """Prints the first `most` rows of a scene (None: all) as they come out, and keeps all of them."""

    def __init__(self, scene: Scene, most: int | None):
        self._scene, self._most = scene, most
        self.rows: list[dict] = []

    def add(self, rows: Sequence[dict]) -> None:
        """Print further rows, which came out together."""
        for row in sorted(rows, key=lambda row: row[self._scene.order]):
            if self._most is None or len(self.rows) < self._most:
                _tell(self._scene.tell(row), indent=_INDENT)
            self.rows.append(row)

    def end(self) -> None:
        """Print how many further rows there were."""
        if self._most is not None and len(self.rows) > self._most:
            print(f"{_INDENT}... and {len(self.rows) - self._most:,} more")


def _stream(query: Query, first_rows: _FirstRows, replay: FlightReplay) -> str:
    """Run the query over the replayed stream; return an account of what was read."""
    tables: deque[list[dict]] = deque()
    bar = ProgressBar(replay.rows)
    begin = time.monotonic()
    with query.start(lambda rows, _: tables.append(rows.to_pylist()), drain=True) as standing:
        ended = False
        while not ended:
            # The last rows are there once the end is known.
            ended = standing.await_(0.2)
            if tables:
                bar.clear()
            while tables:
                first_rows.add(tables.popleft())
            if not ended:
                bar.show(standing.progress.rows_read, len(first_rows.rows))
    seconds = time.monotonic() - begin
    bar.clear()
    end = standing.progress
    return (
        f"as a stream: {end.rows_read:,} rows read in {end.batches} batches, {end.rows_late:,} late, "
        f"{end.rows_malformed:,} malformed, {end.rows_null_time:,} without event time; "
        f"{end.matches:,} matches, {end.timeouts:,} timeouts; {seconds:.1f} s"
    )


def _batch(engine: Engine, query: Query, first_rows: _FirstRows) -> str:
    """Run the query over the same files at rest; return an account of what was read."""
    begin = time.monotonic()
    first_rows.add(query.arrow().to_pylist())
    seconds = time.monotonic() - begin
    hours = engine.query("SELECT count(*) AS hours FROM hourly_delay").collect()[0].hours
    return f"as a batch: {hours:,} hourly means of the same files; {len(first_rows.rows)} matches; {seconds:.1f} s"


def _explain(query: Query, tailnum: str) -> None:
    """Show why an aircraft has no match."""
    explanation = query.explain_match(tailnum)
    print(f"\n{_INDENT}Why is {tailnum} not among them? EXPLAIN MATCH shows:\n")
    print("\n".join(f"{_INDENT}  {line}".rstrip() for line in str(explanation).splitlines()))
