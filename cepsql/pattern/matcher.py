"""Find the matches of a row pattern in ordered rows."""

from cepsql.pattern.backtrack import find_backtracking
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.regular import find_regular, is_regular
from cepsql.pattern.rows import Found, Partitions
from cepsql.pattern.vector import test_rows


def find_matches(program: MatchProgram, partitions: Partitions) -> Found:
    """Find every match that rows to come cannot change, in the order of partitions and starts.

    The meaning is ISO/IEC 19075-5's: the first match in the order of preference, matches of a partition one after
    another. A match is given once every earlier start of its partition is decided. Patterns whose conditions read rows
    alone run as regular expressions, all others by backtracking.
    Raises NotSupportedError for what cannot be decided on these rows, OperationalError where a match takes too long.
    """
    tests = test_rows(program, partitions)
    if is_regular(program, partitions, tests):
        return find_regular(program, partitions, tests)
    return find_backtracking(program, partitions, tests)
