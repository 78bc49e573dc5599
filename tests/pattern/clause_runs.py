"""Run a query with one MATCH_RECOGNIZE without Spark, from its text on: SQLite computes what Spark would.

What Spark computes are expressions of one row: the columns and predicates of a program before the shuffle, and the
output columns over the measures after it.
"""

import re
import sqlite3
from functools import cache
from itertools import pairwise

import pyarrow as pa
import sqlglot
from clause_meaning import COLUMNS as NAMES
from clause_texts import COLUMNS
from sqlglot import exp

from cepsql.analysis.row_pattern.match_clause import MatchPlan
from cepsql.engine import Engine, connect
from cepsql.operators.matching.match_operator import MatchOperator
from cepsql.ordered.counts import Counts, Tally
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.ordered.sorted_run import run_sorted
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.pattern.program import MatchProgram

RELATIONS = f"""
CREATE STREAM events ({COLUMNS}, WATERMARK FOR ts AS ts) USING csv OPTIONS (path '/nowhere');
CREATE TABLE records ({COLUMNS}) USING csv OPTIONS (path '/nowhere');
"""
BUCKETS = 2


@cache
def _engine() -> Engine:
    engine = connect()
    list(engine.execute(RELATIONS))
    return engine


@cache
def _database() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.create_function("timestamp_micros", 1, lambda micros: micros)
    return database


def plan(query: str) -> MatchPlan:
    """Plan a query with one clause over the table `records` or the stream `events`."""
    (match,) = _engine().sql(query).plan.matches
    return match


def run_batch(match: MatchPlan, rows: list[dict], cuts: list[int]) -> list[dict]:
    """Return the output over rows in ORDER BY order, which reach the matcher in batches that end at `cuts`."""
    keys = list(dict.fromkeys(row["k"] for row in rows))
    grouped = packed_rows(match.program, [row for key in keys for row in rows if row["k"] == key])
    edges = [0, *sorted(cuts), grouped.num_rows]
    pieces = [grouped.slice(begin, end - begin) for begin, end in pairwise(edges)]
    batches = [batch for piece in pieces for batch in piece.to_batches()]
    return output_rows(
        match, [pa.Table.from_batches([b]) for b in run_sorted(MatchOperator(match.program), batches, 1)]
    )


def run_stream(match: MatchPlan, batches: list[list[dict]], delay: int) -> tuple[list[list[dict]], Tally]:
    """Return what each micro-batch gives, the end of input last; the state is stored and read back after each."""
    program, outputs, operator = match.program, [], MatchOperator(match.program)
    stage = Stage(operator, (StageInput(delay),), "")
    total = Tally((Counts(),), dict.fromkeys(operator.counters, 0))
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    for rows in [*batches, None]:
        packets = _packets(program, rows)
        advanced = [advance(stage, states[bucket], packets[bucket]) for bucket in range(BUCKETS)]
        for bucket, one in enumerate(advanced):
            states[bucket] = one.state
            total += one.counts
        outputs.append(output_rows(match, [one.output for one in advanced if one.output.num_columns]))
    return outputs, total


def _packets(program: MatchProgram, rows: list[dict] | None) -> dict[int, list[bytes]]:
    """Pack one micro-batch; None is the end of input."""
    if rows is None:
        table = packed_rows(program, [dict.fromkeys(NAMES) | {"ts": END_OF_TIME}])
        buckets = [0]
    else:
        table = packed_rows(program, rows)
        buckets = [ord(row["k"] or "a") % BUCKETS if program.keys else 0 for row in rows]
    table = table.append_column("bucket", pa.array(buckets, pa.int32()))
    by_bucket: dict[int, list[bytes]] = {bucket: [] for bucket in range(BUCKETS)}
    for batch in pack(iter(table.to_batches()), BUCKETS):
        for row in batch.to_pylist():
            by_bucket[row["bucket"]].append(row["packet"])
    return by_bucket


def packed_rows(program: MatchProgram, rows: list[dict]) -> pa.Table:
    """Return the columns of a program computed from rows of the input."""
    columns = [*program.keys, *([program.time] if program.time else []), *program.order, *program.values]
    computed = _select([column.sql for column in columns] + list(program.predicates), NAMES, rows)
    arrays = {}
    for place, column in enumerate(columns):
        values = [row[place] for row in computed]
        kind = _type(column.sql)
        arrays[column.name] = pa.array(
            [None if v is None else bool(v) if kind == pa.bool_() else v for v in values], kind
        )
    if program.predicates:
        masks = [sum(bool(bit) << i for i, bit in enumerate(row[len(columns) :])) for row in computed]
        arrays["m"] = pa.array(masks, pa.int64())
    return pa.table(arrays)


def output_rows(match: MatchPlan, tables: list[pa.Table]) -> list[dict]:
    """Return the rows of the clause from the matcher's columns."""
    rows_out = []
    for table in tables:
        rows = table.to_pylist()
        computed = _select([column.sql for column in match.output], table.column_names, rows)
        rows_out += [dict(zip((c.name for c in match.output), row, strict=True)) for row in computed]
    return rows_out


def _select(expressions: list[str], names, rows: list[dict]) -> list[tuple]:
    database = _database()
    database.execute("DROP TABLE IF EXISTS input")
    database.execute(f"CREATE TABLE input ({', '.join(names)})")
    marks = ", ".join("?" * len(names))
    database.executemany(f"INSERT INTO input VALUES ({marks})", [tuple(row[name] for name in names) for row in rows])
    listed = ", ".join(f"({sql})" for sql in expressions)
    return (
        database.execute(f"SELECT {listed} FROM input ORDER BY rowid").fetchall() if expressions else [()] * len(rows)
    )


@cache
def _type(sql: str) -> pa.DataType:
    parsed = sqlglot.parse_one(sql, read="spark").unnest()
    if isinstance(parsed, exp.Predicate | exp.Connector | exp.Not | exp.Boolean):
        return pa.bool_()
    if isinstance(parsed, exp.DPipe):
        return pa.string()
    return pa.string() if re.fullmatch(r"`?[ks]`?|'.*'", sql) else pa.int64()
