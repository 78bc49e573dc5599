"""The stage with the match operator: any batches, tasks and buckets give what one pass over all rows gives."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from chance import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from matching_samples import PROGRAM, WITHIN, bag, pairs, stage_of
from ordered_samples import BUCKETS, SCHEMA, inputs, packets

from cepsql.errors import OperationalError
from cepsql.operators.matching.match_rows import match_rows
from cepsql.ordered import release
from cepsql.ordered.counts import Counts
from cepsql.ordered.plain_columns import canonical
from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.ordered.sorting import partition_rows
from cepsql.ordered.stage import advance
from cepsql.ordered.state import decode, encode, first_state
from cepsql.pattern.ir import Concat, Repeat, Variable
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import Bit

STAGE = stage_of(PROGRAM, 0, pairs)
END = {"t": END_OF_TIME, "bucket": 0}


def run(batches, delay: int, program=PROGRAM, function=pairs):
    """Advance all buckets through the batches; yield the output, the counts and the states after each."""
    states: dict[int, bytes | None] = dict.fromkeys(range(BUCKETS))
    stage = stage_of(program, delay, function)
    for tasks in batches:
        packed = [packets(rows, BUCKETS) for rows in tasks]
        outputs, counts = Counter(), Counts()
        for bucket in range(BUCKETS):
            blobs = [blob for task in packed for blob in task.get(bucket, [])]
            advanced = advance(stage, states[bucket], blobs)
            states[bucket] = advanced.state
            outputs += bag(advanced.output)
            counts += advanced.counts.rows
            counters = advanced.counts.counters
            assert counters["matches"] + counters["timeouts"] == advanced.output.num_rows
        yield outputs, counts, dict(states)


def by_hand(batches, delay: int) -> tuple[list[dict], Counts]:
    """Return the rows that are not late, and what becomes of all."""
    bound, used, counts = -END_OF_TIME, [], Counts()
    for tasks in batches:
        rows = [row for task in tasks for row in task]
        good = [row for row in rows if not row["malformed"] and row["t"] is not None]
        on_time = [row for row in good if row["t"] > bound]
        used += on_time
        counts += Counts(
            read=len(rows),
            used=len(on_time),
            late=len(good) - len(on_time),
            malformed=sum(bool(row["malformed"]) for row in rows),
            null_time=sum(row["t"] is None and not row["malformed"] for row in rows),
            null_key=sum(row["k0"] is None for row in good),
        )
        bound = max([bound, *(row["t"] - delay for row in good)])
    return used, counts


def one_pass(rows: list[dict], program=PROGRAM, function=pairs) -> Counter:
    """Return what the function gives over all rows at once."""
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    table = table.set_column(0, "k0", canonical(table["k0"].combine_chunks()))
    table, starts = partition_rows(table, ["k0"], "t", program.order, ["v0", "m"])
    zeros = 0 * starts[:-1]
    return bag(function(program, Partitions(table, starts, starts[:-1], starts[1:], zeros, END_OF_TIME)).output)


@settings(max_examples=examples(18))
@given(inputs(), st.integers(0, 6))
def test_stream_equals_one_pass(batches, delay):
    used, expected = by_hand(batches, delay)
    output, counts = Counter(), Counts()
    for given_out, more, states in run([*batches, [[END]]], delay):
        output, counts, sizes = output + given_out, counts + more, [len(state) for state in states.values()]
        assert counts.read == counts.used + counts.late + counts.malformed + counts.null_time
    assert output == one_pass(used)
    assert counts == expected
    assert max(sizes) < 400


@settings(max_examples=examples(8))
@given(inputs(), st.integers(0, 6))
def test_partitions_left_alone_had_nothing_to_give(batches, delay):
    batches = [*batches, [[END]]]
    lazy = [output for output, _, _ in run(batches, delay)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(release, "is_due", lambda deadlines, *_: deadlines > -END_OF_TIME)
        eager = [output for output, _, _ in run(batches, delay)]
    assert lazy == eager


def rows_of(*rows):
    return [{"k0": float(k), "t": t, "m": m, "v0": v, "bucket": 0} for k, t, m, v in rows]


def scans(batches):
    """Return the keys that the function was given in each batch of bucket 0."""
    seen: list[list[float]] = []

    def recorded(program, partitions):
        seen[-1] = partitions.rows["k0"].take(partitions.starts[:-1]).to_pylist()
        return pairs(program, partitions)

    state = None
    for batch in batches:
        seen.append([])
        state = advance(stage_of(PROGRAM, 0, recorded), state, packets(batch, 1)[0]).state
    return seen


def test_only_partitions_with_something_new_are_scanned():
    batches = [
        rows_of((1, 1, 1, "a"), (2, 1, 1, "b"), (3, 1, 0, "c")),
        rows_of((2, 2, 1, "d")),
        rows_of((4, WITHIN, 0, "e")),
        rows_of((4, WITHIN + 1, 0, "f")),
        rows_of((5, WITHIN + 2, 1, "g")),
        [END],
    ]
    assert scans(batches) == [[1, 2, 3], [2], [1, 4], [4], [5], [5]]


def test_held_rows_are_the_undecided_ones_and_what_prev_reaches():
    rows = rows_of((1, 1, 0, "a"), (1, 2, 0, "b"), (1, 3, 0, "c"), (1, 4, 1, "d"), (2, 1, 0, "e"), (2, 9, 1, "f"))
    stage = stage_of(PROGRAM, 5, pairs)
    state = decode(advance(stage, None, packets(rows, 1)[0]).state, stage.operator, stage.identity)
    (held,), (waiting,) = state.operator_state.held, state.operator_state.waiting
    held = held.select(["v0", "first", "context"]).to_pylist()
    assert [tuple(row.values()) for row in held] == [
        ("b", True, True),
        ("c", False, True),
        ("d", False, False),
        ("e", True, True),
    ]
    assert waiting["v0"].to_pylist() == ["f"]
    assert state.bound == 4


@pytest.mark.parametrize("part", ["held", "waiting", "numbers"])
def test_columns_of_other_types_are_refused(part):
    flags = {"first": [True], "context": [False]} if part == "held" else {}
    table = pa.table({"k0": ["text"], "number": [1], **flags})
    old = first_state(STAGE.operator, 1)
    old = replace(
        old,
        operator_state=replace(
            old.operator_state, **({"sections": {part: table}} if part == "numbers" else {part: (table,)})
        ),
    )
    with pytest.raises(OperationalError, match="string in the stored state comes as double") as caught:
        advance(STAGE, encode(old, STAGE.operator, STAGE.identity), packets(rows_of((1, 6, 1, "a")), 1)[0])
    assert "new checkpoint" in caught.value.hint


def test_the_bound_without_rows():
    stage = stage_of(PROGRAM, 3, pairs)
    assert advance(stage, None, []).bound == -END_OF_TIME
    first = advance(stage, None, packets(rows_of((1, 10, 0, "a")), 1)[0])
    assert first.bound == 7
    later = advance(stage, first.state, packets([END], 1)[0])
    assert (later.bound, later.output.num_rows) == (END_OF_TIME, 0)


def test_a_key_with_too_many_undecided_rows_ends_the_query():
    program = replace(
        PROGRAM,
        pattern=Concat((Variable("A"), Repeat(Variable("B"), 0, None, greedy=False), Variable("C"))),
        variables=("A", "B", "C"),
        conditions=(None, None, Bit(0)),
        within=None,
        measures=(),
        undecided_rows=5,
    )
    waiting = [{"k0": key, "bucket": 0, "t": t, "m": 0} for t in range(5) for key in (1.0, 2.0)]
    one_more = [{"k0": 2.0, "bucket": 0, "t": 5, "m": 0}]
    *_, (_, _, states) = run([[waiting]], 0, program, match_rows)
    assert states[0]
    with pytest.raises(OperationalError, match="6 rows of the key key = ") as e:
        list(run([[waiting], [one_more]], 0, program, match_rows))
    assert "WITHIN" in e.value.hint and "cepsql.undecided_rows" in e.value.hint
    # A match, and the end of the input, decide them.
    list(run([[waiting], [[{**one_more[0], "m": 1}]]], 0, program, match_rows))
    list(run([[waiting], [[*one_more, END]]], 0, program, match_rows))
