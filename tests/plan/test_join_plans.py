"""What becomes of joins of streams: which operators, in which order, by which event times."""

from pathlib import Path

import pytest
from catalog import engine
from golden import check, params

from cepsql.explain.text import explain_logical


@pytest.mark.parametrize("case", params(Path(__file__).parent, "joins.sql"))
def test_plan(case, update):
    check(case, explain_logical(engine().sql(case.text).plan), update)
