"""What Spark calls the columns of table functions and of VALUES that no alias names."""

from collections.abc import Callable

from sqlglot import exp

_ARRAYS = ("EXPLODE", "EXPLODE_OUTER", "POSEXPLODE", "POSEXPLODE_OUTER")


def name_made_columns(query: exp.Expr) -> None:
    """Let aliases name the columns of table functions, VALUES and EXPLODE, as far as Spark's names are known."""
    for item in query.find_all(exp.Table, exp.Lateral, exp.Values):
        alias = item.args.get("alias")
        if alias is not None and alias.columns:
            continue
        made = item if isinstance(item, exp.Values) else item.this
        names = _names(made) if isinstance(made, exp.Values | exp.Func) else ()
        if names:
            alias = alias or exp.TableAlias()
            alias.set("columns", [exp.to_identifier(name) for name in names])
            item.set("alias", alias)
    for call in list(query.find_all(exp.Explode)):
        if isinstance(call.parent, exp.Select) and len(names := _names(call)) == 1:
            call.replace(exp.alias_(call.copy(), names[0]))


def _names(made: exp.Values | exp.Func) -> tuple[str, ...]:
    if isinstance(made, exp.Values):
        first = made.expressions[0]
        return _numbered("col", 1, len(first.expressions) if isinstance(first, exp.Tuple) else 1)
    name = made.name.upper() if isinstance(made, exp.Anonymous) else made.sql_name()
    if name in _ARRAYS and isinstance(made.this, exp.Array):
        return ("pos", "col") if name.startswith("POS") else ("col",)
    return _FUNCTIONS[name](made) if name in _FUNCTIONS else ()


def _stack(call: exp.Func) -> tuple[str, ...]:
    rows, *values = call.expressions or [exp.null()]
    return _numbered("col", 0, -(-len(values) // int(rows.name))) if rows.is_int and int(rows.name) > 0 else ()


def _numbered(name: str, first: int, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{i}" for i in range(first, first + count))


_FUNCTIONS: dict[str, Callable[[exp.Func], tuple[str, ...]]] = {
    "RANGE": lambda call: ("id",),
    "STACK": _stack,
    "JSON_TUPLE": lambda call: _numbered("c", 0, len(call.expressions) - 1),
}
"""The names of the columns that a call of a table function gives."""
