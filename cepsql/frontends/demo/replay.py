"""Lay the flights out as files that a stream reads one by one, with some rows late and some malformed."""

import csv
import gzip
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

SLICE = Path(__file__).parent / "flights"
"""The folder of the compressed CSV files that come with the package."""

DEPARTED, DELAY = 1, 2
_LATE_EVERY, _MALFORMED_EVERY = 173, 419


@dataclass(frozen=True)
class FlightReplay:
    """The files of a replay: the folder, how many rows of each kind (each row counted once), and the last departure.

    Cancelled rows have no event time, late ones are one file after the file that they belong to, malformed ones have a
    delay that is not a number.
    """

    folder: Path
    files: int
    rows: int
    late: int
    malformed: int
    cancelled: int
    end: datetime

    def has(self, tailnum: str) -> bool:
        """Tell whether an aircraft is among the flights."""
        return any(f",{tailnum}," in file.read_text("utf-8") for file in self.folder.glob("*.csv"))


def lay_out(folder: Path, files: int = 5, limit: int | None = None) -> FlightReplay:
    """Write the first `limit` flights (None: all) into `files` CSV files of equal length, in event-time order.

    Every 173rd departure is held back to the next file if that makes it more than a day late, and every 419th gets a
    delay that does not parse. The files' modification times follow their order, since Spark reads them by that.
    """
    header, rows = _read(limit)
    size = -(-len(rows) // files)
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]
    held_back: list[list] = []
    late, malformed, cancelled, end = 0, 0, 0, ""
    start = datetime.now().timestamp() - len(parts)
    for number, part in enumerate(parts):
        last = max((r[DEPARTED] for r in part if r[DEPARTED]), default="")
        end = max(end, last)
        on_time, holding_back = [], []
        for row in part:
            order = row.pop()
            if not row[DEPARTED]:
                cancelled += 1
            elif order % _MALFORMED_EVERY == 0:
                row[DELAY] = f"{row[DELAY]} minutes"
                malformed += 1
            elif order % _LATE_EVERY == 0 and number + 1 < len(parts) and _days(row[DEPARTED], last) > 1:
                holding_back.append(row)
                continue
            on_time.append(row)
        late += len(held_back)
        _write(folder / f"{number:03}.csv", header, on_time + held_back, start + number)
        held_back = holding_back
    return FlightReplay(folder, len(parts), len(rows), late, malformed, cancelled, datetime.fromisoformat(end))


def _read(limit: int | None) -> tuple[list[str], list[list]]:
    """Return the header and the rows, each with its number appended."""
    rows: list[list] = []
    for path in sorted(SLICE.glob("*.csv.gz")):
        with gzip.open(path, "rt", newline="") as file:
            reader = csv.reader(file)
            header = next(reader)
            rows += reader
    rows = rows[:limit]
    return header, [[*row, number] for number, row in enumerate(rows, 1)]


def _days(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)) / timedelta(days=1)


def _write(path: Path, header: list[str], rows: list[list[str]], modified: float) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    os.utime(path, (modified, modified))
