"""Views over HTTP: rows as JSON, for whom they are meant."""

import base64
import contextlib
import json
import urllib.error
import urllib.request

import pyarrow as pa
import pytest
from kept_views import keep_view

import cepsql
from cepsql.server.wire.http import HttpListener
from cepsql.server.wire.limits import Limits
from cepsql.server.wire.users import User, Users

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
    given = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, given), timeout=60) as answer:
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
        ("views/late?n=many", None, 400, "n is BIGINT, and 'many' is none"),
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
