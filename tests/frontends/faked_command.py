"""The command `cepsql` with an engine without Spark, to be run in a terminal of its own."""

import sys
from types import SimpleNamespace

from fake_engine import FakeEngine, FakeQuery, endless, message, numbers

import cepsql.engine
from cepsql.catalog import RegisteredQuery
from cepsql.cli import main
from cepsql.errors import ProgrammingError

engine = FakeEngine(
    {
        "one": FakeQuery([("n", "bigint")], [numbers(1)], streaming=False),
        "many": FakeQuery([("n", "bigint")], [numbers(*range(500))], streaming=False),
        "endless": endless(),
        "create": message("stream s created"),
        "wrong": ProgrammingError("no wrong"),
    }
)
# A query that runs in this process, and ends with it.
engine.catalog.add(RegisteredQuery("fraud", None, "SELECT 1"))
engine.home = SimpleNamespace(reconciler=SimpleNamespace(owned=["fraud"]), states=SimpleNamespace(all=dict))
cepsql.engine.connect = lambda **_: engine
sys.exit(main(sys.argv[1:]))
