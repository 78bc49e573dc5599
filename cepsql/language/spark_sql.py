"""Spark's SQL as sqlglot knows it, and what that leaves out.

Nothing is derived from sqlglot's parsers and generators: compiled, as `sqlglot[c]` has them, they allow no classes
below them. What they would read otherwise is changed in the tokens (see `islands`), what they would write otherwise
in the tree.
"""

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark

_AFTER_QUALIFY = ("with_", "distinct", "order", "limit", "offset")


class SparkSql(Spark):
    """The dialect in which statements are read and written."""

    def generate(self, expression: exp.Expr, copy: bool = True, **options) -> str:
        """Return a tree as Spark reads it; not to copy it means that it may be changed."""
        if expression.find(*_UNLIKE) is not None:
            expression, copy = _as_spark_reads(expression.copy() if copy else expression), False
        return super().generate(expression, copy=copy, **options)


def _as_spark_reads(tree: exp.Expr) -> exp.Expr:
    """Write anew what not every version of Spark reads, or no version, from the inside out."""
    node: exp.Expr
    for node in reversed([*tree.find_all(*_UNLIKE)]):
        old: Any = node.parent if isinstance(node, exp.Qualify) else node
        new = _REWRITTEN[type(node)](old)
        if old is tree:
            tree = new
        elif old is not new:
            old.replace(new)
    return tree


def _variant_get(part: exp.JSONExtract) -> exp.Expr:
    """Write `v:a.b`, which takes a part of a VARIANT, as the function that it stands for."""
    if not part.args.get("variant_extract"):
        return part
    return exp.Anonymous(this="VARIANT_GET", expressions=[part.this.copy(), part.expression.copy()])


def _nulls_after_filter(expression: exp.Filter) -> exp.Expr:
    """Write FILTER before IGNORE NULLS."""
    call = expression.this
    if not isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
        return expression
    return type(call)(this=exp.Filter(this=call.this.copy(), expression=expression.expression.copy()))


def _called(call: exp.Localtimestamp) -> exp.Expr:
    """Write LOCALTIMESTAMP with brackets, without which it is a column."""
    return exp.Anonymous(this="LOCALTIMESTAMP")


def _excluding(spec: exp.WindowSpec) -> exp.Expr:
    """Write EXCLUDE, for what refuses or describes it, behind the end of the frame."""
    if spec.args.get("exclude") is None:
        return spec
    made, side = spec.copy(), spec.args.get("end_side")
    made.set("exclude", None)
    if spec.args.get("end") is None:
        made.set("end", "CURRENT ROW")
    made.set("end_side", " ".join([*([side] if side else []), "EXCLUDE", spec.args["exclude"].name]))
    return made


def _without_qualify(select: exp.Select) -> exp.Select:
    """Write QUALIFY, as WHERE over a subquery with the values that it asks."""
    inner = select.copy()
    condition, order = inner.args.pop("qualify").this, inner.args.get("order")
    after = {part: inner.args.pop(part) for part in _AFTER_QUALIFY if inner.args.get(part) is not None}
    items = {item.alias_or_name.lower(): item.unalias() for item in inner.expressions if item.alias_or_name}
    asked: dict[str, exp.Expr] = {}

    def taken(node: exp.Expr) -> exp.Expr:
        named = isinstance(node, exp.Column) and not node.table and node.name.lower() in items
        if named or not isinstance(node, exp.Window | exp.AggFunc | exp.Column):
            return node
        name = f"_qualify_{len(asked)}"
        asked[name] = node.transform(lambda part: _of_alias(part, items))
        return exp.column(name)

    where = exp.Where(this=condition.transform(taken))
    if order is not None:
        after["order"] = order.transform(taken)
    inner.set("expressions", [*inner.expressions, *(exp.alias_(value, name) for name, value in asked.items())])
    every = exp.Star(except_=list(map(exp.to_identifier, asked))) if asked else exp.Star()
    return exp.Select(expressions=[every], from_=exp.From(this=inner.subquery("_t")), where=where, **after)


def _of_alias(part: exp.Expr, items: dict[str, exp.Expr]) -> exp.Expr:
    """Return what a name of SELECT stands for."""
    item = items.get(part.name.lower()) if isinstance(part, exp.Column) and not part.table else None
    return part if item is None else item.copy()


_REWRITTEN: dict[type, Callable[[Any], exp.Expr]] = {
    exp.JSONExtract: _variant_get,
    exp.Filter: _nulls_after_filter,
    exp.Localtimestamp: _called,
    exp.Qualify: _without_qualify,
    exp.WindowSpec: _excluding,
}
_UNLIKE = tuple(_REWRITTEN)
