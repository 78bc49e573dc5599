"""What is asked of a deduplication: the first row of each key within a time, in the order of event time."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from cepsql.analysis.row_pattern.match_clause import check_stream_order, order_sql
from cepsql.analysis.row_pattern.scope import MatchScope
from cepsql.analysis.sql.constant_intervals import interval_micros
from cepsql.analysis.sql.epoch_times import time_hint
from cepsql.analysis.sql.positions import span_of
from cepsql.catalog import ColumnDefinition, Watermark
from cepsql.errors import NotSupportedError, ProgrammingError, Span
from cepsql.language.statements import DeduplicateClause
from cepsql.language.tokens import quoted
from cepsql.ordered.row_layout import Column, OrderColumn, RowLayout

_TIMES = ("timestamp", "timestamp_ntz", "timestampntz", "date")


@dataclass(frozen=True)
class FirstRows:
    """The first row of each key, and the first one `within` microseconds or more after it, and so on.

    name:    the placeholder table in the query around it.
    columns: of the rows, which come out as they are.
    keys:    names of columns; rows with equal ones are duplicates.
    time:    the column with the event time.
    order:   ORDER BY as Spark SQL.
    layout:  the columns that travel; the values v0, v1, ... are `columns`.
    within:  microseconds, None: for ever.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[str, ...]
    time: str
    order: tuple[str, ...]
    layout: RowLayout
    within: int | None


def plan_deduplicate(
    clause: DeduplicateClause,
    columns: tuple[ColumnDefinition, ...],
    streaming: bool,
    watermark: Watermark | None,
    others: Sequence[Watermark] = (),
) -> FirstRows:
    """Plan a clause over rows with these columns and, if they are a stream, this event time.

    others: further event times by which the rows could be followed.
    Raises ProgrammingError and NotSupportedError, with positions.
    """
    relation = clause.input.find(exp.From)
    assert relation is not None
    table = relation.this
    columns_by_name = {column.name.lower(): (column.name, column.type.lower()) for column in columns}
    scope = MatchScope(columns_by_name, (), {}, table.alias_or_name.lower() or None, clause.span)
    keys = tuple(_column(key, scope, "PARTITION BY", clause.span) for key in clause.partition_by)
    if streaming:
        check_stream_order(clause, scope, watermark, "DEDUPLICATE", others)
    first = clause.order_by[0]
    time = _column(first.this, scope, "ORDER BY", clause.span)
    if first.args.get("desc") or scope.type_of(first.this).split("(")[0] not in _TIMES:
        raise ProgrammingError(
            "DEDUPLICATE needs rows in ascending order of time",
            span_of(first, clause.span),
            time_hint(first.this.name, scope.type_of(first.this), "ORDER BY a TIMESTAMP or DATE column first"),
        )
    order = tuple(
        OrderColumn(f"o{i}", scope.row_sql(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))
        for i, item in enumerate(clause.order_by[1:])
    )
    within = None if clause.within is None else _within(clause)
    order_texts = tuple(order_sql(item, scope) for item in clause.order_by)
    return FirstRows(clause.name, columns, keys, time, order_texts, _layout(columns, keys, time, order), within)


def plan_distinct(name: str, columns: tuple[ColumnDefinition, ...], time: str) -> FirstRows:
    """Plan SELECT DISTINCT over rows of a stream with an event time: duplicates have the same, so none is kept."""
    keys = tuple(column.name for column in columns)
    return FirstRows(name, columns, keys, time, (quoted(time),), _layout(columns, keys, time, ()), 1)


def _layout(
    columns: tuple[ColumnDefinition, ...], keys: tuple[str, ...], time: str, order: tuple[OrderColumn, ...]
) -> RowLayout:
    return RowLayout(
        tuple(Column(f"k{i}", quoted(key)) for i, key in enumerate(keys)),
        Column("t", quoted(time)),
        order,
        tuple(Column(f"v{i}", quoted(column.name)) for i, column in enumerate(columns)),
        # Rows of one key and time are equal where all columns are keys.
        by_arrival=len(keys) < len(columns),
    )


def _column(expression: exp.Expr, scope: MatchScope, clause: str, place: Span) -> str:
    plain = scope.resolve(expression)[1] if isinstance(expression, exp.Column) else None
    if not isinstance(plain, exp.Column):
        hint = "compute the value in a subquery before"
        raise NotSupportedError(f"{clause} of DEDUPLICATE takes columns", span_of(expression, place), hint)
    return scope.columns[plain.name.lower()][0]


def _within(clause: DeduplicateClause) -> int:
    # The grammar demands it.
    assert clause.within is not None
    span = span_of(clause.within, clause.span)
    micros = interval_micros(clause.within, span)
    if micros <= 0:
        raise ProgrammingError("WITHIN must be longer than zero", span)
    return micros
