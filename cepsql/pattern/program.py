"""What one MATCH_RECOGNIZE asks of the matcher: frozen, picklable data without SQL text to interpret and without Spark.

Rows reach the matcher as an Arrow table with these columns:

    k0, k1, ...   the PARTITION BY values
    t             event time, BIGINT microseconds since the epoch (absent in a batch job without a time column)
    o0, o1, ...   further ORDER BY values (streams only; a batch job has Spark sort)
    v0, v1, ...   values that conditions or measures read
    m             BIGINT: bit i is set where row predicate i is true (absent without predicates)
    i             the row's id, 16 bytes (only where a measure is a MatchId)

Values are Spark's Arrow types. Conditions compute with them as `scalar.expressions.Constant` says. They have no types
of their own: those of the columns, which Spark knows, decide.
"""

import hashlib
from dataclasses import dataclass, field, replace

from cepsql.ordered.row_layout import Column, OrderColumn
from cepsql.pattern.ir import Pattern
from cepsql.scalar.expressions import Call, Literal, Null, Parameter, Session
from cepsql.scalar.types import Type

STEP_BUDGET = 1_000_000
"""Steps that one attempt may take beyond those that every pattern needs, one an instruction and row."""

UNDECIDED_ROWS = 10_000_000
"""How many rows of a key may wait undecided: each micro-batch with a row of the key searches all of them again."""

MAX_PREDICATES = 62
"""How many row predicates fit the mask column."""


@dataclass(frozen=True)
class Bit:
    """Row predicate `index` of the row under test: true or false, never NULL."""

    index: int


@dataclass(frozen=True)
class Navigation:
    """The value of `column` at a row of the match.

    variables: indexes of pattern variables, None for every row of the match so far.
    first:     count from the first such row, else from the last; `offset` such rows further in.
    shift:     then so many rows of the ordered partition: negative for PREV, positive for NEXT.
    final:     seen from the end of the match, not from the row that a measure is computed for.
    frame:     of a pattern in a window: no row before the first one of the match is read, and none more than so many
               after it.
    In a condition the row under test is part of the match already: variables=None, first=False, offset=0 is that row.
    NULL where there is no such row.
    """

    column: str
    variables: frozenset[int] | None = None
    first: bool = False
    offset: int = 0
    shift: int = 0
    final: bool = False
    frame: int | None = None


@dataclass(frozen=True)
class MatchNumber:
    """The number of the match in its partition, from 1."""


