"""How a standing query did: its rate, its lag and what it holds, over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from cepsql.render.plots.figures import stacked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT = 1.9
_DARK, _RED = "#2e4057", "#d1495b"


@dataclass(frozen=True)
class Moment:
    """What a query had done at a time; `at` and `watermark` are in seconds since 1970.

    watermark: None while there is none, and after the end of the input.
    state:     what the query did, such as running or failed; a change is marked.
    """

    at: float
    rows_read: int
    rows_out: int
    state_rows: int
    watermark: float | None
    state: str = ""

    @classmethod
    def of(cls, at: float, progress: Mapping[str, Any], state: str = "") -> Self:
        """Take the numbers of a `cepsql.spark.checkpoint.progress.Progress`, by their names."""
        bound = None if progress.get("ended") else progress.get("bound")
        watermark = None if bound is None else bound / 1_000_000
        read, out, held = (progress.get(name) or 0 for name in ("rows_read", "rows_out", "state_rows"))
        return cls(at, read, out, held, watermark, state)


def draw_progress(moments: Sequence[Moment], title: str = "") -> "Figure":
    """Draw rows a second in and out, the lag of the watermark behind the clock, and the rows held, over time.

    Raises InterfaceError where matplotlib is not installed.
    """
    figure, (rate, lag, held) = stacked(3, _HEIGHT)
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    times = [_days(moment.at) for moment in moments]
    steps = [(before, after) for before, after in pairwise(moments) if after.at > before.at]
    ends = [_days(after.at) for _, after in steps]
    for name, color in (("rows_read", _DARK), ("rows_out", _RED)):
        # A checkpoint that was given up counts from the beginning.
        rates = [max(0, getattr(b, name) - getattr(a, name)) / (b.at - a.at) for a, b in steps]
        rate.step(ends, rates, where="pre", color=color, linewidth=1.4, label=name.replace("rows_", ""))
    behind = [None if m.watermark is None else max(0.0, m.at - m.watermark) for m in moments]
    shown = [(time, lag) for time, lag in zip(times, behind, strict=True) if lag is not None]
    lag.plot([time for time, _ in shown], [lag for _, lag in shown], color=_DARK, linewidth=1.4)
    held.plot(times, [moment.state_rows for moment in moments], color=_DARK, linewidth=1.4)
    for axes, name in ((rate, "rows a second"), (lag, "lag, seconds"), (held, "rows held")):
        axes.set_ylabel(name)
        axes.set_ylim(bottom=0)
        for before, after in pairwise(moments):
            if before.state != after.state:
                axes.axvline(_days(after.at), color="#b8b8b8", linewidth=1, linestyle="--")
                if axes is rate:
                    place = (_days(after.at), 1.0)
                    axes.annotate(after.state, place, xycoords=("data", "axes fraction"), fontsize=8, va="bottom")
    rate.legend(loc="upper left", frameon=False, ncols=2)
    held.xaxis_date()
    held.xaxis.set_major_formatter(ConciseDateFormatter(AutoDateLocator()))
    held.set_xlabel("time, UTC")
    figure.suptitle(title, fontsize=10)
    return figure


def _days(seconds: float) -> float:
    """Return a time as matplotlib has times: in days since 1970."""
    return seconds / 86_400
