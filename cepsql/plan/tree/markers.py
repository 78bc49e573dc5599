"""Carry the markers of a stream of matches through the SQL that stands between two MATCH_RECOGNIZE."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.sql.function_calls import gives_rows, spoken_function
from cepsql.analysis.sql.inner_stars import inner_stars
from cepsql.analysis.sql.positions import span_of
from cepsql.analysis.sql.resolve import catalog_tables, recursive_ctes, table_name
from cepsql.errors import NotSupportedError, Span
from cepsql.language.notes import copied

BOUND = "__bound"
"""BIGINT column that only markers have: every row to come has an event time, in microseconds, above it."""


BETWEEN = "between two operators over a stream"
"""Where markers have to pass, in the words of a refusal."""


@dataclass(frozen=True)
class _Around:
    """Where a query stands: its place in the text, and in words."""

    span: Span | None
    words: str


def carry_markers(query: exp.Query, streams: Collection[str], place: str = BETWEEN) -> exp.Query:
    """Return a query over one stream with markers so that they come out too, with BOUND as its last column.

    streams: the names of relations with markers.
    place:   where the query stands, in the words of a refusal.
    A marker has NULL in all columns but BOUND, so that conditions, and joins with tables, are changed to let it pass.
    Raises NotSupportedError for what no marker passes through.
    """
    copy = inline_ctes(query)
    _carry(copy, streams, _Around(span_of(copy), place))
    return copy


def without_ctes(query: exp.Query) -> exp.Query:
    """Return what `inline_ctes` does, or the query itself if it has no CTE: for who only looks at it."""
    return query if query.find(exp.With) is None else inline_ctes(query)


def inline_ctes(query: exp.Query) -> exp.Query:
    """Return a copy in which subqueries stand in place of the names of CTEs, but where one of these reads itself."""
    copy = copied(query)
    _inline(copy, {})
    return copy


def _inline(query: exp.Expr, visible: dict[str, exp.CTE]) -> None:
    """Put subqueries in place of names in a query; `visible` are the CTEs around it, with subqueries in them already.

    Each body is gone through once, before it is put anywhere: copies of copies would double at every further CTE.
    """
    waiting = [(query, visible)]
    while waiting:
        node, ctes = waiting.pop()
        clause = node.args.get("with_")
        if clause is not None and not recursive_ctes(clause):
            clause.pop()
            ctes = dict(ctes)
            for cte in clause.expressions:
                _inline(cte.this, ctes)
                ctes[cte.alias.lower()] = cte
        children = [(child, ctes) for child in node.iter_expressions()]
        if isinstance(node, exp.Table) and _is_one_name(node) and node.name.lower() in ctes:
            _replace(node, ctes[node.name.lower()])
        waiting += children


def _replace(table: exp.Table, cte: exp.CTE) -> None:
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name))
    if cte.args["alias"].columns and not alias.columns:
        alias.set("columns", [column.copy() for column in cte.args["alias"].columns])
    joins = table.args.get("joins")
    # The first to name it gets the body itself.
    body = cte.this if cte.this.parent is cte else cte.this.copy()
    table.replace(exp.Subquery(this=body, alias=alias.copy(), joins=joins))


def _is_one_name(table: exp.Table) -> bool:
    return len(table.parts) == 1 and isinstance(table.this, exp.Identifier)


def join_kind(join: exp.Join) -> str:
    """Return what kind of join it is, upper case, such as INNER, LEFT or LEFT ANTI."""
    words = " ".join(filter(None, (join.side, join.kind))).upper()
    return words.removesuffix(" OUTER") or "INNER"


def _carry(query: exp.Query, streams: Collection[str], around: _Around) -> None:
    """Change the query in place; it reads one of the streams."""
    if isinstance(query, exp.Subquery):
        return _carry(query.this, streams, around)
    _refuse_lossy(query, around)
    joins = query.args.get("joins") or []
    items = [query.args["from_"].this, *(join.this for join in joins)]
    place = next(i for i, item in enumerate(items) if _reads(item, streams))
    item = items[place]
    if isinstance(item, exp.Subquery):
        _carry(item.this, streams, around)
    alias = item.args.get("alias")
    if alias is not None and alias.columns:
        alias.append("columns", exp.to_identifier(BOUND))
    assert isinstance(query, exp.Select)
    marks = _keep_in_joins(query, items, place, around)
    hidden = {BOUND: item.alias_or_name.lower(), **marks}
    for star in [*filter(_is_star, query.expressions), *inner_stars(query)]:
        _leave_out(star, hidden)
    _let_pass(query, list(marks))
    query.append("expressions", exp.column(BOUND))


def _reads(item: exp.Expr, streams: Collection[str]) -> bool:
    return any(table_name(table) in streams for table in catalog_tables(item))


def _refuse_lossy(query: exp.Query, around: _Around) -> None:
    reason = None
    if not isinstance(query, exp.Select):
        reason = "UNION, INTERSECT or EXCEPT"
    elif query.args.get("laterals") or any(isinstance(j.this, exp.Lateral) for j in query.args.get("joins") or []):
        reason = "LATERAL"
    elif any(item.args.get("pivots") for item in query.find_all(exp.Table, exp.Subquery)):
        reason = "PIVOT"
    elif query.find(exp.TableSample):
        reason = "TABLESAMPLE"
    else:
        calls = [call for selected in query.expressions for call in selected.find_all(exp.Func, exp.Dot)]
        generator = next(filter(gives_rows, calls), None)
        reason = spoken_function(generator) if generator is not None else None
    if reason is not None:
        raise NotSupportedError(
            f"{reason} {around.words} is not supported",
            span_of(query, around.span),
            "filters, computed columns and joins with tables are",
        )


def _keep_in_joins(query: exp.Select, items: list[exp.Expr], place: int, around: _Around) -> dict[str, str]:
    """Make every join keep the markers of the item at `place`; return the columns that say where an inner join held,
    with the tables that have them."""
    marks: dict[str, str] = {}
    joins = query.args.get("joins") or []
    for number, join in enumerate(joins, 1):
        kind = join_kind(join)
        if number < place:
            keeps = kind in ("INNER", "CROSS", "LEFT")
        elif number == place:
            keeps = kind in ("INNER", "CROSS", "RIGHT")
        else:
            keeps = kind in ("INNER", "CROSS", "LEFT", "LEFT ANTI", "ANTI")
        if not keeps:
            raise NotSupportedError(
                f"{kind} JOIN {around.words} is not supported here",
                span_of(join, around.span),
                "the rows of the stream must be those that the join keeps: JOIN, or LEFT JOIN after the matches",
            )
        if number < place:
            continue
        if kind in ("INNER", "CROSS"):
            table = join.this if number > place else items[0]
            mark = f"__found_{number}"
            marks[mark] = table.alias_or_name.lower()
            _mark(table, mark)
            join.set("side", "LEFT" if number > place else "RIGHT")
            join.set("kind", None)
        if not join.args.get("using") and (join.method or "").upper() != "NATURAL":
            condition = join.args.get("on") or exp.true()
            join.set("on", exp.and_(condition, _is_row()))
    return marks


def _mark(item: exp.Expr, name: str) -> None:
    """Give a joined table a column that is true in each of its rows."""
    alias = item.args.get("alias")
    alias = alias.copy() if alias is not None else exp.TableAlias(this=exp.to_identifier(item.alias_or_name))
    inner = item.copy()
    if alias.columns:
        alias.append("columns", exp.to_identifier(name))
    inner.set("alias", exp.TableAlias(this=alias.this.copy()) if alias.this else None)
    marked = exp.select("*", exp.alias_(exp.true(), name)).from_(inner)
    item.replace(exp.Subquery(this=marked, alias=alias if alias.this else None))


def _let_pass(query: exp.Select, hidden: list[str]) -> None:
    where, joins = query.args.get("where"), query.args.get("joins") or []
    conditions = [exp.column(name) for name in hidden]
    if where is not None:
        # A comma's equality is a join's only in its ON; there, as in WHERE, it must hold for a row to come out. Spark
        # takes no star in ON.
        if (
            hidden[-1:] == [f"__found_{len(joins)}"]
            and joins[-1].args.get("on")
            and not where.find(exp.Query, exp.Star)
        ):
            joins[-1].set("on", exp.and_(where.this.copy(), joins[-1].args["on"]))
        else:
            conditions.insert(0, where.this.copy())
    if conditions:
        condition = exp.and_(*conditions)
        query.set("where", exp.Where(this=exp.or_(condition, exp.not_(_is_row()))))


def _is_row() -> exp.Expr:
    return exp.column(BOUND).is_(exp.null())


def _is_star(selected: exp.Expr) -> bool:
    return isinstance(selected.this if isinstance(selected, exp.Column) else selected, exp.Star)


def _leave_out(star: exp.Expr, hidden: Mapping[str, str]) -> None:
    """Let a star, of all relations or of one, leave out the hidden columns; these are told with who has them."""
    names = list(hidden)
    if isinstance(star, exp.Column):
        names = [name for name, owner in hidden.items() if owner == star.table.lower()]
        star = star.this
    if names:
        star.set("except_", [*(star.args.get("except_") or []), *map(exp.column, names)])
