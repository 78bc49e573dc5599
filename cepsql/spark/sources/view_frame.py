"""The current rows of a materialized view, for Spark."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cepsql.catalog.view_store import ViewSource
from cepsql.language.tokens import quoted
from cepsql.spark.frames.user_frames import spark_frame
from cepsql.views.points import NOW, AsOf, read_as_of
from cepsql.views.snapshot import Wanted
from cepsql.views.version_changes import versions_kept


def view_frame(spark: SparkSession, view: ViewSource) -> DataFrame:
    """Return the current rows of a view, with the types of its definition.

    Raises OperationalError if its store does not answer, or it has never run.
    """
    return view_frames(spark, [view])[view.name]


def view_frames(spark: SparkSession, views: Sequence[ViewSource], as_of: AsOf = NOW) -> dict[str, DataFrame]:
    """Return the rows of views by name; the views of one store are read as of one moment.

    Raises OperationalError as `cepsql.views.points.read_as_of`.
    """
    now = [view for view in views if not view.versions]
    wanted = [Wanted(view, tuple(column.name for column in view.columns)) for view in now]
    tables = [rows.rows for rows in read_as_of(wanted, as_of)] if now else []
    tables += [versions_kept(view) for view in views if view.versions]
    read = [*now, *(view for view in views if view.versions)]
    return {view.name: _frame(spark, view, rows) for view, rows in zip(read, tables, strict=True)}


def _frame(spark: SparkSession, view: ViewSource, rows: pa.Table) -> DataFrame:
    ddl = ", ".join(f"{quoted(column.name)} {column.type}" for column in view.columns)
    if not rows.num_rows:
        return spark.createDataFrame([], ddl)
    return spark_frame(spark, view.name, rows).selectExpr(
        *(f"CAST({quoted(column.name)} AS {column.type}) AS {quoted(column.name)}" for column in view.columns)
    )
