"""Matches of patterns whose conditions read single rows: a regular expression scans the rows, one byte each."""

from bisect import bisect_left

import numpy as np
import re2

from cepsql.pattern.compile import compile_pattern, first_variables
from cepsql.pattern.conditions import RowTests, split
from cepsql.pattern.ir import Exclude, walk
from cepsql.pattern.ordered_rows import Matches, Partitions, ScanResult
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.scanning.alphabet import FUTURE, SEPARATOR, Alphabet, encode
from cepsql.pattern.scanning.labels import label, ranges
from cepsql.pattern.scanning.pattern_regex import (
    Expression,
    compile_expression,
    futures_needed,
    is_expressible,
    translate,
)
from cepsql.pattern.scanning.row_codes import Layout, lay_out, read_limits

MAX_FUTURES = 64
BLOCK = 64
"""The least number of starts of one search if WITHIN or a frame limits matches."""


def is_regular(program: MatchProgram, partitions: Partitions, tests: RowTests) -> bool:
    """Tell whether `find_regular` can find the program's matches in these rows."""
    if program.timeouts or program.skip_to or any(split(c)[1] is not None for c in program.conditions):
        return False
    if program.all_rows and any(isinstance(node, Exclude) for node in walk(program.pattern)):
        return False
    if not is_expressible(program.pattern) or futures_needed(program.pattern) > MAX_FUTURES:
        return False
    alphabet = _alphabet(program, tests)
    if alphabet is None:
        return False
    try:
        compile_expression(_expression(program, alphabet).text)
    except re2.error:
        return False
    return True


def find_regular(program: MatchProgram, partitions: Partitions, tests: RowTests) -> ScanResult:
    """Find the decided matches of a program that `is_regular` accepts; time is linear in the rows except for overlaps.

    The readable rows are followed by FUTURE codes, which every variable accepts. The preferred match of such a text is
    final if it has none of them: otherwise later rows may complete a preferred match, and the partition's scan stays at
    its start. A row that may satisfy a variable (`RowTests.unknown`) is treated as if it did, and a match that relies
    on it is not final, either.
    """
    alphabet = _alphabet(program, tests)
    # `is_regular` has checked it.
    assert alphabet is not None
    expression = _expression(program, alphabet)
    layout = lay_out(partitions, alphabet, futures_needed(program.pattern), program.within)
    if program.within is None and program.frame is None:
        spans = _search(compile_expression(expression.text), layout, program.skip)
    else:
        spans = _search_limited(program, partitions, compile_expression(expression.text), layout)
    return _final(program, partitions, tests, expression, layout, spans)


def _alphabet(program: MatchProgram, tests: RowTests) -> Alphabet | None:
    tested = [v for v, condition in enumerate(program.conditions) if condition is not None]
    return encode(_possible(tests), tested)


def _possible(tests: RowTests) -> np.ndarray:
    return tests.holds if tests.unknown is None else tests.holds | tests.unknown


def _expression(program: MatchProgram, alphabet: Alphabet) -> Expression:
    return translate(program.pattern, dict(zip(program.variables, alphabet.classes, strict=True)))


def _search(expression, layout: Layout, skip: str) -> np.ndarray:
    """Return the spans of the matches, [matches, groups + 1, 2], without time limits."""
    # re2's internal method returns all spans at once, in a third of the time.
    match, anchor = expression._regexp.Match, re2._re2.RE2.Anchor.UNANCHORED
    bounds: list[int] = []
    text, position = layout.text.tobytes(), 0
    while True:
        spans = match(anchor, text, position, len(text))
        start, end = spans[0]
        if end < 0:
            return _stacked(bounds, expression.groups)
        for span in spans:
            bounds += span
        if text[end - 1] == FUTURE:
            position = text.index(SEPARATOR, end)
        else:
            position = end if skip == "past last row" else start + 1


