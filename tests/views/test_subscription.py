"""SUBSCRIBE: the rows of a view and then its changes; those of a query as they leave, also of another process."""

import asyncio
import itertools
import threading
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_views import WrittenView

import cepsql
from cepsql.catalog import RegisteredQuery
from cepsql.errors import InterfaceError, NotSupportedError, OperationalError, ProgrammingError
from cepsql.views.recent_rows import LastRows

COLUMNS = (("city", "string"), ("n", "bigint"))


def rows_of(changes) -> list[tuple]:
    return [tuple(row.values()) for row in changes.rows.to_pylist()]


@pytest.fixture
def engine(tmp_path):
    with cepsql.connect(catalog=str(tmp_path / "catalog.db")) as engine:
        yield engine


@pytest.fixture
def spent(engine, tmp_path):
    return WrittenView(engine, f"sqlite:///{tmp_path / 'v.db'}", "spent", COLUMNS, ["city"])


def test_rows_come_first_and_then_changes(engine, spent):
    spent.write(0, [("+I", "Rome", 1), ("+I", "Oslo", 2)])
    with engine.subscribe("SPENT") as subscription:
        first = next(subscription)
        assert first.snapshot and rows_of(first) == [("Rome", 1, "+I"), ("Oslo", 2, "+I")]
        assert subscription.columns == [("city", "string"), ("n", "bigint"), ("op", "string")]
        assert subscription.poll() is None
        spent.write(1, [("-U", "Rome", 1), ("+U", "Rome", 5), ("+I", "Bern", 1)])
        spent.write(2, [])
        spent.write(3, [("-D", "Oslo", 2)])
        second, third = next(subscription), next(subscription)
        assert rows_of(second) == [("Rome", 1, "-U"), ("Rome", 5, "+U"), ("Bern", 1, "+I")]
        assert rows_of(third) == [("Oslo", 2, "-D")]
    assert list(subscription) == [] and not engine.has_started
    # Another process, later.
    with engine.subscribe("spent", second.token) as again:
        assert rows_of(next(again)) == [("Oslo", 2, "-D")] and again.token == third.token


def test_closing_ends_who_waits(engine, spent):
    spent.write(0, [("+I", "Rome", 1)])
    subscription = engine.subscribe("spent")
    threading.Timer(0.3, subscription.close).start()
    assert [rows_of(changes) for changes in subscription] == [[("Rome", 1, "+I")]]


def test_an_async_iterator_is_cancelled(engine, spent):
    spent.write(0, [("+I", "Rome", 1)])
    output = []

    async def follow() -> None:
        async with engine.subscribe("spent") as subscription:
            async for changes in subscription:
                output.append(rows_of(changes))

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(follow(), 0.5)

    asyncio.run(main())
    assert output == [[("Rome", 1, "+I")]]


def test_tokens_that_lead_nowhere(engine, spent, tmp_path, monkeypatch):
    spent.write(0, [("+I", "Rome", 1)])
    token = next(engine.subscribe("spent")).token
    with pytest.raises(ProgrammingError, match="'x' is no token"):
        engine.subscribe("spent", "x")
    with pytest.raises(ProgrammingError, match="is not of the rows that spent has now"):
        engine.subscribe("spent", "00000000-1")
    batch = token.rpartition("-")[0]
    for beyond in (f"{token}0000", f"{batch}0000", f"{batch}0000-0"):
        with pytest.raises(ProgrammingError, match="has not come as far"):
            engine.subscribe("spent", beyond)
    follows = engine.subscribe("spent", token)
    monkeypatch.setattr("cepsql.sinks.view_table.time.time", lambda: 4e9)
    spent.write(1, [("+I", "Oslo", 1)])
    monkeypatch.setattr("cepsql.sinks.view_table.time.time", lambda: 5e9)
    spent.write(2, [("+I", "Bern", 1)])
    for too_late in (lambda: next(follows), *(partial(engine.subscribe, "spent", one) for one in (token, batch))):
        with pytest.raises(OperationalError, match="older than those that are kept") as caught:
            too_late()
        assert "without SINCE begins with its rows" in caught.value.hint
    anew = WrittenView(engine, f"sqlite:///{tmp_path / 'v.db'}", "spent", COLUMNS, ["city"], checkpoint="second")
    anew.write(0, [])
    with pytest.raises(ProgrammingError, match="was rebuilt, or the token"):
        engine.subscribe("spent", token)


def test_a_token_stays_true_while_nothing_changes(engine, spent, monkeypatch):
    """Batches that change other things only are forgotten, and those who come back have missed nothing."""
    spent.write(0, [("+I", "Rome", 1)])
    token = next(engine.subscribe("spent")).token
    clock = itertools.count(4e9, 1e9)
    monkeypatch.setattr("cepsql.sinks.view_table.time.time", lambda: next(clock))
    for batch in range(1, 4):
        spent.write(batch, [])
    with engine.subscribe("spent", token) as again:
        assert again.poll() is None
        spent.write(4, [("+I", "Oslo", 1)])
        assert rows_of(next(again)) == [("Oslo", 1, "+I")]
    # One without the place of its last change is too old.
    with pytest.raises(OperationalError, match="older than those that are kept"):
        engine.subscribe("spent", token.rpartition("-")[0])


