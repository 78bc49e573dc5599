"""What statements say of queries, in rows of text."""

import pytest

from cepsql.catalog import RegisteredQuery
from cepsql.catalog.states import QueryState
from cepsql.standing.report import listed


@pytest.mark.parametrize(
    ("state", "said"),
    [("running", "sink s does not answer"), ("failed", "the disk is full"), ("stopped", None), ("lost", None)],
)
def test_what_keeps_a_query_is_listed(state, said):
    progress = {"waiting": "sink s does not answer"}
    known = QueryState("q", "running", 0.0, 0, state, 0.0, None, None, 0, "the disk is full", 0.0, progress, 0.0, 0.0)
    (row,) = listed([(RegisteredQuery("q", "s", "SELECT 1"), known)])
    assert (row[1], row[-1]) == (state, said)
