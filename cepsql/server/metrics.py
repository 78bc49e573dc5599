"""What a server tells Prometheus: the state and the counts of each query of its catalog."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cepsql.catalog.states import ALIVE, FAILED, FINISHED, LOST, PAUSED, STOPPED, QueryState
from cepsql.standing.report import lag_seconds, rows_per_second

_STATES = (*ALIVE, PAUSED, STOPPED, FAILED, FINISHED, LOST)

_COUNTERS = (
    ("rows_read", "rows_read", "Rows read, late and malformed ones included"),
    ("rows_out", "rows_out", "Rows given to the sink"),
    ("rows_late", "rows_late", "Rows that came after the watermark had passed them"),
    ("rows_ahead", "rows_ahead", "Rows whose event time lay too far ahead"),
    ("refresh_failures", "refresh_failures", "Readings of tables with REFRESH EVERY that failed"),
    ("late_alerts", "late_alerts", "Alerts of too large a share of late rows"),
    ("rows_malformed", "rows_malformed", "Rows that could not be read as declared"),
    ("matches", "matches", "Complete matches of row patterns"),
    ("timeouts", "timeouts", "Partial matches given out because their deadline passed"),
    ("batches", "batches", "Micro-batches"),
    ("batch_seconds", "seconds", "Seconds spent in micro-batches"),
    ("sink_retries", "sink_retries", "Tries of the sink after it did not answer"),
)
_GAUGES = (
    ("last_batch_seconds", "batch_seconds", "Seconds that the last micro-batch took"),
    ("records_behind", "records_behind", "Records of Kafka that were not yet read"),
    ("partial_matches", "open", "Keys of which something is undecided"),
    ("state_rows", "state_rows", "Rows in the state"),
    ("state_bytes", "state_bytes", "Bytes of the state"),
)


_DERIVED = (
    ("rows_per_second", rows_per_second, "Input rows a second of the last micro-batch, 0 if none runs any more"),
    ("lag_seconds", lag_seconds, "How far the watermark is behind the clock, in event time"),
    ("last_error_timestamp_seconds", lambda state: state.error_at, "When the last error was, as a Unix time"),
)


class QueryMetrics(Collector):
    """Reads the states of all queries when it is asked; `leads` tells whether this server runs them."""

    def __init__(self, states: Callable[[], Mapping[str, QueryState]], leads: Callable[[], bool]):
        self._states, self._leads = states, leads

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, each with the label `query`."""
        states = self._states()
        leader = GaugeMetricFamily(
            "cepsql_server_leads", "1 for the server that runs the queries, 0 for one in reserve"
        )
        leader.add_metric([], float(self._leads()))
        yield leader
        yield _states_of(states)
        restarts = CounterMetricFamily(
            "cepsql_query_restarts", "Starts after failures and take-overs", labels=["query"]
        )
        for name, state in states.items():
            restarts.add_metric([name], state.restarts)
        yield restarts
        for metric, key, meaning in _COUNTERS:
            counter = CounterMetricFamily(f"cepsql_query_{metric}", meaning, labels=["query"])
            yield _filled(counter, states, key)
        for metric, key, meaning in _GAUGES:
            gauge = GaugeMetricFamily(f"cepsql_query_{metric}", meaning, labels=["query"])
            yield _filled(gauge, states, key)
        for metric, value, meaning in _DERIVED:
            derived = GaugeMetricFamily(f"cepsql_query_{metric}", meaning, labels=["query"])
            for name, state in states.items():
                if (number := value(state)) is not None:
                    derived.add_metric([name], number)
            yield derived


def _states_of(states: Mapping[str, QueryState]) -> Metric:
    family = GaugeMetricFamily("cepsql_query_state", "1 for the state that the query is in", labels=["query", "state"])
    for name, state in states.items():
        for known in _STATES:
            family.add_metric([name, known], float(state.state == known))
    return family


def _filled(
    family: CounterMetricFamily | GaugeMetricFamily, states: Mapping[str, QueryState], key: str
) -> CounterMetricFamily | GaugeMetricFamily:
    for name, state in states.items():
        value = (state.progress or {}).get(key)
        if value is not None:
            family.add_metric([name], value)
    return family
