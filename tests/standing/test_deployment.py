"""The unit and the manifest of docs/operating.md are of the right syntax, and start what there is."""

import io
import json
import logging
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import urllib.request
import warnings
from configparser import ConfigParser
from pathlib import Path
from unittest import mock

import pytest
import yaml

from cepsql.catalog.working_for import QUERY, thread_beside
from cepsql.engine import connect
from cepsql.errors import ExitCode, InterfaceError, OperationalError, SessionError
from cepsql.frontends.server import serve as server
from cepsql.frontends.server.json_log import JsonLines, log_json
from cepsql.frontends.server.metrics_http import listen
from cepsql.frontends.server.serve_options import parser

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")


def block(kind: str) -> str:
    return re.search(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]


def test_the_help_is_in_the_page():
    assert block("text") == parser().format_help()


def test_the_unit(tmp_path):
    unit = ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str
    unit.read_string(block("ini"))
    assert unit.sections() == ["Unit", "Service", "Install"]
    command = shlex.split(unit["Service"]["ExecStart"])
    assert command[1] == "serve"
    assert parser().parse_args(command[2:]).metrics_port == 9464


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_the_unit_is_verified(tmp_path):
    text = block("ini").replace("/opt/cepsql/bin/cepsql", "/bin/true").replace("User=cepsql\n", "")
    (tmp_path / "cepsql.service").write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "cepsql.service")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert [line for line in done.stderr.splitlines() if "cepsql.service" in line] == []


def test_the_command_says_what_is_missing(tmp_path):
    script = "import sys; from cepsql.cli import main; sys.exit(main(['serve', *sys.argv[1:]]))"

    def serve(*argv):
        environment = {name: value for name, value in os.environ.items() if name != "CEPSQL_CATALOG"}
        command = [sys.executable, "-c", script, *argv]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)

    done = serve()
    assert done.returncode == 2 and "--catalog or CEPSQL_CATALOG must say which catalog is served" in done.stderr
    done = serve("--catalog", str(tmp_path / "nowhere" / "catalog.db"))
    (line,) = map(json.loads, done.stderr.splitlines())
    assert (done.returncode, line["level"]) == (1, "error") and "does not exist" in line["message"]
    (tmp_path / "empty.db").touch()
    for name, what in (("missing.db", "is missing"), ("empty.db", "is empty")):
        done = serve("--catalog", str(tmp_path / name))
        (line,) = map(json.loads, done.stderr.splitlines())
        assert done.returncode == 1 and f"the catalog {tmp_path / name} {what}" in line["message"]
        assert "--create-catalog" in line["message"]
    assert not (tmp_path / "missing.db").exists()


def test_spark_settings_come_from_the_file(tmp_path, monkeypatch):
    arguments_of_connect = {}

    def no_catalog(**arguments):
        arguments_of_connect.update(arguments)
        raise OperationalError("there is no such catalog")

    file = tmp_path / "config.toml"
    file.write_text("[conf]\nspark.hadoop.fs.s3a.secret.key = 'hunter2'\nspark.ui.enabled = true\n")
    monkeypatch.setenv("CEPSQL_CONFIG", str(file))
    monkeypatch.setattr(server, "connect", no_catalog)
    monkeypatch.setattr(server, "log_json", lambda _: None)
    monkeypatch.setattr(server.signal, "signal", lambda *_: None)
    assert server.serve(["--catalog", "c.db", "--conf", "spark.ui.enabled=false"]) == ExitCode.QUERY
    assert arguments_of_connect["conf"] == {"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.ui.enabled": "false"}
    file.write_text("[conf")
    with pytest.raises(InterfaceError, match="cannot be read"):
        server.serve(["--catalog", "c.db"])


def test_the_log_has_the_account_of_a_failure():
    log = io.StringIO()
    logger = logging.Logger("cepsql.example")
    logger.addHandler(logging.StreamHandler(log))
    logger.handlers[0].setFormatter(JsonLines())
    logger.error(
        "it failed", extra={"query": "fraud", "hint": "make room", "detail": "at Spark.java:1, password=hunter2"}
    )
    logger.warning("it goes on")
    token = QUERY.set("fraud")
    waits = thread_beside(lambda: logger.warning("it waits"), "beside")
    QUERY.reset(token)
    waits.start()
    waits.join()
    first, second, *others = map(json.loads, log.getvalue().splitlines())
    assert [line.get("query") for line in others] == ["fraud"]
    assert (first["query"], first["hint"], first["detail"]) == ("fraud", "make room", "at Spark.java:1, password=***")
    assert second.keys() == {"at", "level", "message"}


def test_the_log_has_what_others_say(monkeypatch):
    log, root = io.StringIO(), logging.getLogger()
    logger = logging.getLogger("cepsql")
    for one in (root, logger):
        monkeypatch.setattr(one, "handlers", [])
    for name in ("propagate", "level"):
        monkeypatch.setattr(logger, name, getattr(logger, name))
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        log_json(log)
        try:
            logging.getLogger("sqlalchemy.pool").error("a connection broke", exc_info=OSError("password=hunter2"))
            warnings.warn("old", stacklevel=1)
            ending = threading.Thread(target=lambda: 1 / 0, name="one")
            ending.start()
            ending.join()
        finally:
            logging.captureWarnings(False)
    broke, old, ended = map(json.loads, log.getvalue().splitlines())
    assert broke["message"] == "a connection broke" and broke["detail"] == "OSError: password=***"
    assert "UserWarning: old" in old["message"] and old["level"] == "warning"
    assert ended["message"] == "the thread one ended: division by zero" and "ZeroDivisionError" in ended["detail"]


