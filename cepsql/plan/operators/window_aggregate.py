"""Groups of rows in windows of event time, in a plan."""

from dataclasses import asdict, dataclass, replace

from cepsql.analysis.clauses.emit_clause import CLOSE, ON_CLOSE, OPERATION
from cepsql.analysis.clauses.grouped_windows import (
    END,
    START,
    FixedWindow,
    GivenWindow,
    Instants,
    SessionWindow,
    WindowGroups,
)
from cepsql.analysis.clauses.total_calls import joins_rows, totals
from cepsql.analysis.sql.canonical import canonical_sql
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.properties import Properties
from cepsql.base.cached_property import cached_property
from cepsql.errors import Error, ProgrammingError, Span
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import Node, Ordered
from cepsql.plan.tree.spoken_times import spoken_delays, spoken_hold, spoken_length


@dataclass(frozen=True)
class WindowAggregate(Ordered):
    """An ordered operator: the groups of rows with equal keys in the same window of event time, or their rows. `inputs`
    and `markers` as of `Match`; it stands over streams only."""

    hosts = True
    windowed = True
    row_words = "windows of a stream"

    groups: WindowGroups
    inputs: tuple[Node, ...]
    markers: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What is known of the groups: they come out as soon as their window is over."""
        groups = self.groups
        columns = self.with_bound(groups.output)
        others = () if groups.watermark is None else groups.others
        return Properties(groups.name, columns, True, groups.watermark, True, others=others)

    @property
    def times_of_input(self) -> bool:
        """Whether it goes by a column of windows, which its input must be followed by."""
        return isinstance(self.groups.window, Instants)

    def describe(self) -> dict:
        """Return what decides its rows, but not what it reads, as data that JSON can hold."""
        return describe_window_groups(self.groups)

    def lines(self) -> list[str]:
        """Return its lines in EXPLAIN."""
        groups, time = self.groups, self.properties.watermark
        match groups.window:
            case SessionWindow(gap):
                window = f"sessions of rows at most {spoken_length(gap)} apart"
            case FixedWindow(size, slide):
                window = f"{spoken_length(size)}, every {spoken_length(slide)}"
            case GivenWindow(start, end):
                window = f"from {start} to {end} of each row"
            case Instants():
                window = "of rows with the same event time"
        keys = f"group by: {', '.join(groups.keys) or 'nothing else'}"
        if groups.aggregates is None:
            keys = f"for each {', '.join(groups.keys)}" if isinstance(groups.window, SessionWindow) else "whole"
        return [
            f"{'WindowRows' if groups.aggregates is None else 'WindowAggregate'} {groups.name}",
            f"  windows: {window}; {keys}",
            *(f"  {column.name}: {sql_of(call)}" for column, call in groups.aggregates or ()),
            f"  watermark: {groups.time} - {spoken_delays(self.inputs)}",
            *_emission_lines(groups),
            f"  event time: {time.column}, {spoken_hold(time.delay)}" if time else _no_time(groups),
        ]

    def layout(self) -> RowLayout:
        """Return the columns of its rows that travel."""
        summed = totals(self.groups)
        return self.groups.layout if summed is None else summed.layout

    def missing_time(self, follower: str, place: Span | None) -> Error:
        """Return why `follower` cannot stand over windows without event time."""
        hint = "keep the end of the window, unchanged, in the subquery"
        if follower == "ORDER BY":
            hint = "ORDER BY window_end first, or window.end"
        return ProgrammingError(f"{follower} over windows of a stream needs their event time", place, hint)

    def followed_by(self, time: str) -> "WindowAggregate":
        """Return the groups followed by another one of their event times."""
        groups = self.groups
        return self if groups.event_time == time else replace(self, groups=replace(groups, event_time=time))

    @property
    def retracts(self) -> bool:
        """Whether its rows may take back earlier ones."""
        return self.groups.emission.changing

    @property
    def identity_columns(self) -> tuple[str, ...]:
        """The columns that tell one group from another."""
        return (*self.groups.keys, START, END)


def describe_window_groups(groups: WindowGroups) -> dict:
    """Return what decides which rows make a group, and what is made of them, as data that JSON can hold."""
    aggregates = None
    if groups.aggregates is not None:
        aggregates = [[column.name, canonical_sql(call)] for column, call in groups.aggregates]
    return {
        "windows": asdict(groups.window) | {"of": groups.time},
        "group by": list(groups.keys),
        "aggregates": aggregates,
        "columns": [column.name for column in groups.columns],
        **({"emit": asdict(groups.emission)} if groups.emission != ON_CLOSE else {}),
        **({"state": "totals"} if totals(groups) is not None else {}),
    }


def _no_time(groups: WindowGroups) -> str:
    reason = "sessions have any length" if groups.emission == ON_CLOSE else "groups come out at times of their own"
    return f"  event time: none, {reason}"


def _emission_lines(groups: WindowGroups) -> list[str]:
    """Return the lines that say when groups come out, and what is kept for them."""
    emission = groups.emission
    if emission == ON_CLOSE:
        summed = totals(groups)
        held = "rows" if summed is None else "for every group what each aggregate needs to go on,"
        joined = summed is not None and joins_rows(groups, summed)
        waiting = "" if joined else "rows not yet released by the watermark; "
        return [
            *(["  before the shuffle: rows of a group are added up"] if joined else []),
            f"  state: {waiting}{held} of windows that are not over",
            "  emit: once, when a window is over",
        ]
    lateness = spoken_length(emission.lateness)
    state = f"  state: rows of windows until {f'{lateness} after ' if emission.lateness else ''}they are over"
    if emission.kind == CLOSE:
        return [state, f"  emit: once, {lateness} after a window is over"]
    times = "whenever they change" if emission.every is None else f"every {spoken_length(emission.every)} of event time"
    return [state, f"  emit: groups {times}, with what each row does in {OPERATION}"]
