"""Two operators in one stage give what two stages give, batch by batch."""

from collections import Counter
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_samples import PROGRAM, bag
from ordered_samples import INPUT_SCHEMA, inputs, packets

from cepsql.operators.matching.match_operator import MatchOperator
from cepsql.ordered.fused import Fused
from cepsql.ordered.packet import pack
from cepsql.ordered.row_layout import BEGINNING, END_OF_TIME
from cepsql.ordered.stage import Stage, StageInput, advance
from cepsql.pattern.ir import Concat, Repeat, Variable
from cepsql.pattern.program import Bit, MatchNumber, Measure, Navigation

A, B = Variable("A"), Variable("B")
FIRST = replace(
    PROGRAM,
    pattern=Concat((A, Repeat(B, 0, 2, False), A)),
    conditions=(Bit(0), None),
    measures=(Measure("at", Navigation("t")), Measure("v0", Navigation("v0")), Measure("number", MatchNumber())),
)
PROGRAMS = {
    "pairs of matches": (FIRST, replace(FIRST, within=9)),
    "a match is one row": (replace(FIRST, pattern=A), FIRST),
    "greedy over all rows": (
        replace(FIRST, pattern=Concat((A, Repeat(B, 1, None)))),
        replace(FIRST, pattern=Concat((A, Repeat(B, 1, None))), within=None),
    ),
    "empty matches have no time": (
        replace(FIRST, pattern=Repeat(A, 0, 2)),
        replace(FIRST, pattern=Concat((A, A)), conditions=(None, None)),
    ),
}


@dataclass(frozen=True)
class Adapt:
    """Makes rows of the second program from matches of the first."""

    def __call__(self, output: pa.Table) -> pa.Table:
        rows = output.select(["k0"]).append_column("t", output["at"])
        rows = rows.append_column("o0", pa.nulls(output.num_rows, pa.int32())).append_column("v0", output["v0"])
        return rows.append_column("m", pa.array([n.as_py() % 2 for n in output["number"]], pa.int64()))


def fused(programs, delay, batches):
    """Yield output, counters, bound and what is held of each batch."""
    first, second = map(MatchOperator, programs)
    stage, state = Stage(Fused(first, second, Adapt(), first.hold), (StageInput(delay),), ""), None
    for rows in batches:
        advanced = advance(stage, state, packets(rows, 1).get(0, []))
        state = advanced.state
        holds = advanced.standing
        standing = holds.rows, holds.open, holds.deadline
        yield bag(advanced.output), dict(advanced.counts.counters), advanced.bound, standing


def chained(programs, delay, batches):
    first, second = map(MatchOperator, programs)
    stages = [Stage(first, (StageInput(delay),), ""), Stage(second, (StageInput(0, chained=True),), "")]
    states: list[bytes | None] = [None, None]
    for rows in batches:
        advanced = advance(stages[0], states[0], packets(rows, 1).get(0, []))
        schema = pa.schema([f for f in INPUT_SCHEMA if f.name != "malformed"] + [("bound", pa.int64())])
        matches = Adapt()(advanced.output).to_pylist() if advanced.output.num_rows else []
        chained_rows = [row | {"bucket": 0, "bound": None} for row in matches]
        if advanced.bound != BEGINNING:
            reached = advanced.bound if advanced.bound == END_OF_TIME else advanced.bound - first.hold
            chained_rows.append({"bound": reached, "bucket": 0})
        blobs = [
            b for out in pack([pa.RecordBatch.from_pylist(chained_rows, schema)], 1) for b in out["packet"].to_pylist()
        ]
        then = advance(stages[1], states[1], blobs)
        states = [advanced.state, then.state]
        counters = {f"first_{name}": n for name, n in advanced.counts.counters.items()}
        counters |= {f"second_{name}": n for name, n in then.counts.counters.items()}
        rows_between = then.counts.rows
        for name in ("used", "late", "null_time"):
            counters[f"second_{name}"] = getattr(rows_between, name)
        held, between = advanced.standing, then.standing
        deadlines = [held.deadline, None if between.deadline is None else between.deadline + first.hold]
        deadline = min((one for one in deadlines if one is not None), default=None)
        yield bag(then.output), counters, advanced.bound, (held.rows + between.rows, held.open + between.open, deadline)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=examples(8))
@given(inputs(max_batches=6), st.integers(0, 4))
def test_one_stage_gives_what_two_give(name, batches, delay):
    rows = [[row | {"bucket": 0} for task in tasks for row in task] for tasks in batches]
    given_rows = [*rows, [{"t": END_OF_TIME, "bucket": 0}]]
    assert list(fused(PROGRAMS[name], delay, given_rows)) == list(chained(PROGRAMS[name], delay, given_rows))


def test_the_samples_give_matches_of_matches():
    rows = [[{"k0": 1.0, "t": t, "m": 1, "v0": "a", "bucket": 0} for t in range(n, n + 3)] for n in range(0, 30, 3)]
    rows.append([{"t": END_OF_TIME, "bucket": 0}])
    counts = {name: Counter() for name in PROGRAMS}
    for name, programs in PROGRAMS.items():
        for _, counters, *_ in fused(programs, 1, rows):
            counts[name].update(counters)
        assert counts[name]["second_matches"] > 0, name
        assert counts[name]["second_late"] == 0
