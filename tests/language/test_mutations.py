"""Statements that are changed at random: whatever they say, planning them ends well or with an error of ours.

`CEPSQL_EXAMPLES=20000 pytest --nightly tests/language/test_mutations.py` tries more, and others, than the everyday run.
"""

import re
import traceback
from functools import cache
from types import SimpleNamespace

from catalog import engine
from chance import draws, examples
from mutations import Statement, mutation

from cepsql.catalog import Relation
from cepsql.engine import Engine, connect
from cepsql.errors import Error, InternalError


class NeedsSpark(Error):
    """The statement would start Spark, which is beyond this test."""


class NoSpark:
    """Stands where a session would."""

    class catalog:
        @staticmethod
        def tableExists(name: str) -> bool:
            return False

        @staticmethod
        def functionExists(name: str) -> bool:
            return True

        @staticmethod
        def getFunction(name: str) -> SimpleNamespace:
            return SimpleNamespace(className="org.apache.spark.sql.catalyst.expressions.Any")

    def __getattr__(self, name: str) -> None:
        raise NeedsSpark(f"no {name} here")


def test_mutations_end_in_errors_of_ours() -> None:
    failures: dict[str, str] = {}
    for number in range(examples(400)):
        statement = mutation(draws(f"mutation {number}"))
        try:
            prepared(statement).sql(statement.text)
        except InternalError as error:
            failures.setdefault(f"InternalError {error.message}", f"{number}: {statement.text}")
        except Error:
            pass
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} in {place.filename.split('/')[-1]}:{place.lineno}"
            failures.setdefault(kind, f"{number}: {statement.text}")
    said = "\n\n".join(f"{kind}, example {text}" for kind, text in failures.items())
    assert not failures, said


def prepared(statement: Statement) -> Engine:
    """Return an engine without Spark that knows what the statement may read."""
    fresh = connect(NoSpark())
    for relation in relations(statement.definitions):
        fresh.catalog.add(relation)
    return fresh


@cache
def relations(definitions: str) -> tuple[Relation, ...]:
    """Return the relations of the shared catalog, with those that definitions add."""
    connected = connect(NoSpark())
    for relation in engine().catalog:
        connected.catalog.add(relation)
    definitions = re.sub(r"\bCREATE (STREAM|TABLE|VIEW)\b", r"CREATE OR REPLACE \1", definitions)
    try:
        for _ in connected.execute(definitions):
            pass
    except Error:
        pass
    return tuple(connected.catalog)
