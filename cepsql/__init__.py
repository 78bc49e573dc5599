"""Streaming SQL for Apache Spark with MATCH_RECOGNIZE: patterns in the rows of a stream.

    import cepsql
    engine = cepsql.connect()
    engine.sql("CREATE STREAM ticks (...) USING json OPTIONS (path 'in/')")
    engine.sql("SELECT ... FROM ticks MATCH_RECOGNIZE (...)").start(print)

What you call:

    connect()                 an Engine: a catalog and a Spark session
    engine.sql(text)          executes statements; returns a Query, which is lazy, or an Answer
    engine.register(name, df) gives a DataFrame a name that statements can use
    engine.queries["name"]    a query that CREATE QUERY made: start(), stop(), status, progress, history
    query.show()              prints the first rows; head() returns them
    query.collect()           all rows of a bounded query; also arrow(), to_pandas(), to_polars(), pieces()
    query.start(on_rows)      runs a query over a stream: a StandingQuery
    query.explain_match(key)  why a key has the matches that it has: a MatchExplanation
    query.plot(x, y)          draws matches on their series
    query.df                  the DataFrame, for any PySpark code
    standing.progress         what it has done; stop() ends it, rows() yields what it finds
    match_recognize(df, ...)  the clause alone, over a DataFrame
    cepsql.testing.play(...)  fixed micro-batches through a query, for tests
    cepsql.catalog.Sink(...)  where a query writes its rows, for start(sink=...)

All errors are an Error, with message, position, hint, and anchor: the place in docs/errors.md. Importing cepsql
starts nothing. Modules that are not named here are internal and may change.
"""

import sys
from typing import TYPE_CHECKING

from cepsql.base.shown_package import ShownPackage
from cepsql.errors import (
    DatabaseError,
    DataError,
    Error,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)

if TYPE_CHECKING:
    from cepsql.clause import match_recognize
    from cepsql.engine import Engine, connect
    from cepsql.explain.match_explanation import MatchExplanation
    from cepsql.query import Query
    from cepsql.render.answer import Answer
    from cepsql.spark.run.standing_query import StandingQuery

__version__: str
"""The version of the installed package."""

__all__ = [
    "Answer",
    "DataError",
    "DatabaseError",
    "Engine",
    "Error",
    "InterfaceError",
    "InternalError",
    "MatchExplanation",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Query",
    "StandingQuery",
    "__version__",
    "connect",
    "match_recognize",
]

_HOMES = {
    "Answer": "cepsql.render.answer",
    "Engine": "cepsql.engine",
    "MatchExplanation": "cepsql.explain.match_explanation",
    "Query": "cepsql.query",
    "connect": "cepsql.engine",
    "match_recognize": "cepsql.clause",
    "StandingQuery": "cepsql.spark.run.standing_query",
}


def __getattr__(name: str):
    if name == "__version__":
        from importlib.metadata import version

        return version("cepsql")
    if name not in _HOMES:
        raise AttributeError(f"module cepsql has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def load_ipython_extension(shell) -> None:
    """Give a notebook the magics `%cepsql` and `%%cepsql`; IPython calls it for `%load_ext cepsql`."""
    from importlib import import_module

    shell.register_magics(import_module("cepsql.frontends.notebook.magics").CepsqlMagics)


def __dir__() -> list[str]:
    return __all__


sys.modules[__name__].__class__ = ShownPackage
