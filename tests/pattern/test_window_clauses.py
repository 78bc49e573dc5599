"""Random row patterns in windows, planned and run, against what the standard says of them, frame by frame."""

import re
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from chance import examples
from clause_expressions import Seen, value
from clause_meaning import COLUMNS, SkipFails, TooMany, _target, first_match
from clause_runs import _engine as engine
from clause_runs import run_batch, run_stream
from clause_texts import SECOND, Clause, make_clause, make_rows
from hypothesis import Phase, given, note, reject, settings
from hypothesis import strategies as st
from test_clauses import in_order, micro_batches

from cepsql.errors import OperationalError, ProgrammingError

often = settings(max_examples=examples(30), phases=(Phase.explicit, Phase.reuse, Phase.generate))
chances = st.integers(0, 2**63).map(Random)

CALLS = {
    "row_count": "count(*)",
    "known": "count(x)",
    "total": "sum(x)",
    "least": "min(s)",
    "first": "first_value(x)",
    "last": "last_value(s)",
    "second": "nth_value(y, 2)",
}
"""Functions over the rows of a match, by the names of their columns."""


def make_window(random: Random, streaming: bool) -> tuple[Clause, int | None]:
    """Make what a window says, as a clause, and how many rows its frame reaches on, None for all."""
    while True:
        clause = make_clause(random, streaming, orders=("ts, n", "ts, n DESC"))
        clause = replace(clause, all=False, empty="", timeouts=False)
        if not re.search(r"MATCH_NUMBER|MATCH_TIMEOUT|\{-|\^|\$", clause.text("t")):
            return clause, random.choice((None, None, 0, 1, 2, 3, 5))


def text(clause: Clause, after: int | None, relation: str) -> str:
    """Return a query with the clause in a window."""
    body = re.search(r"MATCH_RECOGNIZE \((.*)\)\Z", clause.text("t"), re.S)[1]
    frame = f"ROWS BETWEEN CURRENT ROW AND {'UNBOUNDED' if after is None else after} FOLLOWING"
    measured = [f"m{i} OVER w" for i in range(len(clause.measures))]
    computed = [f"{call} OVER w AS {name}" for name, call in CALLS.items()]
    listed = ", ".join([*COLUMNS, *measured, *computed])
    return f"SELECT {listed} FROM {relation} WINDOW w AS ({body.replace('ONE ROW PER MATCH', frame)})"


def meaning(clause: Clause, after: int | None, rows: list[dict], strict: bool) -> list[dict]:
    """Say what the query gives over rows in order: each row, with the match that begins there, or that of no rows."""
    found = []
    for key in dict.fromkeys(row["k"] for row in rows):
        partition, free = [row for row in rows if row["k"] == key], 0
        for start, row in enumerate(partition):
            frame = partition[start:] if after is None else partition[start : start + after + 1]
            match = first_match(clause, frame, 0, 1) if start >= free else None
            names = match.names if match is not None else ()
            seen = Seen(frame, 0, names, len(names), 1, True, clause.unions)
            measured = {
                f"m{i}": value(measure, seen) if match is not None else None
                for i, measure in enumerate(clause.measures)
            }
            found.append(row | measured | called(frame[: len(names)]))
            if names:
                target = _target(clause, match)
                if not target and strict:
                    raise SkipFails
                free = start + (target or (len(names) if target is None else 1))
    return found


def called(rows: list[dict]) -> dict:
    """Return the values of CALLS over rows."""
    xs, texts = ([row[name] for row in rows if row[name] is not None] for name in "xs")
    return {
        "row_count": len(rows),
        "known": len(xs),
        "total": sum(xs) if xs else None,
        "least": min(texts, default=None),
        "first": rows[0]["x"] if rows else None,
        "last": rows[-1]["s"] if rows else None,
        "second": rows[1]["y"] if len(rows) > 1 else None,
    }


def plan(query: str):
    """Plan a query; return its match, and a function that makes the rows of the query of those of the match."""
    planned = engine().sql(query).plan
    (match,) = planned.matches
    names = {item.alias_or_name: item.unalias().name for item in planned.root.query.selects}
    return match, lambda rows: [{name: row[column] for name, column in names.items()} for row in rows]


def bag(found: list[dict]) -> Counter:
    return Counter(tuple(sorted(row.items())) for row in found)


@often
@given(chances)
def test_table(random) -> None:
    clause, after = make_window(random, streaming=False)
    rows = make_rows(random, clause.order)
    note(f"{text(clause, after, 'records')}\n{rows}")
    match, outer = plan(text(clause, after, "records"))
    cuts = sorted(random.randint(0, len(rows)) for _ in range(2))
    try:
        expected = meaning(clause, after, rows, strict=True)
    except TooMany:
        reject()
    except SkipFails:
        with pytest.raises(OperationalError, match="AFTER MATCH SKIP"):
            run_batch(match, rows, cuts)
        return
    assert bag(outer(run_batch(match, rows, cuts))) == bag(expected)


@often
@given(chances)
def test_stream(random) -> None:
    clause, after = make_window(random, streaming=True)
    delay = random.randint(0, 3) * SECOND
    batches = micro_batches(random, make_rows(random, clause.order), delay)
    note(f"{text(clause, after, 'events')}\n{batches} {delay=}")
    used, _ = in_order(clause.order, batches, delay)
    try:
        expected = meaning(clause, after, used, strict=False)
        match, outer = plan(text(clause, after, "events"))
    except TooMany:
        reject()
    except ProgrammingError as error:
        assert "ever decided" in error.message
        reject()
    outputs, _ = run_stream(match, batches, delay)
    assert bag(outer([row for output in outputs for row in output])) == bag(expected)
    if after is not None and clause.within is None:
        # A row waits for those of its frame, and for no other.
        early = sum(map(len, outputs[:-1]))
        assert early >= decided(batches, delay, after)


def decided(batches: list[list[dict]], delay: int, after: int) -> int:
    """Return how many rows have all rows of their frames below the last watermark."""
    bound = max((row["ts"] for batch in batches for row in batch), default=0) - delay
    used, _ = in_order("ts, n", batches, delay)
    sizes = Counter(row["k"] for row in used if row["ts"] <= bound)
    return sum(max(0, size - after) for size in sizes.values())