def _search_limited(program: MatchProgram, partitions: Partitions, expression, layout: Layout) -> np.ndarray:
    """Return the spans of the matches, [matches, groups + 1, 2], if WITHIN or a frame limits what a match may read.

    One search serves a block of starts: with the limit of the block's last start it finds the first start that may
    have a match, or none. So starts without a match cost almost nothing, and blocks as long as a window keep the time
    linear.
    """
    match, anchors = expression._regexp.Match, re2._re2.RE2.Anchor
    starts = _possible_starts(program, layout)
    limits = read_limits(partitions, layout, starts, program.within, program.frame)
    blocks = np.maximum(np.searchsorted(starts, limits), np.arange(BLOCK, BLOCK + len(starts)))
    blocks = np.minimum(blocks, len(starts))
    starts, limits, blocks, reach = starts.tolist(), limits.tolist(), blocks.tolist(), limits[blocks - 1].tolist()
    text, bounds, i = layout.text.tobytes(), [], 0
    while i < len(starts):
        block = blocks[i]
        spans = match(anchors.UNANCHORED, text, starts[i], reach[i])
        start, end = spans[0]
        i = bisect_left(starts, start, i, block) if end >= 0 else block
        if i == block or starts[i] != start:
            continue
        if end > limits[i]:
            spans = match(anchors.ANCHOR_START, text, start, limits[i])
            end = spans[0][1]
        if end < 0:
            i += 1
            continue
        for span in spans:
            bounds += span
        resume = start + 1
        if text[end - 1] == FUTURE:
            resume = text.index(SEPARATOR, end)
        elif program.skip == "past last row":
            resume = end
        # Starts are distinct, so there are at most as many as positions in between.
        i = bisect_left(starts, resume, i, min(i + resume - start, len(starts)))
    return _stacked(bounds, expression.groups)


def _possible_starts(program: MatchProgram, layout: Layout) -> np.ndarray:
    """Return the positions in the text of rows that the pattern's first variables accept, ascending."""
    first = first_variables(compile_pattern(program.pattern, program.variables))
    starts = np.zeros(256, bool)
    for variable in first:
        starts[list(layout.alphabet.classes[variable])] = True
    return np.flatnonzero(starts[layout.text])


def _stacked(bounds: list[int], groups: int) -> np.ndarray:
    return np.array(bounds, np.int64).reshape(-1, groups + 1, 2)


def _final(
    program: MatchProgram,
    partitions: Partitions,
    tests: RowTests,
    expression: Expression,
    layout: Layout,
    spans: np.ndarray,
) -> ScanResult:
    """Return the final matches, in each partition up to the first that is not final."""
    spans = spans[layout.text[spans[:, 0, 0]] != FUTURE]
    partition, start = layout.locate(spans[:, 0, 0])
    scan = partitions.ends.copy()
    unfinished = layout.text[spans[:, 0, 1] - 1] == FUTURE
    np.minimum.at(scan, partition[unfinished], start[unfinished])
    is_final = start < scan[partition]
    spans, partition, start = spans[is_final], partition[is_final], start[is_final]
    length = spans[:, 0, 1] - spans[:, 0, 0]
    labels = label(expression.elements, program.variables, spans, start, _possible(tests))
    if tests.unknown is not None:
        doubtful = np.repeat(np.arange(len(start)), length)[tests.unknown[labels, ranges(start, length)]]
        np.minimum.at(scan, partition[doubtful], start[doubtful])
        is_final = start < scan[partition]
        labels = labels[np.repeat(is_final, length)]
        partition, start, length = partition[is_final], start[is_final], length[is_final]
    counts = np.bincount(partition, minlength=len(scan))
    before = np.cumsum(counts) - counts
    number = partitions.numbers[partition] + 1 + np.arange(len(start)) - before[partition]
    matches = Matches(partition, start, length, number, np.ones(len(start), bool), labels)
    return ScanResult(matches, scan, partitions.numbers + counts)
