"""A catalog that is kept: what one process defines, others see; a change is all or nothing."""

import contextlib
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

import cepsql.catalog.database
from cepsql.catalog import ColumnDefinition, Registered, RegisteredQuery, Sink, Source, View
from cepsql.catalog.calls import Calls
from cepsql.catalog.catalog import Catalog
from cepsql.catalog.database import Database
from cepsql.catalog.leases import Leases
from cepsql.catalog.query_states import QueryStates
from cepsql.catalog.savepoints import Savepoint, Savepoints
from cepsql.catalog.schema import CATALOG, DEFINITIONS, MIGRATIONS
from cepsql.catalog.store import Store
from cepsql.engine import connect
from cepsql.errors import InterfaceError, NotSupportedError, OperationalError, ProgrammingError, Span
from cepsql.language.statements import Name

STREAM = "CREATE STREAM s (a INT, ts TIMESTAMP, WATERMARK FOR ts AS ts) USING json OPTIONS (path 'in/')"


def test_another_engine_sees_what_one_defines(location):
    one, other = connect(catalog=location), connect(catalog=location)
    one.sql(STREAM)
    one.sql("CREATE VIEW v AS SELECT a, ts FROM s")
    assert [row[0] for row in other.sql("DESCRIBE v").rows] == ["a", "ts"]
    other.sql("CREATE OR REPLACE VIEW v AS SELECT ts FROM s")
    assert [row[0] for row in one.sql("DESCRIBE v").rows] == ["ts"]
    other.sql("DROP STREAM s CASCADE")
    with pytest.raises(ProgrammingError, match="there is no stream, table or view v"):
        one.sql("DESCRIBE v")


def test_a_process_that_has_ended_leaves_its_definitions(location):
    script = f"import cepsql; cepsql.connect(catalog={location!r}).sql({STREAM!r})"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert connect(catalog=location).sql("SHOW STREAMS").rows == (("s", "json", "a, ts"),)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE cepsql_definitions SET data = substr(data, 1, 20)", "a value in it is cut short, or no JSON"),
        ("UPDATE cepsql_queries SET progress = '{'", "a value in it is cut short, or no JSON"),
        ("DELETE FROM cepsql_catalog", "No row was found when one was required"),
        (None, "file is not a database"),
    ],
)
def test_a_damaged_file_is_told_with_what_to_do(tmp_path, damage, said):
    file = tmp_path / "catalog.db"
    with connect(catalog=str(file)) as engine:
        engine.sql(STREAM)
        engine.sql("CREATE QUERY q AS SELECT a FROM s")
        engine.home.states.desire("q", "stopped")
    if damage is None:
        file.write_bytes(b"something else")
    else:
        with contextlib.closing(sqlite3.connect(file)) as database, database:
            database.execute(damage)
    with pytest.raises(OperationalError, match=f"the catalog {file} cannot be used: {said}") as caught:
        connect(catalog=str(file)).sql("SHOW QUERIES")
    assert "put a copy in its place" in caught.value.hint


def test_a_file_that_is_gone_is_not_made_anew(tmp_path):
    file = tmp_path / "catalog.db"
    engine = connect(catalog=str(file))
    engine.sql(STREAM)
    file.rename(tmp_path / "moved.db")
    for statement in ("SHOW STREAMS", "DROP STREAM s"):
        with pytest.raises(OperationalError, match=f"the catalog {file} is gone"):
            engine.sql(statement)
    assert not file.exists()
    file.touch()
    with pytest.raises(OperationalError, match=f"the catalog {file} is gone"):
        engine.sql("DROP STREAM s")
    (tmp_path / "moved.db").rename(file)
    assert engine.sql("SHOW STREAMS").rows == (("s", "json", "a, ts"),)


