"""The answers of SHOW QUERIES, DESCRIBE QUERY and SHOW QUERY ... HISTORY, as rows of text."""

import datetime
import math
from collections.abc import Iterable, Mapping

from cepsql.base.calendar import time_text
from cepsql.catalog import RegisteredQuery
from cepsql.catalog.create_text import shown_option
from cepsql.catalog.states import RUNNING, STOPPING, HistoryEntry, QueryState

Rows = tuple[tuple[str | None, ...], ...]

LISTED = ("query", "state", "rows read", "rows out", "lag", "note")
LISTED_EXTENDED = (
    "query", "state", "since", "sink", "rows read", "rows out", "matches", "late", "lag", "owner", "restarts", "error",
)  # fmt: skip
REMEMBERED = ("at", "state", "note", "batches", "rows read", "rows out", "matches", "late", "malformed", "watermark")

_ROWS = ("rows_read", "rows_out")
_COUNTED = (
    ("rows read", "rows_read"),
    ("rows out", "rows_out"),
    ("batches", "batches"),
    ("seconds of the last batch", "batch_seconds"),
    ("late rows", "rows_late"),
    ("rows ahead of the clock", "rows_ahead"),
    ("alerts of late rows", "late_alerts"),
    ("tables not read again", "refresh_failures"),
    ("malformed rows", "rows_malformed"),
    ("matches", "matches"),
    ("timed out matches", "timeouts"),
    ("partial matches", "open"),
    ("rows that wait for the watermark", "rows_waiting"),
    ("rows of state", "state_rows"),
    ("bytes of state", "state_bytes"),
)
_EXTENDED = (
    ("rows used", "rows_used"),
    ("rows without event time", "rows_null_time"),
    ("rows of punctuation", "rows_punctuation"),
    ("rows without key", "rows_null_key"),
    ("attempts given up", "attempts_given_up"),
    ("misplaced skips", "misplaced_skips"),
    ("matches without event time", "matches_null_time"),
    ("seconds in batches", "seconds"),
)


Known = Iterable[tuple[RegisteredQuery, QueryState]]
"""Queries with their states."""


def listed(queries: Known) -> Rows:
    """Return a short row for each query."""
    return tuple(_listed(query, state) for query, state in _by_name(queries))


def listed_extended(queries: Known) -> Rows:
    """Return a row with all columns for each query."""
    return tuple(_listed_extended(query, state) for query, state in _by_name(queries))


def _by_name(queries: Known) -> list[tuple[RegisteredQuery, QueryState]]:
    return sorted(queries, key=lambda pair: pair[0].name.lower())


def described(query: RegisteredQuery, state: QueryState, extended: bool) -> Rows:
    """Return properties of a query and their values."""
    progress = state.progress or {}
    rows = [
        ("query", query.name),
        ("text", " ".join(query.sql.split())),
        ("sink", query.sink),
        ("desired", state.desired),
        ("state", state.state),
        ("reason", state.reason),
        ("since", shown_time(state.state_since)),
        ("owner", state.owner),
        ("restarts", _number(state.restarts)),
        ("last error", _error(state)),
        ("rows a second", _number(rows_per_second(state))),
        ("watermark", shown_watermark(progress)),
        ("lag", shown_lag(state)),
        *((title, _number(progress.get(key))) for title, key in _COUNTED),
    ]
    if extended:
        rows += [(title, _number(progress.get(key))) for title, key in _EXTENDED]
        rows += [(f"counter {name}", _number(number)) for name, number in progress.get("counters", {}).items()]
        for name, counts in progress.get("inputs", {}).items():
            rows.append((f"input {name}", ", ".join(f"{key} {number}" for key, number in counts.items())))
        rows += [("epoch", _number(state.epoch)), ("progress of", shown_time(state.progress_at))]
        rows += [(f"option {name}", shown_option(name, value)) for name, value in query.options]
        rows.append(("reads", ", ".join(query.reads)))
    return tuple(rows)


