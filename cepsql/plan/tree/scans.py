"""Whether Arrow can read the files below an ordered operator."""

from collections.abc import Sequence

from sqlglot import exp

from cepsql.analysis.sql.plain_sql import sql_of
from cepsql.analysis.sql.resolve import catalog_tables, table_name
from cepsql.catalog import ColumnDefinition, Relation, Source
from cepsql.errors import answer
from cepsql.language.given_clauses import given_clauses
from cepsql.ordered.row_layout import RowLayout
from cepsql.plan.tree.nodes import AddedRows, Node, Ordered, Read, Sql, walk
from cepsql.plan.tree.worked_out_identities import with_identities
from cepsql.readers.scan import choose
from cepsql.readers.scan.choose import Choice
from cepsql.readers.scan.plain import PlainScan
from cepsql.readers.scan.projection import ROW_IDENTITY, ArrowScan
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.scalar.coercion import common_type
from cepsql.scalar.expressions import STANDARD_SESSION, Session
from cepsql.scalar.types import INTEGERS, UNKNOWN, Type, parse_type

_STATELESS = {"expressions", "from_", "joins", "where", "hint"}
"""The parts of a SELECT for which Spark remembers no row of a stream."""

NESTED = ("array", "map", "struct", "variant")
"""Types of values that hold others."""


def scanned(stages: Sequence[Ordered]) -> list[Ordered]:
    """Return the operators over streams for which somebody reads files: not all their rows are those of others."""
    return [
        stage
        for stage in stages
        if stage.properties.streaming and not all(below.properties.ordered for below in stage.inputs)
    ]


def stage_obstacle(stage: Ordered, session: Session = STANDARD_SESSION) -> str | None:
    """Return why Spark, not Arrow, would read the inputs of an operator, None if nothing is in the way.

    session: the rules of the session that would run it.
    """
    types = [tuple(column.type for column in below.properties.columns) for below in stage.inputs]
    if stage.united and len(types) > 1 and (len(set(types)) > 1 or "unknown" in types[0]):
        return "the streams of a UNION ALL have columns of different types"
    return next(
        (choice.reason for choice in choose_scans(stage, session) if choice is not None and not choice.scan), None
    )


def choose_scans(stage: Ordered, session: Session = STANDARD_SESSION) -> list[Choice[ArrowScan] | None]:
    """Say how the rows of each input of an operator over streams are read; None for the rows of another operator.

    session: the rules of the session that would run it.
    """
    if session not in stage.scan_choices:
        stage.scan_choices[session] = _choices(stage, session)
    return stage.scan_choices[session]


def _choices(stage: Ordered, session: Session) -> list[Choice[ArrowScan] | None]:
    layouts = answer(lambda: stage.layouts(session), Unlike)
    if isinstance(layouts, Unlike):
        reason = str(layouts)
        return [None if below.properties.ordered else Choice(None, reason=reason) for below in stage.inputs]
    return [
        None if below.properties.ordered else choose_scan(layout, below, session)
        for below, layout in zip(stage.inputs, layouts, strict=True)
    ]


def choose_plain_scan(
    root: Node, session: Session = STANDARD_SESSION, columns: Sequence[ColumnDefinition] = ()
) -> Choice[PlainScan] | None:
    """Say how the rows of a plan over streams are read in which no operator stands; None for another plan.

    Of a stream that is joined with tables at rest its columns are read; see `joined_stream`.
    session: the rules of the session that would run it.
    columns: those of the rows, as Spark tells them; their types are not compared without it.
    """
    joined = joined_stream(root)
    if joined is not None:
        return choose.choose_column_scan(*joined, session)
    nodes = list(walk(root))
    if not root.properties.streaming or not all(isinstance(node, Read | Sql) for node in nodes):
        return None
    query, relations = _read(root)
    untyped = [ColumnDefinition(column.name, "unknown") for column in root.properties.columns]
    return choose.choose_plain_scan(query, relations, columns or untyped, session)


