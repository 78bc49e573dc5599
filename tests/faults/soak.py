"""Runs standing queries at a steady rate, and tells whether what they need stays bounded.

`python tests/faults/soak.py [--minutes 60] [--rows 3000] [--picture soak.png] [--samples soak.jsonl]` writes a file
for each of two streams every second, some rows of it late and some malformed, and takes files away that are two minutes
old. It samples the memory of Python's driver, Python's workers and Java, Java's heap after a collection, descriptors,
threads, the files and bytes of checkpoints and of folders of late rows, rows held, and the time of batches. Each minute
it prints a line of the curve. In the end it compares the last quarter with the one before, when what Spark keeps of the
last batches has come to its limits, and ends with 1 where something grows.
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "bench")]

from memory import descendants  # noqa: E402

from cepsql.render.plots.figures import stacked  # noqa: E402

WHO = ("driver", "workers", "Java")
KEYS, KEPT_SECONDS, SAMPLE_SECONDS, START_SECONDS = 500, 120, 5.0, 180
LATE_SECONDS = 180
"""How long the queries of `soaking.py` keep late rows: a file for each batch of that time."""
LATE_SHARE, MALFORMED_SHARE = 0.005, 0.002
GROWTH, PAGE_MEBIBYTES = 1.08, os.sysconf("SC_PAGESIZE") / 2**20
DRAWN = {
    "memory (MiB)": ("driver MiB", "workers MiB", "Java MiB", "Java heap MiB"),
    "descriptors": ("driver descriptors", "Java descriptors"),
    "threads": ("driver threads", "Java threads"),
    "checkpoints (files)": ("checkpoint files",),
    "checkpoints (MiB)": ("checkpoint MiB",),
    "late rows (files)": ("late files per 100 batches",),
    "rows held": ("state rows",),
    "batch (seconds)": ("batch seconds",),
}
"""What is drawn and compared, below the name of its axis."""

Sample = dict[str, float]


def write_files(folder: Path, rows: int, stop: threading.Event) -> None:
    """Write so many rows a second into files of the streams `a` and `b`, and remove old files, until told to stop."""
    chance = random.Random(12)
    written: list[tuple[float, Path]] = []
    number = 0
    while not stop.wait(1 - time.time() % 1):
        number += 1
        for stream in "ab":
            path = folder / stream / f"{number:06}.csv"
            hidden = path.with_name(f".{path.name}")
            hidden.write_text("".join(_row(chance) for _ in range(rows // 2)))
            hidden.rename(path)
            written.append((time.time(), path))
        while written and written[0][0] < time.time() - KEPT_SECONDS:
            written.pop(0)[1].unlink()


def _row(chance: random.Random) -> str:
    drawn = chance.random()
    at = time.time() - (600 if drawn < LATE_SHARE else chance.uniform(0, 3))
    value = "many" if drawn > 1 - MALFORMED_SHARE else chance.randrange(100)
    return f"{chance.randrange(KEYS)},{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S.%f},{value}\n"


def sample(child: int, folder: Path) -> Sample:
    """Return what the queries need now, in a folder of `soaking.py`, whose process id is given."""
    figures: Sample = {f"{who} {what}": 0.0 for who in WHO for what in ("MiB", "descriptors", "threads")}
    for pid in descendants(child):
        process = Path(f"/proc/{pid}")
        try:
            name = (process / "comm").read_text().strip()
            resident = int((process / "statm").read_text().split()[1]) * PAGE_MEBIBYTES
            held = {
                what: len(os.listdir(process / folder)) for what, folder in (("descriptors", "fd"), ("threads", "task"))
            }
        except OSError:
            continue
        who = "driver" if pid == child else "Java" if name == "java" else "workers"
        for what, much in ({"MiB": resident} | held).items():
            figures[f"{who} {what}"] += much
    for kind in ("checkpoint", "late"):
        sizes = [_size(path) for path in folder.glob(f"{kind}_*/**/*")]
        figures |= {f"{kind} files": len(sizes), f"{kind} MiB": sum(sizes) / 2**20}
    return figures | json.loads((folder / "status.json").read_text())


def late_files(samples: list[Sample]) -> float:
    """Return how many files of late rows there are for a hundred batches of the time that they are kept for: on a busy
    machine batches are fewer."""
    last = samples[-1]
    batches = last["batches"] - next(
        figures["batches"] for figures in samples if figures["seconds"] >= last["seconds"] - LATE_SECONDS
    )
    return last["late files"] / batches * 100 if batches else 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def print_line(figures: Sample, header: bool) -> None:
    """Print a line of the curve: the minute, and each figure."""
    names = [name for drawn in DRAWN.values() for name in drawn]
    if header:
        print("  ".join(["minute", *names]))
    print(
        "  ".join([f"{figures['seconds'] / 60:6.1f}", *(f"{figures[name]:{len(name)}.1f}" for name in names)]),
        flush=True,
    )


def growth(samples: list[Sample], name: str) -> tuple[float, float]:
    """Return the median of a figure in the third and in the last quarter of the time."""
    quarter = len(samples) // 4
    parts = samples[2 * quarter : 3 * quarter], samples[3 * quarter :]
    third, last = (statistics.median(figures[name] for figures in part) for part in parts)
    return third, last


def draw(samples: list[Sample], path: Path) -> None:
    """Draw all figures over the minutes."""
    figure, drawings = stacked(len(DRAWN), 1.7)
    minutes = [figures["seconds"] / 60 for figures in samples]
    for axes, (title, names) in zip(drawings, DRAWN.items(), strict=True):
        for name in names:
            axes.plot(minutes, [figures[name] for figures in samples], linewidth=1.2, label=name)
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=10, loc="left")
        if len(names) > 1:
            axes.legend(fontsize=8, frameon=False, ncols=len(names))
    drawings[-1].set_xlabel("minutes")
    figure.savefig(path)


def main() -> int:
    """Run the queries for so long, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rows", type=int, default=3000, help="rows a second, of both streams together")
    parser.add_argument("--picture", type=Path, default=Path("soak.png"))
    parser.add_argument("--samples", type=Path, help="file that keeps the samples, as JSON lines")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    folder = Path(tempfile.mkdtemp(prefix="cepsql-soak-"))
    for stream in "ab":
        (folder / stream).mkdir()
    stop, samples = threading.Event(), []
    writing = threading.Thread(target=write_files, args=(folder, options.rows, stop), daemon=True)
    writing.start()
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen([sys.executable, HERE / "soaking.py", folder], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (folder / "status.json").exists() and child.poll() is None and time.monotonic() < deadline:
            time.sleep(1)
        begun, shown = time.monotonic(), 0
        while child.poll() is None and (seconds := time.monotonic() - begun) < options.minutes * 60:
            samples.append({"seconds": seconds} | sample(child.pid, folder))
            samples[-1]["late files per 100 batches"] = late_files(samples)
            if seconds >= shown * 60:
                print_line(samples[-1], header=shown == 0)
                shown += 1
            if options.samples:
                options.samples.write_text("".join(json.dumps(figures) + "\n" for figures in samples))
            time.sleep(SAMPLE_SECONDS)
        if child.poll() is not None:
            print((folder / "log").read_text()[-3000:])
            return 1
    finally:
        stop.set()
        child.terminate()
        child.wait()
        writing.join()
        shutil.rmtree(folder, ignore_errors=True)
    draw(samples, options.picture)
    return report(samples)


def report(samples: list[Sample]) -> int:
    """Print each figure in the third and the last quarter; return 1 where one grows."""
    growing = []
    for name in (name for names in DRAWN.values() for name in names):
        third, last = growth(samples, name)
        if last > third * GROWTH + 1:
            growing.append(name)
        print(f"{name:26} third quarter {third:9.1f}  last quarter {last:9.1f}  {'GROWS' if name in growing else ''}")
    totals = {name: value for name, value in samples[-1].items() if name.startswith("rows ") or name == "batches"}
    print(", ".join(f"{name} {value:,.0f}" for name, value in totals.items()))
    print(f"growing: {', '.join(growing)}" if growing else "bounded")
    return 1 if growing else 0


if __name__ == "__main__":
    sys.exit(main())
