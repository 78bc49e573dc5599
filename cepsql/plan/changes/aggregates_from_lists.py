"""Aggregates of groups that change, computed from the lists of their values: of bits, of pairs, and quantiles."""

from collections.abc import Callable

from sqlglot import exp

from cepsql.analysis.row_pattern.aggregate_calls import AggregateCall
from cepsql.plan.changes.aggregate_parts import filtered, where

_X, _Y = "x", "y"
_SUM, _ELEMENT = "__s", "__e"

Composer = Callable[[AggregateCall, exp.Column | None], exp.Expr | None]
"""Returns what an aggregate is, over other aggregates; it is told the event time of the rows, if they have one. None
for a form that it does not know."""


def _of_bits(operation: type[exp.Binary]) -> Composer:
    def composed(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
        if len(call.arguments) != 1 or call.order is not None or call.nulls:
            return None
        value = call.arguments[0].copy()
        argument = exp.Distinct(expressions=[value]) if call.distinct else value
        values = filtered(exp.ArrayAgg(this=argument), call.filter)
        first = exp.func("element_at", values, exp.Literal.number(1))
        rest = exp.func("slice", values.copy(), exp.Literal.number(2), exp.func("size", values.copy()))
        folded = _folded(rest, first, lambda so_far, element: operation(this=so_far, expression=element))
        return exp.case().when(exp.func("size", values.copy()) > 0, folded)

    return composed


class _Pairs:
    """The pairs of values of a group that are both there, as DOUBLE, and what is known of them."""

    def __init__(self, x: exp.Expr, y: exp.Expr, condition: exp.Expr | None):
        there = exp.and_(x.copy().is_(exp.null()).not_(), y.copy().is_(exp.null()).not_())
        self._values = {
            name: where(there, exp.cast(value.copy(), "double", dialect="spark")) for name, value in ((_X, x), (_Y, y))
        }
        self._plain = {_X: where(there, x.copy()), _Y: where(there, y.copy())}
        self._condition = condition
        named = [part for name, value in self._values.items() for part in (exp.Literal.string(name), value.copy())]
        self._pair = where(there, exp.func("named_struct", *named))
        self.number = filtered(exp.Count(this=self._values[_X].copy(), big_int=True), condition)

    def mean(self, name: str) -> exp.Expr:
        """Return the mean of one of the two."""
        return filtered(exp.Avg(this=self._values[name].copy()), self._condition)

    def average(self, name: str) -> exp.Expr:
        """Return the mean of one of the two, of the type that AVG has."""
        return filtered(exp.Avg(this=self._plain[name].copy()), self._condition)

    def squares(self, name: str) -> exp.Expr:
        """Return the sum of the squares of the distances of one from its mean."""
        variance = exp.Anonymous(this="var_pop", expressions=[self._values[name].copy()])
        return exp.paren(filtered(variance, self._condition) * self.number.copy())

    def products(self) -> exp.Expr:
        """Return the sum of the products of the distances of both from their means."""
        pairs = filtered(exp.ArrayAgg(this=self._pair.copy()), self._condition)

        def added(so_far: exp.Expr, element: exp.Expr) -> exp.Expr:
            distances = [exp.paren(_field(element, name) - self.mean(name)) for name in (_X, _Y)]
            return so_far + distances[0] * distances[1]

        return _folded(pairs, exp.cast(exp.Literal.number(0), "double", dialect="spark"), added)


def _of_pairs(value: Callable[[_Pairs], exp.Expr], y_first: bool) -> Composer:
    def composed(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
        if len(call.arguments) != 2 or call.distinct or call.order is not None or call.nulls:
            return None
        x, y = reversed(call.arguments) if y_first else call.arguments
        return exp.paren(value(_Pairs(x, y, call.filter)))

    return composed


def _covariance(pairs: _Pairs, less: int = 0) -> exp.Expr:
    number = exp.paren(pairs.number.copy() - exp.Literal.number(less)) if less else pairs.number.copy()
    return exp.case().when(pairs.number.copy() > less, exp.paren(pairs.products()) / number)


def _correlation(pairs: _Pairs) -> exp.Expr:
    both = exp.func("sqrt", pairs.squares(_X) * pairs.squares(_Y))
    return exp.case().when(both > 0, exp.paren(pairs.products()) / both.copy())


def _slope(pairs: _Pairs) -> exp.Expr:
    return exp.case().when(pairs.squares(_X) > 0, exp.paren(pairs.products()) / pairs.squares(_X))


def _determination(pairs: _Pairs) -> exp.Expr:
    products = exp.paren(pairs.products())
    square = exp.paren(products * products.copy()) / exp.paren(pairs.squares(_X) * pairs.squares(_Y))
    determination = (
        exp.case().when(exp.EQ(this=pairs.squares(_Y), expression=exp.Literal.number(0)), _double(1)).else_(square)
    )
    return exp.case().when(pairs.squares(_X) > 0, determination)


def _if_any(value: Callable[[_Pairs], exp.Expr]) -> Callable[[_Pairs], exp.Expr]:
    return lambda pairs: exp.case().when(pairs.number.copy() > 0, value(pairs))


def _moment(power: int) -> Composer:
    """Return SKEWNESS, of the third power of the distances from the mean, or KURTOSIS, of the fourth."""

    def composed(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
        if len(call.arguments) != 1 or call.order is not None or call.nulls:
            return None
        plain = exp.cast(call.arguments[0].copy(), "double", dialect="spark")

        def over(function: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
            argument = exp.Distinct(expressions=[plain.copy()]) if call.distinct else plain.copy()
            return filtered(function(argument), call.filter)

        mean, number = over(lambda x: exp.Avg(this=x)), over(lambda x: exp.Count(this=x, big_int=True))
        variance = over(lambda x: exp.Anonymous(this="var_pop", expressions=[x]))

        def added(so_far: exp.Expr, element: exp.Expr) -> exp.Expr:
            return so_far + exp.func("power", exp.paren(element - mean.copy()), exp.Literal.number(power))

        total = exp.paren(_folded(over(lambda x: exp.ArrayAgg(this=x)), _double(0), added)) / number
        ratio: exp.Expr = total / exp.func("power", variance, exp.Literal.number(str(power / 2)))
        return exp.case().when(variance.copy() > 0, ratio - exp.Literal.number(3) if power == 4 else ratio)

    return composed


def _quantile(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    """Return the least value up to which a fraction of the values lies: an approximation that is exact."""
    arguments, descending = list(call.arguments), False
    if call.name == "PERCENTILEDISC" or call.name == "PERCENTILE_DISC":
        if call.order is None or len(call.order.expressions) != 1:
            return None
        item = call.order.expressions[0]
        arguments, descending = [item.this, *arguments], bool(item.args.get("desc"))
    elif call.order is not None:
        return None
    if not 2 <= len(arguments) <= 3 or call.nulls:
        return None
    value, fractions = arguments[0].copy(), arguments[1]
    argument = exp.Distinct(expressions=[value]) if call.distinct else value
    values: exp.Expr = filtered(exp.ArrayAgg(this=argument), call.filter)
    size = exp.func("size", values.copy())
    ordered = exp.func("reverse", values) if descending else values

    def at(fraction: exp.Expr) -> exp.Expr:
        place = exp.func("greatest", exp.Literal.number(1), exp.cast(exp.func("ceil", fraction * size.copy()), "int"))
        element = exp.func("element_at", ordered.copy(), place)
        # Spark's PERCENTILE_DISC gives DOUBLE, its approximations the type of the values.
        return exp.cast(element, "double") if call.order is not None else element

    if isinstance(fractions, exp.Array):
        return exp.case().when(size > 0, exp.array(*(at(one.copy()) for one in fractions.expressions)))
    return exp.case().when(size > 0, at(fractions.copy()))


def _different(call: AggregateCall, time: exp.Column | None) -> exp.Expr | None:
    """Return the number of different values: an approximation that is exact."""
    if not 1 <= len(call.arguments) <= 2 or call.order is not None or call.nulls:
        return None
    number = exp.Count(this=exp.Distinct(expressions=[call.arguments[0].copy()]), big_int=True)
    return filtered(number, call.filter)


def _folded(values: exp.Expr, start: exp.Expr, step: Callable[[exp.Expr, exp.Expr], exp.Expr]) -> exp.Expr:
    so_far, element = exp.to_identifier(_SUM), exp.to_identifier(_ELEMENT)
    body = exp.Lambda(this=step(so_far.copy(), element.copy()), expressions=[so_far, element])
    return exp.Anonymous(this="aggregate", expressions=[values, start, body])


def _field(element: exp.Expr, name: str) -> exp.Expr:
    return exp.Dot(this=element.copy(), expression=exp.to_identifier(name))


def _double(number: int) -> exp.Expr:
    return exp.cast(exp.Literal.number(number), "double", dialect="spark")


OF_LISTS: dict[str, Composer] = {
    "BITWISEANDAGG": _of_bits(exp.BitwiseAnd),
    "BITWISEORAGG": _of_bits(exp.BitwiseOr),
    "BITWISEXORAGG": _of_bits(exp.BitwiseXor),
    "CORR": _of_pairs(_correlation, y_first=False),
    "COVARPOP": _of_pairs(_covariance, y_first=False),
    "COVARSAMP": _of_pairs(lambda pairs: _covariance(pairs, 1), y_first=False),
    "REGRCOUNT": _of_pairs(lambda pairs: pairs.number, y_first=True),
    "REGRAVGX": _of_pairs(lambda pairs: pairs.average(_X), y_first=True),
    "REGRAVGY": _of_pairs(lambda pairs: pairs.average(_Y), y_first=True),
    "REGRSXX": _of_pairs(lambda pairs: pairs.squares(_X), y_first=True),
    "REGRSYY": _of_pairs(lambda pairs: pairs.squares(_Y), y_first=True),
    "REGRSXY": _of_pairs(_if_any(lambda pairs: pairs.products()), y_first=True),
    "REGRSLOPE": _of_pairs(_slope, y_first=True),
    "REGRINTERCEPT": _of_pairs(lambda p: p.mean(_Y) - exp.paren(_slope(p)) * p.mean(_X), y_first=True),
    "REGRR2": _of_pairs(_determination, y_first=True),
    "SKEWNESS": _moment(3),
    "KURTOSIS": _moment(4),
    **dict.fromkeys(("APPROXQUANTILE", "PERCENTILEDISC", "PERCENTILE_DISC"), _quantile),
    "APPROXDISTINCT": _different,
}
"""What each aggregate of this kind is, by its name as `aggregate_call` has it."""
