"""Window functions over rows that change, batch after batch, are what a database gives of the rows that are there."""

from collections import Counter

import pyarrow as pa
import pytest
from chance import examples
from change_streams import GONE_KINDS, Running, applied, changes
from hypothesis import given, settings
from hypothesis import strategies as st

from cepsql.operators.changing.change_rows import IDENTITY, KIND, Change
from cepsql.operators.changing.retracting_frames import RetractingFramesOperator, WindowFunction
from cepsql.operators.framing.frame_bounds import Frame
from cepsql.ordered.row_layout import AT_ONCE, Column, OrderColumn, RowLayout

duckdb = pytest.importorskip("duckdb")

SCHEMA = pa.schema(
    [("k0", pa.string()), ("t", pa.int64()), ("o0", pa.int64()), ("v0", pa.float64()), ("v1", pa.int64()),
     (IDENTITY, pa.string()), (KIND, pa.int8())]
)  # fmt: skip
ROWS = {
    "k0": st.sampled_from(["a", "b", None]), "t": st.just(0), "o0": st.sampled_from([None, 1, 2, 4, 5, 9]),
    "v0": st.sampled_from([None, 0.5, -2.0, 1e16, 3.25]), "v1": st.sampled_from([None, 0, 1, 2]),
    IDENTITY: st.sampled_from("pq"),
}  # fmt: skip
FRAMED = {
    "count": "bigint", "sum": "double", "avg": "double", "min": "double", "max": "double", "first": "double",
    "last": "double", "nth": "double", "stddev_pop": "double", "list": "list",
}  # fmt: skip
SPOKEN = {"first": "first_value", "last": "last_value", "nth": "nth_value", "list": "list"}
OF_ORDER = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
TYPES = {"bigint": pa.int64(), "double": pa.float64(), "int": pa.int32(), "list": pa.list_(pa.float64())}
NAMES = ("k0", "o0", "v0", "v1")


@st.composite
def frames(draw):
    """Draw a frame, and its SQL."""
    unit = draw(st.sampled_from(["rows", "range", "groups"]))
    first, last = (draw(st.one_of(st.none(), st.integers(-3, 3))) for _ in range(2))
    if first is not None and last is not None and first > last:
        first, last = last, first
    end_texts = [
        f"UNBOUNDED {side}" if end is None else "CURRENT ROW" if end == 0
        else f"{abs(end)} {'PRECEDING' if end < 0 else 'FOLLOWING'}"
        for end, side in ((first, "PRECEDING"), (last, "FOLLOWING"))
    ]  # fmt: skip
    return Frame(unit, first, last), f"{unit.upper()} BETWEEN {end_texts[0]} AND {end_texts[1]}"


@st.composite
def window_calls(draw):
    """Draw a window function, its type, and its SQL over an order that is `{}`."""
    kind = draw(st.sampled_from(["order", "neighbour", "framed", "framed", "framed"]))
    partition, order = "PARTITION BY k0 ORDER BY o0{0} NULLS FIRST", ", v0 NULLS FIRST, v1 NULLS FIRST, identity"
    anything = Frame("rows", None, None)
    if kind == "order":
        function = draw(st.sampled_from(OF_ORDER))
        number = draw(st.integers(1, 4)) if function == "ntile" else 1
        ties = order if function in ("row_number", "ntile") else ""
        over = f"{function}({number if function == 'ntile' else ''}) OVER ({partition}{ties})"
        type_ = "double" if function in ("percent_rank", "cume_dist") else "int"
        return WindowFunction("w", function, None, anything, number), type_, over
    if kind == "neighbour":
        number, ignores = draw(st.integers(-3, 3)), draw(st.booleans())
        default = draw(st.sampled_from([None, "v1"]))
        default_text = "" if default is None else ", v1::DOUBLE"
        nulls = " IGNORE NULLS" if ignores and number else ""
        over = f"lead(v0, {number}{default_text}{nulls}) OVER ({partition}{order})"
        # The operator has the default in the type of the value.
        call = WindowFunction("w", "neighbour", "v0", anything, number, default and "v2", bool(nulls))
        return call, "double", over
    frame, text = draw(frames())
    function = draw(st.sampled_from(list(FRAMED)))
    ignores = function in ("first", "last", "nth") and draw(st.booleans())
    number = draw(st.integers(1, 3)) if function == "nth" else 1
    column = draw(st.sampled_from(["v0", None])) if function == "count" else "v0"
    argument = {"nth": f"v0, {number}"}.get(function, column or "*") + (" IGNORE NULLS" if ignores else "")
    function_name = SPOKEN.get(function, function)
    filtered = " FILTER (v0 IS NOT NULL)" if function == "list" else ""
    ties = order if frame.unit == "rows" or function in ("first", "last", "nth", "list") else ""
    ties = "" if frame.unit != "rows" else ties
    over = f"{function_name}({argument}){filtered} OVER ({partition}{ties} {text})"
    over = f"coalesce({over}, [])" if function == "list" else over
    call = WindowFunction("w", function, column, frame, number, ignore_nulls=ignores)
    return call, FRAMED[function], over


