"""Random MATCH_RECOGNIZE texts, planned and run, against what the standard says of them.

`CEPSQL_EXAMPLES=7000 pytest tests/pattern/test_clauses.py` tries many more than the everyday run.
"""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from chance import examples
from clause_meaning import SkipFails, TooMany, meaning, names_of_output
from clause_runs import plan, run_batch, run_stream
from clause_texts import SECOND, make_clause, make_rows
from hypothesis import Phase, given, note, reject, settings
from hypothesis import strategies as st

from cepsql.errors import OperationalError, ProgrammingError
from cepsql.ordered.counts import Counts
from cepsql.pattern.output import asks_for_unmatched

# To shrink a seed means nothing, so Hypothesis should not try.
often = settings(max_examples=examples(10), phases=(Phase.explicit, Phase.reuse, Phase.generate))
chances = st.integers(0, 2**63).map(Random)


def bag(rows: list[dict]) -> Counter:
    return Counter(tuple(sorted(row.items())) for row in rows)


@often
@given(chances)
def test_table(random) -> None:
    clause = make_clause(random, streaming=False)
    made_rows = make_rows(random, clause.order)
    note(f"{clause}\n{made_rows}")
    match = plan(clause.text("records"))
    assert [column.name for column in match.output] == names_of_output(clause)
    cuts = sorted(random.randint(0, len(made_rows)) for _ in range(2))
    try:
        expected = meaning(clause, made_rows, strict=True)
    except TooMany:
        reject()
    except SkipFails:
        with pytest.raises(OperationalError, match="AFTER MATCH SKIP"):
            run_batch(match, made_rows, cuts)
        return
    assert bag(run_batch(match, made_rows, cuts)) == bag(expected.rows)


@often
@given(chances)
def test_stream(random) -> None:
    clause = make_clause(random, streaming=True)
    delay = random.randint(0, 3) * SECOND
    batches = micro_batches(random, make_rows(random, clause.order), delay)
    note(f"{clause}\n{batches} {delay=}")
    used, late = in_order(clause.order, batches, delay)
    try:
        expected = meaning(clause, used, strict=False)
    except TooMany:
        reject()
    match = plan_stream(clause, batches, delay)
    outputs, counts = run_stream(match, batches, delay)
    assert bag([row for output in outputs for row in output]) == bag(expected.rows)
    assert counts.rows == Counts(
        read=len(used) + late,
        used=len(used),
        late=late,
        null_key=sum(row["k"] is None for batch in batches for row in batch),
    )
    counters = {"matches": expected.matches, "timeouts": expected.timeouts, "misplaced": expected.misplaced}
    assert counts.counters == {**counters, "given_up": 0}


@often
@given(chances)
def test_ties_in_any_order(random) -> None:
    """Rows that ORDER BY leaves tied give the same, however they were split and in whatever order they came."""
    clause = make_clause(random, streaming=True, orders=("ts",))
    made_rows = make_rows(random, "ts", ties=True)
    batches = split(random, random.sample(made_rows, len(made_rows)))
    note(f"{clause}\n{batches}")
    match = plan_stream(clause, batches, 100 * SECOND)
    together, _ = run_stream(match, [made_rows], 100 * SECOND)
    outputs, _ = run_stream(match, batches, 100 * SECOND)
    assert bag([row for output in outputs for row in output]) == bag([row for output in together for row in output])


def plan_stream(clause, batches: list[list[dict]], delay: int):
    """Plan over the stream; what is refused there because no match is decided before the end must be so."""
    try:
        return plan(clause.text("events"))
    except ProgrammingError as error:
        assert "ever decided" in error.message
    match = plan(clause.text("records"))
    # A row at which no match can begin is known to be unmatched before.
    empty = "omit" if asks_for_unmatched(match.program) else match.program.empty
    match = replace(match, program=replace(match.program, strict=False, empty=empty))
    outputs, _ = run_stream(match, batches, delay)
    assert not any(outputs[:-1])
    reject()


def micro_batches(random: Random, rows: list[dict], delay: int) -> list[list[dict]]:
    """Let rows come late by up to about the delay, now and then by more, in micro-batches."""
    lateness = {row["n"]: random.randint(0, delay // SECOND + 1) * SECOND for row in rows}
    return split(random, sorted(rows, key=lambda row: row["ts"] + lateness[row["n"]]))


def split(random: Random, rows: list[dict]) -> list[list[dict]]:
    edges = [0, *sorted(random.randint(0, len(rows)) for _ in range(random.randint(0, 4))), len(rows)]
    return [list(rows[begin:end]) for begin, end in pairwise(edges)]


def in_order(order: str, batches: list[list[dict]], delay: int) -> tuple[list[dict], int]:
    """Return the rows that are not late, as ORDER BY has them, and how many are."""
    bound, used, late = None, [], 0
    for batch in batches:
        on_time = [row for row in batch if bound is None or row["ts"] > bound]
        used += on_time
        late += len(batch) - len(on_time)
        bound = max([row["ts"] - delay for row in batch] + ([] if bound is None else [bound]), default=None)
    return sorted(used, key=lambda row: (row["ts"], -row["n"] if order.endswith("DESC") else row["n"])), late
