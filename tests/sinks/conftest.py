"""Databases that tests write to."""

import sqlite3
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from postgresql import PostgreSQL, running_postgresql
from skipping import or_skipped

from cepsql.catalog import ColumnDefinition, Sink


@dataclass
class TestedDatabase:
    """A database of a format of sinks, with the options by which a sink finds it."""

    __test__ = False
    format: str
    options: dict[str, str]

    def sink(self, columns: str = "", key: str = "", **options: str) -> Sink:
        """Return a sink over the table `alerts`; columns as in `id INT, text STRING`."""
        return Sink(
            "alerts",
            tuple(ColumnDefinition(*part.strip().split(" ", 1)) for part in columns.split(";") if part.strip()),
            self.format,
            tuple((self.options | options).items()),
            tuple(key.split()),
        )

    def run(self, sql: str) -> list[tuple]:
        """Run a statement on a connection of its own and return its rows."""
        if self.format == "sqlite":
            connection = sqlite3.connect(self.options["path"])
        else:
            import psycopg

            connection = psycopg.connect(self.options["url"], options=f"-c search_path={self.options['schema']}")
        with connection:
            cursor = connection.execute(sql)
            rows = cursor.fetchall() if cursor.description else []
        connection.close()
        return rows


@pytest.fixture(scope="session")
def postgresql():
    """A server of the tests' own; without PostgreSQL they are skipped, but where servers are required."""
    with or_skipped(running_postgresql) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> TestedDatabase:
    if request.param == "sqlite":
        return TestedDatabase("sqlite", {"path": str(tmp_path / "alerts.db")})
    server: PostgreSQL = request.getfixturevalue("postgresql")
    # Each test has a schema of its own.
    schema = f"s{uuid.uuid4().hex}"
    tested = TestedDatabase("postgresql", {"url": server.url, "schema": "public"})
    tested.run(f"CREATE SCHEMA {schema}")
    tested.options["schema"] = schema
    return tested
