"""Webhooks, functions, the screen, and what else Spark writes."""

import contextlib
import http.server
import json
import socketserver
import sys
import threading
import types

import pyarrow as pa
import pytest

import cepsql
from cepsql.catalog import Sink
from cepsql.errors import OperationalError, ProgrammingError
from cepsql.sinks import Batch, WriterIdentity, open_sink
from cepsql.sinks.fitted import Unavailable

WRITER = WriterIdentity("q", 3, "checkpoint")


def opened(kind: str, key: tuple[str, ...] = (), **options: str):
    return open_sink(Sink("alerts", (), kind, tuple(options.items()), key), WRITER)


def rows(spark, *values):
    return spark.createDataFrame(list(values), "id INT, text STRING").coalesce(1)


@contextlib.contextmanager
def receiver(*answers: int, reason: str | None = None, retry_after: str = "0"):
    """A web server that answers with these codes, then with 200; gives its address and what it received. An answer has
    that reason, refers elsewhere, and says when to come again."""
    received, codes = [], list(answers)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((dict(self.headers), json.loads(body)))
            self.send_response(codes.pop(0) if codes else 200, reason)
            self.send_header("Location", "/login")
            self.send_header("Retry-After", retry_after)
            self.end_headers()

        def do_GET(self):
            received.append((dict(self.headers), None))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook/s3cret", received
    finally:
        server.shutdown()
        server.server_close()


def test_rows_are_posted_with_a_key_that_stays(spark):
    with receiver() as (url, received):
        sink = opened("webhook", url=url, **{"header.Authorization": "Bearer t0ken"})
        assert sink.accept(rows(spark, (1, "a"), (2, "b"), (2, "b")), 0) == 3
        first = [headers["Idempotency-Key"] for headers, _ in received]
        sink.accept(rows(spark, (2, "b"), (1, "a"), (2, "b")), 0)
        again = [headers["Idempotency-Key"] for headers, _ in received[3:]]
        sink.accept(rows(spark, (1, "a")), 1)
    assert [body for _, body in received[:3]] == [
        {"id": 1, "text": "a"},
        {"id": 2, "text": "b"},
        {"id": 2, "text": "b"},
    ]
    assert len(set(first)) == 3 and set(again) == set(first)
    headers = received[-1][0]
    assert headers["Idempotency-Key"] not in first
    assert (headers["Authorization"], headers["Content-Type"]) == ("Bearer t0ken", "application/json")


def test_rows_of_one_key_of_the_sink_have_one_key(spark):
    with receiver() as (url, received):
        sink = opened("webhook", ("id",), url=url)
        sink.accept(rows(spark, (1, "a"), (2, "b")), 0)
        sink.accept(rows(spark, (1, "c")), 1)
    keys = [headers["Idempotency-Key"] for headers, _ in received]
    assert keys[0] == keys[2] != keys[1]


def test_changes_of_one_key_have_keys_of_their_own(spark):
    changes = spark.createDataFrame([(1, "a", "-U"), (1, "b", "+U")], "id INT, text STRING, op STRING").coalesce(1)
    with receiver() as (url, received):
        sink = open_sink(Sink("alerts", (), "webhook", (("url", url),), ("id",)), WRITER, changes=True)
        for batch in (0, 1, 1):
            sink.accept(changes, batch)
    keys = [headers["Idempotency-Key"] for headers, _ in received]
    assert len(set(keys)) == 4 and keys[2:4] == keys[4:]


def test_a_whole_batch_is_posted(spark):
    with receiver() as (url, received):
        sink = opened("webhook", url=url, per="batch")
        sink.accept(rows(spark, (1, "a"), (2, None)), 0)
        sink.accept(rows(spark), 1)
    assert [body for _, body in received] == [[{"id": 1, "text": "a"}, {"id": 2, "text": None}]]


