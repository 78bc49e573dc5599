"""What a server tells Prometheus of its queries."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from cepsql.catalog.states import ALIVE, FAILED, FAILING, FINISHED, LOST, PAUSED, RUNNING, STOPPED, WAITING, QueryState
from cepsql.frontends.server.metrics import QueryMetrics

PROGRESS = {"batches": 1, "rows_per_second": 1210.0, "bound": 94_000_000, "rows_read": 5}


def metrics(state: str, progress: dict) -> str:
    query_state = QueryState(
        name="q", desired=RUNNING, desired_since=0.0, restarts_asked=0, state=state, state_since=0.0, owner="server",
        epoch=1, restarts=3, error="no", error_at=50.0, progress=progress, progress_at=90.0, now=100.0,
    )  # fmt: skip
    registry = CollectorRegistry(auto_describe=False)
    registry.register(QueryMetrics(lambda: {"q": query_state}, lambda: True))
    return generate_latest(registry).decode()


@pytest.mark.parametrize("state", [*ALIVE, PAUSED, STOPPED, FAILED, FINISHED, LOST])
def test_each_state_is_told(state):
    ones = [line for line in metrics(state, PROGRESS).splitlines() if line.startswith("cepsql_query_state{")]
    assert [line for line in ones if line.endswith(" 1.0")] == [f'cepsql_query_state{{query="q",state="{state}"}} 1.0']


@pytest.mark.parametrize(("state", "rate"), [(RUNNING, 1210.0), (WAITING, 0.0), (FAILING, 0.0), (LOST, 0.0)])
def test_a_query_that_does_nothing_has_no_rate(state, rate):
    assert f'cepsql_query_rows_per_second{{query="q"}} {rate}' in metrics(state, PROGRESS)


def test_a_query_without_event_time_has_no_lag():
    assert 'cepsql_query_lag_seconds{query="q"} 6.0' in metrics(RUNNING, PROGRESS)
    assert "cepsql_query_lag_seconds{" not in metrics(RUNNING, PROGRESS | {"bound": None})


def test_failures_are_told():
    text = metrics(FAILING, PROGRESS)
    assert 'cepsql_query_restarts_total{query="q"} 3.0' in text
    assert 'cepsql_query_last_error_timestamp_seconds{query="q"} 50.0' in text


def test_rows_that_no_operator_used_are_told():
    text = metrics(RUNNING, PROGRESS | {"rows_null_time": 7, "attempts_given_up": 2})
    assert 'cepsql_query_rows_without_event_time_total{query="q"} 7.0' in text
    assert 'cepsql_query_attempts_given_up_total{query="q"} 2.0' in text
