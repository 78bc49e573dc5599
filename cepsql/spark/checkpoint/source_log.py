"""Limit the size of Spark's log of the files that a stream has read.

Every tenth file of the log lists all files that were ever read, so it keeps growing. Spark ignores files that are
`maxFileAge` older than the newest one, whether the log lists them or not, so their entries can be removed.
"""

import re
from collections.abc import Iterable, Mapping

from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath
from cepsql.spark.checkpoint.planned_files import SourceLog, changed_at, read_log

_KEPT_BATCHES = 100
"""For how many last batches the log keeps all files: the last batch may have to be read again."""

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def longest_file_age(options: Iterable[Iterable[tuple[str, str]]]) -> float | None:
    """Return after how many seconds Spark ignores files of all streams with these options, None for never."""
    ages = [file_age({name.lower(): value for name, value in source_options}) for source_options in options]
    ages_known = [age for age in ages if age is not None]
    return max(ages_known) if ages and len(ages_known) == len(ages) else None


def old_files(spark: CheckpointPath, age: float) -> list[tuple[SourceLog, list[bytes]]]:
    """Return the logs in Spark's checkpoint with files that are `age` seconds older than the newest one, each with the
    entries of its other files. Logs of other sources are skipped.

    `rewrite_log` removes the old entries; no batch may be planned meanwhile.
    """
    logs = []
    for folder in (spark / "sources").glob("*"):
        whole: list[CheckpointPath] = sorted(folder.glob("[0-9]*.compact"), key=lambda path: int(path.stem))
        log = read_log(whole[-1]) if whole else None
        if log is not None and len(entries := _recent_entries(log, age)) < len(log.entries):
            logs.append((log, entries))
    return logs


def _recent_entries(log: SourceLog, age: float) -> list[bytes]:
    """Return the entries of a log that must stay: all, if the log lacks the change time of a file."""
    times = [time for entry, _ in log.entries if (time := changed_at(entry)) is not None]
    if len(times) != len(log.entries):
        return [entry for entry, _ in log.entries]
    oldest = max(times) - 1000 * age
    return [
        entry
        for (entry, number), time in zip(log.entries, times, strict=True)
        if time >= oldest or number > log.number - _KEPT_BATCHES
    ]


def file_age(options: Mapping[str, str]) -> float | None:
    """Return the maxFileAge of a stream in seconds, from its options with lower-case names; None if files have no
    maximum age or it is unreadable."""
    if options.get("latestfirst", "false").lower() == "true":
        return None
    duration = options.get("maxfileage", "7d")
    parts = re.fullmatch(r"(\d+)([a-z]+)?", duration.strip().lower())
    unit = _UNITS.get(parts[2] or "ms") if parts else None
    return int(parts[1]) * unit if parts and unit is not None else None