def test_what_cannot_be_followed(engine, spent):
    engine.sql("CREATE SINK s USING sqlite OPTIONS (path 'x.db')")
    with pytest.raises(ProgrammingError) as caught:
        engine.subscribe("nothing")
    assert caught.value.hint == "views and queries: spent"
    for name, said in (("spend", "there is no view or query spend"), ("s", "s is a sink")):
        with pytest.raises(ProgrammingError, match=said):
            engine.subscribe(name)
    with pytest.raises(NotSupportedError) as caught:
        engine.sql("SUBSCRIBE spent")
    assert "engine.subscribe('spent')" in caught.value.hint
    follows = engine.subscribe("spent")
    engine.close()
    with pytest.raises(InterfaceError, match="the engine is closed"):
        next(follows)


@given(batches=st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=4), max_size=5),
       stops=st.lists(st.booleans(), min_size=5, max_size=5))  # fmt: skip
def test_no_change_is_lost_or_comes_twice(tmp_path_factory, batches, stops):
    """A reader that stops anywhere and goes on with its last token holds in the end what the view holds."""
    with cepsql.connect() as engine:
        store = f"sqlite:///{tmp_path_factory.mktemp('sub') / 'v.db'}"
        written = WrittenView(engine, store, "v", COLUMNS, ["city"])
        state: dict = {}
        held: dict = {}
        follows = engine.subscribe("v")
        for number, batch in enumerate(batches):
            rows = []
            for city, n in dict(batch).items():
                if city in state:
                    rows.append(("-U" if n else "-D", city, state.pop(city)))
                if n:
                    rows.append(("+U", city, n))
                    state[city] = n
            written.write(number, rows)
            while stops[number] and (changes := follows.poll()) is not None:
                apply(held, changes)
            if follows.token is not None:
                follows = engine.subscribe("v", follows.token)
        while (changes := follows.poll()) is not None:
            apply(held, changes)
        assert held == state


def apply(held: dict, changes) -> None:
    for city, n, operation in rows_of(changes):
        if operation[0] == "-":
            assert held.pop(city) == n
        else:
            assert city not in held
            held[city] = n


# Rows of queries


@pytest.fixture
def query(engine):
    query = RegisteredQuery("seen", None, "SELECT 1 AS n", id="1")
    engine.catalog.add(query)
    return query


def keep(engine, query, batch: int, numbers, most: int = 3, whole: bool = True, series: str = "first") -> None:
    rows = LastRows(engine.home.last_rows_folder(query), most, series)
    rows.keep(batch, [("n", "bigint")], [pa.table({"n": list(numbers)})], whole, rows.followed)


def test_rows_that_leave_a_query(engine, query):
    folder = LastRows(engine.home.last_rows_folder(query), 0)
    assert not folder.followed
    with engine.subscribe("seen") as subscription:
        assert folder.followed and subscription.poll() is None
        keep(engine, query, 4, [1, 2])
        keep(engine, query, 5, [])
        keep(engine, query, 6, range(10))
        # A batch that comes again is the same.
        keep(engine, query, 6, range(10))
        first = next(subscription)
        assert rows_of(first) == [(1,), (2,)] and subscription.columns == [("n", "bigint")]
        assert rows_of(next(subscription)) == [(n,) for n in range(10)]
        assert subscription.poll() is None
    again = engine.subscribe("seen", first.token)
    assert rows_of(next(again)) == [(n,) for n in range(10)]
    assert rows_of(next(engine.subscribe("seen", last=2))) == [(8,), (9,)]
    assert engine.sql("PRINT seen LIMIT 1").rows == (("9",),)


def test_gaps_in_the_rows_of_a_query_are_told(engine, query):
    folder = engine.home.last_rows_folder(query)
    with pytest.raises(NotSupportedError, match="query seen keeps no rows"):
        engine.sql("PRINT seen")
    follows = engine.subscribe("seen")
    keep(engine, query, 0, [1])
    token = next(follows).token
    (folder / "watched").unlink()
    # Nobody follows: only the last rows of this batch stay.
    keep(engine, query, 1, [2, 3, 4], whole=False)
    with pytest.raises(OperationalError, match="older than those that are kept"):
        engine.subscribe("seen", token)
    with pytest.raises(OperationalError, match="older than those that are kept"):
        next(follows)
    fresh = engine.subscribe("seen")
    keep(engine, query, 5, [6])
    assert rows_of(next(fresh)) == [(6,)]
    keep(engine, query, 0, [7], series="second")
    with pytest.raises(OperationalError, match="was started with a new checkpoint"):
        next(fresh)


def test_old_rows_of_a_query_go(engine, query):
    for batch in range(6):
        keep(engine, query, batch, [batch, batch])
    assert engine.sql("PRINT seen LIMIT 100").rows == (("4",), ("4",), ("5",), ("5",))


def test_select_from_a_query_says_what_to_use(engine, query):
    with pytest.raises(ProgrammingError) as caught:
        engine.query("SELECT * FROM seen")
    assert caught.value.hint.startswith("PRINT seen shows its last rows; SUBSCRIBE seen follows it; ")