def test_an_answer_that_may_pass_is_waited_for(spark, caplog):
    with receiver(503, 429, 200, 500) as (url, received):
        sink = opened("webhook", url=url)
        assert sink.accept(rows(spark, (1, "a"), (2, "b")), 0) == 2
    assert [body["id"] for _, body in received] == [1, 1, 1, 2, 2]
    assert (sink.retries, sink.waiting) == (3, None)
    assert "sink alerts does not answer: http://127.0.0.1 answers 503" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    ("said", "least"),
    [
        ("7", 7),
        ("Wed, 01 Jan 2200 00:00:00 GMT", 20),
        ("Wed, 01 Jan 2020 00:00:00 GMT", 0.2),
        ("soon", 0.2),
        ("-1", 0.2),
    ],
)
def test_a_receiver_says_how_long_it_wants_to_be_left_alone(spark, said, least):
    with receiver(503, retry_after=said) as (url, received):
        sink, waits = opened("webhook", url=url, retry_for="20 seconds"), []
        sink._closed = types.SimpleNamespace(wait=waits.append)
        assert sink.accept(rows(spark, (1, "a")), 0) == 1
    assert len(received) == 2 and waits == [pytest.approx(least, abs=5 if least == 20 else 1e-6)]


def test_an_answer_that_will_not_pass_ends_it(spark):
    with receiver(400) as (url, received), pytest.raises(OperationalError, match="answers 400 Bad Request") as raised:
        opened("webhook", url=url).accept(rows(spark, (1, "a")), 0)
    assert len(received) == 1
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("code", [301, 302, 303, 307])
def test_rows_that_are_sent_elsewhere_are_not_delivered(code, spark):
    with receiver(code) as (url, received), pytest.raises(OperationalError, match=f"answers {code}"):
        opened("webhook", url=url).accept(rows(spark, (1, "a")), 0)
    assert [body for _, body in received] == [{"id": 1, "text": "a"}]


