"""Calls of functions in sqlglot's trees: what each is called, and which give several rows."""

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import sql_of

_GENERATORS = {"EXPLODE", "POSEXPLODE", "INLINE", "STACK", "JSON_TUPLE", "VARIANT_EXPLODE"}
_SIGNS: dict[type[exp.Expr], str] = {exp.DPipe: "||", exp.RegexpLike: "RLIKE", exp.ILike: "ILIKE"}


def spoken_function(node: exp.Expr) -> str:
    """Return the name of a call as Spark SQL has it, or the word or sign of an operation."""
    if isinstance(node, exp.Anonymous):
        return node.name.upper()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary):
        return sql_of(node).split("(")[0].strip("`").upper()
    return _SIGNS.get(type(node), node.key.upper())


def gives_rows(call: exp.Expr) -> bool:
    """Tell whether a call gives several rows for one, and perhaps several columns."""
    if not isinstance(call, exp.Func) or isinstance(call, exp.AggFunc):
        return False
    return spoken_function(call).removesuffix("_OUTER") in _GENERATORS


def spoken_name(call: exp.Expr) -> str:
    """Return the name of a call as the user writes it, upper case."""
    return call.name.strip("_").upper()
