"""Why a query over a stream returns no rows: what it has read, and what it waits for."""

import glob
import os
from typing import TYPE_CHECKING

import pyarrow as pa

from cepsql.catalog import Registered, Source
from cepsql.catalog.locations import is_hidden
from cepsql.frontends.runner.counted import counted
from cepsql.render import canonical_zone, cells

if TYPE_CHECKING:
    from cepsql.plan.planner import Plan
    from cepsql.spark.checkpoint.progress import Progress


def standing(progress: "Progress", plan: "Plan", zone: str) -> str:
    """Return a short text about the progress of a query; times are in the time zone of the session."""
    parts = [f"read {progress.rows_read}"]
    left_out = {
        "late": progress.rows_late,
        "malformed": progress.rows_malformed,
        "without event time": progress.rows_null_time,
        "ahead": progress.rows_ahead,
    }
    parts += [f"{name} {number}" for name, number in left_out.items() if number]
    if progress.rows_waiting:
        parts.append(f"waiting {progress.rows_waiting}")
    if progress.records_behind:
        parts.append(f"behind {progress.records_behind}")
    # Before the first row, or with rows that wait, a watermark is still to come.
    awaited = progress.rows_waiting or progress.open or not progress.rows_read
    timed = any(origin.watermark is not None for origin in plan.origins)
    if progress.bound is not None or (timed and awaited):
        parts.append(f"watermark {shown_time(progress.bound, zone) or 'none yet'}")
    if progress.open:
        until = shown_time(progress.next_deadline, zone)
        parts.append(f"{progress.open} open" + (f" until {until}" if until else ""))
    return " · ".join(parts)


def reason(progress: "Progress", plan: "Plan", zone: str, busy: bool = False) -> str:
    """Return a sentence about why a query returns no row and what would change that; `busy`: a micro-batch runs."""
    if progress.rows_read == 0:
        return _nothing_read(progress, plan, busy)
    dropped = progress.rows_late + progress.rows_malformed + progress.rows_null_time + progress.rows_ahead
    if dropped >= progress.rows_read:
        return f"none of {counted(progress.rows_read, 'row')} could be used: late, malformed or without event time"
    if progress.bound is None and (progress.rows_waiting or progress.open):
        # Rows that were aggregated at once are in windows.
        held = counted(progress.rows_waiting, "row") if progress.rows_waiting else counted(progress.open, "window")
        return f"{held} wait for a watermark: one of the streams has had no row yet"
    if progress.waiting:
        return progress.waiting
    waits = _dropped_matches(progress, plan)
    if progress.rows_waiting:
        mark = shown_time(progress.bound, zone)
        rows = (
            "1 row newer than the watermark waits"
            if progress.rows_waiting == 1
            else f"{progress.rows_waiting} rows newer than the watermark wait"
        )
        waits.append(f"{rows} until later rows move it past {mark}")
    if progress.open:
        waits.append(
            (_open_matches if plan.matches else _open_groups)(progress.open, shown_time(progress.next_deadline, zone))
        )
    no_row = "no further row" if progress.rows_out else "no row"
    coming = "a micro-batch of new input is running" if busy else "no new input has arrived"
    return "; ".join(waits) or f"the rows read so far give {no_row}, and {coming}"


def _nothing_read(progress: "Progress", plan: "Plan", busy: bool) -> str:
    if busy:
        return "the first micro-batch is still running"
    places = [files for origin in plan.origins if (files := _place(origin)) is not None]
    for name, path, has_files in places:
        if not has_files:
            return f"{path}, which {name} reads, has no files yet"
    if progress.batches:
        return "no input has arrived yet"
    if places:
        return "the query is starting: its first micro-batch has not begun"
    return "no micro-batch has run yet: the query is starting, or no input has arrived"


def _dropped_matches(progress: "Progress", plan: "Plan") -> list[str]:
    """Return a part of the reason, as a list of at most one, if matches have produced no row."""
    number = progress.matches + progress.timeouts
    if not plan.matches or not number or progress.rows_out:
        return []
    where = len(plan.matches) == 1 and plan.query.expression.args.get("where") is not None
    return [f"{counted(number, 'match', 'matches')} found, and none {'passed WHERE' if where else 'became a row'}"]


def _open_matches(number: int, until: str | None) -> str:
    open_text = "1 partition has an open match" if number == 1 else f"{number} partitions have open matches"
    return f"{open_text}, which later rows decide" + (f", or the watermark when it passes {until}" if until else "")


def _open_groups(number: int, until: str | None) -> str:
    open_text = (
        "1 key or window is not over, and waits" if number == 1 else f"{number} keys or windows are not over, and wait"
    )
    return f"{open_text} for later rows" + (f", or for the watermark to pass {until}" if until else "")


def shown_time(micros: int | None, zone: str) -> str | None:
    """Return a time in microseconds since 1970 as results show it."""
    (text,) = cells(pa.chunked_array([[micros]], pa.timestamp("us", "UTC")), canonical_zone(zone))
    return text


def _place(origin: Source | Registered) -> tuple[str, str, bool] | None:
    """Return the name of a stream of files, its path, and whether there are files; None if that is unknown here."""
    path = dict(origin.options).get("path") if isinstance(origin, Source) and origin.streaming else None
    if path is None or "://" in path:
        return None
    places = glob.glob(os.path.expanduser(path.removeprefix("file:")))
    return origin.name, path, any(os.path.isfile(place) or _holds_files(place) for place in places)


def _holds_files(folder: str) -> bool:
    """Tell whether a folder has a file that Spark reads."""
    return any(not is_hidden(name) for _, _, names in os.walk(folder) for name in names)
