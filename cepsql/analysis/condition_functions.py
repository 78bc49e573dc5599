"""Functions that the matcher evaluates itself in DEFINE, where their arguments come from several rows of the match."""

from dataclasses import dataclass

from sqlglot import exp

from cepsql.pattern.functions import TIME_UNITS
from cepsql.pattern.values import LIMITS

_INTEGERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True)
class FunctionForm:
    """An operation of `cepsql.pattern.program.Call` on expressions.

    arguments: each with the Spark type that it is brought to, "" for as it is.
    type:      of the result.
    """

    operation: str
    arguments: tuple[tuple[exp.Expr, str], ...]
    type: str


def function_form(node: exp.Expr, type_of) -> FunctionForm | None:
    """Return the form of a function call; None for functions that the matcher does not have for these types.

    type_of: gives the Spark type of an expression, "unknown" where it cannot be told.
    """
    if type(node) in _PLAIN:
        operation, parts, kinds, result = _PLAIN[type(node)]
        return _form(operation, _children(node, parts), kinds, result)
    if isinstance(node, exp.Anonymous) and node.name.upper() in _NAMED:
        operation, kinds, result = _NAMED[node.name.upper()]
        return _form(operation, node.expressions, kinds, result)
    special = _SPECIAL.get(type(node)) or (_NAMED_SPECIAL.get(node.name.upper()) if node.key == "anonymous" else None)
    return special(node, type_of) if special else None


def plainer(node: exp.Expr) -> exp.Expr | None:
    """Return an expression of simpler operations that means the same, None if there is none."""
    name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    arguments = [argument.copy() for argument in node.expressions] if name else []
    match node:
        case exp.Nullif():
            equal = exp.EQ(this=node.this.copy(), expression=node.expression.copy())
            return exp.Case(ifs=[exp.If(this=equal, true=exp.null())], default=node.this.copy())
        case exp.Nvl2():
            given = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.null()))
            return exp.If(this=given, true=node.args["true"].copy(), false=node.args["false"].copy())
        case exp.EqualNull():
            return exp.NullSafeEQ(this=node.this.copy(), expression=node.expression.copy())
        case exp.Is() if isinstance(node.expression, exp.Boolean):
            return exp.NullSafeEQ(this=node.this.copy(), expression=node.expression.copy())
    if name in ("ISNULL", "ISNOTNULL") and len(arguments) == 1:
        null = exp.Is(this=arguments[0], expression=exp.null())
        return null if name == "ISNULL" else exp.Not(this=null)
    if name == "POSITIVE" and len(arguments) == 1:
        return arguments[0]
    if name == "ZEROIFNULL" and len(arguments) == 1:
        return exp.Coalesce(this=arguments[0], expressions=[exp.Literal.number(0)])
    if name == "NULLIFZERO" and len(arguments) == 1:
        return plainer(exp.Nullif(this=arguments[0], expression=exp.Literal.number(0)))
    return None


def _children(node: exp.Expr, parts: str) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    for part in parts.split():
        value = node.args.get(part)
        found += value if isinstance(value, list) else [value] if value is not None else []
    return found


def _form(operation: str, arguments: list[exp.Expr], kinds: str, result: str) -> FunctionForm | None:
    """Pair arguments with types; the last type goes for all that follow."""
    types = kinds.split()
    if not arguments:
        return None
    paired = [(argument, types[min(i, len(types) - 1)]) for i, argument in enumerate(arguments)]
    return FunctionForm(operation, tuple(paired), result)


def _trim(node: exp.Trim, type_of) -> FunctionForm | None:
    operation = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return _form(operation, _children(node, "this expression"), "string", "string")


def _like(node: exp.Like | exp.ILike, type_of) -> FunctionForm | None:
    if isinstance(node.expression, exp.Any | exp.All | exp.Tuple) or node.args.get("negate"):
        return None
    return _form(node.key, [node.this, node.expression], "string", "boolean")


def _escaped_like(node: exp.Escape, type_of) -> FunctionForm | None:
    inner = function_form(node.this, type_of)
    return inner and _form(inner.operation, [*(e for e, _ in inner.arguments), node.expression], "string", "boolean")


def _pad(node: exp.Pad, type_of) -> FunctionForm | None:
    operation = "lpad" if node.args.get("is_left") else "rpad"
    return _form(operation, _children(node, "this expression fill_pattern"), "string int string", "string")


