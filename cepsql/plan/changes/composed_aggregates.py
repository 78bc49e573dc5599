"""Aggregates of groups that change which are expressions over others, such as MAX_BY over MAX of a struct."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from cepsql.analysis.clauses.running_calls import Take, running_aggregate
from cepsql.analysis.row_pattern.aggregate_calls import AggregateCall, aggregate_call, called_function, own_aggregates
from cepsql.analysis.sql.plain_sql import sql_of, without_tables
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, Span
from cepsql.language.notes import copied
from cepsql.operators.changing.retracting_groups import GroupCall
from cepsql.operators.running import RunningCall
from cepsql.plan.changes.aggregate_parts import filtered, where
from cepsql.plan.changes.aggregates_from_lists import OF_LISTS
from cepsql.plan.changes.listed_aggregates import listed_call
from cepsql.plan.operators.retracting_groups import ListedCall

_TOTALS = ("count", "sum", "avg", "min", "max")
_LIST = "ARRAYAGG"
_STATISTICS = {
    "STDDEV": "stddev_samp", "STD": "stddev_samp", "STDDEVSAMP": "stddev_samp", "STDDEV_SAMP": "stddev_samp",
    "STDDEVPOP": "stddev_pop", "STDDEV_POP": "stddev_pop", "VARIANCE": "var_samp", "VAR_SAMP": "var_samp",
    "VARIANCEPOP": "var_pop", "VAR_POP": "var_pop",
}  # fmt: skip
OF_VALUES = {**_STATISTICS, _LIST: "list", "MODE": "mode", "PERCENTILE": "percentile"}
"""What an operator computes of the values of a group, by what calls it."""

_BY, _VALUE, _ELEMENT = "by", "value", "__e"

_Composer = Callable[[AggregateCall, exp.Column | None], exp.Expr | None]


def is_total(call: exp.Expr) -> bool:
    """Tell whether an aggregate of all values goes on from a few of them."""
    running = _running(call)
    return running is not None and running.function in _TOTALS and running.column is not None


def is_of_one_row(call: exp.Expr) -> bool:
    """Tell whether an aggregate of all values is that of the first or the last row, of which one goes on."""
    running = _running(call)
    chosen = isinstance(called_function(call), exp.First | exp.FirstValue | exp.Last | exp.LastValue)
    return chosen and running is not None


def _running(call: exp.Expr) -> RunningCall | None:
    return running_aggregate("", copied(call), lambda _: exp.column("x"), Span(0, 0))


def with_composed_aggregates(select: exp.Select, time: exp.Column | None, place: Span) -> exp.Select:
    """Return a SELECT whose aggregates are those of `group_call`, and expressions over these.

    time: the event time of the rows, by which lists are ordered, and the first and the last value are chosen.
    Raises NotSupportedError for FIRST_VALUE and LAST_VALUE without it.
    """
    by_call = {call: _composed(call, time, place) for call in own_aggregates(select)}
    composed = {call: made for call, made in by_call.items() if made is not None}
    if not composed:
        return select

    def taken(node: exp.Expr) -> exp.Expr:
        return copied(composed[node]) if node in composed else node

    copy = copied(select)
    copy.set("expressions", [item.transform(taken) for item in copy.expressions])
    if copy.args.get("having") is not None:
        copy.set("having", copy.args["having"].transform(taken))
    return copy


def group_call(name: str, call: exp.Expr, take: Take, place: Span) -> GroupCall | ListedCall:
    """Return what an operator computes for an aggregate, or Spark from the values that the operator has.

    name: of its column.
    Raises NotSupportedError for those that it does not know.
    """
    place, taken = span_of(call, place) or place, aggregate_call(call)
    if taken is not None and taken.name in OF_VALUES and taken.order is None and not taken.nulls and taken.arguments:
        function, (argument, *further) = OF_VALUES[taken.name], taken.arguments
        fraction = constant_fraction(further[0]) if function == "percentile" and len(further) == 1 else None
        complete = fraction is not None if function == "percentile" else not further
        if complete and not (function == "mode" and taken.distinct):
            column = take(where(taken.filter, argument)).name
            return GroupCall(name, function, column, taken.distinct, fraction)
    distinct = taken is not None and taken.distinct and len(taken.arguments) == 1
    plain = copied(call)
    if distinct:
        inner = next(plain.find_all(exp.Distinct))
        inner.replace(inner.expressions[0])
    running = running_aggregate(name, plain, take, place)
    if running is None or running.function not in _TOTALS or running.column is None:
        listed = listed_call(name, call, take)
        if listed is not None:
            return listed
        hint = "all aggregates of Spark's are; ORDER BY in WITHIN GROUP has one direction, and NULL first if it ascends"
        raise NotSupportedError(f"{sql_of(without_tables(call))} of groups that change is not supported", place, hint)
    return GroupCall(name, running.function, running.column, distinct and running.function not in ("min", "max"))


def composed_aggregate(call: exp.Expr, place: Span) -> exp.Expr | None:
    """Return the expression over other aggregates that an aggregate is, None for one that is none.

    Raises NotSupportedError for a form that cannot be computed.
    """
    return _composed(call, None, place)


def _composed(call: exp.Expr, time: exp.Column | None, place: Span) -> exp.Expr | None:
    """Return the expression that an aggregate is, None for one that is none."""
    taken = _chosen_row(call) or aggregate_call(call)
    if taken is None:
        return None
    name = taken.name
    if name in _OF_ONE_ROW and len(taken.arguments) == 1:
        if time is None and name not in ("ANY_VALUE", "ANYVALUE"):
            by = "max_by" if _OF_ONE_ROW[name] else "min_by"
            raise NotSupportedError(
                f"{sql_of(without_tables(call))} of rows without an event time is not supported",
                span_of(call, place) or place,
                f"{by}(x, y) is x where y is {'greatest' if _OF_ONE_ROW[name] else 'least'}",
            )
        return _of_one_row(taken, time)
    composer = _COMPOSERS.get(name)
    return composer(taken, time) if composer is not None else None


def _chosen_row(call: exp.Expr) -> AggregateCall | None:
    """Take FIRST and LAST apart, which `aggregate_call` leaves to row patterns."""
    function = called_function(call)
    if not isinstance(function, exp.First | exp.Last):
        return None
    plain = exp.FirstValue if isinstance(function, exp.First) else exp.LastValue
    copy, made = call.copy(), plain(this=function.this.copy())
    inner = called_function(copy)
    if inner is copy:
        return aggregate_call(made)
    inner.replace(made)
    return aggregate_call(copy)


_OF_ONE_ROW = {
    "FIRSTVALUE": False, "FIRST_VALUE": False, "LASTVALUE": True, "LAST_VALUE": True,
    "ANYVALUE": False, "ANY_VALUE": False,
}  # fmt: skip
"""Aggregates that take the value of one row: whether it is the last one."""


def _of_one_row(call: AggregateCall, time: exp.Column | None) -> exp.Expr:
    (value,), condition = call.arguments, call.filter
    if call.nulls == "IGNORE NULLS":
        there = value.copy().is_(exp.null()).not_()
        condition = there if condition is None else exp.and_(condition.copy(), there)
    if time is None:
        return filtered(exp.Min(this=value.copy()), condition)
    return _at_edge(value, time, condition, greatest=_OF_ONE_ROW[call.name])


def _at_edge(value: exp.Expr, by: exp.Expr, condition: exp.Expr | None, greatest: bool) -> exp.Expr:
    """Return the value where another one is greatest or least; of several such, the greatest or least one itself."""
    function = exp.Max if greatest else exp.Min
    edge = filtered(function(this=where(by.copy().is_(exp.null()).not_(), _pair(by, value))), condition)
    return exp.Dot(this=edge, expression=exp.to_identifier(_VALUE))


def _by(greatest: bool) -> _Composer:
    def composed(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
        if len(call.arguments) != 2 or call.distinct or call.order is not None or call.nulls:
            return None
        value, by = call.arguments
        return _at_edge(value, by, call.filter, greatest)

    return composed


def _truth(function: type[exp.Min] | type[exp.Max]) -> _Composer:
    def composed(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
        if len(call.arguments) != 1 or call.order is not None or call.nulls:
            return None
        # AND lets Spark refuse an argument that is not BOOLEAN.
        return filtered(function(this=exp.and_(call.arguments[0].copy(), exp.true())), call.filter)

    return composed


def _statistic(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    if len(call.arguments) != 1 or call.order is not None or call.nulls:
        return None
    number = exp.cast(call.arguments[0].copy(), "double", dialect="spark")
    argument = exp.Distinct(expressions=[number]) if call.distinct else number
    return filtered(exp.Anonymous(this=_STATISTICS[call.name], expressions=[argument]), call.filter)


def _percentile(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    arguments, descending = list(call.arguments), False
    if call.name == "MEDIAN":
        arguments.append(exp.Literal.number("0.5"))
    if call.name == "PERCENTILE_CONT" and call.order is not None and len(call.order.expressions) == 1:
        item = call.order.expressions[0]
        arguments, descending = [item.this, *arguments], bool(item.args.get("desc"))
    if len(arguments) != 2 or call.nulls or (call.order is None) == (call.name == "PERCENTILE_CONT"):
        return None
    fraction = constant_fraction(arguments[1])
    if fraction is None:
        return None
    number = exp.cast(arguments[0].copy(), "double", dialect="spark")
    argument = exp.Distinct(expressions=[number]) if call.distinct else number
    share = exp.Literal.number(repr(1 - fraction if descending else fraction))
    return filtered(exp.Anonymous(this="percentile", expressions=[argument, share]), call.filter)


def _mode(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    arguments = [item.this for item in call.order.expressions] if call.order is not None else call.arguments
    if len(arguments) != 1 or call.distinct or call.nulls:
        return None
    return filtered(exp.Mode(this=arguments[0].copy()), call.filter)


def _list(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    if len(call.arguments) != 1 or call.order is not None or call.nulls:
        return None
    return _values(call, call.arguments[0], time)


def _count(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    if len(call.arguments) < 2:
        return None
    # Rows with a NULL among the values do not count.
    there = exp.and_(*(value.copy().is_(exp.null()).not_() for value in call.arguments))
    if not call.distinct:
        return filtered(exp.Count(this=where(there, exp.Literal.number(1)), big_int=True), call.filter)
    together = where(there, _together(call.arguments))
    return filtered(exp.Count(this=exp.Distinct(expressions=[together]), big_int=True), call.filter)


def _set(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    if len(call.arguments) != 1 or call.order is not None or call.nulls:
        return None
    return filtered(exp.ArrayAgg(this=exp.Distinct(expressions=[call.arguments[0].copy()])), call.filter)


def _joined(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    if not 1 <= len(call.arguments) <= 2 or call.nulls:
        return None
    if call.arguments[0].is_type(exp.DType.BINARY):
        raise NotSupportedError(
            "LISTAGG of BINARY of groups that change is not supported",
            span_of(call.function),
            "CAST it to STRING, or unhex(LISTAGG(hex(x)))",
        )
    value, *separators = call.arguments
    # Spark takes NULL for no separator.
    separator = next((one for one in separators if not _is_null(one)), exp.Literal.string(""))
    by: exp.Expr | None = time
    descending = False
    if call.order is not None:
        items = call.order.expressions
        ways = {bool(item.args.get("desc")) for item in items}
        usual = all(bool(item.args.get("nulls_first")) != bool(item.args.get("desc")) for item in items)
        asked = [item.this for item in items]
        # NULL stands first among what ascends, and last among what descends.
        if len(ways) != 1 or not usual or (call.distinct and asked != [value]):
            return None
        (descending,) = ways
        by = None if call.distinct else _together(asked)
    text = exp.Lambda(this=exp.cast(exp.to_identifier(_ELEMENT), "string"), expressions=[exp.to_identifier(_ELEMENT)])
    joined_text: exp.Expr = exp.Anonymous(this="transform", expressions=[_values(call, value, by), text])
    if descending:
        joined_text = exp.func("reverse", joined_text)
    joined = exp.func("array_join", joined_text, separator.copy())
    return exp.case().when(exp.func("size", joined_text.copy()) > 0, joined)


def _values(call: AggregateCall, value: exp.Expr, by: exp.Expr | None) -> exp.Expr:
    """Return the list of the values of a group, ordered by something else and then themselves."""
    if call.distinct:
        return filtered(exp.ArrayAgg(this=exp.Distinct(expressions=[value.copy()])), call.filter)
    if by is None:
        return filtered(exp.ArrayAgg(this=value.copy()), call.filter)
    pairs = exp.ArrayAgg(this=where(value.copy().is_(exp.null()).not_(), _pair(by, value)))
    element = exp.to_identifier(_ELEMENT)
    field = exp.Lambda(this=exp.Dot(this=element.copy(), expression=exp.to_identifier(_VALUE)), expressions=[element])
    return exp.Anonymous(this="transform", expressions=[filtered(pairs, call.filter), field])


def _is_null(value: exp.Expr) -> bool:
    plain = value.unnest()
    return isinstance(plain, exp.Null) or (isinstance(plain, exp.Cast) and _is_null(plain.this))


def _pair(by: exp.Expr, value: exp.Expr) -> exp.Expr:
    names = exp.Literal.string(_BY), exp.Literal.string(_VALUE)
    return exp.func("named_struct", names[0], by.copy(), names[1], value.copy())


def _together(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return a struct of values; columns of two relations may have one name."""
    named = [part for i, value in enumerate(values) for part in (exp.Literal.string(f"v{i}"), value.copy())]
    return exp.func("named_struct", *named)


