"""The history of a query as a drawing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cepsql.catalog.create_text import quoted_name
from cepsql.catalog.states import HistoryEntry
from cepsql.errors import InterfaceError
from cepsql.render.plots.progress_figure import Moment, draw_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_history(name: str, history: Sequence[HistoryEntry]) -> "Figure":
    """Draw rate, lag and state over time; entries without progress only mark a change of state.

    Raises InterfaceError if matplotlib is not installed, or no entry has progress.
    """
    moments: list[Moment] = []
    for entry in history:
        if entry.progress:
            moments.append(Moment.of(entry.at, entry.progress, entry.state))
        elif moments:
            moments.append(replace(moments[-1], at=entry.at, state=entry.state))
    if not moments:
        raise InterfaceError(
            f"nothing is known of query {name} that could be drawn", hint=f"START QUERY {quoted_name(name)}"
        )
    return draw_progress(moments, f"query {name}")