def _texts(node: exp.Concat | exp.DPipe | exp.Reverse, type_of) -> FunctionForm | None:
    """Concatenate or reverse texts; arrays and binaries have these functions too, but not here."""
    arguments = [node.left, node.right] if isinstance(node, exp.DPipe) else _children(node, "this expressions")
    if any(type_of(argument).startswith(("array", "binary")) for argument in arguments):
        return None
    return _form("reverse" if isinstance(node, exp.Reverse) else "concat", arguments, "string", "string")


def _logarithm(node: exp.Log, type_of) -> FunctionForm | None:
    base = {"10": "log10", "2": "log2"}.get(node.this.name) if isinstance(node.this, exp.Literal) else None
    if base:
        return _form(base, [node.expression], "double", "double")
    return _form("log", [node.this, node.expression], "double", "double")


def _round(node: exp.Expr, type_of) -> FunctionForm | None:
    arguments = node.expressions if isinstance(node, exp.Anonymous) else _children(node, "this decimals")
    kind = type_of(arguments[0])
    result = kind if kind in (*_INTEGERS, "double") else "decimal" if kind.startswith("decimal") else None
    if result is None:
        return None
    digits = arguments[1] if len(arguments) > 1 else exp.Literal.number(0)
    operation = "bround" if isinstance(node, exp.Anonymous) else "round"
    return FunctionForm(operation, ((arguments[0], ""), (digits, "int")), result)


def _whole(node: exp.Floor | exp.Ceil, type_of) -> FunctionForm | None:
    kind = type_of(node.this)
    if node.args.get("decimals") is not None or kind == "unknown":
        return None
    if kind.startswith("decimal"):
        return FunctionForm(node.key, ((node.this, ""),), "decimal")
    return FunctionForm(node.key, ((node.this, "bigint" if kind in _INTEGERS else "double"),), "bigint")


def _wider(left: str, right: str) -> str | None:
    """Return the type that two numbers are brought to, None if one is no number."""
    order = (*_INTEGERS, "float", "double")
    if left in order and right in order:
        return order[max(order.index(left), order.index(right))]
    decimals = [kind.startswith("decimal") for kind in (left, right)]
    if all(decimal or kind in _INTEGERS for decimal, kind in zip(decimals, (left, right), strict=True)):
        return "decimal"
    return "double" if any(decimals) and {left, right} & {"float", "double"} else None


def _pmod(node: exp.Anonymous, type_of) -> FunctionForm | None:
    wider = _wider(*map(type_of, node.expressions)) if len(node.expressions) == 2 else None
    if wider is None:
        return None
    # Decimals and integers go together as they are.
    arguments = [(e, "" if wider == "decimal" else wider) for e in node.expressions]
    if wider in LIMITS:
        arguments.append((exp.Literal.number(LIMITS[wider]), ""))
    return FunctionForm("pmod", tuple(arguments), wider)


def _integer_division(node: exp.IntDiv, type_of) -> FunctionForm | None:
    wider = _wider(type_of(node.left), type_of(node.right))
    if wider in _INTEGERS or wider == "decimal":
        return FunctionForm("intdiv", ((node.left, ""), (node.right, "")), "bigint")
    return None


def _bits(node: exp.Binary | exp.BitwiseNot, type_of) -> FunctionForm | None:
    sides = [node.this] if isinstance(node, exp.BitwiseNot) else [node.left, node.right]
    kinds = [type_of(side) for side in sides]
    wider = _wider(kinds[0], kinds[-1])
    if wider not in _INTEGERS:
        return None
    operations = {exp.BitwiseAnd: "bitand", exp.BitwiseOr: "bitor", exp.BitwiseXor: "bitxor", exp.BitwiseNot: "bitnot"}
    return FunctionForm(operations[type(node)], tuple((side, "") for side in sides), wider)


def _shift(node: exp.BitwiseLeftShift | exp.BitwiseRightShift, type_of) -> FunctionForm | None:
    kind = type_of(node.this)
    if kind not in _INTEGERS:
        return None
    kind = "bigint" if kind == "bigint" else "int"
    operation = "shiftleft" if isinstance(node, exp.BitwiseLeftShift) else "shiftright"
    bits = exp.Literal.number(64 if kind == "bigint" else 32)
    return FunctionForm(operation, ((node.this, kind), (node.expression, "int"), (bits, "")), kind)


