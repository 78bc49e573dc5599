"""The journal of a view: after any batches the changes since a batch lead from its rows to those of now."""

import datetime
import sqlite3

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from kept_views import WrittenView

import cepsql
from cepsql.views.journal import KEPT_SECONDS, Journal, changes_table

COLUMNS = (("city", "string"), ("a:b %", "bigint"))
CITIES = ["Rome", "Oslo", None, "x'; \"y"]
_CHANGES = st.lists(st.tuples(st.sampled_from(CITIES), st.one_of(st.none(), st.integers(0, 3))), max_size=6)


@pytest.fixture
def engine():
    with cepsql.connect() as engine:
        yield engine


def batch_of(state: dict, changes: list) -> list[tuple]:
    """Return the rows of a batch that sets values of cities, or removes them, and enter them into a state."""
    rows = []
    for city, value in dict(changes).items():
        if city in state:
            rows.append(("-D" if value is None else "-U", city, state[city]))
        if value is not None:
            rows.append(("+U" if city in state else "+I", city, value))
            state[city] = value
        else:
            state.pop(city, None)
    return rows


def follow(database: sa.Engine, name: str, columns, after: int, rows: dict) -> dict:
    """Return rows to which the changes after a batch were applied."""
    with database.begin() as connection:
        journal = Journal(connection, name)
        batches = journal.batches(after)
        for change in journal.changes(batches[0].last, batches[-1].last, columns):
            if change.gone:
                assert rows.pop(change.values[0]) == change.values[1]
            else:
                assert change.values[0] not in rows
                rows[change.values[0]] = change.values[1]
        assert [batch.batch for batch in batches] == list(range(after, batches[-1].batch + 1))
    return rows


def check(engine, store: str, batches: list) -> None:
    # A long name, whose table of changes has another one in PostgreSQL.
    name = "spent by % city: 12345678901234567890123456789012345"
    written = WrittenView(engine, store, name, COLUMNS, ["city"], checkpoint=str(id(batches)))
    state: dict = {}
    states = [{}]
    for number, changes in enumerate(batches):
        written.write(number, batch_of(state, changes))
        # One that comes again adds nothing.
        written.write(number, batch_of({}, changes))
        states.append(dict(state))
    database = written.table._database.engine
    for number, earlier in enumerate(states):
        assert follow(database, name, [column for column, _ in COLUMNS], number - 1, dict(earlier)) == state
    written.table.forget()
    with database.begin() as connection:
        assert not sa.inspect(connection).has_table(changes_table(name))
        assert not Journal(connection, name).batches(0)


@given(batches=st.lists(_CHANGES, max_size=4))
def test_changes_lead_from_any_batch_to_now(tmp_path_factory, batches):
    with cepsql.connect() as engine:
        check(engine, f"sqlite:///{tmp_path_factory.mktemp('journal') / 'v.db'}", batches)


@pytest.mark.parametrize("batches", [[], [[("Rome", 1), (None, 2)], [], [("Rome", None), (None, 3)], [("Rome", 2)]]])
def test_postgresql_keeps_the_same_journal(postgresql, engine, batches):
    check(engine, postgresql.url, batches)


def test_old_batches_are_forgotten(engine, tmp_path, monkeypatch):
    file, now = tmp_path / "v.db", 1_000_000.0
    monkeypatch.setattr("cepsql.sinks.view_table.time.time", lambda: now)
    written = WrittenView(engine, f"sqlite:///{file}", "spent", COLUMNS, ["city"])
    for number in range(4):
        now += KEPT_SECONDS / 2
        written.write(number, [("+I", str(number), number)])
    with sqlite3.connect(file) as connection:
        # Batch 0 was what held until batch 1 came, which is not older than is kept.
        batches = connection.execute("SELECT batch FROM cepsql_batches ORDER BY batch").fetchall()
        assert batches == [(0,), (1,), (2,), (3,)]
        assert connection.execute("SELECT city FROM cepsql_changes_spent").fetchall() == [("1",), ("2",), ("3",)]


def test_a_new_checkpoint_begins_a_new_journal(engine, tmp_path):
    store = f"sqlite:///{tmp_path / 'v.db'}"
    WrittenView(engine, store, "spent", COLUMNS, ["city"]).write(0, [("+I", "Rome", 1)])
    # A restart goes on with it.
    WrittenView(engine, store, "spent", COLUMNS, ["city"]).write(1, [("+I", "Oslo", 1)])
    other = WrittenView(engine, store, "spent", COLUMNS, ["city"], checkpoint="second")
    other.write(0, [("+I", "Bern", 1)])
    assert follow(other.table._database.engine, "spent", ["city", "a:b %"], -1, {}) == {"Bern": 1}


def test_rows_that_grow_old_leave(engine, tmp_path):
    columns = (("city", "string"), ("day", "date"))
    days = [datetime.date(2026, 1, day) for day in (1, 5)]
    options = (("retain", "2 days"),)
    written = WrittenView(engine, f"sqlite:///{tmp_path / 'v.db'}", "v", columns, (), False, options=options,
                          event_time="day")  # fmt: skip
    written.write(0, [("Rome", days[0]), ("Rome", days[0])])
    written.write(1, [("Oslo", days[1])])
    with written.table._database.engine.begin() as connection:
        journal = Journal(connection, "v")
        first, last = journal.batches(0)
        changes = [(change.gone, change.values[0]) for change in journal.changes(first.last, last.last, ["city"])]
        assert sorted(changes) == [(False, "Oslo"), (True, "Rome"), (True, "Rome")]