def test_local_paths_become_absolute(location, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    engine = connect(catalog=location)
    engine.sql(STREAM)
    engine.sql("CREATE SINK k USING json OPTIONS (path '../out')")
    engine.sql("CREATE SINK t USING json OPTIONS (path '${OUT}/x')")
    options = {name: dict(engine.catalog.names.find(name).options)["path"] for name in "skt"}
    assert options == {"s": f"{tmp_path}/in/", "k": f"{tmp_path.parent}/out", "t": "${OUT}/x"}


@pytest.mark.parametrize(
    "options",
    [
        "password 'x'",
        "aws.secret.access.key 'x'",
        "url 'postgresql://me:pw@h/db'",
        "kafka.sasl.jaas.config 'a password=b'",
        "url 'postgresql://me:pw@${HOST}/db'",
        "'header.Authorization' 'Bearer x'",
    ],
)
def test_no_secret_is_kept(location, options):
    engine = connect(catalog=location)
    with pytest.raises(ProgrammingError, match="the catalog would keep the secret in the option"):
        engine.sql(f"CREATE SINK k USING delta OPTIONS ({options})")
    connect().sql(f"CREATE SINK k USING delta OPTIONS ({options})")
    engine.sql("CREATE SINK k USING delta OPTIONS (password '${PW}', url 'postgresql://me:${file:/pw}@h/db', key 'id')")
    jaas = 'a.LoginModule required username="u" password="${PW}";'
    engine.sql(f"CREATE SINK j USING kafka OPTIONS (topic 't', 'header.Authorization' 'Bearer ${{T}}', jaas '{jaas}')")


def test_a_change_that_fails_changes_nothing(location):
    engine = connect(catalog=location)
    engine.sql(STREAM)
    engine.sql("CREATE VIEW v AS SELECT a FROM s")
    before = engine.catalog.store.load()
    for wrong in (STREAM, "DROP STREAM s", "CREATE VIEW w AS SELECT b FROM s", "CREATE SINK v USING console"):
        with pytest.raises(ProgrammingError):
            engine.sql(wrong)
    assert engine.catalog.store.load() == before


def test_dropping_what_is_read(location):
    engine = connect(catalog=location)
    engine.sql(STREAM.replace("s (", "s (b INT, ") + " LATE ROWS INTO late USING json OPTIONS (path 'late/')")
    engine.sql("CREATE VIEW v AS SELECT a, ts FROM s; CREATE VIEW w AS SELECT a FROM v; CREATE SINK k USING console")
    engine.sql("CREATE QUERY q INTO k AS SELECT a FROM w; CREATE QUERY r AS SELECT l.a FROM late l JOIN s ON s.a = l.a")
    with pytest.raises(ProgrammingError) as refused:
        engine.sql("DROP STREAM s")
    assert refused.value.message == "stream s is read by view v, query r, view w and query q"
    with pytest.raises(ProgrammingError, match="sink k is written to by query q"):
        engine.sql("DROP SINK k")
    assert engine.sql("DROP VIEW w CASCADE").message == "view w dropped, and with it query q"
    engine.sql("DROP SINK k")
    assert engine.sql("DROP STREAM s CASCADE").message == "stream s dropped, and with it view v and query r"
    assert engine.sql("SHOW QUERIES").rows == ()


def test_replacing_says_what_it_means_for_queries(location):
    engine = connect(catalog=location)
    engine.sql(STREAM)
    engine.sql("CREATE QUERY q AS SELECT a FROM s")
    assert engine.sql(STREAM.replace("CREATE", "CREATE OR REPLACE")).message == "stream s replaced"
    engine.home.states.desire("q", "running")
    said = engine.sql(STREAM.replace("CREATE", "CREATE OR REPLACE")).message
    assert said == "stream s replaced; query q still runs with what it was: RESTART QUERY q"


def test_a_dataframe_is_of_its_process(location):
    class Frame:
        isStreaming = False

    from cepsql.catalog import Registered

    engine = connect(catalog=location)
    engine.catalog.add(Registered("frame", (ColumnDefinition("a", "INT"),), Frame()), replace=True)
    assert [relation.name for relation in engine.catalog] == ["frame"]
    assert list(connect(catalog=location).catalog) == []
    with pytest.raises(NotSupportedError, match="v reads frame, a DataFrame of this process"):
        engine.sql("CREATE VIEW v AS SELECT a FROM frame")
    engine.sql("DROP TABLE frame")
    assert list(engine.catalog) == []


def test_dataframes_that_are_gone_take_no_view_with_them():
    catalog, columns = Catalog(), (ColumnDefinition("a", "INT"),)
    catalog.add(Registered("T", columns, object()))
    catalog.add(View("v", "SELECT a FROM t", columns, False, reads=("t",)))
    assert catalog.forget_frames() == ["T"]
    assert [relation.name for relation in catalog] == ["v"]
    with pytest.raises(ProgrammingError, match="there is no stream, table or view t"):
        catalog.get("t")


def test_a_catalog_that_is_missing_or_empty_is_made_only_if_asked_for(tmp_path):
    missing, empty, other = (tmp_path / name for name in ("missing.db", "empty.db", "other.db"))
    empty.touch()
    sqlite3.connect(tmp_path / "tableless.db").execute("PRAGMA journal_mode = WAL")
    for file, create, said in (
        (missing, False, "is missing"),
        (empty, False, "is empty"),
        (empty, None, "is empty"),
        (tmp_path / "tableless.db", None, "is empty"),
    ):
        with pytest.raises(OperationalError, match=f"the catalog {file} {said}") as refused:
            connect(catalog=file, create_catalog=create)
        assert "cepsql serve --create-catalog makes a new one" in refused.value.hint
    assert not missing.exists() and not empty.stat().st_size
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE rows (x INT)")
    for file, create in ((missing, None), (empty, True), (other, None), (tmp_path / "100% (a?b#c).db", None)):
        connect(catalog=file, create_catalog=create).sql("CREATE SINK k USING console")
        assert connect(catalog=file, create_catalog=False).catalog.sink("k").format == "console"
    with pytest.raises(InterfaceError, match="create_catalog is True or False"):
        connect(catalog=missing, create_catalog="yes")


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_an_empty_database_is_no_catalog_to_serve(location):
    with pytest.raises(OperationalError, match="is empty"):
        Database(location, create=False)
    Database(location)
    Database(location, create=False)


def test_processes_that_make_a_catalog_at_once_share_it(tmp_path):
    script = "import sys; from cepsql.catalog.database import Database; Database(sys.argv[1])"
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "catalog.db")]) for _ in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4


