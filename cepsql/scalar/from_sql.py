"""From sqlglot expressions to operations and functions of the registry."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel

from cepsql.errors import NotSupportedError
from cepsql.scalar.expressions import Call, Expression, Leaf, Literal

Form = tuple[str, list[exp.Expr]]
"""The name of an operation, and its arguments."""


def expression(node: exp.Expr, read: Callable[[exp.Column], Leaf]) -> Expression:
    """Convert a parsed expression over one row; `read` converts its columns to leaves.

    Raises NotSupportedError for an expression without an operation in the registry.
    """
    node = node.unnest()
    if isinstance(node, exp.Column):
        return read(node)
    constant = literal(node)
    if constant is not None:
        return constant
    if isinstance(node, exp.Cast | exp.TryCast):
        operation = "try_cast" if node.args.get("safe") and isinstance(node, exp.TryCast) else "cast"
        return Call(operation, (expression(node.this, read),), node.to.sql(dialect="spark").lower())
    plain = plainer(node)
    if plain is not None:
        return expression(plain, read)
    form = operation_form(node)
    if form is None:
        # sqlglot would log functions that Spark lacks; this text is only shown.
        raise NotSupportedError(node.sql(dialect="spark", unsupported_level=ErrorLevel.IGNORE))
    return Call(form[0], tuple(expression(argument, read) for argument in form[1]))


def literal(node: exp.Expr) -> Literal | None:
    """Return a constant as it is written, None for other expressions."""
    match node:
        case exp.Null():
            return Literal(None)
        case exp.Boolean():
            return Literal(bool(node.this))
        case exp.Literal() if node.is_string:
            return Literal(node.this)
        case exp.Literal():
            return Literal(_number(node.this))
        case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return Literal(-_number(node.this.this))
    return None


def _number(text: str) -> int | float | Decimal:
    """Read a number as Spark types it: whole, DOUBLE with an exponent, or DECIMAL."""
    if text.isdigit():
        return int(text)
    return float(text) if "e" in text.lower() else Decimal(text)


def operation_form(node: exp.Expr) -> Form | None:
    """Return the operation of a node; None if it has none, or only together with its children."""
    if isinstance(node, exp.And | exp.Or):
        return node.key, list(node.flatten())
    if type(node) in _BINARY:
        return _BINARY[type(node)], [node.this, node.expression]
    if type(node) in _FUNCTIONS:
        operation, parts = _FUNCTIONS[type(node)]
        arguments = _children(node, parts)
        # A further argument gives the function another meaning.
        unread = any(child.arg_key not in parts.split() for child in node.iter_expressions())
        return (operation, arguments) if arguments and not unread else None
    if isinstance(node, exp.Anonymous) and node.name.upper() in _NAMED:
        return _NAMED[node.name.upper()], list(node.expressions)
    special = _SPECIAL.get(type(node))
    form = special(node) if special else None
    # sqlglot parses some calls without required arguments.
    return None if form is None or None in form[1] else form


def lambda_form(node: exp.Expr) -> tuple[str, exp.Expr, exp.Lambda] | None:
    """Return the operation, the array and the function of a call with a function; None for other expressions."""
    name = _WITH_LAMBDA.get(type(node))
    arguments = [node.this, node.args.get("expression")]
    if name is None and isinstance(node, exp.Anonymous) and node.name.upper() == "FORALL":
        name, arguments = "forall", list(node.expressions)
    if name is None or len(arguments) != 2 or not isinstance(arguments[1], exp.Lambda):
        return None
    return name, arguments[0], arguments[1]


def plainer(node: exp.Expr) -> exp.Expr | None:
    """Return an equivalent expression of simpler operations, None without one."""
    name = node.name.upper() if isinstance(node, exp.Anonymous) else ""
    arguments = [argument.copy() for argument in node.expressions] if name else []
    match node:
        case exp.TsOrDsToDate():
            return None if node.args.get("format") else exp.cast(node.this.copy(), "date")
        case exp.NullSafeNEQ():
            return exp.Not(this=exp.NullSafeEQ(this=node.this.copy(), expression=node.expression.copy()))
        case exp.Between():
            low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
            return exp.And(this=low, expression=exp.LTE(this=node.this.copy(), expression=node.args["high"].copy()))
        case exp.Like() | exp.ILike() if node.args.get("negate"):
            plain = node.copy()
            plain.set("negate", None)
            return exp.Not(this=plain)
        case exp.Nullif():
            equal = exp.EQ(this=node.this.copy(), expression=node.expression.copy())
            return exp.Case(ifs=[exp.If(this=equal, true=exp.null())], default=node.this.copy())
        case exp.Nvl2() if node.args.get("false") is not None:
            not_null = exp.Not(this=exp.Is(this=node.this.copy(), expression=exp.null()))
            return exp.If(this=not_null, true=node.args["true"].copy(), false=node.args["false"].copy())
        case exp.EqualNull():
            return exp.NullSafeEQ(this=node.this.copy(), expression=node.expression.copy())
        case exp.Is() if isinstance(node.expression, exp.Boolean):
            return exp.NullSafeEQ(this=node.this.copy(), expression=node.expression.copy())
    if name in ("ISNULL", "ISNOTNULL") and len(arguments) == 1:
        null = exp.Is(this=arguments[0], expression=exp.null())
        return null if name == "ISNULL" else exp.Not(this=null)
    if name == "CLOCK_CORRECTED" and len(arguments) == 3:
        event, sent, received = (exp.UnixMicros(this=argument) for argument in arguments)
        offset = exp.Paren(this=exp.Sub(this=received, expression=sent))
        return exp.Anonymous(this="timestamp_micros", expressions=[exp.Add(this=event, expression=offset)])
    if name == "POSITIVE" and len(arguments) == 1:
        return arguments[0]
    if name == "ZEROIFNULL" and len(arguments) == 1:
        return exp.Coalesce(this=arguments[0], expressions=[exp.Literal.number(0)])
    if name == "NULLIFZERO" and len(arguments) == 1:
        return plainer(exp.Nullif(this=arguments[0], expression=exp.Literal.number(0)))
    return None


def _children(node: exp.Expr, parts: str) -> list[exp.Expr]:
    children: list[exp.Expr] = []
    for part in parts.split():
        value = node.args.get(part)
        children += value if isinstance(value, list) else [value] if value is not None else []
    return children


def _case(node: exp.Case | exp.If) -> Form | None:
    """CASE and IF as condition, value, condition, value, ..., otherwise."""
    if isinstance(node, exp.If) and node.args.get("false") is None:
        return None
    branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
    otherwise = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
    subject = node.this if isinstance(node, exp.Case) else None
    arguments = []
    for branch in branches:
        equal = None if subject is None else exp.EQ(this=subject.copy(), expression=branch.this.copy())
        arguments += [branch.this if equal is None else equal, branch.args["true"]]
    return "case", [*arguments, exp.null() if otherwise is None else otherwise]


def _is_null(node: exp.Is) -> Form | None:
    return ("isnull", [node.this]) if isinstance(node.expression, exp.Null) else None


def _in(node: exp.In) -> Form | None:
    return ("in", [node.this, *node.expressions]) if node.expressions else None


def _trim(node: exp.Trim) -> Form:
    operation = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return operation, _children(node, "this expression")


def _like(node: exp.Like | exp.ILike) -> Form | None:
    if isinstance(node.expression, exp.Any | exp.All | exp.Tuple) or node.args.get("negate"):
        return None
    return node.key, [node.this, node.expression]


def _escaped_like(node: exp.Escape) -> Form | None:
    inner = operation_form(node.this)
    return inner and (inner[0], [*inner[1], node.expression])


def _regex_part(node: exp.RegexpExtract) -> Form | None:
    return None if node.args.get("position") else ("regexp_extract", _children(node, "this expression group"))


def _regex_replaced(node: exp.RegexpReplace) -> Form | None:
    return None if node.args.get("position") else ("regexp_replace", _children(node, "this expression replacement"))


def _pad(node: exp.Pad) -> Form:
    return "lpad" if node.args.get("is_left") else "rpad", _children(node, "this expression fill_pattern")


def _logarithm(node: exp.Log) -> Form:
    base = {"10": "log10", "2": "log2"}.get(node.this.name) if isinstance(node.this, exp.Literal) else None
    return (base, [node.expression]) if base else ("log", [node.this, node.expression])


def _add_days(node: exp.TsOrDsAdd) -> Form | None:
    return ("date_add", [node.this, node.expression]) if node.text("unit").upper() == "DAY" else None


def _days_between(node: exp.DateDiff) -> Form | None:
    if (node.text("unit") or "DAY").upper() != "DAY":
        return None
    return "datediff", [_written_day(node.this), _written_day(node.expression)]


def _written_day(argument: exp.Expr) -> exp.Expr:
    """Return a day as it was written, without the implicit cast that sqlglot adds."""
    return argument.this if isinstance(argument, exp.TsOrDsToDate) else argument


def _element(node: exp.Bracket) -> Form | None:
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        return None
    operation = "subscript" if node.args.get("offset") is None else "element_at"
    return "try_element_at" if node.args.get("safe") else operation, [node.this, node.expressions[0]]


def _sorted(node: exp.ArraySort) -> Form | None:
    ascending, nulls_first = node.args.get("asc"), node.args.get("nulls_first")
    if node.expression is not None:
        return None
    if ascending is None and isinstance(nulls_first, exp.Boolean) and not nulls_first.this:
        return "array_sort", [node.this]
    return "sort_array", [node.this, *([ascending] if ascending is not None else [])]


def _map(node: exp.VarMap) -> Form:
    keys, values = node.args["keys"].expressions, node.args["values"].expressions
    return "map", [part for pair in zip(keys, values, strict=True) for part in pair]


def _slice(node: exp.ArraySlice) -> Form | None:
    return ("slice", _children(node, "this start end")) if node.args.get("is_length") else None


def _part_of_day(node: exp.Expr) -> Form:
    return _PARTS_OF_DAYS[type(node)], [_written_day(node.this)]


def _date_format(node: exp.TimeToStr) -> Form:
    time = node.this.this if isinstance(node.this, exp.TimeStrToTime) else node.this
    return "date_format", [time, exp.Literal.string(_pattern(node))]


def _pattern(node: exp.TimeToStr) -> str:
    """Return Spark's pattern; sqlglot stores strftime's."""
    text = Dialect.get_or_raise("spark").generator().format_time(node)
    return text[1:-1] if text and text[0] == text[-1] == "'" else ""


def _timestamp_difference(node: exp.TimestampDiff) -> Form:
    return f"{node.text('unit').lower()}s_between", [node.this, node.expression]


_PARTS_OF_DAYS: dict[type[exp.Expr], str] = {
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day", exp.DayOfYear: "dayofyear",
    exp.DayOfWeek: "dayofweek", exp.WeekOfYear: "weekofyear",
}  # fmt: skip
_BINARY: dict[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt",
    exp.GTE: "ge", exp.NullSafeEQ: "nseq", exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div",
    exp.Mod: "mod", exp.IntDiv: "intdiv", exp.BitwiseAnd: "bitand", exp.BitwiseOr: "bitor", exp.BitwiseXor: "bitxor",
    exp.BitwiseLeftShift: "shiftleft", exp.BitwiseRightShift: "shiftright", exp.DPipe: "concat",
}  # fmt: skip
_OF_ONE = {
    exp.Not: "not", exp.Neg: "neg", exp.Abs: "abs", exp.BitwiseNot: "bitnot", exp.Sqrt: "sqrt", exp.Cbrt: "cbrt",
    exp.Exp: "exp", exp.Ln: "ln", exp.Sin: "sin", exp.Cos: "cos", exp.Tan: "tan", exp.Asin: "asin", exp.Acos: "acos",
    exp.Atan: "atan", exp.Sinh: "sinh", exp.Cosh: "cosh", exp.Tanh: "tanh", exp.Cot: "cot", exp.Radians: "radians",
    exp.Degrees: "degrees", exp.Sign: "sign", exp.Rint: "rint", exp.IsNan: "isnan", exp.BitwiseCount: "bit_count",
    exp.Quarter: "quarter", exp.LastDay: "last_day", exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second",
    exp.Upper: "upper", exp.Lower: "lower", exp.Length: "length", exp.Reverse: "reverse", exp.Ascii: "ascii",
}  # fmt: skip
_FUNCTIONS: dict[type, tuple[str, str]] = {
    **{kind: (name, "this") for kind, name in _OF_ONE.items()},
    exp.Coalesce: ("coalesce", "this expressions"),
    exp.Greatest: ("greatest", "this expressions"),
    exp.Least: ("least", "this expressions"),
    exp.Concat: ("concat", "this expressions"),
    exp.ConcatWs: ("concat_ws", "expressions"),
    exp.Round: ("round", "this decimals"),
    exp.Floor: ("floor", "this decimals"),
    exp.Ceil: ("ceil", "this decimals"),
    exp.Pow: ("power", "this expression"),
    exp.Atan2: ("atan2", "this expression"),
    exp.Nanvl: ("nanvl", "this expression"),
    exp.Substring: ("substring", "this start length"),
    exp.Left: ("left", "this expression"),
    exp.Right: ("right", "this expression"),
    exp.StartsWith: ("startswith", "this expression"),
    exp.EndsWith: ("endswith", "this expression"),
    exp.Contains: ("contains", "this expression"),
    exp.RegexpLike: ("rlike", "this expression"),
    exp.StrPosition: ("locate", "this substr position"),
    exp.Replace: ("replace", "this expression replacement"),
    exp.Repeat: ("repeat", "this times"),
    exp.SplitPart: ("split_part", "this delimiter part_index"),
    exp.Levenshtein: ("levenshtein", "this expression"),
    exp.Translate: ("translate", "this from_ to"),
    exp.UnixMicros: ("unix_micros", "this"),
    exp.UnixDate: ("unix_date", "this"),
    exp.DateFromUnixDate: ("date_from_unix_date", "this"),
    exp.AddMonths: ("add_months", "this expression"),
    exp.Array: ("array", "expressions"),
    exp.ArraySize: ("size", "this"),
    exp.ArrayContains: ("array_contains", "this expression"),
    exp.ArrayPosition: ("array_position", "this expression"),
    exp.ArrayToString: ("array_join", "this expression null"),
    exp.ArrayMax: ("array_max", "this"),
    exp.ArrayMin: ("array_min", "this"),
    exp.ArrayDistinct: ("array_distinct", "this"),
    exp.ArrayCompact: ("array_compact", "this"),
    exp.ArrayAppend: ("array_append", "this expression"),
    exp.ArrayRemove: ("array_remove", "this expression"),
    exp.ArrayIntersect: ("array_intersect", "expressions"),
    exp.Map: ("map_from_arrays", "keys values"),
    exp.MapKeys: ("map_keys", "this"),
    exp.ArrayExcept: ("array_except", "this expression"),
}
_WITH_LAMBDA: dict[type[exp.Expr], str] = {
    exp.Transform: "transform", exp.ArrayFilter: "filter", exp.Exists: "exists",
}  # fmt: skip
_NAMED = {
    "MAP_FROM_ARRAYS": "map_from_arrays",
    "LOG1P": "log1p", "EXPM1": "expm1", "HYPOT": "hypot", "BTRIM": "trim", "PMOD": "pmod", "BROUND": "bround",
    "TIMESTAMP_SECONDS": "timestamp_seconds", "TIMESTAMP_MILLIS": "timestamp_millis",
    "TIMESTAMP_MICROS": "timestamp_micros", "CARDINALITY": "size", "GET": "get", "ARRAY_UNION": "array_union",
    "ARRAYS_OVERLAP": "arrays_overlap", "MAP_VALUES": "map_values", "WEEKDAY": "weekday",
    "REGEXP": "rlike",
}  # fmt: skip
_SPECIAL: dict[type[exp.Expr], Callable[[Any], tuple[str, list[exp.Expr]] | None]] = {
    exp.Case: _case, exp.If: _case, exp.Is: _is_null, exp.In: _in, exp.Trim: _trim, exp.Like: _like, exp.ILike: _like,
    exp.Escape: _escaped_like, exp.Pad: _pad, exp.Log: _logarithm, exp.TsOrDsAdd: _add_days,
    exp.DateDiff: _days_between, exp.TimestampDiff: _timestamp_difference, exp.Bracket: _element,
    exp.ArraySort: _sorted, exp.VarMap: _map, exp.ArraySlice: _slice,
    exp.RegexpExtract: _regex_part, exp.RegexpReplace: _regex_replaced,
    exp.TimeToStr: _date_format, **dict.fromkeys(_PARTS_OF_DAYS, _part_of_day),
}  # fmt: skip
