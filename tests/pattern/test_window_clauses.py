"""Random row patterns in windows, planned and run, against what the standard says of them, frame by frame."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
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

often = settings(max_examples=examples(10), phases=(Phase.explicit, Phase.reuse, Phase.generate))
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


@dataclass(frozen=True)
class Window:
    """A row pattern, and how many rows its frame reaches on, None for all."""

    clause: Clause
    after: int | None


def make_windows(random: Random, streaming: bool) -> list[Window]:
    """Make windows over the same rows."""
    order, windows = random.choice(("ts, n", "ts, n DESC")), []
    for _ in range(random.choice((1, 1, 2, 3))):
        while True:
            clause = replace(make_clause(random, streaming, (order,)), all=False, empty="", timeouts=False)
            if not re.search(r"MATCH_NUMBER|MATCH_TIMEOUT|\{-|\^|\$", clause.text("t")):
                break
        windows.append(Window(clause, random.choice((None, None, 0, 1, 2, 3, 5))))
    return windows


def text(windows: list[Window], relation: str) -> str:
    """Return a query with these windows; names of columns end with the number of their window."""
    listed, defined = list(COLUMNS), []
    for number, window in enumerate(windows):
        body = re.search(r"MATCH_RECOGNIZE \((.*)\)\Z", window.clause.text("t"), re.S)[1]
        reach = "UNBOUNDED" if window.after is None else window.after
        frame = f"ROWS BETWEEN CURRENT ROW AND {reach} FOLLOWING"
        defined.append(f"w{number} AS ({body.replace('ONE ROW PER MATCH', frame)})")
        listed += [f"m{i} OVER w{number} AS m{i}_{number}" for i in range(len(window.clause.measures))]
        listed += [f"{call} OVER w{number} AS {name}_{number}" for name, call in CALLS.items()]
    return f"SELECT {', '.join(listed)} FROM {relation} WINDOW {', '.join(defined)}"


def meaning(windows: list[Window], rows: list[dict], strict: bool) -> list[dict]:
    """Say what the query gives over rows in order: each row, with the matches that begin there, or that of no rows."""
    rows_out = []
    for key in dict.fromkeys(row["k"] for row in rows):
        partition = [row for row in rows if row["k"] == key]
        with_measures = [dict(row) for row in partition]
        for number, window in enumerate(windows):
            for row, more in zip(with_measures, of_window(window, partition, strict), strict=True):
                row |= {f"{name}_{number}": measured for name, measured in more.items()}
        rows_out += with_measures
    return rows_out


def of_window(window: Window, partition: list[dict], strict: bool) -> Iterator[dict]:
    """Yield what one window gives for each row of a partition."""
    clause, after, free = window.clause, window.after, 0
    for start in range(len(partition)):
        frame = partition[start:] if after is None else partition[start : start + after + 1]
        match = first_match(clause, frame, 0, 1) if start >= free else None
        names = match.names if match is not None else ()
        seen = Seen(frame, 0, names, len(names), 1, True, clause.unions)
        measured = {
            f"m{i}": value(measure, seen) if match is not None else None for i, measure in enumerate(clause.measures)
        }
        yield measured | called(frame[: len(names)])
        if names:
            target = _target(clause, match)
            if not target and strict:
                raise SkipFails
            free = start + (target or (len(names) if target is None else 1))


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


def bag(rows: list[dict]) -> Counter:
    return Counter(tuple(sorted(row.items())) for row in rows)


@often
@given(chances)
def test_table(random) -> None:
    windows = make_windows(random, streaming=False)
    rows = make_rows(random, windows[0].clause.order)
    note(f"{text(windows, 'records')}\n{rows}")
    match, outer = plan(text(windows, "records"))
    cuts = sorted(random.randint(0, len(rows)) for _ in range(2))
    try:
        expected = meaning(windows, rows, strict=True)
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
    windows = make_windows(random, streaming=True)
    order = windows[0].clause.order
    delay = random.randint(0, 3) * SECOND
    batches = micro_batches(random, make_rows(random, order), delay)
    note(f"{text(windows, 'events')}\n{batches} {delay=}")
    used, _ = in_order(order, batches, delay)
    try:
        expected = meaning(windows, used, strict=False)
        match, outer = plan(text(windows, "events"))
    except TooMany:
        reject()
    except ProgrammingError as error:
        assert "ever decided" in error.message
        reject()
    outputs, _ = run_stream(match, batches, delay)
    assert bag(outer([row for output in outputs for row in output])) == bag(expected)
    reaches = [window.after for window in windows]
    if None not in reaches:
        # A row waits for those of its frames, and for no other.
        assert sum(map(len, outputs[:-1])) >= decided(batches, delay, max(reaches))


def decided(batches: list[list[dict]], delay: int, after: int) -> int:
    """Return how many rows have all rows of their frames below the last watermark."""
    bound = max((row["ts"] for batch in batches for row in batch), default=0) - delay
    used, _ = in_order("ts, n", batches, delay)
    sizes = Counter(row["k"] for row in used if row["ts"] <= bound)
    return sum(max(0, size - after) for size in sizes.values())
