"""Clients of PostgreSQL that bring much SQL of their own: JDBC's driver, and pgcli."""

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest
import sqlglot
from test_wire import connected, engine, port  # noqa: F401

from cepsql.frontends.server.wire.client_catalog import _as_sqlite, _computed

JAR = "org.postgresql:postgresql:42.7.4"
SAID = """cepsql
spent TABLE
city text
n int8
total numeric
share float8
at timestamptz
local timestamp
day date
good bool
raw bytea
Rome 3 14.75 2026-03-29T01:30:00.000005Z
Rome
Oslo
42601 ERROR: there is no column nope
true
"""


def run(*command: object, **more: str) -> str:
    """Run a client, and return what it printed; skip the test where its package cannot be had."""
    completed = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, check=False, stdin=subprocess.DEVNULL,
        env=os.environ | more,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


@pytest.mark.nightly("it asks Maven Central for a driver")
def test_jdbc(port, tmp_path):  # noqa: F811
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("Maven or a JDK is not installed")
    run("mvn", "-q", "dependency:copy", f"-Dartifact={JAR}", f"-DoutputDirectory={tmp_path}")
    (jar,) = tmp_path.glob("*.jar")
    assert run("java", "-cp", jar, Path(__file__).parent / "jdbc" / "Ask.java", port) == SAID


@pytest.mark.nightly("it asks PyPI for pgcli")
def test_pgcli(port, tmp_path):  # noqa: F811
    venv.create(tmp_path / "env", with_pip=True)
    run(tmp_path / "env" / "bin" / "pip", "install", "-q", "pgcli")
    asked = [part for text in ("SELECT city, n FROM spent WHERE n > 3", "\\d", "\\dn") for part in ("-c", text)]
    said = run(
        tmp_path / "env" / "bin" / "pgcli", "--less-chatty", "-h", "127.0.0.1", "-p", port, "-U", "anna", "-d",
        "cepsql", *asked, HOME=str(tmp_path), TERM="xterm",
    )  # fmt: skip
    assert "| Oslo | 4 |" in said
    assert "| public | spent | table |" in said


def test_an_empty_statement_shows_that_a_connection_is_alive(port):  # noqa: F811
    with connected(port) as connection:
        connection.execute("", prepare=True)
        assert connection.execute("SELECT n FROM spent WHERE city = 'Rome'").fetchall() == [(3,)]


def test_catalog_queries_of_clients_that_pg_mimic_cannot_compute():
    tables = {"pg_class": [{"oid": 7, "relname": "spent", "relnamespace": 1, "relkind": "r"}], "pg_type": []}
    tables |= {"pg_namespace": [{"oid": 1, "nspname": "public", "nspowner": 1}]}
    asked = """SELECT n.nspname AS schema, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n
        ON n.oid = c.relnamespace WHERE c.relkind = ANY('{r,"v"}') AND n.nspname !~ '^pg_toast'
        AND n.nspname = (pg_catalog.current_schemas(true))[1] AND pg_catalog.pg_table_is_visible(c.oid)"""
    query = sqlglot.parse_one(asked, dialect="postgres")
    assert _computed(_as_sqlite(query), tables, "cepsql") == (["schema", "relname"], [("public", "spent")])
