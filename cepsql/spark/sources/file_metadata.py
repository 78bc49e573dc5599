"""METADATA columns of files: Spark's metadata of a row's file, and the row's position in it."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from cepsql.analysis.ddl.metadata_columns import FILE_NAME, FILE_PATH, POSITION, file_metadata, known_file_metadata
from cepsql.catalog import ColumnDefinition, Source
from cepsql.errors import NotSupportedError
from cepsql.spark.jvm.row_origins import row_numbers


def file_columns(source: Source) -> tuple[ColumnDefinition, ...]:
    """Return the METADATA columns of a source with the metadata of its files."""
    if source.value is not None or not known_file_metadata(source.format.lower()):
        return ()
    return tuple(column for column in source.columns if column.metadata is not None)


def without_file_metadata(source: Source) -> Source:
    """Return a source with only the columns in its files, and computed columns."""
    of_files = file_columns(source)
    return replace(source, columns=tuple(column for column in source.columns if column not in of_files))


def metadata_column(spark: SparkSession, source: Source, column: ColumnDefinition) -> Column:
    """Return a METADATA column over the files of a source.

    Raises NotSupportedError without access to Java, which counts the rows of a file.
    """
    assert column.metadata is not None
    kind = file_metadata(column.metadata)
    if kind != POSITION:
        expression: Column | None = F.expr(_file_sql(kind))
    elif source.format.lower() == "parquet":
        expression = F.expr("_metadata.row_index")
    else:
        expression = row_numbers(spark, "_metadata.file_block_start", "_metadata.file_path")
    if expression is None:
        raise NotSupportedError(f"METADATA FROM 'position' of {source.name} needs Spark's Java beside this process")
    return expression.alias(column.name)


def listed_metadata(source: Source) -> Mapping[str, str]:
    """Return the SQL of the METADATA columns over a list of files, by name, without the positions of rows."""
    kinds = {column.name: file_metadata(column.metadata or "") for column in file_columns(source)}
    return {name: _file_sql(kind) for name, kind in kinds.items() if kind != POSITION}


def position_column(source: Source) -> str | None:
    """Return the METADATA column with the positions of rows in files, or None."""
    return next((c.name for c in file_columns(source) if file_metadata(c.metadata or "") == POSITION), None)


def plain_name(url: str) -> str:
    """Return the SQL of a file's path, from Spark's URL of it."""
    return f"if(instr({url}, '%') > 0, coalesce(try_url_decode(replace({url}, '+', '%2B')), {url}), {url})"


def _file_sql(kind: str) -> str:
    field = f"_metadata.{kind}"
    return plain_name(field) if kind in (FILE_NAME, FILE_PATH) else field
