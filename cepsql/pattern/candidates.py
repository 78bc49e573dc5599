"""Where in a text of row codes a match can begin, judged by the first few rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cepsql.pattern.alphabet import FUTURE
from cepsql.pattern.compile import can_be_empty
from cepsql.pattern.ir import Alternate, Concat, Exclude, Pattern, Repeat, Variable

DEPTH = 3
"""How many rows are looked at: each more costs one pass over the candidates left, and saves match attempts."""


def candidates(pattern: Pattern, classes: Mapping[str, bytes], text: np.ndarray) -> np.ndarray:
    """Return the positions of the text where a match of the pattern may begin, ascending.

    The pattern's positions (occurrences of variables) are followed in step, all candidates at once; how often a
    quantifier allows a repetition is not counted, so this admits too many, never too few.
    classes: for every variable the codes that it accepts; FUTURE is accepted by all but cannot begin a match.
    """
    automaton = _Automaton([], {})
    first, last = automaton.enter(pattern)
    accepts = {}
    for name, codes in classes.items():
        accepts[name] = np.zeros(256, bool)
        accepts[name][[*codes, FUTURE]] = True
    begin = np.any([accepts[automaton.names[p]] for p in first], axis=0)
    begin[FUTURE] = False
    found = np.flatnonzero(begin[text])
    codes = text[found]
    alive = {p: accepts[automaton.names[p]][codes] for p in first}
    done = np.zeros(len(found), bool)
    for step in range(1, DEPTH):
        for p in last & alive.keys():
            done |= alive[p]
        # A match ends before its partition's separator, so there is a code to read wherever one may go on.
        codes = text[np.minimum(found + step, len(text) - 1)]
        alive = _advance(automaton, alive, accepts, codes)
        keep = done | np.any(list(alive.values()), axis=0) if alive else done
        found, done = found[keep], done[keep]
        alive = {p: rows[keep] for p, rows in alive.items()}
    return found


@dataclass(frozen=True)
class _Automaton:
    """Glushkov's automaton: a state for each occurrence of a variable, and what may follow it."""

    names: list[str]
    follow: dict[int, set[int]]

    def enter(self, pattern: Pattern) -> tuple[set[int], set[int]]:
        """Enter a pattern's states; return those that may come first and those that may come last."""
        match pattern:
            case Variable(name):
                state = len(self.names)
                self.names.append(name)
                self.follow[state] = set()
                return {state}, {state}
            case Concat(parts):
                first, last = set(), set()
                for i, part in enumerate(parts):
                    heads, tails = self.enter(part)
                    self._link(last, heads)
                    first |= heads if all(map(can_be_empty, parts[:i])) else set()
                    last = tails | (last if can_be_empty(part) else set())
                return first, last
            case Alternate(parts):
                heads, tails = zip(*map(self.enter, parts), strict=True)
                return set().union(*heads), set().union(*tails)
            case Repeat(part, _, high) if high != 0:
                first, last = self.enter(part)
                if high != 1:
                    self._link(last, first)
                return first, last
            case Exclude(part):
                return self.enter(part)
        return set(), set()

    def _link(self, last: set[int], first: set[int]) -> None:
        for state in last:
            self.follow[state] |= first


def _advance(
    automaton: _Automaton, alive: dict[int, np.ndarray], accepts: dict[str, np.ndarray], codes: np.ndarray
) -> dict[int, np.ndarray]:
    reached: dict[int, np.ndarray] = {}
    for state, rows in alive.items():
        for after in automaton.follow[state]:
            reached[after] = reached[after] | rows if after in reached else rows
    return {state: rows & accepts[automaton.names[state]][codes] for state, rows in reached.items()}