def test_a_catalog_whose_disk_is_away_is_not_made_anew(tmp_path):
    (tmp_path / "disk").mkdir()
    catalog = connect(catalog=tmp_path / "disk" / "catalog.db").catalog
    catalog.add(Sink("k", (), "console"))
    (tmp_path / "disk").rename(tmp_path / "away")
    (tmp_path / "disk").mkdir()
    with pytest.raises(OperationalError, match="is gone"):
        catalog.sink("k")
    # It goes between the look and the connection.
    with pytest.raises(OperationalError, match="is gone"), catalog.store.database._translated():
        catalog.store.database._engine.connect()
    assert not list((tmp_path / "disk").iterdir())
    (tmp_path / "disk").rmdir()
    (tmp_path / "away").rename(tmp_path / "disk")
    assert catalog.sink("k").format == "console"


def test_only_its_owner_can_read_a_catalog(tmp_path):
    file = tmp_path / "catalog.db"
    with Database(str(file)).writing():
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    file.chmod(0o660)
    with Database(str(file)).writing():
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o660}


def test_many_processes_change_at_once(location):
    Database(location)
    script = (
        "import sys; from cepsql.catalog import Sink; from cepsql.catalog.catalog import Catalog\n"
        "from cepsql.catalog.database import Database; from cepsql.catalog.store import Store\n"
        f"catalog = Catalog(Store(Database({location!r})))\n"
        "for i in range(10): catalog.add(Sink(f's{sys.argv[1]}_{i}', (), 'console'))"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(i)]) for i in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(Catalog(Store(Database(location))).names.sinks) == 30


def test_a_newer_catalog_is_refused(location):
    Database(location)
    with Database(location).writing() as connection:
        connection.execute(CATALOG.update().values(version=len(MIGRATIONS) + 1))
    with pytest.raises(OperationalError, match="the catalog was made by a newer version of cepsql"):
        Database(location)


def test_an_older_catalog_is_brought_forward_at_once_or_not_at_all(location, monkeypatch):
    Database(location)
    catalog = Catalog(Store(Database(location)))
    catalog.add(Sink("k", (), "console"))

    def broken(connection):
        connection.exec_driver_sql("CREATE TABLE further (a INTEGER)")
        raise ZeroDivisionError

    def step(connection):
        connection.exec_driver_sql("CREATE TABLE further (a INTEGER)")

    monkeypatch.setattr("cepsql.catalog.schema.MIGRATIONS", (*MIGRATIONS, broken))
    with pytest.raises(ZeroDivisionError):
        Database(location)
    monkeypatch.setattr("cepsql.catalog.schema.MIGRATIONS", (*MIGRATIONS, step))
    assert Catalog(Store(Database(location))).sink("k").format == "console"
    Database(location)


