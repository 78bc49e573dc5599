"""The progress of a query as data of the catalog."""

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cepsql.spark.checkpoint.progress import Progress

SINCE_START = ("seconds", "sink_retries", "refresh_failures", "late_alerts")
"""Counts of a standing query since its start, which the catalog adds up over all starts."""


def progress_data(progress: "Progress") -> dict:
    """Return progress as JSON data; times are in microseconds."""
    return asdict(progress)


def added(before: dict, progress: dict) -> dict:
    """Return progress with the counts before the last start of its query that its checkpoint does not have.

    >>> none = dict.fromkeys(SINCE_START, 0)
    >>> both = added(none | {"matches": 5, "seconds": 2.5}, none | {"matches": 6, "seconds": 0.5})
    >>> both["matches"], both["seconds"]
    (6, 3.0)
    """
    return progress | {name: before.get(name, 0) + progress[name] for name in SINCE_START}
