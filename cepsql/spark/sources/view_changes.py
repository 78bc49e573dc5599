"""The changes of a materialized view, as a stream with the hidden columns of a table that changes."""

from pyspark.sql import DataFrame, SparkSession

from cepsql.analysis.sql.properties import CAME, DELETED
from cepsql.catalog.view_store import ViewSource
from cepsql.errors import NotSupportedError
from cepsql.language.tokens import quoted
from cepsql.spark.frames.key_columns import ARRIVAL
from cepsql.views.journal import GONE, PLACE
from cepsql.views.version_changes import REACHED as REACHED_BY_VIEW


def view_changes_frame(spark: SparkSession, view: ViewSource, owner: str, reached: str) -> DataFrame:
    """Return the changes of a view; of versions with a row of punctuation, of which `reached` tells how far they are.

    owner: tells who reads them.

    Raises NotSupportedError for a PySpark that is too old.
    """
    try:
        from cepsql.spark.sources.view_changes_source import ChangesReading, changes_frame
    except ImportError as missing:
        raise NotSupportedError("reading the changes of a view needs PySpark 4.2 or later") from missing
    columns = [(column.name, column.type) for column in view.columns]
    hidden = [] if view.events else [(PLACE, "BIGINT"), (GONE, "BOOLEAN")]
    hidden += [(REACHED_BY_VIEW, "BIGINT")] if view.versions else []
    ddl = ", ".join(f"{quoted(name)} {kind}" for name, kind in [*columns, *hidden])
    reading = ChangesReading(view, tuple(name for name, _ in [*columns, *hidden]), owner)
    frame = changes_frame(spark, reading, ddl)
    place = CAME if view.versions else ARRIVAL
    return frame.withColumnsRenamed({PLACE: place, GONE: DELETED, REACHED_BY_VIEW: reached})
