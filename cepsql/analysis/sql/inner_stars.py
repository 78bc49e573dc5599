"""Stars inside expressions, such as struct(*) or COUNT(DISTINCT *): the columns of FROM for which they stand."""

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, Span

_MERGED = "merged"
"""Under which a star remembers that USING makes one column of two."""


def mark_merged_stars(query: exp.Query) -> None:
    """Let the stars over a join with USING know of it, which qualifying rewrites."""
    for select in query.find_all(exp.Select):
        if any(join.args.get("using") or join.method == "NATURAL" for join in select.args.get("joins") or ()):
            for star in inner_stars(select):
                star.meta[_MERGED] = True


def spread_inner_stars(query: exp.Query, schema: MappingSchema) -> None:
    """Put columns in the place of stars inside the expressions of a qualified query, where the columns are known."""
    if not any(_owner(star) is not None for star in query.find_all(exp.Star)):
        return
    for scope in traverse_scope(query):
        if not isinstance(scope.expression, exp.Select):
            continue
        for star in list(inner_stars(scope.expression)):
            columns = None if star.meta_get(_MERGED) else _columns(star, scope, schema)
            if columns:
                _spread(star, columns)


def inner_stars(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the stars inside the expressions of a SELECT that stand for columns: not that of COUNT(*)."""
    for star in select.find_all(exp.Star):
        if _owner(star) is select:
            yield star.parent if isinstance(star.parent, exp.Column) else star


def _owner(star: exp.Star) -> exp.Select | None:
    """Return the SELECT inside an expression of which a star stands for columns; None for another star."""
    if isinstance(star.parent, exp.Count):
        return None
    select = star.find_ancestor(exp.Select)
    whole = star.parent if isinstance(star.parent, exp.Column) else star
    return None if whole.parent is select else select


def refuse_inner_stars(select: exp.Select, place: Span | None) -> None:
    """Raise NotSupportedError for a star inside an expression of a SELECT, of which it is not known for what it stands.

    What is made of the SELECT may read other columns.
    """
    star = next(inner_stars(select), None)
    if star is not None:
        around = star.find_ancestor(exp.Func) or star
        raise NotSupportedError(
            f"a star inside an expression over a stream is not supported here: {sql_of(around)}",
            span_of(around, place),
            "name the columns; COUNT(*) counts the rows",
        )


def _columns(star: exp.Expr, scope: Scope, schema: MappingSchema) -> list[exp.Column] | None:
    """Return the columns for which a star stands, None if they are not known."""
    expression = star.this if isinstance(star, exp.Column) else star
    if any(value for part, value in expression.args.items() if part != "except_") or star.args.get("db"):
        return None
    left_out = {column.name.lower() for column in expression.args.get("except_") or ()}
    tables = [star.table] if isinstance(star, exp.Column) else list(scope.selected_sources)
    columns: list[exp.Column] = []
    for table in tables:
        source = scope.sources.get(table)
        if isinstance(source, Scope) and isinstance(source.expression, exp.Query):
            names = source.expression.named_selects
        elif isinstance(source, Scope):
            names = source.expression.alias_column_names
        elif isinstance(source, exp.Table) and not source.args.get("pivots"):
            alias = source.args.get("alias")
            renamed = [column.name for column in alias.columns] if alias is not None else []
            names = renamed or list(schema.column_names(source))
        else:
            return None
        if not names or "*" in names:
            return None
        columns += [exp.column(name, table=table) for name in names if name.lower() not in left_out]
    return columns


def _spread(star: exp.Expr, columns: list[exp.Column]) -> None:
    parent, place = star.parent, span_of(star)
    assert parent is not None
    if place is not None:
        for column in columns:
            column.this.meta.update(start=place.start, end=place.end - 1)
    if isinstance(parent, exp.Struct):
        # The fields keep their names, whatever the columns will be called.
        star.replace([exp.PropertyEQ(this=column.this.copy(), expression=column) for column in columns])
    elif star.index is not None:
        star.replace(columns)
    elif isinstance(parent, exp.Coalesce | exp.Greatest | exp.Least):
        parent.set("expressions", [*columns[1:], *parent.expressions])
        parent.set("this", columns[0])
