"""What ON asks of a join with the nearest row, ASOF JOIN, or with the version at a time, FOR SYSTEM_TIME AS OF."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.positions import span_of
from cepsql.analysis.properties import DELETED
from cepsql.analysis.records import code_column, keyed_by_record
from cepsql.catalog import Source
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.temporal_joins import AS_OF, temporal_call
from cepsql.language.tokens import DIALECT
from cepsql.plan.join_condition import equal_sides, only_side
from cepsql.plan.nodes import Node, Read

_NEAREST: dict[type[exp.Expr], tuple[bool, bool]] = {
    exp.GTE: (False, False), exp.GT: (False, True), exp.LTE: (True, False), exp.LT: (True, True)
}  # fmt: skip
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GTE: exp.LTE, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.LT: exp.GT
}  # fmt: skip

Keys = tuple[tuple[exp.Expr, exp.Expr], ...]
Own = tuple[tuple[exp.Expr, ...], tuple[exp.Expr, ...]]


@dataclass(frozen=True)
class AsOfCondition:
    """The parts of a condition, all of which must hold.

    times: the event-time columns of the left and of the right, lower case.
    forward, strict: as of `cepsql.plan.nodes.AsOfJoin`.
    keys:  pairs of expressions over the left and over the right side that must be equal.
    own:   conditions on the left side alone, and on the right side alone, of the rows among which it is looked.
    after: conditions on the row that was found.
    """

    times: tuple[str, str]
    forward: bool
    strict: bool
    keys: Keys
    own: Own
    after: tuple[exp.Expr, ...] = ()


def as_of_condition(
    on: Sequence[exp.Expr], left: tuple[str, Collection[str]], right: tuple[str, Collection[str]], place: Span
) -> AsOfCondition:
    """Take the ON of an ASOF JOIN apart.

    on:          what must all hold, the call `AS_OF` among it, with the table of every column.
    left, right: the aliases of the sides, each with the columns that may be its event time, lower case.
    Raises ProgrammingError and NotSupportedError for conditions that do not say which row is the nearest.
    """
    (call,) = (part for part in on if temporal_call(part) == AS_OF)
    compared = call.expressions[0].unnest()
    kind = type(compared)
    if kind in _NEAREST:
        one, other = compared.this.unnest(), compared.expression.unnest()
        if isinstance(one, exp.Column) and one.table.lower() == right[0]:
            one, other, kind = other, one, _TURNED[kind]
        if _is_time(one, left) and _is_time(other, right):
            keys, own = _split([part for part in on if part is not call], left[0], right[0], place)
            forward, strict = _NEAREST[kind]
            return AsOfCondition((one.name.lower(), other.name.lower()), forward, strict, keys, own)
    raise ProgrammingError(
        "MATCH_CONDITION compares the event times of the two relations",
        span_of(compared, place),
        f"such as {left[0]}.{next(iter(left[1]))} >= {right[0]}.{next(iter(right[1]))}",
    )


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
    equal, own = _split([part for part in on if part is not call], left[0], right[0], place)
    asked = {name.lower() for name in versions.key}
    keys = tuple(pair for pair in equal if _name(pair[1]) in asked)
    found = {_name(pair[1]) for pair in keys}
    missing = [name for name in versions.key if name.lower() not in found]
    if missing:
        raise ProgrammingError(
            f"ON does not say which {missing[0]} of {versions.name} is meant, which is in its PRIMARY KEY",
            place,
            f"add ... = {right[0]}.{missing[0]}",
        )
    others = [pair for pair in equal if _name(pair[1]) not in asked]
    further = [exp.EQ(this=one.copy(), expression=other.copy()) for one, other in others]
    times = time.name.lower(), next(iter(right[1]))
    return AsOfCondition(times, False, False, keys, (own[0], ()), (*further, *own[1]))


def refuse_hidden(on: exp.Expr | None, parts: Sequence[exp.Expr], place: Span) -> None:
    """Raise ProgrammingError for an ON, of which `parts` must all hold, that asks for the nearest row below an OR."""
    calls = [] if on is None else [call for call in on.find_all(exp.Anonymous) if temporal_call(call)]
    if calls and not any(call is part for call in calls for part in parts):
        raise ProgrammingError(
            "ON of a join with the nearest row is a list of conditions with AND between them",
            span_of(on, place) if on is not None else place,
            "put what has an OR into parentheses",
        )


def versions_of(node: Node, item: exp.Expr, place: Span) -> Source:
    """Return the stream that FOR SYSTEM_TIME AS OF reads.

    Raises ProgrammingError if the relation is none with a primary key.
    """
    relation = node.relation if isinstance(node, Read) and isinstance(item, exp.Table) else None
    if not isinstance(relation, Source) or not relation.key:
        raise ProgrammingError(
            "FOR SYSTEM_TIME AS OF reads a stream with a PRIMARY KEY, whose rows are versions",
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


def _split(parts: Sequence[exp.Expr], left: str, right: str, place: Span) -> tuple[Keys, Own]:
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    own: dict[str, list[exp.Expr]] = {left: [], right: []}
    for part in parts:
        pair, side = equal_sides(part, left, right), only_side(part, (left, right))
        if pair is not None:
            keys.append(pair)
        elif side is not None:
            own[side].append(part)
        else:
            raise NotSupportedError(
                "ON of a join with the nearest row takes equalities of both sides, and conditions on one of them",
                span_of(part, place),
                "ask further ones in WHERE: it chooses among the rows that were found",
            )
    return tuple(keys), (tuple(own[left]), tuple(own[right]))


def _is_time(expression: exp.Expr, side: tuple[str, Collection[str]]) -> bool:
    if not isinstance(expression, exp.Column):
        return False
    return expression.table.lower() == side[0] and expression.name.lower() in side[1]


def _name(expression: exp.Expr) -> str | None:
    plain = expression.unnest()
    return plain.name.lower() if isinstance(plain, exp.Column) else None
