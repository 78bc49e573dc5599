"""What a standing query warns of about time: too large a share of late rows, and a watermark ahead of the clock."""

import datetime
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from cepsql.base.calendar import time_text
from cepsql.catalog.working_for import QUERY

LOGGER = logging.getLogger("cepsql")

JUDGED_ROWS = 100
"""The share of late rows is taken of so many rows or more, in whole micro-batches."""

_FAR_AHEAD = 86_400_000_000
"""Microseconds. Times without zone can be hours ahead of the clock without being wrong."""


@dataclass(frozen=True)
class LateAlert:
    """Of `rows` rows of a stream `late` were late, a larger share than `above`, from 0 to below 1."""

    stream: str
    rows: int
    late: int
    above: float


class TimeAlerts:
    """Follows the micro-batches of a query.

    shares: above which share of late rows, from 0 to below 1, an alert is raised, by the names of streams.
    begun:  the totals with which the query begins, as `judge` takes them.
    raised: how many alerts were.
    """

    def __init__(self, shares: Mapping[str, float], begun: Mapping[str, tuple[int, int]]):
        self.raised = 0
        self._shares = shares
        self._judged = dict(begun)
        self._told_ahead = False

    def judge(self, counts: Mapping[str, tuple[int, int]], batch: int) -> list[LateAlert]:
        """Take the totals after a micro-batch, of each stream the rows read and the late ones; return its alerts."""
        found = []
        for name, share in self._shares.items():
            read, late = counts.get(name, (0, 0))
            read_before, late_before = self._judged.get(name, (0, 0))
            if read - read_before < JUDGED_ROWS:
                continue
            self._judged[name] = read, late
            if late - late_before > share * (read - read_before):
                self.raised += 1
                found.append(LateAlert(name, read - read_before, late - late_before, share))
                LOGGER.warning(
                    "batch %s: %s of the last %s rows of %s were late, more than %.12g %%; a longer delay in its "
                    "WATERMARK FOR would wait for them",
                    batch,
                    f"{late - late_before:,}",
                    f"{read - read_before:,}",
                    name,
                    share * 100,
                )
        return found

    def compare(self, watermark: int | None, clock: str) -> None:
        """Warn, once, of a watermark far ahead of the clock, which an ISO text shows: rows of today would be late.

        watermark: in microseconds since 1970, of any year; None: there is none.
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