def joined_stream(root: Node) -> tuple[Source, tuple[str, ...]] | None:
    """Return the stream that a plan joins with tables at rest, remembering no row, and the columns of it that may be
    read; None for another plan."""
    if not isinstance(root, Sql) or not isinstance(root.query, exp.Select):
        return None
    clauses = given_clauses(root.query)
    streams = {name: node for name, node in root.inputs.items() if node.properties.streaming}
    if "joins" not in clauses or not clauses <= _STATELESS or len(streams) != 1:
        return None
    ((name, stream),) = streams.items()
    named = [table for table in catalog_tables(root.query) if table_name(table) == name]
    joined = [root.query.args["from_"].this, *(join.this for join in root.query.args["joins"])]
    if not isinstance(stream, Read) or not isinstance(stream.relation, Source) or len(named) != 1:
        return None
    if all(table is not named[0] for table in joined) or named[0].alias_column_names:
        return None
    return stream.relation, _columns_read(root.query, [column.name for column in stream.relation.columns])


def _columns_read(query: exp.Select, columns: Sequence[str]) -> tuple[str, ...]:
    """Return those of the columns of a relation that a query with joins may read: by what it names, whatever of."""
    stars = (star for star in query.find_all(exp.Star) if star.parent_select is query)
    if any(stars) or any(join.args.get("method") for join in query.args["joins"]):
        return tuple(columns)
    names = {part.name.lower() for part in query.find_all(exp.Identifier)}
    return tuple(column for column in columns if column.lower() in names) or tuple(columns)


def choose_scan(layout: RowLayout, below: Node, session: Session = STANDARD_SESSION) -> Choice[ArrowScan]:
    """Say how the rows of an input of an operator over streams are read; `layout` is that of its rows."""
    asked = answer(lambda: _read(below), Unlike)
    return Choice(None, reason=str(asked)) if isinstance(asked, Unlike) else choose.choose_scan(layout, *asked, session)


def _read(below: Node) -> tuple[exp.Query, dict[str, Relation]]:
    """Return the query of an input and the relations that it reads; raises Unlike if it reads others."""
    match below:
        case Read(relation):
            return exp.select("*").from_("source"), {"source": relation}
        case Sql(query, inputs) if not any(isinstance(one, AddedRows) for one in inputs.values()):
            relations: dict[str, Relation] = {
                name: read.relation for name, read in inputs.items() if isinstance(read, Read)
            }
            return with_short_identities(query), relations
        case AddedRows() | Sql():
            raise Unlike("the rows of a table at rest are added")
    raise Unlike("the input is matches")


def with_short_identities(query: exp.Query) -> exp.Query:
    """Return a query that does not write rows that are added as texts in order to tell them from one another."""

    def short(item: exp.Alias) -> exp.Expr:
        columns = [column.copy() for column in item.this.find_all(exp.Column)]
        return exp.Anonymous(this=ROW_IDENTITY, expressions=columns)

    return with_identities(query, short)


def key_types(
    keys: Sequence[tuple[exp.Expr, exp.Expr]], inputs: Sequence[Node], sides: Sequence[int], session: Session
) -> list[str]:
    """Return the types in which the keys of a join are compared; raises Unlike for those of different kinds."""
    kinds = []
    for pair in keys:
        types = {value_type(below, pair[side], session) for below, side in zip(inputs, sides, strict=True)}
        compared = common_type(types, session) if types <= set(INTEGERS) or len(types) == 1 else None
        if compared is None:
            raise Unlike(f"a join compares {' with '.join(sorted(str(kind).upper() for kind in types))}")
        kinds.append(str(compared).upper())
    for side in set(sides):
        alike = {below.properties.columns for below, own in zip(inputs, sides, strict=True) if own == side}
        if len(alike) > 1:
            raise Unlike("the streams of a UNION ALL have columns of different types")
    return kinds


def value_type(below: Node, key: exp.Expr, session: Session) -> Type:
    """Return the type of an expression over the rows of an input; raises Unlike where only Spark knows it."""
    if not below.properties.ordered:
        return choose.value_type(sql_of(key), *_read(below), session)
    names = {column.name.lower(): column.type for column in below.properties.columns}
    kind = parse_type(names.get(key.name.lower(), "unknown")) if isinstance(key, exp.Column) else UNKNOWN
    if kind == UNKNOWN:
        raise Unlike("only Spark knows the types by which a join compares")
    return kind
