"""Spark's names of SELECT expressions without an alias."""

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import without_tables
from cepsql.analysis.sql.resolve import SPOKEN
from cepsql.analysis.sql.window_calls import is_window_call
from cepsql.language.tokens import DIALECT

_QUOTED, _ESCAPED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.S), re.compile(r"\\(.)", re.S)
_KEPT = "\ue000"
_PART = re.compile(r"__part_(\d+)_")


def spark_name(expression: exp.Expr) -> str:
    """Return Spark's name of a column with this expression: count(1), (sum(n) / 2).

    For a window function, whose name in Spark includes the frame, return its text.
    """
    plain = without_tables(expression)
    return plain.sql(dialect=DIALECT) if plain.find(exp.Window) is not None else _name(plain)


def _name(node: exp.Expr) -> str:
    """Return the name of a node, with all parentheses and without quotes."""
    rule = _rule(node)
    return _written(node) if rule is None else rule(node)


def _rule(node: exp.Expr) -> Callable[[Any], str] | None:
    return next((_RULES[kind] for kind in type(node).__mro__ if kind in _RULES), None)


def _written(node: exp.Expr) -> str:
    """Return the SQL of a node, with its parts by their names."""
    copy = node.copy()
    parts: list[str] = []

    def named(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Literal):
            # It stays a literal, because calls convert formats; the prefix prevents omission of a default.
            return exp.Literal.string(_KEPT + part.name) if part.is_string else part
        rule = None if part is copy else _rule(part)
        if rule is None:
            return part
        parts.append(rule(part))
        return exp.Var(this=f"__part_{len(parts) - 1}_")

    text = copy.transform(named, copy=False).sql(dialect=DIALECT, normalize_functions="lower", comments=False)
    bare = _QUOTED.sub(lambda match: _ESCAPED.sub(r"\1", match[1]), text.replace(_KEPT, ""))
    return _PART.sub(lambda match: parts[int(match[1])], bare)


def _call(name: str, *arguments: exp.Expr) -> str:
    return f"{name}({', '.join(map(_name, arguments))})"


def _operation(sign: str) -> Callable[[exp.Binary], str]:
    return lambda node: f"({_name(node.this)} {sign} {_name(node.expression)})"


def _anonymous(call: exp.Anonymous) -> str:
    name = call.name.lower()
    return name if is_window_call(call) else _call(name, *call.expressions)


def _case(node: exp.Case) -> str:
    value = [] if node.this is None else [_name(node.this)]
    branches = [f"WHEN {_name(branch.this)} THEN {_name(branch.args['true'])}" for branch in node.args["ifs"]]
    default = [] if node.args.get("default") is None else [f"ELSE {_name(node.args['default'])}"]
    return " ".join(["CASE", *value, *branches, *default, "END"])


def _struct(node: exp.Struct) -> str:
    fields = (
        f"{_name(field.expression)} AS {_name(field.this)}" if isinstance(field, exp.PropertyEQ) else _name(field)
        for field in node.expressions
    )
    return f"struct({', '.join(fields)})"


def _if(node: exp.If) -> str:
    return f"({_call('IF', node.this, node.args['true'], node.args.get('false') or exp.null())})"


def _not(node: exp.Not) -> str:
    negated = node.this
    return _operation("IS NOT")(negated) if isinstance(negated, exp.Is) else f"(NOT {_name(negated)})"


_RULES: dict[type[exp.Expr], Callable[[Any], str]] = {
    **{
        kind: _operation(sign)
        for kind, sign in {
            exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "DIV", exp.Mod: "%",
            exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
            exp.Is: "IS", exp.And: "AND", exp.Or: "OR", exp.ILike: "ILIKE", exp.RegexpLike: "RLIKE",
            exp.Escape: "ESCAPE", exp.NullSafeNEQ: "IS DISTINCT FROM",
            exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
        }.items()
    },
    exp.Anonymous: _anonymous,
    exp.Between: lambda node: _call("between", node.this, node.args["low"], node.args["high"]),
    exp.Boolean: lambda node: _written(node).lower(),
    exp.Case: _case,
    exp.Cast: lambda node: _name(node.this) if isinstance(node.this, exp.Column) else _written(node),
    exp.Column: lambda node: ".".join(map(_name, node.parts)),
    exp.Dot: lambda node: f"{_name(node.this)}.{node.expression.name}",
    exp.DPipe: lambda node: _call("concat", node.this, node.expression),
    exp.Filter: lambda node: f"{_name(node.this)} FILTER (WHERE {_name(node.expression.this)})",
    exp.Identifier: lambda node: node.meta_get(SPOKEN, node.name),
    exp.If: _if,
    exp.IgnoreNulls: lambda node: _name(node.this),
    exp.In: lambda node: f"({_written(node)})",
    exp.Like: lambda node: f"{_name(node.this)} LIKE {_name(node.expression)}",
    exp.Literal: lambda node: node.name,
    exp.Neg: lambda node: f"(- {_name(node.this)})",
    exp.NEQ: lambda node: f"(NOT {_operation('=')(node)})",
    exp.Not: _not,
    exp.Paren: lambda node: _name(node.this),
    exp.Pow: lambda node: _call("pow", node.this, node.expression),
    exp.Star: lambda node: "1",
    exp.Struct: _struct,
}  # fmt: skip
