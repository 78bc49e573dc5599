"""Matches of patterns whose conditions read rows only: a regular expression scans the rows, one byte each."""

from functools import lru_cache

import numpy as np
import re2

from cepsql.pattern.alphabet import FUTURE, SEPARATOR, Alphabet, encode
from cepsql.pattern.candidates import candidates
from cepsql.pattern.conditions import RowTests, split
from cepsql.pattern.expression import Expression, futures_needed, is_expressible, translate
from cepsql.pattern.labels import label, ranges
from cepsql.pattern.layout import Layout, lay_out, read_limits
from cepsql.pattern.program import END_OF_TIME, MatchProgram
from cepsql.pattern.rows import Found, Matches, Partitions

MAX_FUTURES = 64
RE2_MEMORY = 64 << 20


def is_regular(program: MatchProgram, partitions: Partitions, tests: RowTests) -> bool:
    """Tell whether `find_regular` can find the program's matches in these rows."""
    if program.timeouts or any(split(condition)[1] is not None for condition in program.conditions):
        return False
    if not is_expressible(program.pattern) or futures_needed(program.pattern) > MAX_FUTURES:
        return False
    alphabet = _alphabet(program, tests)
    if alphabet is None:
        return False
    try:
        _compiled(_expression(program, alphabet).text)
    except re2.error:
        return False
    return True


def find_regular(program: MatchProgram, partitions: Partitions, tests: RowTests) -> Found:
    """Find the decided matches of a program that `is_regular` accepts; time is linear in the rows but for overlaps.

    After the rows that may be read come FUTURE codes, which every variable accepts. The preferred match of such a
    text is final if it has none of them: otherwise rows to come may complete something that is preferred, and the
    partition's scan stays at its start. A row that satisfies a variable perhaps (`RowTests.unknown`) is taken to do so,
    and a match that relies on it is not final either.
    """
    alphabet = _alphabet(program, tests)
    expression = _expression(program, alphabet)
    futures = 0 if partitions.bound == END_OF_TIME else futures_needed(program.pattern)
    layout = lay_out(partitions, alphabet.codes, futures)
    if program.within is None:
        spans = _search(_compiled(expression.text), layout, program.skip)
    else:
        spans = _search_within(program, partitions, alphabet, expression, layout)
    return _final(program, partitions, tests, expression, layout, spans)


def _alphabet(program: MatchProgram, tests: RowTests) -> Alphabet | None:
    tested = [v for v, condition in enumerate(program.conditions) if condition is not None]
    return encode(_possible(tests), tested)


def _possible(tests: RowTests) -> np.ndarray:
    return tests.holds if tests.unknown is None else tests.holds | tests.unknown


def _expression(program: MatchProgram, alphabet: Alphabet) -> Expression:
    return translate(program.pattern, dict(zip(program.variables, alphabet.classes, strict=True)))


@lru_cache(maxsize=256)
def _compiled(text: bytes):
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = RE2_MEMORY
    options.log_errors = False
    return re2.compile(text, options)


def _search(expression, layout: Layout, skip: str) -> np.ndarray:
    """Return the spans of the matches, [matches, groups + 1, 2], without regard to time."""
    # The method under re2's own: it gives all spans at once, in a third of the time.
    match, anchor = expression._regexp.Match, re2._re2.RE2.Anchor.UNANCHORED
    text, found, position = layout.text.tobytes(), [], 0
    while True:
        spans = match(anchor, text, position, len(text))
        start, end = spans[0]
        if end < 0:
            return _stacked(found, expression.groups)
        for span in spans:
            found += span
        if text[end - 1] == FUTURE:
            position = text.index(SEPARATOR, end)
        else:
            position = end if skip == "past last row" else start + 1


def _search_within(
    program: MatchProgram, partitions: Partitions, alphabet: Alphabet, expression: Expression, layout: Layout
) -> np.ndarray:
    """Return the spans of the matches, [matches, groups + 1, 2], where WITHIN limits what a match may read."""
    compiled = _compiled(expression.text)
    match, anchor = compiled._regexp.Match, re2._re2.RE2.Anchor.ANCHOR_START
    positions = candidates(program.pattern, dict(zip(program.variables, alphabet.classes, strict=True)), layout.text)
    limits = read_limits(partitions, layout, positions, program.within)
    text, found, resume = layout.text.tobytes(), [], 0
    for position, limit in zip(positions.tolist(), limits.tolist(), strict=True):
        if position < resume:
            continue
        spans = match(anchor, text, position, limit)
        end = spans[0][1]
        if end < 0:
            continue
        for span in spans:
            found += span
        if text[end - 1] == FUTURE:
            resume = text.index(SEPARATOR, end)
        elif program.skip == "past last row":
            resume = end
    return _stacked(found, compiled.groups)


def _stacked(found: list[int], groups: int) -> np.ndarray:
    return np.array(found, np.int64).reshape(-1, groups + 1, 2)


def _final(
    program: MatchProgram,
    partitions: Partitions,
    tests: RowTests,
    expression: Expression,
    layout: Layout,
    spans: np.ndarray,
) -> Found:
    """Keep the matches that are final, up to the first of its partition that is not."""
    spans = spans[layout.text[spans[:, 0, 0]] != FUTURE]
    partition, start = layout.locate(spans[:, 0, 0])
    scan = partitions.ends.copy()
    unfinished = layout.text[spans[:, 0, 1] - 1] == FUTURE
    np.minimum.at(scan, partition[unfinished], start[unfinished])
    kept = start < scan[partition]
    spans, partition, start = spans[kept], partition[kept], start[kept]
    length = spans[:, 0, 1] - spans[:, 0, 0]
    labels = label(expression.elements, program.variables, spans, start, _possible(tests))
    if tests.unknown is not None:
        doubtful = np.bincount(
            np.repeat(np.arange(len(start)), length),
            weights=tests.unknown[labels, ranges(start, length)],
            minlength=len(start),
        )
        np.minimum.at(scan, partition[doubtful > 0], start[doubtful > 0])
        kept = start < scan[partition]
        labels = labels[np.repeat(kept, length)]
        partition, start, length = partition[kept], start[kept], length[kept]
    counts = np.bincount(partition, minlength=len(scan))
    before = np.cumsum(counts) - counts
    number = partitions.numbers[partition] + 1 + np.arange(len(start)) - before[partition]
    matches = Matches(partition, start, length, number, np.ones(len(start), bool), labels)
    return Found(matches, scan, partitions.numbers + counts)
