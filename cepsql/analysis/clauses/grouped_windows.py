"""What is asked of a GROUP BY with a window of event time over a stream."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.clauses.emit_clause import ON_CLOSE, OPERATION, Emission
from cepsql.analysis.sql.constant_intervals import duration_micros, interval_micros
from cepsql.analysis.sql.positions import span_of
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.tokens import quoted
from cepsql.operators.windowing.windows import END, REPEATED, START, TIME
from cepsql.ordered.row_layout import Column, RowLayout

_LAST_MILLISECOND = 1_000


@dataclass(frozen=True)
class FixedWindow:
    """Windows of one size, microseconds: they begin every `slide`, `offset` after the epoch."""

    size: int
    slide: int
    offset: int


@dataclass(frozen=True)
class SessionWindow:
    """Windows of rows that follow one another within `gap` microseconds."""

    gap: int


@dataclass(frozen=True)
class Instants:
    """Groups of rows with the same event time, which is one of their keys."""


@dataclass(frozen=True)
class GivenWindow:
    """Windows that rows bring with them: columns with the bounds; they last `longest` microseconds at most."""

    start: str
    end: str
    longest: int


Window = FixedWindow | SessionWindow | Instants | GivenWindow


@dataclass(frozen=True)
class WindowGroups:
    """Groups of rows with equal keys in the same window, one row out for each.

    name:       the placeholder table in the query around it.
    columns:    of the rows.
    keys:       the other columns of GROUP BY: names of columns, which come out.
    time:       the column with the event time.
    window:     which windows.
    aggregates: the columns that come out beside keys, START, END and TIME, and the aggregates, over `columns`, that
                they are; None for the rows themselves, with START, END and TIME.
    event_time: which of these what comes out is followed by; with `Instants` it is the key.
    layout:     the columns that travel; the values v0, v1, ... are `columns`.
    emission:   when they come out; groups that change have a last column OPERATION.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[str, ...]
    time: str
    window: Window
    aggregates: tuple[tuple[ColumnDefinition, exp.Expr], ...] | None
    event_time: str
    layout: RowLayout
    emission: Emission = ON_CLOSE

    @property
    def spread(self) -> tuple[str, ...]:
        """The columns that rows are spread by."""
        return _spread(self.keys, self.window)

    @property
    def output(self) -> tuple[ColumnDefinition, ...]:
        """The columns that come out."""
        types = {column.name: column for column in self.columns}
        bounds = [ColumnDefinition(name, types[self.time].type) for name in (START, END, TIME)]
        if self.aggregates is None:
            taken = {START, END, TIME}
            return (*(column for column in self.columns if column.name not in taken), *bounds)
        changes = [ColumnDefinition(OPERATION, "string")] if self.emission.changing else []
        return (*(types[key] for key in self.keys), *bounds, *(column for column, _ in self.aggregates), *changes)

    @property
    def watermark(self) -> Watermark | None:
        """The event time of what comes out, None if it can lie any time behind."""
        window = self.window
        if self.emission != ON_CLOSE:
            return None
        if isinstance(window, Instants):
            return Watermark(self.time, 0)
        return self._followed_by(self.event_time)

    @property
    def others(self) -> tuple[Watermark, ...]:
        """Further event times by which what comes out on close can be followed."""
        if self.emission != ON_CLOSE or isinstance(self.window, Instants):
            return ()
        times = (self._followed_by(time) for time in (END, START, TIME) if time != self.event_time)
        return tuple(mark for mark in times if mark is not None)

    def _followed_by(self, time: str) -> Watermark | None:
        window = self.window
        if time != START:
            return Watermark(time, _LAST_MILLISECOND if time == TIME else 0)
        if isinstance(window, SessionWindow):
            return None
        assert not isinstance(window, Instants)
        return Watermark(START, window.size if isinstance(window, FixedWindow) else window.longest)


def plan_window(call: exp.Expr, place: Span | None) -> FixedWindow | SessionWindow | NotSupportedError:
    """Plan a call of Spark's window or session_window, or return that its size is not constant.

    Raises ProgrammingError for sizes that no window has.
    """
    arguments, place = call.expressions[1:], span_of(call, place)
    changing = next((argument for argument in arguments if not _is_constant(argument)), None)
    if changing is not None:
        at = span_of(changing, place)
        return NotSupportedError("the length of a window must be constant here", at, "for example '5 minutes'")
    if call.name.upper() == "SESSION_WINDOW":
        (gap,) = _lengths(arguments, place, 1)
        return SessionWindow(gap)
    size, slide, offset = [*_lengths(arguments, place, 3), None, None][:3]
    assert size is not None
    slide, offset = size if slide is None else slide, offset or 0
    if slide > size or abs(offset) >= slide:
        raise ProgrammingError(
            "windows must begin at least as often as they are long, and the shift must be less than that", place
        )
    return FixedWindow(size, slide, offset)


def plan_window_groups(
    name: str,
    columns: tuple[ColumnDefinition, ...],
    watermark: Watermark,
    keys: Sequence[str],
    window: Window,
    aggregates: Sequence[tuple[ColumnDefinition, exp.Expr]] | None,
    event_time: str,
) -> WindowGroups:
    """Plan groups of the rows of a stream with these columns and this event time, or their rows.

    columns: REPEATED, which may be among them, is no column of the groups.
    keys: of rows whose window does not go by keys, what they are spread by.
    """
    columns = tuple(column for column in columns if column.name != REPEATED)
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(key)) for i, key in enumerate(_spread(keys, window))),
        Column("t", quoted(watermark.column)),
        values=tuple(Column(f"v{i}", quoted(column.name)) for i, column in enumerate(columns)),
    )
    computed = None if aggregates is None else tuple(aggregates)
    return WindowGroups(name, columns, tuple(keys), watermark.column, window, computed, event_time, layout)


def _spread(keys: Sequence[str], window: Window) -> tuple[str, ...]:
    return (*keys, *((window.start, window.end) if isinstance(window, GivenWindow) else ()))


def _lengths(arguments: Sequence[exp.Expr], place: Span | None, most: int) -> list[int]:
    """Return constant lengths, microseconds; the first two are longer than zero."""
    if not 1 <= len(arguments) <= most:
        raise ProgrammingError("a window takes its size, how often windows begin, and their shift", place)
    lengths = [_length(argument, place) for argument in arguments]
    if any(micros <= 0 for micros in lengths[:2]):
        raise ProgrammingError("a window must be longer than zero", place)
    return lengths


def _length(argument: exp.Expr, place: Span | None) -> int:
    place = span_of(argument, place)
    if isinstance(argument, exp.Literal) and argument.is_string:
        return duration_micros(argument.name, place)
    assert isinstance(argument, exp.Interval)
    return interval_micros(argument, place)


def _is_constant(argument: exp.Expr) -> bool:
    return isinstance(argument, exp.Interval) or (isinstance(argument, exp.Literal) and argument.is_string)
