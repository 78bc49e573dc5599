"""Views to which rows are only added, as of a time: what `retain` had not removed by then, or an error."""

import datetime

import pytest
import sqlalchemy as sa
from chance import draws, examples
from kept_views import WrittenView

import cepsql
from cepsql.catalog.view_store import view_source
from cepsql.errors import OperationalError
from cepsql.spark.run.sink import Position
from cepsql.views.snapshot import store_transaction

BEGIN = datetime.datetime(2026, 1, 5, 10, tzinfo=datetime.UTC)
RETAIN = 6
"""Minutes."""


def minute(number: int) -> datetime.datetime:
    return BEGIN + datetime.timedelta(minutes=number)


def micros(number: int) -> int:
    return int(minute(number).timestamp() * 1_000_000)


class Added:
    """A view of matches, and all rows that it was ever given."""

    def __init__(self, engine, store: str, kind: str, draw):
        columns = (("id", "int"), ("city", "string"), ("at", kind))
        retain = (("retain", f"{RETAIN} minutes"),)
        self.view = WrittenView(
            engine, store, "met", columns, ["id"], False, options=retain, event_time="at", adds=True
        )
        self.view.table.position = lambda _: Position(micros(self.reached), ("-",))
        self.rows: list[tuple[int, int]] = []
        self.reached = self.batch = 0
        self._engine, self._zoned, self._draw = engine, kind == "timestamp", draw

    def write(self) -> None:
        """Write a batch of the next minutes, or one without rows."""
        new_rows = []
        for _ in range(self._draw.choice([0, 1, 1, 3])):
            self.reached += self._draw.choice([0, 1, 1, 2, RETAIN])
            new_rows.append((len(self.rows), self.reached))
            self.rows.append(new_rows[-1])
        times = [minute(at) if self._zoned else minute(at).replace(tzinfo=None) for _, at in new_rows]
        self.view.write(self.batch, [(id, "Rome", at) for (id, _), at in zip(new_rows, times, strict=True)])
        self.batch += 1

    def grow_old(self) -> None:
        """Let all batches but the last be older than the journal keeps them."""
        source = view_source(self.view.view, self._engine.catalog.view_file)
        with store_transaction(source, writes=True) as connection:
            connection.execute(sa.text("UPDATE cepsql_batches SET written = written - 86400"))

    def expected(self, at: int) -> list[int]:
        newest = max((time for _, time in self.rows if time <= at), default=0)
        return [id for id, time in self.rows if newest - RETAIN <= time <= at]

    def rows_as_of(self, at: int) -> list[int] | None:
        """Return the rows as of a minute, None where they are refused."""
        version = f"FOR SYSTEM_TIME AS OF TIMESTAMP '{minute(at):%Y-%m-%d %H:%M:%S}Z'"
        try:
            rows = self._engine.query(f"SELECT id FROM met {version} WHERE city = 'Rome'").arrow()["id"].to_pylist()
        except OperationalError as error:
            assert error.message.startswith("view met keeps no version as of 2026-01-05 "), error
            return None
        return sorted(rows)


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
@pytest.mark.parametrize("number", range(examples(2)))
def test_rows_as_of_each_time(tmp_path, request, store, kind, number):
    url = f"sqlite:///{tmp_path / 'v.db'}" if store == "sqlite" else request.getfixturevalue("postgresql").url
    with cepsql.connect(catalog=str(tmp_path / "catalog.db")) as engine:
        added = Added(engine, url, kind, draws(f"added rows {number}"))
        for _ in range(12):
            added.write()
        # Nothing is forgotten yet.
        assert [added.rows_as_of(at) for at in range(added.reached + 1)] == [
            added.expected(at) for at in range(added.reached + 1)
        ]
        added.grow_old()
        forgotten = added.reached
        for _ in range(6):
            added.write()
        versions = [added.rows_as_of(at) for at in range(added.reached + 1)]
        for at, rows in enumerate(versions):
            # The batch before the last one that is old is kept.
            assert rows == added.expected(at) or (rows is None and at < forgotten), at
        assert versions[0] is None
        assert not engine.has_started
        added.view.table.forget()


def test_each_row_of_a_table_meets_what_was_there_at_its_time(spark, tmp_path):
    with cepsql.connect(spark, catalog=str(tmp_path / "catalog.db")) as engine:
        added = Added(engine, f"sqlite:///{tmp_path / 'v.db'}", "timestamp", draws("added rows at rest"))
        while len(added.rows) < 12:
            added.write()
        asked = [(id, at) for id, _ in added.rows for at in range(added.reached + 1)]
        values = ", ".join(f"({id}, TIMESTAMP '{minute(at):%Y-%m-%d %H:%M:%S}Z', {at})" for id, at in asked)
        joined = f"SELECT o.at, s.id FROM (VALUES {values}) AS o (id, ts, at) JOIN met FOR SYSTEM_TIME AS OF o.ts AS s "
        met = sorted(map(tuple, engine.query(f"{joined} ON s.id = o.id").collect()))
        assert met == [(at, id) for at in range(added.reached + 1) for id in added.expected(at)]
        added.grow_old()
        for _ in range(9):
            added.write()
        with pytest.raises(cepsql.Error, match=r"view met keeps no version as of \S+ \S+: its oldest is of"):
            engine.query(f"{joined} ON s.id = o.id").collect()
