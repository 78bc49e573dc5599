"""The metrics of a server for Prometheus: the state and the counts of each query of its catalog."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from cepsql.catalog.states import ALIVE, FAILED, FINISHED, LOST, PAUSED, STOPPED, QueryState
from cepsql.standing.query_report import lag_seconds, rows_per_second

STATES = (*ALIVE, PAUSED, STOPPED, FAILED, FINISHED, LOST)
"""The values of the label `state` of cepsql_query_state."""


def _progress(key: str) -> Callable[[QueryState], float | None]:
    return lambda state: (state.progress or {}).get(key)


@dataclass(frozen=True)
class QueryMetric:
    """A metric of each query: its name without prefix and suffix, its help text, its value (None: unknown)."""

    name: str
    meaning: str
    value: Callable[[QueryState], float | None]
    counts: bool = False

    @property
    def full_name(self) -> str:
        """The name as Prometheus shows it; that of a counter ends with _total."""
        return f"cepsql_query_{self.name}{'_total' if self.counts else ''}"

    def family(self, states: Mapping[str, QueryState]) -> Metric:
        """Return the metric of all queries."""
        kind = CounterMetricFamily if self.counts else GaugeMetricFamily
        family = kind(f"cepsql_query_{self.name}", self.meaning, labels=["query"])
        for name, state in states.items():
            if (number := self.value(state)) is not None:
                family.add_metric([name], number)
        return family


LEADS = ("cepsql_server_leads", "1 for the server that runs the queries, 0 for one in reserve")
STATE = ("cepsql_query_state", "1 for the state that the query is in")

QUERY_METRICS = (
    QueryMetric("restarts", "Starts after failures and take-overs", lambda state: state.restarts, counts=True),
    *(
        QueryMetric(name, meaning, _progress(key), counts=True)
        for name, key, meaning in (
            ("rows_read", "rows_read", "Rows read, late and malformed ones included"),
            ("rows_out", "rows_out", "Rows given to the sink"),
            ("rows_late", "rows_late", "Rows that came after the watermark had passed them"),
            ("rows_without_event_time", "rows_null_time", "Rows that were not used because their event time is NULL"),
            ("rows_ahead", "rows_ahead", "Rows whose event time lay too far ahead"),
            ("refresh_failures", "refresh_failures", "Readings of tables with REFRESH EVERY that failed"),
            ("late_alerts", "late_alerts", "Alerts of too large a share of late rows"),
            ("rows_malformed", "rows_malformed", "Rows that could not be read as declared"),
            ("matches", "matches", "Complete matches of row patterns"),
            ("timeouts", "timeouts", "Partial matches given out because their deadline passed"),
            ("attempts_given_up", "attempts_given_up", "Rows from which a pattern took too many steps to match"),
            ("batches", "batches", "Micro-batches"),
            ("batch_seconds", "seconds", "Seconds spent in micro-batches"),
            ("sink_retries", "sink_retries", "Tries of the sink after it did not answer"),
        )
    ),
    *(
        QueryMetric(name, meaning, _progress(key))
        for name, key, meaning in (
            ("last_batch_seconds", "batch_seconds", "Seconds that the last micro-batch took"),
            ("records_behind", "records_behind", "Records of Kafka that were not yet read"),
            ("partial_matches", "open", "Keys with undecided rows"),
            ("state_rows", "state_rows", "Rows in the state"),
            ("state_bytes", "state_bytes", "Bytes of the state"),
        )
    ),
    QueryMetric(
        "rows_per_second", "Input rows a second of the last micro-batch, 0 if none runs any more", rows_per_second
    ),
    QueryMetric("lag_seconds", "How far the watermark is behind the clock, in event time", lag_seconds),
    QueryMetric(
        "last_error_timestamp_seconds", "When the last error was, as a Unix time", lambda state: state.error_at
    ),
)
"""The metrics of each query, beside its state."""


class QueryMetrics(Collector):
    """Reads the states of all queries on each scrape; `leads` tells whether this server runs them."""

    def __init__(self, states: Callable[[], Mapping[str, QueryState]], leads: Callable[[], bool]):
        self._states, self._leads = states, leads

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, each with the label `query`."""
        states = self._states()
        leader = GaugeMetricFamily(*LEADS)
        leader.add_metric([], float(self._leads()))
        yield leader
        yield _states_of(states)
        for metric in QUERY_METRICS:
            yield metric.family(states)


def _states_of(states: Mapping[str, QueryState]) -> Metric:
    family = GaugeMetricFamily(*STATE, labels=["query", "state"])
    for name, state in states.items():
        for state_name in STATES:
            family.add_metric([name, state_name], float(state.state == state_name))
    return family
