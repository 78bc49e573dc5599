"""The table that a stream with a PRIMARY KEY makes, as changes in Spark."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from cepsql.analysis.ddl.record_formats import code_column
from cepsql.analysis.sql.properties import CHANGE, DELETED, IDENTITY
from cepsql.catalog import Source
from cepsql.catalog.view_store import ViewSource
from cepsql.language.tokens import quoted
from cepsql.operators.changing.upserts import GONE, UpsertsOperator
from cepsql.operators.windowing.windows import REPEATED
from cepsql.ordered.row_layout import AT_ONCE, Column, OrderColumn, RowLayout
from cepsql.plan.operators.upserts import Upserts
from cepsql.spark.frames.key_columns import ARRIVAL, FORMER
from cepsql.spark.frames.operator_rows import column_type, incomparable, layout_rows
from cepsql.spark.sources.source import MALFORMED, REACHED
from cepsql.spark.staging.bounds import BOUND
from cepsql.spark.staging.change_stage import change_stage
from cepsql.spark.staging.spark_stage import PLACE, Feed
from cepsql.spark.staging.staged import Staged


def upserts_stage(node: Upserts, feed: Feed) -> Staged:
    """Return what gives the changes of the table that a stream with a PRIMARY KEY makes."""
    source, frame = node.stream, feed.frame
    said = [DELETED] if DELETED in frame.columns else []
    said += [f"coalesce(({source.deletion}), false)"] if source.deletion is not None else []
    gone = " OR ".join(said) or "false"
    key_names = {name.lower() for name in source.key}
    columns = [column.name for column in node.properties.columns if column.name not in (IDENTITY, CHANGE, BOUND)]
    plain = [name for name in columns if name.lower() not in key_names]
    time = Column("t", quoted(source.watermark.column)) if source.watermark is not None else AT_ONCE
    layout = RowLayout(
        tuple(Column(f"k{i}", quoted(name)) for i, name in enumerate(source.key)),
        time,
        _order(frame, gone, [column.name for column in source.columns]),
        (*(Column(f"v{i}", quoted(name)) for i, name in enumerate(plain)), Column(GONE, gone)),
    )
    operator = UpsertsOperator(layout, source.watermark is not None)
    rows = layout_rows(frame, layout)
    fields = [field for field in rows.schema.fields if field.name[0] in "kv"]
    places = {name.lower(): f"k{i}" for i, name in enumerate(source.key)}
    places |= {name.lower(): f"v{i}" for i, name in enumerate(plain)}
    named = [f"{places[name.lower()]} AS {quoted(name)}" for name in columns]
    return change_stage(node, operator, [feed], fields, named)


def _order(frame: DataFrame, gone: str, columns: Sequence[str]) -> tuple[OrderColumn, ...]:
    """Return what orders the rows of a key and a time: how they came, or, where nobody knows that, what they say."""
    if ARRIVAL in frame.columns:
        return (OrderColumn("o0", ARRIVAL), OrderColumn(PLACE, "CAST(0 AS BIGINT)"))
    plain = [name for name in columns if not incomparable(column_type(frame, name))]
    said = [(gone, True), *((quoted(name), False) for name in plain)]
    return tuple(OrderColumn(f"o{i}", sql, descending) for i, (sql, descending) in enumerate(said))


def changelog_rows(node: Upserts, frame: DataFrame) -> DataFrame:
    """Return the rows of the stream that an operator reads, given as its source has them."""
    if isinstance(node.stream, ViewSource):
        # In a view NULL is a key like others.
        return frame
    return with_moves(node.stream, with_keys_known(node, frame))


def with_keys_known(node: Upserts, frame: DataFrame) -> DataFrame:
    """Return the rows of a changelog in which those without a key are malformed, too; punctuation needs none."""
    missing = " OR ".join(f"{quoted(name)} IS NULL" for name in node.stream.key)
    if REACHED in frame.columns:
        missing = f"({missing}) AND {REACHED} IS NULL"
    already = f"{MALFORMED} OR " if MALFORMED in frame.columns else ""
    others = [quoted(name) for name in frame.columns if name != MALFORMED]
    return frame.selectExpr(*others, f"({already}{missing}) AS {MALFORMED}")


def with_moves(source: Source, frame: DataFrame) -> DataFrame:
    """Return the rows of a changelog, and before each that gives a row another key one that deletes the former.

    That one is REPEATED, and has what the change says in all other columns but that of the kind of change.
    """
    if FORMER not in frame.columns:
        return frame
    former = {name.lower(): f"{FORMER}.{quoted(name)}" for name in source.key}
    former |= {DELETED: "true"}
    if (code := code_column(source.columns)) is not None:
        former[code.lower()] = "'d'"
    columns = [
        f"if({REPEATED}, {former[name.lower()]}, {quoted(name)}) AS {quoted(name)}"
        if name.lower() in former
        else quoted(name)
        for name in frame.columns
        if name != FORMER
    ]
    both = f"explode(if({FORMER} IS NULL, array(false), array(true, false))) AS {REPEATED}"
    return frame.selectExpr("*", both).selectExpr(*columns, REPEATED)
