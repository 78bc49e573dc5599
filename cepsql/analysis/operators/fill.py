"""FILL after WINDOW TUMBLING (...): what the rows of windows have in which nothing came."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from cepsql.analysis.sql.intervals import interval_micros
from cepsql.analysis.sql.positions import span_of
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import ProgrammingError, suggestion
from cepsql.language.statements import FillClause
from cepsql.language.tokens import quoted
from cepsql.operators.fill import Fill, Filler, FillKind
from cepsql.ordered.row_layout import Column, RowLayout

HIDDEN_END = "__end"
"""The end of the window where the SELECT does not have it."""


@dataclass(frozen=True)
class FilledGroups:
    """Groups of windows, with rows for the windows of each key that have none.

    name:    the table that stands for them in the query around it.
    columns: of the groups, which come out as they are.
    keys:    those that are keys.
    time:    the end of the window.
    given:   the bound of the window that the rows are followed by.
    fill:    what makes the rows; the values of its layout are `columns`.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[str, ...]
    time: str
    given: str
    fill: Fill

    @property
    def watermark(self) -> Watermark | None:
        """The event time of what comes out, None if it can lie any time behind."""
        if self.fill.hold is None:
            return None
        return Watermark(self.given, self.fill.hold + (0 if self.given == self.time else self.fill.size))


def value_fillers(clause: FillClause, names: Sequence[str]) -> dict[str, Filler]:
    """Return how the columns of values are filled, by their names.

    Raises ProgrammingError for columns that are none of these, and for what no column is filled with.
    """
    known = {name.lower(): name for name in names}
    others = [item for item in clause.items if item.name is None]
    if len(others) > 1:
        raise ProgrammingError("FILL has one value for all columns without one of their own", clause.span)
    found = {name: _filler(others[0].value, clause) for name in names} if others else {}
    for item in clause.items:
        if item.name is None:
            continue
        if item.name.text.lower() not in known:
            hint = suggestion(item.name.text, names, "columns")
            raise ProgrammingError(
                f"FILL names {item.name.text}, which is no aggregate of the SELECT", item.name.span, hint
            )
        found[known[item.name.text.lower()]] = _filler(item.value, clause)
    return {name: found.get(name, Filler(FillKind.CONSTANT)) for name in names}


def windows_filled(clause: FillClause, step: int) -> int | None:
    """Return how many windows are filled after a group at most, None without FOR AT MOST."""
    if clause.limit is None:
        return None
    place = span_of(clause.limit, clause.span)
    micros = interval_micros(clause.limit, place)
    if micros < step:
        raise ProgrammingError("FOR AT MOST must be as long as a window or longer", place)
    return micros // step


def plan_fill(
    name: str,
    columns: tuple[ColumnDefinition, ...],
    keys: Sequence[str],
    time: str,
    fillers: Mapping[str, Filler],
    lengths: tuple[int, int, int | None],
) -> FilledGroups:
    """Plan the filling of groups with these columns.

    fillers: by column.
    lengths: the size of windows and how often they begin, microseconds, and how many are filled after a group at most.
    """
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(key)) for i, key in enumerate(keys)),
        Column("t", quoted(time)),
        values=tuple(Column(f"v{i}", quoted(column.name)) for i, column in enumerate(columns)),
    )
    by_name = {column.lower(): filler for column, filler in fillers.items()}
    starts = [column for column, filler in fillers.items() if filler.kind == FillKind.START]
    given = starts[0] if starts and time == HIDDEN_END else time
    each = tuple(by_name[column.name.lower()] for column in columns)
    return FilledGroups(name, columns, tuple(keys), time, given, Fill(layout, each, *lengths))


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
