"""FILL after WINDOW TUMBLING (...): what the rows of windows have in which nothing came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from cepsql.analysis.clauses.assigned_window_calls import AssignedWindows
from cepsql.analysis.sql.constant_intervals import interval_micros
from cepsql.analysis.sql.lengths import DAYS, MONTHS, WEEKS, Length, window_length
from cepsql.analysis.sql.positions import span_of
from cepsql.base.calendar import DAY
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import NotSupportedError, ProgrammingError, suggestion
from cepsql.language.statements import FillClause
from cepsql.language.tokens import quoted
from cepsql.operators.windowing.fill import Filler, FillKind, FillOperator
from cepsql.operators.windowing.window_grids import CalendarGrid
from cepsql.ordered.row_layout import Column, RowLayout

_FIRST_MONDAY = 4

HIDDEN_END = "__end"
"""The end of the window where the SELECT does not have it."""


@dataclass(frozen=True)
class FilledGroups:
    """Groups of windows, with rows for the windows of each key that have none.

    name:    the table that stands for them in the query around it.
    columns: of the groups, which come out as they are.
    keys:    those that are keys.
    time:    the end of the window.
    event_time: the bound of the window that the rows are followed by.
    fill:    what makes the rows; the values of its layout are `columns`.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[str, ...]
    time: str
    event_time: str
    fill: FillOperator

    @property
    def watermark(self) -> Watermark | None:
        """The event time of what comes out, None if it can lie any time behind."""
        if self.fill.hold is None:
            return None
        return Watermark(self.event_time, self.fill.hold + (0 if self.event_time == self.time else self.fill.size))


def value_fillers(clause: FillClause, names: Sequence[str]) -> dict[str, Filler]:
    """Return how the columns of values are filled, by their names.

    Raises ProgrammingError for columns that are none of these, and for what no column is filled with.
    """
    spelled = {name.lower(): name for name in names}
    others = [item for item in clause.items if item.name is None]
    if len(others) > 1:
        raise ProgrammingError("FILL has one value for all columns without one of their own", clause.span)
    fillers = {name: _filler(others[0].value, clause) for name in names} if others else {}
    for item in clause.items:
        if item.name is None:
            continue
        if item.name.text.lower() not in spelled:
            hint = suggestion(item.name.text, names, "columns")
            raise ProgrammingError(
                f"FILL names {item.name.text}, which is no aggregate of the SELECT", item.name.span, hint
            )
        fillers[spelled[item.name.text.lower()]] = _filler(item.value, clause)
    return {name: fillers.get(name, Filler(FillKind.CONSTANT)) for name in names}


def windows_filled(clause: FillClause, step: Length) -> int | None:
    """Return how many windows are filled after a group at most, None without FOR AT MOST.

    step: how often windows begin.
    Raises ProgrammingError for a length that is no number of windows.
    """
    if clause.limit is None:
        return None
    place = span_of(clause.limit, clause.span)
    limit = window_length(clause.limit, place)
    if step.fixed:
        limit = Length(interval_micros(clause.limit, place))
    counted, every = (_in_days(length) for length in (limit, step))
    if counted.unit != every.unit:
        unit = "months, quarters or years" if every.unit == MONTHS else "days or weeks"
        raise ProgrammingError("FOR AT MOST has another unit than the windows", place, f"give it in {unit}")
    if counted.count < every.count:
        raise ProgrammingError("FOR AT MOST must be as long as a window or longer", place)
    return counted.count // every.count


def calendar_grid(windows: AssignedWindows) -> CalendarGrid | None:
    """Return where windows lie that a calendar measures, in a zone that is not known yet; None for fixed ones.

    Raises NotSupportedError for those that are not found by their ends.
    """
    if windows.fixed:
        return None
    size, every = (_in_days(length) for length in (windows.size, windows.step))
    if size.unit != every.unit:
        assert windows.fill is not None
        raise NotSupportedError(
            "FILL of windows whose length and distance are of different units is not supported",
            windows.fill.span,
            "give both in days and weeks, or both in months and years",
        )
    offset = _in_days(windows.offset)
    micros = offset.count * (DAY if offset.unit == DAYS else 1)
    first = _FIRST_MONDAY if windows.step.unit == WEEKS else 0
    return CalendarGrid(size.unit == MONTHS, size.count, every.count, first, micros)


def _in_days(length: Length) -> Length:
    return Length(length.count * 7, DAYS) if length.unit == WEEKS else length


def plan_fill(
    name: str,
    columns: tuple[ColumnDefinition, ...],
    keys: Sequence[str],
    time: str,
    fillers: Mapping[str, Filler],
    lengths: tuple[int, int, int | None],
    calendar: CalendarGrid | None = None,
) -> FilledGroups:
    """Plan the filling of groups with these columns.

    fillers: by column.
    lengths: the size of windows and how often they begin, microseconds, and how many are filled after a group at most.
    calendar: as of `cepsql.operators.windowing.fill.FillOperator`.
    """
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(key)) for i, key in enumerate(keys)),
        Column("t", quoted(time)),
        values=tuple(Column(f"v{i}", quoted(column.name)) for i, column in enumerate(columns)),
    )
    by_name = {column.lower(): filler for column, filler in fillers.items()}
    starts = [column for column, filler in fillers.items() if filler.kind == FillKind.START]
    output_time = starts[0] if starts and time == HIDDEN_END else time
    each = tuple(by_name[column.name.lower()] for column in columns)
    return FilledGroups(name, columns, tuple(keys), time, output_time, FillOperator(layout, each, *lengths, calendar))


def _filler(value: exp.Expr, clause: FillClause) -> Filler:
    plain = value.unnest()
    if isinstance(plain, exp.Null):
        return Filler(FillKind.CONSTANT)
    if isinstance(plain, exp.Column) and plain.name.upper() in ("PREVIOUS", "LINEAR"):
        return Filler(FillKind(plain.name.lower()))
    sign = -1 if isinstance(plain, exp.Neg) else 1
    literal = plain.this if sign < 0 else plain
    if isinstance(literal, exp.Literal) and literal.is_string:
        return Filler(FillKind.CONSTANT, literal.name)
    try:
        return Filler(FillKind.CONSTANT, sign * Decimal(literal.name))
    except InvalidOperation:
        raise ProgrammingError(
            "FILL takes constants, NULL, PREVIOUS and LINEAR",
            span_of(value, clause.span),
            "FILL (0), or FILL (0 AS n, PREVIOUS AS price)",
        ) from None
