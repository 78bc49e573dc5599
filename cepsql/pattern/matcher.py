"""Find the matches of a row pattern in ordered rows."""

from dataclasses import replace

import numpy as np

from cepsql.errors import DataError
from cepsql.pattern.backtracking.backtrack import find_backtracking
from cepsql.pattern.ordered_rows import Partitions, ScanResult
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.scanning.by_position import by_position, needs_match
from cepsql.pattern.scanning.regular import find_regular, is_regular
from cepsql.pattern.vector import test_rows


def find_matches(program: MatchProgram, partitions: Partitions) -> ScanResult:
    """Find every match that later rows cannot change, in the order of partitions and starts.

    The semantics are those of ISO/IEC 19075-5: the first match in the order of preference, matches of a partition one
    after another. A match is returned once every earlier start of its partition is decided. Patterns whose conditions
    read rows alone, or can be rewritten so by position, run as regular expressions, all others by backtracking.
    Raises NotSupportedError for conditions that these rows do not support, OperationalError for a match that takes too
    many steps.
    """
    if needs_match(program):
        result = _find_by_position(program, partitions)
        if result is not None:
            return result
    tests = test_rows(program, partitions)
    if is_regular(program, partitions, tests):
        return find_regular(program, partitions, tests)
    return find_backtracking(program, partitions, tests)


def _find_by_position(program: MatchProgram, partitions: Partitions) -> ScanResult | None:
    """Find the matches of a program whose conditions read the match at fixed distances, None for other programs."""
    rows = partitions.rows
    never_null = frozenset(name for name in rows.column_names if not rows[name].null_count)
    positions = by_position(program, never_null)
    if positions is None:
        return None
    try:
        tests = test_rows(positions.program, partitions)
    except DataError:
        # The error may be of a row that no match reaches.
        return None
    if not is_regular(positions.program, partitions, tests):
        return None
    result = find_regular(positions.program, partitions, tests)
    labels = np.array(positions.variable_of, np.int64)[result.matches.labels]
    return replace(result, matches=replace(result.matches, labels=labels))
