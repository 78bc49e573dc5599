"""Spark's log of the files that a stream has read, kept from growing for ever.

Every tenth file of the log holds all files that were ever read, so that it grows with each one. Spark takes no notice
of files that are `maxFileAge` older than the newest one, whether it knows them or not: those can be left out.
"""

import re
from collections.abc import Iterable, Mapping

from cepsql.spark.checkpoint.checkpoint_path import CheckpointPath
from cepsql.spark.checkpoint.planned_files import SourceLog, changed_at, read_log

_KEPT_BATCHES = 100
"""Of so many batches of the log all files are kept: the last one may have to be read again."""

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def longest_file_age(options: Iterable[Iterable[tuple[str, str]]]) -> float | None:
    """Return after how many seconds Spark forgets files of all streams that have these options, None for never."""
    ages = [file_age({name.lower(): value for name, value in source_options}) for source_options in options]
    ages_known = [age for age in ages if age is not None]
    return max(ages_known) if ages and len(ages_known) == len(ages) else None


def old_files(spark: CheckpointPath, age: float) -> list[tuple[SourceLog, list[bytes]]]:
    """Return the logs in Spark's checkpoint that have files so many seconds older than the newest one, each with the
    entries of its other files. A log that holds something else has none.

    `rewrite_log` forgets them; no batch may be planned meanwhile.
    """
    logs = []
    for folder in (spark / "sources").glob("*"):
        whole: list[CheckpointPath] = sorted(folder.glob("[0-9]*.compact"), key=lambda path: int(path.stem))
        log = read_log(whole[-1]) if whole else None
        if log is not None and len(entries := _kept(log, age)) < len(log.entries):
            logs.append((log, entries))
    return logs


def _kept(log: SourceLog, age: float) -> list[bytes]:
    """Return the entries of a log that are not to be forgotten: all, if it does not say when each file was changed."""
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
    """Return the maxFileAge of a stream in seconds, by its options with lower-case names; None where it has none or we
    cannot read it."""
    if options.get("latestfirst", "false").lower() == "true":
        return None
    duration = options.get("maxfileage", "7d")
    parts = re.fullmatch(r"(\d+)([a-z]+)?", duration.strip().lower())
    unit = _UNITS.get(parts[2] or "ms") if parts else None
    return int(parts[1]) * unit if parts and unit is not None else None
