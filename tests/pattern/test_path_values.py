"""What a condition reads on a path, and whether it must wait for it."""

import pytest
from notation import partition, pattern, program

from cepsql.ordered.row_layout import END_OF_TIME
from cepsql.pattern.path_values import PathValues
from cepsql.pattern.program import Navigation
from cepsql.scalar.expressions import Call, Literal

ROWS = [{"t": t, "v0": t} for t in range(3)]


@pytest.mark.parametrize(
    ("shift", "bound", "waits"), [(0, 2, False), (1, 2, False), (2, 2, True), (-1, 2, False), (2, END_OF_TIME, False)]
)
def test_only_the_rows_to_come_are_waited_for(shift, bound, waits) -> None:
    values = PathValues(program(pattern("A A")), partition(ROWS, 0, 0, bound), 0, (0, 0), 1)
    condition = Call("gt", (Navigation("v0", shift=shift), Literal(1)))
    assert values.waits(condition) is waits


def test_a_row_that_navigation_does_not_find_is_not_waited_for() -> None:
    values = PathValues(program(pattern("A B")), partition(ROWS, 0, 0, 2), 0, (0,), 1)
    assert not values.waits(Navigation("v0", frozenset({1}), shift=2))
    assert values.evaluate(Navigation("v0", frozenset({1}), shift=2)) is None
