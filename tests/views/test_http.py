"""Views over HTTP: rows as JSON, for whom they are meant."""

import base64
import contextlib
import datetime
import decimal
import json
import urllib.error
import urllib.request

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kept_views import WrittenView, keep_view

import cepsql
import cepsql.catalog.mounts
from cepsql.frontends.server.wire.limits import Limits
from cepsql.frontends.server.wire.users import User, Users
from cepsql.frontends.server.wire.view_http import HttpListener

LATE = (("city", "string"), ("missing", "int"), ("n", "bigint"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with cepsql.connect() as engine:
        rows = pa.table({"city": ["Rome", "Oslo", None], "missing": pa.array([1, 2, None], pa.int32()), "n": [3, 4, 5]})
        keep_view(engine, tmp_path_factory.mktemp("http") / "views.db", "late", LATE, rows, key=("city",))
        yield engine


@contextlib.contextmanager
def listening(engine, users=Users(None), limits=Limits()):  # noqa: B008
    listener = HttpListener(engine, "127.0.0.1", 0, users, limits)
    try:
        yield "http://{}:{}".format(*listener.address)
    finally:
        listener.close()


@pytest.fixture(scope="module")
def address(engine):
    with listening(engine) as address:
        yield address


def asked(url: str, body: object = None, **headers: str) -> tuple[int, object]:
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request_headers = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): text for name, text in headers.items()
    }
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, request_headers), timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_rows_of_a_view(address, engine):
    assert asked(f"{address}/views") == (200, ["late"])
    assert asked(f"{address}/views/late?city=Rome") == (200, [{"city": "Rome", "missing": 1, "n": 3}])
    assert asked(f"{address}/views/LATE?n=4&missing=2") == (200, [{"city": "Oslo", "missing": 2, "n": 4}])
    assert asked(f"{address}/views/late?city=x%27%20OR%20%271%27=%271") == (200, [])
    assert len(asked(f"{address}/views/late?limit=2")[1]) == 2
    assert not engine.has_started


def test_queries(address):
    query = {"sql": "SELECT city FROM late WHERE n > $1 ORDER BY n", "parameters": [3]}
    assert asked(f"{address}/query", query) == (200, [{"city": "Oslo"}, {"city": None}])


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("views/later", None, 404, "there is no materialized view later"),
        ("views/late?town=Rome", None, 400, "view late has no column town"),
        ("views/late?n=many", None, 400, "n is of type BIGINT, which 'many' is not"),
        ("views/late?limit=-1", None, 400, "limit is a number of rows, not '-1'"),
        ("query", {"sql": "DROP MATERIALIZED VIEW late"}, 400, "only queries are answered so"),
        ("query", {"sql": "SELECT nope FROM late"}, 400, "there is no column nope"),
        ("query", {"sql": "SELECT rank() OVER (ORDER BY n) AS r FROM late"}, 403, "only Spark can answer this"),
        ("query", {"sql": 5}, 400, "a query is"),
        ("query", b"[[[[", 400, "a query is"),
        ("query", b"x" * 2_000_000, 413, "a request has at most 1000000 bytes"),
    ],
)
def test_what_is_wrong_is_said(address, path, body, status, said):
    code, answer = asked(f"{address}/{path}", body)
    assert (code, answer["error"][: len(said)]) == (status, said)


def test_pages_of_other_sites_get_nothing(address):
    query = {"sql": "SELECT city FROM late"}
    assert asked(f"{address}/query", query, Content_Type="text/plain")[0] == 415
    assert asked(f"{address}/views", Host="evil.example")[0] == 403


def test_only_who_knows_the_password_is_answered(engine):
    def basic(name: str, password: str) -> str:
        return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()

    with listening(engine, Users({"anna": User("anna", "reader", "right")})) as address:
        url = f"{address}/views"
        assert asked(url)[0] == 401
        for wrong in (basic("anna", "wrong"), basic("anna", ""), basic("otto", ""), "Basic %%%", "Bearer right"):
            assert asked(url, Authorization=wrong)[0] == 401
        assert asked(url, Authorization=basic("anna", "right")) == (200, ["late"])