@contextlib.contextmanager
def answering(answer: bytes):
    """A server that answers so, and leaves the connection open; gives a sink that posts to it."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            self.request.sendall(answer)
            ended.wait()

    ended = threading.Event()
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield opened("webhook", url=f"http://127.0.0.1:{server.server_address[1]}", timeout="10 seconds")
    finally:
        ended.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "rest",
    [
        "Content-Length: 9999\r\n\r\nwithout an end",
        "Content-Length: 99999999999999999999\r\n\r\nx",
        "Transfer-Encoding: chunked\r\n\r\n-5\r\nx",
        "Transfer-Encoding: chunked\r\n\r\nnumber\r\nx",
    ],
)
def test_a_row_that_was_accepted_was_so_whatever_else_is_said(rest):
    with answering(f"HTTP/1.1 200 OK\r\n{rest}".encode()) as sink:
        assert sink._post("{}", "key") == 1


def test_the_time_of_a_request_is_limited_however_slowly_its_answer_comes():
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            with contextlib.suppress(OSError):
                self.request.sendall(b"HTTP/1.1 ")
                while not ended.wait(0.05):
                    self.request.sendall(b"x")

    ended = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sink = opened("webhook", url=f"http://127.0.0.1:{server.server_address[1]}", timeout="500 milliseconds")
        with pytest.raises(Unavailable, match=r"no answer within 0\.5 seconds"):
            sink._post("{}", "key")
        ended.set()
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Content-Length", "5", "cannot set the header Content-Length"),
        ("transfer-encoding", "chunked", "cannot set the header transfer-encoding"),
        ("HOST", "elsewhere", "cannot set the header HOST"),
        ("Idempotency-Key", "1", "cannot set the header Idempotency-Key"),
        ("X: y\r\nZ", "1", "does not name a header"),
        ("X Y", "1", "does not name a header"),
        ("X", "1\r\nHost: elsewhere", "has a line break"),
        ("X", "1\nContent-Length: 0", "has a line break"),
    ],
)
def test_headers_that_would_make_another_request_are_refused(name, value, said):
    """CREATE SINK opens the sink, too."""
    with pytest.raises(ProgrammingError, match=said):
        opened("webhook", url="http://h/", **{f"header.{name}": value})


@pytest.mark.parametrize("place", ["http://[elsewhere", "file:///etc/passwd"])
def test_where_a_redirect_leads_is_of_no_matter(place):
    answer = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
    with (
        answering(answer.encode()) as sink,
        pytest.raises(OperationalError, match=r"sink alerts: http://127.0.0.1 answers 302 Found\n"),
    ):
        sink._post("{}", "key")


def test_no_header_is_shown(spark, monkeypatch):
    headers = {"header.Authorization": "Bearer t0ken", "header.X-Place": "pl4ce"}
    with receiver(403, reason="no t0ken of pl4ce at hook/s3cret") as (url, _):
        with pytest.raises(OperationalError, match="answers 403 no ") as raised:
            opened("webhook", url=url, **headers).accept(rows(spark, (1, "a")), 0)
        assert not any(secret in str(raised.value) for secret in ("t0ken", "pl4ce", "s3cret"))
        with pytest.raises(ProgrammingError, match=r"option header\.X of sink alerts has a line break") as raised:
            opened("webhook", url=url, **{"header.X": "t0ken\n"})
        assert "t0ken" not in str(raised.value)
    engine = cepsql.connect(spark)
    options = ", ".join(f"'{name}' '{value}'" for name, value in headers.items())
    engine.sql(f"CREATE SINK h USING webhook OPTIONS (url 'http://u:s3cret@${{HOST}}/x', {options})")
    shown = str([engine.sql(f"{said} h").rows for said in ("SHOW CREATE SINK", "DESCRIBE EXTENDED")])
    assert not any(secret in shown for secret in ("t0ken", "pl4ce", "s3cret"))


def test_patience_ends(spark):
    with receiver() as (url, _):
        """The address of a server that is gone."""
    sink = opened("webhook", url=url, retry_for="1 second")
    with pytest.raises(OperationalError, match="sink alerts does not answer: http://127") as raised:
        sink.accept(rows(spark, (1, "a")), 0)
    assert sink.retries > 0 and "s3cret" not in str(raised.value)


def test_a_function_gets_rows_and_batch(spark, monkeypatch):
    calls = []
    module = types.ModuleType("my_alerts")
    module.handler = types.SimpleNamespace(send=lambda rows, batch: calls.append((rows, batch)))
    monkeypatch.setitem(sys.modules, "my_alerts", module)
    sink = opened("python", function="my_alerts:handler.send")
    sink.check([("id", "int"), ("text", "string")])
    assert (sink.accept(rows(spark, (1, "a")), 4), sink.accept(rows(spark), 5)) == (1, 0)
    ((table, batch),) = calls
    assert isinstance(table, pa.Table) and table.to_pylist() == [{"id": 1, "text": "a"}]
    assert (batch, batch.key) == (Batch(WRITER, 4), "q/checkpoint/4")


def test_a_function_that_would_end_the_process_ends_the_query(spark, monkeypatch):
    monkeypatch.setitem(sys.modules, "my_alerts", types.SimpleNamespace(leave=lambda rows, batch: sys.exit(3)))
    sink = opened("python", function="my_alerts:leave")
    with pytest.raises(OperationalError, match="my_alerts:leave of sink alerts raised SystemExit"):
        sink.accept(rows(spark, (1, "a")), 0)


def test_the_screen(spark, capsys):
    sink = opened("console", format="csv")
    sink.accept(rows(spark, (1, "a")), 0)
    sink.accept(rows(spark), 1)
    sink.accept(rows(spark, (2, "b")), 2)
    assert capsys.readouterr().out == "id,text\n1,a\n2,b\n"


def test_another_format_of_spark(spark):
    assert opened("noop").accept(rows(spark, (1, "a"), (2, "b")), 0) == 2
    with pytest.raises(OperationalError, match="data source"):
        opened("nowhere").accept(rows(spark, (1, "a")), 0)
    with pytest.raises(OperationalError, match="data source") as raised:
        opened("sqllite").accept(rows(spark, (1, "a")), 0)
    assert raised.value.hint == "did you mean USING sqlite?"
