"""TRY(...), which gives NULL where its expression fails, as Spark's functions that do."""

from sqlglot import exp
from sqlglot.tokens import Token

from cepsql.errors import NotSupportedError, Span
from cepsql.language.tokens import DIALECT

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Div: "try_divide",
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Mod: "try_mod",
}
_FUNCTIONS = {
    "TO_TIMESTAMP": "try_to_timestamp", "TO_NUMBER": "try_to_number",
    "TO_BINARY": "try_to_binary", "PARSE_JSON": "try_parse_json", "PARSE_URL": "try_parse_url", "SUM": "try_sum",
    "AVG": "try_avg", "MAKE_TIMESTAMP": "try_make_timestamp", "URL_DECODE": "try_url_decode",
}  # fmt: skip
_STRICT = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.Upper, exp.Lower, exp.Length, exp.Trim,
    exp.Substring, exp.Concat, exp.DPipe,
)  # fmt: skip
"""What never fails, and is NULL where an argument is."""

_SAFE = (
    *_STRICT, exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Interval, exp.Var, exp.Paren, exp.Not,
    exp.And, exp.Or, exp.Is, exp.Between, exp.Coalesce, exp.Case, exp.If, exp.Array,
)  # fmt: skip
"""What never fails."""

_HINT = "try_cast, try_divide, try_element_at, try_to_timestamp and others give NULL where they fail"


def tried(call: exp.Anonymous, tokens: list[Token], sql: str) -> exp.Expr | None:
    """Return what gives NULL where the expression in a call of TRY fails, None for another call.

    Raises NotSupportedError for an expression that no function of Spark's tries.
    """
    if call.name.upper() != "TRY" or len(call.expressions) != 1:
        return None
    safe = _tried(call.expressions[0])
    if safe is None:
        first = next((token for token in tokens if token.text.upper() == "TRY"), tokens[0])
        place = Span(call.meta_get("start", first.start), call.meta_get("end", first.end) + 1)
        raise NotSupportedError("TRY of this expression is not supported", place, _HINT, sql)
    return safe


def _tried(expression: exp.Expr) -> exp.Expr | None:
    """Return an expression that gives NULL where the given one fails, None if there is no such."""
    if all(isinstance(part, _SAFE) for part in expression.walk()):
        return expression.copy()
    match expression:
        case exp.Paren() | exp.Neg() | exp.Not():
            inner = _tried(expression.this)
            return None if inner is None else type(expression)(this=inner)
        case exp.Cast():
            inner = _tried(expression.this)
            return None if inner is None else exp.TryCast(this=inner, to=expression.to.copy(), safe=True)
        case exp.TsOrDsToDate():
            return _as_date(expression)
        case exp.Bracket() if expression.args.get("offset") is not None:
            # How sqlglot reads ELEMENT_AT.
            return _call("try_element_at", [expression.this, *expression.expressions])
    if isinstance(expression, _STRICT):
        return _with_tried_arguments(expression)
    if type(expression) in _OPERATORS:
        return _call(_OPERATORS[type(expression)], [expression.this, expression.expression])
    if isinstance(expression, exp.Func):
        name, arguments = _spelled(expression)
        return _call(_FUNCTIONS[name], arguments) if name in _FUNCTIONS else None
    return None


def _spelled(call: exp.Func) -> tuple[str, list[exp.Expr]]:
    """Return the name and the arguments of a call as Spark has them: sqlglot has other texts for formats of times."""
    name, bracket, rest = call.sql(dialect=DIALECT).partition("(")
    plain: exp.Expr = exp.maybe_parse(f"plain_{name}{bracket}{rest}", dialect=DIALECT)
    return (name.upper(), plain.expressions) if isinstance(plain, exp.Anonymous) else ("", [])


def _call(name: str, arguments: list[exp.Expr]) -> exp.Expr | None:
    tried_arguments = [_tried(argument) for argument in arguments]
    if not all(argument is not None for argument in tried_arguments):
        return None
    return exp.Anonymous(this=name, expressions=[argument for argument in tried_arguments if argument is not None])


def _with_tried_arguments(expression: exp.Expr) -> exp.Expr | None:
    rewritten = expression.copy()
    for part in list(rewritten.iter_expressions()):
        inner = _tried(part)
        if inner is None:
            return None
        part.replace(inner)
    return rewritten


def _as_date(call: exp.TsOrDsToDate) -> exp.Expr | None:
    """Return TO_DATE, which not every Spark can try."""
    if call.args.get("format") is None:
        inner = _tried(call.this)
    else:
        # sqlglot leaves this format out.
        text, *format = _spelled(call)[1]
        inner = _call("try_to_timestamp", [text, *(format or [exp.Literal.string("yyyy-MM-dd")])])
    return None if inner is None else exp.TryCast(this=inner, to=exp.DataType.build("DATE", dialect=DIALECT), safe=True)
