"""Streaming SQL and complex event processing for Apache Spark: MATCH_RECOGNIZE over unbounded streams.

    import cepsql
    engine = cepsql.connect()
    engine.sql("CREATE STREAM ...")
    engine.sql("SELECT ... FROM ticks MATCH_RECOGNIZE (...)").start(print)

Importing this starts nothing; Spark is loaded when a statement needs it.
"""

from typing import TYPE_CHECKING

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
    from cepsql.engine import Answer, Engine, connect
    from cepsql.explain.match_explanation import MatchExplanation
    from cepsql.query import Query
    from cepsql.spark.query import StandingQuery

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
    "Answer": "cepsql.engine",
    "Engine": "cepsql.engine",
    "MatchExplanation": "cepsql.explain.match_explanation",
    "Query": "cepsql.query",
    "connect": "cepsql.engine",
    "match_recognize": "cepsql.clause",
    "StandingQuery": "cepsql.spark.query",
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

    shell.register_magics(import_module("cepsql.notebook.magics").CepsqlMagics)


def __dir__() -> list[str]:
    return __all__
