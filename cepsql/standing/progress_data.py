"""The progress of a query as data that the catalog keeps."""

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cepsql.spark.progress import Progress

SINCE_START = ("batches", "rows_out", "seconds")
"""What a standing query counts from its start on; the catalog adds it up over all starts."""


def progress_data(progress: "Progress") -> dict:
    """Return progress as data that JSON can hold."""
    return asdict(progress)


def added(before: dict, progress: dict) -> dict:
    """Return progress with what was counted before its query was started last.

    >>> added({"batches": 2, "matches": 5}, {"batches": 1, "matches": 6})
    {'batches': 3, 'matches': 6}
    """
    return progress | {name: before.get(name, 0) + progress[name] for name in SINCE_START if name in progress}
