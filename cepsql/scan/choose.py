"""Whether the rows of an operator can be read with Arrow, and how; or why Spark has to read them."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlparse

from sqlglot import exp

from cepsql.catalog import Relation, Source
from cepsql.kafka.reader import PYTHON, reader_of
from cepsql.language.tokens import DIALECT
from cepsql.ordered.row_layout import RowLayout
from cepsql.scalar.calendar import DAY
from cepsql.scalar.tree import Apply, Constant, Input, Node, Session
from cepsql.scalar.types import BIGINT, BOOLEAN, DATE, INT, INTEGERS, TIMESTAMP, Type, is_decimal, parse_type
from cepsql.scan.expression import Unlike, cast, columns_read, compile_expression, compile_tree
from cepsql.scan.layout import LISTING_OPTIONS, ArrowScan, FileLayout, is_read, readable_type
from cepsql.scan.murmur import HASHED

_FORMATS = ("csv", "json", "parquet")
_KAFKA = "kafka"


@dataclass(frozen=True)
class Choice:
    """An Arrow scan of a source, or the reason why there is none."""

    scan: ArrowScan | None
    source: Source | None = None
    reason: str = ""


def choose_scan(layout: RowLayout, query: exp.Query, relations: dict[str, Relation], session: Session) -> Choice:
    """Say how the rows of an operator over a stream are read.

    layout:    of its rows.
    query:     its input.
    relations: what it reads, by lower-case name as written.
    session:   the rules and the time zone of the session that will run it.
    """
    try:
        source = _source(query, relations)
        return Choice(_scan(layout, query, source, session), source)
    except Unlike as unlike:
        return Choice(None, reason=str(unlike))


def value_type(sql: str, query: exp.Query, relations: dict[str, Relation], session: Session) -> Type:
    """Return the type that Spark gives an expression over the rows of a query.

    Raises Unlike if Arrow does not compute it.
    """
    _, columns = _projected(query, _source_columns(_source(query, relations), session), session)
    return compile_expression(sql, columns, session).type


def _scan(layout: RowLayout, query: exp.Query, source: Source, session: Session) -> ArrowScan:
    separator, header = _options(source)
    read = [(c.name, parse_type(c.type), c.metadata) for c in source.columns if c.expression is None]
    where, columns = _projected(query, _source_columns(source, session), session)
    values = [(column.name, _key(column.sql, columns, session)) for column in layout.keys]
    if layout.time is not None:
        values.append((layout.time.name, _time(compile_expression(layout.time.sql, columns, session), session)))
    values += [(column.name, _value(column.sql, columns, session)) for column in (*layout.order, *layout.values)]
    predicates = tuple(_predicate(sql, columns, session) for sql in layout.predicates)
    nodes = [*(node for _, node in values), *predicates, *([] if where is None else [where])]
    wanted = frozenset().union(*map(columns_read, nodes))
    file = FileLayout(
        format=_value_format(source),
        columns=tuple((name, type) for name, type, metadata in read if metadata is None),
        wanted=wanted,
        separator=separator,
        header=header,
        metadata=tuple((name, type, metadata.lower()) for name, type, metadata in read if metadata is not None),
    )
    return ArrowScan(file, session, where, tuple(values), predicates, layout.reduction)


def _source(query: exp.Query, relations: dict[str, Relation]) -> Source:
    """Return the one source that a query reads which only filters rows and computes columns, in any number of steps."""
    if not isinstance(query, exp.Select):
        raise Unlike("the input is no plain SELECT")
    others = set(_given(query)) - {"expressions", "from_", "where"}
    table = query.args["from_"].this if query.args.get("from_") else None
    if others or not isinstance(table, exp.Table | exp.Subquery) or set(_given(table)) - {"this", "alias", "db"}:
        raise Unlike("the input is more than columns of one stream and a WHERE")
    alias = table.args.get("alias")
    if alias is not None and alias.columns:
        raise Unlike("the input's columns are renamed by an alias")
    if isinstance(table, exp.Subquery):
        return _source(table.this, relations)
    name = ".".join(part.name for part in table.parts).lower()
    relation = relations.get(name)
    if not isinstance(relation, Source):
        raise Unlike("the input is no stream over files")
    mark = relation.watermark
    if mark is not None and (mark.ahead, mark.producer, mark.punctuation) != (None, None, None):
        raise Unlike("Spark computes what AHEAD AT MOST, BY and WITH PUNCTUATION say of rows")
    if relation.backfill is not None:
        raise Unlike("BACKFILL puts rows before those of the files")
    if relation.late_rows is not None:
        raise Unlike("LATE ROWS INTO keeps rows as Spark reads them")
    if relation.format.lower() == _KAFKA:
        _check_kafka(relation)
    elif relation.format.lower() not in _FORMATS:
        raise Unlike(f"the format {relation.format} is read by Spark only")
    elif relation.value is not None:
        raise Unlike(f"FORMAT {relation.value.name} in files is read by Spark only")
    return relation


def _check_kafka(source: Source) -> None:
    if source.value is None or source.value.name != "json":
        raise Unlike("of Kafka's records only those with FORMAT json are read by Arrow")
    if source.value.options:
        raise Unlike(f"the option {source.value.options[0][0]} is Spark's")
    if reader_of(source) != PYTHON:
        raise Unlike("Spark's connector reads Kafka")


def _value_format(source: Source) -> str:
    """Return the format of what holds a row: a file, or the value of a record."""
    return source.format.lower() if source.value is None else source.value.name


def _given(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value]


def _options(source: Source) -> tuple[str, bool]:
    """Return the separator of CSV and whether it has a header."""
    separator, header = ",", False
    if source.format.lower() == _KAFKA:
        return separator, header
    for name, value in source.options:
        option = name.lower()
        if option == "path":
            if urlparse(value).scheme not in ("", "file"):
                raise Unlike(f"{urlparse(value).scheme} files are read by Spark only")
        elif option in ("sep", "delimiter") and source.format.lower() == "csv":
            separator = "\t" if value == "\\t" else value
        elif option == "header" and source.format.lower() == "csv":
            header = value.lower() == "true"
        elif option not in LISTING_OPTIONS:
            raise Unlike(f"the option {name} is Spark's")
    if len(separator) != 1 or separator in '"\\\n\r\0 ' or not separator.isascii():
        raise Unlike(f"the separator {separator!r}")
    return separator, header


def _source_columns(source: Source, session: Session) -> dict[str, Node]:
    """Return what each declared column stands for; one whose type or expression is not known stands for a reason."""
    if source.value is None and sum(column.expression is None for column in source.columns) < 2:
        raise Unlike("a file of one column")
    computed = _Reasons({})
    for column in source.columns:
        if column.metadata is not None:
            computed.carry(column.name, column.type)
        elif column.expression is None:
            kind = readable_type(column.type)
            # Arrow's JSON reader can crash on a decimal with a great exponent.
            refused = _value_format(source) == "json" and kind is not None and is_decimal(kind)
            if kind is None or refused:
                raise Unlike(f"{column.name} of type {column.type.upper()}")
            computed[column.name.lower()] = Input(column.name, kind)
    for column in source.columns:
        if column.expression is not None:
            computed.compute(column.name, column.expression, column.type, session)
    return computed


class _Reasons(dict[str, Any]):
    """Columns by name; asking for one that could not be compiled raises the reason."""

    def __init__(self, known: dict[str, Node]):
        super().__init__(known)

    def carry(self, name: str, type: str) -> None:
        """Add a column that comes with a record; of some types it cannot be read."""
        kind = readable_type(type)
        self[name.lower()] = Unlike(f"{name} of type {type.upper()}") if kind is None else Input(name, kind)

    def compute(self, name: str, sql: str, type: str, session: Session) -> None:
        """Add a column that is computed from those before it."""
        try:
            self[name.lower()] = cast(compile_expression(sql, self, session), parse_type(type), session)
        except Unlike as unlike:
            self[name.lower()] = unlike

    def __getitem__(self, name: str) -> Node:
        found = super().__getitem__(name)
        if isinstance(found, Unlike):
            raise found
        return found


def _projected(query: exp.Query, columns: dict[str, Node], session: Session) -> tuple[Node | None, dict[str, Node]]:
    """Return what the rows of a query satisfy and what its columns stand for, given the columns of the source."""
    below, condition = query.args["from_"].this, None
    if isinstance(below, exp.Subquery):
        condition, columns = _projected(below.this, columns, session)
    where = query.args.get("where")
    for part in [*query.expressions, *([] if where is None else [where])]:
        for column in part.find_all(exp.Column):
            if column.table and column.table.lower() != below.alias_or_name.lower():
                raise Unlike(column.sql(dialect=DIALECT))
    if where is not None:
        more = _condition(compile_tree(where.this, columns, session))
        condition = more if condition is None else Apply("and", (condition, more), BOOLEAN)
    selected = _Reasons({})
    for item in query.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            if any(item.args.get(name) for name in ("except_", "replace", "rename")):
                raise Unlike("a star with exceptions")
            selected.update(columns)
            continue
        try:
            selected[item.alias_or_name.lower()] = compile_tree(item.unalias(), columns, session)
        except Unlike as unlike:
            selected[item.alias_or_name.lower()] = unlike
    return condition, selected


def _value(sql: str, columns: dict[str, Node], session: Session) -> Node:
    node = compile_expression(sql, columns, session)
    if not is_read(node.type):
        raise Unlike(f"{sql} of type {str(node.type).upper()}")
    return node


def _key(sql: str, columns: dict[str, Node], session: Session) -> Node:
    node = _value(sql, columns, session)
    if str(node.type) not in HASHED:
        raise Unlike(f"PARTITION BY a {str(node.type).upper()}")
    return node


def _time(node: Node, session: Session) -> Node:
    """Return an event time as a BIGINT: its microseconds, or the number that it is."""
    if node.type in INTEGERS:
        return cast(node, BIGINT, session)
    if node.type == TIMESTAMP:
        return Apply("unix_micros", (node,), BIGINT)
    if node.type == DATE:
        days = Apply("cast", (Apply("unix_date", (node,), INT),), BIGINT)
        return Apply("mul", (days, Constant(DAY, BIGINT)), BIGINT)
    raise Unlike(f"ORDER BY a {str(node.type).upper()}")


def _predicate(sql: str, columns: dict[str, Node], session: Session) -> Node:
    return _condition(compile_expression(sql, columns, session))


def _condition(node: Node) -> Node:
    if node.type != BOOLEAN:
        raise Unlike(f"a {str(node.type).upper()} as condition")
    return node
