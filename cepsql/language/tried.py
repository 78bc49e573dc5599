"""TRY(...), which gives NULL where its expression fails, as Spark's functions that do."""

from sqlglot import exp
from sqlglot.tokens import Token

from cepsql.errors import NotSupportedError, Span

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Div: "try_divide",
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Mod: "try_mod",
}
_FUNCTIONS = {
    "ELEMENT_AT": "try_element_at", "TO_TIMESTAMP": "try_to_timestamp", "TO_NUMBER": "try_to_number",
    "TO_BINARY": "try_to_binary", "PARSE_JSON": "try_parse_json", "PARSE_URL": "try_parse_url",
}  # fmt: skip
_HINT = "try_cast, try_divide, try_element_at, try_to_timestamp and others give NULL where they fail"


def tried(call: exp.Anonymous, tokens: list[Token], sql: str) -> exp.Expr | None:
    """Return what gives NULL where the expression in a call of TRY fails, None for another call.

    Raises NotSupportedError for an expression that no function of Spark's tries.
    """
    if call.name.upper() != "TRY" or len(call.expressions) != 1:
        return None
    found = _tried(call.expressions[0])
    if found is None:
        at = next((token for token in tokens if token.text.upper() == "TRY"), tokens[0])
        place = Span(at.start, at.end + 1)
        raise NotSupportedError("TRY of this expression is not supported", place, _HINT, sql)
    return found


def _tried(expression: exp.Expr) -> exp.Expr | None:
    """Return an expression that gives NULL where the given one fails, None if there is no such."""
    match expression:
        case exp.Column() | exp.Literal() | exp.Null() | exp.Boolean() | exp.Interval():
            return expression.copy()
        case exp.Paren() | exp.Neg():
            inner = _tried(expression.this)
            return None if inner is None else type(expression)(this=inner)
        case exp.Cast():
            inner = _tried(expression.this)
            return None if inner is None else exp.TryCast(this=inner, to=expression.to.copy(), safe=True)
    name = _OPERATORS.get(type(expression))
    parts = [expression.this, expression.expression] if name is not None else []
    if name is None and isinstance(expression, exp.Func):
        spelled = expression.name if isinstance(expression, exp.Anonymous) else expression.sql_name()
        name = _FUNCTIONS.get(spelled.upper())
        parts = list(expression.iter_expressions()) if name is not None else []
    found = [_tried(part) for part in parts]
    if name is None or not all(part is not None for part in found):
        return None
    return exp.Anonymous(this=name, expressions=[part for part in found if part is not None])
