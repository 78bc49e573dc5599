"""Random MATCH_RECOGNIZE texts, planned and run, against what the standard says of them.

`CEPSQL_EXAMPLES=20000 pytest tests/pattern/test_clauses.py` tries many more than the everyday run.
"""

import os
from collections import Counter

import pytest
from clause_meaning import SkipFails, TooMany, meaning, names_of_output
from clause_runs import counted, plan, run_batch, run_stream
from clause_texts import SECOND, clauses, rows
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cepsql.errors import OperationalError

EXAMPLES = int(os.environ.get("CEPSQL_EXAMPLES", "120"))
often = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def bag(found: list[dict]) -> Counter:
    return Counter(tuple(sorted(row.items())) for row in found)


@often
@given(clauses(), st.data())
def test_table(clause, data) -> None:
    found = data.draw(rows(clause.order))
    match = plan(clause, "records")
    assert [column.name for column in match.output] == names_of_output(clause)
    cuts = data.draw(st.lists(st.integers(0, len(found)), max_size=2))
    try:
        expected = meaning(clause, found, strict=True)
    except TooMany:
        assume(False)
    except SkipFails:
        with pytest.raises(OperationalError, match="AFTER MATCH SKIP"):
            run_batch(match, found, cuts)
        return
    assert bag(run_batch(match, found, cuts)) == bag(expected.rows)


@often
@given(clauses(streaming=True), st.data())
def test_stream(clause, data) -> None:
    delay = data.draw(st.integers(0, 3)) * SECOND
    batches = data.draw(micro_batches(clause.order, delay))
    used, late = in_order(clause.order, batches, delay)
    try:
        expected = meaning(clause, used, strict=False)
    except TooMany:
        assume(False)
    outputs, counts = run_stream(plan(clause, "events"), batches, delay)
    assert bag([row for output in outputs for row in output]) == bag(expected.rows)
    assert counted(counts) == {
        name: n
        for name, n in {
            "read": len(used) + late,
            "used": len(used),
            "late": late,
            "null_key": sum(row["k"] is None for batch in batches for row in batch),
            "matches": expected.matches,
            "timeouts": expected.timeouts,
            "misplaced": expected.misplaced,
        }.items()
        if n
    }


@often
@given(clauses(streaming=True, orders=("ts",)), st.data())
def test_ties_in_any_order(clause, data) -> None:
    """Rows that ORDER BY leaves tied give the same, however they were split and in whatever order they came."""
    found = data.draw(rows("ts", ties=True))
    batches = data.draw(split(data.draw(st.permutations(found))))
    delay = 100 * SECOND
    match = plan(clause, "events")
    together, _ = run_stream(match, [found], delay)
    outputs, _ = run_stream(match, batches, delay)
    assert bag([row for output in outputs for row in output]) == bag([row for output in together for row in output])


@st.composite
def micro_batches(draw, order: str, delay: int) -> list[list[dict]]:
    """Rows that come late by up to about the delay, now and then by more, in micro-batches."""
    found = draw(rows(order))
    lateness = {row["n"]: draw(st.integers(0, delay // SECOND + 1)) * SECOND for row in found}
    return draw(split(sorted(found, key=lambda row: row["ts"] + lateness[row["n"]])))


@st.composite
def split(draw, found: list[dict]) -> list[list[dict]]:
    edges = [0, *sorted(draw(st.lists(st.integers(0, len(found)), max_size=4))), len(found)]
    return [list(found[begin:end]) for begin, end in zip(edges, edges[1:], strict=False)]


def in_order(order: str, batches: list[list[dict]], delay: int) -> tuple[list[dict], int]:
    """Return the rows that are not late, as ORDER BY has them, and how many are."""
    bound, used, late = None, [], 0
    for batch in batches:
        on_time = [row for row in batch if bound is None or row["ts"] > bound]
        used += on_time
        late += len(batch) - len(on_time)
        bound = max([row["ts"] - delay for row in batch] + ([] if bound is None else [bound]), default=None)
    return sorted(used, key=lambda row: (row["ts"], -row["n"] if order.endswith("DESC") else row["n"])), late
