"""What sqlglot is asked of trees: their SQL text, their types, what their names mean."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from cepsql.analysis.sql.expression_types import annotate_types
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import Error, NotSupportedError
from cepsql.language.guard import Place, guarded, not_understood
from cepsql.language.notes import copied
from cepsql.language.tokens import DIALECT

T = TypeVar("T")

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def sql_of(expression: exp.Expr, comments: bool = True, keep: bool = True) -> str:
    """Return an expression as Spark SQL, with the comments in it or without.

    keep: the expression stays as it is.
    Raises ProgrammingError at the innermost call that cannot be written, and NotSupportedError for what sqlglot would
    leave out.
    """

    def written(tree: exp.Expr) -> str:
        # What writes a tree changes it.
        tree = copied(tree) if keep else tree
        return tree.sql(DIALECT, copy=False, comments=comments, unsupported_level=ErrorLevel.RAISE)

    return _asked(expression, written)


def schema_of(tables: dict[str, Iterable[tuple[str, str]]]) -> MappingSchema:
    """Return what sqlglot is told of tables: names and Spark types of their columns."""
    columns_of: dict[str, object] = {
        name.lower(): {column.lower(): _data_type(known_type(kind)) for column, kind in columns}
        for name, columns in tables.items()
    }
    with guarded():
        # Names are lower case already, and each is one name, whatever characters it has.
        return MappingSchema(columns_of, dialect=DIALECT, normalize=False)


def qualified(query: exp.Query, schema: MappingSchema, place: Place = None, aliases: bool = True) -> exp.Query:
    """Return a query with the table of every column, and without stars; the one given is changed.

    place:   where it stands.
    aliases: names of items of SELECT stand for what they name, in its other parts.
    Raises OptimizeError for names that mean nothing, ProgrammingError for what is not understood.
    """
    hidden = _hide_partners(query)
    with guarded(place):
        tree = qualify(
            query,
            schema=schema,
            dialect=DIALECT,
            validate_qualify_columns=False,
            expand_alias_refs=aliases,
            quote_identifiers=False,
            identify=False,
        )
    for identifier in tree.find_all(exp.Identifier):
        if identifier.name in hidden:
            identifier.set("this", hidden[identifier.name])
        # The columns of a star come without the quotes that they need.
        if not _PLAIN_NAME.fullmatch(identifier.name):
            identifier.set("quoted", True)
    return tree


def _hide_partners(query: exp.Query) -> dict[str, str]:
    """Give the right sides of SEMI and ANTI joins names that no column has, for sqlglot takes such a name, in ON, for
    the column, and what follows it for its field. Return what they are called in the query, by these names."""
    names: dict[str, str] = {}
    for join in query.find_all(exp.Join):
        alias = join.this.args.get("alias")
        if join.kind not in ("SEMI", "ANTI") or alias is None or not alias.name:
            continue
        name, hidden = alias.name, f"__partner_{len(names)}"
        names[hidden] = name
        on = join.args.get("on") or exp.true()
        # A subquery may have a relation of this name, too.
        others = {item.alias_or_name.lower() for item in on.find_all(exp.Table, exp.Subquery)}
        for column in on.find_all(exp.Column) if name.lower() not in others else ():
            if column.table.lower() == name.lower():
                column.args["table"].set("this", hidden)
        alias.this.set("this", hidden)
    return names


def annotate(query: exp.Query, schema: MappingSchema) -> None:
    """Find the types of a query's expressions as far as sqlglot knows them.

    Raises ProgrammingError at the innermost call that is not understood.
    """
    _asked(query, lambda tree: annotate_types(tree, schema))


def is_annotated(query: exp.Query, schema: MappingSchema) -> bool:
    """Find the types of a query's expressions, and tell whether all calls in it are understood."""
    try:
        annotate(query, schema)
    except (Error, SqlglotError):
        return False
    return True


def spoken_type(expression: exp.Expr) -> str:
    """Return the Spark type of an annotated expression, "unknown" where sqlglot cannot tell."""
    kind = expression.type
    if kind is None:
        return "unknown"
    sizes = _sizes(kind)
    return _known_name(sql_of(kind).lower()) if sizes is None else _sized_type(kind.this, sizes)


@lru_cache(maxsize=1024)
def declared_type(name: str) -> str:
    """Return a Spark type as `spoken_type` says it of a column that is declared with it."""
    column = exp.column("declared")
    column.type = _data_type(known_type(name))
    return spoken_type(column)


