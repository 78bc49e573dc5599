"""Names that a query may give once: those of CTEs in one WITH, and of windows in one WINDOW; and how many it gives."""

from collections.abc import Iterable

from sqlglot import exp

from cepsql.analysis.sql.positions import span_of
from cepsql.errors import ProgrammingError


def refuse_names_twice(query: exp.Query) -> None:
    """Raise ProgrammingError for a name that is given twice, and for more or fewer names than there are columns."""
    for clause in query.find_all(exp.With):
        _refuse_twice((cte.args["alias"].this for cte in clause.expressions), "CTEs", False)
    for select in query.find_all(exp.Select):
        windows = [window.this for window in select.args.get("windows") or []]
        _refuse_twice(windows, "windows", True)
        _refuse_other_case(select, {window.name for window in windows})
    for part in query.find_all(exp.CTE, exp.Subquery):
        alias, named = part.args.get("alias"), part.this
        while isinstance(named, exp.SetOperation | exp.Subquery):
            named = named.this
        if not isinstance(alias, exp.TableAlias) or not alias.columns or not isinstance(named, exp.Select):
            continue
        if not any(_is_open(item) for item in named.expressions) and len(alias.columns) != len(named.expressions):
            raise ProgrammingError(
                f"{alias.name} names {len(alias.columns)} columns of {len(named.expressions)}",
                span_of(alias),
                "name all columns, or none",
            )


def _refuse_twice(names: Iterable[exp.Expr], kind: str, case: bool) -> None:
    seen = set[str]()
    for name in names:
        key = name.name if case else name.name.lower()
        if key in seen:
            raise ProgrammingError(f"two {kind} are named {name.name}", span_of(name), "give one another name")
        seen.add(key)


def _refuse_other_case(select: exp.Select, windows: set[str]) -> None:
    """Refuse the name of a window in other letters: Spark tells upper and lower case apart here."""
    for call in select.find_all(exp.Window):
        named = call.args.get("alias")
        if named is None or call.parent_select is not select or named.name in windows:
            continue
        alike = [window for window in windows if window.lower() == named.name.lower()]
        if alike:
            raise ProgrammingError(
                f"there is no window {named.name}", span_of(named, span_of(call)), f"did you mean {alike[0]}?"
            )


def _is_open(item: exp.Expr) -> bool:
    """Tell whether an item of SELECT may be several columns."""
    return item.is_star or isinstance(item, exp.UDTF | exp.Aliases) or item.find(exp.Explode, exp.Inline) is not None
