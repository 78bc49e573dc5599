"""Where standing queries write: files, tables of databases, webhooks, functions, the screen, other sinks of Spark's.

`open_sink` gives what `spark.run.standing_query.start` takes; `promise` says what a sink holds to when something fails.
"""

from cepsql.sinks.formats import open_sink, promise
from cepsql.sinks.writer import Batch, WriterIdentity

__all__ = ["Batch", "WriterIdentity", "open_sink", "promise"]
