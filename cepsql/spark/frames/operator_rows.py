"""The columns that an operator reads from an input relation, and the types of matches."""

import re
from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    IntegralType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from cepsql.base.calendar import DAY
from cepsql.errors import NotSupportedError, ProgrammingError
from cepsql.language.tokens import quoted
from cepsql.ordered.row_layout import AT_ONCE, RowLayout
from cepsql.pattern.program import (
    Aggregate,
    ByVariable,
    Classifier,
    Complete,
    MatchId,
    MatchNumber,
    MatchProgram,
    Measure,
    Navigation,
    RowValue,
)
from cepsql.spark.frames.arrow_rows import refuse_months
from cepsql.spark.frames.typed_frame import typed_frame

_HOUR, _MINUTE = 3_600_000_000, 60_000_000

_IDENTIFIER = r"(?P<open>\(*)(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<name>(?!(?:null|true|false)\b)[a-z_]\w*))(?P<close>\)*)"
_COLUMN = re.compile(rf"{_IDENTIFIER}|CAST\((?P<cast>.+) AS (?P<kind>[^()]+(?:\([\d, ]+\))?)\)", re.IGNORECASE)
"""A column, or a CAST of a possible column."""


def typed_columns(frame: DataFrame, columns: Iterable[tuple[str, str]]) -> list[StructField]:
    """Return the types of SQL expressions over a frame, each with its name.

    The frame has the types of columns; one call asks Spark for all other types. Raises what Spark raises.
    """
    names, named = list(columns), dict[str, StructField | None]()
    for field in frame.schema.fields:
        name = field.name.lower()
        named[name] = None if name in named else field
    kinds = [_known_type(named, sql) for sql, _ in names]
    asked = [_aliased(sql, f"x{i}") for i, (sql, _) in enumerate(names) if kinds[i] is None]
    spark_fields = iter(frame.selectExpr(*asked).schema.fields if asked else ())
    fields = (next(spark_fields) if kind is None else kind for kind in kinds)
    return [StructField(name, field.dataType, field.nullable) for (_, name), field in zip(names, fields, strict=True)]


def _known_type(named: Mapping[str, StructField | None], sql: str) -> StructField | None:
    """Return the column of an expression that is a column, or a cast of a column to its own type; else None.

    named: the columns by lower-case name; None where several have the name.
    """
    said = _COLUMN.fullmatch(sql)
    if said is None:
        return None
    if said["cast"] is not None:
        column = _known_type(named, said["cast"])
        return column if column and column.dataType.simpleString().upper() == said["kind"].upper() else None
    if len(said["open"]) != len(said["close"]):
        return None
    return named.get((said["name"] or said["quoted"].replace("``", "`")).lower())


def layout_fields(frame: DataFrame, layout: RowLayout) -> list[StructField]:
    """Return the columns of `layout_columns` with their types."""
    fields = typed_columns(frame, ((column.sql, column.name) for column in layout.keys))
    if layout.time is not None:
        if layout.time != AT_ONCE:
            event_time(frame, layout.time.sql)
        fields.append(StructField("t", LongType()))
    further = [(column.sql, column.name) for column in (*layout.order, *layout.values)]
    return fields + typed_columns(frame, further + ([(_mask(layout.predicates), "m")] if layout.predicates else []))


def layout_rows(frame: DataFrame, layout: RowLayout) -> DataFrame:
    """Return a frame without rows that has the columns of `layout_fields`."""
    return typed_frame(frame.sparkSession, layout_fields(frame, layout))


def layout_columns(frame: DataFrame, layout: RowLayout) -> list[str]:
    """Return the Spark SQL of the columns k*, t, o*, v*, m of a layout over `frame`."""
    selected = [_aliased(column.sql, column.name) for column in layout.keys]
    if layout.time is not None:
        selected.append(_aliased(event_time(frame, layout.time.sql), "t"))
    selected += [_aliased(column.sql, column.name) for column in (*layout.order, *layout.values)]
    if layout.predicates:
        selected.append(_aliased(_mask(layout.predicates), "m"))
    return selected


def event_time(frame: DataFrame, sql: str) -> str:
    """Return the SQL of a time expression as BIGINT microseconds since the epoch, independent of the session's zone.

    A TIMESTAMP_NTZ or DATE counts as UTC; an integer stays unchanged.
    Raises ProgrammingError for other types.
    """
    kind = typed_columns(frame, [(sql, "t")])[0].dataType
    if isinstance(kind, TimestampType):
        return f"unix_micros({sql})"
    if isinstance(kind, DateType):
        return f"unix_date({sql}) * {DAY}L"
    if isinstance(kind, TimestampNTZType):
        seconds = f"CAST(extract(SECOND FROM ({sql})) * 1000000 AS BIGINT)"
        days = f"unix_date(CAST(({sql}) AS DATE)) * {DAY}L"
        return f"{days} + hour({sql}) * {_HOUR}L + minute({sql}) * {_MINUTE}L + {seconds}"
    if isinstance(kind, IntegralType):
        return f"CAST(({sql}) AS BIGINT)"
    raise ProgrammingError(f"rows cannot be ordered in time by a {kind.simpleString().upper()}")


