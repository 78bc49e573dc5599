"""DataFrames that a program made: their conversion to Spark, origin and identity."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DataType

from cepsql.catalog import Registered, Watermark
from cepsql.errors import DataError, InterfaceError, ProgrammingError
from cepsql.language.tokens import quoted
from cepsql.scalar.decimals import MOST_DIGITS
from cepsql.spark.jvm.classic import frame_has_java, has_java
from cepsql.spark.jvm.messages.failures import translate_failure
from cepsql.spark.jvm.spark_plan import analyzed, children, column_ids, frame_of, items

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_DELAY = "spark.watermarkDelayMs"
_PASSING = re.compile(r"#\d+L?|@[0-9a-f]+|0x[0-9a-f]+|\bplan_id=\d+|__cepsql_\d+|\[id=#?\d+\]")
"""Parts of a plan's text that differ between sessions: numbers of columns, addresses."""


def frame_watermark(frame: DataFrame) -> Watermark | None:
    """Return the watermark of a streaming frame from withWatermark, which marks the column.

    If a union puts several streams into one column, the longest delay counts.
    Raises ProgrammingError if one of them has no watermark, because the lateness of its rows is then unknown.
    """
    for number, field in enumerate(frame.schema.fields if frame.isStreaming else ()):
        if _DELAY in field.metadata:
            delays = list(_delays(frame, number)) or [int(field.metadata[_DELAY])]
            if None in delays:
                raise ProgrammingError(
                    f"one of the streams in {field.name} has no watermark",
                    hint=f'say how late its rows may be: register(name, frame, watermark=("{field.name}", "1 minute"))',
                )
            return Watermark(field.name, max(delay for delay in delays if delay is not None) * 1000)
    return None


def spark_frame(spark: SparkSession, name: str, frame: object) -> DataFrame:
    """Return a DataFrame of Spark, pandas or Polars, or an Arrow table, as a Spark DataFrame.

    name: for error messages.
    Raises InterfaceError for anything else and for columns of a type that Spark lacks, DataError for values that can't
    be read.
    """
    import pandas as pd
    import pyarrow as pa

    if isinstance(frame, DataFrame):
        return _moved(spark, frame)
    try:
        table = frame.to_arrow() if hasattr(frame, "to_arrow") else frame
    except (pa.ArrowException, ValueError) as failure:
        hint = "cast its columns to types that Arrow has"
        raise DataError(f"{name} cannot be read: {' '.join(map(str, failure.args))}", hint=hint) from failure
    if isinstance(table, pd.DataFrame):
        table = _of_pandas(name, table)
    if not isinstance(table, pa.Table):
        kinds = "a DataFrame of Spark, pandas or Polars, or an Arrow table"
        raise InterfaceError(f"{name} is no DataFrame but {type(frame).__name__}", hint=f"give {kinds}")
    if not table.num_columns:
        raise InterfaceError(f"{name} has no columns")
    try:
        return spark.createDataFrame(_with_types_of_spark(name, table))
    except (PySparkException, pa.ArrowException, ValueError) as failure:
        raise DataError(f"{name} cannot be read: {translate_failure(failure).message}") from failure


def _of_pandas(name: str, frame: "pd.DataFrame") -> "pa.Table":
    """Return the columns of a pandas DataFrame as an Arrow table.

    Spark's own fallback, where Arrow fails, silently changes values: numbers beside texts, and large numbers.
    """
    import pyarrow as pa

    names, columns = [str(column) for column in frame.columns], []
    for number, column in enumerate(names):
        try:
            columns.append(pa.Array.from_pandas(frame.iloc[:, number]))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as failure:
            reason = " ".join(map(str, failure.args)) or type(failure).__name__
            hint = "give all values of a column one type, which Arrow has"
            raise DataError(f"column {column} of {name} cannot be read: {reason}", hint=hint) from failure
    return pa.Table.from_arrays(columns, names)


def _with_types_of_spark(name: str, table: "pa.Table") -> "pa.Table":
    """Return a table with Spark's types in place of types that only Arrow has, as when Spark reads Parquet files."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_type

    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20),
        pa.float16(): pa.float32(),
        pa.string_view(): pa.string(),
        pa.binary_view(): pa.binary(),
    }
    fields = [field.with_type(wider.get(field.type, field.type)) for field in table.schema]
    for field in fields:
        try:
            if pa.types.is_decimal(field.type) and field.type.precision > MOST_DIGITS:
                raise ValueError(f"{field.type} has more than {MOST_DIGITS} digits")
            from_arrow_type(field.type)
        except (PySparkException, ValueError) as failure:
            message = f"column {field.name} of {name} has the type {field.type}, which Spark does not have"
            raise InterfaceError(message, hint="cast it to another one") from failure
    return table.cast(pa.schema(fields))


def _moved(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """Return a frame of another session of the same Spark as a frame of this session."""
    if frame.sparkSession is spark or not frame_has_java(frame) or not has_java(spark):
        return frame
    return frame_of(spark, analyzed(frame))


def alike(frames: Sequence[DataFrame]) -> list[DataFrame]:
    """Return frames with the same columns by name, cast to the types of their UNION ALL; hidden columns stay.

    Raises ProgrammingError if a column has incompatible types.
    """
    plain = [frame.select(*(quoted(name) for name in frame.columns if not name.startswith("__"))) for frame in frames]
    try:
        types = {field.name: field.dataType for field in reduce(DataFrame.union, plain).schema.fields}
    except AnalysisException as failure:
        raise translate_failure(failure) from failure
    return [frame.select(*(_typed(frame, name, types.get(name)) for name in frame.columns)) for frame in frames]


def _typed(frame: DataFrame, name: str, kind: DataType | None) -> Column:
    column = frame[quoted(name)]
    return column if kind in (None, frame.schema[name].dataType) else column.cast(kind).alias(name)


def frame_identity(relation: Registered) -> str:
    """Return a hash of the plan of a relation's frame, the same in every session."""
    plan = analyzed(relation.frame).toString()
    return hashlib.sha256(_PASSING.sub("", plan).encode()).hexdigest()


def _delays(frame: DataFrame, number: int) -> Iterator[int | None]:
    """Yield the delay in milliseconds of each stream in a column, None for one without; nothing if unknown."""
    if (plan := analyzed(frame)) is not None:
        yield from _flowing(plan, plan.output().apply(number).exprId())


def _flowing(plan, column) -> Iterator[int | None]:
    """Yield the delays of the streams whose times flow into the column with an id in a Spark plan."""
    kind = plan.nodeName()
    if kind == "EventTimeWatermark" and plan.eventTime().toAttribute().exprId().equals(column):
        yield plan.output().apply(column_ids(plan.output()).index(column)).metadata().getLong(_DELAY)
        return
    if kind == "Union":
        number = column_ids(plan.output()).index(column)
        for child in children(plan):
            yield from list(_flowing(child, child.output().apply(number).exprId())) or [None]
        return
    if kind == "Project":
        column = _source_of(plan.projectList(), column)
    for child in children(plan):
        if column in column_ids(child.output()):
            yield from _flowing(child, column)


def _source_of(expressions, column):
    """Return the id of the input column that a projection renames to this column, the id itself if it is computed."""
    for expression in items(expressions):
        if expression.exprId().equals(column) and expression.nodeName() == "Alias":
            named = expression.child()
            return named.exprId() if named.nodeName() == "AttributeReference" else column
    return column
