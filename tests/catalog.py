"""The catalog that the tests of analysis and of errors share."""

from functools import cache
from pathlib import Path

from cepsql.catalog import Relation
from cepsql.engine import Engine, connect


@cache
def _relations() -> tuple[Relation, ...]:
    engine = connect()
    list(engine.execute(Path(__file__).with_name("catalog.sql").read_text("utf-8")))
    return tuple(engine.catalog)


def engine() -> Engine:
    """Make an engine that knows the relations of catalog.sql; it starts no Spark."""
    fresh = connect()
    for relation in _relations():
        fresh.catalog.add(relation)
    return fresh
