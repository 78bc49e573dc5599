"""Choose how Arrow reads the rows of an operator, or say why Spark has to read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlparse

from sqlglot import exp

from cepsql.catalog import ColumnDefinition, Relation, Source
from cepsql.ordered.row_layout import RowLayout
from cepsql.readers.kafka.kafka_reader import PYTHON, reader_of
from cepsql.readers.scan.layout import LISTING_OPTIONS, FileLayout, is_read, readable_type
from cepsql.readers.scan.long_lines import OPTION as LONGEST
from cepsql.readers.scan.long_lines import max_line_bytes
from cepsql.readers.scan.murmur import is_hashed
from cepsql.readers.scan.plain import COLUMN, PlainScan
from cepsql.readers.scan.projection import ArrowScan, Projection, inputs_of
from cepsql.readers.scan.row_expressions import Unlike, compile_expression
from cepsql.readers.scan.select import Columns, micros, plain_table, projected, projection
from cepsql.scalar.expressions import Input, Node, Session
from cepsql.scalar.types import TIMESTAMP, UNKNOWN, Type, is_decimal, parse_type

_FORMATS = ("csv", "json", "parquet")
_KAFKA = "kafka"


ScanT = TypeVar("ScanT", ArrowScan, PlainScan)


@dataclass(frozen=True)
class Choice(Generic[ScanT]):
    """An Arrow scan of a source, or the reason against it; a scan of plain rows if no operator reads them."""

    scan: ScanT | None
    source: Source | None = None
    reason: str = ""


def choose_scan(
    layout: RowLayout, query: exp.Query, relations: dict[str, Relation], session: Session
) -> Choice[ArrowScan]:
    """Choose how the rows of an operator over a stream are read.

    layout:    of its rows.
    query:     its input.
    relations: those of the query, by lower-case name as written.
    session:   the rules and the time zone of the session that will run the query.
    """
    try:
        source = _source(query, relations)
        return Choice(_scan(layout, query, source, session), source)
    except Unlike as unlike:
        return Choice(None, reason=str(unlike))


def choose_plain_scan(
    query: exp.Query, relations: dict[str, Relation], columns: Sequence[ColumnDefinition], session: Session
) -> Choice[PlainScan]:
    """Choose how the rows of a query over one stream are read, if no operator is above it.

    columns:   those of its rows, with Spark's types.
    query, relations, session: as for `choose_scan`.
    """
    try:
        source = _source(query, relations)
        if source.key:
            raise Unlike("by its PRIMARY KEY a row may take the place of another")
        source_columns = _source_columns(source, session)
        where, made = projected(query, source_columns, session)
        if list(made) != [column.name.lower() for column in columns]:
            raise Unlike("columns of one name")
        for column, node in zip(columns, (made[name] for name in made), strict=True):
            if not is_read(node.type) or parse_type(column.type) not in (node.type, UNKNOWN):
                raise Unlike(f"{column.name} of type {column.type.upper()}")
        values = tuple((f"{COLUMN}{i}", made[name]) for i, name in enumerate(made))
        rows, time = Projection(session, where, values, ()), _event_time(source, source_columns)
        wanted = rows.inputs if time is None else rows.inputs | inputs_of(time)
        return Choice(PlainScan(_file_layout(source, wanted), rows, time), source)
    except Unlike as unlike:
        return Choice(None, reason=str(unlike))


def choose_column_scan(source: Source, names: Sequence[str], session: Session) -> Choice[PlainScan]:
    """Choose how columns of a stream are read, from which Spark computes the rows of a query.

    session: as for `choose_scan`.
    """
    query = exp.select(*(exp.column(exp.to_identifier(name, quoted=True)) for name in names)).from_("source")
    types = {column.name: column.type for column in source.columns}
    columns = [ColumnDefinition(name, types[name]) for name in names]
    return choose_plain_scan(query, {"source": source}, columns, session)


def _event_time(source: Source, columns: Columns) -> Node | None:
    """Return the event time of a stream that Spark can use, or None."""
    time = None if source.watermark is None else columns[source.watermark.column.lower()]
    return time if time is not None and time.type == TIMESTAMP else None


def value_type(sql: str, query: exp.Query, relations: dict[str, Relation], session: Session) -> Type:
    """Return the type that Spark gives an expression over the rows of a query.

    Raises Unlike if Arrow does not compute it.
    """
    _, columns = projected(query, _source_columns(_source(query, relations), session), session)
    return compile_expression(sql, columns, session).type


def _scan(layout: RowLayout, query: exp.Query, source: Source, session: Session) -> ArrowScan:
    columns = _source_columns(source, session)
    rows = projection(layout, *projected(query, columns, session), session)
    for key in rows.keys.values():
        if not is_hashed(key.type):
            raise Unlike(f"PARTITION BY a {str(key.type).upper()}")
    return ArrowScan(_file_layout(source, rows.inputs), rows, layout.by_arrival, _micros(source, columns, session))


def _micros(source: Source, columns: Columns, session: Session) -> Node | None:
    """Return the event time of a stream in microseconds, None if Spark can't use it."""
    try:
        time = _event_time(source, columns)
    except Unlike:
        return None
    return None if time is None else micros(time, session)


