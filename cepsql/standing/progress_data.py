"""The progress of a query as data that the catalog keeps."""

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cepsql.spark.progress import Progress

SINCE_START = ("batches", "rows_out", "seconds")
"""What a standing query counts from its start on; the catalog adds it up over all starts."""


NOW = (
    "rows_per_second", "batch_seconds", "state_rows", "state_bytes", "rows_waiting", "open", "bound", "next_deadline",
    "records_behind",
)  # fmt: skip
"""What is as it was after the last batch, and not counted."""


def progress_data(progress: "Progress") -> dict:
    """Return progress as data that JSON can hold; times are in microseconds."""
    return asdict(progress)


def added(before: dict, progress: dict) -> dict:
    """Return progress with what was counted before its query was started last.

    >>> before = {"batches": 2, "matches": 5, "bound": 7}
    >>> added(before, {"batches": 1, "matches": 6, "bound": 9, "counted_on": True})
    {'batches': 3, 'matches': 6, 'bound': 9, 'counted_on': True}
    >>> added(before, {"batches": 1, "matches": 0, "bound": None, "counted_on": False})
    {'batches': 3, 'matches': 5, 'bound': 7, 'counted_on': False}
    """
    counted_on = progress["counted_on"]
    sums = {
        name: before.get(name, 0) + number
        for name, number in progress.items()
        if isinstance(number, int | float)
        and not isinstance(number, bool)
        and name not in NOW
        and (name in SINCE_START or not counted_on)
    }
    kept = (
        {}
        if counted_on
        else {name: before.get(name) or progress[name] for name in ("counters", "inputs") if name in progress}
    )
    mark = progress["bound"]
    return progress | sums | kept | {"bound": before.get("bound") if mark is None else mark}