@dataclass(frozen=True)
class ByVariable:
    """A value that depends on the variable of a row: for each variable a column, or a constant."""

    values: tuple[str | Literal, ...]

    @property
    def column(self) -> str | None:
        """One of the columns, which are all of one type; None if the values are constants, which are strings."""
        return next((value for value in self.values if isinstance(value, str)), None)


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of `column` over the rows of `variables` (None: all rows of the match so far).

    function: count, sum, try_sum, avg, try_avg, min, max or list; in conditions collect_list, max_by and min_by, too.
    by:       the column whose greatest or least value max_by and min_by look for; the last such row counts.
    `column` None counts rows; a value by the variable of each row, or the number of the match, may stand for a column.
    No rows: count is 0, a list is empty, the others are NULL. NULL values are passed over, but for lists, which have
    one element a row and are for measures only. `final` as above.
    """

    function: str
    column: str | ByVariable | MatchNumber | None
    variables: frozenset[int] | None = None
    distinct: bool = False
    final: bool = False
    by: str | None = None


@dataclass(frozen=True)
class Classifier:
    """The name of the variable that the row found as in Navigation was mapped to; NULL outside the match."""

    variables: frozenset[int] | None = None
    first: bool = False
    offset: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True)
class RowValue:
    """The value of `column` in the row that an output row of ALL ROWS PER MATCH stands for (measures only)."""

    column: str


@dataclass(frozen=True)
class MatchId:
    """An id of the match, the same on every replay (measures only)."""


@dataclass(frozen=True)
class Complete:
    """True for a match, false for a partial match that timed out (measures only)."""


Scalar = Literal | Null | Parameter | Bit | Navigation | Aggregate | Classifier | MatchNumber | Call


@dataclass(frozen=True)
class Measure:
    """One column that the matcher returns for a match; Spark computes the MEASURES expressions from such columns."""

    name: str
    source: Navigation | Aggregate | Classifier | MatchNumber | MatchId | Complete | RowValue


@dataclass(frozen=True)
class MatchProgram:
    """A row pattern with all that is needed to find and measure its matches.

    variables:  names; position is the index used everywhere else, and the label of a row.
    conditions: one per variable, None where the variable has no DEFINE (always true).
    predicates: Spark SQL of the row predicates; `Bit` indexes them.
    skip:       "past last row", "to next row", "to first" or "to last" row of the variables `skip_to`.
    strict:     a skip to a variable without rows, or to the first row of the match, is an error; else matching goes on
                after the match, or at its second row. So is an attempt that takes more than `step_budget` steps; else
                its first row counts as not matched.
    all_rows:   ALL ROWS PER MATCH, with empty matches ("show"), without ("omit"), or with them and the unmatched rows
                ("unmatched"), as `empty` says; "each" gives each row once, with the match that begins there.
    frame:      of a pattern in a window: no match goes more than so many rows beyond its first one; None for no limit.
    within:     microseconds, or None: last row's time - first row's time < within.
    timeouts:   also return partial matches whose deadline passed.
    session:    by whose rules conditions compute.
    intervals:  the columns of intervals, with their types: rows carry intervals without their units.
    id_columns: with MatchId the columns that hold the values of ORDER BY.
    undecided_rows: how many rows of a partition may wait undecided; more are an error.
    state_id:   tells stored state of this program from that of others.
    pattern_id: what MATCH_ID() hashes beside the first row: the same as long as pattern, keys and order mean the same.
    beside:     other windows over the same rows, with the same keys, time, order, values and predicates. A row comes
                out once all of them have decided it.
    """

    pattern: Pattern
    variables: tuple[str, ...]
    conditions: tuple[Scalar | None, ...]
    keys: tuple[Column, ...]
    time: Column | None
    order: tuple[OrderColumn, ...]
    values: tuple[Column, ...]
    predicates: tuple[str, ...]
    measures: tuple[Measure, ...]
    skip: str = "past last row"
    within: int | None = None
    timeouts: bool = False
    skip_to: frozenset[int] = frozenset()
    strict: bool = field(default=False, repr=False)
    all_rows: bool = False
    empty: str = "show"
    frame: int | None = None
    step_budget: int = field(default=STEP_BUDGET, repr=False)
    undecided_rows: int = field(default=UNDECIDED_ROWS, repr=False)
    session: Session = field(default_factory=Session, repr=False)
    intervals: tuple[tuple[str, Type], ...] = field(default=(), repr=False)
    id_columns: tuple[str, ...] = ()
    state_id: str = field(default="", repr=False)
    pattern_id: str = field(default="", repr=False)
    beside: tuple["MatchProgram", ...] = ()

    @property
    def programs(self) -> tuple["MatchProgram", ...]:
        """The program and those beside it, each alone."""
        return (replace(self, beside=()), *self.beside) if self.beside else (self,)

    @property
    def all_measures(self) -> tuple[Measure, ...]:
        """The measures of the program and of those beside it."""
        return tuple(measure for program in self.programs for measure in program.measures)

    @property
    def longest_within(self) -> int | None:
        """The longest `within` of the program and those beside it, None if one has none."""
        limits = [program.within for program in self.programs]
        within = [limit for limit in limits if limit is not None]
        return max(within) if len(within) == len(limits) else None

    def cache_key(self) -> str:
        """Return a text that tells apart, in a process, what Python takes as equal, like the constants 1 and 1.0."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


def reads_row_only(leaf: Scalar) -> bool:
    """Tell whether a leaf of a condition reads only the row under test or a fixed neighbour of it."""
    match leaf:
        case Literal() | Null() | Bit():
            return True
        case Navigation(_, variables, first, offset, frame=None):
            return variables is None and not first and offset == 0
    return False