@pytest.fixture
def addresses(monkeypatch):
    """Where a server answers, of which `asked` tells when somebody waits and `go` lets it go on."""
    monkeypatch.setattr("cepsql.frontends.server.metrics_http._PATIENCE_SECONDS", 0.2)
    asked, go = threading.Event(), threading.Event()

    def health():
        asked.set()
        go.wait()
        return True, {"role": "leads"}

    server = listen("127.0.0.1", 0, mock.MagicMock(collect=lambda: []), health)
    yield server, asked, go
    server.shutdown()
    server.server_close()


def test_whoever_asks_leaves_no_trace_and_keeps_nobody_waiting(addresses, capfd, caplog):
    server, asked, go = addresses
    with socket.create_connection(server.server_address) as impatient:
        impatient.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        impatient.send(b"GET /healthz HTTP/1.1\r\n\r\n")
        asked.wait()
    go.set()
    with socket.create_connection(server.server_address) as silent:
        silent.settimeout(10)
        assert silent.recv(1) == b""
    url = f"http://{server.address}"
    with urllib.request.urlopen(urllib.request.Request(f"{url}/healthz", method="HEAD")) as answer:
        assert (answer.status, answer.read()) == (200, b"")
    assert urllib.request.urlopen(f"{url}/healthz").read() == b'{"role": "leads"}\n'
    assert urllib.request.urlopen(f"{url}/metrics").read() == b""
    assert capfd.readouterr().err == "" and not caplog.records


def test_a_defect_behind_an_address_is_logged(addresses, capfd, caplog):
    server, _, _ = addresses
    server.RequestHandlerClass.do_GET = lambda _: 1 / 0
    with socket.create_connection(server.server_address) as asking:
        asking.send(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert asking.recv(1) == b""
    assert "a request could not be answered: division by zero" in caplog.text
    assert capfd.readouterr().err == ""


def test_addresses_may_be_of_ipv6():
    try:
        server = listen("::1", 0, mock.MagicMock(collect=lambda: []), lambda: (True, {}))
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    try:
        assert urllib.request.urlopen(f"http://{server.address}/healthz").read() == b"{}\n"
    finally:
        server.shutdown()
        server.server_close()


def test_a_server_that_waits_for_spark_ends_when_it_is_told_to(monkeypatch):
    waiting, handlers = threading.Event(), {}

    class NeverStarts:
        @property
        def spark(self):
            waiting.set()
            threading.Event().wait()

        def open_home(self, leads, lease):
            home = mock.MagicMock()
            home.reconciler.owned = {}
            return home

        def close(self, at_exit):
            assert at_exit

    monkeypatch.setattr(server, "connect", lambda **_: NeverStarts())
    monkeypatch.setattr(server, "log_json", lambda _: None)
    monkeypatch.setattr(server.signal, "signal", lambda number, handler: handlers.update({number: handler}))

    def hang_up() -> None:
        waiting.wait()
        handlers[signal.SIGHUP]()

    threading.Thread(target=hang_up, daemon=True).start()
    assert server.serve(["--catalog", "c.db"]) == ExitCode.OK
    assert {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} <= handlers.keys()


def test_a_server_whose_catalog_is_away_is_well(monkeypatch):
    monkeypatch.setattr(server, "start_spark", lambda *_: None)
    monkeypatch.setattr(server, "_EVERY_SECONDS", 0)
    stop, runs = threading.Event(), server.Server(mock.MagicMock())
    runs._home.reconciler.owned = {}
    runs._worked -= 1000

    def away():
        stop.set()
        raise OperationalError("the catalog c.db cannot be used", hint="wait")

    monkeypatch.setattr(runs, "_work", away)
    assert not runs.health()[0]
    assert runs.run(stop) == ExitCode.OK
    well, said = runs.health()
    assert well and said["catalog"] == "the catalog c.db cannot be used; wait"


def test_the_manifest():
    manifest = yaml.safe_load(block("yaml"))
    assert (manifest["kind"], manifest["apiVersion"]) == ("Deployment", "apps/v1")
    template = manifest["spec"]["template"]
    assert manifest["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    (container,) = template["spec"]["containers"]
    arguments = parser().parse_args(container["args"][1:])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert container["args"][0] == "serve" and ports["metrics"] == arguments.metrics_port
    assert container["livenessProbe"]["httpGet"]["port"] in ports
    volumes = {volume["name"] for volume in template["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


@pytest.mark.parametrize("starts", [True, False])
def test_a_server_shows_itself_while_its_spark_starts(tmp_path, monkeypatch, starts):
    engine = connect(catalog=str(tmp_path / "catalog.db"))
    serving, stop, seen = server.Server(engine), threading.Event(), []
    leases = engine.home.states.leases

    def start_spark(*_):
        seen.append((set(leases.holders()), serving.health()[1]["role"]))
        if not starts:
            raise SessionError("Java cannot be started")

    def work():
        plain()
        seen.append((set(leases.holders()), serving.health()[1]["role"]))
        stop.set()

    plain = serving._work
    monkeypatch.setattr(serving, "_work", work)
    monkeypatch.setattr(server, "start_spark", start_spark)
    monkeypatch.setattr(server, "_EVERY_SECONDS", 0.01)
    assert serving.run(stop) == (ExitCode.OK if starts else ExitCode.SESSION)
    assert seen == [({"starting server"}, "starts"), ({"server"}, "leads")][: 1 + starts]
    assert not leases.holders()
    engine.close()
