"""Spark's SQL as sqlglot knows it, and what that leaves out."""

from sqlglot import Generator, exp, transforms
from sqlglot.dialects.spark import Spark


def _json_extract(generator: Generator, expression: exp.JSONExtract) -> str:
    """Write `v:a.b`, which takes a part of a VARIANT, as the function that it stands for."""
    if not expression.args.get("variant_extract"):
        return Spark.Generator.TRANSFORMS[exp.JSONExtract](generator, expression)
    return generator.func("VARIANT_GET", expression.this, expression.expression)


_AFTER_QUALIFY = ("with_", "distinct", "order", "limit", "offset")


def _without_qualify(expression: exp.Expr) -> exp.Expr:
    """Write QUALIFY, which not every version of Spark knows, as WHERE over a subquery with the values that it asks."""
    if not isinstance(expression, exp.Select) or expression.args.get("qualify") is None:
        return expression
    inner = expression
    condition, order = inner.args.pop("qualify").this, inner.args.get("order")
    after = {part: inner.args.pop(part) for part in _AFTER_QUALIFY if inner.args.get(part) is not None}
    given = {item.alias_or_name.lower(): item.unalias() for item in inner.expressions if item.alias_or_name}
    asked: dict[str, exp.Expr] = {}

    def taken(node: exp.Expr) -> exp.Expr:
        named = isinstance(node, exp.Column) and not node.table and node.name.lower() in given
        if named or not isinstance(node, exp.Window | exp.AggFunc | exp.Column):
            return node
        name = f"_qualify_{len(asked)}"
        asked[name] = node.transform(lambda part: _of_alias(part, given))
        return exp.column(name)

    where = exp.Where(this=condition.transform(taken))
    if order is not None:
        after["order"] = order.transform(taken)
    inner.set("expressions", [*inner.expressions, *(exp.alias_(value, name) for name, value in asked.items())])
    every = exp.Star(except_=list(map(exp.to_identifier, asked))) if asked else exp.Star()
    return exp.Select(expressions=[every], from_=exp.From(this=inner.subquery("_t")), where=where, **after)


def _of_alias(part: exp.Expr, given: dict[str, exp.Expr]) -> exp.Expr:
    """Return what a name of SELECT stands for."""
    known = given.get(part.name.lower()) if isinstance(part, exp.Column) and not part.table else None
    return part if known is None else known.copy()


class SparkSql(Spark):
    """The dialect in which statements are read and written."""

    # sqlglot sets both as attributes, which a type checker cannot follow.
    class Parser(Spark.Parser):  # type: ignore[valid-type,misc]
        COLON_IS_VARIANT_EXTRACT = True

    class Generator(Spark.Generator):  # type: ignore[valid-type,misc]
        TRANSFORMS = {  # noqa: RUF012
            **Spark.Generator.TRANSFORMS,
            exp.JSONExtract: _json_extract,
            exp.Select: transforms.preprocess([
                _without_qualify, transforms.eliminate_distinct_on, transforms.unnest_to_explode,
                transforms.any_to_exists,
            ]),
        }  # fmt: skip

        def filter_sql(self, expression: exp.Filter) -> str:
            """Write FILTER before IGNORE NULLS, as Spark reads them."""
            call, where = expression.this, expression.expression
            if not isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
                return super().filter_sql(expression)
            return self.sql(type(call)(this=exp.Filter(this=call.this.copy(), expression=where.copy())))
