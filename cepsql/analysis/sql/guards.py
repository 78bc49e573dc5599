"""What is known when a part of an expression is computed: AND, OR, CASE and COALESCE leave out what they don't need."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

_FRACTIONS = ("float", "double")
_NEVER_FAIL = (
    exp.Column, exp.Literal, exp.Identifier, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not, exp.Is,
    exp.Case, exp.If, exp.Coalesce, exp.DataType, exp.DataTypeParam, exp.Interval, exp.Var, exp.Upper,
    exp.Lower, exp.Length, exp.Trim, exp.Concat, exp.DPipe, exp.StartsWith, exp.EndsWith, exp.Contains, exp.Like,
    exp.IsNan,
)  # fmt: skip
_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Between, exp.In, exp.Greatest, exp.Least
)  # fmt: skip
_SUMS = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Abs)


@dataclass(frozen=True)
class Guard:
    """A condition and its truth: "TRUE", "NOT TRUE", "NOT FALSE" or "NULL", as they stand after IS."""

    condition: exp.Expr
    truth: str


def guards(operation: str, arguments: Sequence[exp.Expr], place: int) -> Iterator[Guard]:
    """Yield what is known when the argument at `place` of an operation of the registry is computed."""
    before = arguments[:place]
    match operation:
        case "and":
            guarding = [Guard(condition, "NOT FALSE") for condition in before]
        case "or":
            guarding = [Guard(condition, "NOT TRUE") for condition in before]
        case "coalesce":
            guarding = [Guard(value, "NULL") for value in before]
        case "case":
            # Condition, value, condition, value, ..., otherwise.
            guarding = [Guard(condition, "NOT TRUE") for condition in before[: place // 2 * 2 : 2]]
            if place % 2:
                guarding[-1:] = [Guard(arguments[place - 1], "TRUE")]
        case _:
            guarding = []
    for guard in guarding:
        yield from _parts(guard)


def may_fail(expression: exp.Expr, type_of: Callable[[exp.Expr], str]) -> bool:
    """Tell whether an expression over columns may be an error in ANSI mode for some of their values."""
    return any(not _is_safe(node, type_of) for node in expression.walk())


def _parts(guard: Guard) -> Iterator[Guard]:
    """Yield a guard as those of its parts which follow from it."""
    both = exp.Or if guard.truth == "NOT TRUE" else exp.And
    waiting = [guard.condition]
    while waiting:
        condition = waiting.pop().unnest()
        if isinstance(condition, both) and guard.truth != "NULL":
            waiting += [condition.expression, condition.this]
        else:
            yield Guard(condition, guard.truth)


def _is_safe(node: exp.Expr, type_of: Callable[[exp.Expr], str]) -> bool:
    if isinstance(node, _NEVER_FAIL):
        return True
    if isinstance(node, _COMPARISONS):
        # A text beside a number is cast to it.
        kinds = [type_of(operand) for operand in node.iter_expressions()]
        texts = [kind == "string" for kind in kinds]
        return "unknown" not in kinds and (all(texts) or not any(texts))
    if isinstance(node, exp.Cast):
        # CAST is a TryCast, too, as sqlglot reads Spark's; only TRY_CAST is safe.
        return bool(isinstance(node, exp.TryCast) and node.args.get("safe")) or node.to.is_type(exp.DType.TEXT)
    return isinstance(node, _SUMS) and type_of(node) in _FRACTIONS
