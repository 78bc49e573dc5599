"""Alerts and a Grafana dashboard for the metrics of the server, written by docs/make_reference.py."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Alert:
    """An alert of Prometheus: its condition, how long it holds before it fires, and what it says."""

    name: str
    expression: str
    lasts: str
    severity: str
    summary: str


@dataclass(frozen=True)
class Panel:
    """A panel of the dashboard: its title, what it draws with the legend of each, and the unit of the axis."""

    title: str
    draws: tuple[tuple[str, str], ...]
    unit: str = "short"


ALERTS = (
    Alert(
        "CepsqlNoLeader", "(sum(cepsql_server_leads) or vector(0)) < 1", "1m", "page",
        "no server of the catalog runs its queries: look at the log of the servers",
    ),
    Alert(
        "CepsqlQueryFails", 'cepsql_query_state{state=~"failing|failed|lost"} == 1', "2m", "page",
        "a query does not run: SHOW QUERIES has the error",
    ),
    Alert(
        "CepsqlQueryWaits", 'cepsql_query_state{state="waiting"} == 1', "5m", "page",
        "a query waits for its sink or its source: SHOW QUERIES says for what",
    ),
    Alert(
        "CepsqlQueryRestarts", "increase(cepsql_query_restarts_total[1h]) > 3", "0m", "ticket",
        "a query fails again and again between batches that succeed: SHOW QUERY ... HISTORY has the errors",
    ),
    Alert(
        "CepsqlWatermarkLags", "cepsql_query_lag_seconds > 600", "10m", "page",
        "no rows come, their times stand still, or the query is too slow",
    ),
    Alert(
        "CepsqlFallsBehind",
        "deriv(cepsql_query_records_behind[15m]) > 0 and cepsql_query_records_behind > 100000", "15m", "ticket",
        "Kafka gets records faster than the query reads them",
    ),
    Alert(
        "CepsqlRowsLate",
        "rate(cepsql_query_rows_late_total[15m]) > 0.01 * rate(cepsql_query_rows_read_total[15m])", "15m", "ticket",
        "more than one row in a hundred is late: the delay of the watermark is too short",
    ),
    Alert(
        "CepsqlRowsMalformed", "increase(cepsql_query_rows_malformed_total[15m]) > 0", "0m", "ticket",
        "rows cannot be read as declared: a table of LATE ROWS INTO keeps them",
    ),
    Alert(
        "CepsqlRowsWithoutTime", "increase(cepsql_query_rows_without_event_time_total[15m]) > 0", "0m", "ticket",
        "rows have NULL as their event time, and no operator uses them: look at the column of WATERMARK FOR",
    ),
    Alert(
        "CepsqlAttemptsGivenUp", "increase(cepsql_query_attempts_given_up_total[1h]) > 0", "0m", "ticket",
        "a pattern has too many ways to match, so matches can be missing: make its conditions exclude each other",
    ),
    Alert(
        "CepsqlClocksAhead", "increase(cepsql_query_rows_ahead_total[15m]) > 0", "0m", "ticket",
        "a producer's clock runs ahead by more than AHEAD AT MOST allows",
    ),
    Alert(
        "CepsqlLateAlert", "increase(cepsql_query_late_alerts_total[15m]) > 0", "0m", "ticket",
        "a larger share of rows was late than WITH LATE ALERT allows",
    ),
    Alert(
        "CepsqlTableNotRefreshed", "increase(cepsql_query_refresh_failures_total[15m]) > 2", "0m", "ticket",
        "a table with REFRESH EVERY cannot be read: the query continues with its last rows",
    ),
    Alert(
        "CepsqlStateGrows",
        "deriv(cepsql_query_state_bytes[6h]) > 0 and cepsql_query_state_bytes > 4e9", "6h", "ticket",
        "the query keeps more and more: EXPLAIN LOGICAL shows what bounds its state",
    ),
)  # fmt: skip
"""Their thresholds are a beginning: set them to what is usual for your queries."""

NO_ALERT = {
    "cepsql_query_rows_out_total": "none; compare it with what is usual for the query",
    "cepsql_query_matches_total": "none; see `_rows_out_total`",
    "cepsql_query_timeouts_total": "none; what a timeout means depends on the query",
    "cepsql_query_batches_total": "none; with `_batch_seconds_total` it gives the mean time of a batch",
    "cepsql_query_batch_seconds_total": "none; near a rate of 1 a second the query is at its limit",
    "cepsql_query_last_batch_seconds": "none",
    "cepsql_query_rows_per_second": "none",
    "cepsql_query_partial_matches": "none; see `_state_bytes`",
    "cepsql_query_state_rows": "none; see `_state_bytes`",
    "cepsql_query_sink_retries_total": "none; a sink that is away for long makes the query `waiting`",
    "cepsql_query_last_error_timestamp_seconds": "none; it dates the state `failing`",
}  # fmt: skip
"""Metrics without an alert, and what they are for."""

_BY_QUERY = "{{query}}"
PANELS = (
    Panel("State", (("cepsql_query_state == 1", "{{query}}: {{state}}"),)),
    Panel("Lag of the watermark", (("cepsql_query_lag_seconds", _BY_QUERY),), "s"),
    Panel(
        "Rows a second",
        (
            ("rate(cepsql_query_rows_read_total[1m])", "{{query}} read"),
            ("rate(cepsql_query_rows_out_total[1m])", "{{query}} out"),
        ),
        "rowsps",
    ),
    Panel("Records of Kafka not yet read", (("cepsql_query_records_behind", _BY_QUERY),)),
    Panel(
        "Matches a minute",
        (
            ("60 * rate(cepsql_query_matches_total[5m])", "{{query}} matches"),
            ("60 * rate(cepsql_query_timeouts_total[5m])", "{{query}} timeouts"),
        ),
    ),
    Panel(
        "Rows not used, a minute",
        (
            ("60 * rate(cepsql_query_rows_late_total[5m])", "{{query}} late"),
            ("60 * rate(cepsql_query_rows_malformed_total[5m])", "{{query}} malformed"),
            ("60 * rate(cepsql_query_rows_without_event_time_total[5m])", "{{query}} without event time"),
            ("60 * rate(cepsql_query_rows_ahead_total[5m])", "{{query}} ahead"),
        ),
    ),
    Panel(
        "Time of a micro-batch",
        (
            ("rate(cepsql_query_batch_seconds_total[5m]) / rate(cepsql_query_batches_total[5m])", "{{query}} mean"),
            ("cepsql_query_last_batch_seconds", "{{query}} last"),
        ),
        "s",
    ),
    Panel(
        "Share of time in micro-batches", (("rate(cepsql_query_batch_seconds_total[5m])", _BY_QUERY),), "percentunit"
    ),
    Panel("State, in bytes", (("cepsql_query_state_bytes", _BY_QUERY),), "bytes"),
    Panel(
        "State, in rows and partial matches",
        (
            ("cepsql_query_state_rows", "{{query}} rows"),
            ("cepsql_query_partial_matches", "{{query}} partial matches"),
        ),
    ),
    Panel(
        "Restarts and tries of the sink, an hour",
        (
            ("increase(cepsql_query_restarts_total[1h])", "{{query}} restarts"),
            ("increase(cepsql_query_sink_retries_total[1h])", "{{query}} tries"),
        ),
    ),
    Panel("Servers that lead", (("sum(cepsql_server_leads)", "leading"),)),
)  # fmt: skip

_WIDTH, _HEIGHT = 12, 8


def alert_rules() -> str:
    """Return the alerts as a file of rules for Prometheus."""
    lines = ["# Alerts for the queries of a cepsql server. python docs/make_reference.py writes this file.", "groups:"]
    lines += ["  - name: cepsql", "    rules:"]
    for alert in ALERTS:
        lines += [
            f"      - alert: {alert.name}",
            f"        expr: {json.dumps(alert.expression)}",
            f"        for: {alert.lasts}",
            f"        labels: {{severity: {alert.severity}}}",
            f"        annotations: {{summary: {json.dumps(alert.summary)}}}",
        ]
    return "\n".join(lines) + "\n"


def dashboard() -> str:
    """Return the dashboard as the JSON that Grafana imports."""
    source = {"type": "prometheus", "uid": "${source}"}
    panels = [
        {
            "id": number + 1,
            "type": "timeseries",
            "title": panel.title,
            "datasource": source,
            "gridPos": {"x": number % 2 * _WIDTH, "y": number // 2 * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
            "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
            "targets": [
                {"refId": chr(ord("A") + place), "expr": _once(expression, legend), "legendFormat": legend}
                for place, (expression, legend) in enumerate(panel.draws)
            ],
        }
        for number, panel in enumerate(PANELS)
    ]
    variables = [
        {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        {
            "name": "query", "type": "query", "datasource": source, "multi": True, "includeAll": True,
            "query": "label_values(cepsql_query_state, query)", "refresh": 2,
        },
    ]  # fmt: skip
    board = {
        "uid": "cepsql", "title": "cepsql", "schemaVersion": 39, "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"}, "templating": {"list": variables}, "panels": panels,
    }  # fmt: skip
    return json.dumps(board, indent=2) + "\n"


def _once(expression: str, legend: str) -> str:
    """Return an expression that gives each query once, however many servers tell of it."""
    labels = [label for label in ("query", "state") if f"{{{{{label}}}}}" in legend]
    return f"max by ({', '.join(labels)}) ({_of_chosen(expression)})" if labels else expression


def _of_chosen(expression: str) -> str:
    """Restrict the metrics of queries to the queries that are chosen on the dashboard."""
    words = expression.split("cepsql_query_")
    parts = [words[0]]
    for word in words[1:]:
        name = len(word) - len(word.lstrip("abcdefghijklmnopqrstuvwxyz_"))
        parts.append(f'cepsql_query_{word[:name]}{{query=~"$query"}}{word[name:]}')
    return "".join(parts)
