"""Where the catalogs of the tests are kept: SQLite files, and databases of a PostgreSQL server of the tests' own."""

import sys
import uuid
from pathlib import Path

import pytest
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from postgresql import running_postgresql
from skipping import or_skipped


@pytest.fixture(scope="session")
def postgresql():
    """A server; without PostgreSQL the tests are skipped, but where servers are required."""
    with or_skipped(running_postgresql) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request, tmp_path) -> str:
    """Where a catalog can be kept that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "catalog.db")
    url = sa.make_url(request.getfixturevalue("postgresql").url).set(drivername="postgresql+psycopg")
    name = f"catalog_{uuid.uuid4().hex}"
    with sa.create_engine(url, isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    return url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
