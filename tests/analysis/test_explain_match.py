"""Small partitions with the whole text that EXPLAIN MATCH gives; what Spark computes is computed by sqlglot here.

A case is the clauses of MATCH_RECOGNIZE after ORDER BY, then rows: time of day, price, qty, kind. After the line
`stream` the rows come over a stream whose rows may be ten seconds late, in micro-batches separated by a line `--`.
"""

import datetime
import re
from pathlib import Path

import pyarrow as pa
import pytest
from golden import check, params
from sqlglot.executor import execute

from cepsql.engine import connect
from cepsql.explain.condition_parts import condition_parts
from cepsql.explain.match_report import explain_match
from cepsql.operators.matching.key_rows import KeyRows, sort_batches
from cepsql.ordered.packet import pack
from cepsql.ordered.stage import StageInput

COLUMNS = "k STRING, at TIMESTAMP, price DOUBLE, qty INT, kind STRING"
SCHEMA = pa.schema(
    [("at", pa.timestamp("us", "UTC")), ("price", pa.float64()), ("qty", pa.int32()), ("kind", pa.string())]
)
TYPES = {"price": "double", "qty": "int", "kind": "string", "at": "timestamp"}
ROW = re.compile(r"\d\d:\d\d:\d\d")


@pytest.mark.parametrize("case", params(Path(__file__).parent, "explain_match.txt"))
def test_explanation(case, update):
    check(case, str(explain(case.text)), update)


def explain(text: str):
    clauses, batches, streaming = _read(text)
    engine = connect()
    engine.sql(f"CREATE TABLE t ({COLUMNS}) USING json OPTIONS (path '/none')")
    engine.sql(
        f"CREATE STREAM s ({COLUMNS}, WATERMARK FOR at AS at - INTERVAL '10' SECONDS) USING json OPTIONS (path '/none')"
    )
    relation = "s" if streaming else "t"
    query = engine.sql(f"SELECT * FROM {relation} MATCH_RECOGNIZE (PARTITION BY k ORDER BY at\n{clauses})")
    (match,) = query.plan.matches
    parts = condition_parts(match, query.plan.query.sql)
    tables = [_columns(parts.program, batch) for batch in batches]
    if streaming:
        ties = [column.name for column in match.program.values]
        packets = [[packed["packet"][0].as_py() for packed in pack(table.to_batches(), 1)] for table in tables]
        key_rows = sort_batches(parts.program, (StageInput(match.watermark.delay),), packets, ties)
    else:
        key_rows = KeyRows(tables[0].drop_columns(["bucket"]))
    return explain_match(match, parts, query.plan.query.sql, ["x"], key_rows, "UTC")


def _read(text: str) -> tuple[str, list[list[dict]], bool]:
    lines = text.splitlines()
    streaming = "stream" in lines
    head = next((i for i, line in enumerate(lines) if ROW.match(line)), len(lines))
    batches: list[list[dict]] = [[]]
    for line in lines[head:]:
        if line == "--":
            batches.append([])
        else:
            time, *cells = (cell.strip() or None for cell in line.split(","))
            price, qty, kind = [*cells, None, None, None][:3]
            row = {"at": datetime.datetime.fromisoformat(f"2026-01-01 {time}+00:00"), "kind": kind}
            batches[-1].append(row | {"price": price and float(price), "qty": qty and int(qty)})
    return "\n".join(line for line in lines[:head] if line != "stream"), batches, streaming


def _columns(program, rows: list[dict]) -> pa.Table:
    """Compute the columns that Spark would compute."""
    plain = pa.Table.from_pylist(rows, SCHEMA)
    asked = {column.name: column.sql for column in program.values}
    asked |= {f"b{i}": sql for i, sql in enumerate(program.predicates)}
    columns = {"k0": pa.array(["x"] * len(rows), pa.string()), "t": plain["at"].cast(pa.int64())}
    masks = [0] * len(rows)
    for name, sql in asked.items():
        if sql in TYPES:
            columns[name] = plain[sql]
            continue
        values = _computed(sql, rows)
        if name.startswith("b"):
            masks = [mask | (value is True) << int(name[1:]) for mask, value in zip(masks, values, strict=True)]
        else:
            columns[name] = pa.array(values)
    if program.predicates:
        columns["m"] = pa.array(masks, pa.int64())
    return pa.table(columns | {"bucket": pa.array([0] * len(rows), pa.int32())}).combine_chunks()


def _computed(sql: str, rows: list[dict]) -> list:
    result = execute(f"SELECT {sql} AS v FROM t", tables={"t": rows}, schema={"t": TYPES}, dialect="spark")
    return [value for (value,) in result.rows]
