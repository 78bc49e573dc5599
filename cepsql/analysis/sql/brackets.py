"""Where an expression that takes the place of a call needs brackets."""

from sqlglot import exp

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
_PREDICATES = (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape)
_SUMS, _PRODUCTS = (exp.Add, exp.Sub, exp.DPipe), (exp.Mul, exp.Div, exp.Mod, exp.IntDiv)
_BINDING: tuple[tuple[type[exp.Expr], ...], ...] = (
    (exp.Or,), (exp.And,), (exp.Not,), _PREDICATES, _COMPARISONS, (exp.BitwiseOr,), (exp.BitwiseXor,),
    (exp.BitwiseAnd,), (exp.BitwiseLeftShift, exp.BitwiseRightShift), _SUMS, _PRODUCTS, (exp.Neg, exp.BitwiseNot),
    (exp.Bracket, exp.Dot, exp.Collate, exp.AtTimeZone),
)  # fmt: skip
"""Operators of Spark SQL; later ones bind their operands more tightly."""

_SAME_EITHER_WAY: tuple[tuple[type[exp.Expr], tuple[type[exp.Expr], ...]], ...] = (
    (exp.Or, (exp.Or,)), (exp.And, (exp.And,)), (exp.Add, (exp.Add, exp.Sub)), (exp.DPipe, (exp.DPipe,)),
    (exp.Mul, (exp.Mul, exp.Div)),
)  # fmt: skip
"""Operators whose right side may be one of these without brackets."""


def needs_brackets(value: exp.Expr, call: exp.Expr) -> bool:
    """Tell whether an expression needs brackets in the place of a call, which is an operand of an operator."""
    parent = call.parent
    inner, outer = _binding(value), _binding(parent)
    listed = isinstance(parent, exp.In | exp.Bracket) and parent.this is not call
    if inner is None or outer is None or listed or inner > outer:
        return False
    if inner < outer or not isinstance(parent, exp.Binary) or isinstance(parent, (*_COMPARISONS, *_PREDICATES)):
        return True
    same = any(isinstance(parent, above) and isinstance(value, below) for above, below in _SAME_EITHER_WAY)
    return parent.this is not call and not same


def _binding(node: exp.Expr | None) -> int | None:
    return next((level for level, kinds in enumerate(_BINDING) if isinstance(node, kinds)), None)
