"""What the condition of a join of two streams asks: equal keys, times close to each other, and more."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.fleeting import random_call
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import Error, NotSupportedError, ProgrammingError, Span
from cepsql.operators.interval_join import UNBOUNDED, JoinKind
from cepsql.plan.tree.time_bound import TimeUpTo, missing_bounds, own_limit, time_limits

KINDS = {
    "INNER": JoinKind.INNER, "CROSS": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.LEFT,
    "FULL": JoinKind.FULL, "SEMI": JoinKind.SEMI, "LEFT SEMI": JoinKind.SEMI, "ANTI": JoinKind.ANTI,
    "LEFT ANTI": JoinKind.ANTI,
}  # fmt: skip
"""What comes out of a join as it is written; of RIGHT with its sides swapped."""

SIDES = ("left", "right")
"""What conditions on pairs call the relations of a join."""


@dataclass(frozen=True)
class JoinCondition:
    """The parts of a condition, all of which must hold.

    keys:      pairs of expressions over the left and over the right side that must be equal; none if all meet all.
    low, high: right time - left time lies between them, microseconds.
    own:       conditions on the left side alone, and on the right side alone.
    further:   conditions on pairs.
    limits:    for each side the time that its rows say up to which rows of the other side meet them; None if the
               bounds say it.
    """

    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    low: int
    high: int
    own: tuple[tuple[exp.Expr, ...], tuple[exp.Expr, ...]]
    further: tuple[exp.Expr, ...]
    limits: tuple[TimeUpTo | None, TimeUpTo | None] = (None, None)


def split_condition(
    conditions: Sequence[exp.Expr], times: Mapping[str, str], spoken: Callable[[str, str], str], place: Span | None
) -> JoinCondition | Error:
    """Take the condition of a join of two streams apart, or return why it cannot be: it has no bound on these times, or
    bounds that no pair keeps.

    conditions: what must all hold, with the table of every column.
    times:      the aliases of the left and of the right side with their event-time columns, lower case.
    spoken:     what the user calls a column of an alias.
    """
    left, right = times
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    equal_times: list[tuple[exp.Expr, exp.Expr]] = []
    own: dict[str, list[exp.Expr]] = {left: [], right: []}
    further: list[exp.Expr] = []
    limits = {(left, right): UNBOUNDED, (right, left): UNBOUNDED}
    missing = missing_bounds(conditions, times)
    conditions, said = _own_limits(conditions, times, missing)
    for part in conditions:
        found, whole = time_limits(part, times, months=True)
        for limit in found:
            order = (limit.earlier, limit.later)
            limits[order] = min(limits[order], limit.widest)
        pair = equal_sides(part, left, right)
        if whole and all(limit.exact for limit in found):
            equal_times += [] if pair is None else [pair]
        elif pair is not None and not found:
            keys.append(pair)
        elif (side := only_side(part, times)) is not None:
            own[side].append(part)
        else:
            further.append(part)
    for earlier, later in (pair for pair in missing if pair not in said and limits[pair] == UNBOUNDED):
        before, after = spoken(earlier, times[earlier]), spoken(later, times[later])
        added = f"add AND {after} <= {before} + INTERVAL '1' HOUR"
        # USING, and a comma between two relations, have no condition that something could be added to.
        if not any(span_of(column) for part in conditions for column in part.find_all(exp.Column)):
            within = f"{after} BETWEEN {before} - INTERVAL '1' HOUR AND {before} + INTERVAL '1' HOUR"
            added = f"JOIN ... ON {left}.key = {right}.key AND {within}"
        return NotSupportedError(
            f"the condition of the join does not say how much later than {before} {after} may be, so that rows would "
            "be kept for ever",
            place,
            added,
        )
    low, high = -limits[right, left], limits[left, right]
    if low > high:
        return ProgrammingError("the bounds on the time in the condition of the join exclude each other", place)
    bounds = [limit for order, limit in limits.items() if order not in said]
    if any(abs(bound) >= UNBOUNDED for bound in bounds):
        return NotSupportedError("a join of streams whose times lie thousands of years apart is not supported", place)
    alone = tuple(own[left]), tuple(own[right])
    own_limits = said.get((left, right)), said.get((right, left))
    return JoinCondition(tuple(keys or equal_times), low, high, alone, tuple(further), own_limits)


def _own_limits(
    conditions: Sequence[exp.Expr], times: Mapping[str, str], missing: Collection[tuple[str, str]]
) -> tuple[list[exp.Expr], dict[tuple[str, str], TimeUpTo]]:
    """Return conditions without those that say a missing bound by a time of the row itself, and these bounds."""
    said: dict[tuple[str, str], TimeUpTo] = {}
    rest = []
    for part in conditions:
        halves = _halves(part)
        found = [own_limit(half, times) for half in halves]
        wanted = [one is not None and one[:2] in missing and one[:2] not in said for one in found]
        said |= {one[:2]: one[2] for one, taken in zip(found, wanted, strict=True) if one is not None and taken}
        rest += [half for half, taken in zip(halves, wanted, strict=True) if not taken] if any(wanted) else [part]
    return rest, said


def _halves(part: exp.Expr) -> list[exp.Expr]:
    """Return the two comparisons that a BETWEEN is; else the condition itself."""
    if not isinstance(part.unnest(), exp.Between):
        return [part]
    between = part.unnest()
    low, high = between.args["low"], between.args["high"]
    return [
        exp.GTE(this=between.this.copy(), expression=low.copy()),
        exp.LTE(this=between.this.copy(), expression=high.copy()),
    ]


def only_side(part: exp.Expr, sides: Iterable[str]) -> str | None:
    """Return the one side that a condition reads if it can be asked of that side's rows, before the join."""
    tables = {column.table.lower() for column in part.find_all(exp.Column)}
    if len(tables) != 1 or random_call(part) or part.find(exp.Query, exp.Subquery):
        return None
    return next((side for side in sides if side in tables), None)


def without_parts(parts: Iterable[exp.Expr], taken: Collection[exp.Expr]) -> list[exp.Expr]:
    """Return the conditions that are not among those taken; equal ones are told apart."""
    return [part for part in parts if not any(part is other for other in taken)]


def meeting_keys(own: Sequence[Sequence[exp.Expr]], kind: JoinKind) -> list[tuple[exp.Expr, exp.Expr]]:
    """Return keys of an outer join that are NULL, so that they meet nobody, in rows that fail what ON asks of their own
    side alone."""
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    if own[0]:
        keys.append((true_if(own[0]), exp.true()))
    if own[1] and kind == JoinKind.FULL:
        keys.append((exp.true(), true_if(own[1])))
    return keys


def true_if(conditions: Iterable[exp.Expr]) -> exp.Case:
    """Return an expression that is true where all conditions hold, and NULL elsewhere."""
    return exp.case().when(exp.and_(*(part.copy() for part in conditions)), exp.true())


def equal_sides(part: exp.Expr, left: str, right: str, null_safe: bool = False) -> tuple[exp.Expr, exp.Expr] | None:
    """Return the two sides of an equality as expressions over the left and over the right side.

    null_safe: of one where NULL equals NULL.
    """
    if (
        not isinstance(part, exp.NullSafeEQ if null_safe else exp.EQ)
        or random_call(part)
        or part.find(exp.Query, exp.Subquery)
    ):
        return None
    by_table = {}
    for side in (part.this, part.expression):
        tables = {column.table.lower() for column in side.find_all(exp.Column)}
        if len(tables) == 1:
            by_table[tables.pop()] = side
    return (by_table[left], by_table[right]) if set(by_table) == {left, right} else None
