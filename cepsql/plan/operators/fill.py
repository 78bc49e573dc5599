"""Groups of windows with rows for those in which nothing came, in a plan."""

from dataclasses import dataclass

from cepsql.analysis.operators.fill import FilledGroups
from cepsql.analysis.sql.properties import Properties
from cepsql.cached_property import cached_property
from cepsql.errors import Error, NotSupportedError, Span
from cepsql.operators.fill import FillKind
from cepsql.operators.window_grids import CalendarGrid
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import Node, Ordered
from cepsql.plan.tree.spoken_times import spoken_length


@dataclass(frozen=True)
class Fill(Ordered):
    """An ordered operator: groups of windows, with rows for those in which nothing came. `inputs` and `markers` as of
    `Match`."""

    fills = True
    row_words = "windows of a stream"

    groups: FilledGroups
    inputs: tuple[Node, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the rows: those of a gap may wait for its end."""
        groups, streaming = self.groups, any(node.properties.streaming for node in self.inputs)
        columns = self.with_bound(groups.columns)
        return Properties(groups.name, columns, streaming, groups.watermark if streaming else None, streaming)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return describe_fill(self.groups)

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        groups, fill = self.groups, self.groups.fill
        filled = []
        for column, filler in zip(groups.columns, fill.fillers, strict=True):
            if filler.kind == FillKind.CONSTANT:
                filled.append(f"{column.name} {'NULL' if filler.value is None else filler.value}")
            elif filler.kind in (FillKind.PREVIOUS, FillKind.LINEAR):
                filled.append(f"{column.name} {filler.kind.upper()}")
        every = spoken_length(fill.step)
        most = "" if fill.most is None else f", at most {spoken_length(fill.most * fill.step)} after a group"
        if fill.calendar is not None:
            unit = "months" if fill.calendar.months else "days"
            every = f"{fill.calendar.every} {unit} of the calendar"
            most = "" if fill.most is None else f", at most {fill.most * fill.calendar.every} {unit} after a group"
        lines = [
            f"Fill {groups.name}  every {every}{most}",
            f"  for each: {', '.join(groups.keys) or 'nothing (one series)'}",
            f"  with: {', '.join(filled) or 'nothing'}",
        ]
        if not self.properties.streaming:
            return lines
        wait = (
            "when the next group of the key comes" if fill.waits else "as the watermark passes the end of their windows"
        )
        return [*lines, "  state: the last group of every key", f"  emit: groups at once, rows between them {wait}"]

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel."""
        return self.groups.fill.layout

    def missing_time(self, follower: str, place: Span | None) -> Error:
        """Return why `follower` cannot stand over filled windows without event time."""
        return NotSupportedError(
            f"{follower} over FILL needs to know how late its rows come out",
            place,
            "FILL (... FOR AT MOST INTERVAL '1' HOUR) bounds it; keep the end of the window, unchanged, in the "
            "subquery",
        )


def describe_fill(groups: FilledGroups) -> dict:
    """Return what decides which rows fill gaps, and with what, as data that JSON can hold."""
    fill = groups.fill
    fillers = zip(groups.columns, fill.fillers, strict=True)
    return {
        "fill": [[column.name, one.kind, None if one.value is None else str(one.value)] for column, one in fillers],
        "keys": list(groups.keys),
        "windows": [fill.size, fill.step, fill.most],
        **({} if fill.calendar is None else {"calendar": _grid(fill.calendar)}),
    }


def _grid(windows: CalendarGrid) -> list:
    return ["months" if windows.months else "days", windows.size, windows.every, windows.first, windows.offset]