def remembered(history: Iterable[HistoryEntry]) -> Rows:
    """Return a row for each entry of a history."""
    return tuple(_remembered(entry) for entry in history)


def _listed(query: RegisteredQuery, state: QueryState) -> tuple[str | None, ...]:
    progress, lag = state.progress or {}, lag_seconds(state)
    counts = (_number(progress.get(key)) for key in ("rows_read", "rows_out"))
    note = (state.reason or "").split("\n")[0] or (f"into {query.sink}" if query.sink else None)
    return (query.name, state.state, *counts, None if lag is None else shown_duration(lag), note)


def shown_duration(seconds: float) -> str:
    """Return a readable duration in one unit.

    >>> [shown_duration(s) for s in (5, 320, 90_000, 9_000_000)]
    ['5 s', '5 min', '25 h', '104 d']
    """
    for unit, size, most in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < most:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"


def _listed_extended(query: RegisteredQuery, state: QueryState) -> tuple[str | None, ...]:
    progress = state.progress or {}
    counts = (_number(progress.get(key)) for key in ("rows_read", "rows_out", "matches", "rows_late"))
    return (
        query.name,
        state.state,
        shown_time(state.state_since),
        query.sink,
        *counts,
        shown_lag(state),
        state.owner,
        _number(state.restarts),
        state.reason,
    )


def _remembered(entry: HistoryEntry) -> tuple[str | None, ...]:
    progress = entry.progress or {}
    keys = ("batches", "rows_read", "rows_out", "matches", "rows_late", "rows_malformed")
    numbers = (_number(progress.get(key)) for key in keys)
    return (shown_time(entry.at), entry.state, entry.note, *numbers, shown_watermark(progress))


def lag_seconds(state: QueryState) -> float | None:
    """Return how far the watermark of a query is behind the clock, or was at its last report if it is not to run; None
    without a watermark.

    A query that fails, or waits for rows or for its sink, reports nothing meanwhile, so that its lag grows.
    """
    mark = (state.progress or {}).get("bound")
    if mark is None or state.progress_at is None or (state.progress or {}).get("ended"):
        return None
    at = state.now if state.desired == RUNNING else state.progress_at
    return max(0.0, at - mark / 1_000_000)


def rows_per_second(state: QueryState) -> float | None:
    """Return how many rows a second a query reads, 0 if it does not run; None before its first report."""
    progress = state.progress or {}
    if "batches" not in progress:
        return None
    return (progress.get("rows_per_second") or 0.0) if state.state in (RUNNING, STOPPING) else 0.0


def shown_lag(state: QueryState) -> str | None:
    """Return the lag of a query as answers show it; None without a watermark."""
    seconds = lag_seconds(state)
    return None if seconds is None else str(datetime.timedelta(seconds=round(seconds)))


def shown_watermark(progress: Mapping) -> str | None:
    """Return the watermark of a query as answers show it; None without one."""
    if progress.get("ended"):
        return "end of the input"
    mark = progress.get("bound")
    return None if mark is None else _moment(mark // 1_000_000)


def _error(state: QueryState) -> str | None:
    return None if state.error is None else f"{shown_time(state.error_at)} {state.error}"


def counts_of(progress: Mapping | None) -> tuple[str | None, str | None]:
    """Return how many rows a query has read and written, from its stored progress."""
    read, out = (None if (number := (progress or {}).get(name)) is None else str(number) for name in _ROWS)
    return read, out


def shown_time(seconds: float | None) -> str | None:
    """Return a time of the store's clock as answers show it, in UTC; None for None and 0."""
    return _moment(math.floor(seconds)) if seconds else None


def _moment(seconds: int) -> str:
    """Return seconds since 1970 as a time in UTC; event times have any year."""
    return f"{time_text(seconds * 1_000_000)}Z"


def _number(number: float | None) -> str | None:
    if number is None:
        return None
    return str(number) if isinstance(number, int) else f"{number:.1f}"