def column_type(frame: DataFrame, name: str) -> DataType:
    """Return the type of a column by its case-insensitive name."""
    return next(field.dataType for field in frame.schema.fields if field.name.lower() == name.lower())


def time_of(micros: str, kind: DataType) -> str:
    """Return the SQL of an event time of type TIMESTAMP, TIMESTAMP_NTZ or DATE from the stage's microseconds."""
    if isinstance(kind, DateType):
        return f"date_from_unix_date(CAST(floor(({micros}) / {DAY}) AS INT))"
    if isinstance(kind, TimestampType):
        return f"timestamp_micros({micros})"
    return f"TIMESTAMP_NTZ '1970-01-01 00:00:00' + ({micros}) * INTERVAL '0.000001' SECOND"


def match_schema(frame: DataFrame, program: MatchProgram) -> StructType:
    """Return the columns of the matches: k*, then the measures, with Spark's types.

    Raises NotSupportedError for keys that Spark can't group by, and for types that Python can't receive.
    """
    keys = typed_columns(frame, ((column.sql, column.name) for column in program.keys))
    for column, field in zip(program.keys, keys, strict=True):
        if kind := incomparable(field.dataType):
            raise NotSupportedError(
                f"PARTITION BY {column.sql} is not supported: nothing says when two {kind} values are equal",
                hint=f"partition by what is in it, or by its text: to_json({column.sql})",
            )
    values = frame.selectExpr(*(_aliased(column.sql, column.name) for column in (*program.values, *program.order)))
    for measure in program.all_measures:
        _refuse_collated_measure(values, measure)
    fields = [StructField(field.name, field.dataType) for field in keys]
    refuse_months(StructType([*keys, *values.schema.fields]))
    return StructType(fields + [StructField(m.name, _measure_type(values, m)) for m in program.all_measures])


def incomparable(kind: DataType) -> str | None:
    """Return the type, or the type nested in it, that Spark can't compare, or None."""
    match kind:
        case MapType() | VariantType():
            return kind.typeName().upper()
        case ArrayType():
            return incomparable(kind.elementType)
        case StructType():
            return next(filter(None, (incomparable(field.dataType) for field in kind.fields)), None)
    return None


def has_collation(kind: DataType) -> bool:
    """Tell whether a type is, or contains, text that Spark does not compare byte by byte, as operators do."""
    return "collate" in kind.simpleString().lower()


def refuse_collations(frame: DataFrame, layout: RowLayout) -> None:
    """Raise NotSupportedError for keys and tie-breaking columns with a collation."""
    columns = [column.sql for column in (*layout.keys, *layout.order)]
    for sql, field in zip(columns, typed_columns(frame, ((sql, "x") for sql in columns)), strict=True):
        if has_collation(field.dataType):
            named = re.sub(r"`([A-Za-z_]\w*)`", r"\1", sql)
            raise NotSupportedError(
                f"to keep rows apart, or in order, by {named}, whose text has a collation, is not supported",
                hint=f"take {named} COLLATE UTF8_BINARY, or lower({named}) COLLATE UTF8_BINARY, in a subquery before",
            )


def _refuse_collated_measure(values: DataFrame, measure: Measure) -> None:
    match measure.source:
        case Aggregate("min" | "max" as function, column=str() as column):
            what, instead = function.upper(), f"array_{function}(collect_list(...))"
        case Aggregate("count", column=str() as column, distinct=True):
            what, instead = "COUNT(DISTINCT ...)", "size(array_distinct(collect_list(...)))"
        case _:
            return
    if column != "t" and has_collation(values.schema[column].dataType):
        raise NotSupportedError(
            f"{what} of text with a collation is not supported in MEASURES", hint=f"say {instead}, which Spark computes"
        )


def _measure_type(values: DataFrame, measure: Measure) -> DataType:
    match measure.source:
        case Complete():
            return BooleanType()
        case MatchNumber() | Aggregate("count"):
            return LongType()
        case Classifier() | MatchId():
            return StringType()
        case Navigation(column=column) | RowValue(column):
            return LongType() if column == "t" else values.schema[column].dataType
        case Aggregate(function, column=ByVariable() | MatchNumber() as column):
            sql = "CAST(1 AS BIGINT)" if isinstance(column, MatchNumber) else column.column or "CAST(NULL AS STRING)"
            made = f"array({sql})" if function == "list" else f"{function}({sql})"
            return values.selectExpr(f"{made} AS x").schema["x"].dataType
        case Aggregate(function="list", column=str() as column):
            return ArrayType(LongType() if column == "t" else values.schema[column].dataType)
        case Aggregate(function=function, column=column):
            if column == "t":
                return LongType()
            return values.selectExpr(f"{function}({column}) AS x").schema["x"].dataType


def _mask(predicates: tuple[str, ...]) -> str:
    """Return the SQL of a BIGINT with bit i set where predicate i is true; NULL counts as false."""
    return " | ".join(f"CASE WHEN ({sql}) THEN {1 << i}L ELSE 0L END" for i, sql in enumerate(predicates))


def _aliased(sql: str, name: str) -> str:
    return f"({sql}) AS {quoted(name)}"
