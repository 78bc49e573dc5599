"""The history of a standing query, drawn."""

import pytest

from cepsql.catalog.states import FAILED, RUNNING, HistoryEntry
from cepsql.errors import InterfaceError
from cepsql.render.plots.progress_figure import Moment, draw_progress
from cepsql.standing.drawn_history import draw_history

pytest.importorskip("matplotlib")


def entry(at, read, out, bound, state=RUNNING, **more):
    return HistoryEntry(at, state, None, {"rows_read": read, "rows_out": out, "state_rows": 7, "bound": bound, **more})


def test_rate_lag_and_state_over_time():
    history = [
        HistoryEntry(5.0, RUNNING, "started", None),
        entry(10.0, 0, 0, None),
        entry(20.0, 100, 5, 15_000_000),
        HistoryEntry(25.0, FAILED, "no", None),
        entry(30.0, 400, 5, 29_000_000, ended=True),
    ]
    rate, lag, held = draw_history("fraud", history).axes
    read, out = (line.get_ydata().tolist() for line in rate.lines[:2])
    assert (read, out) == ([10.0, 0.0, 60.0], [0.5, 0.0, 0.0])
    # No watermark in the first, the end of the input in the last.
    assert lag.lines[0].get_ydata().tolist() == [5.0, 10.0]
    assert held.lines[0].get_ydata().tolist() == [7, 7, 7, 7]
    assert [text.get_text() for text in rate.texts] == ["failed", "running"]


def test_counts_that_begin_again_are_no_negative_rate():
    rate, *_ = draw_progress([Moment(0.0, 50, 50, 0, None), Moment(10.0, 20, 20, 0, None)]).axes
    assert rate.lines[0].get_ydata().tolist() == [0]


def test_nothing_is_known():
    with pytest.raises(InterfaceError, match="nothing is known of query fraud that could be drawn"):
        draw_history("fraud", [HistoryEntry(5.0, RUNNING, "started", None)])
