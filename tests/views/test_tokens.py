"""Who puts rows into a stream waits until views have taken them: by what the stores and checkpoints say."""

import json
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import cepsql
from cepsql.catalog.view_store import view_sink
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.sinks.view_table import ViewTable
from cepsql.sinks.writer import WriterIdentity
from cepsql.spark.run.sink import Position

FILE = "insert-00001796000000000-ab12cd34.json"
VIEWS = {
    "spent": "SELECT city, COUNT(*) AS n FROM orders GROUP BY city",
    "often": "SELECT city, n FROM spent WHERE n > 1",
    "rest": "SELECT city, COUNT(*) AS n FROM others GROUP BY city",
}


@pytest.fixture
def engine(tmp_path):
    (tmp_path / "in").mkdir()
    with cepsql.connect(catalog=str(tmp_path / "catalog.db")) as engine:
        for name in ("orders", "others"):
            columns = "(city STRING, at TIMESTAMP, WATERMARK FOR at AS at)"
            engine.sql(f"CREATE STREAM {name} {columns} USING json OPTIONS (path '{tmp_path}/in')")
        for name, query in VIEWS.items():
            engine.check(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        yield engine


def taken(engine, name: str, offsets: list, batch: int, files: tuple[str, ...] = ()) -> None:
    """Let a view be at a batch, and its query have found files with it in its first source."""
    view = engine.catalog.get(name)
    table = ViewTable(view_sink(view, engine.catalog.view_file), WriterIdentity(name, 1, name))
    table.position = lambda _: Position(None, tuple("-" if one is None else json.dumps(one) for one in offsets))
    columns = [("city", "string"), ("n", "bigint")]
    table.changes = True
    table.check([*columns, ("op", "string")])
    table.claim()
    none = pa.table({name: pa.array([], pa.string()) for name in ("city", "n", "op")})

    class Pieces(list):
        rows = 0

    table._write(Pieces([none]), columns, ["city"], batch)
    log = Path(engine.home.checkpoint(view.query)) / "spark" / "sources" / "0"
    log.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(files):
        entry = {"path": f"file:///in/{file}", "timestamp": 1, "batchId": number}
        (log / str(number)).write_text(f"v1\n{json.dumps(entry, separators=(',', ':'))}")


def test_views_are_waited_for(engine):
    token = f"orders@{FILE}"
    asked = f"WAIT FOR {{}} UNTIL '{token}' TIMEOUT INTERVAL {{}} SECONDS"
    taken(engine, "spent", [{"logOffset": 0}], 0, ("other.json", FILE))
    # Its query has found the file, but the rows are not yet in the view.
    with pytest.raises(OperationalError, match=r"view spent has not taken '\S+' within 0.2 seconds: its"):
        engine.sql(asked.format("spent", "0.2"))
    later = threading.Timer(0.3, lambda: taken(engine, "spent", [{"logOffset": 1}, None], 1))
    later.start()
    assert engine.sql(asked.format("spent", "60")).message == "view spent has taken it, up to batch 1"
    later.join()
    # One above has it when it has read that batch.
    read = {"reader": "r", "view": "spent", "checkpoint": "spent"}
    taken(engine, "often", [read | {"batch": 0}], 5)
    with pytest.raises(OperationalError, match="view often has not taken"):
        engine.sql(asked.format("often", "0.1"))
    taken(engine, "often", [read | {"batch": 1}], 6)
    assert engine.sql(asked.format("often", "60")).message == "view often has taken it, up to batch 6"
    assert engine.query(f"SELECT COUNT(*) AS n FROM often AFTER '{token}'").arrow().to_pylist() == [{"n": 0}]
    assert not engine.has_started


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        (
            f"WAIT FOR rest UNTIL 'orders@{FILE}'",
            ProgrammingError,
            "view rest does not read orders, the stream of the token",
        ),
        ("WAIT FOR spent UNTIL 'abc'", ProgrammingError, "'abc' is no token"),
        ("WAIT FOR orders UNTIL 'orders@x'", ProgrammingError, "orders is no materialized view"),
        ("WAIT FOR sent UNTIL 'orders@x'", ProgrammingError, "there is no stream, table or view sent"),
        ("SELECT * FROM rest AFTER 'orders@x'", ProgrammingError, "no view of the query reads orders"),
    ],
)
def test_what_cannot_be_waited_for(engine, text, error, said):
    taken(engine, "rest", [], 0)
    with pytest.raises(error) as caught:
        query = engine.sql(text)
        query.arrow()
    assert said in caught.value.message


def test_offsets_of_kafka(engine):
    from cepsql.standing.insert_tokens import _reaches

    wanted = {"0": "5", "1": "2"}
    for offsets in ({"next": {"t": {"0": 5, "1": 3}}, "start": {}}, {"t": {"0": 7, "1": 2}}):
        assert _reaches(offsets, "t", wanted)
    assert not _reaches({"next": {"t": {"0": 5}}}, "t", wanted)
    assert not _reaches({"logOffset": 5}, "t", wanted)
