"""What is asked of WINDOW TUMBLING (...) and TABLE(TUMBLE(...)): checks, and the windows as data."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.epoch_times import is_number, time_hint
from cepsql.analysis.sql.lengths import DAYS, MONTHS, WEEKS, Length, window_length
from cepsql.analysis.sql.positions import span_of
from cepsql.calendar import DAY
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import NotSupportedError, ProgrammingError, Span, suggestion
from cepsql.language.statements import FillClause, WindowClause
from cepsql.operators.windows import END, START, TIME

TUMBLING, HOPPING, CUMULATING, SESSION = "tumbling", "hopping", "cumulating", "session"

_FIRST_MONDAY = 4 * DAY
_MOST_WINDOWS = 10_000


@dataclass(frozen=True)
class AssignedWindows:
    """Windows that rows lie in, which come out beside their columns as START, END and, if `timed`, TIME.

    kind:      TUMBLING, HOPPING, CUMULATING or SESSION.
    time:      the column with the event time, of Spark type `time_type`, timestamp or timestamp_ntz.
    size:      how long windows are, or the gap that ends a session.
    step:      how often hopping windows begin, or by how much cumulating ones grow; else `size`.
    offset:    what they begin later than counted from the epoch, weeks from its first Monday.
    partition: what has sessions of its own; None if that is not said.
    fill:      what their groups have where nothing came, None without FILL.
    of_date:   the event time is a DATE, and so are the bounds.
    """

    kind: str
    time: str
    time_type: str
    size: Length
    step: Length
    offset: Length
    partition: tuple[exp.Expr, ...] | None
    timed: bool
    span: Span
    fill: FillClause | None = None
    of_date: bool = False

    @property
    def fixed(self) -> bool:
        """Whether the windows lie where no calendar matters."""
        return self.size.fixed and self.step.fixed and self.offset.fixed

    @property
    def bound_type(self) -> str:
        """The Spark type of START and END."""
        return "date" if self.of_date else self.time_type

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that come out beside those of the rows."""
        return (START, END, TIME) if self.timed else (START, END)


def plan_assigned_windows(
    clause: WindowClause, columns: Sequence[ColumnDefinition], watermark: Watermark | None
) -> AssignedWindows:
    """Plan the windows of a relation with these columns and this event time.

    Raises ProgrammingError and NotSupportedError, with positions.
    """
    taken = next((c for c in columns if c.name.lower() in (START, END, *([TIME] if clause.timed else []))), None)
    if taken is not None:
        raise ProgrammingError(
            f"the relation has a column {taken.name} already", clause.span, f"give it another name: {taken.name} AS x"
        )
    time = _time(clause, columns, watermark)
    kind = time.type.lower()
    if kind not in ("timestamp", "timestamp_ntz", "timestamp_ltz", "date"):
        hint = time_hint(time.name, kind, f"CAST({time.name} AS TIMESTAMP) is a time")
        raise NotSupportedError(f"windows by {kind.upper()} are not supported", clause.span, hint)
    of_date, kind = kind == "date", "timestamp_ntz" if kind in ("timestamp_ntz", "date") else "timestamp"
    size, offset = window_length(clause.size, clause.span), Length(0)
    step = size if clause.step is None else window_length(clause.step, clause.span)
    if clause.offset is not None:
        offset = window_length(clause.offset, clause.span)
    if clause.kind == SESSION:
        size = step = as_fixed(size)
    if kind == "timestamp_ntz":
        # All its days are equally long.
        monday = _FIRST_MONDAY if (step if clause.kind == HOPPING else size).unit == WEEKS else 0
        size, step, offset = as_fixed(size), as_fixed(step), as_fixed(offset)
        offset = Length(offset.count + monday) if offset.fixed else offset
    spec = AssignedWindows(
        clause.kind, time.name, kind, size, step, offset, clause.partition_by, clause.timed, clause.span, clause.fill,
        of_date,
    )  # fmt: skip
    check_lengths(spec, clause.size, clause.step, clause.offset)
    if of_date and (clause.timed or any(one.unit != MONTHS and one.count % DAY for one in (size, step, offset))):
        raise ProgrammingError(
            f"windows by the DATE {time.name} begin and end with a day",
            clause.span,
            "say their lengths in days, weeks or months, or CAST the date AS TIMESTAMP in a column of the stream",
        )
    return spec