def _file_layout(source: Source, wanted: frozenset[Input]) -> FileLayout:
    """Return how the files or records of a source are read for the wanted columns."""
    separator, header = _options(source)
    read = [(c.name, parse_type(c.type), c.metadata) for c in source.columns if c.expression is None]
    return FileLayout(
        format=_value_format(source),
        columns=tuple((name, type) for name, type, metadata in read if metadata is None),
        wanted=frozenset(column.leaf for column in wanted),
        separator=separator,
        header=header,
        longest=max_line_bytes(source.options),
        metadata=tuple((name, type, metadata.lower()) for name, type, metadata in read if metadata is not None),
    )


def _source(query: exp.Query, relations: dict[str, Relation]) -> Source:
    """Return the only source of a query that only filters rows and computes columns."""
    name = ".".join(part.name for part in plain_table(query).parts).lower()
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
    elif any(column.metadata is not None for column in relation.columns):
        raise Unlike("METADATA of files is read by Spark only")
    return relation


def _check_kafka(source: Source) -> None:
    if source.value is None or source.value.name != "json":
        raise Unlike("of Kafka's records only those with FORMAT json are read by Arrow")
    if source.value.options:
        raise Unlike(f"the option {source.value.options[0][0]} is Spark's")
    if reader_of(source) != PYTHON:
        raise Unlike("Spark's connector reads Kafka")


def _value_format(source: Source) -> str:
    """Return the format of a file, or of the value of a record."""
    return source.format.lower() if source.value is None else source.value.name


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
            if value.lower() not in ("true", "false"):
                raise Unlike(f"the header {value!r}")
            header = value.lower() == "true"
        elif option not in LISTING_OPTIONS and option != LONGEST.lower():
            raise Unlike(f"the option {name} is Spark's")
    if len(separator) != 1 or separator in '"\\\n\r\0 ' or not separator.isascii():
        raise Unlike(f"the separator {separator!r}")
    return separator, header


def _source_columns(source: Source, session: Session) -> Columns:
    """Return the expression of each declared column, or the reason why Arrow can't compute it."""
    if source.value is None and sum(column.expression is None for column in source.columns) < 2:
        raise Unlike("a file of one column")
    columns = Columns()
    for column in source.columns:
        if column.expression is not None:
            continue
        kind = readable_type(column.type)
        if column.metadata is None:
            # Arrow's JSON reader can crash on a decimal with a large exponent.
            refused = _value_format(source) == "json" and kind is not None and is_decimal(kind)
            if kind is None or refused:
                raise Unlike(f"{column.name} of type {column.type.upper()}")
        columns.carry(column.name, kind, column.type)
    for column in source.columns:
        if column.expression is not None:
            columns.compute(column.name, column.expression, column.type, session)
    return columns
