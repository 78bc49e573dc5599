"""Rows in the order in which they came, as a table that has this order: a file."""

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from cepsql.engine import Engine
from cepsql.language.tokens import quoted


def define_table(engine: Engine, folder: Path, name: str, rows: DataFrame) -> None:
    """Write local rows, in their order, to a file in a new folder, and define a table of this name over it."""
    folder.mkdir(parents=True)
    pq.write_table(rows.toArrow(), folder / "rows.parquet")
    columns = ", ".join(f"{quoted(field.name)} {field.dataType.simpleString()}" for field in rows.schema.fields)
    engine.sql(f"CREATE OR REPLACE TABLE {name} ({columns}) USING parquet OPTIONS (path '{folder}')")
