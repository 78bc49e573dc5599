"""The columns of plain SQL over one relation, if their types are clear without asking Spark."""

from collections.abc import Sequence

from pyspark.sql.types import DataType, StringType, StructField
from sqlglot import exp

from cepsql.catalog import Source
from cepsql.readers.scan.layout import is_read, readable_type
from cepsql.readers.scan.projection import ROW_IDENTITY
from cepsql.readers.scan.row_expressions import Unlike
from cepsql.readers.scan.select import Columns, plain_table, projected
from cepsql.scalar.expressions import Apply, Constant, Input, Node, Session, nodes
from cepsql.scalar.types import INTEGERS, is_decimal
from cepsql.spark.frames.column_types import struct_of


def declared_columns(source: Source) -> list[StructField] | None:
    """Return the columns of a source, None if only Spark knows them, because it computes or checks their values."""
    if any(column.expression is not None or readable_type(column.type) is None for column in source.columns):
        return None
    return [StructField(column.name, _type_of(column.type)) for column in source.columns]


def passed_columns(query: exp.Query, inputs: Sequence[StructField], session: Session) -> list[StructField] | None:
    """Return the columns of a query that only filters rows and computes values of types that we know; else None.

    inputs: the columns of the relation that the query reads.
    Spark accepts every such query: the columns exist, and the rules for the expressions are known.
    """
    fields, columns = {field.name.lower(): field.dataType for field in inputs}, Columns()
    for field in inputs:
        type_name = field.dataType.simpleString()
        columns.carry(field.name, readable_type(type_name), type_name)
    try:
        plain_table(query)
        _, expressions = projected(query, columns, session)
        kinds = [
            _kind(*_origin(item, query), expressions[item.alias_or_name.lower()], fields) for item in query.selects
        ]
    except (Unlike, KeyError):
        return None
    names = [item.alias_or_name for item in query.selects]
    if len(fields) < len(inputs) or len(expressions) < len(names):
        # Only Spark can resolve two columns of one name.
        return None
    query_fields = [StructField(name, kind) for name, kind in zip(names, kinds, strict=True) if kind is not None]
    return query_fields if len(query_fields) == len(kinds) else None


def _origin(item: exp.Expr, query: exp.Query) -> tuple[exp.Expr, exp.Query]:
    """Return what a SELECT item passes on, and from which query: the innermost one that computes it."""
    value, below = item.unalias(), query.args["from_"].this
    if isinstance(value, exp.Column) and isinstance(below, exp.Subquery):
        for other in below.this.selects:
            if other.alias_or_name.lower() == value.name.lower():
                return _origin(other, below.this)
    return value, query


def _kind(item: exp.Expr, query: exp.Query, node: Node, fields: dict[str, DataType]) -> DataType | None:
    """Return the type of a SELECT item with this expression, None if only Spark knows it."""
    match node:
        case Input(str(name)):
            return fields[name.lower()]
        case Apply(operation) if operation == ROW_IDENTITY:
            return StringType()
    known = is_read(node.type) and not _goes_by_form(item, query, node)
    return _type_of(str(node.type)) if isinstance(item, exp.Cast) or known else None


def _goes_by_form(item: exp.Expr, query: exp.Query, node: Node) -> bool:
    """Tell whether a type goes by how constants are written, which their values don't tell: a whole number beside a
    DECIMAL counts its own digits as a literal, those of its type otherwise; NULL has the type of its use."""
    constants = [part for part in nodes(node) if isinstance(part, Constant)]
    if any(constant.value is None for constant in constants):
        return True
    if not is_decimal(node.type) or all(constant.type not in INTEGERS for constant in constants):
        return False
    written = [part for part in item.find_all(exp.Cast, exp.Neg) if not part.find(exp.Column)]
    plain = all(isinstance(part, exp.Neg) and isinstance(part.this, exp.Literal) for part in written)
    return isinstance(query.args["from_"].this, exp.Subquery) or not plain


def _type_of(text: str) -> DataType:
    return struct_of(f"x {text}")["x"].dataType
