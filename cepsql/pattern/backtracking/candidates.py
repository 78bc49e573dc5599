"""The next row at which a match may begin as far as rows alone can tell, where attempts at every row would be dear."""

from typing import Any

import re2

from cepsql.base.cached_property import cached_property
from cepsql.pattern.compile import can_be_empty
from cepsql.pattern.conditions import RowTests
from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.program import MatchProgram
from cepsql.pattern.scanning.alphabet import encode
from cepsql.pattern.scanning.pattern_regex import compile_expression, futures_needed, translate
from cepsql.pattern.scanning.row_codes import Layout, lay_out


class Candidates:
    """Finds starts by a regular expression that leaves out what conditions ask of the match; built when first used."""

    def __init__(self, program: MatchProgram, partitions: Partitions, tests: RowTests):
        self._program, self._partitions, self._tests = program, partitions, tests

    def next_start(self, partition: int, row: int) -> int:
        """Return the first row from `row` on at which a match of the partition may begin, its end if there is none."""
        if self._search is None:
            return row
        expression, layout, text = self._search
        begin, scan, end = (
            int(layout.begins[partition]),
            int(layout.scan[partition]),
            int(self._partitions.ends[partition]),
        )
        stop = begin + end - scan + int(layout.futures[partition])
        spans = expression._regexp.Match(re2._re2.RE2.Anchor.UNANCHORED, text, begin + row - scan, stop)
        return end if spans[0][1] < 0 else spans[0][0] - begin + scan

    @cached_property
    def _search(self) -> tuple[Any, Layout, bytes] | None:
        """The expression, the rows as text, and its bytes; None where there can be no such expression."""
        program, tests = self._program, self._tests
        tested = [v for v, condition in enumerate(program.conditions) if condition is not None]
        possible = tests.holds if tests.unknown is None else tests.holds | tests.unknown
        alphabet = encode(possible, tested)
        # A partial match that times out has a start that no complete match needs to have.
        if alphabet is None or program.timeouts or can_be_empty(program.pattern):
            return None
        loose = _loose(program.pattern)
        classes = dict(zip(program.variables, alphabet.classes, strict=True))
        try:
            expression = compile_expression(translate(loose, classes).text)
        except re2.error:
            return None
        layout = lay_out(self._partitions, alphabet, futures_needed(loose))
        return expression, layout, layout.text.tobytes()


def _loose(pattern: Pattern) -> Pattern:
    """Return a pattern for a regular expression that matches wherever this one does, and perhaps elsewhere."""
    match pattern:
        case Anchor():
            return Empty()
        case Permute(parts):
            return Repeat(Alternate(tuple(map(_loose, parts))), len(parts), len(parts))
        case Concat(parts):
            return Concat(tuple(map(_loose, parts)))
        case Alternate(parts):
            return Alternate(tuple(map(_loose, parts)))
        case Exclude(part):
            return _loose(part)
        case Repeat(part, low, high):
            # Where the match begins does not depend on how far it goes, and the shortest is found soonest.
            return Repeat(_loose(part), low, high, greedy=False)
    return pattern
