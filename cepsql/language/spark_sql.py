"""Spark's SQL as sqlglot knows it, and what that leaves out."""

from sqlglot import Generator, exp
from sqlglot.dialects.spark import Spark


def _json_extract(generator: Generator, expression: exp.JSONExtract) -> str:
    """Write `v:a.b`, which takes a part of a VARIANT, as the function that it stands for."""
    if not expression.args.get("variant_extract"):
        return Spark.Generator.TRANSFORMS[exp.JSONExtract](generator, expression)
    return generator.func("VARIANT_GET", expression.this, expression.expression)


class SparkSql(Spark):
    """The dialect in which statements are read and written."""

    # sqlglot sets both as attributes, which a type checker cannot follow.
    class Parser(Spark.Parser):  # type: ignore[valid-type,misc]
        COLON_IS_VARIANT_EXTRACT = True

    class Generator(Spark.Generator):  # type: ignore[valid-type,misc]
        TRANSFORMS = {**Spark.Generator.TRANSFORMS, exp.JSONExtract: _json_extract}  # noqa: RUF012