def constant_fraction(fraction: exp.Expr) -> float | None:
    """Return a number from 0 to 1 that is written as such, None for anything else."""
    if not isinstance(fraction, exp.Literal) or fraction.is_string or not 0 <= float(fraction.this) <= 1:
        return None
    return float(fraction.this)


_COMPOSERS: dict[str, _Composer] = {
    **dict.fromkeys(("LOGICALAND", "BOOL_AND", "EVERY"), _truth(exp.Min)),
    **dict.fromkeys(("LOGICALOR", "BOOL_OR", "SOME", "ANY"), _truth(exp.Max)),
    **dict.fromkeys(("ARGMAX", "MAX_BY"), _by(True)),
    **dict.fromkeys(("ARGMIN", "MIN_BY"), _by(False)),
    **dict.fromkeys(("ARRAYAGG", "ARRAY_AGG", "COLLECT_LIST"), _list),
    **dict.fromkeys(("ARRAYUNIQUEAGG", "COLLECT_SET"), _set),
    **dict.fromkeys(("GROUPCONCAT", "LISTAGG", "STRING_AGG"), _joined),
    **dict.fromkeys(_STATISTICS, _statistic),
    **dict.fromkeys(("MEDIAN", "PERCENTILE", "PERCENTILE_CONT"), _percentile),
    "COUNT": _count,
    "MODE": _mode,
    **OF_LISTS,
}
"""What each aggregate is that is an expression over others: those of `group_call`, which an operator computes. An
aggregate that stands in neither cannot be kept up to date."""
