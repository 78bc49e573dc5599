"""Row-pattern matching as an operator of the ordered stage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepsql.base.cached_property import cached_property
from cepsql.errors import OperationalError
from cepsql.operators.matching.hold import hold
from cepsql.operators.matching.match_rows import OrderedFunction, jumped_names, match_rows
from cepsql.operators.matching.reach import reach
from cepsql.operators.matching.row_ids import ROW_ID, asks_for_id, with_row_ids
from cepsql.ordered.operator import NEVER, Keep, OrderedRows, Step, WholeSections
from cepsql.ordered.per_key import read_numbers, write_numbers
from cepsql.ordered.plain_columns import integers
from cepsql.ordered.row_layout import END_OF_TIME, RowLayout
from cepsql.pattern.dead_rows import AliveRows, dead_rows
from cepsql.pattern.ordered_rows import Partitions
from cepsql.pattern.output import COVERED, asks_for_unmatched
from cepsql.pattern.program import Aggregate, MatchNumber, MatchProgram
from cepsql.scalar.expressions import leaves

NUMBERS = "numbers"
"""The section that tells how many matches the keys that had some have had."""


@dataclass(frozen=True)
class MatchOperator(WholeSections):
    """Finds and measures the matches of a program.

    It keeps the rows of undecided attempts and those before them that PREV reaches; beside rows it remembers how many
    matches each key has had, where the program asks for MATCH_NUMBER().
    function: what makes output of the rows.
    """

    program: MatchProgram
    function: OrderedFunction = match_rows

    @cached_property
    def sides(self) -> tuple[RowLayout, ...]:
        return (row_layout(self.program),)

    @property
    def sections(self) -> Mapping[str, int]:
        return {NUMBERS: 1} if asks_for_number(self.program) else {}

    @property
    def marks(self) -> tuple[Mapping[str, pa.DataType], ...]:
        marks: dict[str, pa.DataType] = {}
        if asks_for_id(self.program):
            marks[ROW_ID] = pa.binary(16)
        return (marks | dict.fromkeys(self._flags, pa.bool_()),)

    @property
    def _flags(self) -> tuple[str, ...]:
        """The columns that tell what earlier matches did with a row; a new one has NULL there."""
        return (*([COVERED] if asks_for_unmatched(self.program) else []), *jumped_names(self.program))

    @property
    def counters(self) -> tuple[str, ...]:
        """matches:   matches given out.
        timeouts:  partial matches given out because their deadline passed.
        misplaced: skips to a variable that led nowhere, so that matching went on after the match or at its second row.
        given_up:  attempts to match that took too many steps, so that their first rows count as not matched.
        """
        return ("matches", "timeouts", "misplaced", "given_up")

    @property
    def hold(self) -> int | None:
        return hold(self.program)

    @property
    def changing(self) -> bool:
        return False

    def deadlines(self, held: OrderedRows, side: int) -> np.ndarray:
        """An oldest undecided row is decided when WITHIN has passed, or when nothing more comes."""
        undecided = held.pending < held.starts[1:]
        deadlines = np.where(undecided, END_OF_TIME, NEVER)
        within = self.program.longest_within
        if within is not None:
            oldest = integers(held.rows["t"])[held.pending[undecided]]
            # The next row comes at the bound + 1 or later.
            deadlines[undecided] = oldest + within - 1
        return deadlines

    def advance(self, rows: Sequence[OrderedRows | None], sections: Mapping[str, pa.Table], old: int, new: int) -> Step:
        (ordered,) = rows
        if ordered is None:
            return Step(pa.table({}), [None], sections)
        program, table = self.program, ordered.rows
        for name in self._flags:
            place = table.column_names.index(name)
            table = table.set_column(place, name, table[name].fill_null(False))
        if asks_for_id(program):
            table = with_row_ids(program, table)
        names = [column.name for column in program.keys]
        keys = [table[name].chunk(0).take(pa.array(ordered.starts[:-1])) for name in names]
        numbers = read_numbers(sections.get(NUMBERS), names, keys, len(ordered.pending))
        scanned = self.function(
            program, Partitions(table, ordered.starts, ordered.pending, ordered.starts[1:], numbers, new)
        )
        if new != END_OF_TIME:
            _check_undecided(program, ordered, scanned.scan, keys)
        marks: dict[str, pa.Array] = {}
        if asks_for_id(program):
            marks[ROW_ID] = table[ROW_ID].combine_chunks()
        if scanned.covered is not None:
            marks[COVERED] = pa.array(scanned.covered)
        marks |= {name: pa.array(rows) for name, rows in zip(jumped_names(program), scanned.jumped, strict=True)}
        stored = {}
        if asks_for_number(program):
            stored[NUMBERS] = write_numbers(sections.get(NUMBERS), names, keys, scanned.numbers, scanned.numbers > 0)
        counts = {name: getattr(scanned, name) for name in self.counters}
        return Step(scanned.output, [Keep(scanned.scan, reach(program), marks)], stored, counts)


def _check_undecided(program: MatchProgram, ordered: OrderedRows, scan: np.ndarray, keys: Sequence[pa.Array]) -> None:
    """Raise OperationalError if more rows of a partition are undecided than the program allows.

    scan: the first undecided row of each partition.
    """
    undecided = ordered.starts[1:] - scan
    if not len(undecided) or undecided.max() <= program.undecided_rows:
        return
    most = int(undecided.argmax())
    key_values = [f"{column.sql} = {key[most].as_py()!r}" for column, key in zip(program.keys, keys, strict=True)]
    where = f" of the key {', '.join(key_values)}" if key_values else ""
    raise OperationalError(
        f"{undecided[most]} rows{where} wait for the end of a match, and {program.undecided_rows} may: each "
        "micro-batch would search all of them again",
        hint="bound the pattern by WITHIN, or PARTITION BY more columns; SET cepsql.undecided_rows, or ALTER QUERY ... "
        "SET (cepsql.undecided_rows '...') of a query with a name, allows more",
    )


def row_layout(program: MatchProgram) -> RowLayout:
    """Return the columns that a program reads; dead rows need not travel."""
    alive = dead_rows(program)
    return RowLayout(
        program.keys,
        program.time,
        program.order,
        program.values,
        program.predicates,
        None if alive is None else AliveRows(alive),
        by_arrival=True,
    )


def asks_for_number(program: MatchProgram) -> bool:
    """Tell whether a condition or a measure reads MATCH_NUMBER()."""
    sources = [measure.source for measure in program.measures]
    sources += [leaf for condition in program.conditions for leaf in leaves(condition)]
    return any(isinstance(source, MatchNumber) or _aggregates_number(source) for source in sources)


def _aggregates_number(source: object) -> bool:
    return isinstance(source, Aggregate) and isinstance(source.column, MatchNumber)
