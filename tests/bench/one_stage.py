"""What it saves that operators with equal keys share a stage: seconds of a micro-batch, in one stage and in several.

    python tests/bench/one_stage.py [--batches 25] [--rows 200] [--rounds 3]

Prints for each query the median seconds of a small micro-batch in either way, of the rounds in turn, and their ratio.
"""

import argparse
import datetime
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from measure import session

import cepsql
from cepsql.spark.building.frame_options import FrameOptions
from cepsql.spark.building.neighbours import Sharing
from cepsql.spark.checkpoint.checkpoint import open_checkpoint
from cepsql.spark.checkpoint.host_files import host_files
from cepsql.spark.run.replayed_batches import Replay, replay_source, write_batch

COLUMNS = "k STRING, ts TIMESTAMP, x INT"
FIRST = "SELECT * FROM events DEDUPLICATE (PARTITION BY k ORDER BY ts WITHIN INTERVAL '2' SECONDS)"
QUERIES = {
    "a pattern over first rows": f"""SELECT * FROM ({FIRST}) MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts MEASURES LAST(U.x) AS high PATTERN (A U+?)
      WITHIN INTERVAL '15' SECONDS DEFINE U AS U.x > A.x) AS m""",
    "a pattern over windows over first rows": f"""SELECT * FROM (
      SELECT k, window_end AS ended, COUNT(*) AS n FROM ({FIRST}) WINDOW TUMBLING (SIZE 10 SECONDS)
      GROUP BY k, window_start, window_end) MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ended MEASURES B.n AS n PATTERN (A B) DEFINE B AS B.n > A.n) AS m""",
}
_BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_WARM_UP = 5


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=25)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    engine = cepsql.connect(session(2), catalog="")
    with tempfile.TemporaryDirectory() as folder:
        engine.sql(
            f"CREATE STREAM events ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) USING json"
            f" OPTIONS (path '{folder}')"
        )
        for name, sql in QUERIES.items():
            found: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(options.rounds):
                for fused, seconds in found.items():
                    seconds.append(batch_seconds(engine, sql, fused, options))
            several, one = (statistics.median(found[fused]) for fused in (False, True))
            print(f"{name:40} several stages {several:.3f}  one {one:.3f}  ratio {several / one:.2f}", flush=True)


def batch_seconds(engine: cepsql.Engine, sql: str, fused: bool, options: argparse.Namespace) -> float:
    """Return the median seconds of a micro-batch."""
    query, seconds = engine.sql(sql), []
    sharing = Sharing(None if fused else frozenset())
    with tempfile.TemporaryDirectory() as folder:
        rows = replay_source(engine.spark, Path(folder, "in"), COLUMNS)
        checkpoint = open_checkpoint(Path(folder, "checkpoint"), query.identity())
        files = host_files(checkpoint.folder)
        frame = query.build(FrameOptions(checkpoint.control, {"events": rows}, files=files, sharing=sharing))
        with Replay(frame, checkpoint) as replay:
            for number in range(_WARM_UP + options.batches):
                write_batch(Path(folder, "in"), batch(number, options.rows))
                begin = time.perf_counter()
                replay.advance()
                seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[_WARM_UP:])


def batch(number: int, rows: int) -> pa.Table:
    """Return the rows of a micro-batch, of fifty keys, which takes up where the one before ends."""
    begin = _BEGIN + datetime.timedelta(milliseconds=100 * number * rows)
    times = [begin + datetime.timedelta(milliseconds=100 * row) for row in range(rows)]
    return pa.table({
        "k": [f"k{row % 50}" for row in range(rows)],
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
        "x": pa.array([(row * 7 + number) % 13 for row in range(rows)], pa.int32()),
    })  # fmt: skip


if __name__ == "__main__":
    main()
