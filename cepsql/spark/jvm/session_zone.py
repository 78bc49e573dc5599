"""The clocks of the session's time zone, as the JVM knows them."""

import datetime
import functools
import re
from typing import Any

from pyspark.sql import SparkSession

from cepsql.scalar.zone import Zone
from cepsql.spark.jvm.lent_settings import setting
from cepsql.spark.jvm.spark_plan import jvm

_DAY, _SECOND = 86_400, 1_000_000
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_TRANSITION = re.compile(r" at (\d+-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)(Z|[+-][\d:]+) to (Z|[+-][\d:]+)")


def session_zone(spark: SparkSession) -> Zone:
    """Return the session's time zone, with the transitions of Java's own table."""
    return _zone(jvm(spark), setting(spark, "spark.sql.session.timeZone"))


@functools.cache
def _zone(java: Any, name: str) -> Zone:
    zones = java.java.time.ZoneId
    rules = zones.of(name, zones.SHORT_IDS).getRules()
    if rules.isFixedOffset():
        return Zone((), (rules.getOffset(java.java.time.Instant.EPOCH).getTotalSeconds() * _SECOND,))
    # One text instead of a call to the JVM for every part of hundreds of transitions.
    transitions = [_transition(*match.groups()) for match in _TRANSITION.finditer(rules.getTransitions().toString())]
    recurring = [_Rule(rule) for rule in rules.getTransitionRules()]
    repeats = None
    if recurring:
        last = _year(transitions[-1][0])
        for year in range(last + 1, last + 402):
            transitions += sorted(rule.transition(year) for rule in recurring)
        repeats = _day(last + 402, 1, 1) * _DAY * _SECOND
    begins = tuple((instant + max(before, after)) * _SECOND for instant, before, after in transitions)
    offsets = (transitions[0][1], *(after for _, _, after in transitions))
    return Zone(begins, tuple(offset * _SECOND for offset in offsets), repeats)


class _Rule:
    """A transition that comes every year: by the clock, on a day of a month or a weekday from there on."""

    def __init__(self, rule):
        self.month, self.day = rule.getMonth().getValue(), rule.getDayOfMonthIndicator()
        weekday = rule.getDayOfWeek()
        self.weekday = None if weekday is None else weekday.getValue() - 1
        self.second = _DAY if rule.isMidnightEndOfDay() else rule.getLocalTime().toSecondOfDay()
        self.before, self.after = rule.getOffsetBefore().getTotalSeconds(), rule.getOffsetAfter().getTotalSeconds()
        standard = rule.getStandardOffset().getTotalSeconds()
        self.clock = {"UTC": 0, "WALL": self.before, "STANDARD": standard}[rule.getTimeDefinition().toString()]

    def transition(self, year: int) -> tuple[int, int, int]:
        """Return its instant in a year, and the offsets before and after it, all in seconds."""
        if self.day > 0:
            day = _day(year, self.month, self.day)
        else:
            day = _day(year + self.month // 12, self.month % 12 + 1, 1) + self.day
        if self.weekday is not None:
            # Day 0 of the epoch was a Thursday.
            ahead = (self.weekday - (day + 3)) % 7
            day += ahead if self.day > 0 else (ahead - 7) % -7
        return day * _DAY + self.second - self.clock, self.before, self.after


def _transition(date: str, clock: str, before: str, after: str) -> tuple[int, int, int]:
    """Return a transition that Java writes as the clock shows it before."""
    year, month, day = map(int, date.split("-"))
    hour, minute, second = map(int, (clock + ":00").split(":")[:3])
    offset = _seconds(before)
    instant = _day(year, month, day) * _DAY + hour * 3600 + minute * 60 + second - offset
    return instant, offset, _seconds(after)


def _seconds(offset: str) -> int:
    if offset == "Z":
        return 0
    hours, minutes, seconds = map(int, (offset[1:] + ":00:00").split(":")[:3])
    return (hours * 3600 + minutes * 60 + seconds) * (-1 if offset[0] == "-" else 1)


def _day(year: int, month: int, day: int) -> int:
    return datetime.date(year, month, day).toordinal() - _EPOCH


def _year(instant: int) -> int:
    return datetime.date.fromordinal(instant // _DAY + _EPOCH).year
