"""What a checkpoint knows of random programs stays as it is."""

from pathlib import Path

import pytest
from chance import rest_by_night
from golden import check, params
from plan.programs import COLUMNS, STREAMS

import cepsql
from cepsql.analysis.sql.canonical import digest
from cepsql.errors import Error
from cepsql.plan.identity import describe_plan


@pytest.fixture(scope="module")
def engine():
    with cepsql.connect(catalog="") as engine:
        for name in STREAMS:
            engine.sql(f"CREATE STREAM {name} {COLUMNS} USING csv OPTIONS (path '/{name}')")
        yield engine


@pytest.mark.parametrize("case", rest_by_night(params(Path(__file__).parent, "programs.txt"), 2))
def test_identity(case, update, engine):
    try:
        identity = digest(describe_plan(engine.query(case.text).plan, {}, str))[:16]
    except Error as error:
        identity = f"refused: {error.message}"
    check(case, identity, update)