def test_a_locked_file_says_who_has_to_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr("cepsql.catalog.database._SECONDS_OF_PATIENCE", 0.1)
    database = Database(str(tmp_path / "catalog.db"))
    locked = pytest.raises(OperationalError, match="cannot be used: database is locked")
    with database.writing(), locked as raised, database.writing():
        pass
    assert "let a frozen process" in raised.value.hint


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_a_process_that_hangs_within_a_change_does_not_keep_others_from_theirs(location, monkeypatch):
    monkeypatch.setitem(cepsql.catalog.database._PATIENT, "idle_in_transaction_session_timeout", "300ms")
    frozen, other = Store(Database(location)), Store(Database(location))
    with (
        pytest.raises(OperationalError, match="idle-in-transaction timeout"),
        frozen.changing(),
        other.changing() as change,
    ):
        pass
    assert other.generation() == change.generation
    monkeypatch.setitem(cepsql.catalog.database._PATIENT, "lock_timeout", "100ms")
    locked = pytest.raises(OperationalError, match="cannot be used: canceling statement due to lock timeout")
    with frozen.changing(), locked as raised, other.changing():
        pass
    assert "let a frozen process" in raised.value.hint


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    database = Database(str(tmp_path / "catalog.db"))
    said = sa.exc.OperationalError("BEGIN", {}, sqlite3.OperationalError("disk I/O error"))
    for free, hint in ((0, f"the disk of {tmp_path} is full: make room"), (4096, None)):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with pytest.raises(OperationalError, match="cannot be used: disk I/O error") as refused, database.reading():
            raise said
        assert refused.value.hint == hint


@pytest.mark.parametrize("said", ["attempt to write a readonly database", "unable to open database file"])
def test_who_may_not_write_is_told_so(tmp_path, said):
    database = Database(str(tmp_path / "catalog.db"))
    with pytest.raises(OperationalError, match=said) as refused, database.reading():
        raise sa.exc.OperationalError("BEGIN", {}, sqlite3.OperationalError(said))
    assert refused.value.hint.startswith("who uses a catalog, be it to look, must be able to write its file")


def test_what_is_no_catalog(tmp_path):
    (tmp_path / "text").write_text("no database, but a text that is long enough to be looked at\n" * 100)
    with pytest.raises(OperationalError, match="cannot be used: file is not a database"):
        connect(catalog=str(tmp_path / "text"))
    with pytest.raises(OperationalError, match="does not exist"):
        connect(catalog=str(tmp_path / "no folder" / "catalog.db"))
    with pytest.raises(ProgrammingError, match="a catalog cannot be kept in mysql"):
        connect(catalog="mysql://me@h/db")
    with pytest.raises(OperationalError, match="needs the environment variable CEPSQL_NOT_SET"):
        connect(catalog="postgresql://me:${CEPSQL_NOT_SET}@h/db")


def test_a_definition_of_a_newer_version_is_refused(location):
    store = Store(Database(location))
    Catalog(store).add(Sink("k", (), "console"))
    with Database(location).writing() as connection:
        data = connection.execute(DEFINITIONS.select()).mappings().one()["data"]
        connection.execute(DEFINITIONS.update().values(data=data | {"later": 1}))
    with pytest.raises(OperationalError, match="the catalog holds k as a newer version of cepsql wrote it"):
        store.load()


def test_names():
    catalog = Catalog()
    catalog.add(Source("S", (), "json", streaming=True))
    catalog.add(RegisteredQuery("s", None, "SELECT 1"))
    catalog.add(View("v", "SELECT", (), True, reads=("s",)))
    with pytest.raises(ProgrammingError, match="S exists already"):
        catalog.add(Sink("s", (), "console"), replace=True)
    with pytest.raises(ProgrammingError, match="query s exists already"):
        catalog.add(RegisteredQuery("S", None, "SELECT 2"))
    with pytest.raises(ProgrammingError, match="v is a view, not a sink"):
        catalog.sink("V")
    catalog.add(Sink("k", (), "console"))
    with pytest.raises(ProgrammingError, match="k is a sink and cannot be read"):
        catalog.get("k")


def test_a_catalog_of_an_earlier_version_is_brought_forward(location):
    before = Database(location)
    with before.writing() as connection:
        connection.exec_driver_sql("DROP TABLE cepsql_savepoints")
        connection.exec_driver_sql("ALTER TABLE cepsql_leases DROP COLUMN seconds")
        connection.exec_driver_sql("ALTER TABLE cepsql_queries DROP COLUMN suspect")
        connection.exec_driver_sql("UPDATE cepsql_catalog SET version = 1")
    after = Database(location)
    assert Savepoints(after).add(Savepoint("x", "q", "/x")) and not Savepoints(after).add(Savepoint("x", "q", "/y"))
    lease = Leases(after, 5.0).acquire("query q", "me")
    states = QueryStates(after, Leases(after, 5.0))
    states.desire("q", "running")
    assert not states.get("q").suspect
    assert states.enter(lease, "failing", suspect=True) and states.get("q").suspect
    before.close()
    after.close()


