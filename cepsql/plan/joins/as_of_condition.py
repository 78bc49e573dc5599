"""What ON asks of a join with the nearest row, ASOF JOIN, or with the version at a time, FOR SYSTEM_TIME AS OF."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.ddl.records import code_column, keyed_by_record
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.properties import DELETED
from cepsql.catalog import Source
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import ProgrammingError, Span
from cepsql.language.temporal_joins import AS_OF, temporal_call
from cepsql.language.tokens import DIALECT
from cepsql.plan.joins.join_condition import equal_sides, only_side
from cepsql.plan.tree.nodes import Node, Read
from cepsql.plan.tree.time_bound import time_limits

_NEAREST: dict[type[exp.Expr], tuple[bool, bool]] = {
    exp.GTE: (False, False), exp.GT: (False, True), exp.LTE: (True, False), exp.LT: (True, True)
}  # fmt: skip
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GTE: exp.LTE, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.LT: exp.GT
}  # fmt: skip

NO_VERSIONS = "FOR SYSTEM_TIME AS OF needs versions: a stream with a PRIMARY KEY, or a materialized view"

Keys = tuple[tuple[exp.Expr, exp.Expr], ...]
Own = tuple[tuple[exp.Expr, ...], tuple[exp.Expr, ...]]


@dataclass(frozen=True)
class AsOfCondition:
    """The parts of a condition, all of which must hold.

    times: the event-time columns of the left and of the right, lower case.
    forward, strict: as of `cepsql.plan.tree.nodes.AsOfJoin`.
    keys:  pairs of expressions over the left and over the right side that must be equal.
    own:   conditions on the left side alone, and on the right side alone, of the rows among which it is looked.
    after: conditions on the row that was found.
    tolerance: how many microseconds the times of a pair may lie apart; None for any.
    further: conditions on pairs, among which the nearest is taken.
    null_safe: the places of the keys of which NULL equals NULL.
    apart: those conditions on pairs that only bound how far the two times lie apart: the nearest row fulfils them, or
           none does.
    """

    times: tuple[str, str]
    forward: bool
    strict: bool
    keys: Keys
    own: Own
    after: tuple[exp.Expr, ...] = ()
    tolerance: int | None = None
    further: tuple[exp.Expr, ...] = ()
    apart: tuple[exp.Expr, ...] = ()
    null_safe: tuple[int, ...] = ()


def as_of_condition(
    on: Sequence[exp.Expr], left: tuple[str, Collection[str]], right: tuple[str, Collection[str]], place: Span
) -> AsOfCondition:
    """Take the ON of an ASOF JOIN apart.

    on:          what must all hold, the call `AS_OF` among it, with the table of every column.
    left, right: the aliases of the sides, each with the columns that may be its event time, lower case.
    Raises ProgrammingError and NotSupportedError for conditions that do not say which row is the nearest.
    """
    (call,) = (part for part in on if temporal_call(part) == AS_OF)
    others = [part for part in on if part is not call]
    compared = call.expressions[0].unnest() if call.expressions else None
    if compared is None:
        found = [part for part in others if _compares(part, left, right)]
        others = [part for part in others if not any(part is one for one in found)]
        compared = found[0].unnest() if len(found) == 1 else None
    turned = None if compared is None else _turned(compared, right[0])
    if turned is not None and _is_time(turned[0], left) and _is_time(turned[1], right):
        one, other, (forward, strict) = turned
        keys, own, pairs, safe = _split(others, left[0], right[0])
        times = {left[0]: one.name.lower(), right[0]: other.name.lower()}
        tolerance, further, apart = _tolerance(pairs, times, forward)
        times_of_both = one.name.lower(), other.name.lower()
        return AsOfCondition(times_of_both, forward, strict, keys, own, (), tolerance, further, apart, safe)
    raise ProgrammingError(
        "MATCH_CONDITION compares the event times of the two relations"
        if call.expressions
        else "ON of an ASOF JOIN without MATCH_CONDITION compares the event times of the two relations once",
        span_of(compared, place) if compared is not None else place,
        f"such as {left[0]}.{next(iter(left[1]))} >= {right[0]}.{next(iter(right[1]))}",
    )


def compared_columns(on: Sequence[exp.Expr], right: str) -> list[exp.Column]:
    """Return the columns of the one condition that compares a column of a relation with one of another, none if there
    is not exactly one such condition."""
    found: list[list[exp.Column]] = []
    for part in on:
        turned = _turned(part.unnest(), right)
        columns = [side for side in (turned or ())[:2] if isinstance(side, exp.Column)]
        if len(columns) == 2 and sum(column.table.lower() == right for column in columns) == 1:
            found.append(columns)
    return found[0] if len(found) == 1 else []


def _turned(compared: exp.Expr, right: str) -> tuple[exp.Expr, exp.Expr, tuple[bool, bool]] | None:
    """Return the sides of a comparison, that of the left relation first, and whether it is forward and strict."""
    kind = type(compared)
    if kind not in _NEAREST:
        return None
    one, other = compared.this.unnest(), compared.expression.unnest()
    if isinstance(one, exp.Column) and one.table.lower() == right:
        return other, one, _NEAREST[_TURNED[kind]]
    return one, other, _NEAREST[kind]


def _compares(part: exp.Expr, left: tuple[str, Collection[str]], right: tuple[str, Collection[str]]) -> bool:
    """Tell whether a condition compares the times of both sides, as they are."""
    turned = _turned(part.unnest(), right[0])
    return turned is not None and _is_time(turned[0], left) and _is_time(turned[1], right)


def _tolerance(
    pairs: Sequence[exp.Expr], times: Mapping[str, str], forward: bool
) -> tuple[int | None, tuple[exp.Expr, ...], tuple[exp.Expr, ...]]:
    """Return how far conditions on pairs let the two times lie apart, which they don't say exactly, and which say
    nothing else."""
    wanted = tuple(times) if forward else tuple(reversed(list(times)))
    tolerances, further, apart = [], [], []
    for part in pairs:
        limits, whole = time_limits(part, times, months=True)
        wide = [limit for limit in limits if (limit.earlier, limit.later) == wanted]
        tolerances += [limit.widest for limit in wide]
        # MATCH_CONDITION asks for the other direction already.
        only = whole and all(limit in wide or limit.micros >= 0 for limit in limits)
        if only:
            apart.append(part)
        if not only or not all(limit.exact for limit in wide):
            further.append(part)
    return min(tolerances, default=None), tuple(further), tuple(apart)


def version_condition(
    on: Sequence[exp.Expr],
    left: tuple[str, Collection[str]],
    right: tuple[str, Collection[str]],
    versions: Source,
    place: Span,
) -> AsOfCondition:
    """Take the ON of a join FOR SYSTEM_TIME AS OF apart; arguments and errors as for `as_of_condition`.

    versions: the stream whose rows are versions.
    """
    (call,) = (part for part in on if temporal_call(part) is not None)
    time = call.expressions[0].unnest()
    if not _is_time(time, left):
        raise ProgrammingError(
            "FOR SYSTEM_TIME AS OF takes the event time of the relation before it",
            span_of(time, place),
            f"such as {left[0]}.{next(iter(left[1]))}",
        )
    equal, own, pairs, safe = _split([part for part in on if part is not call], left[0], right[0])
    asked = {name.lower() for name in versions.key}
    keys = tuple(pair for pair in equal if _name(pair[1]) in asked)
    found = {_name(pair[1]) for pair in keys}
    missing = [name for name in versions.key if name.lower() not in found]
    if missing:
        raise ProgrammingError(
            f"ON must compare {missing[0]}, which is in the PRIMARY KEY of {versions.name}",
            place,
            f"add ... = {right[0]}.{missing[0]}",
        )
    others = [(pair, i in safe) for i, pair in enumerate(equal) if _name(pair[1]) not in asked]
    further = [equality(safe)(this=one.copy(), expression=other.copy()) for (one, other), safe in others]
    times = time.name.lower(), next(iter(right[1]))
    # No column of a PRIMARY KEY is NULL, but one of the key of a view may be.
    named = [i for i, pair in enumerate(equal) if _name(pair[1]) in asked]
    null_safe = tuple(n for n, i in enumerate(named) if i in safe) if isinstance(versions, ViewSource) else ()
    return AsOfCondition(times, False, False, keys, (own[0], ()), (*further, *own[1], *pairs), null_safe=null_safe)


def refuse_hidden(on: exp.Expr | None, parts: Sequence[exp.Expr], place: Span) -> None:
    """Raise ProgrammingError for an ON, of which `parts` must all hold, that asks for the nearest row below an OR."""
    calls = [] if on is None else [call for call in on.find_all(exp.Anonymous) if temporal_call(call)]
    if calls and not any(call is part for call in calls for part in parts):
        raise ProgrammingError(
            "ON of a join with the nearest row takes conditions joined by AND",
            span_of(on, place) if on is not None else place,
            "put an OR into parentheses",
        )


def versions_of(node: Node, item: exp.Expr, place: Span) -> Source:
    """Return the stream that FOR SYSTEM_TIME AS OF reads.

    Raises ProgrammingError if the relation is none with a primary key.
    """
    relation = node.relation if isinstance(node, Read) and isinstance(item, exp.Table) else None
    if not isinstance(relation, Source) or not relation.key:
        raise ProgrammingError(
            NO_VERSIONS,
            span_of(item, place),
            "CREATE STREAM ... (..., WATERMARK FOR ..., PRIMARY KEY (...)); ASOF JOIN needs none",
        )
    if relation.value is not None and relation.value.name == "debezium" and code_column(relation.columns) is None:
        raise ProgrammingError(
            f"FOR SYSTEM_TIME AS OF needs to know which rows of {relation.name} delete",
            span_of(item, place),
            "define it with a column op STRING METADATA",
        )
    return relation


def deletion_of(versions: Source) -> exp.Expr | None:
    """Return under which condition a row of versions says that there is none of its key, None if none does."""
    if isinstance(versions, ViewSource):
        return exp.column(DELETED)
    said: list[exp.Expr] = [] if versions.deletion is None else [exp.maybe_parse(versions.deletion, dialect=DIALECT)]
    code = code_column(versions.columns)
    if code is not None and not any(_names_deletes(condition, code) for condition in said):
        said.append(exp.column(code, quoted=True).eq("d"))
    if keyed_by_record(versions):
        said.append(exp.column(DELETED))
    return exp.or_(*said) if said else None


def _names_deletes(condition: exp.Expr, code: str) -> bool:
    """Tell whether a condition, or a part of its OR, is that the code of the change is Debezium's for a delete."""
    parts = condition.flatten() if isinstance(condition, exp.Or) else [condition]
    return any(
        isinstance(part, exp.EQ)
        and isinstance(part.left, exp.Column)
        and part.left.name.lower() == code.lower()
        and part.right == exp.Literal.string("d")
        for part in parts
    )


