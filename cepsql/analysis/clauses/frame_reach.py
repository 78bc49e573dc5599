"""How far the frame of a window function reaches from its row: OVER (... ROWS | RANGE BETWEEN ...)."""

from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import called_function
from cepsql.analysis.sql.constant_intervals import LONGEST_MONTH, interval_micros, interval_months, interval_type
from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.base.calendar import DAY
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.foreign.respelling import excluded_rows
from cepsql.language.rewriting.bloom_filters import is_seen
from cepsql.language.tokens import DIALECT
from cepsql.operators.framing.excluded_rows import Exclusion

_Tree = TypeVar("_Tree", bound=exp.Expr)
_LONGEST = 2**60
EVERY_ROW = 2**60
"""Of `Reach.before`: all rows of the key are kept, for a function that does not go on from a few values."""
RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
OF_ALL_ROWS = (exp.Ntile, exp.PercentRank, exp.CumeDist)


@dataclass(frozen=True)
class Reach:
    """Which rows of its partition a row's frame may hold beside the row itself.

    before, after:                 how many rows before and after it; `before` None: all, of which an operator keeps a
                                   few values.
    micros_before, micros_after:   how much earlier and later they may be, microseconds.
    groups_before, groups_after:   how many groups of rows that are equal in the order, beside the row's own.
    Rows are needed that are within any measure.
    """

    before: int | None = 0
    after: int = 0
    micros_before: int = 0
    micros_after: int = 0
    groups_before: int = 0
    groups_after: int = 0

    @property
    def waits(self) -> bool:
        """Whether a row may wait for ever for the rows after it."""
        return bool(self.after or self.groups_after)

    def __or__(self, other: "Reach") -> "Reach":
        return Reach(
            None if self.before is None or other.before is None else max(self.before, other.before),
            max(self.after, other.after),
            max(self.micros_before, other.micros_before),
            max(self.micros_after, other.micros_after),
            max(self.groups_before, other.groups_before),
            max(self.groups_after, other.groups_after),
        )


def reach_of(call: exp.Window, time_type: str, place: Span) -> Reach:
    """Return how far a call with OVER reads.

    call:      with its own ORDER BY and frame; its first order is the event time, of the type `time_type`, "" if that
               is not known.
    Raises NotSupportedError for frames that only the end of a partition completes, ProgrammingError for bounds that are
    not constant.
    """
    place = span_of(call, place) or place
    function = called_function(call.this)
    if exclusion(call) is not None and isinstance(function, (*RANKS, *OF_ALL_ROWS, exp.Lag, exp.Lead)):
        raise ProgrammingError(f"{call_name(call)} takes no frame", place, "leave the frame out")
    if isinstance(function, exp.Lag | exp.Lead):
        return _offset(function, call, place)
    if is_seen(function) and call.args.get("spec") is not None:
        raise ProgrammingError(
            "MIGHT_HAVE_SEEN takes no frame", place, "its second argument says how many values it remembers"
        )
    if isinstance(function, RANKS) or is_seen(function):
        return Reach(before=None)
    if isinstance(function, OF_ALL_ROWS):
        raise NotSupportedError(
            f"{function.sql_name()} over a stream is not supported", place, "a partition of a stream has no last row"
        )
    spec = call.args.get("spec")
    if spec is None:
        return Reach(before=None)
    kind, start, end = bounds_of(call)
    if end is None and _side(spec.args.get("end_side")) == "FOLLOWING":
        raise NotSupportedError(
            "a frame up to UNBOUNDED FOLLOWING over a stream is not supported",
            place,
            "a partition of a stream has no last row: end the frame at CURRENT ROW, or some rows or time after it",
        )
    return _between(kind, start, end, time_type, place)


def with_bounds_of_one_type(tree: _Tree) -> _Tree:
    """Return SQL in which both bounds of a frame are intervals of one type, as Spark asks for: a day before and an hour
    before are of two. The tree itself if they are.

    >>> frame = "RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND INTERVAL '2' HOURS PRECEDING"
    >>> call = exp.maybe_parse(f"MAX(x) OVER (ORDER BY t {frame})", dialect=DIALECT)
    >>> with_bounds_of_one_type(call).args["spec"].args["end"].sql(DIALECT)
    "CAST(INTERVAL '2' HOURS AS INTERVAL DAY TO SECOND)"
    """
    if not any(len(_bound_types(spec)) > 1 for spec in tree.find_all(exp.WindowSpec)):
        return tree
    changed = tree.copy()
    for spec in list(changed.find_all(exp.WindowSpec)):
        types = _bound_types(spec)
        if len(types) > 1:
            months = any("month" in part or "year" in part for kind in types for part in kind)
            kind = exp.DataType.build(f"INTERVAL {'YEAR TO MONTH' if months else 'DAY TO SECOND'}", dialect=DIALECT)
            for side in ("start", "end"):
                spec.set(side, exp.Cast(this=spec.args[side], to=kind.copy()))
    return changed