def _add_days(node: exp.TsOrDsAdd, type_of) -> FunctionForm | None:
    if node.text("unit").upper() != "DAY":
        return None
    return FunctionForm("add", ((node.this, "date"), (node.expression, "int")), "date")


def _days_between(node: exp.DateDiff, type_of) -> FunctionForm | None:
    if (node.text("unit") or "DAY").upper() != "DAY":
        return None
    sides = [e.this if isinstance(e, exp.TsOrDsToDate) else e for e in (node.this, node.expression)]
    return FunctionForm("sub", tuple((side, "date") for side in sides), "int")


def _timestamp_difference(node: exp.TimestampDiff, type_of) -> FunctionForm | None:
    unit = node.text("unit").lower()
    if unit not in TIME_UNITS:
        return None
    # Spark counts on the clock of the session's time zone, which only Spark knows.
    kind = "timestamp_ntz"
    return FunctionForm(f"{unit}s_between", ((node.this, kind), (node.expression, kind)), "bigint")


_ONE_DOUBLE = {
    exp.Sqrt: "sqrt", exp.Cbrt: "cbrt", exp.Exp: "exp", exp.Ln: "ln", exp.Sin: "sin", exp.Cos: "cos", exp.Tan: "tan",
    exp.Asin: "asin", exp.Acos: "acos", exp.Atan: "atan", exp.Sinh: "sinh", exp.Cosh: "cosh", exp.Tanh: "tanh",
    exp.Cot: "cot", exp.Radians: "radians", exp.Degrees: "degrees", exp.Sign: "sign", exp.Rint: "rint",
}  # fmt: skip

_PLAIN: dict[type, tuple[str, str, str, str]] = {
    **{kind: (name, "this", "double", "double") for kind, name in _ONE_DOUBLE.items()},
    exp.Pow: ("power", "this expression", "double", "double"),
    exp.Atan2: ("atan2", "this expression", "double", "double"),
    exp.IsNan: ("isnan", "this", "double", "boolean"),
    exp.Nanvl: ("nanvl", "this expression", "double", "double"),
    exp.BitwiseCount: ("bit_count", "this", "bigint", "int"),
    exp.Upper: ("upper", "this", "string", "string"),
    exp.Lower: ("lower", "this", "string", "string"),
    exp.Length: ("length", "this", "string", "int"),
    exp.Substring: ("substring", "this start length", "string int", "string"),
    exp.Left: ("left", "this expression", "string int", "string"),
    exp.Right: ("right", "this expression", "string int", "string"),
    exp.StartsWith: ("startswith", "this expression", "string", "boolean"),
    exp.EndsWith: ("endswith", "this expression", "string", "boolean"),
    exp.Contains: ("contains", "this expression", "string", "boolean"),
    exp.StrPosition: ("locate", "this substr position", "string string int", "int"),
    exp.Replace: ("replace", "this expression replacement", "string", "string"),
    exp.ConcatWs: ("concat_ws", "expressions", "string", "string"),
    exp.Repeat: ("repeat", "this times", "string int", "string"),
    exp.Levenshtein: ("levenshtein", "this expression", "string", "int"),
    exp.Ascii: ("ascii", "this", "string", "int"),
    exp.Translate: ("translate", "this from_ to", "string", "string"),
    exp.AddMonths: ("add_months", "this expression", "date int", "date"),
}
_NAMED: dict[str, tuple[str, str, str]] = {
    **{name.upper(): (name, "double", "double") for name in ("log1p", "expm1", "hypot")},
    "BTRIM": ("trim", "string", "string"),
}
_SPECIAL = {
    exp.Trim: _trim, exp.Like: _like, exp.ILike: _like, exp.Escape: _escaped_like, exp.Pad: _pad, exp.Concat: _texts,
    exp.DPipe: _texts, exp.Reverse: _texts, exp.Log: _logarithm, exp.Round: _round, exp.Floor: _whole,
    exp.Ceil: _whole, exp.IntDiv: _integer_division, exp.BitwiseAnd: _bits, exp.BitwiseOr: _bits,
    exp.BitwiseXor: _bits, exp.BitwiseNot: _bits, exp.BitwiseLeftShift: _shift, exp.BitwiseRightShift: _shift,
    exp.TsOrDsAdd: _add_days, exp.DateDiff: _days_between, exp.TimestampDiff: _timestamp_difference,
}  # fmt: skip
_NAMED_SPECIAL = {"PMOD": _pmod, "BROUND": _round}