def _sizes(kind: exp.DataType) -> tuple[str, ...] | None:
    """Return the numbers in brackets behind the name of a type, None for a type that is more than these."""
    further = (value for name, value in kind.args.items() if name not in ("this", "expressions"))
    if not isinstance(kind.this, exp.DType) or any(further):
        return None
    parts = kind.expressions
    plain = all(isinstance(one, exp.DataTypeParam) and isinstance(one.this, exp.Literal) for one in parts)
    return tuple(one.name for one in parts) if plain and not any(one.expression for one in parts) else None


@cache
def _sized_type(kind: exp.DType, sizes: tuple[str, ...]) -> str:
    numbers = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in sizes]
    return _known_name(sql_of(exp.DataType(this=kind, expressions=numbers)).lower())


def _known_name(name: str) -> str:
    return "unknown" if name in ("null", "") else name


@cache
def known_type(name: str) -> str:
    """Return a Spark type as sqlglot understands it, "unknown" for one that it does not know."""
    if name.lower().startswith("void"):
        return "unknown"
    try:
        with guarded():
            exp.DataType.build(name, dialect=DIALECT)
    except (Error, SqlglotError):
        return "unknown"
    return name


@cache
def _data_type(name: str) -> exp.DataType:
    """Return a `known_type` as sqlglot has it in trees; it must not be changed."""
    kind = exp.DataType.from_str(name, dialect=DIALECT, udt=DIALECT.SUPPORTS_USER_DEFINED_TYPES)
    kind.transform(DIALECT.normalize_identifier, copy=False)
    return kind


def _asked(expression: exp.Expr, question: Callable[[exp.Expr], T]) -> T:
    try:
        with guarded(lambda: span_of(expression)):
            return question(expression)
    except UnsupportedError as error:
        raise NotSupportedError(str(error), span_of(expression)) from None
    except (Error, SqlglotError) as error:
        raise _innermost(expression, question) or error from None


def _innermost(expression: exp.Expr, question: Callable[[exp.Expr], object]) -> Error | None:
    """Return the error for the innermost call that cannot be asked the question, None if there is none."""
    for node in reversed(list(expression.find_all(exp.Func))):
        try:
            with guarded():
                question(node.copy())
        except (Error, SqlglotError):
            return not_understood(span_of(node, span_of(expression)))
    return None


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """Return the conditions that must all hold for one to hold; none for None."""
    if condition is None:
        return []
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return [part for side in (condition.left, condition.right) for part in conjuncts(side)]
    return [condition]


def with_shared_equalities(condition: exp.Expr) -> list[exp.Expr]:
    """Return conditions that must all hold for one to hold: equalities of columns that each side of an OR asks stand
    beside it.

    >>> asked = DIALECT.parse("SELECT a.x = b.y AND a.v OR a.x = b.y AND b.w")[0].selects[0]
    >>> [sql_of(part) for part in with_shared_equalities(asked)]
    ['a.x = b.y', 'a.v OR b.w']
    """
    plain = condition.unnest()
    if not isinstance(plain, exp.Or):
        return [condition]
    shared, rest = split_or([conjuncts(side) for side in plain.flatten()], _equates_columns)
    return [*shared, *rest] if shared else [condition]


def split_or(
    sides: Sequence[Sequence[exp.Expr]], can_share: Callable[[exp.Expr], bool] = lambda _: True
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the conditions that all sides of an OR ask, and an OR of what else each asks; no OR if one asks nothing.

    sides:     the conditions that must all hold for each side to hold.
    can_share: whether a condition may stand beside the OR.
    """
    shared = [part for part in sides[0] if can_share(part) and all(part in side for side in sides)]
    others = [[copied(part) for part in side if part not in shared] for side in sides]
    # A side that asks no more than what is shared makes the others idle.
    return shared, [exp.or_(*(exp.and_(*parts) for parts in others))] if all(others) else []


def _equates_columns(condition: exp.Expr) -> bool:
    return isinstance(condition, exp.EQ) and all(isinstance(side, exp.Column) for side in condition.iter_expressions())


def relation(name: str) -> exp.Table:
    """Return what stands in FROM for a relation; sqlglot's `to_table` would parse the name."""
    return exp.Table(this=exp.to_identifier(name))


def without_tables(expression: exp.Expr) -> exp.Expr:
    """Return an expression whose columns have no table before their names."""
    copy = copied(expression)
    for column in copy.find_all(exp.Column):
        column.set("table", None)
    return copy