def _time(clause: WindowClause, columns: Sequence[ColumnDefinition], watermark: Watermark | None) -> ColumnDefinition:
    """Return the column with the event time."""
    if clause.time is not None:
        named = next((c for c in columns if c.name.lower() == clause.time.name.lower()), None)
        if named is None:
            hint = suggestion(clause.time.name, [c.name for c in columns], "columns")
            raise ProgrammingError(f"there is no column {clause.time.name}", span_of(clause.time, clause.span), hint)
        if watermark is not None and named.name.lower() != watermark.column.lower():
            raise ProgrammingError(
                f"windows of a stream must be of its event time, {watermark.column}",
                span_of(clause.time, clause.span),
                f"name {watermark.column}; or let WATERMARK FOR {named.name} make that the event time of the stream",
            )
        return named
    if watermark is not None:
        return next(c for c in columns if c.name.lower() == watermark.column.lower())
    times = [c for c in columns if c.type.lower().startswith("timestamp")]
    times = times or [c for c in columns if c.type.lower() == "date"]
    if len(times) == 1:
        return times[0]
    if not times and all(c.type.lower() != "unknown" for c in columns):
        numbers = [c for c in columns if is_number(c.type)]
        made = time_hint(*((numbers[0].name, numbers[0].type) if len(numbers) == 1 else ("x", "bigint")), "")
        raise ProgrammingError(
            "WINDOW needs a TIMESTAMP or DATE column, and the relation has none",
            clause.span,
            made or "CAST(x AS TIMESTAMP) AS time, say, makes a column that is one",
        )
    hint = f"name the column: WINDOW {clause.kind.upper()} (ON {times[0].name if times else 'ts'}, ...)"
    raise ProgrammingError("WINDOW does not name its time, and the relation has more than one", clause.span, hint)


def as_fixed(length: Length) -> Length:
    days = {DAYS: 1, WEEKS: 7}.get(length.unit)
    return Length(length.count * days * DAY) if days else length


def check_lengths(
    spec: AssignedWindows, of_size: exp.Expr | None, of_step: exp.Expr | None, of_offset: exp.Expr | None
) -> None:
    """Raise ProgrammingError for windows that cannot be; told are the places of their lengths in the text."""
    size, step, offset = spec.size, spec.step, spec.offset
    at_size, at_step, at_offset = (
        spec.span if part is None else span_of(part, spec.span) for part in (of_size, of_step, of_offset)
    )
    for length, place in ((size, at_size), (step, at_step)):
        if length.count <= 0:
            raise ProgrammingError("a window must be longer than zero", place)
    if spec.kind == SESSION and size.unit == MONTHS:
        raise ProgrammingError("the gap of a session has no months", at_size)
    if spec.kind in (HOPPING, CUMULATING) and not _fits(step, size):
        raise ProgrammingError("windows must begin, or grow, at least as often as they are long", at_step)
    if spec.kind == HOPPING and not _covers(size, step):
        raise ProgrammingError(
            "windows that begin this far apart can leave rows between them without a window",
            at_step,
            "a month may have 28 days, a day 23 hours; let windows begin more often, or give both lengths in one unit",
        )
    if spec.kind == CUMULATING and size.unit == step.unit and size.count % step.count:
        raise ProgrammingError("the size of cumulating windows must be a multiple of their step", at_step)
    if spec.kind != SESSION and size.longest // step.shortest > _MOST_WINDOWS:
        raise ProgrammingError(f"a row would lie in more than {_MOST_WINDOWS:,} windows", at_step)
    begins = step if spec.kind == HOPPING else size
    if offset.unit == MONTHS or abs(offset.count if offset.fixed else offset.longest) >= begins.longest:
        raise ProgrammingError("the offset must be less than the time between two windows, without months", at_offset)
    if not offset.fixed and begins.fixed:
        hint = "say it in hours"
        raise ProgrammingError("windows of a fixed length have an offset of a fixed length", at_offset, hint)


def _fits(step: Length, size: Length) -> bool:
    if step.unit == size.unit:
        return step.count <= size.count
    return step.longest <= size.longest


def _covers(size: Length, step: Length) -> bool:
    """Tell whether a window is never shorter than the time between two; `_fits` tells it where the size is fixed."""
    if size.fixed or step.unit == size.unit:
        return True
    return step.count <= size.shortest if step.fixed else step.most_days <= size.least_days