def _bound_types(spec: exp.WindowSpec) -> set[frozenset[str]]:
    """Return the types of the intervals that both bounds of a frame are sums of; nothing where they are none."""
    ends = (spec.args.get("start"), spec.args.get("end"))
    bounds = [bound for bound in ends if isinstance(bound, exp.Interval | exp.Add | exp.Paren)]
    if len(bounds) < 2:
        return set()
    return {frozenset(map(interval_type, bound.find_all(exp.Interval))) for bound in bounds}


def call_name(call: exp.Window) -> str:
    """Return Spark's name of the function of a call, upper case."""
    return sql_of(called_function(call.this)).partition("(")[0].upper()


Bound = tuple[int, exp.Expr]
"""-1 or 1 for the direction, and how far; 0 for CURRENT ROW."""


def bounds_of(call: exp.Window) -> tuple[str, Bound | None, Bound | None]:
    """Return the kind of a call's frame, and where it begins and ends; None for UNBOUNDED."""
    spec = call.args["spec"]
    start = _bound(spec.args.get("start"), spec.args.get("start_side"))
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    return str(spec.args.get("kind") or "").upper(), start, end


def exclusion(call: exp.Window) -> Exclusion | None:
    """Return what the frame of a call leaves out."""
    spec = call.args.get("spec")
    said = None if spec is None else excluded_rows(spec)
    return None if said is None else Exclusion(said.lower())


def _side(side: object) -> str:
    return str(side or "").upper()


def _bound(value: object, side: object) -> Bound | None:
    """Return a bound of a frame, None for UNBOUNDED."""
    if isinstance(value, str):
        if value.upper() == "UNBOUNDED":
            return None
        return 0, exp.Literal.number(0)
    assert isinstance(value, exp.Expr)
    return (-1 if _side(side) == "PRECEDING" else 1), value


def _between(kind: str, start: Bound | None, end: Bound | None, time_type: str, place: Span) -> Reach:
    if kind in ("ROWS", "GROUPS"):
        first, last = (None if bound is None else bound[0] * row_count(bound[1], place) for bound in (start, end))
        check_order(start, end, first, last, place)
        if kind == "GROUPS":
            before = 0 if first is None else max(-first, 0)
            return Reach(None if first is None else 0, groups_before=before, groups_after=max(last or 0, 0))
        return Reach(None if first is None else max(-first, 0), max(last or 0, 0))
    early, late = (None if bound is None else _micros(bound, time_type, place) for bound in (start, end))
    check_order(start, end, early, late, place)
    if early is None:
        return Reach(before=None, micros_after=max(late or 0, 0))
    return Reach(micros_before=max(-early, 0), micros_after=max(late or 0, 0))


def check_order(start: Bound | None, end: Bound | None, first: int | None, last: int | None, place: Span) -> None:
    """Refuse what Spark refuses of tables: a frame that ends before it begins, unless either is the row itself."""
    if start and end and start[0] and end[0] and first is not None and last is not None and first > last:
        raise ProgrammingError("the frame of OVER ends before it begins", place, "the earlier bound comes first")


def _offset(function: exp.Lag | exp.Lead, call: exp.Window, place: Span) -> Reach:
    offset = function.args.get("offset")
    count = 1 if offset is None else row_count(offset, place)
    if call.find(exp.IgnoreNulls) or function.find(exp.IgnoreNulls):
        # Any number of rows may be passed over.
        if isinstance(function, exp.Lead) == (count > 0):
            raise NotSupportedError(
                f"{function.sql_name()} with IGNORE NULLS over a stream is not supported", place, "LAG is"
            )
        return Reach(before=None)
    ahead = count if isinstance(function, exp.Lead) else -count
    return Reach(before=max(-ahead, 0), after=max(ahead, 0))


def row_count(value: exp.Expr, place: Span | None) -> int:
    """Return a constant number of rows; raises ProgrammingError for others."""
    plain, sign = value.unnest(), 1
    if isinstance(plain, exp.Neg):
        plain, sign = plain.this.unnest(), -1
    if isinstance(plain, exp.Literal) and not plain.is_string and plain.name.isdigit():
        return sign * int(plain.name)
    raise ProgrammingError(
        "the number of rows must be constant here", span_of(value, place), "for example ROWS 10 PRECEDING"
    )


def _micros(bound: Bound, time_type: str, place: Span) -> int:
    """Return how far a bound of RANGE lies from the row, in any calendar, microseconds."""
    direction, value = bound
    if direction == 0:
        return 0
    plain = value.unnest()
    if (not time_type or time_type.startswith("date")) and not isinstance(plain, exp.Interval):
        return direction * min(row_count(plain, place) * DAY, _LONGEST)
    months = interval_months(plain)
    if months is not None:
        return direction * min((months * LONGEST_MONTH + 1) * DAY, _LONGEST)
    micros = interval_micros(value, span_of(value, place))
    if micros < 0:
        raise ProgrammingError("the distance of a frame's bound must not be negative", span_of(value, place))
    # Spark adds days by the session's calendar, where one can be longer.
    return direction * min(micros + (DAY if micros >= DAY else 0), _LONGEST)
