"""A drawing of rows as they arrive: their event times, the watermark, and the rows that are late."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import cepsql
from cepsql.render.plots.figures import stacked
from cepsql.testing import play

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELAY = timedelta(seconds=10)
BATCHES = ((0, 4, 9), (7, 15, 12, 22), (19, 30, 11, 27), (36, 24, 33, 41))
"""Seconds of the event times of the rows of each micro-batch."""

_STREAM = """
    CREATE STREAM readings (id INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '10' SECONDS)
    USING csv LATE ROWS INTO late_readings USING parquet OPTIONS (path 'any');
    SELECT id FROM readings MATCH_RECOGNIZE (ORDER BY at ALL ROWS PER MATCH PATTERN (A) DEFINE A AS TRUE) AS m
"""
_BEGIN = datetime(2026, 3, 2, 9, 1)
_HEIGHT = 3.6


def arrival(engine: "cepsql.Engine") -> "Figure":
    """Let rows arrive in micro-batches; draw each in its batch, and which of them were used and late."""
    rows = [[(10 * b + n, _time(second)) for n, second in enumerate(batch)] for b, batch in enumerate(BATCHES)]
    played = play(_STREAM, [[(id, str(at)) for id, at in batch] for batch in rows], spark=engine.spark)
    late = {row.id for row in played.late["late_readings"]}
    figure, (axes,) = stacked(1, _HEIGHT)
    arrived = [(batch, place, id, at) for batch, (place, id, at) in _placed(rows)]
    _dots(axes, [(place, at) for _, place, id, at in arrived if id not in late], "used", "#00798c", "o")
    _dots(axes, [(place, at) for _, place, id, at in arrived if id in late], "late", "#d1495b", "X")
    reached, marks = datetime.min, []
    for number, batch in enumerate(rows):
        places = [place for b, place, *_ in arrived if b == number]
        reached = max(reached, *(at for _, at in batch))
        # What a batch is compared with is the watermark that the batch before it left.
        marks.append((places[-1] + 0.5, reached - DELAY))
        axes.axvline(places[-1] + 0.5, color="#cccccc", linewidth=0.8, zorder=0)
        axes.text(places[0] - 0.35, _time(43), f"micro-batch {number}", fontsize=8, color="#666666", va="top")
    ends = [*(x for x, _ in marks[1:]), marks[-1][0]]
    for (x, mark), end in zip(marks[:-1], ends, strict=False):
        axes.plot([x, end], [mark, mark], color="#edae49", linewidth=2, zorder=1)
        axes.annotate(f"watermark {mark:%M:%S}", (x + 0.1, mark), (0, 3), textcoords="offset points", fontsize=8)
    axes.set_xlabel("order of arrival")
    axes.set_ylabel("event time")
    axes.yaxis.set_major_formatter(_clock)
    axes.set_xticks([])
    axes.legend(loc="lower right", frameon=False, fontsize=8)
    return figure


def _clock(number: float, _: int) -> str:
    from matplotlib.dates import num2date

    return f"{num2date(number):%M:%S}"


def _time(second: int) -> datetime:
    return _BEGIN + timedelta(seconds=second)


def _placed(rows: list) -> list:
    """Return the number of its batch and (place, id, time) of each row, in the order of arrival."""
    place, found = 0, []
    for number, batch in enumerate(rows):
        for id, at in batch:
            found.append((number, (place, id, at)))
            place += 1
    return found


def _dots(axes, points: list, label: str, color: str, marker: str) -> None:
    axes.plot(*zip(*points, strict=True), marker, color=color, label=label, markersize=7)
