"""What statements say of queries, in rows of text."""

import pytest

from cepsql.catalog import RegisteredQuery
from cepsql.catalog.states import QueryState
from cepsql.render.answer_text import answer_text
from cepsql.standing.query_report import LISTED, described, lag_seconds, listed, listed_extended


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("waiting", "sink s does not answer"),
        ("failing", "the disk is full"),
        ("failed", "the disk is full"),
        ("running", None),
        ("stopped", None),
        ("lost", None),
    ],
)
def test_what_keeps_a_query_is_listed(state, said):
    progress = {"waiting": "sink s does not answer"}
    query_state = QueryState(
        "q", "running", 0.0, 0, state, 0.0, None, None, 3, "the disk is full", 0.0, progress, 0.0, 0.0
    )
    (row,) = listed([(RegisteredQuery("q", "s", "SELECT 1"), query_state)])
    assert (row[1], row[-1]) == (state, said or "into s")
    (row,) = listed_extended([(RegisteredQuery("q", "s", "SELECT 1"), query_state)])
    assert (row[1], row[-2], row[-1]) == (state, "3", said)
    description = dict(described(RegisteredQuery("q", "s", "SELECT 1"), query_state, False))
    assert (description["state"], description["reason"], description["restarts"]) == (state, said, "3")
    assert "the disk is full" in description["last error"]


@pytest.mark.parametrize(
    ("bound", "shown"),
    [
        (0, "1970-01-01 00:00:00Z"),
        (-1, "1969-12-31 23:59:59Z"),
        (1_772_442_000_999_999, "2026-03-02 09:00:00Z"),
        # Milliseconds that were taken for seconds.
        (1_772_442_000_000_000_000, "+58136-06-14 00:00:00Z"),
        (None, None),
    ],
)
def test_a_watermark_may_be_of_any_year(bound, shown):
    progress = {"bound": bound, "ended": False}
    query_state = QueryState("q", "running", 0.0, 0, "running", 0.0, None, None, 0, None, None, progress, 1.0, 1.0)
    assert dict(described(RegisteredQuery("q", None, "SELECT 1"), query_state, False))["watermark"] == shown


@pytest.mark.parametrize(
    ("desired", "ended", "lag"), [("running", False, 90), ("stopped", False, 10), ("running", True, None)]
)
def test_a_query_that_tells_nothing_is_farther_and_farther_behind(desired, ended, lag):
    progress = {"bound": 10_000_000, "ended": ended}
    query_state = QueryState("q", desired, 0.0, 0, "failed", 0.0, None, None, 0, None, None, progress, 20.0, 100.0)
    assert lag_seconds(query_state) == lag


def test_a_list_of_queries_fits_a_usual_screen():
    progress = {"rows_read": 123_456_789, "rows_out": 12_345, "bound": 0, "ended": False}
    query_state = QueryState(
        "q", "running", 0.0, 0, "running", 0.0, "host:123:abc", 7, 0, None, None, progress, 1.0, 1_764_000_000.0
    )
    rows = listed([(RegisteredQuery("card_fraud", "alerts_of_cards", "SELECT 1"), query_state)])
    assert max(map(len, answer_text(LISTED, rows, "table", "", "").splitlines())) <= 80
    assert rows == (("card_fraud", "running", "123456789", "12345", "20417 d", "into alerts_of_cards"),)
