"""The unit and the manifest of docs/operating.md are of the right syntax, and start what there is."""

import io
import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from configparser import ConfigParser
from pathlib import Path
from unittest import mock

import pytest
import yaml

from cepsql.errors import ExitCode, InterfaceError, OperationalError
from cepsql.server import serve as server
from cepsql.server.json_log import JsonLines
from cepsql.server.options import parser

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


def test_spark_settings_come_from_the_file(tmp_path, monkeypatch):
    given = {}

    def no_catalog(**arguments):
        given.update(arguments)
        raise OperationalError("there is no such catalog")

    file = tmp_path / "config.toml"
    file.write_text("[conf]\nspark.hadoop.fs.s3a.secret.key = 'hunter2'\nspark.ui.enabled = true\n")
    monkeypatch.setenv("CEPSQL_CONFIG", str(file))
    monkeypatch.setattr(server, "connect", no_catalog)
    monkeypatch.setattr(server, "log_json", lambda _: None)
    monkeypatch.setattr(server.signal, "signal", lambda *_: None)
    assert server.serve(["--catalog", "c.db", "--conf", "spark.ui.enabled=false"]) == ExitCode.QUERY
    assert given["conf"] == {"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.ui.enabled": "false"}
    file.write_text("[conf")
    with pytest.raises(InterfaceError, match="cannot be read"):
        server.serve(["--catalog", "c.db"])


def test_the_log_has_the_account_of_a_failure():
    log = io.StringIO()
    logger = logging.Logger("cepsql.example")
    logger.addHandler(logging.StreamHandler(log))
    logger.handlers[0].setFormatter(JsonLines())
    logger.error("it failed", extra={"query": "fraud", "detail": "at Spark.java:1, password=hunter2"})
    logger.warning("it goes on")
    first, second = map(json.loads, log.getvalue().splitlines())
    assert (first["query"], first["detail"]) == ("fraud", "at Spark.java:1, password=***")
    assert second.keys() == {"at", "level", "message"}


def test_a_server_that_waits_for_spark_ends_when_it_is_told_to(monkeypatch):
    waiting, told = threading.Event(), {}

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
    monkeypatch.setattr(server.signal, "signal", lambda number, handler: told.update({number: handler}))

    def hang_up() -> None:
        waiting.wait()
        told[signal.SIGHUP]()

    threading.Thread(target=hang_up, daemon=True).start()
    assert server.serve(["--catalog", "c.db"]) == ExitCode.OK
    assert {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} <= told.keys()


def test_the_manifest():
    manifest = yaml.safe_load(block("yaml"))
    assert (manifest["kind"], manifest["apiVersion"]) == ("Deployment", "apps/v1")
    template = manifest["spec"]["template"]
    assert manifest["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    (container,) = template["spec"]["containers"]
    given = parser().parse_args(container["args"][1:])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert container["args"][0] == "serve" and ports["metrics"] == given.metrics_port
    assert container["livenessProbe"]["httpGet"]["port"] in ports
    volumes = {volume["name"] for volume in template["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
