"""What is wrong with the definition of a sink is said when it is opened; what each promises."""

import pytest

from cepsql.catalog import Sink
from cepsql.errors import Error, ProgrammingError
from cepsql.sinks import WriterIdentity, open_sink, promise


@pytest.mark.parametrize(
    ("format", "options", "said"),
    [
        ("sqlite", {}, "sink s USING sqlite needs the option path"),
        (
            "sqlite",
            {"path": "x.db", "tabel": "t"},
            "sink s USING sqlite has no option tabel\n  hint: did you mean table",
        ),
        ("sqlite", {"path": "x.db", "PATH": "y.db"}, "the option PATH of sink s is given twice"),
        ("sqlite", {"path": "x.db", "schema": "t"}, "sink s USING sqlite has no option schema"),
        ("sqlite", {"path": "x.db", "create_table": "maybe"}, "the option create_table of sink s is false or true"),
        (
            "sqlite",
            {"path": "x.db", "retry_for": "soon"},
            "the option retry_for of sink s is a time such as",
        ),
        ("postgresql", {}, "sink s USING postgresql needs the option url"),
        ("postgresql", {"url": "nowhere"}, "the option url of sink s is no URL of a database"),
        ("postgresql", {"url": "mysql://host/db"}, "the option url of sink s does not begin with postgresql:"),
        ("webhook", {}, "sink s USING webhook needs the option url"),
        ("webhook", {"url": "ftp://host"}, "the option url of sink s does not begin with http:// or https://"),
        ("webhook", {"url": "http://[::1"}, "the option url of sink s is no address: its host or port cannot be"),
        ("webhook", {"url": "http://host:99999/"}, "the option url of sink s is no address"),
        ("webhook", {"url": "http://hooks..example.org/"}, "the option url of sink s is no address: its host or port"),
        ("webhook", {"url": "http://host/a b"}, "the option url of sink s has characters that no address has"),
        ("webhook", {"url": "http://me:pw@host/"}, "the option url of sink s has a user in it"),
        ("webhook", {"url": "http://host", "timeout": "0 seconds"}, "the option timeout of sink s is a time such as"),
        (
            "webhook",
            {"url": "http://host", "header.X": "ä"},
            "the option header.X of sink s has a line break, or letters",
        ),
        ("webhook", {"url": "http://host", "per": "day"}, "the option per of sink s is row or batch"),
        ("webhook", {"url": "http://host", "header": "x"}, "sink s USING webhook has no option header"),
        ("kafka", {}, "sink s does not say where Kafka is"),
        ("kafka", {"bootstrap.servers": "h"}, "sink s USING kafka has no option bootstrap.servers"),
        (
            "kafka",
            {"kafka.bootstrap.servers": "h", "kafka.transactional.id": "x"},
            "the option kafka.transactional.id is not supported for a sink",
        ),
        ("python", {}, "sink s USING python needs the option function"),
        ("console", {"format": "pdf"}, "the option format of sink s is table, "),
    ],
)
def test_wrong_options(format, options, said):
    with pytest.raises(Error) as raised:
        open_sink(Sink("s", (), format, tuple(options.items())), WriterIdentity("q", 1))
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("nowhere:send", "sink s finds no function nowhere:send: No module named 'nowhere'"),
        ("json:nothing", "sink s finds no function json:nothing: module 'json' has no attribute 'nothing'"),
        ("json", "sink s finds no function json: "),
        ("sys:maxsize", "sys:maxsize of sink s is no function"),
    ],
)
def test_functions_that_are_none(function, said):
    with pytest.raises(Error) as raised:
        open_sink(Sink("s", (), "python", (("function", function),)), WriterIdentity("q", 1)).check([("x", "int")])
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def send(", "SyntaxError: '(' was never closed"),
        ("x = 1 / 0", "ZeroDivisionError: "),
        ("exit()", "SystemExit"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(text, said, tmp_path, monkeypatch):
    (tmp_path / "broken_alerts.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    sink = open_sink(Sink("s", (), "python", (("function", "broken_alerts:send"),)), WriterIdentity("q", 1))
    with pytest.raises(ProgrammingError) as raised:
        sink.check([("x", "int")])
    assert str(raised.value).startswith(f"sink s cannot import broken_alerts: {said}")


@pytest.mark.parametrize(
    ("format", "promised"),
    [
        ("SQLite", "exactly once"), ("postgresql", "exactly once"), ("webhook", "at least once"),
        ("python", "at least once"), ("console", "at least once"), ("jdbc", "at least once"),
        ("delta", "exactly once"), ("noop", "nothing is kept"),
    ],
)  # fmt: skip
def test_promises(format, promised):
    assert promise(Sink("s", (), format)).startswith(promised)
