"""Aggregate calls as they stand in MEASURES and DEFINE: function, arguments, and the clauses behind it."""

from dataclasses import dataclass

from sqlglot import exp

from cepsql.language.spark_aggregates import SPARK_AGGREGATES

_DOUBLE = (
    "CORR", "COVAR_POP", "COVAR_SAMP", "KURTOSIS", "MEDIAN", "PERCENTILE_CONT", "REGR_AVGX", "REGR_AVGY",
    "REGR_INTERCEPT", "REGR_R2", "REGR_SLOPE", "REGR_SXX", "REGR_SXY", "REGR_SYY", "SKEWNESS", "STD", "STDDEV",
    "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP",
)  # fmt: skip
_LIKE_ARGUMENT = (
    "ANY_VALUE", "BIT_AND", "BIT_OR", "BIT_XOR", "FIRST_VALUE", "LAST_VALUE", "MODE",
)  # fmt: skip
_RESULTS = {
    **dict.fromkeys(_DOUBLE, "double"),
    **dict.fromkeys(("ANY", "BOOL_AND", "BOOL_OR", "EVERY", "SOME"), "boolean"),
    **dict.fromkeys(("APPROX_COUNT_DISTINCT", "REGR_COUNT"), "bigint"),
    "BLOOM_FILTER_AGG": "binary",
    **dict.fromkeys(("LISTAGG", "STRING_AGG"), "string"),
}


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate call taken apart.

    function: the call itself.
    name:     as Spark has it, upper case.
    order:    WITHIN GROUP (ORDER BY ...), or None.
    filter:   the condition of FILTER (WHERE ...), or None.
    nulls:    "IGNORE NULLS", "RESPECT NULLS" or "".
    """

    function: exp.Expr
    name: str
    order: exp.Order | None = None
    filter: exp.Expr | None = None
    nulls: str = ""

    @property
    def distinct(self) -> bool:
        """Whether DISTINCT is said."""
        return any(isinstance(child, exp.Distinct) for child in self.function.iter_expressions())

    @property
    def arguments(self) -> list[exp.Expr]:
        """The arguments, without the word DISTINCT."""
        values: list[exp.Expr] = []
        for child in self.function.iter_expressions():
            values += child.expressions if isinstance(child, exp.Distinct) else [child]
        return values


def aggregate_call(node: exp.Expr) -> AggregateCall | None:
    """Take an aggregate call apart; None for any other expression."""
    order, condition, nulls = None, None, ""
    while isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        match node:
            case exp.Filter():
                condition = node.expression.this
            case exp.WithinGroup():
                order = node.expression
            case exp.IgnoreNulls():
                nulls = "IGNORE NULLS"
            case exp.RespectNulls():
                nulls = "RESPECT NULLS"
        node = node.this
    if isinstance(node, exp.Anonymous) and node.name.upper() in SPARK_AGGREGATES:
        return AggregateCall(node, node.name.upper(), order, condition, nulls)
    if isinstance(node, exp.AggFunc) and not isinstance(node, exp.First | exp.Last):
        name = "COUNT_IF" if isinstance(node, exp.CountIf) else node.key.upper()
        return AggregateCall(node, name, order, condition, nulls)
    return None


def called_function(call: exp.Expr) -> exp.Expr:
    """Return the function of a call, below what is said of its rows, such as FILTER."""
    while isinstance(call, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        call = call.this
    return call


def is_aggregate(node: exp.Expr) -> bool:
    """Tell whether an expression is an aggregate call."""
    return aggregate_call(node) is not None


def is_group_aggregate(node: exp.Expr) -> bool:
    """Tell whether an expression is an aggregate call over a group, where FIRST and LAST are aggregates, too."""
    return is_aggregate(node) or isinstance(called_function(node), exp.First | exp.Last)


def aggregates_of(select: exp.Select) -> list[exp.Expr]:
    """Return the aggregates of a SELECT and of subqueries in its expressions, each once."""
    return _aggregates(select, ())


def own_aggregates(select: exp.Select) -> list[exp.Expr]:
    """Return the aggregates of a SELECT, each once, without those of subqueries in it."""
    return _aggregates(select, (exp.Query,))


def _aggregates(select: exp.Select, around: tuple[type[exp.Expr], ...]) -> list[exp.Expr]:
    calls: dict[exp.Expr, None] = {}

    def gather(node: exp.Expr) -> None:
        if isinstance(node, around):
            return
        if aggregate_call(node) is not None or isinstance(called_function(node.unnest()), exp.First | exp.Last):
            calls[node] = None
            return
        for child in node.iter_expressions():
            gather(child)

    for part in (*select.expressions, select.args.get("having")):
        if part is not None:
            gather(part)
    return list(calls)


def of_result_type(node: exp.Expr) -> exp.Expr | None:
    """Return an expression whose type sqlglot finds, and which is that of an aggregate that it does not know."""
    call = aggregate_call(node)
    if call is None or isinstance(call.function, exp.AggFunc):
        return None if call is None or call.function is node else call.function
    if call.name in _RESULTS:
        return exp.cast(exp.null(), _RESULTS[call.name], dialect="spark")
    arguments = call.arguments
    if not arguments:
        return None
    if call.name in _LIKE_ARGUMENT or (call.name in ("MAX_BY", "MIN_BY") and len(arguments) == 2):
        return arguments[0].copy()
    if call.name in ("ARRAY_AGG", "COLLECT_LIST", "COLLECT_SET"):
        return exp.array(arguments[0].copy())
    return None


def spread_distinct(function: exp.Expr, distinct: exp.Distinct) -> None:
    """Put the arguments after DISTINCT in its place."""
    if isinstance(function, exp.Anonymous):
        function.set("expressions", [argument.copy() for argument in distinct.expressions])
        return
    first, *others = (argument.copy() for argument in distinct.expressions)
    distinct.replace(first)
    if others:
        function.set("expressions", others)
