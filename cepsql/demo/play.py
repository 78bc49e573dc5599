"""Replay the flights through the demo's queries and tell what was found."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from pathlib import Path

from cepsql.demo import stories
from cepsql.demo.progress_bar import ProgressBar
from cepsql.demo.replay import Replay, lay_out
from cepsql.engine import Engine, Query, connect
from cepsql.errors import Error, ExitCode, InterfaceError, OperationalError
from cepsql.options import Parser

PATH_IN_SQL = "cepsql/demo/flights"
"""The folder that the SQL files name; the demo puts the replay's folder in its place."""


@dataclass(frozen=True)
class Scene:
    """A query of the demo: how a row of it is told, which column orders the rows, how long absence takes to be sure."""

    file: str
    tell: Callable[[dict], str]
    order: str
    deadline: timedelta | None = None


SCENES = (
    Scene("flights_growing_delay.sql", stories.growing_delay, "departed1"),
    Scene("flights_gone_quiet.sql", stories.gone_quiet, "departed", timedelta(days=2)),
    Scene("flights_v_shape.sql", stories.v_shape, "top_hour"),
)


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
            _play(Path(folder), options)
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
    parser.add_argument("--all", action="store_true", help="tell of every match, not only of the first three")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return int(text)


def _lay_out(folder: Path, options: argparse.Namespace) -> Replay:
    rows = 10_000 if options.quick and options.rows is None else options.rows
    return lay_out(folder, 3 if options.quick else 5, rows)


def _write_out(folder: Path, options: argparse.Namespace) -> None:
    """Write the flights for people to query them; raise InterfaceError if there is no room for them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InterfaceError(f"{folder} is not empty", hint="name a folder that is not there yet")
        replay = _lay_out(folder, options)
    except OSError as error:
        raise InterfaceError(f"{folder} cannot be written: {error.strerror}") from error
    print(
        f"{folder} has {replay.rows:,} real flights from New York in early 2013, in {replay.files} CSV files and in "
        f"the order in which they\nleft. {replay.late:,} rows stand a file too late, {replay.malformed:,} are spoiled: "
        f"their delay is no number. {replay.cancelled:,} flights were\ncancelled and have no departure time."
    )


def _play(folder: Path, options: argparse.Namespace) -> None:
    replay = _lay_out(folder, options)
    print(
        f"{replay.rows:,} real flights from New York in early 2013, in the order in which they left.\n"
        f"The replay has {replay.files} files, each read as a batch of its own. It holds {replay.late:,} rows back "
        f"until they are late\nand spoils {replay.malformed:,}; {replay.cancelled:,} flights were cancelled and have "
        "no departure time."
    )
    print("Starting Spark ...", end=" ", flush=True)
    begin = time.monotonic()
    with connect(conf={"spark.sql.shuffle.partitions": "2"}, catalog="") as engine:
        version = engine.spark.version
        started = time.monotonic()
        print(f"Spark {version} is up after {started - begin:.1f} s.")
        for number, scene in enumerate(SCENES, 1):
            _act(engine, scene, number, replay, None if options.all else 3)
        print(f"\nAll three took {time.monotonic() - started:.0f} s after Spark's start.")
        print(f"The queries: {resources.files('cepsql.demo')}/flights_*.sql")


def _act(engine: Engine, scene: Scene, number: int, replay: Replay, shown: int | None) -> None:
    text = resources.files("cepsql.demo").joinpath(scene.file).read_text("utf-8")
    print(f"\n{number}. {text.splitlines()[0].removeprefix('-- ')}")
    query = engine.sql(text.replace(PATH_IN_SQL, str(replay.folder)))
    assert isinstance(query, Query)
    found, account = (_stream if query.streaming else _batch)(engine, query, replay)
    found.sort(key=lambda row: row[scene.order])
    for row in found[:shown]:
        print(f"   {scene.tell(row)}")
    if shown is not None and len(found) > shown:
        print(f"   ... and {len(found) - shown:,} more")
    if scene.deadline:
        early = sum(replay.end - row["departed"].replace(tzinfo=None) < scene.deadline for row in found)
        print(f"   ({early:,} of them came too near to the end of the data, where time runs out for all, to be sure)")
    print(f"   {account}")


def _stream(engine: Engine, query: Query, replay: Replay) -> tuple[list[dict], str]:
    """Run the query over the replayed stream; return its rows and an account of what was read."""
    found: list[dict] = []
    bar = ProgressBar(replay.rows)
    begin = time.monotonic()
    with query.start(lambda rows, _: found.extend(rows.to_pylist()), drain=True) as standing:
        while not standing.await_(0.2):
            bar.show(standing.progress.rows_read, len(found))
    seconds = time.monotonic() - begin
    bar.clear()
    end = standing.progress
    return found, (
        f"as a stream: {end.rows_read:,} rows read in {end.batches} batches, {end.rows_late:,} late, "
        f"{end.rows_malformed:,} malformed, {end.rows_null_time:,} without event time; "
        f"{end.matches:,} matches, {end.timeouts:,} timeouts; {seconds:.1f} s"
    )


def _batch(engine: Engine, query: Query, replay: Replay) -> tuple[list[dict], str]:
    """Run the query over the same files at rest; return its rows and an account of what was read."""
    begin = time.monotonic()
    found = query.arrow().to_pylist()
    seconds = time.monotonic() - begin
    counted = engine.sql("SELECT count(*) AS hours FROM hourly_delay")
    assert isinstance(counted, Query)
    hours = counted.collect()[0].hours
    return found, f"as a batch: {hours:,} hourly means of the same files; {len(found)} matches; {seconds:.1f} s"
