"""The standing queries, as a table that refreshes."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping

import pyarrow as pa

from cepsql.catalog.states import QueryState
from cepsql.frontends.runner.console_streams import KEPT_FREE, Console
from cepsql.render import renderer
from cepsql.render.table import ShownColumn, data_widths
from cepsql.standing.query_report import lag_seconds, rows_per_second, shown_duration

_EVERY = 1.0
_KEPT = 20
_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = [
    ("query", "string"), ("state", "string"), ("rows/s", "bigint"), ("lately", "string"), ("read", "bigint"),
    ("out", "bigint"), ("late", "bigint"), ("lag", "string"), ("batch", "string"), ("kept rows", "bigint"),
    ("restarts", "bigint"),
]  # fmt: skip
_LESS = ("restarts", "kept rows", "late", "read", "lately")
"""Columns that a narrow screen leaves out, in this order, because a table compares queries better than lists."""


def top(states: Callable[[], Mapping[str, QueryState]], console: Console) -> None:
    """Show the state of the queries until Ctrl-C, and leave the last table on the screen; without a terminal, once."""
    rates: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_KEPT))
    lines = _lines(states(), rates, console)
    try:
        while console.live:
            lines = _lines(states(), rates, console)
            console.status("\n".join([*lines, "Ctrl-C ends this view, not the queries"]))
            time.sleep(_EVERY)
    except KeyboardInterrupt:
        console.echoed()
    console.rows(lines)


def spark_line(values: list[float]) -> str:
    """Draw numbers as bars of one character each, the greatest as the highest.

    >>> spark_line([0, 1, 2, 4])
    '▁▃▅█'
    """
    most = max(values, default=0)
    return "".join(_BARS[round(value / most * (len(_BARS) - 1)) if most else 0] for value in values)


def _lines(states: Mapping[str, QueryState], rates: Mapping[str, deque[float]], console: Console) -> list[str]:
    rows = []
    for name, state in states.items():
        rates[name].append(rows_per_second(state) or 0.0)
        rows.append(_row(name, state, list(rates[name])))
    kinds = [pa.int64() if kind == "bigint" else pa.string() for _, kind in _COLUMNS]
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    room = None if console.columns is None else console.columns - KEPT_FREE
    table = _fitting(pa.table(columns, [name for name, _ in _COLUMNS]), room)
    shown_columns = [column for column in _COLUMNS if column[0] in table.column_names]
    form = renderer("table", shown_columns, "UTC", table, room)
    return [*form.header, *form.rows(table)]


def _fitting(table: pa.Table, room: int | None) -> pa.Table:
    """Leave columns out until a line fits."""
    kinds = dict(_COLUMNS)
    for name in _LESS:
        widths = data_widths([ShownColumn(column, kinds[column]) for column in table.column_names], table, "UTC")
        if room is None or sum(widths) + 3 * len(widths) - 1 <= room:
            break
        table = table.drop_columns(name)
    return table


def _row(name: str, state: QueryState, rates: list[float]) -> tuple:
    progress = state.progress or {}
    lag = lag_seconds(state)
    said = f"{state.state}: {state.reason}" if state.reason else state.state
    return (
        name, said.split("\n")[0], round(rates[-1]), spark_line(rates).rjust(_KEPT), progress.get("rows_read"),
        progress.get("rows_out"), progress.get("rows_late"), None if lag is None else shown_duration(lag),
        None if not progress else f"{progress.get('batch_seconds') or 0:.1f} s", progress.get("state_rows"),
        state.restarts,
    )  # fmt: skip
