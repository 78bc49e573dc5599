"""The PRIMARY KEY clause of a stream's definition."""

from sqlglot import exp

from cepsql.analysis.ddl.record_formats import operation_column
from cepsql.analysis.sql.plain_sql import annotate, qualified, schema_of, sql_of
from cepsql.analysis.sql.positions import span_of
from cepsql.errors import NotSupportedError, ProgrammingError, suggestion
from cepsql.language.statements import CreateSource
from cepsql.language.tokens import DIALECT

_ORDERED = ("csv", "json", "parquet", "orc", "xml", "avro", "text", "kafka")
"""Sources that tell in which order their rows were written."""
_ROW = "row_of_stream"


def defined_key(create: CreateSource) -> tuple[tuple[str, ...], str | None]:
    """Return the key columns that a definition gives, and the Spark SQL of its DELETE WHEN; nothing without a key.

    Raises ProgrammingError for a condition over unknown columns, or a stream whose rows have no order, and
    NotSupportedError for a condition that is none of a single row.
    """
    if create.key is None:
        return (), None
    if create.watermark is None and create.format not in _ORDERED:
        raise ProgrammingError(
            "a stream with a PRIMARY KEY needs an event time here, which says which row is the later one",
            create.key.span,
            "add WATERMARK FOR",
        )
    names = {column.name.lower(): column.name for column in create.columns}
    key = tuple(names[name.text.lower()] for name in create.key.names)
    deletion = create.key.deletion
    if deletion is None:
        operation = operation_column(create)
        return key, None if operation is None else sql_of(exp.column(operation, quoted=True).eq("d"))
    for column in deletion.find_all(exp.Column):
        if column.name.lower() not in names and column.table.lower() not in names:
            hint = suggestion(column.name, list(names.values()), "columns")
            raise ProgrammingError(f"the stream has no column {column.name}", span_of(column, create.key.span), hint)
    wrong = deletion.find(exp.AggFunc, exp.Window, exp.Query)
    if wrong is not None:
        raise NotSupportedError(
            "DELETE WHEN is a condition on a single row",
            span_of(wrong, create.key.span),
            "such as DELETE WHEN op = 'd'",
        )
    kind = _type_of(deletion, create)
    if kind is not None and kind.this not in (exp.DType.BOOLEAN, exp.DType.NULL):
        raise ProgrammingError(
            f"the condition of DELETE WHEN is of type {kind.sql(DIALECT)}, not BOOLEAN",
            span_of(deletion, create.key.span),
            "it is true for a row that deletes the row with its key, such as DELETE WHEN op = 'd'",
        )
    return key, sql_of(deletion)


def _type_of(condition: exp.Expr, create: CreateSource) -> exp.DataType | None:
    """Return the type of a condition on a row of the stream, None if only Spark knows it."""
    schema = schema_of({_ROW: [(column.name, column.type) for column in create.columns]})
    query = qualified(exp.select(condition.copy().as_("deleted")).from_(_ROW), schema, lambda: span_of(condition))
    annotate(query, schema)
    kind = query.selects[0].type
    return None if kind is None or kind.this in (exp.DType.UNKNOWN, exp.DType.USERDEFINED) else kind