def test_queries_altered_at_once_keep_every_change(location):
    engines = [connect(catalog=location) for _ in range(3)]
    engines[0].sql(STREAM)
    engines[0].sql("CREATE QUERY q AS SELECT * FROM s")

    def alter(number: int) -> None:
        for i in range(8):
            engines[number].sql(f"ALTER QUERY q SET ('spark.sql.x{number}_{i}' '1')")

    _at_once(*[lambda number=number: alter(number) for number in range(3)])
    options = dict(engines[0].catalog.query("q").options)
    assert options == {f"spark.sql.x{number}_{i}": "1" for number in range(3) for i in range(8)}


def test_a_query_dropped_while_it_is_altered_stays_dropped(tmp_path, monkeypatch):
    location = str(tmp_path / "catalog.db")
    one, other = connect(catalog=location), connect(catalog=location)
    one.sql(STREAM)
    exchange = Catalog.exchange
    for change in ("ALTER QUERY q SET (trigger '1 second')", "CREATE OR REPLACE QUERY q AS SELECT a FROM s"):
        one.sql("CREATE QUERY q AS SELECT * FROM s")

        def beaten(catalog, *arguments):
            monkeypatch.setattr(Catalog, "exchange", exchange)
            other.sql("DROP QUERY q")
            return exchange(catalog, *arguments)

        old = one.catalog.query("q").id
        monkeypatch.setattr(Catalog, "exchange", beaten)
        if change.startswith("ALTER"):
            with pytest.raises(ProgrammingError, match="there is no query q"):
                one.sql(change)
        else:
            # It is a new query, which does not go on in the checkpoint of the one that is gone.
            one.sql(change)
            assert one.catalog.query("q").id != old


def test_what_was_desired_of_a_query_is_not_of_the_next_one_of_its_name(location, monkeypatch):
    engine = connect(catalog=location)
    engine.sql(f"{STREAM}; CREATE QUERY q AS SELECT * FROM s")
    engine.home.states.desire("q", "running")
    with monkeypatch.context() as patched:
        # The process dies once the definition is gone.
        patched.setattr(QueryStates, "forget", lambda *_: sys.exit())
        with pytest.raises(SystemExit):
            engine.sql("DROP QUERY q")
    engine.sql("CREATE QUERY q AS SELECT * FROM s")
    assert engine.queries["q"].state.desired == "stopped"


def test_what_is_dropped_twice_at_once_was_dropped(location, monkeypatch):
    one, other = connect(catalog=location), connect(catalog=location)
    drop = Catalog.drop
    for kind, create in (("STREAM", STREAM), ("SINK", "CREATE SINK s USING console")):
        one.sql(create)

        def beaten(catalog, *arguments, kind=kind, **others):
            monkeypatch.setattr(Catalog, "drop", drop)
            other.sql(f"DROP {kind} s")
            return drop(catalog, *arguments, **others)

        monkeypatch.setattr(Catalog, "drop", beaten)
        with pytest.raises(ProgrammingError, match=f"{kind.lower()} s was dropped in the meantime"):
            one.sql(f"DROP {kind} s")


def _at_once(*actions) -> None:
    with ThreadPoolExecutor(len(actions)) as pool:
        for done in [pool.submit(action) for action in actions]:
            done.result()


def test_what_is_prepared_outlives_the_process(location):
    name = Name("by_city", Span(0, 0))
    with connect(catalog=location) as engine:
        engine.sql("PREPARE By_City(town) AS SELECT :town AS city")
        engine.sql("PREPARE by_city(town, n) AS SELECT :town AS city, :n AS n")
    with connect(catalog=location) as engine:
        prepared = engine.prepared(name)
        assert (prepared.sql, prepared.parameters) == ("SELECT :town AS city, :n AS n", ("town", "n"))
        engine.sql("DEALLOCATE BY_CITY")
        engine.sql("PREPARE by_town(town) AS SELECT :town AS city")
    with connect(catalog=location) as engine:
        with pytest.raises(ProgrammingError, match="there is no prepared statement by_city") as raised:
            engine.sql("DEALLOCATE by_city")
        assert raised.value.hint == "prepared: by_town"
        engine.check("PREPARE checked AS SELECT 1 AS one")
    with connect(catalog=location) as engine:
        assert "checked" not in Calls(engine.catalog.store.database).names()