@pytest.fixture(scope="module")
def database():
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


def by_database(database, rows: list[dict], over: str, descending: bool) -> Counter:
    columns = {"k0": "VARCHAR", "o0": "BIGINT", "v0": "DOUBLE", "v1": "BIGINT", IDENTITY: "VARCHAR"}
    unnested = ", ".join(f"unnest(${i}::{kind}[]) AS {name}" for i, (name, kind) in enumerate(columns.items(), 1))
    asked = over.format(" DESC" if descending else "")
    lists = [[row[name] for row in rows] for name in columns]
    output = database.execute(f"SELECT k0, o0, v0, v1, {asked} AS w FROM (SELECT {unnested})", lists).fetchall()
    return Counter(tuple(map(shown_value, row)) for row in output)


def shown_value(value) -> str:
    if isinstance(value, float):
        # Sums by the order of the rows lose digits beside a great number.
        return f"{value:.9g}"
    return repr(sorted(value) if isinstance(value, list) else value)


@settings(max_examples=examples(30))
@given(changes(ROWS), window_calls(), st.booleans(), st.booleans())
def test_window_functions_are_those_of_the_rows_that_are_there(database, batches, drawn, descending, retracting):
    call, type_, over = drawn
    hidden = (Column(IDENTITY, "i"), Column(KIND, "c")) if retracting else (Column(IDENTITY, "i"),)
    values = (Column("v0", "a"), Column("v1", "b"), Column("v2", "c"))
    layout = RowLayout((Column("k0", "k"),), AT_ONCE, (OrderColumn("o0", "o", descending, True),), (*values, *hidden))
    operator = RetractingFramesOperator(layout, (call,), ("o0", "v0", "v1"), (TYPES[type_],), True, retracting)
    schema = pa.schema([*SCHEMA, pa.field("v2", pa.float64())])
    schema = schema if retracting else pa.schema([field for field in schema if field.name != KIND])
    running, table, there = Running(operator, schema), Counter(), []
    for batch, remaining in batches:
        came = batch if retracting else [row for row in batch if row[KIND] not in GONE_KINDS]
        there = remaining if retracting else [*there, *came]
        given_rows = [row | {"v2": None if row["v1"] is None else float(row["v1"])} for row in came]
        row_changes = running.take([{name: row[name] for name in schema.names} for row in given_rows])
        applied(table, row_changes, (*NAMES, "w"))
        shown: Counter = Counter()
        for row, number in table.items():
            shown[tuple(shown_value(eval(value, {"nan": float("nan")})) for value in row)] += number
        assert shown == by_database(database, there, over, descending), over
    assert running.take([]) == []


def test_lists_are_in_the_order_of_the_rows():
    values = (Column("v1", "v"), Column(IDENTITY, "i"), Column(KIND, "c"))
    layout = RowLayout((), AT_ONCE, (OrderColumn("o0", "o", descending=True),), values)
    call = WindowFunction("w", "list", "v1", Frame("rows", None, 0))
    running = Running(RetractingFramesOperator(layout, (call,), ("o0",), (pa.list_(pa.int64()),), False, True), SCHEMA)
    nothing = dict.fromkeys(SCHEMA.names) | {"t": 0, KIND: 0}
    row_changes = running.take([nothing | {"o0": i, "v1": v, IDENTITY: f"{i}"} for i, v in enumerate([5, 7, None, 6])])
    assert sorted((row["o0"], row["w"]) for _, row in row_changes) == [(0, [6, 7, 5]), (1, [6, 7]), (2, [6]), (3, [6])]


def test_only_rows_that_differ_come_out():
    layout = RowLayout(
        (), AT_ONCE, (OrderColumn("o0", "o"),), (Column("v1", "v"), Column(IDENTITY, "i"), Column(KIND, "c"))
    )
    call = WindowFunction("w", "sum", "v1", Frame("rows", -1, 0))
    running = Running(RetractingFramesOperator(layout, (call,), ("o0",), (pa.int64(),), False, True), SCHEMA)
    rows = [dict.fromkeys(SCHEMA.names) | {"t": 0, "o0": i, "v1": i, IDENTITY: f"{i}", KIND: 0} for i in range(9)]
    assert len(running.take(rows)) == 9
    changed = running.take([rows[4] | {KIND: Change.DELETE}])
    assert [(row["o0"], row["w"]) for kind, row in changed if kind in GONE_KINDS] == [(4, 7), (5, 9)]
    assert [(row["o0"], row["w"]) for kind, row in changed if kind not in GONE_KINDS] == [(5, 8)]
