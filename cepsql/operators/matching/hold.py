"""How far behind the bound the event time of a match may lie when the match is given out."""

from cepsql.pattern.ir import Alternate, Anchor, Concat, Empty, Exclude, Pattern, Permute, Repeat, Variable
from cepsql.pattern.program import MatchProgram, Navigation
from cepsql.scalar.expressions import leaves


def hold(program: MatchProgram) -> int | None:
    """Return the hold of a program in microseconds: how long after its event time a match may come out at most.

    The event time is that of the last row of a match (ONE ROW PER MATCH), or that of the row given out (ALL ROWS). What
    a scan with bound b leaves undecided, and so whatever comes out later, has an event time above b less the hold:

    1. Without WITHIN a start waits for rows that may never come. Only where all matches have the same number n of rows
       a match is decided at its last one, for it waits for no other start: undecided are the last n - 1 rows of a
       partition, and a match that begins there ends in a row above b. Its first row may be of any age.
    2. With WITHIN w a start at time s is decided when b has reached s + w, whatever comes. A match waits for no start
       after its own, so all its rows are above b - w.
    3. NEXT reads a row after the match, which WITHIN does not limit.
    4. In a window whose frame is the row alone, each row is decided when it comes.

    None where there is no such limit.
    """
    if program.beside:
        holds = [hold(each) for each in program.programs]
        limits = [one for one in holds if one is not None]
        return max(limits) if len(limits) == len(holds) else None
    if program.frame == 0:
        return 0
    if looks_ahead(program):
        return None
    length = fixed_length(program.pattern)
    if length is not None and not program.timeouts and (length <= 1 or not program.all_rows):
        return 0
    return program.within


def looks_ahead(program: MatchProgram) -> bool:
    """Tell whether a condition or a measure reads a row after the one it stands at (NEXT)."""
    read = [leaf for each in program.programs for condition in each.conditions for leaf in leaves(condition)]
    read += [measure.source for measure in program.all_measures]
    return any(isinstance(leaf, Navigation) and leaf.shift > 0 for leaf in read)


def fixed_length(pattern: Pattern) -> int | None:
    """Return the number of rows that every match of the pattern has, None if it is not always the same.

    >>> fixed_length(Concat((Variable("A"), Repeat(Variable("B"), 2, 2))))
    3
    """
    match pattern:
        case Variable():
            return 1
        case Empty() | Anchor():
            return 0
        case Exclude(part):
            return fixed_length(part)
        case Repeat(part, low, high):
            length = fixed_length(part)
            return 0 if high == 0 or length == 0 else length * low if low == high and length is not None else None
        case Concat(parts) | Permute(parts):
            lengths = [fixed_length(part) for part in parts]
            fixed = [length for length in lengths if length is not None]
            return sum(fixed) if len(fixed) == len(lengths) else None
        case Alternate(parts):
            choices = {fixed_length(part) for part in parts}
            return choices.pop() if len(choices) == 1 else None