def equality(null_safe: bool) -> type[exp.Binary]:
    """Return what compares two keys."""
    return exp.NullSafeEQ if null_safe else exp.EQ


def _split(parts: Sequence[exp.Expr], left: str, right: str) -> tuple[Keys, Own, list[exp.Expr], tuple[int, ...]]:
    """Return the equalities of both sides, the conditions on one of them, those on pairs, and the places of the
    equalities of which NULL equals NULL."""
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    own: dict[str, list[exp.Expr]] = {left: [], right: []}
    pairs: list[exp.Expr] = []
    null_safe: list[int] = []
    for part in parts:
        safe = isinstance(part, exp.NullSafeEQ)
        plain = exp.EQ(this=part.this, expression=part.expression) if safe else part
        pair, side = equal_sides(plain, left, right), only_side(part, (left, right))
        if pair is not None:
            null_safe += [len(keys)] if safe else []
            keys.append(pair)
        elif side is not None:
            own[side].append(part)
        else:
            pairs.append(part)
    return tuple(keys), (tuple(own[left]), tuple(own[right])), pairs, tuple(null_safe)


def _is_time(expression: exp.Expr, side: tuple[str, Collection[str]]) -> bool:
    if not isinstance(expression, exp.Column):
        return False
    return expression.table.lower() == side[0] and expression.name.lower() in side[1]


def _name(expression: exp.Expr) -> str | None:
    plain = expression.unnest()
    return plain.name.lower() if isinstance(plain, exp.Column) else None