def test_too_many_rows_are_refused(engine):
    with listening(engine, limits=Limits(rows=2)) as address:
        status, answer = asked(f"{address}/views/late")
        assert (status, answer["error"]) == (413, "the answer has more than 2 rows")


# Changes, rows that are put in, and prepared calls


def events_of(url: str, many: int, **headers: str) -> list[dict[str, str]]:
    """Return so many server-sent events, then leave."""
    events: list[dict[str, str]] = [{}]
    request_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    with urllib.request.urlopen(urllib.request.Request(url, headers=request_headers), timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        for line in answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name and value:
                events[-1][name] = value
            elif len(events) == many:
                return events
            else:
                events.append({})
    return events


@pytest.fixture
def changing(tmp_path):
    with cepsql.connect(catalog=str(tmp_path / "catalog.db")) as engine:
        columns = (("city", "string"), ("n", "bigint"))
        view = WrittenView(engine, f"sqlite:///{tmp_path / 'v.db'}", "spent", columns, ["city"])
        view.write(0, [("+I", "Rome", 1)])
        yield engine, view


def test_changes_are_server_sent_events(changing):
    engine, view = changing
    with listening(engine) as address:
        (first,) = events_of(f"{address}/views/spent/changes", 1)
        assert (first["event"], json.loads(first["data"])) == ("rows", [{"city": "Rome", "n": 1, "op": "+I"}])
        view.write(1, [("-U", "Rome", 1), ("+U", "Rome", 2)])
        view.write(2, [("+I", f"{n}", n) for n in range(1500)])
        second, *third = events_of(f"{address}/views/spent/changes", 3, Last_Event_ID=first["id"])
        assert [row["op"] for row in json.loads(second["data"])] == ["-U", "+U"]
        # A large batch has its token at its end.
        assert ["id" in event for event in third] == [False, True]
        (fourth,) = events_of(f"{address}/views/spent/changes?since={second['id']}", 1)
        assert fourth == third[0]
        assert asked(f"{address}/views/spent/changes?since=x")[0] == 400
        assert asked(f"{address}/views/spend/changes")[0] == 404
    assert not engine.has_started


def test_those_who_follow_are_not_too_many(changing):
    engine, _ = changing
    with (
        listening(engine, limits=Limits(connections=3)) as address,
        urllib.request.urlopen(f"{address}/views/spent/changes", timeout=60) as first,
    ):
        first.readline()
        status, said = asked(f"{address}/views/spent/changes")
        assert (status, said["error"]) == (503, "1 clients follow views already")
        assert asked(f"{address}/views/spent")[0] == 200


STREAM = "CREATE STREAM orders (city STRING, n INT, at TIMESTAMP, total DECIMAL(8, 2), WATERMARK FOR at AS at)"


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_rows_are_put_into_a_stream(changing, tmp_path, format):
    engine, _ = changing
    folder = tmp_path / "orders"
    engine.sql(f"{STREAM} USING {format} OPTIONS (path '{folder}')")
    owner = Users(None, "owner")
    row = '{"city": "Rome", "n": 1, "at": "2026-01-05T10:00:00Z", "total": 1.10}'
    lines = f'{row}\n\n{{"CITY": null}}\n'.encode()
    kind = {"Content_Type": "application/x-ndjson"}
    with listening(engine, owner) as address:
        status, put = asked(f"{address}/streams/orders", lines, **kind, Idempotency_Key="a")
        (file,) = folder.iterdir()
        assert (status, put) == (200, {"rows": 2, "repeated": False, "token": f"orders@{file.name}"})
        again = asked(f"{address}/streams/ORDERS", lines, **kind, Idempotency_Key="a")[1]
        assert again == put | {"repeated": True}
        assert asked(f"{address}/streams/orders", b"\n", **kind)[1]["token"] is None
        status, said = asked(f"{address}/streams/orders", b"{}", **kind, Idempotency_Key="a")
        assert status == 409 and said["error"].startswith("the key 'a' was given with other rows before")
        assert asked(f"{address}/streams/orders", row.encode(), **kind)[0] == 200
        files = list(folder.iterdir())
        assert len(files) == 2 and all(file.name.startswith("post-") for file in files)
        if format == "parquet":
            ((one,),) = [table.to_pylist() for table in map(pq.read_table, files) if table.num_rows == 1]
            assert one == {
                "city": "Rome", "n": 1, "at": datetime.datetime(2026, 1, 5, 10, tzinfo=datetime.UTC),
                "total": decimal.Decimal("1.10"),
            }  # fmt: skip
        for body, error in {
            b"[1]": "line 1 is no JSON object",
            b"{}\n{": "line 2 is no JSON object",
            b'{"town": "x"}': "line 1: stream orders has no column town",
            b'{"city": 5}': "line 1: city is of type STRING, which 5 is not",
            b'{"n": 99999999999}': "line 1: n is of type INT, which 99999999999 is not",
            b'{"n": true}': "line 1: n is of type INT, which true is not",
            b'{"at": "noon"}': 'line 1: at is of type TIMESTAMP, which "noon" is not',
            b'{"total": 1e400}': "line 1: total is of type DECIMAL(8, 2), which",
            b'{"n": ' + b"[" * 100_000: "line 1 is no JSON object",
        }.items():
            status, said = asked(f"{address}/streams/orders", body, **kind)
            assert status == 400 and said["error"].startswith(error), said
        assert asked(f"{address}/streams/spent", b"{}", **kind)[0] == 400
        assert asked(f"{address}/streams/orders", b"{}", Content_Type="text/plain")[0] == 415
        assert len(list(folder.iterdir())) == 2
    with listening(engine) as address:
        assert asked(f"{address}/streams/orders", b"{}", **kind)[0] == 403


def test_no_row_goes_to_a_folder_whose_disk_is_not_mounted(changing, tmp_path, monkeypatch):
    engine, _ = changing
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "mountinfo").write_text("0 1 8:1 / / rw - ext4 /dev/x rw\n")
    (tmp_path / "fstab").write_text(f"UUID=0 {disk} ext4 defaults 0 2\n")
    monkeypatch.setattr(cepsql.catalog.mounts, "MOUNTED", tmp_path / "mountinfo")
    monkeypatch.setattr(cepsql.catalog.mounts, "EXPECTED", tmp_path / "fstab")
    engine.sql(f"{STREAM} USING json OPTIONS (path '{disk / 'orders'}')")
    with listening(engine, Users(None, "owner")) as address:
        status, said = asked(f"{address}/streams/orders", b"{}", Content_Type="application/x-ndjson")
        assert status >= 400 and said["error"].startswith("the folder of orders cannot be at")
    assert not list(disk.iterdir())


def test_prepared_calls(changing):
    engine, _ = changing
    engine.sql("PREPARE by_city(town) AS SELECT city, n FROM spent WHERE city = :town")
    engine.sql("PREPARE over AS SELECT city FROM spent WHERE n >= :least AND :least < n + 1")
    with listening(engine) as address:
        assert asked(f"{address}/call/by_city?town=Rome") == (200, [{"city": "Rome", "n": 1}])
        assert asked(f"{address}/call/by_city?town=x%27%20OR%20%271%27=%271") == (200, [])
        assert asked(f"{address}/call/over?least=1") == (200, [{"city": "Rome"}])
        for path, error in {
            "by_town": "there is no prepared statement by_town",
            "by_city": "no value was given for :town",
            "by_city?city=Rome": "by_city has no parameter city",
            "over?least=one": "least is of type BIGINT, which 'one' is not",
        }.items():
            status, said = asked(f"{address}/call/{path}")
            assert status == 400 and said["error"].startswith(error), said
        execute = {"sql": "EXECUTE by_city('Rome')"}
        assert asked(f"{address}/query", execute) == (200, [{"city": "Rome", "n": 1}])
