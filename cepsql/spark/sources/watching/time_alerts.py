"""Warnings about time: too large a share of late rows, and a watermark ahead of the system clock."""

import datetime
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from cepsql.base.calendar import time_text
from cepsql.catalog.working_for import QUERY

LOGGER = logging.getLogger("cepsql")

JUDGED_ROWS = 100
"""The minimum number of rows for a share of late rows, in whole micro-batches."""

_FAR_AHEAD = 86_400_000_000
"""In microseconds. Times without zone can be hours ahead of the system clock without being wrong."""


@dataclass(frozen=True)
class LateAlert:
    """`late` of `rows` rows of a stream were late, a larger share than `above`, from 0 to below 1."""

    stream: str
    rows: int
    late: int
    above: float


class TimeAlerts:
    """Follows the micro-batches of a query.

    shares: the share of late rows, from 0 to below 1, above which an alert is raised, by stream name.
    begun:  the totals at the start of the query, as `judge` takes them.
    raised: the number of alerts so far.
    """

    def __init__(self, shares: Mapping[str, float], begun: Mapping[str, tuple[int, int]]):
        self.raised = 0
        self._shares = shares
        self._judged = dict(begun)
        self._told_ahead = False

    def judge(self, counts: Mapping[str, tuple[int, int]], batch: int) -> list[LateAlert]:
        """Return the alerts of a micro-batch; counts: the total rows read and late rows of each stream after it."""
        alerts = []
        for name, share in self._shares.items():
            read, late = counts.get(name, (0, 0))
            read_before, late_before = self._judged.get(name, (0, 0))
            if read - read_before < JUDGED_ROWS:
                continue
            self._judged[name] = read, late
            if late - late_before > share * (read - read_before):
                self.raised += 1
                alerts.append(LateAlert(name, read - read_before, late - late_before, share))
                LOGGER.warning(
                    "batch %s: %s of the last %s rows of %s were late, more than %.12g %%; a longer delay in its "
                    "WATERMARK FOR would wait for them",
                    batch,
                    f"{late - late_before:,}",
                    f"{read - read_before:,}",
                    name,
                    share * 100,
                )
        return alerts

    def compare(self, watermark: int | None, clock: str) -> None:
        """Warn once of a watermark far ahead of the system clock, because today's rows would be late.

        watermark: in microseconds since 1970, of any year, or None.
        clock:     the system clock as ISO text.
        """
        if watermark is None or self._told_ahead:
            return
        if watermark - datetime.datetime.fromisoformat(clock).timestamp() * 1_000_000 > _FAR_AHEAD:
            self._told_ahead = True
            LOGGER.warning(
                "the watermark%s is %s UTC, ahead of the clock: rows with earlier times are late now; in WATERMARK "
                "FOR, AHEAD AT MOST INTERVAL '1' HOUR sets rows aside whose clocks run ahead",
                f" of query {query}" if (query := QUERY.get()) else "",
                time_text(watermark // 1_000_000 * 1_000_000),
            )
