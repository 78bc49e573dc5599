"""psql, psycopg and SQLAlchemy ask views over PostgreSQL's protocol; what is no protocol, or too much, harms nobody."""

import asyncio
import contextlib
import datetime
import decimal
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa
from kept_views import WrittenView, arrow_column, keep_view

import cepsql
from cepsql.errors import InterfaceError
from cepsql.frontends.server.serve_options import listening_users, parser
from cepsql.frontends.server.wire.answering import TooMuch
from cepsql.frontends.server.wire.limits import Limits
from cepsql.frontends.server.wire.listener import Listener
from cepsql.frontends.server.wire.reads import Reads
from cepsql.frontends.server.wire.users import User, Users, read_users

psycopg = pytest.importorskip("psycopg")

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

COLUMNS = (
    ("city", "string"), ("n", "bigint"), ("total", "decimal(8,2)"), ("share", "double"), ("at", "timestamp"),
    ("local", "timestamp_ntz"), ("day", "date"), ("good", "boolean"), ("raw", "binary"),
)  # fmt: skip
AT = datetime.datetime(2026, 3, 29, 1, 30, 0, 5, tzinfo=datetime.UTC)
ROWS = [
    ("Rome", 3, decimal.Decimal("14.75"), 0.5, AT, AT.replace(tzinfo=None), AT.date(), True, b"\x00\xff"),
    ("Oslo", 4, decimal.Decimal("2.00"), float("inf"), AT, AT.replace(tzinfo=None), AT.date(), False, b""),
    (None, None, None, None, None, None, None, None, None),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wire")
    with cepsql.connect(catalog=str(folder / "catalog.db")) as engine:
        columns = zip(*ROWS, strict=True)
        rows = pa.table(
            {name: arrow_column(values, kind) for (name, kind), values in zip(COLUMNS, columns, strict=True)}
        )
        keep_view(engine, folder / "views.db", "spent", COLUMNS, rows, key=("city",))
        yield engine


@contextlib.contextmanager
def listening(engine, users=Users(None), limits=Limits(), tls=None):  # noqa: B008
    listener = Listener(engine, "127.0.0.1", 0, users, limits, tls)
    try:
        yield listener.address[1]
    finally:
        listener.close()


@pytest.fixture(scope="module")
def port(engine):
    with listening(engine) as port:
        yield port


def connected(port: int, **more):
    defaults = {"host": "127.0.0.1", "port": port, "user": "anna", "dbname": "cepsql", "autocommit": True}
    return psycopg.connect(**(defaults | more))


@pytest.mark.parametrize("binary", [False, True])
def test_values_come_as_what_they_are(port, binary):
    with connected(port) as connection:
        cursor = connection.cursor(binary=binary)
        assert cursor.execute("SELECT * FROM spent ORDER BY n NULLS LAST").fetchall() == ROWS
        assert [column.name for column in cursor.description] == [name for name, _ in COLUMNS]


def test_parameters_are_values_and_no_sql(port):
    with connected(port) as connection:
        asked = "SELECT n FROM spent WHERE city = %s"
        assert connection.execute(asked, ("Rome",)).fetchall() == [(3,)]
        assert connection.execute(asked, ("x' OR '1'='1",)).fetchall() == []
        assert connection.execute("SELECT city FROM spent WHERE n >= %s AND good = %s", (4, False)).fetchall() == [
            ("Oslo",)
        ]
        assert connection.execute("SELECT city FROM spent WHERE day = %s AND n = 3", (AT.date(),)).fetchall() == [
            ("Rome",)
        ]
        for _ in range(7):
            # From the fifth time on the driver prepares it.
            assert connection.execute(asked, ("Oslo",), prepare=True).fetchall() == [(4,)]


def test_clients_find_their_way(port, engine):
    with connected(port) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
        assert connection.execute("SHOW VIEWS").fetchall() == [("spent", "materialized view", "SELECT 1 AS a")]
        assert ("city", "string", "primary key") in connection.execute("DESCRIBE spent").fetchall()
        assert ("without Spark",) in connection.execute("EXPLAIN SELECT * FROM spent").fetchall()
    made = sa.create_engine(f"postgresql+psycopg://anna@127.0.0.1:{port}/cepsql")
    with made.connect() as connection:
        rows = connection.execute(sa.text("SELECT city FROM spent WHERE n > :n"), {"n": 3}).all()
        assert rows == [("Oslo",)]
    made.dispose()
    assert not engine.has_started


def test_psql_is_a_shell(port):
    psql = shutil.which("psql")
    if psql is None:
        pytest.skip("psql is not installed")
    commands = ["\\d", "\\d spent", "SELECT city, n FROM spent WHERE n > 3; SHOW VIEWS", "DROP MATERIALIZED VIEW spent"]
    asked = [part for command in commands for part in ("-c", command)]
    completed = subprocess.run(
        [psql, "-X", "-h", "127.0.0.1", "-p", str(port), "-U", "anna", "cepsql", *asked],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "public | spent | table" in completed.stdout
    assert "numeric" in completed.stdout
    assert " Oslo | 4" in completed.stdout and "materialized view" in completed.stdout
    assert "user anna may read views, and change nothing" in completed.stderr


def refused(connection, sql: str) -> tuple[str, str]:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(sql)
    return caught.value.sqlstate, str(caught.value).splitlines()[0]


def test_a_reader_changes_nothing(port):
    changes = "user anna may read views, and change nothing"
    with connected(port) as connection:
        for sql in (
            "DROP MATERIALIZED VIEW spent", "CREATE VIEW v AS SELECT 1 AS a", "START VIEW spent", "STOP QUERY spent",
            "SET cepsql.buckets = 3", "INSERT INTO spent SELECT 1 AS a", "SHOW FUNCTIONS",
        ):  # fmt: skip
            assert refused(connection, sql) == ("42501", changes), sql
        state, said = refused(connection, "SELECT rank() OVER (ORDER BY n) AS r FROM spent")
        assert (state, said[:29]) == ("42501", "only Spark can answer this, w")
        state, said = refused(connection, "SELECT * FROM csv.`/etc/passwd`")
        assert state in ("42501", "42601")
        assert refused(connection, "SELECT nope FROM spent") == ("42601", "there is no column nope")
        # An error ends no connection.
        assert connection.execute("SELECT COUNT(*) AS n FROM spent").fetchall() == [(3,)]


def test_only_reads_are_short_of_time():
    reads, over = Reads(Limits(seconds=0.01)), threading.Event()

    async def asked() -> bool:
        with pytest.raises(TooMuch, match=r"the answer takes longer than 0\.01 seconds") as caught:
            await reads.run(over.wait)
        assert "SHOW VIEW POSITIONS" in caught.value.hint
        acting = asyncio.ensure_future(reads.run(over.wait, limited=False))
        over.set()
        return await acting

    assert asyncio.run(asked())
    reads.close()


def test_a_cancel_that_comes_with_the_answer_is_not_lost(monkeypatch):
    reads = Reads(Limits())

    async def cancelled() -> bool:
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        monkeypatch.setattr(loop, "run_in_executor", lambda *_: answer)
        reading = loop.create_task(reads.run(None))
        await asyncio.sleep(0)
        answer.set_result(1)
        reading.cancel()
        await asyncio.wait([reading])
        return reading.cancelled()

    assert asyncio.run(cancelled())
    reads.close()


def test_an_owner_defines_what_a_reader_sees(engine):
    users = Users({"anna": User("anna", "reader", "a"), "olga": User("olga", "owner", "o")})
    with listening(engine, users) as port:
        with connected(port, user="olga", password="o") as owner:
            notices = []
            owner.add_notice_handler(lambda notice: notices.append(notice.message_primary))
            owner.execute("CREATE VIEW few AS SELECT city FROM spent WHERE n < 4")
            assert notices == ["view few created"]
        with connected(port, user="anna", password="a") as reader:
            assert reader.execute("SELECT * FROM few").fetchall() == [("Rome",)]
        with connected(port, user="olga", password="o") as owner:
            owner.execute("DROP VIEW few")


def test_a_reader_never_has_spark_asked(tmp_path):
    users = Users({"anna": User("anna", "reader", "a")})
    with cepsql.connect(catalog=str(tmp_path / "catalog.db")) as engine:
        rows = pa.table({"n": [2**62, 2**62]})
        keep_view(engine, tmp_path / "views.db", "large", (("n", "bigint"),), rows)
        with listening(engine, users) as port, connected(port, user="anna", password="a") as reader:
            assert reader.execute("SELECT MAX(n) AS n FROM large").fetchall() == [(2**62,)]
            for statement in ("SELECT SUM(n) AS n FROM large", "EXPLAIN SPARK SELECT * FROM large",
                              "EXPLAIN EXTENDED SELECT DISTINCT n FROM large"):  # fmt: skip
                with pytest.raises(psycopg.Error, match="user anna may"):
                    reader.execute(statement)
        assert not engine.has_started


def test_only_who_knows_the_password_comes_in(engine):
    users = Users({"anna": User("anna", "reader", "right")})
    with listening(engine, users) as port:
        for user, password in (("anna", "wrong"), ("anna", ""), ("otto", ""), ("otto", "right")):
            with pytest.raises(psycopg.OperationalError):
                connected(port, user=user, password=password)
        assert "right" not in repr(users)


def test_a_certificate_gives_tls(engine, tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1",
         "-subj", "/CN=localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with listening(engine, tls=tls) as port, connected(port, sslmode="require") as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("SELECT n FROM spent WHERE city = 'Rome'").fetchall() == [(3,)]


def test_too_much_is_refused_early(engine):
    with listening(engine, limits=Limits(rows=2, bytes=2000, connections=2)) as port:
        with connected(port) as connection:
            assert refused(connection, "SELECT city FROM spent") == ("54000", "the answer has more than 2 rows")
            assert len(connection.execute("SELECT city FROM spent LIMIT 2").fetchall()) == 2
            assert refused(connection, f"SELECT city FROM spent WHERE city = '{'x' * 3000}'")[0] == "54000"
            with connected(port), pytest.raises(psycopg.OperationalError, match="too many connections"):
                connected(port)
        with connected(port) as connection, pytest.raises(psycopg.OperationalError):
            connection.execute(f"SELECT city FROM spent WHERE city = '{'x' * 10_000_000}'")
        # Others are served as before.
        with connected(port) as connection:
            assert connection.execute("SELECT COUNT(*) AS n FROM spent").fetchall() == [(3,)]


def test_garbage_harms_nobody(port):
    packets = [
        b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(200),
        struct.pack("!ii", 2**31 - 1, 196608), struct.pack("!i", -5) * 4,
        struct.pack("!ii", 9, 196608) + b"\xff", struct.pack("!ii", 16, 80877102) + b"12345678",
        struct.pack("!ii", 8, 80877103) + b"no tls",
    ]  # fmt: skip
    startup = b"user\0anna\0\0"
    begun = struct.pack("!ii", len(startup) + 8, 196608) + startup
    packets += [
        begun + tail
        for tail in (b"Q\xff\xff\xff\xff", b"Q\0\0\0\x08abc", b"\0\0\0\0\0", b"B\0\0\0\x06\0\0", b"zzzzzzz")
    ]
    for packet in packets:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(packet)
            client.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while client.recv(65536):
                    pass
    with connected(port) as connection:
        assert connection.execute("SELECT COUNT(*) AS n FROM spent").fetchall() == [(3,)]


def test_nothing_listens_elsewhere_without_users(tmp_path):
    def users_of(*words: str):
        return listening_users(parser().parse_args(["--catalog", "x", "--listen", *words]))

    assert users_of("127.0.0.1:5439") == Users(None, "reader")
    assert users_of("[::1]:5439", "--role", "owner") == Users(None, "owner")
    with pytest.raises(ValueError, match=r"--listen 0\.0\.0\.0: others reach this address"):
        users_of("0.0.0.0:5439")
    file = tmp_path / "users.toml"
    file.write_text('[users.anna]\npassword = "secret"\n[users.olga]\npassword = "o"\nrole = "owner"\n')
    file.chmod(0o644)
    with pytest.raises(InterfaceError, match="can be read by others"):
        read_users(str(file))
    file.chmod(0o600)
    users = users_of("0.0.0.0:5439", "--users", str(file))
    assert {name: user.role for name, user in users.by_name.items()} == {"anna": "reader", "olga": "owner"}
    for wrong in (
        "[users.anna]\nrole = 'reader'",
        "[users.anna]\npassword = 'x'\nrole = 'king'",
        "users = 3",
        "[users",
    ):
        file.write_text(wrong)
        with pytest.raises(InterfaceError) as caught:
            read_users(str(file))
        assert "secret" not in str(caught.value)


# SUBSCRIBE


@pytest.fixture
def changing(tmp_path):
    with cepsql.connect(catalog=str(tmp_path / "catalog.db")) as engine:
        view = WrittenView(
            engine, f"sqlite:///{tmp_path / 'v.db'}", "v", (("city", "string"), ("n", "bigint")), ["city"]
        )
        view.write(0, [("+I", "Rome\t", 1)])
        with listening(engine) as port:
            yield view, port


def test_subscribe_is_a_result_that_goes_on(changing):
    view, port = changing
    with connected(port) as connection:
        rows = connection.cursor().stream("SUBSCRIBE v")
        first = next(rows)
        assert first[:3] == ("Rome\t", 1, "+I")
        view.write(1, [("-D", "Rome\t", 1)])
        assert next(rows)[:3] == ("Rome\t", 1, "-D")
        connection.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            next(rows)
        # The connection goes on.
        assert connection.execute("SELECT COUNT(*) AS n FROM v").fetchall() == [(0,)]
        with pytest.raises(psycopg.errors.SyntaxError, match="there is no view or query w"):
            connection.execute("SUBSCRIBE w")
        with pytest.raises(psycopg.Error, match="'x' is no token"):
            connection.execute("SUBSCRIBE v SINCE 'x'")
        since = next(connection.cursor().stream(f"SUBSCRIBE v SINCE '{first[3]}'"))
        assert since[:3] == ("Rome\t", 1, "-D")


def test_each_cancel_ends_one_statement(changing):
    view, port = changing
    with connected(port) as connection:
        for batch in (1, 2):
            rows = connection.cursor().stream("SUBSCRIBE v")
            assert next(rows)[:2] == ("Rome\t", batch)
            connection.cancel_safe()
            with pytest.raises(psycopg.errors.QueryCanceled):
                next(rows)
            # Nothing is executed that this could end.
            connection.cancel_safe()
            view.write(batch, [("+U", "Rome\t", batch + 1)])
            assert connection.execute("SELECT n FROM v WHERE city = %s", ("Rome\t",)).fetchall() == [(batch + 1,)]


def test_statements_come_together_or_in_pieces(changing):
    _, port = changing
    ask = "SELECT n FROM v WHERE city = %s"
    with connected(port) as connection, connection.pipeline():
        cursors = [connection.execute(ask, (city,), prepare=True) for city in ["Rome\t", "Oslo"] * 100]
        assert [cursor.fetchall() for cursor in cursors] == [[(1,)], []] * 100
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        startup = struct.pack("!i", 3 << 16) + b"user\0anna\0\0"
        query = b"SELECT n FROM v WHERE city = 'Rome\t'\0"
        sent = struct.pack("!i", len(startup) + 4) + startup + b"Q" + struct.pack("!i", len(query) + 4) + query
        for byte in sent:
            client.sendall(bytes([byte]))
        received = b""
        while received.count(b"Z\0\0\0\5I") < 2:
            received += client.recv(1000)
        assert b"SELECT 1\0" in received


def test_psql_follows_by_copy(changing):
    view, port = changing
    with connected(port) as connection, connection.cursor().copy("COPY (SUBSCRIBE v) TO STDOUT") as copy:
        assert bytes(next(iter(copy))).startswith(b"Rome\\t\t1\t+I\t")
        view.write(1, [("+I", None, 2)])
        assert bytes(next(iter(copy))).startswith(b"\\N\t2\t+I\t")
        connection.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            next(iter(copy))


def test_prepared_statements_are_shared(changing):
    _, port = changing
    with connected(port) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("PREPARE cities AS SELECT city FROM v")


# Attacks


@pytest.mark.nightly("it takes ten seconds")
def test_a_slow_reader_and_many_connections_harm_nobody(engine):
    with listening(engine, limits=Limits(connections=5)) as port:
        sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(1000)]
        try:
            # None of them says who it is, so none has a place.
            with connected(port) as connection:
                assert connection.execute("SELECT COUNT(*) AS n FROM spent").fetchall() == [(3,)]
                others = [connected(port) for _ in range(4)]
                with pytest.raises(psycopg.OperationalError, match="too many connections"):
                    connected(port)
                for other in others:
                    other.close()
        finally:
            for each in sockets:
                each.close()


@pytest.mark.parametrize("sql", ["SELECT " + "1 + " * 2_500_000 + "1", "SELECT '" + "x" * 10_000_000 + "'"])
def test_ten_megabytes_of_sql_are_refused(port, sql):
    with pytest.raises(psycopg.OperationalError), connected(port) as connection:
        connection.execute(sql)
    with connected(port) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "value",
    ["' OR 1=1 --", "'; DROP MATERIALIZED VIEW spent; --", "\\' OR 1=1 --", "$1", ":p1", "\x01", "\u2019 OR 1=1"],
)
def test_parameters_stay_values(port, value):
    with connected(port) as connection:
        for prepare in (False, True):
            asked = "SELECT city FROM spent WHERE city = %s OR city = %s"
            assert connection.execute(asked, (value, value), prepare=prepare).fetchall() == []
        assert connection.execute("SHOW VIEWS").fetchall() == [("spent", "materialized view", "SELECT 1 AS a")]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW w AS SELECT 1 AS a", "DROP MATERIALIZED VIEW spent", "STOP MATERIALIZED VIEW spent",
        "ALTER MATERIALIZED VIEW spent SET (trigger '1 second')", "SET spark.sql.ansi.enabled = true",
        "INSERT INTO spent SELECT 1", "PREPARE p AS SELECT 1", "/* SELECT */ DROP MATERIALIZED VIEW spent",
        "SELECT 1; DROP MATERIALIZED VIEW spent", "SELECT * FROM csv.`/etc/passwd`",
        "EXPLAIN PHYSICAL SELECT * FROM spent", "CREATE TABLE t USING csv OPTIONS (path '/etc/passwd')",
    ],
)  # fmt: skip
def test_a_reader_defines_nothing_in_any_way(engine, port, sql):
    with connected(port) as connection:
        with pytest.raises(psycopg.Error):
            connection.execute(sql)
        assert connection.execute("SHOW VIEWS").fetchall() == [("spent", "materialized view", "SELECT 1 AS a")]
    assert not engine.has_started
